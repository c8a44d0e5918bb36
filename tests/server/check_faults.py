#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Every fault of tdsd, seen by a raw client: exactly that goes wrong, in time, and
what is spared by the rule goes right.  The table must name every fault that the
server knows.

Needs WEIR_BUILD_DIR; the last line is "N passed, N failed".
"""
import re
import socket
import ssl
import struct
import sys
import time
import traceback

from raw_client import (ATTENTION, LIMIT_S, V80, Client, Server, Wrapped, batch,
                        executesql, int_parameter, login, packet, prelogin,
                        tm_begin, trusting)

passed = failed = 0
cases = []  # (row, mode, what, function)

ROWS = ("SELECT a FROM (VALUES (1), (2), (3)) AS t (a)")
ONE = batch("SELECT 1 AS a")
ROW_ONE = b"\xd1\x01\0\0\0"
RESET_ACK = b"\xe3\x03\0\x12\0\0"


def check(what, good, seen=""):
    global passed, failed
    print(("ok: " if good else "FAILED: ") + what
          + (f" (seen: {seen})" if not good else ""))
    passed, failed = passed + bool(good), failed + (not good)


def case(row, what, mode="off"):
    def keep(function):
        cases.append((row, mode, what, function))
        return function
    return keep


def dones(body):
    """The DONE tokens at the end of a reply, as (token, status)."""
    found = []
    while len(body) >= 13 and body[-13] in (0xFD, 0xFE, 0xFF):
        found.insert(0, (body[-13], struct.unpack("<H", body[-12:-10])[0]))
        body = body[:-13]
    return found


def works(client):
    got = client.ask(ONE)
    return got.end == "eom" and ROW_ONE in got.body


# Framing.

@case("split", "a reply in writes of one byte")
def split(server):
    server.fault("msg=2 split=1")
    with server.session() as client:
        first, second = client.ask(ONE), client.ask(ONE)
        third = client.ask(ONE)
    return (first.body == second.body == third.body and len(first.pieces) < 3
            and len(second.pieces) > len(second.raw) // 4
            and len(third.pieces) < 3), (len(second.raw), second.pieces)


@case("split", "from a byte on")
def split_from(server):
    server.fault("msg=1 byte=11 split=1")
    with server.session() as client:
        got = client.ask(ONE)
    return (got.end == "eom" and got.took < 1 and got.pieces[0] >= 11
            and len(got.pieces) > 10), got.pieces


@case("drip", "so many bytes a second")
def drip(server):
    server.fault("msg=1 drip 400/s")
    with server.session() as client:
        got = client.ask(ONE)
    expected = len(got.raw) / 400
    return (got.end == "eom" and 0.7 * expected < got.took < 3 * expected + 0.3,
            (got.took, expected))


@case("drip", "a login that drips")
def drip_login(server):
    server.fault("conn=* msg=login drip 1/s")
    with server.client() as client:
        client.ask(prelogin())
        got = client.ask(login(), limit_s=2.2)
    return got.end == "timeout" and 1 <= len(got.raw) <= 4, len(got.raw)


@case("fragment", "writes of at most N bytes")
def fragment(server):
    server.fault("fragment 7")
    with server.session() as client:
        return works(client), ""


@case("packets", "packets of 512 bytes and less")
def packets(server):
    server.fault("msg=1 packets=16")
    with server.session() as client:
        got, usual = client.ask(batch(ROWS)), client.ask(batch(ROWS))
    sizes = [p[2] for p in got.packets]
    return (got.body == usual.body and max(sizes) == 16
            and len(usual.packets) == 1), sizes


@case("eom", "end of message in the middle of a token")
def eom(server):
    server.fault("msg=1 byte=5 eom")
    with server.session() as client:
        got = client.ask(ONE, messages=2)
    ends = [len(p[3]) for p in got.packets if p[1] & 1]
    return got.end == "eom" and ends[0] == 5 and len(ends) == 2, ends


@case("no-eom", "a last packet that ends nothing")
def no_eom(server):
    server.fault("msg=1 no-eom")
    with server.session() as client:
        got = client.ask(ONE, limit_s=0.4)
    return (got.end == "timeout" and ROW_ONE in got.body
            and not got.packets[-1][1] & 1), got.end


@case("truncate", "a message that ends within a token")
def truncate(server):
    server.fault("msg=1 byte=9 truncate")
    with server.session() as client:
        got = client.ask(ONE)
        return got.end == "eom" and len(got.body) == 9 and works(client), got.raw


@case("header", "each field of the header")
def header(server):
    good = True
    for word, value, place in (("type", "0f", slice(0, 1)),
                               ("status", "ff", slice(1, 2)),
                               ("length", "0005", slice(2, 4)),
                               ("length", "ffff", slice(2, 4)),
                               ("spid", "1234", slice(4, 6)),
                               ("id", "77", slice(6, 7)),
                               ("window", "09", slice(7, 8))):
        server.fault(f"msg=1 header {word} value={value}")
        with server.session() as client:
            got = client.ask(ONE, limit_s=0.3)
        good = good and got.raw[place] == bytes.fromhex(value)
        server.clear()
    return good, ""


@case("close", "FIN at each byte of a reply")
def close(server):
    with server.session() as client:
        whole = client.ask(ONE).raw
    for byte in range(len(whole) + 1):
        server.fault(f"msg=1 byte={byte} close")
        with server.session() as client:
            got = client.ask(ONE, messages=2)
        server.clear()
        if got.end != "fin" or len(got.raw) != byte:
            return False, (byte, got.end, len(got.raw))
    return True, ""


@case("close", "only that connection, only that message")
def close_selected(server):
    first = int(re.search(r'"connections_total":(\d+)',
                          server.order("stats"))[1])
    server.fault(f"conn={first + 2} msg=2 byte=17 close")
    ends = []
    for _ in range(3):
        with server.session() as client:
            ends.append([client.ask(ONE, messages=1).end for _ in range(3)])
    return (ends[0] == ends[2] == ["eom"] * 3 and ends[1][0] == "eom"
            and ends[1][1] == "fin"), ends


@case("rst", "RST in the middle of a reply")
def rst(server):
    server.fault("msg=1 byte=12 rst")
    with server.session() as client:
        got = client.ask(ONE)
    return got.end == "rst", got.end


@case("stall", "silence from a byte on, with everything read")
def stall(server):
    server.fault("msg=1 byte=10 stall")
    with server.session() as client:
        got = client.ask(ONE, limit_s=0.4)
        client.send(ATTENTION)
        after = client.read(0.3)
    return (len(got.raw) == 10 and got.end == after.end == "timeout"
            and not after.raw[10:]), got.raw


@case("stall", "silence in every phase of a login")
def stall_login(server):
    for spec, sent in (("msg=prelogin stall", [prelogin()]),
                       ("msg=login stall", [prelogin(), login()]),
                       ("msg=login byte=200 stall", [prelogin(), login()])):
        server.fault(spec)
        with server.client() as client:
            got = [client.ask(data, limit_s=0.3) for data in sent][-1]
        server.clear()
        if got.end != "timeout":
            return False, (spec, got.end)
    return True, ""


@case("freeze", "neither sends nor reads: sending gets stuck")
def freeze(server):
    server.fault("msg=1 freeze")
    with server.session() as client:
        got = client.ask(ONE, limit_s=0.2)
        client.socket.settimeout(0.5)
        try:
            client.socket.sendall(b"\0" * (64 << 20))
            stuck = False
        except (socket.timeout, OSError):
            stuck = True
    return got.end == "timeout" and stuck, got.end


@case("pause", "waits before a byte, then goes on")
def pause(server):
    server.fault("msg=1 byte=20 pause 250")
    with server.session() as client:
        got = client.ask(ONE)
    return (got.end == "eom" and 0.2 < got.took < 2
            and got.pieces[0] == 20), (got.took, got.pieces)


@case("row-delay", "waits before each row")
def row_delay(server):
    server.fault("msg=1 row-delay 100")
    with server.session() as client:
        got = client.ask(batch(ROWS))
    return got.end == "eom" and 0.25 < got.took < 2, got.took


@case("drop-after-bytes", "closed after so many bytes")
def drop_after(server):
    server.fault("drop-after-bytes 60")
    with server.client() as client:
        got = client.log_in()
    return got.end in ("fin", "rst") and len(got.raw) < 60, got.end


# Lies and wrong tokens.

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


# An idle session.

@case("idle", "unasked: error, info, env, garbage, ends")
def idle(server):
    ends = {"error": ("eom", b"\xaa"), "info": ("eom", b"\xab"),
            "env": ("eom", b"\xe3"), "garbage": ("timeout", b""),
            "error-fin": ("eom", b"\xaa"), "close": ("fin", b""),
            "rst": ("rst", b"")}
    for word, (end, token) in ends.items():
        server.fault(f"msg=1 idle {word} ms=50")
        with server.session() as client:
            good = works(client)
            got = client.read(0.5)
            last = client.read(0.3).end if word == "error-fin" else "fin"
        server.clear()
        if (not good or got.end != end or not got.body.startswith(token)
                or last != "fin" or (word == "garbage"
                                     and got.raw[:2] != b"\xde\xad")):
            return False, (word, got.end, got.raw)
    return True, ""


@case("idle", "TLS 1.3: a ticket and a KeyUpdate, and it goes on", "strict")
def idle_tls13(server):
    for word in ("ticket", "keyupdate"):
        server.fault(f"msg=1 idle {word}")
        with strict(server) as stream:
            stream.sendall(prelogin(1) + login(V80))
            read_message(stream), read_message(stream)
            stream.sendall(ONE)
            first = read_message(stream)
            time.sleep(0.1)
            stream.sendall(ONE)
            second = read_message(stream)
        server.clear()
        if ROW_ONE not in first or ROW_ONE not in second:
            return False, word
    return True, ""


@case("idle", "TLS 1.2: a HelloRequest", "self-signed")
def idle_renegotiate(server):
    server.fault("msg=1 idle renegotiate ms=400")
    with server.client() as client:
        wrapped = Wrapped(client, trusting())
        wrapped.ask(login())
        clear, _ = wrapped.ask(ONE)
        got = client.read(0.8, messages=0)
    return ROW_ONE in clear and got.raw[:1] == b"\x16", got.raw


# Logins.

@case("hang", "a message that is never answered; an attention is")
def hang(server):
    server.fault("msg=prelogin times=1 hang")
    server.fault("msg=login times=1 hang")
    server.fault("msg=1 hang")
    with server.client() as client:
        silent = client.ask(prelogin(), limit_s=0.2).end == "timeout"
    with server.client() as client:
        client.ask(prelogin())
        silent = silent and client.ask(login(), 0.2).end == "timeout"
    with server.session() as client:
        got = client.ask(ONE, limit_s=0.2)
        ack = client.ask(ATTENTION, messages=2)
        return (silent and got.end == "timeout"
                and dones(ack.body)[-1][1] & 0x20 and works(client)), ack.body


@case("error", "an error instead of an answer, and what follows it")
def error(server):
    for spec, end in (("msg=login error 18456 state=8", "fin"),
                      ("msg=login error 18488", "fin"),
                      ("msg=login error 40613 then=rst", "rst"),
                      ("msg=login error 4060 then=stay", "timeout"),
                      ("msg=prelogin error 17142 then=fin", "fin")):
        server.fault(spec)
        with server.client() as client:
            if "prelogin" in spec:
                got = client.ask(prelogin())
            else:
                got = client.log_in()
            after = client.read(0.3)
        server.clear()
        number = int(re.search(r"error (\d+)", spec)[1])
        if (got.end, after.end) not in (("eom", end), (end, end)) or (
                end != "rst" and struct.pack("<I", number) not in got.body):
            return False, (spec, got.end, after.end, got.body)
    for spec, end in (("error 8179", "timeout"),
                      ("error 596 class=21", "fin"),
                      ("error 4014 class=20 then=stay", "timeout"),
                      ("error 2000 class=16 then=fin", "fin"),
                      ("error 37396 then=fin", "fin"),
                      ("error 824 class=24 then=rst", "rst")):
        server.fault("msg=2 " + spec)
        with server.session() as client:
            good = works(client)
            got = client.ask(ONE)
            after = client.read(0.2)
        server.clear()
        if not good or end not in (got.end, after.end):
            return False, (spec, got.end, after.end)
    return True, ""


@case("loginack", "none, two, another version")
def loginack(server):
    bodies = {}
    for spec in ("none", "twice", "version value=12345678"):
        server.fault("loginack " + spec)
        with server.client() as client:
            bodies[spec[:4]] = client.log_in().body
        server.clear()
    name = "Microsoft SQL Server".encode("utf-16le")
    return (name not in bodies["none"] and bodies["twic"].count(name) == 2
            and b"\x01\x12\x34\x56\x78" in bodies["vers"]), bodies


@case("feature", "acknowledged unasked, with a wrong length")
def feature(server):
    server.fault("feature 13 hex=0102")
    with server.client() as client:
        body = client.log_in().body
    return b"\xae\x0d\x02\0\0\0\x01\x02" in body and dones(body), body


@case("packet-size", "said, and used where it can be")
def packet_size(server):
    for size in (511, 32768, 512, 600, 16000):
        server.fault(f"packet-size {size}")
        with server.client() as client:
            body = client.log_in().body
            got = client.ask(batch("SELECT REPLICATE('x', 8000) AS a"))
        server.clear()
        usual = size in (511, 32768)
        if (str(size).encode("utf-16le") not in body
                or got.packets[0][2] != (4096 if usual else min(size, got.packets[0][2]))):
            return False, (size, [p[2] for p in got.packets])
    return True, ""


@case("instopt", "no such instance")
def instopt(server):
    server.fault("instopt 1")
    with server.client() as client:
        return option(client.ask(prelogin()).body, 2) == b"\x01", ""


@case("encryption", "every value")
def encryption(server):
    for value in (0, 1, 2, 3, 0x20, 0x80, 0xFF):
        server.fault(f"encryption {value}")
        with server.client() as client:
            seen = option(client.ask(prelogin()).body, 1)
        server.clear()
        if seen != bytes([value]):
            return False, (value, seen)
    return True, ""


@case("fedauth", "0, 1, 2, absent")
def fedauth(server):
    for value in ("0", "1", "2", "absent"):
        server.fault(f"fedauth {value}")
        with server.client() as client:
            body = client.ask(prelogin()).body
            seen = option(body, 6)
            rest = option(body, 0)
            good = client.ask(login()).end == "eom"
        server.clear()
        expected = None if value == "absent" else bytes([int(value)])
        if seen != expected or len(rest) != 6 or not good:
            return False, (value, seen)
    return True, ""


@case("route", "to another port, with a database, at odd places")
def route(server):
    server.fault("route 127.0.0.2:1444")
    with server.client() as client:
        plain = client.log_in().body
    server.clear()
    server.fault("route host\\inst:0 db=other place=middle")
    with server.client() as client:
        odd = client.log_in().body
    server.clear()
    server.fault("route a:1 place=last")
    with server.client() as client:
        last = client.log_in().body
    host = "127.0.0.2".encode("utf-16le")
    return (b"\x14\x17\0\0\xa4\x05\x09\0" + host + b"\0\0" in plain
            and "host\\inst".encode("utf-16le") in odd
            and odd.index(b"\x15\x23\0\0\0\0")
            < odd.index("Microsoft".encode("utf-16le"))
            and last.endswith(b"\0\0") and not dones(last)), (plain, odd, last)


@case("refuse", "RST at once; k of n connections")
def refuse(server):
    total = int(re.search(r'"connections_total":(\d+)',
                          server.order("stats"))[1])
    for _ in range((-total) % 3):
        server.client().socket.close()
    time.sleep(0.05)
    server.fault("conn=1/3 refuse")
    ends = []
    for _ in range(6):
        try:
            with server.client() as client:
                ends.append(client.ask(prelogin()).end)
        except ConnectionResetError:
            ends.append("rst")
    return ends == ["rst", "eom", "eom"] * 2, ends


@case("silent", "accepted and never spoken to")
def silent(server):
    server.fault("silent times=1")
    with server.client() as client:
        got = client.ask(prelogin(), limit_s=0.3)
    with server.client() as client:
        return got.end == "timeout" and client.ask(prelogin()).end == "eom", ""


# Requests.

@case("deaf", "stops reading in the middle of a request")
def deaf(server):
    server.fault("msg=2 byte=8000 deaf")
    with server.session() as client:
        good = works(client)
        client.socket.settimeout(0.5)
        piece = packet(1, b"\0" * 4088, 0)
        try:
            for _ in range(16384):
                client.socket.sendall(piece)
            stuck = False
        except (socket.timeout, OSError):
            stuck = True
    return good and stuck, ""


@case("mute", "done, not answered, and the next one is")
def mute(server):
    server.fault("msg=1 mute")
    with server.session() as client:
        got = client.ask(batch("BEGIN TRAN"), limit_s=0.3)
        after = client.ask(batch("ROLLBACK", descriptor=1))
    return got.end == "timeout" and after.end == "eom", got.raw


@case("mute", "IGNORE is answered by nothing")
def mute_ignored(server):
    server.fault("msg=ignored mute")
    with server.session() as client:
        got = client.ask(batch("SELECT 1", status=3), limit_s=0.3)
        return got.end == "timeout" and works(client), got.raw


@case("tran", "ENVCHANGE 10, with a wrong descriptor, 8, none")
def tran(server):
    seen = {}
    for word in ("rollback", "wrong", "begin", "silent"):
        server.fault(f"msg=2 tran {word}")
        with server.session() as client:
            began = client.ask(tm_begin() if word != "begin" else ONE).body
            descriptor = began[5:13] if word != "begin" else b""
            number = struct.unpack("<Q", descriptor)[0] if descriptor else 0
            got = client.ask(batch("SELECT 1/0 AS a", number)).body
            count = client.ask(batch("SELECT @@TRANCOUNT AS n",
                                     (struct.unpack("<Q", got[
                                         got.index(b"\xe3\x0b\0\x08") + 5:][:8])[0]
                                      if word == "begin" else 0))).body
        server.clear()
        seen[word] = (descriptor, got, count)
    good = (b"\xe3\x0b\0\x0a\0\x08" + seen["rollback"][0] in seen["rollback"][1]
            and b"\xe3\x0b\0\x0a\0\x08" in seen["wrong"][1]
            and seen["wrong"][0] not in seen["wrong"][1]
            and b"\xe3\x0b\0\x08\x08" in seen["begin"][1]
            and b"\xe3\x0b\0\x0a" not in seen["silent"][1])
    counts = [seen[w][2][seen[w][2].index(b"\xd1") + 2] for w in seen]
    return good and counts == [0, 0, 1, 0], seen


@case("tran", "ENVCHANGE 10 in a drained response")
def tran_drained(server):
    server.fault("msg=attention tran rollback")
    with server.session() as client:
        began = client.ask(tm_begin()).body
        number = struct.unpack("<Q", began[5:13])[0]
        client.send(batch("WAITFOR DELAY '00:00:10'", number))
        got = client.ask(ATTENTION, messages=2)
    return b"\xe3\x0b\0\x0a\0\x08" + began[5:13] in got.body, got.body


@case("done", "error and server error without ERROR, none, two")
def done(server):
    seen = {}
    for word in ("error", "srverror", "none", "twice"):
        server.fault(f"msg=1 done {word}")
        with server.session() as client:
            seen[word] = client.ask(ONE).body
        server.clear()
    return (dones(seen["error"])[0][1] & 2 and dones(seen["srverror"])[0][1] & 256
            and not dones(seen["none"]) and len(dones(seen["twice"])) == 2), seen


ACKS = {"same": 1, "late": 2, "none": 0, "twice": 3, "before": 2, "garbage": 1,
        "fin": 0, "rst": 0, "partial": 0}


@case("ack", "an attention in every way that is wrong")
def ack(server):
    for word, messages in ACKS.items():
        server.fault(f"ack {word} ms=150" if word == "late" else f"ack {word}")
        with server.session() as client:
            client.send(batch("WAITFOR DELAY '00:00:10'"))
            time.sleep(0.05)
            got = client.ask(ATTENTION, 0.5, messages=4)
            again = word in ("same", "late", "twice", "before") and works(client)
        server.clear()
        ended = sum(p[1] & 1 for p in got.packets)
        order = [status & 0x20 for p in got.packets
                 for _, status in dones(p[3])]
        end = {"fin": "fin", "rst": "rst"}.get(word, "timeout")
        good = (ended == messages and got.end == end
                and (again or word in ("none", "garbage", "fin", "rst",
                                       "partial"))
                and (word != "before" or order == [32, 0])
                and (word != "late" or (order == [0, 32] and got.took > 0.12))
                and (word != "twice" or order == [0, 32, 32])
                and (word != "same" or order[-1] == 32)
                and (word != "partial" or len(got.packets) == 1))
        if not good:
            return False, (word, ended, order, got.end, got.took, again)
    return True, ""


def reset_batch(sql):
    return batch(sql, status=9)


@case("reset-ack", "none, late, twice")
def reset_ack(server):
    seen = {}
    for word in ("none", "late", "twice"):
        server.fault(f"reset-ack {word}")
        with server.session() as client:
            plain = works(client)
            seen[word] = client.ask(reset_batch("SELECT 1 AS a")).body
        server.clear()
    late = seen["late"]
    return (plain and RESET_ACK not in seen["none"]
            and late[-19:-13] == RESET_ACK and late.count(RESET_ACK) == 1
            and seen["twice"].startswith(RESET_ACK * 2)), seen


@case("reset-state", "acknowledged and not done")
def reset_state(server):
    server.fault("reset-state kept")
    with server.session() as client:
        client.ask(batch("USE tempdb"))
        got = client.ask(reset_batch("SELECT DB_NAME() AS a")).body
    server.clear()
    with server.session() as client:
        client.ask(batch("USE tempdb"))
        usual = client.ask(reset_batch("SELECT DB_NAME() AS a")).body
    name = "tempdb".encode("utf-16le")
    return (got.startswith(RESET_ACK) and name in got
            and name not in usual), got


@case("reset-env", "ENVCHANGE 1 behind ENVCHANGE 18")
def reset_env(server):
    server.fault("reset-env")
    with server.session() as client:
        got = client.ask(reset_batch("SELECT 1 AS a")).body
    return got.startswith(RESET_ACK + b"\xe3\x1b\0\x01"), got


@case("close", "a reset answered by FIN, RST, 18056")
def reset_ends(server):
    seen = {}
    for spec in ("close", "rst", "error 18056 class=20"):
        server.fault("msg=reset " + spec)
        with server.session() as client:
            plain = works(client)
            got = client.ask(reset_batch("SELECT 1 AS a"))
            seen[spec[:3]] = (plain, got.end, client.read(0.3).end, got.body)
        server.clear()
    return (seen["clo"][:2] == (True, "fin") and seen["rst"][:2] == (True, "rst")
            and seen["err"][2] == "fin"
            and struct.pack("<I", 18056) in seen["err"][3]), seen


OUTPUTS = executesql("SET @a = 1; SET @b = 2", "@a int OUTPUT, @b int OUTPUT",
                     int_parameter("@a", 1, None), int_parameter("@b", 1, None))


def values(body):
    """Names and places of output values."""
    return [(m.start(), m[1].decode("utf-16le"))
            for m in re.finditer(rb"\xac..[\0-\x04]((?:@\0[ab]\0)?)\x01", body,
                                 re.S)]


@case("returnvalue", "unnamed, reordered, missing, first")
def returnvalue(server):
    seen = {}
    for word in ("usual", "unnamed", "reordered", "none", "first"):
        if word != "usual":
            server.fault(f"msg=1 returnvalue {word}")
        with server.session() as client:
            seen[word] = client.ask(OUTPUTS).body
        server.clear()
    names = {word: [name for _, name in values(body)]
             for word, body in seen.items()}
    return (names["usual"] == ["@a", "@b"] and names["unnamed"] == ["", ""]
            and names["reordered"] == ["@b", "@a"] and not names["none"]
            and seen["first"][0] == 0xAC), (names, seen["usual"])


@case("returnstatus", "first, missing, twice")
def returnstatus(server):
    seen = {}
    request = executesql("SELECT 1 AS a")
    for word in ("first", "none", "twice"):
        server.fault(f"msg=1 returnstatus {word}")
        with server.session() as client:
            seen[word] = client.ask(request).body
        server.clear()
    status = b"\x79\0\0\0\0"
    return (seen["first"].startswith(status) and status not in seen["none"]
            and status * 2 in seen["twice"]), seen


PREPARE = packet(3, struct.pack("<IIHQIHHH", 22, 18, 2, 0, 1, 0xFFFF, 11, 0)
                 + int_parameter("", 1, None)
                 + b"\0\0\xe7\x02\0" + bytes.fromhex("0904d00034") + b"\xff\xff"
                 + b"\0\0\xe7\x10\0" + bytes.fromhex("0904d00034") + b"\x10\0"
                 + "SELECT 1".encode("utf-16le") + int_parameter("", 0, 1))


def execute(handle):
    return packet(3, struct.pack("<IIHQIHHH", 22, 18, 2, 0, 1, 0xFFFF, 12, 0)
                  + int_parameter("", 0, handle))


@case("forget-handles", "handles are gone and start again")
def forget_handles(server):
    server.fault("msg=3 forget-handles")
    with server.session() as client:
        client.ask(PREPARE)
        good = ROW_ONE in client.ask(execute(1)).body
        gone = struct.pack("<I", 8179) in client.ask(execute(1)).body
        client.ask(PREPARE)
        again = ROW_ONE in client.ask(execute(1)).body
    server.clear()
    with server.session() as client:
        client.ask(PREPARE)
        server.order("restart-handles")
        restarted = struct.pack("<I", 8179) in client.ask(execute(1)).body
    return good and gone and again and restarted, (good, gone, again, restarted)


# TLS.

def strict(server, context=None, protocols=("tds/8.0",)):
    if context is None:
        context = trusting()
    if protocols:
        context.set_alpn_protocols(list(protocols))
    plain = socket.create_connection(("127.0.0.1", server.port), LIMIT_S)
    return context.wrap_socket(plain, server_hostname="localhost")


def read_message(stream):
    body = b""
    while True:
        head = b""
        while len(head) < 8:
            more = stream.recv(8 - len(head))
            if not more:
                raise EOFError
            head += more
        left = struct.unpack(">H", head[2:4])[0] - 8
        while left:
            more = stream.recv(left)
            body, left = body + more, left - len(more)
        if head[1] & 1:
            return body


@case("tls-cert", "wrong name, expired, not yet valid, unknown", "strict")
def tls_cert(server):
    def why():
        context = ssl.create_default_context(cafile=server.cert)
        try:
            strict(server, context).close()
            return ""
        except ssl.SSLCertVerificationError as error:
            return error.verify_message
    seen = {}
    for word in ("wrong-name", "expired", "future", "unknown-ca"):
        server.fault(f"tls-cert {word} times=1")
        seen[word] = why()
    return ("Hostname mismatch" in seen["wrong-name"]
            and "expired" in seen["expired"] and "not yet" in seen["future"]
            and "self" in seen["unknown-ca"] and why() == ""), seen


@case("tls-alpn", "none, another", "strict")
def tls_alpn(server):
    server.fault("tls-alpn none")
    with strict(server) as stream:
        none = stream.selected_alpn_protocol()
    server.clear()
    server.fault("tls-alpn other")
    try:
        with strict(server) as stream:
            other = stream.selected_alpn_protocol()
    except ssl.SSLError:
        other = "h2"  # newer libraries refuse what they did not offer
    return none is None and other == "h2", (none, other)


@case("tls-no-goodbye", "FIN without close_notify", "self-signed")
def tls_no_goodbye(server):
    ends = []
    for spec in ("", "tls-no-goodbye"):
        if spec:
            server.fault(spec)
        with server.client() as client:
            wrapped = Wrapped(client, trusting())
            # A refused login; a session that is killed never says goodbye.
            wrapped.tls.write(login(user="no"))
            client.send(wrapped.outward.read())
            ends.append({wrapped.read(1)[1], wrapped.read(1)[1]})
    return "goodbye" in ends[0] and "goodbye" not in ends[1], ends


@case("tls-pieces", "a handshake in pieces of one byte", "self-signed")
def tls_pieces(server):
    server.fault("tls-pieces 1")
    with server.client() as client:
        wrapped = Wrapped(client, trusting())
        clear, end = wrapped.ask(login())
    sizes = {p[2] for p in wrapped.handshake_packets}
    return end == "eom" and sizes == {9}, sizes


@case("tls-late-tickets", "tickets behind the login", "strict")
def tls_late_tickets(server):
    server.fault("tls-late-tickets")
    with strict(server) as stream:
        stream.sendall(prelogin(1))
        read_message(stream)
        before = stream.session.has_ticket if stream.session else False
        stream.sendall(login(V80))
        read_message(stream)
        stream.sendall(ONE)
        good = ROW_ONE in read_message(stream)
        after = stream.session.has_ticket if stream.session else False
    return good and not before and after, (good, before, after)


@case("tls-burn", "CPU time in the handshake", "self-signed")
def tls_burn(server):
    server.fault("tls-burn 150ms")
    begun = time.monotonic()
    with server.client() as client:
        clear, end = Wrapped(client, trusting()).ask(login())
    return end == "eom" and time.monotonic() - begun > 0.14, ""


@case("tls-kept", "TLS goes on behind a login-only LOGIN7", "login-only")
def tls_kept(server):
    server.fault("tls-kept")
    with server.client() as client:
        client.ask(prelogin(0))
        # Wrapped asks for OFF itself when told so.
        inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = trusting().wrap_bio(inward, outward)
        while True:
            try:
                tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.send(packet(0x12, outward.read()))
                inward.write(client.read().body)
        tls.write(login())
        client.send(outward.read())
        got = client.read(0.5, messages=0)
    return got.raw[:2] == b"\x17\x03", got.raw[:8]


@case("tls-stall", "silence from the n-th handshake record on", "self-signed")
def tls_stall(server):
    for n in (1, 2):
        server.fault(f"tls-stall {n}")
        with server.client() as client:
            try:
                Wrapped(client, trusting(), 0.3)
                return False, n
            except EOFError as end:
                if str(end) != "timeout":
                    return False, (n, str(end))
        server.clear()
    return True, ""


# The browser.

def ask_browser(server, question, limit_s=1.0):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.settimeout(limit_s)
        udp.sendto(question, ("127.0.0.1", server.ports[-1]))
        try:
            return udp.recvfrom(65535)
        except socket.timeout:
            return b"", None


@case("ssrp", "the browser's answers and its faults", "browser")
def ssrp(server):
    usual, sender = ask_browser(server, b"\x04two\0")
    everyone, _ = ask_browser(server, b"\x03")
    nobody, _ = ask_browser(server, b"\x04nobody\0", 0.2)
    admin, _ = ask_browser(server, b"\x0f\x01ONE\0")
    port = f"tcp;{server.ports[1]};".encode()
    good = (usual[:1] == b"\x05" and len(usual) == 3 + struct.unpack(
        "<H", usual[1:3])[0] and b"InstanceName;TWO;" in usual and port in usual
            and sender == ("127.0.0.1", server.ports[-1])
            and b";ONE;" in everyone and b";TWO;" in everyone and not nobody
            and admin == b"\x05\x06\0\x01" + struct.pack("<H", server.ports[0]))
    seen = {}
    for word in ("none", "wrong-instance", "other-address", "no-tcp", "port0",
                 "huge", "short"):
        server.fault(f"ssrp {word} times=1")
        seen[word] = ask_browser(server, b"\x04TWO\0", 0.3)
    return (good and not seen["none"][0] and b";ANOTHER;" in
            seen["wrong-instance"][0] and seen["other-address"][1] != sender
            and b"tcp;" not in seen["no-tcp"][0] and b"tcp;0;" in
            seen["port0"][0] and len(seen["huge"][0]) > 65000
            and struct.unpack("<H", seen["short"][0][1:3])[0]
            > len(seen["short"][0])), (usual, {w: s[0][:80]
                                               for w, s in seen.items()})


def option(body, token):
    """An option of a PRELOGIN reply, or None."""
    at = 0
    while body[at] != 0xFF:
        if body[at] == token:
            place, size = struct.unpack(">HH", body[at + 1:at + 5])
            return body[place:place + size]
        at += 5
    return None


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
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
