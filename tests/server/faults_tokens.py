# SPDX-License-Identifier: MIT
"""Faults in what a reply says: lies, wrong tokens, output values, ends."""

from fault_cases import ONE, ROWS, ROW_ONE, case
from raw_client import batch, login


@case("lie", "every length is lied about")
def lie(server):
    asked = {
        "token-length": "PRINT 'x'", "column-count": "SELECT 1 AS a",
        "type": "SELECT 1 AS a", "type-length": "SELECT CAST(1 AS decimal(5)) a",
        "name-length": "SELECT 1 AS a", "text-length": "PRINT 'x'",
        "value-length": "SELECT CAST(1 AS decimal(5)) AS a",
        "plp-total": "SELECT CAST('x' AS varchar(max)) AS a",
        "plp-chunk": "SELECT CAST('x' AS varchar(max)) AS a",
        "env-type": "USE tempdb", "env-length": "USE tempdb",
        "done-status": "SELECT 1 AS a", "done-rows": "SELECT 1 AS a"}
    for field, sql in asked.items():
        with server.session() as client:
            usual = client.ask(batch(sql)).body
        server.fault(f"msg=1 lie field={field} value=7f")
        with server.session() as client:
            got = client.ask(batch(sql)).body
        server.clear()
        changed = [i for i, (a, b) in enumerate(zip(usual, got)) if a != b]
        if len(usual) != len(got) or not changed or changed[-1] - changed[0] > 7:
            return False, (field, usual, got)
    return True, ""


@case("lie", "the value asked for, at the place asked for")
def lie_exact(server):
    server.fault("msg=1 lie field=plp-total value=7fffffffffffffff")
    server.fault("msg=2 lie field=value-length token=row nth=2 value=ff")
    with server.session() as client:
        plp = client.ask(batch("SELECT CAST('x' AS varchar(max)) AS a")).body
        two = client.ask(batch("SELECT CAST(1 AS decimal(5)) AS a, "
                               "CAST(2 AS decimal(5)) AS b")).body
    row = two.index(b"\xd1")
    return (b"\xff" * 7 + b"\x7f" in plp and two[row + 1] == 5
            and two[row + 7] == 0xFF), (plp, two)


@case("lie", "a feature's length in the login's answer")
def lie_feature(server):
    server.fault("msg=login feature 10 hex=01")
    server.fault("msg=login lie field=feature-length value=ff")
    with server.client() as client:
        got = client.log_in()
    return b"\xae\x0a\xff\0\0\0\x01" in got.body, got.body


@case("insert", "an unknown token, in every place")
def insert(server):
    places = {"start": lambda b: b.startswith(b"\xb7\x00"),
              "middle": lambda b: 0 < b.index(b"\xb7\x00") < len(b) - 15,
              "end": lambda b: b[-15:-13] == b"\xb7\x00",
              "last": lambda b: b.endswith(b"\xb7\x00")}
    for place, holds in places.items():
        server.fault(f"msg=1 insert hex=b700 place={place}")
        with server.session() as client:
            body = client.ask(ONE).body
        server.clear()
        if not holds(body):
            return False, (place, body)
    return True, ""


@case("drop", "a token is left out")
def drop(server):
    server.fault("msg=1 drop token=row nth=2")
    server.fault("msg=2 drop token=row nth=all")
    with server.session() as client:
        one, two = client.ask(batch(ROWS)).body, client.ask(batch(ROWS)).body
    return (one.count(b"\xd1\x01") == 1 and b"\xd1\x02" not in one
            and b"\xd1\x03" in one and b"\xd1" not in two), (one, two)


@case("double", "a token comes twice")
def double(server):
    server.fault("msg=1 double token=row")
    with server.session() as client:
        body = client.ask(ONE).body
    return body.count(ROW_ONE) == 2, body


@case("garbage", "noise instead of tokens")
def garbage(server):
    server.fault("msg=1 garbage 100")
    with server.session() as client:
        got = client.ask(ONE)
    return len(got.body) == 100 and ROW_ONE not in got.body, got.body
