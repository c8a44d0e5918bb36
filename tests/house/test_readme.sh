#!/bin/bash
# SPDX-License-Identifier: MIT
# README.md shows packaging/example/first.c between two marks; the file is built
# with everything else, so a quote that is equal to it compiles.
set -u
cd "$(dirname "$0")/../.." || exit 1
example=packaging/example/first.c

# Prints what README.md quotes: the lines of the fenced block between the marks.
quoted() {
  sed -n '/^<!-- first\.c begins -->$/,/^<!-- first\.c ends -->$/p' README.md |
    sed -e '/^<!--/d' -e '/^```/d'
}

if ! [ -s "$example" ]; then
  echo "there is no $example to compare with"
elif ! diff -u --label README.md --label "$example" <(quoted) "$example"; then
  echo "README.md does not show $example as it is"
else
  echo "1 passed, 0 failed"
  exit 0
fi
echo "0 passed, 1 failed"
exit 1
