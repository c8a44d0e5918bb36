#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_big.py - big results in small memory: rows stream, a value of 100 MiB is
held once, both in linear time.

The server is hostile_server's, told to behave.  Prints "N passed, N failed" last."""

import os
import struct
import subprocess
import sys
import time

import hostile_server as server

MIB = 1024 * 1024
INT = b"\x81\x01\0\0\0\0\0\0\0\x38\x01a\0"
TEXT = b"\x81\x01\0\0\0\0\0\0\0\xe7\xff\xff\x09\x04\xd0\0\x34\x01a\0"
UNKNOWN = b"\xfe" + b"\xff" * 7


def rows(n):
    def then(sock):
        block = server.packet(b"\xd1\x01\0\0\0" * 800, status=0) * 25
        for _ in range(n // 20000):
            sock.sendall(block)
        sock.sendall(server.packet(server.DONE))
        server.wait_for_end(sock)
    return server.Case("rows", "batch", server.packet(INT, status=0), then)


def value(mib):
    def then(sock):
        block = server.packet(struct.pack("<I", 4000) + b"a\0" * 2000,
                              status=0) * 64
        for _ in range(mib * MIB // (4000 * 64)):
            sock.sendall(block)
        sock.sendall(server.packet(bytes(4) + server.DONE))
        server.wait_for_end(sock)
    return server.Case("value", "batch",
                       server.packet(TEXT + b"\xd1" + UNKNOWN, status=0), then)


def peak_mib(pid):
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0


def run(case):
    """The stage it ended at, seconds, MiB at most."""
    player = server.Server()
    player.case = case
    player.start()
    env = dict(os.environ, ASAN_OPTIONS="quarantine_size_mb=1")
    client = subprocess.Popen([server.CLIENT], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env=env)
    begun = time.monotonic()
    client.stdin.write(server.conninfo(player.port, "optional").replace(
        "Command Timeout=1", "Command Timeout=100") + "\tSELECT 1\n")
    client.stdin.flush()
    line = client.stdout.readline()
    taken = time.monotonic() - begun
    peak = peak_mib(client.pid)
    client.stdin.close()
    client.wait(60)
    return line.split("\t")[0], taken, peak


def main():
    results = []

    def check(what, good, seen):
        print("%s %s %s" % ("ok  " if good else "FAIL", what, seen))
        results.append(good)

    few, many = run(rows(100000)), run(rows(1000000))
    check("a million rows", many[0] == "done", many)
    check("memory is flat", many[2] < few[2] + 16, (few, many))
    check("ten times the rows take ten times as long", many[1] < 30 * few[1] + 2,
          (few, many))
    small, large = run(value(10)), run(value(100))
    check("a value of 100 MiB", large[0] == "done", large)
    check("it is held once", large[2] < small[2] + 100, (small, large))
    check("ten times the bytes take ten times as long",
          large[1] < 30 * small[1] + 2, (small, large))
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
