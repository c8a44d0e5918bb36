#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Runs the same statements through our driver, tedious, SqlClient and bsqldb and
compares what they tell, facet by facet: names, types, rows, counts, messages.
Each difference must be explained by a row of explained.tsv, and each row of it
must explain one.

usage: check.py [--keep] [--show N]

WEIR_BUILD_DIR names the build.  --keep leaves the runners' lines in
build/differential/out; --show tells at most N differences that nobody explains.
The last line is "N passed, N failed".
"""
import argparse
import fnmatch
import json
import os
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
BUILD = os.environ.get("WEIR_BUILD_DIR", "")
FOLDER = os.path.join(BUILD, "differential")
OUT = os.path.join(FOLDER, "out")
FACETS = ["names", "types", "rows", "counts", "messages"]
CLIENTS = ["tedious", "sqlclient", "bsqldb"]
RUN_LIMIT_S = 120
INSTALL_LIMIT_S = 300


# What the clients need.

def copy_changed(paths, target):
    """Copies files; True when any was not there in this form."""
    os.makedirs(target, exist_ok=True)
    changed = False
    for path in paths:
        to = os.path.join(target, os.path.basename(path))
        with open(path, "rb") as file:
            now = file.read()
        if os.path.exists(to):
            with open(to, "rb") as file:
                if file.read() == now:
                    continue
        with open(to, "wb") as file:
            file.write(now)
        changed = True
    return changed


def install(command, folder):
    quiet = dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1",
                 DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1")
    done = subprocess.run(command, cwd=folder, text=True, env=quiet,
                          timeout=INSTALL_LIMIT_S, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n"
                         + done.stdout[-4000:] + "\n0 passed, 1 failed")


def tedious():
    """The packages are those of tests/clients, by the same lock file."""
    target = os.path.join(FOLDER, "node")
    done = os.path.join(target, "installed")
    packages = [os.path.join(TESTS, "clients", "node", name)
                for name in ("package.json", "package-lock.json")]
    if copy_changed(packages, target) or not os.path.exists(done):
        if os.path.exists(done):
            os.remove(done)
        install(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
                target)
        with open(done, "w"):
            pass
    copy_changed([os.path.join(HERE, "node", "run.js")], target)
    return ["node", os.path.join(target, "run.js")]


def sqlclient():
    """The project is that of tests/clients with another program in it."""
    target = os.path.join(FOLDER, "dotnet")
    program = os.path.join(target, "out", "sqlclient.dll")
    files = [os.path.join(TESTS, "clients", "dotnet", name)
             for name in ("clients.csproj", "packages.lock.json")]
    files.append(os.path.join(HERE, "dotnet", "Program.cs"))
    if copy_changed(files, target) or not os.path.exists(program):
        if os.path.exists(program):
            os.remove(program)
        install(["dotnet", "restore", "--locked-mode"], target)
        install(["dotnet", "build", "--no-restore", "--configuration",
                 "Release", "--output", "out",
                 "-p:UseSharedCompilation=false"], target)
    return ["dotnet", program]


def commands():
    """The runner of each client that can be had here."""
    found = {"weir": [os.path.join(BUILD, "tests", "run_weir")]}
    found["tedious"] = tedious()
    if shutil.which("dotnet") is None:
        print("SKIP sqlclient: no dotnet on this machine")
    else:
        found["sqlclient"] = sqlclient()
    found["bsqldb"] = ["/usr/bin/python3", "-B",
                       os.path.join(HERE, "run_bsqldb.py")]
    return found


# Statements.

def read_statements(path, prefix):
    statements = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("-- @ "):
                statements.append({"id": prefix + line[5:].strip(), "sql": ""})
            elif statements:
                statements[-1]["sql"] += line
    for statement in statements:
        statement["sql"] = statement["sql"].strip()
    return statements


class Server:
    """A tdsd with these options."""

    def __init__(self, name, options):
        self.log = os.path.join(OUT, name + ".log")
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "bin", "tdsd"), "--port", "0",
                 "--print-port"] + options, stdout=subprocess.PIPE, stderr=log)
        self.port = self.process.stdout.readline().decode().strip()

    def stop(self):
        """Ends it.  Returns its exit status and what it logged."""
        self.process.terminate()
        status = self.process.wait(20)
        self.process.stdout.close()
        with open(self.log) as file:
            return status, file.read()


def run(command, name, client, port, statements):
    """The lines of one client by the statements' names."""
    path = os.path.join(OUT, f"{name}.json")
    full = command + [port, path]
    if client == "weir":
        full.append(os.path.join(BUILD, "lib", "weir", "drivers"))
    done = subprocess.run(full, text=True, timeout=RUN_LIMIT_S,
                          capture_output=True)
    with open(os.path.join(OUT, f"{name}.{client}"), "w") as file:
        file.write(done.stdout)
    lines = {}
    for line in done.stdout.splitlines():
        told = json.loads(line)
        lines[told["id"]] = told
    if done.returncode != 0 or len(lines) != len(statements):
        raise SystemExit(f"{client} told {len(lines)} of {len(statements)} "
                         f"statements:\n{done.stderr[-2000:]}\n"
                         "0 passed, 1 failed")
    return lines


