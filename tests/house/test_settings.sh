#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: test_settings.sh WEIRCTL
#
# drivers/tds/README.md lists the options of tds_option_list.c, with their aliases,
# and "weirctl help settings" has a name for each.
set -u
cd "$(dirname "$0")/../.." || exit 1
passed=0
failed=0

verdict() {
  if [ "$1" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$2"
  fi
}

# "name|alias,alias" of each option, in the order of the table in the driver.
in_driver() {
  tr -d '\n' <drivers/tds/tds_option_list.c |
    grep -oE 'INFO\(WEIR_DRV_T_[^"]*"[^"]+", *(NOTHING|TEXT\("[^"]+"\))' |
    sed -E 's/^[^"]*"([^"]+)", *(NOTHING|TEXT\("([^"]+)"\))$/\1|\3/'
}

# The same of the table in the README.
in_readme() {
  awk -F ' *[|] *' '/^## / { mine = $0 == "## Options" }
    mine && /^[|]/ && $2 != "name" && $2 !~ /^---/ {
      gsub(/, /, ",", $3)
      print $2 "|" $3
    }' drivers/tds/README.md
}

[ "$(in_driver | wc -l)" -ge 36 ]
verdict $? "the options of tds_option_list.c were not found"
diff <(in_driver) <(in_readme)
verdict $? "drivers/tds/README.md does not list the options of tds_option_list.c"

help=$("$1" help settings)
while IFS='|' read -r name _; do
  grep -qF -e "$name" <<<"$help"
  verdict $? "weirctl help settings does not name $name"
done < <(in_driver)

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
