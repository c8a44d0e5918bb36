#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: check_map.sh TEST_MODELS ENGINE
#
# Each step of the pool's model names a function that the engine has.
set -u
models=$1
engine=$2
passed=0
failed=0

while IFS='|' read -r _ step where _; do
  read -r file name <<<"$where"
  case $file in
    plan: | the) continue ;; # not built yet; the program
  esac
  if grep -qE "\b$name\(" "$engine/$file" 2>/dev/null; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "step $step: engine/$file has no $name()"
  fi
done < <("$models" --steps)

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
