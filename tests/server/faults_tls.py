# SPDX-License-Identifier: MIT
"""Faults of TLS and of the browser."""
import socket
import ssl
import struct
import time

from fault_cases import ONE, ROW_ONE, case, read_message, strict
from raw_client import V80, Wrapped, login, packet, prelogin, trusting


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
            end = wrapped.read()[1]
            ends.append(wrapped.read()[1] if end == "eom" else end)
    return ends == ["goodbye", "fin"], ends


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
