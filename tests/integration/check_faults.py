#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_faults.py - the driver, through the engine, against every fault of tdsd: it
never waits beyond its limit, never takes damage for an answer, gives up the
connections that are spoilt and no others, and the next acquire works.

Each case: a fault is set; an acquire or a statement meets it; it is cleared; the
lease is given back; another acquire runs a statement and must see its own answer.
Scenarios 170, 174, 177, 178, 183, 185 and 186 of the list of scenarios are named
where they are tried.  Prints "N passed, N failed" last."""

import concurrent.futures
import os
import re
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "server"))
from raw_client import Server  # noqa: E402

BUILD = os.environ["WEIR_BUILD_DIR"]
CONNECT_S, COMMAND_S, CANCEL_S = 2, 1, 5
# What everything may take on top: two cores serve many, and sanitizers are slow.
SLACK_MS = 1500
OK, FAIL, ANY = "ok", "fail", "any"
DEAD, ALIVE = "dead", "alive"
passed = failed = 0
printing = threading.Lock()


def check(what, good, seen=""):
    with printing:
        count(what, good, seen)


def count(what, good, seen):
    global passed, failed
    print(("ok: " if good else "FAILED: ") + what
          + (f" (seen: {seen})" if not good else ""))
    passed, failed = passed + bool(good), failed + (not good)


class Shell:
    """pool_shell, a line at a time."""

    def __init__(self, port, options="", address="127.0.0.1"):
        self.process = subprocess.Popen(
            [os.path.join(BUILD, "tests", "pool_shell")], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        got = self.say(
            f"open Driver=tds;Server={address},{port};User ID=sa;Password=x;Pool Blocking Period=never;"
            f"Max Pool Size=2;Probe Window=0;Connect Timeout={CONNECT_S};"
            f"Command Timeout={COMMAND_S};{options}")
        if got[0] != 0:
            raise RuntimeError(got)

    def say(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        code, phase, ms, text = (
            self.process.stdout.readline().rstrip("\n").split("\t", 3))
        return int(code), int(phase), int(ms), text

    def end(self):
        got = self.say("shutdown")
        _, errors = self.process.communicate(timeout=30)
        return got[0] == 0 and self.process.returncode == 0 and not errors, (
            got, errors[-2000:])


# Statements.  What is right as their first cell is known.
ONE = ("SELECT 1", "1")
ROWS = ("SELECT n FROM dbo.rows(2000)", "1")
FEW = ("SELECT n FROM dbo.rows(50)", "1")
TEXT = ("SELECT CAST('abcdef' AS varchar(max))", "abcdef")
NUMBER = ("SELECT CAST(7 AS bigint)", "7")
SLOW = ("WAITFOR DELAY '00:00:10'", "")

# (fault, statement, outcome, words of the message, what becomes of the
# connection).  Framing, lies and tokens: damage must be noticed; what is only
# cut differently must not be.
REQUESTS = [
    ("split=1", FEW, OK, "", ALIVE),
    ("split=7", TEXT, OK, "", ALIVE),
    ("byte=11 split=1", ONE, OK, "", ALIVE),
    ("drip 20000/s", ONE, OK, "", ALIVE),
    ("drip 10/s", ROWS, FAIL, "", DEAD),
    ("packets=9", ROWS, OK, "", ALIVE),
    ("packets=512", ROWS, OK, "", ALIVE),
    ("eom byte=3", ONE, FAIL, "", DEAD),
    ("eom byte=20", TEXT, FAIL, "", DEAD),
    ("no-eom", ONE, FAIL, "", None),
    ("truncate byte=1", ONE, FAIL, "", DEAD),
    ("truncate byte=0", ONE, FAIL, "", DEAD),
    ("header type value=0f", ONE, FAIL, "packet", DEAD),
    ("header type value=12", ONE, FAIL, "packet", DEAD),
    ("header length value=0005", ONE, FAIL, "packet", DEAD),
    ("header length value=ffff", ONE, FAIL, "packet", DEAD),
    ("header spid value=ffff", ONE, OK, "", None),
    ("header id value=77", ONE, OK, "", ALIVE),
    ("close", ONE, FAIL, "", DEAD),
    ("byte=1 close", ONE, FAIL, "", DEAD),
    ("byte=8 close", ONE, FAIL, "", DEAD),
    ("byte=30 close", ONE, FAIL, "", DEAD),
    ("byte=3000 close", ROWS, FAIL, "", DEAD),
    ("rst", ONE, FAIL, "", DEAD),
    ("byte=20 rst", ROWS, FAIL, "", DEAD),
    ("stall", ONE, FAIL, "", DEAD),
    ("byte=20 stall", ROWS, FAIL, "", DEAD),
    ("freeze", ONE, FAIL, "", DEAD),
    ("pause 300", ONE, OK, "", ALIVE),
    ("byte=20 pause 300", ROWS, OK, "", ALIVE),
    ("row-delay 1", ("SELECT n FROM dbo.rows(20)", "1"), OK, "", ALIVE),
    ("lie field=token value=b7", ONE, FAIL, "", DEAD),
    ("lie field=token-length token=info value=ffff", ("PRINT 'x'", ""), FAIL,
     "", DEAD),
    ("lie field=text-length value=7fff", ("PRINT 'x'", ""), FAIL, "", DEAD),
    ("lie field=token-length token=error value=0",
     ("RAISERROR('x', 16, 1)", ""), FAIL, "", DEAD),
    ("lie field=column-count value=fffe", ONE, FAIL, "", DEAD),
    ("lie field=type value=1e", ONE, FAIL, "", DEAD),
    ("lie field=type-length value=ff", ("SELECT CAST(1 AS decimal(5)) + 0", "1"),
     FAIL, "", DEAD),
    ("lie field=value-length value=ff", ("SELECT CAST(1 AS decimal(5))", "1"),
     FAIL, "", DEAD),
    ("lie field=plp-total value=ffffffff", TEXT, ANY, "", None),
    ("lie field=plp-total value=1", TEXT, FAIL, "", DEAD),
    ("lie field=plp-total value=7fffffffffffffff", TEXT, ANY, "", None),
    ("lie field=plp-chunk value=ffffffff", TEXT, FAIL, "", DEAD),
    ("lie field=plp-chunk value=7", TEXT, FAIL, "", DEAD),
    ("lie field=name-length value=ff", ONE, FAIL, "", DEAD),
    ("insert hex=b7 place=start", ONE, FAIL, "token", DEAD),
    ("insert hex=b7 place=middle", ONE, FAIL, "token", DEAD),
    ("insert hex=b7 place=end", ONE, FAIL, "token", DEAD),
    ("insert hex=ad place=end", ONE, FAIL, "", DEAD),
    ("insert hex=e3030012 place=end", ONE, FAIL, "", DEAD),
    ("insert hex=d101000000 place=start", ONE, FAIL, "", DEAD),
    ("drop token=columns", ONE, FAIL, "", DEAD),
    ("garbage 100", ONE, FAIL, "", DEAD),
    ("garbage 1", ONE, FAIL, "", DEAD),
    ("done none", ONE, FAIL, "", DEAD),
    ("done error", ONE, FAIL, "", None),
    ("done srverror", ONE, FAIL, "", DEAD),
    ("error 50000", ONE, FAIL, "50000", ALIVE),
    ("error 1205 class=13", ONE, FAIL, "1205", ALIVE),
    ("error 3906", ONE, FAIL, "3906", DEAD),
    ("error 976", ONE, FAIL, "976", DEAD),
    ("error 596 class=21", ONE, FAIL, "596", DEAD),
    ("error 596 class=21 then=stay", ONE, FAIL, "596", DEAD),
    ("error 824 class=24 then=rst", ONE, FAIL, "", DEAD),
    ("error 21 class=25 then=stay", ONE, FAIL, "21", DEAD),
    ("error 40197 class=17", ONE, FAIL, "40197", DEAD),
    ("error 37396 class=14 then=fin", ONE, FAIL, "37396", DEAD),
    ("error 2000 class=16 then=fin", ONE, FAIL, "2000", DEAD),
    ("hang", ONE, FAIL, "", None),
    ("mute", ONE, FAIL, "", None),
    ("deaf", ONE, FAIL, "", DEAD),
    ("tran begin", ONE, OK, "", None),
    ("insert hex=e30b000a00080100000000000000", ONE, ANY, "", None),
]

# How an attention goes wrong, met by a statement that runs into its time-out.
# Scenarios 170, 174 and 178.
ATTENTIONS = [("ack same", ALIVE), ("ack late ms=300", ALIVE),
              ("ack none", DEAD), ("ack twice", DEAD), ("ack before", DEAD),
              ("ack garbage", DEAD), ("ack fin", DEAD), ("ack rst", DEAD),
              ("ack partial", DEAD), ("msg=attention byte=3 close", DEAD),
              ("msg=attention stall", DEAD), ("msg=attention split=1", ALIVE)]

# (fault, words that may be in the message).  Scenario 183.
LOGINS = [
    ("silent", "prelogin"), ("refuse", ""),
    ("msg=prelogin stall", ""), ("msg=prelogin hang", ""),
    ("msg=prelogin byte=5 stall", ""), ("msg=prelogin drip 1/s", ""),
    ("msg=login stall", ""), ("msg=login hang", ""),
    ("msg=login byte=300 stall", ""), ("msg=login drip 1/s", ""),
    ("msg=prelogin byte=9 close", ""), ("msg=prelogin rst", ""),
    ("msg=login close", ""), ("msg=login byte=100 close", ""),
    ("msg=login byte=100 rst", ""), ("msg=login done none", ""),
    ("msg=login error 18456 state=8", "18456"), ("msg=login error 18488", ""),
    ("msg=login error 4060 class=11", "4060"),
    ("msg=login error 40613", "40613"), ("msg=login error 10928", "10928"),
    ("msg=login error 40613 then=rst", ""),
    ("msg=login error 4060 then=stay", "4060"),
    ("loginack none", ""), ("loginack twice", ""),
    ("loginack version value=12345678", ""),
    ("loginack version value=70000000", ""),
    ("feature 13 hex=01", ""), ("feature 9 hex=0201", ""),
    ("feature 10 hex=010203", ""), ("feature 10 hex=", ""),
    ("packet-size 511", ""), ("packet-size 32768", ""), ("packet-size 0", ""),
    ("packet-size 4294967295", ""),
    ("instopt 1", ""), ("encryption 1", ""), ("encryption 3", ""),
    ("encryption 255", ""), ("encryption 32", ""),
    ("route 127.0.0.1:1", ""), ("route 127.0.0.1:0", ""),
    ("route host\\inst:1433", ""), ("route 127.0.0.1:1433 db=other", ""),
    ("route 127.0.0.1:1433 place=middle", ""),
    ("msg=login garbage 50", ""), ("msg=login truncate byte=40", ""),
    ("msg=prelogin garbage 30", ""), ("msg=login header type value=12", ""),
    ("msg=login lie field=token-length token=env value=ffff", ""),
    ("msg=login lie field=token-length token=loginack value=0", ""),
    ("drop-after-bytes 50", ""),
]

# Harmless in a login.
GOOD_LOGINS = ["msg=login split=1", "msg=prelogin split=1", "msg=* packets=20",
               "fragment 1", "msg=login pause 300", "fedauth absent",
               "fedauth 0", "packet-size 512", "packet-size 16000",
               "header spid value=1234 msg=login"]

TLS_BAD = ["tls-stall 1", "tls-stall 2", "msg=prelogin byte=20 rst",
           "encryption 2", "encryption 0"]
TLS_GOOD = ["tls-pieces 1", "tls-burn 100ms", "fragment 1", "split=3",
            "tls-no-goodbye"]
CERTS = ["wrong-name", "expired", "future", "unknown-ca"]


def limit(kind):
    return {"connect": CONNECT_S * 1000,
            "command": (COMMAND_S + CANCEL_S) * 1000}[kind] + SLACK_MS


def next_works(what, shell, before, fate):
    """Gives the lease back, if there is one; takes another."""
    shell.say("release 0")
    got = shell.say("acquire 1")
    check(what + ": the next acquire", got[0] == 0
          and got[2] < limit("connect"), got)
    answer = shell.say("exec 1 SELECT 6 * 7")
    check(what + ": its own answer", answer[0] == 0 and answer[3] == "42",
          answer)
    if fate is not None:
        check(what + f": the connection is {fate}",
              (got[3] == before) == (fate == ALIVE), (before, got[3]))
    shell.say("release 1")


def meet(server, shell, what, fault, statement, outcome, words, fate):
    sql, cell = statement
    got = shell.say("acquire 0")
    check(what + ": acquire", got[0] == 0, got)
    spid = got[3]
    own = "msg=" in fault or fault.startswith("ack ")
    server.fault("times=1 " + ("" if own else "msg=batch ") + fault)
    got = shell.say("exec 0 " + sql)
    server.clear()
    right = got[0] == 0 and got[3] == cell
    wrong = got[0] == 0 and got[3] != cell
    check(what + ": never a wrong result", not wrong, got)
    check(what + f": {outcome}", outcome == ANY or right == (outcome == OK), got)
    check(what + ": in time", got[2] < limit("command"), got)
    if got[0] != 0:
        check(what + ": says why", len(got[3]) > 10 and words in got[3], got)
    if "then=fin" in fault:
        let_it_come()
    next_works(what, shell, spid, fate)


def let_it_come():
    """What the server does a little later, from outside: nothing tells of it."""
    time.sleep(0.15)


def until(happens):
    """Waits for what can be asked for; whoever called finds out if it came."""
    end = time.monotonic() + 5
    while not happens() and time.monotonic() < end:
        time.sleep(0.01)


def struck(server):
    return "used 1" in server.order("fault list")


def each(what, server, function, *arguments, options=""):
    shell = None
    try:
        shell = Shell(server.port, options)
        function(server, shell, what, *arguments)
    except Exception:  # one broken case must not hide the others
        check(what, False, traceback.format_exc(limit=1))
    server.clear()
    if shell is not None:
        good, seen = shell.end()
        check(what + ": a clean end", good, seen)


PLAIN = "Encrypt=optional;"


def check_requests(server):
    for fault, statement, outcome, words, fate in REQUESTS:
        each(fault, server, meet, fault, statement, outcome, words, fate,
             options=PLAIN)


def check_attentions(server):
    for fault, fate in ATTENTIONS:
        each(fault, server, meet, fault, SLOW, FAIL, "", fate, options=PLAIN)


def bad_login(server, shell, what, fault, words):
    server.fault(fault)
    got = shell.say("acquire 0")
    server.clear()
    check(what + ": refused", got[0] != 0, got)
    check(what + ": in time", got[2] < limit("connect"), got)
    check(what + ": says why", len(got[3]) > 10 and words in got[3], got)
    # What is refused for good is not tried again for a second, but for a clear.
    shell.say("clear")
    next_works(what, shell, "", None)


def good_login(server, shell, what, fault):
    server.fault(fault)
    got = shell.say("acquire 0")
    check(what + ": logged in", got[0] == 0, got)
    answer = shell.say("exec 0 SELECT n FROM dbo.rows(500)")
    check(what + ": answered", answer[0] == 0 and answer[3] == "1", answer)
    server.clear()
    next_works(what, shell, "", None)


def check_logins(server):
    for fault, words in LOGINS:
        each(fault, server, bad_login, fault, words, options=PLAIN)
    for fault in GOOD_LOGINS:
        each(fault, server, good_login, fault, options=PLAIN)


def check_tls():
    options = "Encrypt=mandatory;TrustServerCertificate=true;"
    with Server(tls="self-signed") as server:
        for fault in TLS_BAD:
            each("TLS: " + fault, server, bad_login, fault, "", options=options)
        for fault in TLS_GOOD:
            each("TLS: " + fault, server, good_login, fault, options=options)
        for fault, statement, outcome, words, fate in REQUESTS[::6]:
            each("TLS: " + fault, server, meet, fault, statement, outcome, words,
                 fate, options=options)
        for fault in ("idle renegotiate", "idle error-fin", "idle garbage"):
            each("TLS: " + fault, server, idle, fault, options=options)
    with Server(tls="strict") as server:
        anchor = f"Encrypt=strict;CA File={server.cert};"
        anchor += "HostNameInCertificate=localhost;"
        for word in CERTS:
            each("TDS 8: " + word, server, bad_login, "tls-cert " + word,
                 "ertificate", options=anchor)
        each("TDS 8: ALPN other", server, bad_login, "tls-alpn other", "",
             options=anchor)
        each("TDS 8: ALPN none", server, good_login, "tls-alpn none",
             options=anchor)
        for fault in ("tls-late-tickets", "fragment 1"):
            each("TDS 8: " + fault, server, good_login, fault, options=anchor)
        for fault in ("idle ticket", "idle keyupdate"):
            each("TDS 8: " + fault, server, idle, fault, options=anchor)


IDLE_ALIVE = ("idle ticket", "idle keyupdate")
IDLE_SPOILS = ("idle renegotiate",)


def idle(server, shell, what, fault):
    """What comes unasked while the connection lies in the pool."""
    got = shell.say("acquire 0")
    spid = got[3]
    server.fault("times=1 msg=batch ms=50 " + fault)
    answer = shell.say("exec 0 SELECT 1")
    check(what + ": answered", answer[0] == 0 and answer[3] == "1", answer)
    shell.say("release 0")
    let_it_come()
    if fault in IDLE_SPOILS:
        # Refused by the client's TLS; the server may end the session for it.
        shell.say("acquire 0")
        answer = shell.say("exec 0 SELECT 5")
        check(what + ": right or told", answer[0] != 0 or answer[3] == "5",
              answer)
        next_works(what, shell, spid, None)
        return
    next_works(what, shell, spid, ALIVE if fault in IDLE_ALIVE else DEAD)


def check_idle(server):
    for word in ("error", "error-fin", "info", "env", "garbage", "close", "rst"):
        each("idle " + word, server, idle, "idle " + word, options=PLAIN)


def reset(server, shell, what, fault, fate, sql):
    """A reset goes wrong.  A changed database is reset at once when the lease is
    given back; else the next borrower's first request carries the reset."""
    got = shell.say("acquire 0")
    spid = got[3]
    shell.say("exec 0 " + sql)
    server.fault("msg=reset times=1 " + fault)
    shell.say("release 0")
    if sql != "SELECT 1":
        until(lambda: struck(server))
        if fate == ALIVE:  # whoever is early has another connection opened
            until(lambda: "idle=1" in shell.say("stats")[3])
    got = shell.say("acquire 0")
    answer = shell.say("exec 0 SELECT DB_NAME()") if got[0] == 0 else got
    check(what + ": it struck", struck(server))
    server.clear()
    check(what + ": never the last borrower's state",
          answer[0] != 0 or answer[3] == "master", answer)
    check(what + ": in time", answer[2] < limit("command"), answer)
    next_works(what, shell, spid, fate)


