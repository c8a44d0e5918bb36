#!/bin/sh
# SPDX-License-Identifier: MIT
# hash.sh - the hash of the driver ABI.
#
#   abi/hash.sh           prints the hash that weir_driver.h should carry
#   abi/hash.sh --write   puts it there
#   abi/hash.sh --check   says whether it is there; exit 1 if not
#
# It is the first 8 bytes of the SHA-256 of the header without the line that
# defines WEIR_DRV_ABI_HASH.
set -eu

header=$(dirname "$0")/include/weir_driver.h
define='#define WEIR_DRV_ABI_HASH '

lines=$(grep -c "^$define" "$header") || true
if [ "$lines" != 1 ]; then
  echo "$header: found $lines lines that define WEIR_DRV_ABI_HASH; wanted one" >&2
  exit 1
fi
hash=$(grep -v "^$define" "$header" | sha256sum | cut -c 1-16)

case ${1-} in
'')
  echo "$hash"
  ;;
--write)
  # In place, so that the file keeps its owner and mode.
  text=$(sed "s/^\($define *\)UINT64_C(0x[0-9A-Fa-f]*)/\1UINT64_C(0x$hash)/" \
    "$header")
  printf '%s\n' "$text" >"$header"
  ;;
--check)
  if ! grep -q "^$define *UINT64_C(0x$hash)\$" "$header"; then
    found=$(grep "^$define" "$header" | sed 's/.*0x\([0-9A-Fa-f]*\).*/\1/')
    echo "$header: found hash $found; wanted $hash; run abi/hash.sh --write" >&2
    exit 1
  fi
  ;;
*)
  echo "usage: $0 [--write | --check]" >&2
  exit 2
  ;;
esac
