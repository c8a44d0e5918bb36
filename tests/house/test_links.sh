#!/bin/bash
# SPDX-License-Identifier: MIT
# Each link from one of our pages to a place in the tree leads somewhere.
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0

while read -r page; do
  while read -r target; do
    case $target in
      *://* | '#'*) continue ;;
    esac
    if [ -e "$(dirname "$page")/${target%%#*}" ]; then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
      echo "$page: there is no $target"
    fi
  done < <(grep -oE '\]\([^) ]+\)' "$page" | sed -e 's/^](//' -e 's/)$//')
done < <(find . -name '*.md' -not -path './build/*' -not -path './.git/*')

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
