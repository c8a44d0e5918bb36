#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""FreeTDS's own programs (tsql on libtds, bsqldb on db-lib, tdspool between tsql
and tdsd) through the steps of steps.json against a tdsd that runs already.

usage: run_freetds.py --port N --tls SETTING --cert FILE --control SOCKET
         --steps FILE [--only GLOB]

SETTING is off, request or require, then +ca for the authority in --cert.
"""
import contextlib
import datetime
import os
import re
import signal
import socket
import struct
import subprocess
import threading
import time

import freetds_conf
from pysteps import Steps, failure
from runner import SqlError, Wrong, arguments, base, day, equal, run

SEPARATOR = "\x1f"
LIMIT_S = 30
TELL = re.compile(r"Msg (\d+) \(severity (\d+), state (\d+)\) from ")


def kill(process):
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGKILL)


class Session:
    """A tsql whose input and output are pipes; a message marks the end of each
    batch.  Errors and rows share one stream, in the order in which they came."""

    def __init__(self, conf, host, database, password):
        # tdspool refuses who names a database.
        where = (["-S", "weir", "-D", database] if host is None
                 else ["-H", host[0], "-p", host[1]])
        self.count = 0
        self.messages, self.errors, self.text = [], [], []
        self.tsql = subprocess.Popen(
            ["stdbuf", "-oL", "tsql"] + where +
            ["-U", "sa", "-P", password, "-o", "q", "-t", SEPARATOR],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, encoding="utf-8",
            env=dict(os.environ, FREETDSCONF=conf))
        self.batch("")

    def batch(self, sql):
        """One result; what needs more looks at text."""
        self.run(sql)
        rows = [line.split(SEPARATOR) for line in self.text]
        results = [(rows[0], rows[1:])] if rows else []
        if self.errors:
            raise SqlError(*self.errors[0], results=results)
        return results

    def run(self, sql):
        """Runs a batch; sets text, messages and errors."""
        self.text, self.errors = [], []
        self.count += 1
        mark = f"end {self.count}"
        timer = threading.Timer(LIMIT_S, kill, [self.tsql])
        timer.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                self.tsql.stdin.write(f"{sql}\ngo\nPRINT '{mark}'\ngo\n")
                self.tsql.stdin.flush()
            self.read(mark)
        finally:
            timer.cancel()

    def read(self, mark):
        while True:
            line = self.tsql.stdout.readline()
            if not line:
                break
            line = line.rstrip("\n")
            if line == mark:
                return
            told = TELL.match(line)
            if told:
                self.take(*map(int, told.groups()))
            else:
                self.text.append(line)
        status = self.tsql.wait()
        if not self.errors:
            raise Wrong(f"tsql ended with status {status}: " + " ".join(
                self.text))

    def take(self, number, severity, state):
        message = self.tsql.stdout.readline().strip()[1:-1]
        if severity <= 10:
            self.messages.append((message, severity, state))
            self.text.append(message)
        else:
            self.errors.append((number, severity, state, message))
        if severity >= 20:
            self.tsql.stdin.close()  # else it waits for the next batch for ever

    def close(self):
        self.tsql.stdin.close()
        self.tsql.stdout.close()
        self.tsql.wait()


class FreetdsSteps(Steps):
    def conf(self, packet_size=None):
        more = {"initial_block_size": packet_size} if packet_size else {}
        return freetds_conf.write(self.args, f"freetds-{packet_size}.conf", **more)

    def open(self, database="master", password="x", packet_size=None, host=None):
        return Session(self.conf(packet_size), host, database, password)

    def show(self, kind, value):
        """What tsql prints, as the text of steps.json."""
        if value == "NULL":
            return None
        if base(kind) == "uniqueidentifier":
            return value.lower()
        if base(kind) == "real":
            return repr(struct.unpack("f", struct.pack("f", float(value)))[0])
        if re.match(r"[A-Z][a-z]{2} +\d+ \d+ +\d+:\d\d[AP]M$", value):
            return minute(kind, value)
        return value

    def several(self):
        session = self.session()
        session.run("SELECT 1 AS a SELECT 2 AS b, 'x' AS c WHERE 1 = 0 "
                    "SELECT n FROM dbo.rows(3)")
        equal(session.text, ["a", "1", "b" + SEPARATOR + "c", "n", "1", "2", "3"])

    def print_(self):
        session = self.session()
        session.run("PRINT N'zażółć'")
        equal(session.text, ["zażółć"])

    def order(self):
        session = self.session()
        session.run("SELECT 1 AS a PRINT 'between' SELECT 2 AS b")
        equal(session.text, ["a", "1", "between", "b", "2"])

    def bsqldb(self, *options):
        """What bsqldb prints of a row."""
        done = subprocess.run(
            ["bsqldb", "-S", "weir", "-U", "sa", "-P", "x", "-q", "-t", "|",
             *options], input="SELECT 1 AS a, N'zażółć' AS b\n",
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=LIMIT_S, env=dict(os.environ, FREETDSCONF=self.conf()))
        return [line.rstrip() for line in done.stdout.splitlines()
                if line.startswith("1|")]

    def select1(self):
        super().select1()
        equal(self.bsqldb(), ["1|zażółć"], "what bsqldb says")

    @contextlib.contextmanager
    def pool(self):
        """A tdspool of one session before tdsd.  Yields where it listens."""
        with socket.socket() as probe:
            probe.bind((freetds_conf.HOST, 0))
            port = probe.getsockname()[1]
        with open("pool.conf", "w") as file:
            file.write(
                "[one]\nuser = sa\npassword = x\nserver user = sa\n"
                f"server password = x\nserver = weir\ndatabase = master\n"
                f"port = {port}\nmin pool conn = 1\nmax pool conn = 1\n"
                "max member age = 3600\n")
        pool = subprocess.Popen(
            ["tdspool", "-c", os.path.abspath("pool.conf"), "one"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=dict(os.environ, FREETDSCONF=self.conf()))
        try:
            wait_for(port, pool)
            yield freetds_conf.HOST, str(port)
        finally:
            kill(pool)
            pool.wait()

    def through_pool(self, spoil, look):
        """Two clients of one session: the first leaves it in disorder.  Returns
        what each saw at its start and how often the session was reset."""
        before = self.count("resets")
        seen = []
        with self.pool() as host:
            for _ in range(2):
                session = self.open(host=host)
                seen.append(session.batch(look)[0][1][0])
                session.batch(spoil)
                session.close()
        return seen, self.count("resets") - before

    def reset(self):
        seen, resets = self.through_pool(
            "USE tempdb SET DATEFIRST 3",
            "SELECT @@SPID AS a, DB_NAME() AS b, @@DATEFIRST AS c")
        equal(seen[1], seen[0], "the session")
        equal(seen[0][1:], ["master", "7"], "the session")
        equal(resets >= 1, True, "a reset between them")

    def reset_transaction(self):
        seen, _ = self.through_pool("BEGIN TRAN", "SELECT @@TRANCOUNT AS a")
        equal(seen, [["0"], ["0"]], "depth")

    def bulk(self):
        with open("loaded.txt", "w") as file:
            file.write("1\n2\n")
        done = subprocess.run(
            ["freebcp", "loaded", "in", "loaded.txt", "-c", "-S", "weir", "-U",
             "sa", "-P", "x"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, timeout=LIMIT_S, env=dict(os.environ, FREETDSCONF=self.conf()))
        equal(done.returncode, 0, done.stdout)

    def syntax(self):
        equal(failure(lambda: self.session().batch("SELECT FROM")).number, 156,
              "error")

    def all(self):
        for name, step in self.common():
            if not name.startswith("cancel/"):
                yield name, step
        yield "message/order", self.order
        yield "reset", self.reset
        yield "reset/transaction", self.reset_transaction
        yield "bulk", self.bulk


def minute(kind, text):
    """tsql shows moments to the minute."""
    month, date, year, clock = text.split()
    moment = datetime.datetime.strptime(
        f"{month} {date} {int(year):04} {clock}", "%b %d %Y %I:%M%p")
    hour = f"{moment.hour:02}:{moment.minute:02}:00"
    scale = re.search(r"\((\d)\)", kind)
    digits = 3 if kind == "datetime" else int(scale.group(1)) if scale else 0
    hour += "." + "0" * digits if digits else ""
    if kind == "date":
        return day(moment)
    return hour if base(kind) == "time" else f"{day(moment)} {hour}"


def listens(port):
    """Whether somebody listens, asked without knocking: tdspool would take that
    for a client."""
    with open("/proc/net/tcp") as file:
        return any(line.split()[1].endswith(f":{port:04X}")
                   and line.split()[3] == "0A" for line in list(file)[1:])


def wait_for(port, process):
    for _ in range(200):
        if listens(port):
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise Wrong("tdspool did not come up")


def main():
    steps = FreetdsSteps(arguments())
    run(steps.args, steps.all(), steps.drop)
    os._exit(0)  # threads that hang are left behind


if __name__ == "__main__":
    main()
