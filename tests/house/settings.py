#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""settings.py DUMP WEIRCTL [--write]

What is written about the settings of the engine is what is in its table:
packaging/cli/settings_data.h, which `weirctl help settings` shows; the tables of
engine/README.md; and tests/engine/settings_tests.tsv, which names for each setting
that is built a test of its effect, and for each that may change while a pool runs a
test of that.  DUMP is the program of settings_dump.c.  With --write the first two
are written anew instead of compared."""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
DATA = "packaging/cli/settings_data.h"
README = "engine/README.md"
TESTS = "tests/engine/settings_tests.tsv"
STRATEGIES = ("legacy", "channel")  # whose defaults may differ from direct's
FIELDS = ["name", "aliases", "unit", "default", *STRATEGIES, "range",
          "changeable", "built", "what"]
HEAD = ("| name (aliases) | unit | default | range | changeable | what |\n"
        "|---|---|---|---|---|---|\n")
passed = 0
failed = 0


def check(good, words):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(words)


def path(name):
    return os.path.join(ROOT, name)


def read(name):
    with open(path(name), encoding="utf-8") as file:
        return file.read()


def write(name, text):
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)


def settings(dump):
    out = subprocess.run([dump], capture_output=True, check=True, text=True)
    return [dict(zip(FIELDS, line.split("\t")))
            for line in out.stdout.splitlines()]


def quoted(text):
    return json.dumps(text, ensure_ascii=True)


def data(rows):
    """The header: one initializer each, as clang-format leaves it alone."""
    text = ("/* SPDX-License-Identifier: MIT */\n"
            "/* The settings of the engine.  Written by tests/house/settings.py; "
            "not by hand. */\n/* clang-format off */\n")
    for row in rows:
        parts = [quoted(row[f]) for f in FIELDS if f not in
                 ("changeable", "built")]
        parts[7:7] = ["1" if row[f] == "yes" else "0"
                      for f in ("changeable", "built")]
        text += "{" + ",\n ".join(parts) + "},\n"
    return text


def default(row):
    """The default, and what it is under other strategies."""
    others = {}
    for strategy in STRATEGIES:
        if row[strategy] != row["default"]:
            others.setdefault(row[strategy], []).append(strategy)
    if row["name"] == "Pool Strategy" or not others:
        return row["default"]
    return "%s (%s)" % (row["default"], "; ".join(
        "%s under %s" % (value, ", ".join(names))
        for value, names in others.items()))


def table(rows):
    text = HEAD
    for row in rows:
        aliases = row["aliases"].replace(",", ", ")
        name = row["name"] + (" (%s)" % aliases if aliases else "")
        cells = [name, row["unit"], default(row),
                 row["range"], row["changeable"],
                 row["what"]]
        text += "| " + " | ".join(cells) + " |\n"
    return text.replace("|  |", "| |")


def tables(text, rows):
    """The README with its two tables written anew."""
    built = table([r for r in rows if r["built"] == "yes"])
    other = table([r for r in rows if r["built"] != "yes"])
    parts = re.split(re.escape(HEAD) + r"(?:\|.*\n)*", text)
    if len(parts) != 3:
        return None
    return parts[0] + built + parts[1] + other + parts[2]


def has_test(where):
    """Whether FILE:suite.test is a test."""
    match = re.fullmatch(r"(\S+\.c):(\w+)\.(\w+)", where)
    if match is None or not os.path.exists(path(match[1])):
        return False
    return re.search(r"\bTest\(\s*%s\s*,\s*%s\s*[,)]" % match.group(2, 3),
                     read(match[1])) is not None


def check_tests(rows):
    lines = [line.split("\t") for line in read(TESTS).splitlines()
             if line and not line.startswith("#")]
    check([line[0] for line in lines] == [row["name"] for row in rows],
          TESTS + " does not have each setting of the table, in its order")
    listed = {line[0]: line[1:] for line in lines}
    for row in rows:
        cells = listed.get(row["name"], [])
        if len(cells) != 2:
            check(False, "%s: two tests, or -, for %s" % (TESTS, row["name"]))
            continue
        if row["built"] != "yes":
            check(cells == ["-", "-"],
                  "%s: %s is not built" % (TESTS, row["name"]))
            continue
        check(has_test(cells[0]),
              "%s: no test of what %s does: %s" % (TESTS, row["name"],
                                                   cells[0]))
        check(has_test(cells[1]) if row["changeable"] == "yes"
              else cells[1] == "-",
              "%s: no test of a change of %s: %s" % (TESTS, row["name"],
                                                     cells[1]))


def check_help(weirctl, rows):
    def ask(*more):
        return subprocess.run([weirctl, "help", "settings", *more],
                              capture_output=True, check=False, text=True)
    told = ask("--json")
    try:
        got = [json.loads(line) for line in told.stdout.splitlines()]
    except ValueError:
        got = None
    want = [{**{f: row[f] for f in FIELDS if f not in STRATEGIES},
             "defaults": {"direct": row["default"], **{f: row[f] for f in STRATEGIES}},
             "aliases": [a for a in row["aliases"].split(",") if a],
             "changeable": row["changeable"] == "yes",
             "built": row["built"] == "yes"} for row in rows]
    check(got == want, "weirctl help settings --json is not the table")
    text = " ".join(ask().stdout.split())
    for row in rows:
        check(row["name"] in text and row["what"] in text
              and default(row) in text,
              "weirctl help settings does not tell " + row["name"])
    check(all(len(line) <= 80 or "weirctl key" in line  # to be copied
              for line in ask().stdout.splitlines()),
          "weirctl help settings is wider than 80 columns")


def main():
    rows = settings(sys.argv[1])
    if "--write" in sys.argv:
        write(DATA, data(rows))
        write(README, tables(read(README), rows))
        return 0
    how = "; %s DUMP WEIRCTL --write" % sys.argv[0]
    check(read(DATA) == data(rows), DATA + " is not the table" + how)
    check(read(README) == tables(read(README), rows),
          README + " is not the table" + how)
    check_tests(rows)
    check_help(sys.argv[2], rows)
    print("%d passed, %d failed" % (passed, failed))
    return failed != 0


sys.exit(main())