LEVEL = ("SELECT transaction_isolation_level FROM sys.dm_exec_sessions"
         " WHERE session_id = @@SPID")


def verified(server, shell, what, fault, fate, sql):
    """Connection Reset=verified: the reset has ended before anybody is handed the
    connection, so whatever goes wrong with it is no borrower's concern."""
    spid = shell.say("acquire 0")[3]
    shell.say("exec 0 " + sql)
    server.fault("msg=reset times=1 " + fault)
    shell.say("release 0")
    until(lambda: struck(server))
    check(what + ": it struck with nobody there", struck(server))
    server.clear()
    got = shell.say("acquire 0")
    check(what + ": acquire", got[0] == 0 and got[2] < limit("connect"), got)
    check(what + f": the connection is {fate}",
          (got[3] == spid) == (fate == ALIVE), (spid, got[3]))
    for question, right in (("SELECT DB_NAME()", "master"), (LEVEL, "2"),
                            ("SELECT @@TRANCOUNT", "0"),
                            ("SELECT COUNT(*) FROM #t", None)):
        answer = shell.say("exec 0 " + question)
        check(what + ": " + question, (answer[0] == 0) == (right is not None)
              and right in (None, answer[3]), answer)
    next_works(what, shell, got[3], None)


def check_resets(server):
    faults = (("reset-ack none", DEAD), ("reset-ack late", ALIVE),
              ("reset-ack twice", None), ("reset-env", ALIVE),
              ("error 18056 class=20", DEAD), ("close", DEAD),
              ("rst", DEAD), ("stall", DEAD), ("done none", DEAD),
              ("split=1", ALIVE))
    for fault, fate in faults:
        for name, sql in (("at once", "USE tempdb"), ("later", "SELECT 1")):
            each(f"reset {name}: {fault}", server, reset, fault, fate, sql,
                 options=PLAIN)
    for fault, fate in faults:
        if fate is None:
            continue
        for sql in ("SELECT 1", "USE tempdb CREATE TABLE #t (a int) BEGIN TRAN"
                    " SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"):
            each(f"reset verified: {fault}, {sql[:6]}", server, verified, fault,
                 fate, sql, options=PLAIN + "Connection Reset=verified;"
                 # A slow reset is waited for, one that hangs is not.
                 f"Max Pool Size={1 if fate == ALIVE else 2}")


