#!/bin/bash
# SPDX-License-Identifier: MIT
# Lists the sources without a test of the same stem: engine/key.c has
# tests/engine/test_key.c, drivers/tds/tds_token.c has
# tests/drivers/tds/test_token.c; another folder below tests/ will do as well.  For
# eyes: some are tested through others.
set -u
cd "$(dirname "$0")/../.." || exit 1

# tested STEM...: there is a test of one of these names.
tested() {
  local stem
  for stem in "$@"; do
    grep -qxF "test_$stem.c" <<<"$tests" && return
  done
  return 1
}

tests=$(git ls-files -co --exclude-standard -- 'tests/*.c' | sed 's|.*/||')
missing=()
while read -r file; do
  folder=$(dirname "$file")
  stem=$(basename "$file" .c)
  short=${stem#"$(basename "$folder")"_}
  tested "$stem" "$short" || missing+=("$file")
done < <(git ls-files -co --exclude-standard -- 'engine/*.c' 'drivers/*.c')

echo "sources without a mirrored test: ${#missing[@]}"
[ "${#missing[@]}" -eq 0 ] || printf '    %s\n' "${missing[@]}"
