#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: test_readme.sh [--update]
#
# README.md shows packaging/example/first.c between two marks; the file is built
# with everything else, so a quote that is equal to it compiles.  --update brings
# the quote up to date.
set -u
cd "$(dirname "$0")/../.." || exit 1
example=packaging/example/first.c
begins='<!-- first.c begins -->'
ends='<!-- first.c ends -->'

# Prints README.md with the example as it is now.
renewed() {
  awk -v begins="$begins" -v ends="$ends" -v example="$example" '
    $0 == ends { quoting = 0 }
    !quoting { print }
    $0 == begins {
      quoting = 1
      print "```c"
      while ((getline line < example) > 0) print line
      print "```"
    }' README.md
}

if ! [ -s "$example" ]; then
  echo "there is no $example to show"
elif ! grep -qxF "$begins" README.md || ! grep -qxF "$ends" README.md; then
  echo "README.md has lost its marks: $begins and $ends"
elif [ "${1:-}" = --update ]; then
  new=$(renewed) && printf '%s\n' "$new" >README.md
  exit
elif ! diff -u --label README.md <(cat README.md) --label current <(renewed); then
  echo "README.md does not show $example as it is;" \
    "tests/house/test_readme.sh --update mends that"
else
  echo "1 passed, 0 failed"
  exit 0
fi
echo "0 passed, 1 failed"
exit 1