# A token of each kind, as small as it can be.
TOKENS = ("7900000000", "81000000000000", "81ffff", "88", "a3", "a400", "a40000",
          "a50000", "a90000", "aa0000", "ab0000", "ac", "ad0000", "aeff", "ae0aff",
          "d1", "d2", "d3", "e30000", "e3010012", "e303001200" "00", "e400000000",
          "ed0000", "ee00000000", "ee0400000000000000", "fd00", "00", "ff",
          "fd" + "00" * 12, "fe" + "00" * 12, "ff0100" + "00" * 10)


def strange_tokens(server, shell, what, place):
    """Every token in a place of a statement's reply: in time, and the next
    statement has its own answer."""
    for token in TOKENS:
        got = shell.say("acquire 0")
        if got[0] != 0:
            check(what + f": {token}: acquire", False, got)
            return
        server.fault(f"msg=batch times=1 insert hex={token} place={place}")
        got = shell.say("exec 0 SELECT 1")
        server.clear()
        check(what + f": {token}", got[2] < limit("command")
              and (got[0] != 0 or got[3] in ("1", "")), got)
        shell.say("release 0")
        shell.say("acquire 1")
        got = shell.say("exec 1 SELECT 42")
        check(what + f": {token}: its own answer", got[0] == 0
              and got[3] == "42", got)
        shell.say("release 1")