# Comparing.

def plain(value, kind):
    """A value in the form that does not depend on who printed it."""
    if value is None:
        return None
    base = kind.split("(")[0].split(" ")[0]
    if base == "float":
        return repr(float(value))
    if base == "real":
        return repr(struct.unpack("f", struct.pack("f", float(value)))[0])
    return value


def facets_of(line, kinds):
    """kinds: the types of our driver's columns, for how values are printed."""
    rows = []
    for number, result in enumerate(line["results"]):
        known = kinds[number] if number < len(kinds) else []
        rows.append([[plain(cell, known[i] if i < len(known) else "")
                      for i, cell in enumerate(row)] for row in result["rows"]])
    return {"names": [[column["name"] for column in result["columns"]]
                      for result in line["results"]],
            "types": [[column["type"] for column in result["columns"]]
                      for result in line["results"]],
            "rows": rows, "counts": line["counts"],
            "messages": line["messages"]}


def kinds_of(line):
    return [[column["type"] for column in result["columns"]]
            for result in line["results"]]


class Explanation:
    def __init__(self, number, cells):
        self.number = number
        self.statements, self.client, self.facets, self.why = cells
        self.used = False

    def fits(self, statement, client, facet):
        return (client == self.client
                and facet in self.facets.split()
                and any(fnmatch.fnmatchcase(statement, pattern)
                        for pattern in self.statements.split()))


def read_explanations():
    rows = []
    with open(os.path.join(HERE, "explained.tsv"), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            cells = line.rstrip("\n").split("\t")
            if line.strip() and not line.startswith("#"):
                if len(cells) != 4:
                    raise SystemExit(f"explained.tsv:{number}: four columns "
                                     "are needed\n0 passed, 1 failed")
                rows.append(Explanation(number, cells))
    return rows


class Tally:
    def __init__(self, most):
        self.passed = self.failed = self.shown = 0
        self.most = most

    def check(self, good, what):
        self.passed += 1 if good else 0
        self.failed += 0 if good else 1
        if not good and self.shown < self.most:
            self.shown += 1
            print("FAILED: " + what)


def cut(ours, theirs):
    """The two texts from shortly before where they begin to differ."""
    a, b = json.dumps(ours), json.dumps(theirs)
    at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y),
              min(len(a), len(b)))
    start = max(0, at - 40)
    return f"\n  ours:   {a[start:at + 80]}\n  theirs: {b[start:at + 80]}"


def compare(tally, explanations, client, ours, theirs):
    for name, line in ours.items():
        kinds = kinds_of(line)
        mine, other = facets_of(line, kinds), facets_of(theirs[name], kinds)
        for facet in FACETS:
            same = mine[facet] == other[facet]
            why = None
            if not same:
                for row in explanations:
                    if row.fits(name, client, facet):
                        row.used = True
                        why = row
            tally.check(same or why is not None, f"{name} {client} {facet}"
                        + ("" if same else cut(mine[facet], other[facet])))


def one_server(tally, explanations, found, name, options, statements):
    with open(os.path.join(OUT, f"{name}.json"), "w") as file:
        json.dump(statements, file)
    told = {}
    for client, command in found.items():
        server = Server(f"{name}.{client}", options)
        told[client] = run(command, name, client, server.port, statements)
        status, log = server.stop()
        tally.check(status == 0 and log == "",
                    f"{name} {client}: tdsd ended with {status}, logged {log}")
    for client in CLIENTS:
        if client in told:
            compare(tally, explanations, client, told["weir"], told[client])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--show", type=int, default=40)
    args = parser.parse_args()
    if not os.path.exists(os.path.join(BUILD, "tests", "run_weir")):
        raise SystemExit("WEIR_BUILD_DIR names no build with tests/run_weir\n"
                         "0 passed, 1 failed")
    shutil.rmtree(OUT, ignore_errors=True)
    os.makedirs(OUT)
    found = commands()
    tally, explanations = Tally(args.show), read_explanations()
    tables = read_statements(os.path.join(HERE, "statements.sql"), "sqlite/")
    one_server(tally, explanations, found, "sqlite", ["--sqlite", ":memory:"],
               tables)
    scripted = read_statements(os.path.join(HERE, "scripted.sql"), "script/")
    for script in ("types", "tokens"):
        path = os.path.join(TESTS, "server", "scripts", script + ".tds")
        mine = [s for s in scripted if s["sql"].startswith(script + " ")]
        one_server(tally, explanations, found, "script-" + script,
                   ["--script", path], mine)
    for row in explanations:
        missing = row.client in CLIENTS and row.client not in found
        tally.check(row.used or missing, f"explained.tsv:{row.number}: "
                    f"{row.statements} {row.client} {row.facets}: nothing "
                    "differs any more")
    tally.check(len(tables) + len(scripted) >= 150, "at least 150 statements")
    if not args.keep and tally.failed == 0:
        shutil.rmtree(OUT)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 0 if tally.failed == 0 else 1


sys.exit(main())
