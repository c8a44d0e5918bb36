#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every fault of tdsd, seen by a raw client: exactly that goes wrong, in time, and
what is spared by the rule goes right.  The table must name every fault that the
server knows.

Needs WEIR_BUILD_DIR; the last line is "N passed, N failed".
"""
import re
import struct
import sys
import traceback

import faults_login  # noqa: F401
import faults_request  # noqa: F401
import faults_tls  # noqa: F401
import faults_tokens  # noqa: F401
import faults_wire  # noqa: F401
from fault_cases import ONE, ROW_ONE, cases, reset_batch, works
from raw_client import Client, Server, batch, executesql, tm_begin
from tally import Tally

tally = Tally()
check = tally.check


# Roles, commands and what the rules themselves promise.

def check_roles():
    options = ["--listen", "127.0.0.1", "--listen", "127.0.0.2,role=secondary",
               "--listen", "127.0.0.3,role=gateway=127.0.0.1:4711",
               "--listen", "127.0.0.4,role=refuse=976",
               "--listen", "127.0.0.5,role=read-intent"]
    with Server(*options, listeners=5) as server:
        check("roles: one port on every address", len(set(server.ports)) == 1,
              server.ports)

        def to(last, **more):
            client = Client(server.port, f"127.0.0.{last}")
            return client, client.log_in(**more)
        primary, _ = to(1)
        secondary, _ = to(2)
        refused = struct.pack("<I", 3906)
        write = "INSERT INTO t VALUES (1)"
        check("roles: a primary takes writes",
              refused not in primary.ask(batch(write)).body)
        check("roles: a secondary answers 3906 and reads on",
              refused in secondary.ask(batch(write)).body and works(secondary))
        check("roles: in sp_executesql, too",
              refused in secondary.ask(executesql(write)).body)
        check("roles: #temp tables are no writes",
              refused not in secondary.ask(
                  batch("CREATE TABLE #t (a int)")).body)
        check("roles: a gateway redirects",
              struct.pack("<BHB", 0, 4711, 9) in to(3)[1].body)
        check("roles: 976 at the login",
              struct.pack("<I", 976) in to(4)[1].body)
        check("roles: 978 without read-only intent",
              struct.pack("<I", 978) in to(5)[1].body)
        check("roles: with it, welcome", works(to(5, read_only=True)[0]))
        answer = server.order("role swap")
        check("roles: a swap closes both sides' sessions",
              answer == "ok 2" and primary.read(1).end == "fin"
              and secondary.read(1).end == "fin", answer)
        check("roles: and they have changed places",
              refused in to(1)[0].ask(batch(write)).body
              and refused not in to(2)[0].ask(batch(write)).body)
        check("roles: are listed", "2 127.0.0.2" in server.order("role"),
              server.order("role"))
        check("roles: set by command", server.order("role 2 refuse 40613") ==
              "ok" and struct.pack("<I", 40613) in to(2)[1].body)
        check("roles: mistakes are told",
              server.order("role 2 king").startswith("error: expected primary"))
    check("roles: a clean end", server.status == 0, server.status)


def check_commands():
    with Server() as server:
        server.order("refuse on")
        try:
            server.client()
            refused = False
        except ConnectionRefusedError:
            refused = True
        server.order("refuse off")
        check("commands: refuse closes the port and opens it again",
              refused and server.session().ask(ONE).end == "eom")
        client = server.session()
        spid = re.findall(r'"spid":(\d+)', server.order("sessions"))[0]
        check("commands: freeze", server.order(f"freeze {spid}") == "ok 1"
              and client.ask(ONE, 0.3).end == "timeout")
        check("commands: thaw", server.order(f"thaw {spid}") == "ok 1"
              and ROW_ONE in client.read(1).body)
        check("commands: drop is RST", server.order(f"drop {spid}") == "ok 1"
              and client.read(1).end == "rst")
        with server.session() as one:
            one.ask(reset_batch("SELECT 1"))
            one.ask(batch("SELECT 1", status=0x11))
            one.ask(tm_begin())
            sessions = server.order("sessions")
            stats = server.order("stats")
        check("commands: sessions tell the last request",
              '"last":"transaction"' in sessions and '"requests":3' in sessions,
              sessions)
        check("commands: resets are counted apart",
              '"resets_08":1,"resets_10":1' in stats, stats)
        check("commands: packets and the most at once are counted",
              re.search(r'"packets_in":[1-9]', stats) is not None
              and re.search(r'"connections_max":[1-9]', stats) is not None)
        answer = server.order("fault conn=3 mesage=2 close")
        check("commands: a wrong fault is told",
              answer.startswith("error: expected a fault or one of conn msg"),
              answer)
        server.order("hang-batch on")
        check("commands: a switch is a rule",
              "hang by hang-batch" in server.order("fault list"))
        server.order("hang-batch off")
        check("commands: and goes as one",
              server.order("fault list") == "none")
        server.fault("msg=batch after=1 times=1 error 50000")
        with server.session() as client:
            seen = [b"\xaa" in client.ask(ONE).body for _ in range(3)]
        check("commands: after= and times=", seen == [False, True, False], seen)


def check_options():
    with Server("--fault", "msg=1 error 50001") as server:
        with server.session() as client:
            got = client.ask(ONE).body
            check("options: --fault holds from the start",
                  struct.pack("<I", 50001) in got and works(client))


def main():
    modes = {"off": {}, "self-signed": {"tls": "self-signed"},
             "login-only": {"tls": "login-only"}, "strict": {"tls": "strict"}}
    servers = {name: Server(**more) for name, more in modes.items()}
    servers["browser"] = Server(
        "--listen", "127.0.0.1,instance=ONE", "--listen",
        "127.0.0.1,instance=TWO", "--browser", "0", listeners=2, browser=True)
    wanted = sys.argv[1:]
    for row, mode, what, function in cases:
        if wanted and row not in wanted:
            continue
        server = servers[mode]
        try:
            good, seen = function(server)
        except Exception:  # one broken check must not hide the others
            good, seen = False, traceback.format_exc()
        server.clear()
        check(f"{row}: {what}", good, seen)
    rows = {part.split(" ")[0]
            for part in servers["off"].order("fault rows").split(" | ")}
    tried = {row for row, *_ in cases}
    check("every fault has a check", rows == tried, rows ^ tried)
    for server in servers.values():
        server.__exit__()
        check("a clean end", server.status == 0, server.status)
    if not wanted:
        check_roles()
        check_commands()
        check_options()
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
