# SPDX-License-Identifier: MIT
"""A TDS client that believes nothing, for checks of tdsd: it sends what it is told
and reports what came, when, and how it ended."""
import os
import select
import socket
import ssl
import struct
import subprocess
import tempfile
import time

TDSD = os.path.join(os.environ["WEIR_BUILD_DIR"], "bin", "tdsd")
LIMIT_S = 20.0  # for what must come
V74, V80 = 0x74000004, 0x08000000


def packet(kind, body, status=1):
    return struct.pack(">BBHHBB", kind, status, len(body) + 8, 0, 1, 0) + body


def prelogin(encryption=2):
    return packet(0x12, bytes.fromhex("00000b00060100110001ff100000000000")
                  + bytes([encryption]))


def login(version=V74, user="sa", read_only=False, size=4096):
    name, password = user.encode("utf-16le"), bytes([0x22, 0xA5])
    at = 94 + len(name) + 2
    body = struct.pack("<IIIIIIBBBBiI", at, version, size, 7, 1, 0,
                       0xE0, 3, 0x20 if read_only else 0, 0, 0, 0)
    body += struct.pack("<HHHHHH", 94, 0, 94, len(user), 94 + len(name), 1)
    body += struct.pack("<HH", at, 0) * 6 + b"\2\0\0\0\0\1"
    body += struct.pack("<HH", at, 0) * 3 + struct.pack("<I", 0)
    return packet(0x10, body + name + password)


def headers(descriptor=0):
    return struct.pack("<IIHQI", 22, 18, 2, descriptor, 1)


def batch(sql, descriptor=0, status=1):
    return packet(1, headers(descriptor) + sql.encode("utf-16le"), status)


def tm_begin():
    return packet(0x0E, headers() + struct.pack("<HBB", 5, 0, 0))


def text_parameter(text):
    data = text.encode("utf-16le")
    return (b"\0\0\xe7" + struct.pack("<H", max(2, len(data)))
            + bytes.fromhex("0904d00034") + struct.pack("<H", len(data)) + data)


def int_parameter(name, status, value):
    data = b"\0" if value is None else struct.pack("<Bi", 4, value)
    return (bytes([len(name)]) + name.encode("utf-16le") + bytes([status])
            + b"\x26\x04" + data)


def executesql(sql, declaration="", *parameters, descriptor=0):
    body = struct.pack("<HHH", 0xFFFF, 10, 0) + text_parameter(sql)
    if declaration:
        body += text_parameter(declaration)
    return packet(3, headers(descriptor) + body + b"".join(parameters))


ATTENTION = packet(6, b"")


class Got:
    """What came in answer to one request."""

    def __init__(self):
        self.raw = b""
        self.times = []      # of each piece, from the request on
        self.pieces = []
        self.end = "timeout"  # eom, fin, rst or timeout
        self.packets = []    # (type, status, length, body)

    @property
    def body(self):
        return b"".join(p[3] for p in self.packets)

    @property
    def took(self):
        return self.times[-1] if self.times else 0.0


def cut(raw):
    """All whole packets of some bytes, and what is left."""
    packets = []
    while len(raw) >= 8:
        kind, status, length = struct.unpack(">BBH", raw[:4])
        if length < 8 or len(raw) < length:
            break
        packets.append((kind, status, length, raw[8:length]))
        raw = raw[length:]
    return packets, raw


