#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_ramp.py - a hundred threads open a cold pool of a hundred over TLS, five
times: the server must see 100 sessions at once, never 101, and as many logins as
connections were wanted, not one more (P1).

What the server counted is asked through its control socket, so the judge is not
the pool.  Prints "N passed, N failed" last."""

import json
import os
import re
import socket
import subprocess
import sys
import tempfile

BIN = os.path.join(os.environ["WEIR_BUILD_DIR"], "bin")
THREADS = 100
ROUNDS = 5


def stats(path):
    with socket.socket(socket.AF_UNIX) as control:
        control.settimeout(10)
        control.connect(path)
        control.sendall(b"stats\n")
        data = b""
        while not data.endswith(b"\n"):
            data += control.recv(65536)
    return json.loads(data)


def ramp(port, pid):
    conninfo = ("Driver=tds;Server=127.0.0.1,%s;User ID=sa;Password=x;"
                "Encrypt=mandatory;TrustServerCertificate=true" % port)
    env = dict(os.environ, WEIR_CONNINFO=conninfo)
    return subprocess.run([os.path.join(BIN, "weirctl"), "demo", "--threads",
                           str(THREADS), "--rounds", str(ROUNDS),
                           "--server-pid", str(pid)],
                          capture_output=True, text=True, env=env, timeout=300)


def check(name, good, seen):
    print("%s %s (%s)" % ("ok  " if good else "FAIL", name, seen))
    return 1 if good else 0


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "control")
        server = subprocess.Popen(
            [os.path.join(BIN, "tdsd"), "--port", "0", "--print-port",
             "--strict-client", "--tls",
             "self-signed", "--login-delay-ms", "5", "--control", path],
            stdout=subprocess.PIPE, text=True)
        try:
            run = ramp(server.stdout.readline().strip(), server.pid)
            seen = stats(path)
        finally:
            server.terminate()
            server.wait(10)
    results = [
        check("the demo ends well", run.returncode == 0,
              run.stderr.strip() or run.returncode),
        check("the server saw a hundred sessions, never more",
              seen["sessions_max"] == THREADS, seen["sessions_max"]),
        check("no login failed", seen["logins_failed"] == 0,
              seen["logins_failed"]),
        check("every session has ended", seen["sessions_open"] == 0,
              seen["sessions_open"]),
        check("each thread of each round opened one connection",
              re.search(r"connections opened +%d" % (THREADS * ROUNDS),
                        run.stdout) is not None, run.stdout.strip()[:60]),
    ]
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
