#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Runs clang-tidy over a compile database, a few files at once, and remembers
which were clean.

usage: tidy.py BUILD JOBS

Reads BUILD/checked/compile_commands.json (see compile_db.py).  A file is not
checked again while its preprocessed text, its command, .clang-tidy and
clang-tidy itself are the same.  Errors are printed and make the exit status 1;
remarks (warnings that are no errors) go to BUILD/tidy/remarks.txt.
"""
import concurrent.futures
import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys

PROGRAM = shutil.which("clang-tidy-14") or "clang-tidy"


def output_of(command, folder=None):
    return subprocess.run(command, cwd=folder, check=True,
                          stdout=subprocess.PIPE).stdout


def preprocess_command(entry):
    """The compile command, changed to print the text the compiler sees, with
    comments and macros: both matter to clang-tidy."""
    words, kept, skip = shlex.split(entry["command"]), [], False
    for word in words:
        if skip:
            skip = False
        elif word in ("-o", "-MF", "-MT", "-MQ"):
            skip = True
        elif word not in ("-c", "-MD", "-MMD"):
            kept.append(word)
    return kept + ["-w", "-E", "-C", "-dD"]


def fingerprint(entry, common):
    digest = hashlib.sha256(common)
    digest.update(entry["command"].encode())
    digest.update(output_of(preprocess_command(entry), entry["directory"]))
    return digest.hexdigest()


def tidy(entry, build, common):
    """(ok, what clang-tidy printed) for one source."""
    path = os.path.join(entry["directory"], entry["file"])
    known = os.path.join(build, "tidy", fingerprint(entry, common))
    if os.path.exists(known):
        with open(known) as file:
            return True, file.read()
    done = subprocess.run(
        [PROGRAM, "-p", os.path.join(build, "checked"), "--quiet", path],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        return False, done.stdout + (done.stderr if not done.stdout else "")
    with open(known, "w") as file:
        file.write(done.stdout)
    return True, done.stdout


def main(args):
    if len(args) != 2 or not args[1].isdigit():
        print(__doc__, file=sys.stderr)
        return 2
    build = os.path.realpath(args[0])
    root = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
    with open(os.path.join(build, "checked/compile_commands.json")) as file:
        entries = json.load(file)
    with open(os.path.join(root, ".clang-tidy"), "rb") as file:
        common = file.read() + output_of([PROGRAM, "--version"])
    os.makedirs(os.path.join(build, "tidy"), exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(int(args[1])) as pool:
        results = list(pool.map(lambda e: tidy(e, build, common), entries))
    remarks = [text for ok, text in results if ok and text]
    with open(os.path.join(build, "tidy/remarks.txt"), "w") as file:
        file.writelines(remarks)
    for ok, text in results:
        if not ok:
            print(text)
    count = sum(text.count(" warning: ") for text in remarks)
    print(f"{len(entries)} sources, {count} remarks in "
          f"{os.path.relpath(build)}/tidy/remarks.txt")
    return 0 if all(ok for ok, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