def strange_login(server, shell, what, place):
    for token in TOKENS:
        server.fault(f"msg=login times=1 insert hex={token} place={place}")
        got = shell.say("acquire 0")
        server.clear()
        check(what + f": {token}", got[2] < limit("connect"), got)
        answer = shell.say("exec 0 SELECT 42") if got[0] == 0 else (0, 0, 0, "42")
        check(what + f": {token}: right or refused", answer[3] == "42", answer)
        # Only a new connection logs in again.
        shell.say("release 0")
        server.order("drop all")
        let_it_come()


def check_tokens(server):
    for place in ("start", "middle", "end", "last"):
        each(f"tokens at {place}", server, strange_tokens, place, options=PLAIN)
        each(f"tokens in a login at {place}", server, strange_login, place,
             options=PLAIN)


def check_unread(server):
    """Scenario 177: a borrower gives back what it has not read."""
    def unread(server, shell, what, pieces):
        got = shell.say("acquire 0")
        shell.say("start 0 SELECT n, REPLICATE('x', 500) FROM dbo.rows(2000)")
        for _ in range(pieces):
            shell.say("batch 0")
        check(what + ": given back", shell.say("release 0")[2] < 1000)
        next_works(what, shell, got[3], None)
    for pieces in range(6):
        each(f"unread behind {pieces} pieces", server, unread, pieces,
             options=PLAIN)
    for fault in ("split=100", "row-delay 2", "byte=9000 stall",
                  "byte=9000 close"):
        def faulty(server, shell, what, fault=fault):
            server.fault("msg=batch times=1 " + fault)
            unread(server, shell, what, 2)
        each("unread, " + fault, server, faulty, options=PLAIN)


