#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""Runs one client that nobody here wrote through steps.json against tdsd, in
every TLS mode that it has.

usage: check.py CLIENT [--mode SERVER/SETTING] [--only GLOB] [--keep]

CLIENT is freetds, pymssql, pyodbc, tedious or sqlclient.  WEIR_BUILD_DIR names
the build.  Every step must be ok, except those in the table "What they cannot
do" of README.md, which must not be: an entry that has become possible is a
failure, and so is one that fits no step.  After each mode tdsd must end cleanly
without a complaint, and tshark must find nothing malformed in its tap.

The last line is "N passed, N failed".  Exit status 77: the client cannot be had
here; the last line says why.
"""
import argparse
import fnmatch
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import install
from modes import MODES
from tap import malformed

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("WEIR_BUILD_DIR", "")
RUN_LIMIT_S = 150
END_LIMIT_S = 10
SKIPPED = 77
TOKEN = "a token of nobody's"
MOST_SHOWN = 60  # failures of a mode
AT_ONCE = 3  # modes, which mostly wait

# What tdsd is right to log: steps ask for it, or README.md's table has it.
RIGHT = {
    "*": ["login of .* refused", "a stale transaction descriptor"],
    "freetds": ["TLS record refused: .*wrong version number"],
    "pyodbc": ["a (date|datetime2) parameter with a value behind 9999-12-31"],
}


class Tally:
    """What one mode came to; lines are for reading."""

    def __init__(self):
        self.passed = self.failed = self.gaps = 0
        self.possible = {}  # steps that passed, by why they should not
        self.lines = []

    def good(self):
        self.passed += 1

    def bad(self, what):
        self.failed += 1
        if self.failed <= MOST_SHOWN:
            self.lines.append("FAILED: " + what)

    def check(self, is_good, what):
        if is_good:
            self.good()
        else:
            self.bad(what)


def step_names(script):
    """Every step of the script, TYPE/VALUE filled in."""
    for name, _ in script["steps"]:
        if not name.endswith("TYPE/VALUE"):
            yield name
            continue
        for kind, cases in script["types"].items():
            if name.startswith("output/") and kind in script["never output"]:
                continue
            for label in cases:
                yield name.replace("TYPE/VALUE", f"{kind}/{label}")


class Gap:
    """A row of README's table: client, modes, step, why."""

    def __init__(self, cells):
        self.client, self.where, self.steps, self.why = cells
        self.used = False

    def fits(self, mode, step):
        return (fits(self.where, f"{mode.server}/{mode.setting}")
                and fits(self.steps, step))


def fits(patterns, name):
    """Whether one of the patterns, apart by blanks, fits; only * is special."""
    return any(fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))
               for pattern in patterns.split())


def read_gaps(client):
    rows = []
    with open(os.path.join(HERE, "README.md"), encoding="utf-8") as file:
        for line in file:
            cells = [cell.strip().replace("`", "")
                     for cell in line.strip().strip("|").split("|")]
            if len(cells) == 4 and cells[0] in (client, "*"):
                rows.append(Gap(cells))
    return rows


