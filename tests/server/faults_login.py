# SPDX-License-Identifier: MIT
"""Faults of logins and of who is let in."""
import re
import socket
import struct
import time

from fault_cases import ONE, case, dones, option, works
from raw_client import ATTENTION, Server, batch, login, prelogin


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
