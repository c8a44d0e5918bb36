#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bad_strings.py - connection strings that are wrong, by hand and by damage to good
ones, through weirctl key and weirctl query.

Each must end with exit code 3 (or 4: the driver), with a message, with nothing on
standard output, without a sanitizer's report, and without the password that was
planted in it.  Prints "N passed, N failed" last."""

import os
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

WEIRCTL = os.path.join(os.environ["WEIR_BUILD_DIR"], "bin", "weirctl")
SECRET = "Pl4ntedSecr3t"
GOOD = "Driver=tds;Server=127.0.0.1,1;User ID=sa;Password=%s;" % SECRET

BAD = [
    "", ";", ";;;", " ", "=", "==", "===", "=;", "nothing", "Driver",
    "Driver=", "Driver=;", "Driver=''", 'Driver=""', "Driver={}",
    "Driver=no_such_driver", "Driver=no such driver", "Driver=../tds",
    "Driver=tds/../tds", "Driver=/no/such/file.so", "Driver=/etc/passwd",
    "Driver=/", "Driver=/dev/null", "Driver=/dev/zero", "Driver=/tmp",
    "Driver=.", "Driver=t\u00e4s", "Driver=" + "x" * 256, "Driver=" + "x" * 60000,
    "Server=127.0.0.1;Password=" + SECRET,
    "Driver=tds", "Driver=tds;Server=", "Driver=tds;Server=''",
    "Driver=tds;Server=,1433;User ID=a;Password=" + SECRET,
]
BAD += [GOOD + tail for tail in (
    "Server=h,", "Server=h,0", "Server=h,65536", "Server=h,-1", "Server=h,x",
    "Server=h,1433x", "Server=h, ,1", "Server=h,99999999999999999999",
    "Server=h\\inst", "Server=tcp:", "Server=np:h", "Server=h\th", "Server=a b",
    "Server=" + "h" * 5000, "Server=[::1", "Server=::1]",
    "Encrypt=perhaps", "Encrypt=2", "Encrypt=mandatory strict",
    "TrustServerCertificate=2", "TrustServerCertificate=maybe",
    "Packet Size=511", "Packet Size=32769", "Packet Size=-1", "Packet Size=x",
    "Packet Size=512.5", "Packet Size=1e3", "Packet Size=99999999999999999999",
    "Database=" + "d" * 129, "Database=" + "\U0001f40b" * 65,
    "User ID=" + "u" * 129, "User ID=" + "u" * 70000,
    "Password=" + SECRET * 20, "Password='" + SECRET,
    'Password="' + SECRET, "Password={" + SECRET, "Password=" + SECRET + "'",
    'Password=' + SECRET + '"', "Password='" + SECRET + "'x",
    'Password="a""' + SECRET, "Password={a}}" + SECRET,
    "Passwrd=" + SECRET, "Pasword=" + SECRET, "Pwd2=" + SECRET,
    "Password =x;" + SECRET, SECRET, SECRET + "=", SECRET + ";x=1",
    "=" + SECRET, ";=" + SECRET, "Password==" + SECRET, "a==b=" + SECRET,
    "Integrated Security=true", "Integrated Security=SSPI",
    "Trusted_Connection=yes", "Authentication=ActiveDirectoryPassword",
    "MultipleActiveResultSets=true", "Connect Timeout=-1", "Connect Timeout=x",
    "Connect Timeout=1 fortnight", "Connect Timeout=", "Connect Timeout=1 s s",
    "Connect Timeout=1e9999", "Connect Timeout=nan", "Connect Timeout=inf",
    "Connect Timeout=0x10", "Connect Timeout=2147483648",
    "Connect Timeout=1..5", "Connect Timeout=.", "Connect Timeout=+-1",
    "Connect Timeout=9999999999999999999999 h",
    "Command Timeout=-0.5", "Max Pool Size=0", "Max Pool Size=131073",
    "Max Pool Size=-1", "Max Pool Size=1.5", "Max Pool Size=ten",
    "Max Pool Size=4294967297", "Max Pool Size=18446744073709551617",
    "Min Pool Size=101", "Min Pool Size=5;Max Pool Size=4", "Min Pool Size=1 s",
    "Lifetime Jitter=101", "Lifetime Jitter=-1", "Lifetime Jitter=5 s",
    "Pooling=2", "Pooling=maybe", "Pool Strategy=none", "Pool Strategy=v1",
    "Pool Strategy=chanel", "Connection Reset=never", "Startup=now",
    "Pool Key=any", "Close Timeout=3601", "Probe Window=2 h",
    "Max Concurrent Connects=131073", "Connect Timeout Scope=phase",
    "Idle Expiry=never", "Min Idle=101", "Keepalive Interval=-1",
    "Enlist=false", "Pool Trim=never",
    "Transaction Binding=Explicit Unbind", "Pool Handoff=barge",
    "Lease Timeout=1", "Leak Report After=1",
    "Colour=red", "n" * 129 + "=1", "n" * 10000, "\u202e=1", "\u00e9=1",
    "a\0b=1", "a=\0", "Server=\x01", "User ID=\x7f",
    ";".join("x%d=1" % i for i in range(130)), "y" * 70000 + "=1",
    "{Driver}=tds", "'Server'=x", "Server={x", "Server={x}y", "Server='x'y",
)]
# With these the engine opens a pool; it is the server that is missing.
FINE = ("Connect Timeout=", "Password==" + SECRET, "Password=" + SECRET * 20,
        "Password =x;" + SECRET)


def damaged(n):
    """Good strings with a piece broken so that they cannot be right."""
    rng = random.Random(7)
    quoted = ("Driver=tds;Server=127.0.0.1,1;User ID='sa';Password=\"%s\";"
              "Application Name={w}}x};Max Pool Size=5" % SECRET)
    found = []
    while len(found) < n:
        data = bytearray(quoted.encode())
        kind = rng.randrange(4)
        at = rng.randrange(len(data))
        if kind == 0:
            data[at] = rng.choice(b"\x80\xff\xc0\xfe\xed")
        elif kind == 1:
            data[at:at] = bytes([rng.choice(b"\xc3\xe2\xf5\xff")]) + b";"
        elif kind == 2:
            data += b";" + bytes(rng.randrange(128, 256) for _ in range(9))
        else:
            data += b";Max Pool Size=" + bytes(
                rng.choice(b"xyz-.e ") for _ in range(4)) + b"q"
        found.append(bytes(data))
    return found


def run(verb, data, index):
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"),
                        "weir-bad-%d-%d" % (os.getpid(), index))
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600),
              "wb") as f:
        f.write(data)
    try:
        args = [WEIRCTL, verb] + (["-c", "@" + path, "SELECT 1"]
                                  if verb == "query" else ["@" + path])
        return subprocess.run(args, capture_output=True, timeout=60)
    finally:
        os.unlink(path)


def complaints(done, text):
    bad = []
    if done.returncode not in (3, 4):
        bad.append("exit %d" % done.returncode)
    if SECRET.lower() in (text + done.stdout.decode("utf-8", "replace")).lower():
        bad.append("the password shows")
    if done.stdout:
        bad.append("output: %r" % done.stdout[:60])
    if len(text.strip()) < 10 or len(text) > 3000 or "Sanitizer" in text \
            or "runtime error" in text:
        bad.append("%d bytes of message" % len(text))
    return bad


def check(case):
    verb, data, index = case
    try:
        done = run(verb, data, index)
    except subprocess.TimeoutExpired:
        return False, "FAIL %s %r: does not end" % (verb, data[:200])
    text = done.stderr.decode("utf-8", "replace")
    bad = complaints(done, text)
    line = "%s %s %r: %s | %s" % ("FAIL" if bad else "ok  ", verb,
                                  data[-70:], "; ".join(bad), text.strip())
    return not bad, line


def main():
    strings = [s.encode() for s in BAD if not s.endswith(FINE)] + damaged(50)
    cases = [(verb, data, i) for i, (verb, data) in enumerate(
        (v, s) for s in strings for v in ("key", "query"))]
    with ThreadPoolExecutor(6) as pool:
        results = list(pool.map(check, cases))
    for good, line in results:
        if not good or os.environ.get("WEIR_HOSTILE_VERBOSE"):
            print(line)
    passed = sum(good for good, _ in results)
    print("%d passed, %d failed" % (passed, len(results) - passed))
    return 0 if passed == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
