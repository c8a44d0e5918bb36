#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""TDS 8 and TLS versions, seen by Python's ssl module: strict mode logs in over
TLS 1.3 with the certificate verified, refuses clear bytes and foreign ALPN
names, and TDS 7.x never goes beyond TLS 1.2.

Needs WEIR_BUILD_DIR; the last line is "N passed, N failed".
"""
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile

from tally import Tally

TDSD = os.path.join(os.environ["WEIR_BUILD_DIR"], "bin", "tdsd")
LIMIT_S = 10
V74, V80 = 0x74000004, 0x08000000
tally = Tally()
check = tally.check


def packet(kind, body, status=1):
    return struct.pack(">BBHHBB", kind, status, len(body) + 8, 0, 1, 0) + body


def prelogin(encryption):
    return packet(0x12, bytes.fromhex("00000b00060100110001ff100000000000")
                  + bytes([encryption]))


def login(version):
    user, password = "sa".encode("utf-16le"), bytes([0x22, 0xA5])
    body = struct.pack("<IIIIIIBBBBiI", 100, version, 4096, 7, 1, 0,
                       0xE0, 3, 0, 0, 0, 0)
    body += struct.pack("<HHHHHH", 94, 0, 94, 2, 98, 1)
    body += struct.pack("<HH", 100, 0) * 6 + b"\2\0\0\0\0\1"
    body += struct.pack("<HH", 100, 0) * 3 + struct.pack("<I", 0)
    return packet(0x10, body + user + password)


def batch(sql):
    head = struct.pack("<IIHQI", 22, 18, 2, 0, 1)
    return packet(0x01, head + sql.encode("utf-16le"))


def exactly(stream, n):
    data = b""
    while len(data) < n:
        more = stream.recv(n - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def message(stream):
    body = b""
    while True:
        head = exactly(stream, 8)
        body += exactly(stream, struct.unpack(">H", head[2:4])[0] - 8)
        if head[1] & 1:
            return body


class Server:
    def __init__(self, mode, folder):
        self.cert = os.path.join(folder, mode + ".pem")
        self.process = subprocess.Popen(
            [TDSD, "--port", "0", "--print-port", "--quiet", "--tls", mode,
             "--print-cert", self.cert], stdout=subprocess.PIPE)

    def __enter__(self):
        self.port = int(self.process.stdout.readline())
        return self

    def __exit__(self, *_):
        self.process.terminate()
        check("a clean end", self.process.wait(LIMIT_S) == 0)
        self.process.stdout.close()

    def dial(self):
        return socket.create_connection(("127.0.0.1", self.port), LIMIT_S)

    def context(self, protocols=("tds/8.0",)):
        context = ssl.create_default_context(cafile=self.cert)
        if protocols:
            context.set_alpn_protocols(list(protocols))
        return context

    def tls(self, context):
        return context.wrap_socket(self.dial(), server_hostname="localhost")


def talk(stream):
    # PRELOGIN and LOGIN7 together: nothing may wait for what has come.
    stream.sendall(prelogin(1) + login(V80))
    message(stream)
    answer = message(stream)
    check("strict: LOGINACK says 8.0", b"\x01\x08\0\0\0\x14M\0" in answer)
    stream.sendall(batch("SELECT 1"))
    check("strict: a row", b"\xd1\x01\0\0\0" in message(stream))


def check_strict(folder):
    with Server("strict", folder) as server:
        with server.tls(server.context()) as stream:
            check("strict: TLS 1.3", stream.version() == "TLSv1.3")
            check("strict: ALPN", stream.selected_alpn_protocol() == "tds/8.0")
            talk(stream)
        with server.tls(server.context(None)) as stream:
            talk(stream)
        old = server.context()
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        with server.tls(old) as stream:
            check("strict: TLS 1.2 will do", stream.version() == "TLSv1.2")
            talk(stream)
        try:
            server.tls(server.context(["h2"])).close()
            check("strict: a foreign ALPN name is refused", False)
        except ssl.SSLError:
            check("strict: a foreign ALPN name is refused", True)
        with server.dial() as stream:
            stream.sendall(prelogin(0))
            check("strict: clear bytes are refused", stream.recv(1) == b"")


def wrapped_handshake(stream, context):
    """TLS inside PRELOGIN packets; answers the finished TLS object's BIOs."""
    stream.sendall(prelogin(1))
    check("full: the reply is ON", message(stream)[32] == 1)
    inward, outward = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(inward, outward, server_hostname="localhost")
    while True:
        try:
            tls.do_handshake()
            break
        except ssl.SSLWantReadError:
            stream.sendall(packet(0x12, outward.read()))
            inward.write(message(stream))
    return tls, inward, outward


def check_wrapped(folder):
    with Server("self-signed", folder) as server:
        with server.dial() as stream:
            tls, inward, outward = wrapped_handshake(
                stream, server.context(None))
            check("full: never beyond TLS 1.2", tls.version() == "TLSv1.2")
            tls.write(login(V74))
            stream.sendall(outward.read())
            inward.write(stream.recv(65536))
            check("full: the login is answered", tls.read(1) == b"\x04")
        with server.dial() as stream:
            stream.sendall(prelogin(2))
            message(stream)
            check("full: clients without TLS are refused",
                  stream.recv(1) == b"")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_strict(folder)
        check_wrapped(folder)
    return tally.finish()


if __name__ == "__main__":
    sys.exit(main())
