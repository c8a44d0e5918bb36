#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counts test cases in what ctest recorded, and says which failed.

usage: count_tests.py JUNIT REPORTS [LIST]

JUNIT is the file of `ctest --output-junit`; REPORTS is a folder in which
sanitizers left their reports (log_path), if any; LIST is what
`ctest --show-only=json-v1` printed, in which tests are found that ctest judges
otherwise than by exit status (WILL_FAIL, PASS_REGULAR_EXPRESSION): such a test is
a single case, and what it printed is not counted.

Counted are test cases, not programs.  A Criterion program tells its numbers in
its "Synthesis" line; a plain program or script prints "N passed, N failed"; one
that prints neither is a single case, judged by its exit status.  The last such
line of the output counts.  A program that crashed, hung or exited with non-zero
while admitting no failed case has failed once more than it says.  A sanitizer
report is a failed case, unless its program has already failed: a leak inside a
Criterion child does not reach the exit status.

The last line printed is "N passed, N failed".  Exit status: 0 when something
passed and nothing failed, else 1.
"""
import json
import os
import re
import sys
import xml.etree.ElementTree as ElementTree

SYNTHESIS = re.compile(
    r"Synthesis: Tested: \d+ \| Passing: (\d+) \| Failing: (\d+)")
PLAIN = re.compile(r"^(\d+) passed, (\d+) failed\s*$")
MAX_SHOWN_LINES = 200


def told(output):
    """The numbers a program told, (passed, failed), or None."""
    found = None
    for line in output.splitlines():
        match = SYNTHESIS.search(line) or PLAIN.match(line)
        if match:
            found = int(match.group(1)), int(match.group(2))
    return found


def skipped_on_purpose(case):
    """True when the program itself said that it cannot run here."""
    note = case.find("skipped")
    return note is not None and note.get("message", "").startswith("SKIP_")


def judged_whole(path):
    """Names of the tests whose own count means nothing."""
    if path is None:
        return set()
    with open(path) as file:
        tests = json.load(file)["tests"]
    return {test["name"] for test in tests
            for prop in test.get("properties", [])
            if prop["name"] in ("WILL_FAIL", "PASS_REGULAR_EXPRESSION")
            and prop["value"]}


def judge(case, is_whole):
    """(passed, failed, reason) of one ctest entry; reason is for reading."""
    status = case.get("status")
    output = case.findtext("system-out") or ""
    if status == "disabled" or skipped_on_purpose(case):
        return 0, 0, "skipped"
    if status == "notrun":
        return 0, 1, "did not run"
    counts = None if is_whole else told(output)
    if status == "fail":
        passed, failed = counts or (0, 0)
        return passed, max(failed, 1), "failed"
    if counts is None:
        return 1, 0, ""
    return counts[0], counts[1], "failed" if counts[1] else ""


def show(title, output):
    lines = output.splitlines()
    print(f"---- {title}")
    if len(lines) > MAX_SHOWN_LINES:
        print(f"(the last {MAX_SHOWN_LINES} of {len(lines)} lines)")
    for line in lines[-MAX_SHOWN_LINES:]:
        print("    " + line)


def count_cases(path, whole):
    """(passed, failed, names of failed programs) of a JUnit file."""
    try:
        cases = ElementTree.parse(path).getroot().iter("testcase")
    except (OSError, ElementTree.ParseError) as problem:
        print(f"---- no record of the tests: {problem}")
        return 0, 1, set()
    passed, failed, bad = 0, 0, set()
    for case in cases:
        name, output = case.get("name"), case.findtext("system-out") or ""
        good_here, bad_here, reason = judge(case, name in whole)
        passed += good_here
        failed += bad_here
        if bad_here:
            bad.add(name)
            show(f"{name}: {reason}", output)
        elif reason == "skipped":
            last = (output.strip().splitlines() or ["no reason given"])[-1]
            print(f"SKIP {name}: {last}")
    return passed, failed, bad


def programs_of(name, report):
    """What a report may belong to.  Its file is called NAME.EXECUTABLE.PID, but
    Criterion's children call themselves boxfort-worker, so that the stack
    frames have to tell."""
    names = set(re.findall(r"/(\w+)\+0x", report)) | set(name.split(".")[1:2])
    return names | {re.sub("^test_", "", program) for program in names}


def count_reports(folder, bad):
    """Failures that only sanitizer reports tell of."""
    failed = 0
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    for name in names:
        with open(os.path.join(folder, name), errors="replace") as file:
            report = file.read()
        show(f"sanitizer report {name}", report)
        if not programs_of(name, report) & bad:
            failed += 1
    return failed


def main(args):
    if len(args) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    whole = judged_whole(args[2] if len(args) == 3 else None)
    passed, failed, bad = count_cases(args[0], whole)
    failed += count_reports(args[1], bad)
    if passed + failed == 0:
        print("---- no test ran")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
