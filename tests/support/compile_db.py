#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Writes the compile database that the checkers read.

usage: compile_db.py BUILD

Reads BUILD/compile_commands.json and writes BUILD/checked/compile_commands.json
with what we ship and tdsd (tests are judged by running them), each source once:
libweir's sources are compiled twice, and the variant with the seams has more to
check.  Prints how many sources there are; none is an error.
"""
import json
import os
import sys

TESTS = ("tests/server/test_", "tests/server/check_", "tests/server/fuzz_")
CHECKED = ("abi/", "drivers/", "engine/", "packaging/", "tests/server/")


def select(entries, root):
    chosen = {}
    for entry in entries:
        path = os.path.relpath(
            os.path.join(entry["directory"], entry["file"]), root)
        if not path.startswith(CHECKED) or path.startswith(TESTS):
            continue
        if path not in chosen or "-DWEIR_SEAMS=1" in entry["command"]:
            chosen[path] = entry
    return [chosen[path] for path in sorted(chosen)]


def main(args):
    if len(args) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
    with open(os.path.join(args[0], "compile_commands.json")) as file:
        chosen = select(json.load(file), root)
    folder = os.path.join(args[0], "checked")
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "compile_commands.json"), "w") as file:
        json.dump(chosen, file, indent=1)
    print(f"{len(chosen)} sources to check")
    return 0 if chosen else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