def check_late(server):
    """Scenario 170: answers that come about when the borrower gives up; whoever is
    next gets its own."""
    def late(server, shell, what):
        answers = timeouts = wrong = 0
        for i in range(60):
            shell.say(f"acquire {i % 2}")
            got = shell.say(f"exec {i % 2} WAITFOR DELAY '00:00:00."
                            f"{40 + i % 21:03d}'; SELECT {1000 + i}")
            shell.say(f"release {i % 2}")
            answers += got[0] == 0
            timeouts += got[0] == -10
            wrong += got[0] == 0 and got[3] != str(1000 + i)
        check(what + f": {answers} answers, {timeouts} time-outs", wrong == 0
              and answers + timeouts == 60, (answers, timeouts, wrong))
    each("late answers", server, late,
         options=PLAIN + "Command Timeout=50ms;")


# Output values, met by a call with @a and @b.
CALLS = [
    ("returnvalue reordered", OK, ALIVE), ("returnvalue first", OK, ALIVE),
    ("returnvalue unnamed", ANY, None), ("returnvalue none", ANY, None),
    ("returnstatus first", OK, ALIVE), ("returnstatus none", OK, ALIVE),
    ("returnstatus twice", ANY, None), ("split=1", OK, ALIVE),
    ("drop token=returnvalue", ANY, None),
    ("double token=returnvalue", ANY, None),
    ("lie field=value-length token=returnvalue value=ff", FAIL, DEAD),
    ("lie field=type token=returnvalue value=1e", FAIL, DEAD),
    ("lie field=name-length token=returnvalue value=ff", FAIL, DEAD),
    ("done none", FAIL, DEAD), ("byte=40 close", FAIL, DEAD),
    ("error 8179", FAIL, ALIVE),
]


