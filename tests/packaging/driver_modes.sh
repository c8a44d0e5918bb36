#!/bin/bash
# SPDX-License-Identifier: MIT
# driver_modes.sh SOURCE CMAKE - builds a driver with weir_driver() where new
# files are group-writable (umask 002, as with a group for each user): the loader
# must find the result good.  Prints "N passed, N failed".
set -u

source=$1
cmake=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
passed=0
failed=0

# check NAME TEST...: counts a test command.
check() {
  local name=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED: %s: %s\n' "$name" "$*"
    cat "$dir/log"
  fi
}

# writable PATH: succeeds if others than the owner may write it.
writable() { [ -n "$(find "$1" -maxdepth 0 -perm /022)" ]; }
protected() { [ -e "$1" ] && ! writable "$1"; }

umask 002
mkdir "$dir/project"
ln -s "$source/abi" "$dir/project/abi"
cat >"$dir/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(modes LANGUAGES C)
set(CMAKE_C_STANDARD 11)
set(WEIR_DRIVER_OUTPUT_DIRECTORY \${CMAKE_BINARY_DIR}/drivers)
add_library(weir_abi INTERFACE)
target_include_directories(weir_abi INTERFACE abi/include)
include($source/packaging/cmake/weir.cmake)
weir_driver(line SOURCES abi/example/line_driver.c)
END
built() {
  "$cmake" -S "$dir/project" -B "$dir/build" -G Ninja >"$dir/log" 2>&1 &&
    "$cmake" --build "$dir/build" >>"$dir/log" 2>&1
}

check "the driver builds" built
check "the umask is at work" writable "$dir/build/CMakeCache.txt"
check "the directory" protected "$dir/build/drivers"
check "the file" protected "$dir/build/drivers/line.so"
check "the file can be read" test -r "$dir/build/drivers/line.so"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