class Server:
    """A tdsd of one mode with its files, in a folder of its own."""

    def __init__(self, mode, folder):
        self.folder = folder
        self.control = os.path.join(folder, "control")
        self.tap = os.path.join(folder, "tap.pcap")
        self.log = os.path.join(folder, "log")
        self.cert = os.path.join(folder, "cert.pem")
        command = [os.path.join(BUILD, "bin", "tdsd"), "--port", "0",
                   "--print-port", "--tls", mode.server, "--tap", self.tap,
                   "--control", self.control, "--token", TOKEN]
        if mode.cert == "misnamed":
            key = self.make_cert("other.example")
            command += ["--cert", self.cert, "--key", key]
        elif mode.server != "off":
            command += ["--print-cert", self.cert]
        with open(self.log, "w") as log:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log)
        self.port = int(self.process.stdout.readline())
        if mode.cert == "other":
            self.make_cert("localhost")

    def make_cert(self, name):
        key = os.path.join(self.folder, "key.pem")
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=" + name, "-addext", "subjectAltName=DNS:" + name,
             "-keyout", key, "-out", self.cert],
            check=True, stderr=subprocess.DEVNULL)
        return key

    def stop(self):
        """Ends it.  Returns its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(END_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()
        finally:
            self.process.stdout.close()

    def complaints(self, client):
        """What tdsd logged, except what it had to."""
        right = RIGHT["*"] + RIGHT.get(client, [])
        with open(self.log) as file:
            return [line.rstrip() for line in file
                    if not any(re.search(pattern, line) for pattern in right)]


def run_client(command, server, mode, only):
    """What the runner printed."""
    arguments = ["--port", str(server.port), "--tls", mode.setting,
                 "--cert", server.cert, "--control", server.control,
                 "--token", TOKEN,
                 "--steps", os.path.join(HERE, "steps.json"), "--only", only]
    surroundings = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC")
    if mode.setting.endswith("+ca"):
        surroundings["SSL_CERT_FILE"] = server.cert
    try:
        done = subprocess.run(
            command + arguments, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=RUN_LIMIT_S, text=True,
            errors="replace", cwd=server.folder, env=surroundings)
        return done.stdout
    except subprocess.TimeoutExpired as late:
        return (late.stdout or b"").decode(errors="replace")


def read_outcomes(output):
    """{step: None if it was ok, else why not}, and whether the end was told."""
    outcomes = {}
    for line in output.splitlines():
        match = re.match(r"(ok|not ok) (\S+)(?:: (.*))?$", line)
        if match:
            verdict, step, why = match.groups()
            outcomes[step] = None if verdict == "ok" else why or "no reason"
    last = (output.strip().splitlines() or [""])[-1]
    return outcomes, re.match(r"\d+ passed, \d+ failed$", last) is not None


def judge_step(step, mode, outcomes, gaps, tally):
    rows = [gap for gap in gaps if gap.fits(mode, step)]
    for gap in rows:
        gap.used = True
    was_ok = step in outcomes and outcomes[step] is None
    if rows and was_ok:
        tally.possible.setdefault(rows[0].why, []).append(step)
    elif rows:
        tally.gaps += 1
    else:
        tally.check(was_ok, f"{step}: " + str(outcomes.get(step, "not run")))


def judge_steps(mode, output, steps, gaps, tally):
    outcomes, is_whole = read_outcomes(output)
    for step in steps:
        judge_step(step, mode, outcomes, gaps, tally)
    for why, possible in tally.possible.items():
        tally.bad(f"possible now: {' '.join(possible)}; README.md says: {why}")
    for step in set(outcomes) - set(steps):
        tally.bad(f"{step}: is not a step of steps.json")
    if not is_whole:
        tally.bad("the runner did not come to its end:")
        tally.lines += output.splitlines()[-15:]


def judge_refusal(mode, output, tally):
    why = read_outcomes(output)[0].get("connect", "")
    if why is None:
        tally.bad("the connection was made")
    else:
        tally.check(re.search(mode.refusal, why),
                    f"refused, but not for /{mode.refusal}/: "
                    + (why or output[-2000:]))


def run_mode(client, command, mode, args, gaps):
    """The Tally of one mode."""
    tally = Tally()
    with open(os.path.join(HERE, "steps.json"), encoding="utf-8") as file:
        steps = [step for step in step_names(json.load(file))
                 if fits(args.only, step)]
    with tempfile.TemporaryDirectory(prefix="weir-clients-") as folder:
        server = Server(mode, folder)
        try:
            output = run_client(command, server, mode,
                                "connect" if mode.refusal else args.only)
        finally:
            status = server.stop()
        tally.check(status == 0, f"tdsd ended with status {status}")
        if mode.refusal:
            judge_refusal(mode, output, tally)
        else:
            judge_steps(mode, output, steps, gaps, tally)
            judge_server(client, server, tally)
        tally.lines.append(
            f"{client}, tdsd {mode.server}, {mode.setting}, {mode.cert} "
            f"certificate: {tally.passed} ok, {tally.failed} failed, "
            f"{tally.gaps} known gaps")
        if args.keep or tally.failed:
            tally.lines.append(keep(server, output, client, mode))
    return tally


def judge_server(client, server, tally):
    complaints, findings = server.complaints(client), malformed(server.tap)
    tally.check(not complaints, "tdsd: " + "\n  ".join(complaints))
    tally.check(not findings, "tshark: " + "\n  ".join(findings))


def keep(server, output, client, mode):
    """Leaves what a run left behind where it can be looked at."""
    name = f"{client}-{mode.server}-{mode.setting}-{mode.cert}"
    kept = os.path.join(BUILD, "clients", "runs", name)
    shutil.rmtree(kept, ignore_errors=True)
    with open(os.path.join(server.folder, "output"), "w") as file:
        file.write(output)
    shutil.copytree(server.folder, kept,
                    ignore=shutil.ignore_patterns("control"))
    return f"its files are in {kept}"


def arguments():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("client", choices=sorted(MODES))
    parser.add_argument("--mode", default="*")
    parser.add_argument("--only", default="*")
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


def main():
    args = arguments()
    if not BUILD:
        print("WEIR_BUILD_DIR names no build directory", file=sys.stderr)
        return 2
    command, problem = install.client(args.client, BUILD)
    if command is None:
        print(f"SKIP {args.client}: {problem}")
        return SKIPPED
    gaps = read_gaps(args.client)
    modes = [mode for mode in MODES[args.client]
             if fits(args.mode, f"{mode.server}/{mode.setting}")]
    if not modes:
        known = sorted({f"{mode.server}/{mode.setting}"
                        for mode in MODES[args.client]})
        print(f"no mode of {args.client} fits {args.mode}; they are: "
              f"{' '.join(known)}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(AT_ONCE) as pool:
        tallies = list(pool.map(
            lambda mode: run_mode(args.client, command, mode, args, gaps),
            modes))
    if args.mode == args.only == "*":
        tallies.append(judge_gaps(gaps))
    for tally in tallies:
        print("\n".join(tally.lines))
    passed = sum(tally.passed for tally in tallies)
    failed = sum(tally.failed for tally in tallies)
    print(f"{passed} passed, {failed} failed")
    return 0 if failed == 0 and passed else 1


def judge_gaps(gaps):
    tally = Tally()
    for gap in gaps:
        tally.check(gap.used, f"README.md: no step is {gap.steps} "
                    f"in {gap.where}")
    tally.lines.append(f"{len(gaps)} rows of README.md")
    return tally


if __name__ == "__main__":
    sys.exit(main())
