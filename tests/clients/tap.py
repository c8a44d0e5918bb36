# SPDX-License-Identifier: MIT
"""What Wireshark's dissector finds wrong in tdsd's plaintext tap."""
import subprocess

LIMIT_S = 120
# Errors of its own, and what it finds wrong and only warns of.
FILTER = "tds && (" + " || ".join([
    "_ws.malformed", "_ws.expert.severity >= 0x600000",
    "(tds.unknown_tds_token && !tds.returnstatus)",
    "tds.token.length.invalid", "tds.invalid_length", "tds.invalid_plp_length",
    "tds.type_info.type.invalid", "tds.type_info.type.invalidplp",
    "tds.all_headers.header.type.invalid"]) + ")"
FIELDS = ["frame.number", "tds.type", "tds.status.ignore", "tds.type_info.type",
          "tds.fragment.overlap", "_ws.col.Info", "_ws.expert.message"]
RPC = "3"

# RPC parameters that tshark 4.0 does not get through: text, ntext and image
# without a text pointer, dates of TDS 7.3.
LOST_ON = {0x22, 0x23, 0x63, 0x28, 0x2A, 0x2B}


def tshark(tap, condition, fields):
    """The fields of the frames for which the condition holds, as lists."""
    wanted = [word for field in fields for word in ("-e", field)]
    done = subprocess.run(
        ["tshark", "-r", tap, "-d", "tcp.port==1433,tds", "-Y", condition,
         "-T", "fields"] + wanted,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        timeout=LIMIT_S, errors="replace", check=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def numbers(text):
    return {int(number, 0) for number in text.split(",") if number}


def continued(tap):
    """Frames of calls that go on from the packet before and yet have number 1,
    as all of FreeTDS's packets have."""
    found, open_streams = set(), set()
    for frame, stream, eom, number in tshark(
            tap, "tds.type == 3", ["frame.number", "tcp.stream",
                                   "tds.status.eom", "tds.packet_number"]):
        if stream in open_streams and number == "1":
            found.add(frame)
        if eom == "1":
            open_streams.discard(stream)
        else:
            open_streams.add(stream)
    return found


def false_alarm(kind, ignored, types, overlap, info, message):
    """Why a finding is none, or None.  README.md has the reasons at length."""
    if "Unknown header (class=0" in message:
        return "feature list taken for GSS"
    if kind == RPC and "1" in ignored.split(","):
        return "given up by the client in its middle"
    if kind == RPC and numbers(types) & LOST_ON:
        return "parameters that the dissector does not know"
    if "Illegal fragments" in info or overlap:
        return "more than 255 packets in a message"
    return None


def malformed(tap):
    """One line for each thing found, the known false alarms left out."""
    found = [finding for finding in tshark(tap, FILTER, FIELDS)
             if false_alarm(*finding[1:]) is None]
    if any(finding[1] == RPC for finding in found):
        lost = continued(tap)
        found = [finding for finding in found if finding[0] not in lost]
    return [" ".join(finding) for finding in found]
