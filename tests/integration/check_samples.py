#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_samples.py - the samples' event loops, against the mock driver and against
tdsd: every job gets its row, failures are told, a server that is not there is an
error and no hang, and no thread is started where there is to be none.

Prints "N passed, N failed" last."""

import os
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


def main():
    for sample in SAMPLES:
        check_mock(sample)
        check_tds(sample)
    # A sanitizer has a thread of its own.
    want = 2 if os.environ.get("WEIR_SANITIZE", "") else 1
    for sample in ("sample_poll_loop", "sample_uv_loop"):
        seen = threads_of(sample, "Driver=mock;Max Pool Size=3")
        check("%s starts no thread" % sample, seen <= want, seen)
    print("%d passed, %d failed" % (passed, failed))
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
