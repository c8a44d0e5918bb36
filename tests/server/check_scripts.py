#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Scripts in a running server: loaded from the command line and over the control
socket, played in every phase, with their time, packets and ends.

Needs WEIR_BUILD_DIR and WEIR_SOURCE_DIR; the last line is "N passed, N failed".
"""
import os
import struct
import subprocess
import sys
import tempfile
import time

from raw_client import (ATTENTION, LIMIT_S, TDSD, Server, batch, executesql,
                        login, packet, prelogin, tm_begin)
from tally import Tally

FOLDER = os.path.join(os.environ["WEIR_SOURCE_DIR"], "tests/server/scripts")
tally = Tally()
check = tally.check


def example(name):
    return os.path.join(FOLDER, name + ".tds")


def load(server, text):
    path = os.path.join(server.folder.name, "script.tds")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return server.order("script " + path)


def check_options():
    with tempfile.NamedTemporaryFile("w", suffix=".tds") as file:
        file.write('when batch {\n  colums int "a"\n}\n')
        file.flush()
        done = subprocess.run([TDSD, "--port", "0", "--script", file.name],
                              capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        check("a mistake ends the start with its place", done.returncode == 1
              and f"{file.name}:2:3: expected an action or }}, found 'colums'"
              in done.stderr, done.stderr)
    with Server("--script", example("types")) as server:
        with server.session() as client:
            got = client.ask(batch("types fixed"))
            check("--script answers", got.body[:3] == b"\x81\x0b\0"
                  and got.end == "eom", got.body)
            check("what no rule wants is the server's",
                  b"\xd1\x07\0\0\0" in client.ask(batch("SELECT 7 AS a")).body)
    check("a clean end", server.status == 0, server.status)


def check_types(server):
    """The text of every rule is asked for and its rows are counted."""
    check("script FILE", server.order("script " + example("types")) == "ok")
    with open(example("types"), encoding="utf-8") as file:
        rules = [line.split('"')[1] for line in file if line[:4] == "when"]
    with server.session() as client:
        for rule in rules:
            got = client.ask(batch(rule))
            rows = struct.unpack("<Q", got.body[-8:])[0]
            check(f"{rule}: {rows} rows", got.end == "eom" and rows >= 1
                  and got.body[-13] == 0xFD, got.body[-40:])
    check("a script that does not exist is told",
          server.order("script /nowhere").startswith("error: /nowhere: No such"))
    fifo = os.path.join(server.folder.name, "fifo")
    os.mkfifo(fifo)
    check("a FIFO holds nobody up", server.order("script " + fifo) ==
          f"error: {fifo}: Invalid argument")
    check("a folder is told", server.order("script /tmp") ==
          "error: /tmp: Is a directory")
    check("script off", server.order("script off") == "ok")
    with server.session() as client:
        check("and it is off", b"\xaa" in client.ask(batch("types fixed")).body)


def check_control(server):
    server.order("script " + example("control"))
    with server.session() as client:
        got = client.ask(batch("control packets"))
        check("packets end where they should", len(got.packets) == 4
              and [p[1] & 1 for p in got.packets] == [0, 0, 0, 1])
        check("a delay delays", got.took > 0.015, got.took)
        got = client.ask(batch("control two messages"), messages=2)
        check("two messages", [p[1] & 1 for p in got.packets] == [1, 1])
        got = client.ask(batch("control cut token"))
        check("a message that ends in a token", got.body[-1] == 0x20)
        first = client.ask(batch("control once")).body
        check("first=1", b"\xaa\x54" not in first
              and struct.pack("<I", 1205) in first)
        check("then pass", struct.pack("<I", 1205)
              not in client.ask(batch("control once")).body)
        got = client.ask(batch("control many, many"))
        check("repeats", got.body.count(b"\xd2\x02\x08\0\0\0") == 1000
              and got.end == "eom", len(got.body))
        got = client.ask(batch("control no ack", status=9))
        check("ownreset puts the acknowledgement where it likes",
              got.body[:1] == b"\x81" and got.body[-19:-13]
              == b"\xe3\x03\0\x12\0\0", got.body)
        got = client.ask(batch("control hang"), 0.3)
        check("hang", got.end == "timeout" and got.body[:1] == b"\x81")
        got = client.ask(ATTENTION)
        check("an attention is answered by its rule", got.end == "eom"
              and len(got.body) == 26, got.body)
    for word, end in (("close", "fin"), ("reset", "rst")):
        with server.session() as client:
            got = client.ask(batch("control " + word))
            check(f"control {word}", got.end == end
                  and (end == "rst" or b"\xd1\x01" in got.body), got.end)


def check_tokens(server):
    server.order("script " + example("tokens"))
    with server.session() as client:
        got = client.ask(executesql("SELECT @o = 1")).body
        check("rpc by name and statement", got[0] == 0x79
              and got.count(b"\xac") == 2, got)
        began = client.ask(tm_begin()).body
        check("tm begin", began[:13] == b"\xe3\x0b\0\x08\x08"
              + struct.pack("<Q", 4711), began)
        got = client.ask(batch("SELECT @@TRANCOUNT AS n", 4711)).body
        check("the session knows of it", b"\xd1\x04\x01\0\0\0" in got, got)
    with server.session() as client:
        got = client.ask(batch("tokens results")).body
        check("a changed database", "test".encode("utf-16le") in client.ask(
            batch("SELECT DB_NAME() AS d")).body, got)


def check_logins(server):
    server.order("script " + example("login"))

    def ends(user):
        with server.client() as client:
            client.ask(prelogin())
            got = client.ask(login(user=user))
            return got, client.ask(batch("SELECT 7 AS a")).body
    got, after = ends("sa")
    check("a login written out", b"\xd1\x07\0\0\0" in after
          and b"\xad" in got.body, after)
    got, after = ends("locked")
    check("a refused login", struct.pack("<I", 18456) in got.body and not after)
    got, after = ends("moved")
    check("a redirected login", b"\x14" in got.body and not after)
    got, _ = ends("token")
    check("FEDAUTHINFO", got.body[:1] == b"\xee")
    begun = time.monotonic()
    got, _ = ends("slow")
    check("a delayed login", time.monotonic() - begun > 0.05
          and struct.pack("<I", 18456) in got.body)


def check_rest(server):
    check("rules by connection and message", load(server, """
