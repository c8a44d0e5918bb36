#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_weirbench.py - weirbench as a user runs it: what it refuses, that each
workload ends with exact counts, with each strategy on the mock driver, and
against tdsd, and that it ends at all when there is no server.

Nothing here judges a time.  Prints "N passed, N failed" last."""

import contextlib
import json
import os
import socket
import subprocess
import sys

BIN = os.path.join(os.environ["WEIR_BUILD_DIR"], "bin")
FIELDS = {
    "workload", "params", "strategy", "driver", "iterations", "wall_ns",
    "cpu_ns", "allocs_per_op", "syscalls_per_op", "ops_per_s", "connects",
    "timeouts", "waiters_max", "wait_ns", "utilisation", "overtakes",
    "wait_by", "caller_wait_ns"}
MOCK = "Driver=mock"
ALL = ["legacy", "channel", "direct"]  # in the order of --strategy all
SECRET = "hunter2"
# Small rows, and what each must count: acquires of an iteration, connects of
# one (none where the pool is warm; a range where it depends).
ROWS = [
    ("cold_start_ramp", ["connections=7", "max_pool=9"], 7, 7),
    ("cold_start_ramp_async", ["connections=7", "max_pool=9"], 7, 7),
    # Fewer places than callers: what comes back serves the next, and a fast
    # server may do with less.
    ("cold_start_ramp", ["connections=7", "max_pool=3"], 7, range(1, 4)),
    ("cold_start_ramp_async", ["connections=7", "max_pool=3"], 7,
     range(1, 4)),
    ("rapid_fire", ["threads=3", "max_pool=4", "ops=101"], 101, 0),
    ("rapid_fire_async", ["threads=3", "max_pool=4", "ops=101"], 101, 0),
    ("single_thread", ["depth=3", "max_pool=5", "ops=50"], 50, 0),
    ("single_thread_async", ["depth=3", "max_pool=5", "ops=50"], 50, 0),
    ("saturated_sync",
     ["threads=5", "max_pool=2", "min_workers=3", "ops=4"], 20, 0),
]

results = []


def check(name, good, seen=""):
    results.append(bool(good))
    if not good:
        print("FAIL %s: %s" % (name, seen))


def bench(*arguments, timeout=100):
    """Runs weirbench; what takes too long is a failure of its own."""
    try:
        run = subprocess.run([os.path.join(BIN, "weirbench"), *arguments],
                             capture_output=True, text=True, timeout=timeout,
                             stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        check("ends: %s" % " ".join(arguments), False, "timed out")
        return subprocess.CompletedProcess([], -1, "", "")
    check("tells no secret", SECRET not in run.stdout + run.stderr,
          run.stdout + run.stderr)
    return run


def refuses(says, *arguments):
    run = bench(*arguments)
    check("refuses %s" % " ".join(arguments),
          run.returncode == 2 and says in run.stderr and not run.stdout,
          (run.returncode, run.stdout, run.stderr))


def check_refusals():
    refuses("there are cold_start_ramp", "run", "warm_start", "--conn", MOCK)
    refuses("weirbench list", "run")
    refuses("one workload", "run", "rapid_fire", "single_thread", "--conn",
            MOCK)
    refuses("--conn CONNINFO is needed", "run", "rapid_fire")
    refuses("needs a value", "run", "rapid_fire", "--conn")
    refuses("not an option", "run", "rapid_fire", "--speed=" + SECRET)
    refuses("usage", "walk")
    refuses("usage")
    refuses("there are connections, threads, max_pool, depth, ops, hold_us, "
            "hold_us_max, waves, min_workers", "run", "rapid_fire", "--set",
            "callers=3", "--conn", MOCK)
    refuses("it has depth, max_pool, ops", "run", "single_thread", "--set",
            "threads=3", "--conn", MOCK)
    refuses("from 1 to 4096", "run", "rapid_fire", "--set", "threads=0",
            "--conn", MOCK)
    refuses("depth is over max_pool", "run", "single_thread", "--set",
            "depth=101", "--conn", MOCK)
    refuses("driver nosuch", "run", "rapid_fire", "--conn",
            "Driver=nosuch;Password=" + SECRET)
    refuses("Pool Strategy", "run", "rapid_fire", "--strategy", "nosuch",
            "--conn", MOCK)
    refuses("no strategy's name", "run", "rapid_fire", "--strategy", "a;b",
            "--conn", MOCK)
    refuses("connection string", "run", "rapid_fire", "--conn",
            "Driver=mock;Pasword={" + SECRET)


def check_list():
    run = bench("list")
    names = [line.split()[0] for line in run.stdout.splitlines()]
    check("list", run.returncode == 0 and
          set(names) >= {row[0] for row in ROWS}, run.stdout)
    run = bench("--help")
    check("help", run.returncode == 0 and "usage" in run.stdout, run.stdout)


def strategies():
    """What the engine's own table of settings says there is."""
    run = subprocess.run([os.path.join(BIN, "weirctl"), "help", "settings",
                          "--json"], capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    return [row["range"] for row in rows
            if row["name"] == "Pool Strategy"][0].split(", ")


def check_rows(conninfo, driver, chosen, workload, sets, ops, connects):
    """One row of parameters, with each of the strategies that --strategy stands
    for: so many lines, in their order."""
    arguments = ["run", workload, "--quick", "--json", "--conn", conninfo]
    for text in sets:
        arguments += ["--set", text]
    if chosen != ["direct"]:
        arguments += ["--strategy", "all"]
    run = bench(*arguments)
    name = "%s over %s" % (workload, driver)
    check(name + " is quiet", run.returncode == 0 and not run.stderr,
          (run.returncode, run.stderr))
    lines = run.stdout.splitlines()
    check(name + " prints one row for each strategy",
          len(lines) == len(chosen), run.stdout)
    if len(lines) == len(chosen):
        for strategy, line in zip(chosen, lines):
            check_row(json.loads(line), driver, strategy, workload, sets, ops,
                      connects)


def check_row(row, driver, strategy, workload, sets, ops, connects):
    name = "%s over %s with %s" % (workload, driver, strategy)
    n = row["iterations"]
    check(name + " has all fields", FIELDS <= set(row), FIELDS - set(row))
    check(name + " says what it ran",
          (row["workload"], row["driver"], row["strategy"]) ==
          (workload, driver, strategy), row)
    check(name + " ran what was set",
          all("%s=%s" % item in sets or "hold_us" in item[0] or
              item[0] == "threads" for item in row["params"].items()), row)
    check(name + " makes each acquire", row["ops_per_iteration"] == ops, row)
    wanted = connects if isinstance(connects, range) else [connects]
    each = row["connects_per_iteration"]
    check(name + " opens exactly its connections",
          each["min"] in wanted and each["max"] in wanted and
          n * each["min"] <= row["connects"] <= n * each["max"], row)
    check(name + " has no time-out", row["timeouts"] == 0, row)
    check(name + " gives all observed leases back",
          row["observed_ops"] == 2 * ops, row)
    wall = row["wall_ns"]
    check(name + " has times in order",
          0 < wall["p50"] <= wall["p99"] <= wall["max"] and
          0 < wall["mean"] <= wall["max"] * 1.001 and row["cpu_ns"] > 0, row)
    check(name + " uses no more than there is",
          0 <= row["utilisation"] <= 1.001, row)
    check(name + " counts system calls or says why not",
          row["syscalls_per_op"] is not None or row["syscalls_why"], row)
    if wanted == [0] and workload != "saturated_sync":
        check(name + " is warm: no allocation", row["allocs_per_op"] < 0.05, row)


def check_repeated():
    """Strategies run in the order given, also one that is given twice."""
    arguments = ["run", "single_thread", "--quick", "--json", "--conn", MOCK]
    for name in ("direct", "legacy", "direct"):
        arguments += ["--strategy", name]
    run = bench(*arguments)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    check("each row runs with each strategy that is named",
          run.returncode == 0 and
          [(row["params"]["depth"], row["strategy"]) for row in rows] ==
          [(depth, name) for depth in (1, 10, 100)
           for name in ("direct", "legacy", "direct")], run.stdout)
    refuses("at most 8", *arguments, "--strategy", "all", "--strategy", "all")
    refuses("Pool Strategy", *arguments, "--strategy", "nosuch")


def check_timeouts():
    """A pool whose only connection is held by somebody else for longer."""
    run = bench("run", "rapid_fire", "--quick", "--json", "--set", "threads=3",
                "--set", "max_pool=1", "--set", "ops=3", "--set",
                "hold_us=150000", "--conn", MOCK + ";Connect Timeout=200ms")
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    check("time-outs are a figure", run.returncode == 0 and len(rows) == 1 and
          rows[0]["timeouts"] > 0, (run.returncode, run.stdout, run.stderr))
    if rows:
        check("those who waited were seen", rows[0]["waiters_max"] >= 1 and
              rows[0]["wait_ns"]["max"] > 50e6, rows[0])


def check_silent_server():
    """One that takes connections and never says a word."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        run = bench("run", "cold_start_ramp_async", "--quick", "--json",
                    "--conn", "Driver=tds;Server=127.0.0.1,%d;User ID=sa;"
                    "Password=%s;Connect Timeout=1" %
                    (silent.getsockname()[1], SECRET))
    check("a silent server is a failure in words", run.returncode == 1 and
          "acquiring a connection" in run.stderr and not run.stdout,
          (run.returncode, run.stdout, run.stderr))


def check_hanging_connect():
    """Of each pool the second connect hangs: its caller times out, the first
    one's rendezvous does not mind.  All pools share an endpoint, whose breaker
    the first time-out would open for the next pool."""
    run = bench("run", "cold_start_ramp", "--quick", "--json", "--set",
                "connections=2", "--conn", MOCK + ";Connect Timeout=300ms;"
                "Pool Blocking Period=never;"
                "Mock Script Text={connect 2-: hang}")
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    check("one of two times out each time", run.returncode == 0 and
          len(rows) == 1 and rows[0]["timeouts"] == rows[0]["iterations"] and
          rows[0]["connects"] == 2 * rows[0]["iterations"],
          (run.returncode, run.stdout, run.stderr))


def check_waits():
    """Five share one connection: all but the first wait, and are seen to, by
    themselves and by the pool."""
    run = bench("run", "saturated_sync", "--quick", "--json", "--set",
                "threads=5", "--set", "max_pool=1", "--set", "ops=4", "--set",
                "min_workers=5", "--set", "hold_us=3000", "--conn", MOCK)
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    check("waits are stamped by the granter", run.returncode == 0 and
          len(rows) == 1 and rows[0]["wait_by"] == "granter",
          (run.returncode, run.stdout, run.stderr))
    if not rows:
        return
    row = rows[0]
    for name in ("wait_ns", "caller_wait_ns"):
        wait = row[name]
        check(name + " is in order", 0 < wait["p50"] <= wait["p99"] <=
              wait["max"] and 0 < wait["mean"] <= wait["max"] and
              wait["max"] > 3e6, row)
    check("those who wait are counted", 2 <= row["waiters_max"] <= 5 and
          0 < row["waits"] <= row["observed_ops"] == 40, row)
    check("the connection is held most of the time",
          0.5 < row["utilisation"] <= 1.001, row)


def check_table():
    run = bench("run", "single_thread", "--quick", "--conn", MOCK)
    check("a table has a head and each row",
          run.returncode == 0 and "wall" in run.stdout.splitlines()[0] and
          run.stdout.count("single_thread direct, mock") == 3, run.stdout)


def check_unreachable():
    """Nothing listens there; each workload must end and say so."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        conninfo = ("Driver=tds;Server=127.0.0.1,%d;User ID=sa;Password=%s;"
                    "Encrypt=optional;Connect Timeout=2" % (port, SECRET))
        for workload, sets, _, _ in ROWS:
            arguments = ["run", workload, "--quick", "--json", "--conn",
                         conninfo]
            for text in sets:
                arguments += ["--set", text]
            run = bench(*arguments)
            check("%s without a server fails in words" % workload,
                  run.returncode == 1 and "acquiring a connection"
                  in run.stderr and not run.stdout,
                  (run.returncode, run.stdout, run.stderr))


@contextlib.contextmanager
def server():
    process = subprocess.Popen(
        [os.path.join(BIN, "tdsd"), "--port", "0", "--print-port", "--tls",
         "off"], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(10)


def main():
    check_refusals()
    check_list()
    check("all strategies are those of the engine",
          sorted(strategies()) == sorted(ALL), strategies())
    for row in ROWS:
        check_rows(MOCK, "mock", ALL, *row)
    check_repeated()
    with server() as port:
        for row in ROWS:
            check_rows("Driver=tds;Server=127.0.0.1,%s;User ID=sa;Password=x;"
                      "Encrypt=optional" % port, "tds", ["direct"], *row)
    check_timeouts()
    check_waits()
    check_silent_server()
    check_hanging_connect()
    check_table()
    check_unreachable()
    print("%d passed, %d failed" % (sum(results), len(results) - sum(results)))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
