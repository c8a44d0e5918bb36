#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_samples.py - the samples' event loops, against the mock driver and against
tdsd: every job gets its row, failures are told, a server that is not there is an
error and no hang, and no thread is started where there is to be none.  And the one
with several pools: the connection string alone says what each of them does.

Prints "N passed, N failed" last."""

import os
import re
import subprocess
import sys

BUILD = os.environ["WEIR_BUILD_DIR"]
SAMPLES = ["sample_poll_loop", "sample_uv_loop", "sample_queue_loop"]
TDS = ("Driver=tds;Server=127.0.0.1,%s;User ID=sa;Password=x;"
       "TrustServerCertificate=true;Max Pool Size=3")
passed = 0
failed = 0


def check(what, good, seen=""):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print("FAILED: %s: %s" % (what, seen))


def run(sample, conninfo, sql, jobs):
    done = subprocess.run([os.path.join(BUILD, "examples", sample), conninfo,
                           sql, str(jobs)], capture_output=True, text=True,
                          timeout=60, check=False)
    return done.returncode, sorted(done.stdout.splitlines()), done.stderr


def check_rows(sample, server, conninfo, sql, text, jobs):
    rc, lines, errors = run(sample, conninfo, sql, jobs)
    want = sorted("job %d: %s" % (i, text) for i in range(1, jobs + 1))
    check("%s: %d rows from %s" % (sample, jobs, server),
          rc == 0 and lines == want, (rc, lines, errors))


def check_failures(sample, server, conninfo, sql, part, jobs):
    rc, lines, errors = run(sample, conninfo, sql, jobs)
    good = (rc == 1 and len(lines) == jobs and
            all("failed" in line and part in line for line in lines))
    check("%s: failures of %s" % (sample, server), good, (rc, lines, errors))


def check_mock(sample):
    mock = "Driver=mock;Max Pool Size=3;Mock Connect Delay=5ms"
    check_rows(sample, "the mock", mock, "hello", "hello", 8)
    check_rows(sample, "the mock, slowly", mock, "sleep 10ms; rows 1", "0", 8)
    check_rows(sample, "the mock, without jobs", mock, "hello", "hello", 0)
    check_failures(sample, "the mock", mock, "fail 208 no such table",
                   "no such table", 5)
    check_failures(sample, "the mock that hangs",
                   "Driver=mock;Max Pool Size=2;Command Timeout=200ms",
                   "hang", "time-out", 4)
    check_failures(sample, "the mock that does not connect",
                   "Driver=mock;Connect Timeout=200ms;"
                   "Mock Script Text=\"connect: hang\"", "x", "", 3)


def check_tds(sample):
    for tls in ("self-signed", "off"):
        server = subprocess.Popen(
            [os.path.join(BUILD, "bin", "tdsd"), "--port", "0", "--print-port",
             "--tls", tls, "--quiet"], stdout=subprocess.PIPE, text=True)
        try:
            port = server.stdout.readline().strip()
            conninfo = TDS % port + (";Encrypt=false" if tls == "off" else "")
            check_rows(sample, "tdsd, TLS " + tls, conninfo,
                       "SELECT N'zażółć'", "zażółć", 8)
            check_failures(sample, "tdsd, TLS " + tls, conninfo,
                           "SELECT nothing", "", 3)
        finally:
            server.terminate()
            server.wait()
            server.stdout.close()
    check_failures(sample, "a server that has gone",
                   conninfo + ";Connect Timeout=1", "SELECT 1", "", 3)


def threads_of(sample, conninfo):
    """Threads while statements hang."""
    program = subprocess.Popen([os.path.join(BUILD, "examples", sample),
                                conninfo, "sleep 1s; rows 1", "3"],
                               stdout=subprocess.DEVNULL)
    most = 0
    while program.poll() is None:
        try:
            most = max(most, len(os.listdir("/proc/%d/task" % program.pid)))
        except FileNotFoundError:
            break
        if most > 0:
            try:
                program.wait(0.02)
            except subprocess.TimeoutExpired:
                pass
    return most


def run_pools(sql, *conninfos):
    done = subprocess.run([os.path.join(BUILD, "examples",
                                        "sample_three_pools"), sql, *conninfos],
                          capture_output=True, text=True, timeout=60,
                          check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def check_pools(server, sql, conninfo, rows):
    """A pool of each strategy, and one of direct with a policy of legacy's."""
    names = ["legacy", "channel", "direct"]
    rc, lines, errors = run_pools(
        sql, *[conninfo + ";Pool Strategy=" + name for name in names],
        conninfo + ";Pool Growth=serial")
    seen = [re.match(r"8 connections in [0-9.]+ ms, %d rows: Driver=" % rows,
                     line) is not None for line in lines]
    check("three pools over %s, and a fourth" % server,
          rc == 0 and seen == [True] * 4 and errors == "", (rc, lines, errors))
    check("each with the strategy of its string, over " + server,
          len(lines) == 4 and "Pool Strategy=legacy" in lines[0] and
          "Pool Strategy=channel" in lines[1] and
          "Pool Strategy" not in lines[2] + lines[3] and
          "Pool Growth=serial" in lines[3], lines)
    check("no password in a key, over " + server,
          "Password" not in "".join(lines), lines)


