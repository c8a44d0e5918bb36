#!/bin/bash
# SPDX-License-Identifier: MIT
# A leak inside a Criterion test is reported, and nothing else is: not what
# Criterion does by itself, and tests/lsan.supp hides no leak of a test.
#
# usage: test_leaks.sh PROGRAM, which is leaking.c built with AddressSanitizer
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# reports COUNT TEXT TEST: running TEST leaves COUNT reports, with TEXT in them.
reports() {
  local found
  rm -f "$work"/report.*
  CRITERION_JOBS=1 \
    ASAN_OPTIONS="log_path=$work/report:detect_leaks=1" \
    UBSAN_OPTIONS="log_path=$work/report" \
    LSAN_OPTIONS="suppressions=$here/../lsan.supp:print_suppressions=0" \
    "$program" --filter "leaking/$3" >"$work/out" 2>&1
  found=$(find "$work" -name 'report.*' | wc -l)
  if [ "$found" -eq "$1" ] && cat "$work"/* | grep -qF -e "$2"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$3: wanted $1 reports with '$2', got $found:"
    cat "$work"/*
  fi
}

reports 1 'Direct leak of 37 byte(s) in 1 object(s)' loses_memory
reports 0 'Passing: 1 | Failing: 0' gives_memory_back

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
