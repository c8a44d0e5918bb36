#!/bin/bash
# SPDX-License-Identifier: MIT
# Looks through the tree for what must not be in it: marks of unfinished work,
# paths of one machine, tabs, blanks at line ends, and files without the licence
# line.  Prints each find; exit status 1 when there is any.
set -u
cd "$(dirname "$0")/../.." || exit 1
status=0

# forbid TITLE PATTERN [PATHSPEC...]: no text file may have a line that matches.
forbid() {
  local title=$1 pattern=$2
  shift 2
  if git grep --untracked -nIE -e "$pattern" -- "$@" \
    ':!tests/drivers/tds/traces' ':!tests/fuzz/corpus'; then
    echo "^ $title"
    status=1
  fi
}

# The patterns are written so that they do not match themselves.
forbid "unfinished work" '\b(TO[D]O|FIX[M]E|X[X]X)\b'
forbid "a path of one machine" \
  '(^|[^A-Za-z0-9_.}*-])/([w]ork|[h]ome|[r]oot)/'
forbid "tab" $'\t' '*.c' '*.h' '*.sh' '*.py' '*.md' '*.cmake' '*CMakeLists.txt' \
  run .ci/run
forbid "blank at the end of a line" '[[:blank:]]$' ':!LICENSE'

# licensed LINES FILE: the licence line is among the first LINES.
licensed() {
  head -n "$1" "$2" | grep -q 'SPDX-License-Identifier: MIT' && return
  echo "$2: no SPDX-License-Identifier line at its top"
  status=1
}

while read -r file; do
  case $file in
    *.c | *.h) licensed 1 "$file" ;;
    *) licensed 3 "$file" ;;
  esac
done < <(git ls-files -co --exclude-standard -- '*.c' '*.h' '*.sh' '*.py' run \
  .ci/run)

exit "$status"
