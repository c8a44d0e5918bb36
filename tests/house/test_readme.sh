#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: test_readme.sh [--update]
#
# README.md shows packaging/example/first.c between two marks; the file is built
# with everything else, so a quote that is equal to it compiles.  --update brings
# the quote up to date.  Its table of what a strategy brings is that of
# engine/strategy and, for direct, of the settings in engine/README.md.
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

# Prints the presets of a strategy's file as "Key=value".
presets() {
  sed -nE 's/^ *\{"([^"]+)", "([^"]+)"\},$/\1=\2/p' "engine/strategy/$1.c"
}

# Prints a column of the table, of those that have a key in the first, likewise.
column() {
  awk -F ' *[|] *' -v at="$1" '
    /^\| key \| what it decides/ { inside = 1; next }
    !/^\|/ { inside = 0 }
    inside && $2 ~ /^`/ { gsub(/`/, ""); print $2 "=" $at }' README.md
}

# Prints the defaults of those keys as the table of settings has them.
defaults() {
  presets legacy | cut -d= -f1 | while read -r key; do
    awk -F ' *[|] *' -v key="$key" \
      'NF >= 8 && $2 == key { sub(/ \(.* under .*/, "", $4); print $2 "=" $4; exit }' engine/README.md
  done
}

# same NAME A B: compares two lists of settings.
same() {
  [ -n "$2" ] && diff -u --label "$1" --label README.md \
    <(sort <<<"$2") <(sort <<<"$3")
}

check_strategies() {
  same engine/strategy/legacy.c "$(presets legacy)" "$(column 4)" &&
    same engine/strategy/channel.c "$(presets channel)" "$(column 5)" &&
    same engine/README.md "$(defaults)" "$(column 6)"
}

check_example() {
  if ! [ -s "$example" ]; then
    echo "there is no $example to show"
  elif ! grep -qxF "$begins" README.md || ! grep -qxF "$ends" README.md; then
    echo "README.md has lost its marks: $begins and $ends"
  elif ! diff -u --label README.md <(cat README.md) --label current \
    <(renewed); then
    echo "README.md does not show $example as it is;" \
      "tests/house/test_readme.sh --update mends that"
  else
    return 0
  fi
  return 1
}

if [ "${1:-}" = --update ] && [ -s "$example" ]; then
  new=$(renewed) && printf '%s\n' "$new" >README.md
  exit
fi
passed=0
for check in check_example check_strategies; do
  "$check" && passed=$((passed + 1))
done
echo "$passed passed, $((2 - passed)) failed"
[ "$passed" -eq 2 ]
