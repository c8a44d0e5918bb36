#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Runs the statements of a JSON file through FreeTDS's bsqldb and prints one
canonical JSON line for each (README.md says what is in it).  bsqldb ends at the
first error, so each statement is a process of its own; it tells no types.

usage: run_bsqldb.py PORT STATEMENTS.json
"""
import json
import os
import re
import subprocess
import sys

SEPARATOR = "\x1f"
MESSAGE = re.compile(r"^Msg (\d+), Level (\d+), State (\d+)$")
COUNT = re.compile(r"^(\d+) rows affected$")
DASHES = re.compile(f"^(?=.*--)-*({SEPARATOR}-*)*$")


def run(port, sql):
    return subprocess.run(
        ["bsqldb", "-S", f"127.0.0.1:{port}", "-U", "sa", "-P", "x", "-h",
         "-t", SEPARATOR], input=sql + "\ngo\n", text=True, timeout=60,
        errors="replace", capture_output=True,
        env=dict(os.environ, LC_ALL="C.UTF-8", TDSVER="7.4"))


def cells(line):
    return [None if cell == "NULL" else cell
            for cell in line.split(SEPARATOR)]


def results_of(text):
    """Results: a line of names, one of dashes, rows."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    results = []
    for number, line in enumerate(lines):
        if DASHES.match(line):
            continue
        if number + 1 < len(lines) and DASHES.match(lines[number + 1]):
            results.append({"columns": [{"name": name, "type": ""}
                                        for name in line.split(SEPARATOR)],
                            "rows": []})
        elif results:
            results[-1]["rows"].append(cells(line))
    return results


def counts_of(text):
    found = (COUNT.match(line) for line in text.split("\n"))
    return [int(match.group(1)) for match in found if match]


def messages_of(text):
    """Errors have a head and their text two lines below; PRINT has its text."""
    messages, lines, at = [], text.split("\n"), 0
    while at < len(lines):
        head = MESSAGE.match(lines[at])
        if head:
            number, level, state = (int(part) for part in head.groups())
            messages.append({"number": number, "class": level, "state": state,
                             "text": lines[at + 2].strip("\t")})
            at += 3
            continue
        line = lines[at]
        if line and not COUNT.match(line) and not line.startswith(
                ("@@rowcount not", "bsqldb: ", "return code")):
            messages.append({"number": 0, "class": 0, "state": 1,
                             "text": line})
        at += 1
    return messages


def main():
    port, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        statements = json.load(file)
    for statement in statements:
        done = run(port, statement["sql"])
        print(json.dumps({"id": statement["id"],
                          "results": results_of(done.stdout),
                          "counts": counts_of(done.stderr),
                          "messages": messages_of(done.stderr)}))


main()
