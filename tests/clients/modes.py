# SPDX-License-Identifier: MIT
"""Which client meets which tdsd, with which setting of its own, and how that
must end: every TLS mode that each client has."""
from collections import namedtuple

# server: tdsd --tls.  setting: what the runner is told.  cert: the file that the
# client is given: "own" is the server's, "other" a stranger's, "misnamed" the
# server's where that names another host.  refusal: None where everything must
# work, else a pattern that the reason for the refusal must have.
Mode = namedtuple("Mode", "server setting cert refusal")


def works(server, setting, cert="own"):
    return Mode(server, setting, cert, None)


def refused(server, setting, refusal, cert="own"):
    return Mode(server, setting, cert, refusal)


TEDIOUS = [
    works("off", "false"),
    works("login-only", "false"),
    works("login-only", "true+trust"),
    works("self-signed", "true+trust"),
    works("self-signed", "true+ca"),
    works("strict", "strict+ca"),
    refused("self-signed", "true+ca", "self-signed certificate", "other"),
    refused("self-signed", "true+ca", "does not match", "misnamed"),
    refused("strict", "strict+ca", "self-signed certificate", "other"),
    refused("strict", "strict+ca", "does not match", "misnamed"),
    refused("strict", "false", "Connection lost"),
    refused("self-signed", "false", "Server requires encryption"),
    refused("off", "true+trust", "Connection lost"),
    refused("off", "strict+ca", "disconnected before secure TLS", "other"),
]

SQLCLIENT = [
    works("off", "optional"),
    works("login-only", "optional+trust"),
    works("login-only", "mandatory+trust"),
    works("self-signed", "optional+trust"),
    works("self-signed", "mandatory+trust"),
    works("self-signed", "mandatory+ca"),
    works("self-signed", "mandatory+file"),
    works("strict", "strict+ca"),
    works("strict", "strict+file"),
    refused("off", "mandatory+trust", "does not support encryption"),
    refused("off", "strict+file", "unexpected EOF|frame was corrupted", "other"),
    refused("self-signed", "mandatory", "UntrustedRoot"),
    refused("self-signed", "mandatory+ca", "UntrustedRoot", "other"),
    refused("self-signed", "mandatory+ca", "name mismatch", "misnamed"),
    refused("self-signed", "mandatory+file", "does not match the certificate",
            "other"),
    refused("strict", "strict+trust", "UntrustedRoot"),
    refused("strict", "strict+ca", "name mismatch", "misnamed"),
    refused("strict", "strict+file", "does not match the certificate", "other"),
    refused("strict", "mandatory+trust", "pre-login handshake"),
]

# FreeTDS knows no TDS 8; its TLS is GnuTLS.  pymssql and pyodbc are on top of it.  It does
# not tell why a connection failed; that others do not is told by their modes.
FAILED = "20002|20017|Unable to connect|connection failed"
FREETDS = [
    works("off", "off"),
    works("off", "request"),
    works("login-only", "off"),
    works("login-only", "request"),
    works("login-only", "require"),
    works("self-signed", "request"),
    works("self-signed", "require"),
    works("self-signed", "require+ca"),
    refused("self-signed", "off", FAILED),
    refused("off", "require", FAILED),
    refused("self-signed", "require+ca", FAILED, "other"),
    refused("self-signed", "require+ca", FAILED, "misnamed"),
    refused("strict", "require", FAILED),
]

MODES = {"tedious": TEDIOUS, "sqlclient": SQLCLIENT, "freetds": FREETDS,
         "pymssql": FREETDS, "pyodbc": FREETDS}
