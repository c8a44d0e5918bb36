#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""behaviours.py JUNIT...

Says how many of SqlClient's behaviours hold, in one line: what
tests/engine/sqlclient_behaviours.md says of each, and of those that have a test what
the runs say that `ctest --output-junit` recorded.  One that a run did not pass, or
did not try, does not hold.  Exit status 0 when all that have a test hold."""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = "tests/engine/sqlclient_behaviours.md"
TESTS = "tests/engine/behaviours"
LAST = 346
WORDS = ("next", "internal", "different")

ROW = re.compile(r"\|\s*(\d+)\s*\|(.*)\|(.*)\|\s*")
TEST = re.compile(r"\bTest\(\s*\w+\s*,\s*(behaviour_\w+)")
FAILED = re.compile(r"^\[(?:FAIL|CRASH)\]\s+\w+::(\w+)", re.M)


def rows_of(text):
    """(number, behaviour, third column) of each row, as it comes."""
    rows = []
    for line in text.splitlines():
        match = ROW.fullmatch(line)
        if match:
            rows.append((int(match[1]), match[2].strip(), match[3].strip()))
    return rows


def class_of(cell):
    """"test", one of WORDS, or None for what the table must not say."""
    if re.fullmatch(r"behaviour_\d{3}_[a-z0-9_]+", cell):
        return "test"
    word, colon, why = cell.partition(": ")
    return word if word in WORDS and colon and len(why) >= 4 else None


def programs(root=ROOT):
    """The behaviours that each program of TESTS tries: {ctest name: [test]}."""
    return {"behaviours_" + path.stem[len("test_"):]:
            TEST.findall(path.read_text(encoding="utf-8"))
            for path in sorted((root / TESTS).glob("test_*.c"))}


def passed_in(junit, tests):
    """The tests that the run passed.  A program tells only what failed; one that
    failed without telling passed nothing."""
    good = set()
    for case in ElementTree.parse(junit).getroot().iter("testcase"):
        mine = tests.get(case.get("name"), [])
        output = case.findtext("system-out") or ""
        bad = set(FAILED.findall(output))
        if case.get("status") == "run" or (case.get("status") == "fail"
                                           and bad and "Synthesis:" in output):
            good |= set(mine) - bad
    return good


def summary(rows, passed):
    """The line, and how many that have a test do not hold."""
    count = dict.fromkeys(("test",) + WORDS, 0)
    lost = 0
    for _, _, cell in rows:
        kind = class_of(cell)
        if kind == "test" and cell not in passed:
            lost += 1
        elif kind is not None:
            count[kind] += 1
    fail = f"{lost} fail, " if lost else ""
    return (f"SqlClient behaviours: {count['test']} hold, {fail}"
            f"{count['next']} next, {count['internal']} internal, "
            f"{count['different']} different, of {len(rows)}", lost)


def main(args):
    if not args:
        print(__doc__, file=sys.stderr)
        return 2
    rows = rows_of((ROOT / TABLE).read_text(encoding="utf-8"))
    tests = programs()
    passed = set.intersection(*(passed_in(path, tests) for path in args))
    line, lost = summary(rows, passed)
    print(line)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
