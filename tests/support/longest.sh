#!/bin/bash
# SPDX-License-Identifier: MIT
# Prints the ten longest functions of what we ship and of tdsd.  For eyes: no
# length is an error.
set -u
cd "$(dirname "$0")/../.." || exit 1

echo "the ten longest functions (lines, name, place):"
git ls-files -co --exclude-standard -- 'abi/*.c' 'engine/*.[ch]' \
  'drivers/*.c' 'packaging/*.c' 'tests/server/*.c' |
  xargs -r ctags -x --c-kinds=f --_xformat='%{end} %{line} %N %F' |
  awk '{ printf "%5d  %s  %s:%d\n", $1 - $2 + 1, $3, $4, $2 }' |
  sort -rn | head -n 10
