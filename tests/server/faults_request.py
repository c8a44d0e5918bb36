# SPDX-License-Identifier: MIT
"""Faults of requests: reading, transactions, attentions, resets, handles."""
import re
import socket
import struct
import time

from fault_cases import (ONE, RESET_ACK, ROW_ONE, case, dones, reset_batch, works)
from raw_client import (ATTENTION, batch, executesql, int_parameter, packet, tm_begin)


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
