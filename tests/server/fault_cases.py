# SPDX-License-Identifier: MIT
"""What the cases of check_faults.py share: each is a function that is given a
server, sets a fault, and answers whether exactly that went wrong, and what it saw."""
import socket
import ssl
import struct

from raw_client import LIMIT_S, batch, trusting

cases = []  # (fault, kind of server, what is shown, function)

ROWS = ("SELECT a FROM (VALUES (1), (2), (3)) AS t (a)")
ONE = batch("SELECT 1 AS a")
ROW_ONE = b"\xd1\x01\0\0\0"
RESET_ACK = b"\xe3\x03\0\x12\0\0"


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


def option(body, token):
    """An option of a PRELOGIN reply, or None."""
    at = 0
    while body[at] != 0xFF:
        if body[at] == token:
            place, size = struct.unpack(">HH", body[at + 1:at + 5])
            return body[place:place + size]
        at += 5
    return None


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


def reset_batch(sql):
    return batch(sql, status=9)
