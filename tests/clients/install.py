# SPDX-License-Identifier: MIT
"""Brings a client into the build directory, where it is not of the system."""
import filecmp
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT_S = 300


def copy_changed(names, source, target):
    """Copies files; True when any was not there in this form."""
    os.makedirs(target, exist_ok=True)
    changed = False
    for name in names:
        old, new = os.path.join(target, name), os.path.join(source, name)
        if not os.path.exists(old) or not filecmp.cmp(old, new, shallow=False):
            shutil.copyfile(new, old)
            changed = True
    return changed


def run(command, folder, **more):
    done = subprocess.run(command, cwd=folder, text=True, timeout=LIMIT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **more)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: status {done.returncode}\n"
                         + done.stdout[-4000:] + "\n0 passed, 1 failed")


def tedious(build):
    source = os.path.join(HERE, "node")
    target = os.path.join(build, "clients", "node")
    names = os.listdir(source)
    wanted = [name for name in names if name.startswith("package")]
    done = os.path.join(target, "installed")
    if copy_changed(wanted, source, target) or not os.path.exists(done):
        if os.path.exists(done):
            os.remove(done)
        run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
            target)
        with open(done, "w"):
            pass
    copy_changed([name for name in names if name.endswith(".js")],
                 source, target)
    return ["node", os.path.join(target, "runner.js")]


def sqlclient(build):
    source = os.path.join(HERE, "dotnet")
    target = os.path.join(build, "clients", "dotnet")
    program = os.path.join(target, "out", "sqlclient.dll")
    names = [name for name in os.listdir(source)
             if name.endswith((".cs", ".csproj", ".json"))]
    if copy_changed(names, source, target) or not os.path.exists(program):
        if os.path.exists(program):
            os.remove(program)
        quiet = dict(os.environ, DOTNET_CLI_TELEMETRY_OPTOUT="1",
                     DOTNET_NOLOGO="1", MSBUILDDISABLENODEREUSE="1")
        run(["dotnet", "restore", "--locked-mode"], target, env=quiet)
        run(["dotnet", "build", "--no-restore", "--configuration", "Release",
             "--output", "out", "-p:UseSharedCompilation=false"],
            target, env=quiet)
    return ["dotnet", program]


def runner(name):
    return lambda build: ["/usr/bin/python3", "-B",
                          os.path.join(HERE, f"run_{name}.py")]


def missing(name):
    """Why a client cannot be had here, or None."""
    if name == "sqlclient" and shutil.which("dotnet") is None:
        return "no dotnet on this machine"
    return None


def client(name, build):
    """(command that runs it, None), or (None, why it cannot be had here)."""
    problem = missing(name)
    if problem:
        return None, problem
    return CLIENTS[name](build), None


CLIENTS = {"tedious": tedious, "sqlclient": sqlclient,
           "freetds": runner("freetds"), "pymssql": runner("pymssql"),
           "pyodbc": runner("pyodbc")}