class Client:
    """settle is called before silence is believed; see Server.settle()."""

    def __init__(self, port, address="127.0.0.1", settle=None):
        self.settle = settle
        self.socket = socket.create_connection((address, port), LIMIT_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError:
            pass

    def is_silent(self):
        """Whether nothing comes although the server has had its turn."""
        if self.settle is None:
            return True
        self.settle()
        return not select.select([self.socket], [], [], 0.02)[0]

    def read(self, limit_s=LIMIT_S, messages=1, begun=None):
        """Reads until so many messages have ended, the end, or the limit."""
        got = Got()
        begun = begun or time.monotonic()
        got.raw, self.rest = self.rest, b""
        while True:
            got.packets, rest = cut(got.raw)
            ends = [i for i, p in enumerate(got.packets) if p[1] & 1]
            if messages and len(ends) >= messages:
                last = ends[messages - 1]
                self.rest = (b"".join(
                    struct.pack(">BBHHBB", p[0], p[1], p[2], 0, 0, 0) + p[3]
                    for p in got.packets[last + 1:]) + rest)
                got.packets = got.packets[:last + 1]
                got.end = "eom"
                return got
            left = begun + limit_s - time.monotonic()
            if not select.select([self.socket], [], [], max(0.0, left))[0]:
                if left < -LIMIT_S or self.is_silent():
                    return got
                continue
            try:
                piece = self.socket.recv(65536)
            except ConnectionResetError:
                got.end = "rst"
                return got
            if not piece:
                got.end = "fin"
                return got
            got.raw += piece
            got.pieces.append(len(piece))
            got.times.append(time.monotonic() - begun)

    def ask(self, data, limit_s=LIMIT_S, messages=1):
        begun = time.monotonic()
        self.send(data)
        return self.read(limit_s, messages, begun)

    def log_in(self, limit_s=LIMIT_S, **more):
        self.ask(prelogin(), limit_s)
        return self.ask(login(**more), limit_s)


class Server:
    """A tdsd with a control socket."""

    def __init__(self, *options, tls="off", listeners=1, browser=False):
        self.folder = tempfile.TemporaryDirectory()
        self.control_path = os.path.join(self.folder.name, "control")
        self.cert = os.path.join(self.folder.name, "cert.pem")
        arguments = [TDSD, "--port", "0", "--print-port", "--quiet", "--control",
                     self.control_path, "--tls", tls, *options]
        if tls != "off":
            arguments += ["--print-cert", self.cert]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE)
        self.ports = [int(self.process.stdout.readline())
                      for _ in range(listeners + browser)]
        self.port = self.ports[0]
        self.stream = socket.socket(socket.AF_UNIX)
        self.stream.settimeout(LIMIT_S)
        self.stream.connect(self.control_path)
        self.lines = self.stream.makefile("rw", encoding="utf-8")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.lines.close()
        self.stream.close()
        self.process.terminate()
        self.status = self.process.wait(LIMIT_S)
        self.process.stdout.close()
        self.folder.cleanup()

    def order(self, line):
        self.lines.write(line + "\n")
        self.lines.flush()
        return self.lines.readline().rstrip("\n")

    def settle(self):
        """Returns when what was due before now has been done, however busy the
        machine is: one thread serves this socket and the sessions."""
        for _ in range(2):
            self.order("sessions")

    def fault(self, spec):
        answer = self.order("fault " + spec)
        if not answer.startswith("ok"):
            raise ValueError(f"{spec}: {answer}")

    def clear(self):
        self.order("fault clear")

    def client(self, number=1, **more):
        return Client(self.ports[number - 1], settle=self.settle, **more)

    def session(self, number=1, **more):
        client = self.client(number)
        client.log_in(**more)
        return client


class Wrapped:
    """TLS inside PRELOGIN packets, then around everything."""

    def __init__(self, client, context, limit_s=LIMIT_S):
        self.client, self.inward = client, ssl.MemoryBIO()
        self.outward, self.handshake_packets = ssl.MemoryBIO(), []
        client.ask(prelogin(1), limit_s)
        self.tls = context.wrap_bio(self.inward, self.outward,
                                    server_hostname="localhost")
        while True:
            try:
                self.tls.do_handshake()
                break
            except ssl.SSLWantReadError:
                client.send(packet(0x12, self.outward.read()))
                got = client.read(limit_s)
                self.handshake_packets += got.packets
                if got.end != "eom":
                    raise EOFError(got.end) from None
                self.inward.write(got.body)

    def ask(self, data, limit_s=LIMIT_S):
        self.tls.write(data)
        self.client.send(self.outward.read())
        return self.read(limit_s)

    def read(self, limit_s=LIMIT_S):
        """Returns clear bytes of one message, and how they ended."""
        clear, end = b"", "timeout"
        until = time.monotonic() + limit_s
        while time.monotonic() < until:
            got = self.client.read(max(0.01, min(0.2, until - time.monotonic())),
                                   messages=0)
            self.inward.write(got.raw)
            while True:
                try:
                    more = self.tls.read(65536)
                except ssl.SSLWantReadError:
                    break
                except ssl.SSLZeroReturnError:
                    return clear, "goodbye"
                except ssl.SSLError as error:
                    return clear, str(error)
                if not more:
                    return clear, "goodbye"
                clear += more
            packets, _ = cut(clear)
            if packets and packets[-1][1] & 1:
                return clear, "eom"
            if got.end in ("fin", "rst"):
                return clear, got.end
        return clear, end


def trusting():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context
