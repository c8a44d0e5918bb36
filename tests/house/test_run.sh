#!/bin/bash
# SPDX-License-Identifier: MIT
# What ./run answers without building anything.
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT

# refuses TEXT ARGUMENT...: ./run ARGUMENT... exits with 2, says nothing on
# standard output and TEXT on standard error.
refuses() {
  local text=$1 out status
  shift
  out=$(./run "$@" 2>"$errors" </dev/null)
  status=$?
  if [ "$status" -eq 2 ] && [ -z "$out" ] && grep -qF -e "$text" "$errors"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "./run $*: wanted status 2 and '$text', got $status and:"
    cat "$errors"
    echo "$out"
  fi
}

for verb in sim experiment package; do
  refuses "not built yet" "$verb"
done
refuses "no verb is called 'dance'" dance
refuses "no preset is called 'quick'" build quick
refuses "usage: ./run build" build debug asan
refuses "usage: ./run demo" demo now
refuses "usage: ./run demo" demo --json --fast
refuses "usage: ./run test" test --label
refuses "usage: ./run test" test some
refuses "no preset is called 'fast'" test --preset fast
refuses "usage: ./run lint" lint engine
refuses "usage: ./run bench" bench quick
refuses "usage: ./run stress" stress some
refuses "--seconds wants a whole number" stress --seconds 1.5
refuses "--minutes wants a whole number" fuzz --minutes
refuses "no fuzz target is called 'nosuch': there are" fuzz --seconds 1 nosuch
refuses "--minutes wants a whole number" deep --minutes 0
refuses "no slice is called 'thin'" deep thin

if ./run help | grep -q '^usage: ./run VERB'; then
  passed=$((passed + 1))
else
  failed=$((failed + 1))
  echo "./run help does not tell how to use it"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