def values_of(text):
    return dict(part.split("=") for part in text.split())


def call(server, shell, what, fault, outcome, fate):
    got = shell.say("acquire 0")
    spid = got[3]
    server.fault("times=1 " + ("msg=rpc " if "msg=" not in fault else "")
                 + fault)
    got = shell.say("call 0 SET @a = 11; SET @b = 22")
    server.clear()
    values = values_of(got[3]) if got[0] == 0 else {}
    check(what + ": never another's value",
          values.get("@a", "11") == "11" and values.get("@b", "22") == "22", got)
    right = values == {"@a": "11", "@b": "22"}
    check(what + f": {outcome}", outcome == ANY or right == (outcome == OK), got)
    check(what + ": in time", got[2] < limit("command"), got)
    next_works(what, shell, spid, fate)


def check_calls(server):
    for fault, outcome, fate in CALLS:
        each("call: " + fault, server, call, fault, outcome, fate, options=PLAIN)
    each("handles: forgotten", server, handles, "forget-handles", options=PLAIN)
    each("handles: 8179", server, handles, "error 8179", options=PLAIN)


def handles(server, shell, what, fault):
    """8179 is met by preparing again, inside the driver: nothing had run."""
    got = shell.say("acquire 0")
    spid = got[3]
    for _ in range(2):
        got = shell.say("prepared 0 SELECT 31")
        check(what + ": prepared", got[0] == 0 and got[3] == "31", got)
    server.fault("msg=rpc times=1 " + fault)
    got = shell.say("prepared 0 SELECT 31")
    server.clear()
    check(what + ": prepared again", got[0] == 0 and got[3] == "31", got)
    next_works(what, shell, spid, ALIVE)


