#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""check_rows.py - the same SELECTs through weirctl and through FreeTDS's bsqldb
against tdsd: equal rows, over TLS and in clear.

FreeTDS shares no code with our driver, so agreement is evidence for both.  Types
that bsqldb of FreeTDS 1.3 cannot print (datetime2, uniqueidentifier) are compared
as text that the server makes; decimals stay at 18 digits, because bsqldb writes
past its own buffer for the longest ones.  Prints "N passed, N failed" last."""

import json
import os
import subprocess
import sys
import tempfile

BIN = os.path.join(os.environ["WEIR_BUILD_DIR"], "bin")

STATEMENTS = [
    "SELECT 1 AS a",
    "SELECT 1 AS a UNION ALL SELECT 2 UNION ALL SELECT 3",
    "SELECT CAST(NULL AS int) AS a, CAST(NULL AS varchar(5)) AS b",
    "SELECT CAST(0 AS tinyint) AS a, CAST(255 AS tinyint) AS b",
    "SELECT CAST(-32768 AS smallint) AS a, CAST(32767 AS smallint) AS b",
    "SELECT CAST(-2147483648 AS int) AS a, CAST(2147483647 AS int) AS b",
    "SELECT CAST(-9223372036854775808 AS bigint) AS a, "
    "CAST(9223372036854775807 AS bigint) AS b",
    "SELECT CAST(0 AS bit) AS a, CAST(1 AS bit) AS b, CAST(NULL AS bit) AS c",
    "SELECT CAST(1.50 AS decimal(9,2)) AS a, CAST(-0.001 AS decimal(5,3)) AS b",
    "SELECT CAST('999999999999999999' AS decimal(18,0)) AS a",
    "SELECT CAST(0.00 AS decimal(9,2)) AS a, CAST(NULL AS decimal(9,2)) AS b",
    "SELECT CAST(2.5 AS float) AS a, CAST(-0.125 AS float) AS b",
    "SELECT CAST(1000000 AS float) AS a, CAST(3.25 AS real) AS b",
    "SELECT 'plain' AS a, 'it''s' AS b, '' AS c",
    "SELECT N'zażółć gęślą jaźń' AS a",
    "SELECT N'\u65e5\u672c\u8a9e' AS a, N'\U0001f40b' AS b",
    "SELECT CAST('abc' AS char(6)) AS a, CAST(N'abc' AS nvarchar(6)) AS b",
    "SELECT 0xDEADBEEF AS a, CAST(0x01 AS varbinary(4)) AS b",
    "SELECT CAST(NULL AS varbinary(4)) AS a",
    "SELECT CONVERT(varchar(40), CAST('2026-11-30T12:34:56.1234567' AS "
    "datetime2)) AS a",
    "SELECT CONVERT(varchar(40), CAST("
    "'0E984725-C51C-4BF4-9960-E1C80E27ABA0' AS uniqueidentifier)) AS a",
    "SELECT 1 AS a, NULL AS b, 3 AS c UNION ALL SELECT NULL, 2, NULL",
    "SELECT '" + "x" * 7000 + "' AS a",
    "SELECT N'" + "ż" * 3500 + "' AS a",
    " UNION ALL ".join("SELECT %d AS a, N'row %d' AS b" % (i, i)
                       for i in range(1, 301)),
]


def start_server(tls):
    server = subprocess.Popen(
        [os.path.join(BIN, "tdsd"), "--port", "0", "--print-port", "--tls",
         tls, "--quiet"], stdout=subprocess.PIPE, text=True)
    return server, server.stdout.readline().strip()


def as_text(value):
    """A JSON cell as bsqldb prints it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return repr(value).rstrip("0").rstrip(".") if value % 1 == 0 \
            else repr(value)
    return str(value)


def rows_of_weirctl(port, tls, sql):
    encrypt = "no" if tls == "off" else "mandatory"
    conninfo = ("Driver=tds;Server=127.0.0.1,%s;User ID=sa;Password=x;"
                "Encrypt=%s;TrustServerCertificate=true" % (port, encrypt))
    env = dict(os.environ, WEIR_CONNINFO=conninfo)
    run = subprocess.run([os.path.join(BIN, "weirctl"), "query", "--json",
                          sql], capture_output=True, text=True, env=env,
                         timeout=60)
    if run.returncode != 0:
        raise RuntimeError("weirctl: " + run.stderr.strip())
    return [[as_text(v) for v in json.loads(line).values()]
            for line in run.stdout.splitlines()]


def rows_of_bsqldb(port, sql):
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        script.write(sql + "\ngo\n")
        script.flush()
        run = subprocess.run(
            ["bsqldb", "-S", "127.0.0.1:" + port, "-U", "sa", "-P", "x", "-t",
             "|", "-q", "-i", script.name],
            capture_output=True, text=True, timeout=60)
    if run.returncode != 0:
        raise RuntimeError("bsqldb: " + run.stderr.strip())
    # bsqldb pads char columns and prints nothing after the last field.
    return [line.split("|") for line in run.stdout.splitlines()]


def same(ours, theirs):
    if len(ours) != len(theirs):
        return False
    for mine, other in zip(ours, theirs):
        if [c.rstrip() for c in mine] != [c.rstrip() for c in other]:
            return False
    return True


def check(port, tls, sql):
    try:
        ours = rows_of_weirctl(port, tls, sql)
        theirs = rows_of_bsqldb(port, sql)
    except RuntimeError as error:
        print("fails (%s): %s\n  %s" % (tls, sql[:100], error))
        return False
    if same(ours, theirs):
        return True
    print("differs (%s): %s\n  weirctl: %s\n  bsqldb:  %s"
          % (tls, sql[:100], ours[:3], theirs[:3]))
    return False


def main():
    passed = failed = 0
    for tls in ("off", "self-signed"):
        server, port = start_server(tls)
        try:
            for sql in STATEMENTS:
                good = check(port, tls, sql)
                passed += good
                failed += not good
        finally:
            server.terminate()
            server.wait(10)
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
