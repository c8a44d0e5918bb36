#!/bin/bash
# SPDX-License-Identifier: MIT
# Runs tests/support/count_tests.py over records made by hand and compares what
# it counts.  A counter that hides failures would hide everything else.
set -u
here=$(cd "$(dirname "$0")" && pwd)
count=$here/../support/count_tests.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

# expect NAME STATUS LAST-LINE JUNIT-BODY [REPORT-TEXT]
expect() {
  local reports=$work/reports got status
  rm -rf "$reports" && mkdir "$reports"
  if [ $# -eq 5 ]; then
    printf '%s\n' "$5" >"$reports/report.boxfort-worker.1"
  fi
  printf '<testsuite>%s</testsuite>\n' "$4" >"$work/junit.xml"
  /usr/bin/python3 "$count" "$work/junit.xml" "$reports" "$work/list" \
    >"$work/out"
  status=$?
  got=$(tail -n 1 "$work/out")
  if [ "$status" = "$2" ] && [ "$got" = "$3" ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$1: wanted status $2 and '$3', got $status and '$got'"
    cat "$work/out"
  fi
}

# ran NAME STATUS OUTPUT: one program of a record.
ran() {
  printf '<testcase name="%s" status="%s"><system-out>%s</system-out></testcase>' \
    "$1" "$2" "$3"
}

# ctest says "run" of the test called negative when it failed, as it is meant to,
# and of the one called finds when it printed what it should.
cat >"$work/list" <<'END'
{"tests": [
  {"name": "key", "properties": [{"name": "TIMEOUT", "value": 5.0}]},
  {"name": "negative", "properties": [{"name": "WILL_FAIL", "value": true}]},
  {"name": "finds", "properties": [
    {"name": "PASS_REGULAR_EXPRESSION", "value": [", 5 failed"]}]}]}
END

synthesis='[====] Synthesis: Tested: 6 | Passing: 4 | Failing: 2 | Crashing: 1'
leak='==1==ERROR: LeakSanitizer
    #0 0x1 in f (/x/build/asan/tests/test_key+0x1)'

expect criterion_cases 1 "4 passed, 2 failed" "$(ran key fail "$synthesis")"
expect plain_cases 0 "7 passed, 0 failed" "$(ran a run "7 passed, 0 failed")"
expect last_line_counts 0 "2 passed, 0 failed" \
  "$(ran a run $'9 passed, 0 failed\n2 passed, 0 failed')"
expect programs_add_up 0 "5 passed, 0 failed" \
  "$(ran a run "2 passed, 0 failed")$(ran b run "3 passed, 0 failed")"
expect silent_program_is_one_case 0 "1 passed, 0 failed" "$(ran a run "hm")"
expect crash_after_good_count 1 "7 passed, 1 failed" \
  "$(ran a fail "7 passed, 0 failed")"
expect crash_without_count 1 "0 passed, 1 failed" "$(ran a fail "")"
expect admitted_failure_with_exit_zero 1 "1 passed, 1 failed" \
  "$(ran a run "1 passed, 1 failed")"
expect meant_to_fail_and_did 0 "1 passed, 0 failed" \
  "$(ran negative run "4 passed, 5 failed")"
expect meant_to_fail_and_did_not 1 "0 passed, 1 failed" \
  "$(ran negative fail "9 passed, 0 failed")"
expect says_what_it_should 0 "1 passed, 0 failed" \
  "$(ran finds run "4 passed, 5 failed")"
expect missing_program 1 "0 passed, 1 failed" \
  '<testcase name="a" status="notrun"><skipped message="Unable to find executable"/></testcase>'
expect skip_is_neither 0 "1 passed, 0 failed" \
  "$(ran b run "1 passed, 0 failed")<testcase name=\"a\" status=\"notrun\"><skipped message=\"SKIP_RETURN_CODE=77\"/></testcase>"
expect nothing_ran 1 "0 passed, 1 failed" ""
expect broken_record 1 "0 passed, 1 failed" "<"
expect leak_in_passing_program 1 "3 passed, 1 failed" \
  "$(ran key run "3 passed, 0 failed")" "$leak"
expect leak_in_failed_program_counts_once 1 "4 passed, 2 failed" \
  "$(ran key fail "$synthesis")" "$leak"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
