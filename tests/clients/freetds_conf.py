# SPDX-License-Identifier: MIT
"""A freetds.conf of our own for tsql, db-lib and tdsodbc."""
import os

HOST = "127.0.0.1"
WRITTEN = set()

def write(args, name, **more):
    """Writes the file NAME with settings for all servers and one called "weir".  args.tls is FreeTDS's
    encryption, then +ca for the authority in args.cert.  Returns its path."""
    encryption, _, how = args.tls.partition("+")
    settings = {"tds version": "7.4", "client charset": "UTF-8", "text size": "2147483647",
                "encryption": encryption}
    if how == "ca":
        settings["ca file"] = args.cert
        settings["check certificate hostname"] = "yes"
    settings.update((key.replace("_", " "), value)
                    for key, value in more.items())
    path = os.path.abspath(name)
    if path not in WRITTEN:  # once: others may be reading it
        with open(path, "w") as file:
            file.write("[global]\n")
            for key, value in settings.items():
                file.write(f"\t{key} = {value}\n")
            file.write(f"[weir]\n\thost = {HOST}\n\tport = {args.port}\n")
        WRITTEN.add(path)
    return path
