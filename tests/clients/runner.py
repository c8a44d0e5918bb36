# SPDX-License-Identifier: MIT
"""What the runners in Python share: arguments, values of steps.json as text,
tdsd's control socket, and the loop that runs steps and prints how they went."""
import argparse
import datetime
import fnmatch
import json
import os
import re
import socket
import sys
import threading
import uuid

LIMIT_S = 40


class Wrong(Exception):
    """A client or a server did not do as it should."""


class SqlError(Exception):
    """An error of the server as the client tells it; what it does not tell is
    None.  results: what came before it."""

    def __init__(self, number=None, severity=None, state=None, message="",
                 results=()):
        super().__init__(f"{number}: {message}")
        self.number, self.severity, self.state = number, severity, state
        self.message, self.results = message, list(results)


def equal(got, wanted, what="value"):
    if got != wanted:
        raise Wrong(f"{what} is {shorten(got)}, not {shorten(wanted)}")


def shorten(value):
    text = repr(value)
    return text if len(text) <= 70 else f"{text[:70]}... of {len(text)}"


def base(kind):
    return kind.split("(")[0]


def digits(kind):
    """Of a second, in the text of a type."""
    if kind == "datetime":
        return 3
    match = re.match(r"(?:time|datetime2|datetimeoffset)\((\d)\)", kind)
    return int(match.group(1)) if match else 0


def expected(text):
    if isinstance(text, dict):
        return text["repeat"] * text["times"]
    return text


class Value:
    """A value of steps.json; text is None for NULL."""

    def __init__(self, kind, label, literal, text):
        self.kind, self.label, self.literal = kind, label, literal
        self.text = expected(text)

    def check(self, shown):
        if base(self.kind) in ("real", "float") and None not in (
                shown, self.text):
            equal(float(shown), float(self.text))
        else:
            equal(shown, self.text)


def values(script):
    for kind, cases in script["types"].items():
        for label, (literal, text) in cases.items():
            yield Value(kind, label, literal, text)


def clock(kind, value):
    fraction = f"{value.microsecond:06}0"[:digits(kind)]
    return (f"{value.hour:02}:{value.minute:02}:{value.second:02}"
            + ("." + fraction if fraction else ""))


def day(value):
    return f"{value.year:04}-{value.month:02}-{value.day:02}"


def show(kind, value):
    """The text of what Python got, comparable with steps.json."""
    name = base(kind)
    if value is None:
        return None
    if name == "bit":
        return str(int(value))
    if name in ("decimal", "numeric", "money", "smallmoney"):
        return f"{value:f}"
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    if isinstance(value, datetime.datetime):
        return f"{day(value)} {clock(kind, value)}"
    if isinstance(value, datetime.date):
        return day(value)
    if isinstance(value, datetime.time):
        return clock(kind, value)
    if isinstance(value, uuid.UUID) or name == "uniqueidentifier":
        return str(value).lower()
    return repr(value) if isinstance(value, float) else str(value)


def letters(length):
    """A text that repeats after 9,973 letters, which no packet has."""
    block = "".join(chr(97 + (i * 7 + (i >> 8)) % 26) for i in range(9973))
    return (block * (length // len(block) + 1))[:length]


class Bench:
    """What steps get: the arguments, the script, the control socket."""

    def __init__(self, args):
        self.args = args
        with open(args.steps, encoding="utf-8") as file:
            self.script = json.load(file)

    def command(self, text):
        """What tdsd answers to a command."""
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(self.args.control)
            line.sendall(text.encode() + b"\n")
            with line.makefile() as answer:
                told = answer.readline().rstrip("\n")
        if told.startswith("error"):
            raise Wrong(f"{text}: {told}")
        return told

    def control(self, text):
        return json.loads(self.command(text))

    def count(self, counter):
        return self.control("stats")[counter]

    def seen(self, spid):
        """What tdsd knows of a session."""
        return next(session for session in self.control("sessions")
                    if session["spid"] == spid)


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("port", "tls", "cert", "control", "steps"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--only", default="*")
    parser.add_argument("--token")
    return parser.parse_args()


def fits(pattern_text, name):
    return fnmatch.fnmatchcase(name, pattern_text.replace("[", "[[]"))


def within_limit(step):
    """Runs a step on a thread of its own, so that none hangs the others.
    Returns what it raised, or None."""
    raised = []

    def run():
        try:
            step()
        except Exception as problem:  # every kind is the step's answer
            raised.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LIMIT_S)
    if thread.is_alive():
        return Wrong("no end in sight")
    return raised[0] if raised else None


def in_child(step):
    """Runs a step in a process of its own, for clients that crash."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            step()
        except Exception as problem:  # every kind is the step's answer
            os.write(writable, str(problem).encode()[:1000])
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable, errors="replace") as said:
        why = said.read()
    status = os.waitpid(child, 0)[1]
    if why or status:
        raise Wrong(why or f"the client crashed: signal {status & 127}")


def run(args, steps, drop):
    """Runs (name, function) pairs; drop() is called after one that failed."""
    passed = failed = 0
    for name, step in steps:
        if not fits(args.only, name):
            continue
        problem = within_limit(step)
        if problem is None:
            print("ok " + name, flush=True)
            passed += 1
        else:
            why = " ".join(f"{type(problem).__name__} {problem}".split())
            print(f"not ok {name}: {why[:400]}", flush=True)
            failed += 1
            drop()
    print(f"{passed} passed, {failed} failed")
    sys.stdout.flush()
