#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""hostile_tdsd.py - bad clients for tdsd, in each of its TLS modes: noise, damaged
conversations in clear and inside TLS, damaged SQL, slow ones, half-open ones,
resets.  Meanwhile and afterwards a good client is served at once, at the end
nothing is left open, and the server ends cleanly without a sanitizer's report.

A fixed choice; WEIR_HOSTILE=SEED makes another, WEIR_HOSTILE=all a larger one.
Prints "N passed, N failed" last."""

import json
import os
import random
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time

BIN = os.path.join(os.environ["WEIR_BUILD_DIR"], "bin")
MODE = os.environ.get("WEIR_HOSTILE", "")
ROUNDS = 2000 if MODE == "all" else 150
RNG = random.Random(int(MODE) if MODE.isdigit() else 3)
LATE_S = 5
results = []
started = []  # so that none is left when a check raises


def check(what, good, seen=""):
    results.append(bool(good))
    if not good or os.environ.get("WEIR_HOSTILE_VERBOSE"):
        print("%s %s %s" % ("ok  " if good else "FAIL", what, seen))


def packet(kind, body, status=1):
    return struct.pack(">BBHHBB", kind, status, len(body) + 8, 0, 1, 0) + body


def prelogin(encryption):
    return packet(0x12, bytes.fromhex("00000b00060100110001ff100000000000") +
                  bytes([encryption]))


def login(version):
    user, password = "sa".encode("utf-16le"), bytes([0x22, 0xA5])
    body = struct.pack("<IIIIIIBBBBiI", 100, version, 4096, 7, 1, 0,
                       0xE0, 3, 0, 0, 0, 0)
    body += struct.pack("<HHHHHH", 94, 0, 94, 2, 98, 1)
    body += struct.pack("<HH", 100, 0) * 6 + b"\2\0\0\0\0\1"
    body += struct.pack("<HH", 100, 0) * 3 + struct.pack("<I", 0)
    return packet(0x10, body + user + password)


def batch(sql):
    head = struct.pack("<IIHQI", 22, 18, 2, 0, 1)
    return packet(0x01, head + sql.encode("utf-16le"))


SQL = [
    "SELECT 1 AS a, N'x' AS b WHERE 1 = 1",
    "SELECT TOP 3 n FROM dbo.rows(10) WHERE n > 2",
    "DECLARE @i int = 0; WHILE @i < 5 SET @i = @i + 1; SELECT @i",
    "SELECT CAST('12.50' AS decimal(9,2)) * 2, CONVERT(varbinary(8), 255)",
    "IF 1 = 1 BEGIN PRINT 'a' END ELSE RAISERROR('b', 16, 1)",
    "SELECT a FROM (VALUES (1), (2)) AS t (a) UNION ALL SELECT 3",
    "BEGIN TRAN; SAVE TRAN s; ROLLBACK; SELECT @@TRANCOUNT",
    "SELECT REPLICATE('ab', 10), SUBSTRING('abc', 2, 1), LEN(N'x')",
    "SELECT CAST('2024-02-29' AS datetime2(3)), 0x0102, 1.5e3, $3.2",
]


def damage(data):
    data = bytearray(data)
    for _ in range(RNG.choice((1, 1, 1, 2, 5))):
        at = RNG.randrange(len(data))
        kind = RNG.randrange(5)
        if kind == 0:
            data[at] ^= 1 << RNG.randrange(8)
        elif kind == 1:
            data[at] = RNG.choice((0, 1, 127, 128, 255))
        elif kind == 2:
            del data[at:at + RNG.randrange(1, 9)]
        elif kind == 3:
            data[at:at] = bytes(RNG.randrange(256) for _ in range(4))
        else:
            data += data[at:at + 60]
        if not data:
            data = bytearray(b"\x12")
    return bytes(data)


def damaged_sql():
    words = " ".join(RNG.sample(SQL, 2)).split(" ")
    for _ in range(RNG.randrange(1, 6)):
        at = RNG.randrange(len(words))
        words[at] = RNG.choice((
            "", "(", ")", "(" * 500, "'", "N'", "[", "--", "/*", "0x", "1e999",
            "9" * 400, "-" * 300, "CASE", "SELECT", "CAST(", "AS", "@@", "@x",
            "\u20ac", ",", ";", "%", "*", "/0", "NULL", "\0", words[at] * 2,
            "REPLICATE('x', 2147483647)", "dbo.rows(99999999999)"))
    return " ".join(words)


class Server:
    def __init__(self, tls, folder):
        self.path = os.path.join(folder, "control-" + tls)
        self.errors = open(os.path.join(folder, "stderr-" + tls), "w+")
        self.cert = os.path.join(folder, "cert-" + tls)
        cert = [] if tls == "off" else ["--print-cert", self.cert]
        self.process = subprocess.Popen(
            [os.path.join(BIN, "tdsd"), "--port", "0", "--print-port",
             "--strict-client", "--tls",
             tls, "--control", self.path, "--quiet"] + cert,
            stdout=subprocess.PIPE, stderr=self.errors, text=True)
        started.append(self.process)
        self.port = int(self.process.stdout.readline())
        self.tls = tls

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=LATE_S)

    def stats(self):
        with socket.socket(socket.AF_UNIX) as control:
            control.settimeout(LATE_S)
            control.connect(self.path)
            control.sendall(b"stats\n")
            data = b""
            while not data.endswith(b"\n"):
                data += control.recv(65536)
        return json.loads(data)

    def good_client(self, when):
        trust = "TrustServerCertificate=true"
        how = {"off": "Encrypt=optional", "login-only": "Encrypt=optional",
               "self-signed": "Encrypt=mandatory;" + trust,
               "strict": "Encrypt=strict;CA File=" + self.cert}[self.tls]
        env = dict(os.environ, WEIR_CONNINFO=(
            "Driver=tds;Server=127.0.0.1,%d;User ID=sa;Password=x;"
            "Connect Timeout=5;%s" % (self.port, how)))
        begun = time.monotonic()
        done = subprocess.run([os.path.join(BIN, "weirctl"), "query", "--csv",
                               "SELECT 41 + 1 AS a"], env=env, text=True,
                              capture_output=True, timeout=30)
        late = time.monotonic() - begun
        check("%s: a good client %s" % (self.tls, when),
              done.returncode == 0 and "42" in done.stdout and late < LATE_S,
              "%.1f s %s" % (late, done.stderr))

    def end(self):
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            left = self.stats()["connections_open"]
            if left == 0:
                break
            time.sleep(0.05)
        check(self.tls + ": nothing is left open", left == 0, left)
        self.process.terminate()
        check(self.tls + ": it ends cleanly", self.process.wait(20) == 0,
              self.process.returncode)
        self.errors.seek(0)
        text = self.errors.read()
        check(self.tls + ": no report", "Sanitizer" not in text and
              "runtime error" not in text and "Assert" not in text, text[-3000:])


def swallow(sock, seconds=0.01):
    try:
        sock.settimeout(seconds)
        while sock.recv(65536):
            pass
    except (OSError, ssl.SSLError, ValueError):
        pass


def leave(sock):
    if RNG.random() < 0.3:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack("ii", 1, 0))
    sock.close()


def say(sock, data):
    """In one piece, or in a few."""
    try:
        for part in (data,) if RNG.random() < 0.6 else \
                (data[:len(data) // 3], data[len(data) // 3:]):
            sock.sendall(part)
    except OSError:
        pass


def noise(server):
    kinds = [b"GET / HTTP/1.0\r\n\r\n", b"\x16\x03\x01\x02\x00\x01" + bytes(600),
             b"\x15\x03\x03\x00\x02\x02\x28", bytes(5000), b"\xff" * 9000,
             b"\x12\x01\xff\xff" + b"a" * 70000, b"\x12\x01\x00\x00" * 9,
             b"\x12\x00\x00\x08\0\0\1\0" * 5000, b"\x01\x00\x00\x08\0\0\1\0" * 900]
    for i in range(ROUNDS // 3):
        sock = server.connect()
        data = kinds[i] if i < len(kinds) else \
            bytes(RNG.randrange(256) for _ in range(RNG.randrange(1, 400)))
        say(sock, data)
        if i % 4 == 0:
            swallow(sock)
        leave(sock)


def conversation(server):
    """Good but for one message, in clear."""
    for _ in range(ROUNDS):
        sock = server.connect()
        parts = [prelogin(RNG.randrange(4)), login(0x74000004),
                 batch(RNG.choice(SQL)), packet(0x0E, bytes(26)),
                 packet(0x03, bytes(40)), packet(0x06, b"")]
        bad = RNG.randrange(len(parts))
        parts[bad] = damage(parts[bad])
        if RNG.random() < 0.2:
            RNG.shuffle(parts)
        for part in parts[:bad + 2]:
            say(sock, part)
        if RNG.random() < 0.2:
            swallow(sock)
        leave(sock)


def message(sock):
    head = b""
    while len(head) < 8:
        more = sock.recv(8 - len(head))
        if not more:
            raise EOFError
        head += more
    left = struct.unpack(">H", head[2:4])[0] - 8
    body = b""
    while len(body) < left:
        more = sock.recv(left - len(body))
        if not more:
            raise EOFError
        body += more
    return body if head[1] & 1 else body + message(sock)


def statements(server):
    """Damaged SQL on good sessions: each answered, or the session ended."""
    sock = None
    silent = 0
    for _ in range(ROUNDS * 2):
        try:
            if sock is None:
                sock = server.connect()
                say(sock, prelogin(2))
                message(sock)
                say(sock, login(0x74000004))
                message(sock)
            say(sock, batch(damaged_sql()))
            message(sock)
        except socket.timeout:
            silent += 1
            sock.close()
            sock = None
        except (EOFError, OSError):
            sock.close()
            sock = None
    if sock is not None:
        sock.close()
    check(server.tls + ": each statement is answered", silent == 0, silent)


def context(strict):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    if strict:
        made.set_alpn_protocols(["tds/8.0"])
    else:
        made.maximum_version = ssl.TLSVersion.TLSv1_2
    return made


def inside_strict(server):
    made = context(True)
    for _ in range(ROUNDS // 3):
        sock = server.connect()
        try:
            sock = made.wrap_socket(sock, server_hostname="localhost")
            parts = [prelogin(1), login(0x08000000), batch(RNG.choice(SQL))]
            bad = RNG.randrange(3)
            parts[bad] = damage(parts[bad])
            for part in parts:
                say(sock, part)
            swallow(sock)
        except OSError:
            pass
        leave(sock)


def inside_wrapped(server):
    """The handshake in packets, some of them damaged; then damaged records."""
    for i in range(ROUNDS // 3):
        sock = server.connect()
        sock.settimeout(0.2)  # a damaged flight may have the server wait
        inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context(False).wrap_bio(inward, outward)
        try:
            say(sock, prelogin(RNG.choice((0, 1))))
            message(sock)
            broken = RNG.randrange(4)
            for flight in range(4):
                try:
                    tls.do_handshake()
                    done = True
                except ssl.SSLWantReadError:
                    done = False
                data = outward.read()
                if data:
                    data = packet(0x12, data)
                    say(sock, damage(data) if flight == broken else data)
                if done:
                    break
                inward.write(message(sock))
            tls.write(login(0x74000004))
            data = outward.read()
            say(sock, damage(data) if i % 2 else data)
            say(sock, damage(batch("SELECT 1")))
            swallow(sock)
        except (OSError, EOFError, ssl.SSLError):
            pass
        leave(sock)


def crowd(server):
    """200 half-open, 50 slow ones: the good client does not notice."""
    half = [server.connect() for _ in range(200)]
    for i, sock in enumerate(half):
        say(sock, prelogin(2)[:i % 40])
    slow = [server.connect() for _ in range(50)]
    data = prelogin(2) + login(0x74000004)
    for at in range(20):
        for sock in slow:
            say(sock, data[at:at + 1])
        if at % 10 == 5:
            server.good_client("among 250 slow ones")
    for sock in half + slow:
        leave(sock)


def deaf(server):
    """Clients that ask for much and never read."""
    socks = []
    for _ in range(20):
        sock = server.connect()
        say(sock, prelogin(2) + b"")
        say(sock, login(0x74000004))
        say(sock, batch("SELECT n, REPLICATE('x', 4000) FROM dbo.rows(100000)"))
        socks.append(sock)
    time.sleep(0.3)
    server.good_client("among 20 that never read")
    with open("/proc/%d/statm" % server.process.pid) as f:
        pages = int(f.read().split()[1])
    check(server.tls + ": memory among clients that never read",
          pages * 4 < 400 * 1024, "%d KiB" % (pages * 4))
    for sock in socks:
        leave(sock)


def attack(tls, folder):
    server = Server(tls, folder)
    server.good_client("before")
    acts = [noise, conversation, crowd]
    acts += {"off": [statements, deaf], "strict": [inside_strict]}.get(
        tls, [inside_wrapped])
    for act in acts:
        act(server)
        server.good_client("after " + act.__name__)
    server.end()


def main():
    with tempfile.TemporaryDirectory() as folder:
        for tls in ("off", "login-only", "self-signed", "strict"):
            attack(tls, folder)
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        for process in started:
            if process.poll() is None:
                process.kill()
