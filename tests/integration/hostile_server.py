#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile_server.py - a server that plays recorded conversations and damages them:
cut, stalled, reset, bits flipped, lengths and counts that lie, answers without end,
other protocols.  The whole library meets it, through hostile_client.

Each case must end in time, with an error that says what was wrong (or, where the
damage may be harmless, with a result), leave no descriptor and no thread, and no
report of a sanitizer.  A fixed choice of cases, unless WEIR_HOSTILE=all asks for
every one, or WEIR_HOSTILE=SEED for a choice of its own.  WEIR_HOSTILE_VERBOSE=1
prints each.  Prints "N passed, N failed" last."""

import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time

HERE = os.environ.get("WEIR_SOURCE_DIR") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIENT = os.path.join(os.environ["WEIR_BUILD_DIR"], "tests", "hostile_client")
TRACES = os.path.join(HERE, "tests", "drivers", "tds", "traces")
MODE = os.environ.get("WEIR_HOSTILE", "")
WORKERS = 12
PASSWORD = "pl4nted-s3cret"
PHASE_CONNECT, PHASE_TLS, PHASE_LOGIN, PHASE_EXEC = 5, 6, 7, 8
STAGES = ("prelogin", "login", "batch")

# What each call may take beyond its time-out of a second (and, for a statement,
# the two that a server has to acknowledge that it stops): the server is on the
# same cores, and under a sanitizer all is slow.
SLACK_MS = 1500 + 1500


def messages(name):
    with open(os.path.join(TRACES, name + ".json")) as f:
        return [(m["dir"], bytes.fromhex(m["hex"]))
                for m in json.load(f)["messages"]]


def replies(name, kind):
    """The server's answers to the client's messages of one type."""
    found, asked = [], False
    for side, data in messages(name):
        if side == "c2s":
            asked = data[0] == kind
            if asked:
                found.append(b"")
        elif asked:
            found[-1] += data
    return [data for data in found if data]


LOGIN_TRACE = "login-ok-freetds-74"
GOOD = {
    "prelogin": replies(LOGIN_TRACE, 0x12)[0],
    "login": replies(LOGIN_TRACE, 0x10)[0],
    "batch": replies("type-all-freetds-73", 0x01)[2],
}
BATCHES = [r for name in (
    "type-all-freetds-73", "type-string-freetds", "type-time-scales-freetds",
    "nbcrow-tedious", "type-max-small-freetds", "multi-result-freetds",
    "type-decimal-freetds", "type-xml-tedious", "errors-divide-mid-rows-freetds",
    "type-codepage-tedious", "type-money-freetds", "type-guid-tedious")
    for r in replies(name, 0x01) if len(r) > 60]


class Case:
    """name; bytes answered at each stage; what follows the damaged one: "go on",
    "close", "stall", "reset", or a function that takes the socket."""

    def __init__(self, name, stage, data, then="go on", must_fail=True,
                 phases=None, says=None, encrypt="optional", sql="SELECT 1"):
        self.name, self.stage, self.data = name, stage, data
        self.then, self.must_fail = then, must_fail
        self.phases = phases or (
            (PHASE_EXEC,) if stage == "batch" else
            (PHASE_CONNECT, PHASE_TLS, PHASE_LOGIN))
        self.says = says
        self.encrypt, self.sql = encrypt, sql


# ------------------------------------------------------------------- serving

def read_message(sock):
    """One TDS message, b"" at the end."""
    whole = b""
    while True:
        head = sock.recv(8, socket.MSG_WAITALL)
        if len(head) < 8:
            return b""
        body = sock.recv(struct.unpack(">H", head[2:4])[0] - 8,
                         socket.MSG_WAITALL)
        whole += head + body
        if head[1] & 1:
            return whole


def wait_for_end(sock):
    while sock.recv(65536):
        pass


def reset(sock):
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def play(sock, case):
    sock.settimeout(20)
    if case.stage == "hello":
        if not read_message(sock):
            return
        sock.sendall(case.data[0])
        if not read_message(sock):
            return
    for stage in STAGES:
        if case.stage in ("accept", "hello"):
            break
        if not read_message(sock):
            return
        if stage == case.stage:
            break
        sock.sendall(GOOD[stage])
    sock.sendall(case.data[1] if case.stage == "hello" else case.data)
    if callable(case.then):
        case.then(sock)
    elif case.then == "reset":
        reset(sock)
    elif case.then == "stall":
        wait_for_end(sock)
    elif case.then == "go on":
        rest = STAGES[STAGES.index(case.stage) + 1:] \
            if case.stage in STAGES else ()
        for stage in rest:
            if not read_message(sock):
                return
            sock.sendall(GOOD[stage])
        wait_for_end(sock)


class Server(threading.Thread):
    """One listener, one case at a time."""

    def __init__(self):
        super().__init__(daemon=True)
        self.case = None
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]

    def run(self):
        while True:
            sock, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(sock, self.case),
                             daemon=True).start()

    @staticmethod
    def serve(sock, case):
        with sock:
            try:
                play(sock, case)
            except OSError:
                pass  # the client has had enough


# --------------------------------------------------------------------- cases

def packet(body, kind=4, status=1, length=None):
    return struct.pack(">BBHHBB", kind, status,
                       len(body) + 8 if length is None else length, 0, 1, 0) + body


def text16(s):
    return s.encode("utf-16-le")


def info(number=1, text="x", token=0xAB, severity=0):
    body = struct.pack("<iBB", number, 1, severity)
    body += struct.pack("<H", len(text)) + text16(text) + b"\0\0"
    body += struct.pack("<I", 1)
    return bytes([token]) + struct.pack("<H", len(body)) + body


DONE = b"\xfd\0\0\0\0" + bytes(8)


def endless(data):
    def go(sock):
        while True:
            sock.sendall(data)
    return go


def slowly(data, pause):
    def go(sock):
        for byte in data * 1000:
            sock.sendall(bytes([byte]))
            time.sleep(pause)
    return go


def cuts(rng):
    for stage in STAGES:
        data = GOOD[stage]
        for k in range(len(data)):
            for then in ("close", "reset"):
                yield Case("%s cut at %d, %s" % (stage, k, then), stage,
                           data[:k], then)
        for k in rng.sample(range(len(data)), 8):
            yield Case("%s cut at %d, stall" % (stage, k), stage, data[:k],
                       "stall")
    for i, data in enumerate(BATCHES):
        for k in range(0, len(data), 3):
            yield Case("answer %d cut at %d" % (i, k), "batch", data[:k], "close")


def flips():
    for stage in STAGES:
        for k in range(len(GOOD[stage])):
            for bit in range(8):
                data = bytearray(GOOD[stage])
                data[k] ^= 1 << bit
                yield Case("%s byte %d bit %d flipped" % (stage, k, bit), stage,
                           bytes(data), must_fail=False,
                           phases=(PHASE_CONNECT, PHASE_TLS, PHASE_LOGIN,
                                   PHASE_EXEC))
    for i, data in enumerate(BATCHES):
        for k in range(len(data)):
            for value in (0, 1, 0x7F, 0xFF, data[k] ^ 0x80):
                bad = bytearray(data)
                bad[k] = value
                yield Case("answer %d byte %d is %d" % (i, k, value), "batch",
                           bytes(bad), "close", must_fail=False)


def headers():
    for stage in STAGES:
        body = GOOD[stage][8:]
        for kind in (0, 1, 2, 3, 6, 7, 14, 16, 17, 18, 85, 255):
            yield Case("%s in a packet of type %d" % (stage, kind), stage,
                       packet(body, kind=kind))
        for length in (0, 1, 7, 8, 9, len(body), len(body) + 9, 32768, 65535):
            yield Case("%s packet of length %d" % (stage, length), stage,
                       packet(body, length=length), "close")
        for status in (0, 2, 8, 255):
            yield Case("%s packet of status %d" % (stage, status), stage,
                       packet(body, status=status), "close", must_fail=False,
                       phases=(PHASE_LOGIN, PHASE_EXEC))
        yield Case("%s empty message" % stage, stage, packet(b""))
        yield Case("%s empty packets without end" % stage, stage, b"",
                   endless(packet(b"", status=0) * 500), must_fail=True)
        yield Case("%s again" % stage, stage, GOOD[stage] * 2, must_fail=False,
                   phases=(PHASE_LOGIN, PHASE_EXEC))


def other_protocols():
    http = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<html>"
    alert = b"\x15\x03\x03\x00\x02\x02\x28"
    ssh = b"SSH-2.0-OpenSSH_9.2\r\n"
    noise = bytes(random.Random(5).randrange(256) for _ in range(4000))
    for stage in ("accept",) + STAGES:
        for name, data in (("http", http), ("a TLS alert", alert), ("ssh", ssh),
                           ("noise", noise), ("zeros", bytes(9000)),
                           ("ones", b"\xff" * 70000), ("nothing", b"")):
            for then in ("close", "reset", "stall"):
                yield Case("%s at %s, then %s" % (name, stage, then), stage, data,
                           then)


def loginish():
    """Tokens that lie, before and during login."""
    good = GOOD["login"][8:]
    bad_login = info(18456, "Login failed for user 'sa'.", 0xAA, 14)
    final = b"\xfd\x02\0\0\0" + bytes(8)
    yield Case("an error in place of PRELOGIN", "prelogin",
               packet(info(17809, "Too many users.", 0xAA, 20) + final), "close")
    yield Case("a failed login", "login", packet(bad_login + final), "close",
               says="Login failed")
    yield Case("a failed login, then stall", "login", packet(bad_login + final),
               "stall", says="Login failed")
    yield Case("a failed login, no DONE", "login", packet(bad_login), "close",
               says="Login failed")
    yield Case("a failed login, no DONE, reset", "login", packet(bad_login),
               "reset")
    yield Case("no LOGINACK", "login", packet(DONE))
    yield Case("INFO without end in login", "login", b"",
               endless(packet(info() * 100, status=0)))
    yield Case("large INFO without end in login", "login", b"",
               endless(packet(info(text="y" * 1500), status=0)))
    yield Case("INFO without end after LOGINACK", "login",
               packet(good[:-13], status=0),
               endless(packet(info() * 100, status=0)))
    yield Case("ERROR without end in login", "login", b"",
               endless(packet(info(4060, "no", 0xAA, 11) * 60, status=0)))
    yield Case("ENVCHANGE without end in login", "login", b"",
               endless(packet(b"\xe3\x05\0\x01\x01x\0\0" * 100, status=0)))
    yield Case("PRELOGIN a byte a time", "prelogin", b"", slowly(b"\x04", 0.02))
    yield Case("login a byte a time, for ever", "login",
               struct.pack(">BBHHBB", 4, 0, 4096, 0, 1, 0),
               slowly(info(), 0.02))
    for token in range(256):
        for tail in (b"", b"\xff" * 40, b"\0" * 40):
            yield Case("token 0x%02X and %d of %s in login" %
                       (token, len(tail), tail[:1].hex()), "login",
                       packet(bytes([token]) + tail), "close", must_fail=True)


def batchish():
    """Tokens that lie, in an answer."""
    int_column = b"\0\0\0\0\0\0\x38\x01a\0"
    max_column = b"\0\0\0\0\0\0\xe7\xff\xff\x09\x04\xd0\0\x34\x01a\0"
    one = b"\x81\x01\0"
    yield Case("65535 columns", "batch",
               packet(b"\x81\xfe\xff" + int_column * 10), "close")
    yield Case("4097 columns, all there", "batch",
               b"".join(packet(p, status=0) for p in
                        chunks(b"\x81\x01\x10" + int_column * 4097, 4088)),
               "close")
    yield Case("a row before its columns", "batch",
               packet(b"\xd1\x01\0\0\0" + DONE))
    yield Case("NBCROW before its columns", "batch", packet(b"\xd2\0" + DONE))
    for size in (1, 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFFFFFFFFFF - 1, 1 << 62):
        yield Case("a value said to have %d bytes" % size, "batch",
                   packet(one + max_column + b"\xd1" +
                          struct.pack("<Q", size & (2**64 - 1)) +
                          struct.pack("<I", 4) + b"abcd"), "close")
    for size in (0x7FFFFFFF, 0xFFFFFFFF):
        yield Case("a piece of %d bytes" % size, "batch",
                   packet(one + max_column + b"\xd1\xfe\xff\xff\xff\xff\xff\xff"
                          b"\xff" + struct.pack("<I", size) + b"abcd"), "close")
    yield Case("a value without end", "batch",
               packet(one + max_column + b"\xd1\xfe\xff\xff\xff\xff\xff\xff\xff",
                      status=0),
               endless(packet(struct.pack("<I", 4000) + b"a\0" * 2000,
                              status=0)))
    yield Case("rows without end", "batch", packet(one + int_column, status=0),
               endless(packet(b"\xd1\x01\0\0\0" * 200, status=0)))
    yield Case("INFO without end", "batch", b"",
               endless(packet(info() * 100, status=0)))
    yield Case("large INFO without end", "batch", b"",
               endless(packet(info(text="y" * 1500), status=0)))
    yield Case("ERROR without end", "batch", b"",
               endless(packet(info(50000, "no", 0xAA, 16) * 60, status=0)))
    yield Case("DONE without end", "batch", b"",
               endless(packet(b"\xfd\x01\0\0\0" + bytes(8), status=0) * 50))
    yield Case("COLMETADATA without end", "batch", b"",
               endless(packet((one + int_column) * 100, status=0)))
    yield Case("a fatal error", "batch",
               packet(info(596, "Session is killed.", 0xAA, 21) + DONE), "close",
               says="killed")
    yield Case("a fatal error, then stall", "batch",
               packet(info(596, "Session is killed.", 0xAA, 21)), "stall",
               says="killed")
    yield Case("DONE with the server-error bit", "batch",
               packet(b"\xfd\x00\x01\0\0" + bytes(8)))
    for token in range(256):
        for tail in (b"", b"\xff" * 40, b"\0" * 40):
            yield Case("token 0x%02X and %d of %s in an answer" %
                       (token, len(tail), tail[:1].hex()), "batch",
                       packet(bytes([token]) + tail), "close",
                       must_fail=token not in (0x79,))
    for kind in range(256):
        yield Case("a column of type 0x%02X" % kind, "batch",
                   packet(one + b"\0\0\0\0\0\0" + bytes([kind]) + b"\xff" * 60),
                   "close")


def leaving():
    """Sessions that are good but do not end, and results nobody reads."""
    int_column = b"\x81\x01\0\0\0\0\0\0\0\x38\x01a\0"
    rows = packet(b"\xd1\x01\0\0\0" * 200, status=0)

    def never_closes(sock):
        time.sleep(4)

    def floods(sock):
        endless(packet(info() * 100))(sock)

    for name, then in (("that never closes", never_closes),
                       ("that floods", floods), ("resets", "reset"),
                       ("that floods with rows", endless(rows))):
        yield Case("a good session " + name, "batch", GOOD["batch"], then,
                   must_fail=False)
        yield Case("rows left unread, a server " + name, "batch",
                   packet(int_column, status=0) + rows * 40, then,
                   must_fail=False, sql="leave")
        yield Case("a login, then a server " + name, "login", GOOD["login"],
                   then, must_fail=False,
                   phases=(PHASE_LOGIN, PHASE_EXEC))


def turn_on(value):
    """The good PRELOGIN answer with another word on encryption."""
    body = bytearray(GOOD["prelogin"][8:])
    at = 0
    while body[at] != 0xFF:
        token, offset, _ = struct.unpack(">BHH", body[at:at + 5])
        if token == 1:
            body[offset] = value
        at += 5
    return packet(bytes(body))


def records(kind, body):
    return bytes([kind, 3, 3]) + struct.pack(">H", len(body)) + body


def wrapped(data):
    """A flight of the handshake in packets."""
    parts = chunks(data, 4000)
    return b"".join(packet(part, kind=0x12, status=int(part is parts[-1]))
                    for part in parts)


def tlsish():
    """Handshakes that are none: what comes instead of a ServerHello."""
    rng = random.Random(11)
    hello = records(22, b"\x02\x00\x00\x46\x03\x03" + bytes(32) + b"\x20" +
                    bytes(32) + b"\xc0\x30\0")
    lies = [("noise", bytes(rng.randrange(256) for _ in range(900))),
            ("an alert", records(21, b"\x02\x28")),
            ("a warning", records(21, b"\x01\x00")), ("a ServerHello", hello),
            ("an empty record", records(22, b"")),
            ("a record of 65535", b"\x16\x03\x03\xff\xff" + bytes(4000)),
            ("a huge certificate", hello + records(
                22, b"\x0b\xff\xff\xff\xff\xff\xff" + bytes(9000))),
            ("application data", records(23, bytes(300))),
            ("nothing", b""), ("HTTP", b"HTTP/1.1 400 Bad Request\r\n\r\n")]
    phases = (PHASE_TLS, PHASE_CONNECT, PHASE_LOGIN)
    for name, data in lies:
        for then in ("close", "stall", "reset"):
            yield Case("strict TLS, %s, then %s" % (name, then), "accept", data,
                       then, phases=phases, encrypt="strict")
            for encrypt, on in (("mandatory", 1), ("optional", 0)):
                yield Case("%s TLS, %s, then %s" % (encrypt, name, then),
                           "hello", (turn_on(on), wrapped(data)),
                           then, phases=phases, encrypt=encrypt)
        if data:
            yield Case("strict TLS, %s without end" % name, "accept", data,
                       endless(data), phases=phases, encrypt="strict")
            yield Case("wrapped TLS, %s without end" % name, "hello",
                       (turn_on(1), b""), endless(wrapped(data)),
                       phases=phases, encrypt="mandatory")
    yield Case("wrapped TLS, empty packets without end", "hello",
               (turn_on(1), b""), endless(packet(b"", kind=0x12, status=0) * 99),
               phases=phases, encrypt="mandatory")
    yield Case("wrapped TLS, an answer in clear", "hello",
               (turn_on(1), GOOD["login"]), "close", phases=phases,
               encrypt="mandatory")
    for value in list(range(4, 20)) + [2, 3, 0x80, 0xFF]:
        yield Case("mandatory, PRELOGIN says %d" % value, "prelogin",
                   turn_on(value), "close", phases=phases, encrypt="mandatory")


def chunks(data, size):
    return [data[i:i + size] for i in range(0, len(data), size)]


def choose():
    rng = random.Random(int(MODE) if MODE.isdigit() else 1)
    groups = [(list(cuts(rng)), 90), (list(flips()), 130), (list(headers()), 40),
              (list(other_protocols()), 30), (list(loginish()), 45),
              (list(batchish()), 70), (list(leaving()), 12),
              (list(tlsish()), 60)]
    chosen = []
    for cases, n in groups:
        chosen += cases if MODE == "all" else rng.sample(cases,
                                                         min(n, len(cases)))
    rng.shuffle(chosen)
    return chosen


# ------------------------------------------------------------------- judging

def conninfo(port, encrypt):
    return ("Driver=tds;Server=127.0.0.1,%d;User ID=sa;Password=%s;"
            "Encrypt=%s;Connect Timeout=1;Command Timeout=1%s" %
            (port, PASSWORD, encrypt, "" if encrypt == "strict" else
             ";TrustServerCertificate=true"))


def complaints(case, line):
    parts = line.rstrip("\n").split("\t", 11)
    if len(parts) != 12:
        return ["the client ended"]
    stage, text = parts[0], parts[11]
    code, phase, _, acquire, request, shutdown, rc, fds, threads, rss = \
        map(int, parts[1:11])
    bad = []
    if case.must_fail and stage == "done":
        bad.append("no error")
    if stage != "done" and (code == 0 or not text):
        bad.append("an error without words")
    if stage not in ("done", "acquire", "exec", "next"):
        bad.append("ended at " + stage)
    if stage != "done" and phase not in case.phases:
        bad.append("phase %d" % phase)
    if case.says and case.says not in text:
        bad.append("does not say " + case.says)
    if PASSWORD in text:
        bad.append("the password is in the message")
    if acquire > 1000 + SLACK_MS or request > 3000 + SLACK_MS:
        bad.append("late: acquire %d ms, request %d ms" % (acquire, request))
    if rc != 0 or shutdown > 1000 + SLACK_MS:
        bad.append("shutdown %d after %d ms" % (rc, shutdown))
    if fds > 0 or threads > 0:
        bad.append("%d descriptors, %d threads left" % (fds, threads))
    if rss > 1500 * 1024:
        bad.append("%d MiB" % (rss // 1024))
    return bad


class Worker(threading.Thread):
    def __init__(self, cases, lock):
        super().__init__()
        self.cases, self.lock = cases, lock
        self.passed, self.failed, self.problem = 0, 0, ""

    def start_client(self):
        options = "quarantine_size_mb=16:detect_leaks=1"
        env = dict(os.environ, ASAN_OPTIONS=options,
                   UBSAN_OPTIONS="print_stacktrace=1:halt_on_error=1")
        return subprocess.Popen([CLIENT], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="replace", env=env)

    def run(self):
        server = Server()
        server.start()
        client = self.start_client()
        while True:
            with self.lock:
                if not self.cases:
                    break
                case = self.cases.pop()
            server.case = case
            try:
                client.stdin.write("%s\t%s\n" % (
                    conninfo(server.port, case.encrypt), case.sql))
                client.stdin.flush()
                line = client.stdout.readline()
            except OSError:
                line = ""
            self.judge(case, line)
            if not line:
                self.end(client, case.name)
                client = self.start_client()
        self.end(client, "the end")

    def judge(self, case, line):
        bad = complaints(case, line)
        if bad:
            self.failed += 1
            print("FAIL %s: %s | %s" % (case.name, "; ".join(bad), line.strip()))
        else:
            self.passed += 1
            if os.environ.get("WEIR_HOSTILE_VERBOSE"):
                print("ok   %s | %s" % (case.name, line.strip()))

    def end(self, client, where):
        _, errors = client.communicate(timeout=60)
        if client.returncode != 0 or errors:
            self.failed += 1
            print("FAIL the client at %s: exit %d\n%s" %
                  (where, client.returncode, errors))


def main():
    cases, lock = choose(), threading.Lock()
    workers = [Worker(cases, lock) for _ in range(WORKERS)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    passed = sum(w.passed for w in workers)
    failed = sum(w.failed for w in workers)
    print("%d passed, %d failed" % (passed, failed))
    return 0 if passed and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