# Transactions, met by a statement in one that the embedder has begun.
TRANSACTIONS = [
    ("tran rollback", False), ("tran wrong", None), ("tran silent", None),
    ("error 1205 class=13", None), ("close", False), ("stall", False),
    ("error 3998", None), ("insert hex=e30b0008080900000000000000"
                           "00 place=end", None),
]


def transaction(server, shell, what, fault, open_after):
    """A transaction that the server has ended must not go on in autocommit: what
    follows fails until the embedder ends it, too."""
    got = shell.say("acquire 0")
    check(what + ": begin", shell.say("begin 0")[0] == 0)
    server.fault("msg=batch times=1 " + fault)
    shell.say("exec 0 SELECT 1")
    server.clear()
    next_one = shell.say("exec 0 SELECT @@TRANCOUNT")
    # A server that says nothing at all cannot be seen through.
    check(what + ": never in autocommit", fault == "tran silent"
          or next_one[0] != 0 or next_one[3] == "1", next_one)
    if open_after is not None:
        check(what + ": the next statement", (next_one[0] == 0) == open_after,
              next_one)
    commit = shell.say("commit 0")
    if open_after is False:
        check(what + ": nothing was committed", commit[0] != 0, commit)
    next_works(what, shell, got[3], None)


def lost_commit(server, shell, what, fault):
    """The answer to a commit is lost: its outcome is not known."""
    got = shell.say("acquire 0")
    shell.say("begin 0")
    shell.say("exec 0 SELECT 1")
    server.fault("msg=tm times=1 " + fault)
    commit = shell.say("commit 0")
    server.clear()
    check(what, commit[0] != 0 and commit[2] < limit("command"), commit)
    next_works(what, shell, got[3], DEAD)


