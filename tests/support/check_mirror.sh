#!/bin/bash
# SPDX-License-Identifier: MIT
# Lists the sources without a test of the same stem: engine/key.c has
# tests/engine/test_key.c, drivers/tds/tds_token.c has
# tests/drivers/tds/test_token.c.  For eyes: some are tested through others.
set -u
cd "$(dirname "$0")/../.." || exit 1

missing=()
while read -r file; do
  folder=$(dirname "$file")
  stem=$(basename "$file" .c)
  short=${stem#"$(basename "$folder")"_}
  if ! [ -f "tests/$folder/test_$stem.c" ] &&
    ! [ -f "tests/$folder/test_$short.c" ]; then
    missing+=("$file")
  fi
done < <(git ls-files -co --exclude-standard -- 'engine/*.c' 'drivers/*.c')

echo "sources without a mirrored test: ${#missing[@]}"
[ "${#missing[@]}" -eq 0 ] || printf '    %s\n' "${missing[@]}"
