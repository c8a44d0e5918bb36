#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tests/scenarios.tsv names tests that exist, and no number is missing.

Each line is NUMBER, TITLE and one or more tests, with tabs between them.  A test
is FILE:NAME: the name of a Criterion test in that file, or a word that stands
in a script.  "none: REASON" says why a number has no test.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Ways in which pools and TDS drivers fail in the field (S), by chapter, and
# reports of other drivers' users (R).
NEEDED = (
    [f"S{n}" for n in (1, 2, 4, 6, 8, 11)]              # A  lost wake-ups
    + [f"S{n}" for n in (12, 14, 16, 17)]               # B  deadlines
    + [f"S{n}" for n in (18, 19, 20, 21, 25, 26)]       # C  cancellation
    + [f"S{n}" for n in (27, 28, 30, 31, 32, 33, 36, 37)] # D  creation
    + [f"S{n}" for n in (38, 39, 42)]                   # E  thundering herds
    + [f"S{n}" for n in (43, 44, 45)]                   # F  blocking period
    + [f"S{n}" for n in (47, 49, 50)]                   # G  clear
    + [f"S{n}" for n in (52, 53, 56, 57)]               # H  maximum
    + [f"S{n}" for n in (58, 59, 61)]                   # I  minimum
    + [f"S{n}" for n in (63, 64, 65)]                   # J  idle trimming
    + [f"S{n}" for n in (67, 68)]                       # K  lifetime
    + [f"S{n}" for n in (73, 78)]                       # L  stale
    + [f"S{n}" for n in (81, 82, 84, 85)]               # M  half-open, probes
    + [f"S{n}" for n in (115, 116, 119, 120)]           # R  counters
    + [f"S{n}" for n in (121, 122, 123, 126)]           # S  pool key
    + [f"S{n}" for n in (135, 136, 138)]                # V  async, names
    + [f"S{n}" for n in (159, 160)]                     # Z  connection strings
    + [f"S{n}" for n in (162, 164, 165, 166, 169)]      # AA packet boundaries
    + [f"S{n}" for n in (170, 172, 174, 176, 177, 178)] # BB attention
    + [f"S{n}" for n in (179, 181, 183, 185, 186)]      # CC routing, TLS
    + ["S187"]                                          # DD big results
    + [f"S{n}" for n in (189, 191, 193)]                # EE clock, overflow
    + [f"S{n}" for n in (194, 197)]                     # FF truthful errors
    + [f"R{n}" for n in range(1, 36)])


def problem_of(test):
    """What is wrong with a FILE:NAME, or None."""
    if test.startswith("none: "):
        return None if len(test) > 20 else "gives no reason"
    name, _, word = test.partition(":")
    path = ROOT / name
    if not word or not path.is_file():
        return f"names no file: {test}"
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".c":
        found = re.search(rf"\b{re.escape(word)}\b", text)
    else:
        found = word in text
    return None if found else f"names no test: {test}"


def main():
    passed = failed = 0
    seen = set()
    table = (ROOT / "tests" / "scenarios.tsv").read_text(encoding="utf-8")
    for number, line in enumerate(table.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        problems = []
        if len(fields) < 3:
            problems.append("has no test")
        elif fields[0] in seen:
            problems.append(f"repeats {fields[0]}")
        problems += filter(None, map(problem_of, fields[2:]))
        seen.add(fields[0])
        for problem in problems:
            print(f"tests/scenarios.tsv:{number}: {problem}")
        failed += bool(problems)
        passed += not problems
    for number in NEEDED:
        if number not in seen:
            print(f"tests/scenarios.tsv: {number} is missing")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
