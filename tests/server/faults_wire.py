# SPDX-License-Identifier: MIT
"""Faults of framing, and what comes unasked on an idle session."""
import re
import socket
import time

from fault_cases import ONE, ROWS, ROW_ONE, case, read_message, strict, works
from raw_client import (ATTENTION, V80, Wrapped, batch, login, packet, prelogin, trusting)

# A reader that is kept waiting finds several writes in one read; without the fault
# there are one or two.
MANY = 4


@case("split", "a reply in writes of one byte")
def split(server):
    server.fault("msg=2 split=1")
    with server.session() as client:
        first, second = client.ask(ONE), client.ask(ONE)
        third = client.ask(ONE)
    return (first.body == second.body == third.body and len(first.pieces) < 3
            and len(second.pieces) > MANY
            and len(third.pieces) < 3), (len(second.raw), second.pieces)


@case("split", "from a byte on")
def split_from(server):
    server.fault("msg=1 byte=11 split=1")
    with server.session() as client:
        got = client.ask(ONE)
    return (got.end == "eom" and got.pieces[0] >= 11
            and len(got.pieces) > MANY), got.pieces


@case("drip", "so many bytes a second")
def drip(server):
    server.fault("msg=1 drip 400/s")
    with server.session() as client:
        got = client.ask(ONE)
    expected = len(got.raw) / 400
    return (got.end == "eom" and 0.7 * expected < got.took,
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
    server.fault("msg=1 byte=20 pause 700")
    with server.session() as client:
        got = client.ask(ONE)
    return (got.end == "eom" and 0.6 < got.took
            and got.pieces[0] == 20), (got.took, got.pieces)


@case("row-delay", "waits before each row")
def row_delay(server):
    server.fault("msg=1 row-delay 100")
    with server.session() as client:
        got = client.ask(batch(ROWS))
    return got.end == "eom" and 0.25 < got.took, got.took


@case("drop-after-bytes", "closed after so many bytes")
def drop_after(server):
    server.fault("drop-after-bytes 60")
    with server.client() as client:
        got = client.log_in()
    return got.end in ("fin", "rst") and len(got.raw) < 60, got.end


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
    server.fault("msg=1 idle renegotiate ms=1500")
    with server.client() as client:
        wrapped = Wrapped(client, trusting())
        wrapped.ask(login())
        clear, _ = wrapped.ask(ONE)
        got = client.read(2.5, messages=0)
    return ROW_ONE in clear and got.raw[:1] == b"\x16", got.raw