when batch msg=2 { hex 22 }
when batch conn=999999 { hex 99 }
when prelogin first=1 { hex 00 00 06 00 06 FF 10 00 03 E8 00 00; close }
when tm { hex 33 }
when ignored { hex 44 }
when bulk { done rows=3 cmd=bulk }
""") == "ok")
    with server.client() as client:
        check("a PRELOGIN reply by hand", client.ask(prelogin()).end == "fin")
    with server.session() as client:
        seen = [client.ask(batch("SELECT 1 AS a")).body[:1] for _ in range(3)]
        check("msg=2", seen == [b"\x81", b"\x22", b"\x81"], seen)
        check("tm", client.ask(tm_begin()).body == b"\x33")
        got = client.ask(packet(1, b"xx", 3))
        check("ignored", got.body == b"\x44", got.body)
        got = client.ask(packet(7, bytes.fromhex("81ffff")))
        check("bulk", got.body[:5] == b"\xfd\x10\0\xf0\0", got.body)
    load(server, "when batch { delay 10s; hex 01 }")
    with server.session() as client:
        client.send(batch("x"))
        time.sleep(0.05)
        load(server, "when batch { hex 02 }")
        got = client.ask(ATTENTION, messages=2)
        check("a cancelled script lets go", got.end == "eom"
              and client.ask(batch("x")).body == b"\x02", got.body)
    load(server, "when batch { repeat 1000000000 { repeat 1000000000 { } } }")
    with server.session() as client, server.session() as other:
        client.send(batch("x"))
        check("an endless script leaves others their turn",
              server.order("script off") == "ok"
              and b"\xd1\x07" in other.ask(batch("SELECT 7 AS a")).body)
        check("and can be cancelled",
              client.ask(ATTENTION, messages=2).end == "eom")


def main():
    check_options()
    with Server() as server:
        check_types(server)
        check_control(server)
        check_tokens(server)
        check_logins(server)
        check_rest(server)
    check("a clean end", server.status == 0, server.status)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
