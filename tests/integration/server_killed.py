#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""server_killed.py - the server goes away in the middle: one session is killed, all
are, the process is, while idle, leased, in a statement, in a login; and comes back
on the same port.

Each call answers quickly and in words, a connection that died while idle is not
handed out once Probe Window is over, inside it the first statement fails clearly,
and the pool works again as soon as the server does.  Prints "N passed, N failed"
last."""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

BUILD = os.environ["WEIR_BUILD_DIR"]
QUICK_MS = 1500  # well under the time-outs, and slow enough for a sanitizer
results = []
started = []  # so that none is left when a check raises


def check(what, good, seen=""):
    results.append(bool(good))
    if not good or os.environ.get("WEIR_HOSTILE_VERBOSE"):
        print("%s %s | %s" % ("ok  " if good else "FAIL", what, seen))


class Server:
    def __init__(self, folder, port=0, tls="off"):
        self.control = os.path.join(folder, "control")
        if os.path.exists(self.control):
            os.unlink(self.control)
        for _ in range(50):
            self.process = subprocess.Popen(
                [os.path.join(BUILD, "bin", "tdsd"), "--port", str(port),
                 "--print-port",
                 "--strict-client", "--tls", tls, "--quiet", "--control",
                 self.control], stdout=subprocess.PIPE, text=True)
            started.append(self.process)
            line = self.process.stdout.readline()
            if line:
                break
            time.sleep(0.1)  # the port is not free yet
        self.port = int(line)

    def order(self, line):
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(10)
            control.connect(self.control)
            control.sendall(line.encode() + b"\n")
            return control.recv(65536).decode()

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)


class Shell:
    def __init__(self, port, options):
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "tests", "pool_shell")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append(self.process)
        self.say("open Driver=tds;Server=127.0.0.1,%d;User ID=sa;Password=x;Pool Blocking Period=never;"
                 "TrustServerCertificate=true;Connect Timeout=5;"
                 "Command Timeout=20;%s" % (port, options))

    def start(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline().rstrip("\n")
        code, phase, ms, text = line.split("\t", 3)
        return int(code), int(phase), int(ms), text

    def say(self, line):
        self.start(line)
        return self.answer()

    def end(self, what):
        got = self.say("shutdown")
        check(what + ": shutdown", got[0] == 0 and got[2] < QUICK_MS, got)
        _, errors = self.process.communicate(timeout=30)
        check(what + ": no report", self.process.returncode == 0 and not errors,
              errors[-2000:])


def good(what, got, text=None):
    check(what, got[0] == 0 and got[2] < QUICK_MS and
          (text is None or got[3] == text), got)


def bad(what, got, *words):
    check(what, got[0] < 0 and got[2] < QUICK_MS and len(got[3]) > 10 and
          (not words or any(w in got[3] for w in words)), got)


GONE = ("closed the connection", "the connection broke", "killed", "kill state",
        "connection reset", "Connection reset")


def works(what, sh):
    got = sh.say("acquire 99")
    good(what + ": acquire", got)
    good(what + ": exec", sh.say("exec 99 SELECT 6 * 7"), "42")
    good(what + ": release", sh.say("release 99"))


def one_session(server, tls):
    """Killed while idle, leased, and in the middle of a statement."""
    what = "kill, " + tls
    sh = Shell(server.port, "Encrypt=%s;Probe Window=0" % tls)
    spid = sh.say("acquire 0")[3]
    sh.say("release 0")
    server.order("kill " + spid)
    time.sleep(0.1)
    got = sh.say("acquire 0")
    good(what + " idle: acquire", got)
    check(what + " idle: another session", got[3] != spid, (got, spid))
    good(what + " idle: exec", sh.say("exec 0 SELECT 1"), "1")
    server.order("kill " + got[3])
    time.sleep(0.1)
    bad(what + " leased: exec", sh.say("exec 0 SELECT 1"), *GONE)
    bad(what + " leased: exec again", sh.say("exec 0 SELECT 1"),
        "broken", "release")
    good(what + " leased: release", sh.say("release 0"))
    spid = sh.say("acquire 0")[3]
    sh.start("exec 0 WAITFOR DELAY '00:00:15'; SELECT 1")
    time.sleep(0.3)
    server.order("kill " + spid)
    code, phase, ms, text = sh.answer()
    bad(what + " running: exec", (code, phase, ms - 300, text), *GONE)
    sh.say("release 0")
    works(what + " afterwards", sh)
    check(what + " afterwards: counts", "leased=0" in sh.say("stats")[3],
          sh.say("stats"))
    sh.end(what)


def all_sessions(server, tls):
    what = "kill all, " + tls
    sh = Shell(server.port, "Encrypt=%s;Probe Window=0;Max Pool Size=20" % tls)
    for i in range(20):
        good(what + ": acquire", sh.say("acquire %d" % i))
    for i in range(20):
        sh.say("release %d" % i)
    server.order("kill all")
    time.sleep(0.2)
    for i in range(20):
        good(what + ": acquire again", sh.say("acquire %d" % i))
        good(what + ": exec", sh.say("exec %d SELECT 5" % i), "5")
    for i in range(20):
        sh.say("release %d" % i)
    sh.end(what)


def inside_window(server, tls):
    what = "inside Probe Window, " + tls
    sh = Shell(server.port, "Encrypt=%s;Probe Window=1 h" % tls)
    spid = sh.say("acquire 0")[3]
    sh.say("release 0")
    server.order("kill " + spid)
    time.sleep(0.1)
    got = sh.say("acquire 0")
    good(what + ": acquire", got)
    if got[3] == spid:
        bad(what + ": exec", sh.say("exec 0 SELECT 1"), *GONE)
    sh.say("release 0")
    works(what + " afterwards", sh)
    sh.end(what)


def process_killed(folder, tls, mode):
    what = "SIGKILL, " + tls
    server = Server(folder, tls=mode)
    sh = Shell(server.port, "Encrypt=%s;Probe Window=0;Max Pool Size=10" % tls)
    for i in range(5):
        good(what + ": acquire", sh.say("acquire %d" % i))
    for i in range(3):
        sh.say("release %d" % i)
    sh.start("exec 3 WAITFOR DELAY '00:00:15'")
    time.sleep(0.3)
    server.kill()
    code, phase, ms, text = sh.answer()
    bad(what + ": exec that runs", (code, phase, ms - 300, text), *GONE)
    bad(what + ": exec", sh.say("exec 4 SELECT 1"), *GONE)
    good(what + ": release", sh.say("release 3"))
    good(what + ": release", sh.say("release 4"))
    for i in range(3):
        bad(what + ": acquire while it is down", sh.say("acquire %d" % i),
            "refused")
    again = Server(folder, server.port, mode)
    for i in range(5):
        works(what + " and back", sh)
    check(what + " and back: counts", "idle=1 leased=0" in sh.say("stats")[3],
          sh.say("stats"))
    sh.end(what)
    again.kill()


def killed_in_login(folder):
    what = "SIGKILL in a login"
    server = Server(folder)
    server.order("hang-login on")
    sh = Shell(server.port, "Encrypt=optional")
    threading.Timer(0.5, server.kill).start()
    code, phase, ms, text = sh.say("acquire 0")
    bad(what, (code, phase, ms - 500, text), *GONE)
    again = Server(folder, server.port)
    works(what + " and back", sh)
    sh.end(what)
    again.kill()


def stopped(folder):
    """A server that stops and keeps its sockets: nobody says a word."""
    what = "SIGSTOP"
    server = Server(folder)
    sh = Shell(server.port, "Encrypt=optional;Probe Window=0;Connect Timeout=1;"
               "Command Timeout=1")
    good(what + ": acquire", sh.say("acquire 0"))
    server.process.send_signal(signal.SIGSTOP)
    got = sh.say("exec 0 SELECT 1")
    check(what + ": exec", got[0] == -10 and got[2] < 3000 + QUICK_MS and
          "time-out" in got[3], got)
    sh.say("release 0")
    got = sh.say("acquire 0")
    check(what + ": acquire", got[0] == -10 and got[2] < 1000 + QUICK_MS and
          "timed out" in got[3], got)
    server.process.send_signal(signal.SIGCONT)
    works(what + " and on", sh)
    sh.end(what)
    server.kill()


def main():
    with tempfile.TemporaryDirectory() as folder:
        for tls, mode in (("optional", "off"), ("mandatory", "self-signed")):
            server = Server(folder, tls=mode)
            one_session(server, tls)
            all_sessions(server, tls)
            inside_window(server, tls)
            server.kill()
            process_killed(folder, tls, mode)
        killed_in_login(folder)
        stopped(folder)
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
