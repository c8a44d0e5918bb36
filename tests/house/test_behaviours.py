#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tests/engine/sqlclient_behaviours.md and the tests in tests/engine/behaviours are
of one mind: each number from 1 to 346 has one row, each test that a row names is
there once, each test that is there has its row, and rows say nothing else than they
may.  The counts that `./run test --label behaviours` ends with are tried, too."""
import collections
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
import behaviours  # noqa: E402  its folder is no package

passed = failed = 0


def check(good, words):
    global passed, failed
    passed += bool(good)
    failed += not good
    if not good:
        print(words)


def check_row(number, behaviour, cell, tests, known):
    where = f"{behaviours.TABLE}, {number}: "
    kind = behaviours.class_of(cell)
    check(behaviour, where + "no behaviour")
    if kind == "test":
        check(tests[cell] == 1, where + f"{tests[cell]} tests are called {cell}")
        check(cell.startswith(f"behaviour_{number:03d}_"),
              where + f"{cell} is of another number")
        return
    check(kind is not None,
          where + f"\"{cell}\" is no test, nor internal, different or next with "
          "a reason")
    for suite, name in re.findall(r"\b([a-z_]+)\.([a-z0-9_]{8,})", cell):
        check((suite, name) in known, where + f"no test is {suite}.{name}")


def check_table():
    rows = behaviours.rows_of(
        (ROOT / behaviours.TABLE).read_text(encoding="utf-8"))
    tests = collections.Counter(
        name for names in behaviours.programs().values() for name in names)
    known = {pair for path in ROOT.glob("tests/engine/**/test_*.c")
             for pair in re.findall(r"\bTest\(\s*(\w+)\s*,\s*(\w+)",
                                    path.read_text(encoding="utf-8"))}
    check([row[0] for row in rows] == list(range(1, behaviours.LAST + 1)),
          behaviours.TABLE + " has not each number from 1 to 346 once, in order")
    for row in rows:
        check_row(*row, tests, known)
    listed = {row[2] for row in rows}
    for name in tests:
        check(name in listed, f"{name} has no row in {behaviours.TABLE}")
    line, _ = behaviours.summary(rows, set(tests))
    print(line)


JUNIT = """<testsuite>
<testcase name="behaviours_a" status="run"><system-out>[====] Synthesis: Tested:
2 | Passing: 2 | Failing: 0 | Crashing: 0</system-out></testcase>
<testcase name="behaviours_b" status="fail"><system-out>[FAIL] b::behaviour_003_c: (0.0s)
[====] Synthesis: Tested: 2 | Passing: 1 | Failing: 1</system-out></testcase>
<testcase name="behaviours_c" status="fail"><system-out>killed</system-out></testcase>
</testsuite>"""


def check_counting():
    tests = {"behaviours_a": ["behaviour_001_a", "behaviour_002_b"],
             "behaviours_b": ["behaviour_003_c", "behaviour_004_d"],
             "behaviours_c": ["behaviour_005_e"],
             "behaviours_d": ["behaviour_006_f"]}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "junit.xml"
        path.write_text(JUNIT, encoding="utf-8")
        got = behaviours.passed_in(path, tests)
    check(got == {"behaviour_001_a", "behaviour_002_b", "behaviour_004_d"},
          f"what passed is misread: {got}")
    rows = behaviours.rows_of("| 1 | a | behaviour_001_a |\n"
                              "| 2 | b | behaviour_003_c |\n"
                              "| 3 | c | next: stasis |\n"
                              "| 4 | d | internal: as 3 |\nno row\n"
                              "| 5 | e | different: because |\n| 6 | f | todo |\n")
    check(behaviours.summary(rows, got) ==
          ("SqlClient behaviours: 1 hold, 1 fail, 1 next, 1 internal, "
           "1 different, of 6", 1), behaviours.summary(rows, got))
    for cell in ("", "next", "next:", "internal: ", "later: not yet",
                 "behaviour_1_a", "behaviour_001_", "Behaviour_001_a"):
        check(behaviours.class_of(cell) is None, f"\"{cell}\" passes for a class")


check_table()
check_counting()
print(f"{passed} passed, {failed} failed")
sys.exit(failed != 0)