def check_transactions(server):
    for fault, open_after in TRANSACTIONS:
        each("transaction: " + fault, server, transaction, fault, open_after,
             options=PLAIN)
    for fault in ("close", "rst", "stall", "byte=12 close", "mute"):
        each("commit: " + fault, server, lost_commit, fault, options=PLAIN)


def check_sizes():
    """Scenarios 185 and 186: packet sizes and statements around them."""
    for tls, encrypt in (("off", "Encrypt=optional;"),
                         ("login-only", "Encrypt=optional;"),
                         ("self-signed", "Encrypt=mandatory;"
                          "TrustServerCertificate=true;")):
        with Server(tls=tls) as server:
            for size in (512, 4096, 16383, 32767):
                shell = Shell(server.port, f"{encrypt}Packet Size={size};")
                got = shell.say("acquire 0")
                check(f"{tls}: packet size {size}: acquire", got[0] == 0, got)
                for units in {size // 2 + d for d in (-20, -16, -15, -14, -13,
                                                      -12, -11, 0, 1)} | {
                        size, 5 * size if size < 5000 else size, 30000}:
                    text = "x" * (units - len("SELECT LEN('')"))
                    answer = shell.say(f"exec 0 SELECT LEN('{text}')")
                    if answer[0] != 0 or answer[3] != str(len(text)):
                        check(f"{tls}: size {size}, {units} characters", False,
                              answer)
                        break
                else:
                    check(f"{tls}: statements around packets of {size}", True)
                good, seen = shell.end()
                check(f"{tls}: packet size {size}: a clean end", good, seen)
            violations = re.search(r'"violations":(\d+)', server.order("stats"))
            check(f"{tls}: the server found nothing wrong",
                  violations[1] == "0", violations[0])


def check_deaf(server):
    """Scenario 174: the server stops reading in the middle of a long request; the
    caller is free at its limit and the connection is gone."""
    def long_request(server, shell, what):
        got = shell.say("acquire 0")
        spid = got[3]
        server.fault("msg=batch byte=30000 deaf")
        answer = shell.say("exec 0 SELECT LEN('" + "x" * 69000 + "')")
        check(what + ": in time", answer[0] != 0
              and answer[2] < limit("command"), answer)
        server.clear()
        next_works(what, shell, spid, DEAD)
    each("deaf in a long request", server, long_request, options=PLAIN)


def check_population(server):
    """One login of three is refused, all sessions die at once, roles swap."""
    def some_refused(server, shell, what):
        total = int(re.search(r'"connections_total":(\d+)',
                              server.order("stats"))[1])
        server.fault(f"conn={total + 1} refuse")
        got = shell.say("acquire 0")
        server.clear()
        check(what, got[0] != 0 or got[2] < limit("connect"), got)
        next_works(what, shell, "", None)

    def all_killed(server, shell, what):
        got = shell.say("acquire 0")
        shell.say("acquire 1")
        shell.say("release 0")
        server.order("kill all")
        answer = shell.say("exec 1 SELECT 1")
        check(what + ": the borrower is told", answer[0] != 0, answer)
        shell.say("release 1")
        next_works(what, shell, got[3], DEAD)
    each("one login of three refused", server, some_refused, options=PLAIN)
    each("all sessions killed", server, all_killed, options=PLAIN)


def run_part(part):
    if part in ("tls", "sizes"):
        globals()["check_" + part]()
        return
    with Server() as server:
        globals()["check_" + part](server)
    check(part + ": the server's clean end", server.status == 0, server.status)


def main():
    parts = sys.argv[1:] or ["requests", "logins", "tls", "attentions", "idle",
                             "resets", "calls", "transactions", "deaf",
                             "population", "sizes", "tokens", "unread", "late"]
    # Most of the time is spent waiting for limits.
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(run_part, part) for part in parts]:
            done.result()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