def times_of(*conninfos):
    rc, lines, errors = run_pools("hello", *conninfos)
    found = [re.search(r" in ([0-9.]+) ms", line) for line in lines]
    check("pools that differ in growth", rc == 0 and
          len(found) == len(conninfos) and all(found), (rc, lines, errors))
    return [float(f.group(1)) for f in found]


def check_growth():
    """Eight connects of 20 ms each: one at a time they cannot take less than all of
    them together, whatever the machine, and others can.  Only the strings differ."""
    mock = "Driver=mock;Mock Connect Delay=20ms"
    slow = times_of(mock + ";Pool Strategy=legacy", mock + ";Pool Growth=serial")
    check("serial growth opens one at a time, by preset and by key",
          min(slow) >= 158, slow)
    for _ in range(5):  # one run without a long interruption is enough
        fast = times_of(mock + ";Pool Strategy=legacy;Pool Growth=parallel", mock)
        if max(fast) < 140:
            break
    check("and nothing else does", max(fast) < 140, fast)


def check_pool_failures():
    rc, lines, errors = run_pools("hello", "Driver=mock;Pool Strategy=fastest")
    check("a strategy that is none is an error that names the setting",
          rc == 1 and not lines and "Pool Strategy" in errors, (rc, lines, errors))
    rc, lines, errors = run_pools("fail 208 no such table", "Driver=mock")
    check("failures are told", rc == 1 and errors.count("no such table") == 8,
          (rc, lines, errors))
    rc, lines, errors = run_pools("hello")
    check("without a connection string it says how it is used",
          rc == 2 and "usage" in errors, (rc, lines, errors))


def check_all_pools():
    check_pools("the mock", "hello", "Driver=mock;Mock Connect Delay=5ms", 8)
    server = subprocess.Popen(
        [os.path.join(BUILD, "bin", "tdsd"), "--port", "0", "--print-port",
         "--tls", "self-signed", "--quiet"], stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().strip()
        check_pools("tdsd", "SELECT 1", "Driver=tds;Server=127.0.0.1,%s;"
                    "User ID=sa;Password=x;TrustServerCertificate=true" % port, 8)
    finally:
        server.terminate()
        server.wait()
        server.stdout.close()
    check_growth()
    check_pool_failures()


def main():
    for sample in SAMPLES:
        check_mock(sample)
        check_tds(sample)
    check_all_pools()
    # A sanitizer has a thread of its own.
    want = 2 if os.environ.get("WEIR_SANITIZE", "") else 1
    for sample in ("sample_poll_loop", "sample_uv_loop"):
        seen = threads_of(sample, "Driver=mock;Max Pool Size=3")
        check("%s starts no thread" % sample, seen <= want, seen)
    print("%d passed, %d failed" % (passed, failed))
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
