#!/bin/bash
# SPDX-License-Identifier: MIT
# Each link from one of our pages to a place in the tree leads somewhere.
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0

# broken PAGE: prints the links of a page that lead nowhere.
broken() {
  local target
  grep -oE '\]\([^) ]+\)' "$1" | sed -e 's/^](//' -e 's/)$//' |
    while read -r target; do
      case $target in
        *://* | '#'*) continue ;;
      esac
      [ -e "$(dirname "$1")/${target%%#*}" ] || echo "$1: there is no $target"
    done
}

while read -r page; do
  problems=$(broken "$page")
  if [ -z "$problems" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$problems"
  fi
done < <(find . -name '*.md' -not -path './build/*' -not -path './.git/*')

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
