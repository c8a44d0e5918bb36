#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""pymssql, and so FreeTDS's db-lib, through the steps of steps.json against a
tdsd that runs already.

usage: run_pymssql.py --port N --tls SETTING --cert FILE --control SOCKET
         --steps FILE [--only GLOB]

SETTING is off, request or require, then +ca for the authority in --cert.
"""
import datetime
import os
import re
import struct
import uuid
from decimal import Decimal

import pymssql
from pymssql import _mssql

import freetds_conf
from pysteps import Steps, failure
from runner import (SqlError, arguments, base, clock, day, equal,
                    in_child, run)

NEVER_S, SOON_S = 0, 1

# How sp_executesql's parameters are bound, by type.
BOUND = {
    "bit": _mssql.SQLBIT, "tinyint": _mssql.SQLINT1,
    "smallint": _mssql.SQLINT2, "int": _mssql.SQLINT4,
    "bigint": _mssql.SQLINT8, "real": _mssql.SQLREAL,
    "float": _mssql.SQLFLT8, "decimal": _mssql.SQLDECIMAL,
    "numeric": _mssql.SQLNUMERIC, "money": _mssql.SQLMONEY,
    "smallmoney": _mssql.SQLMONEY4, "char": _mssql.SQLCHAR,
    "varchar": _mssql.SQLVARCHAR, "nchar": _mssql.SQLCHAR,
    "nvarchar": _mssql.SQLVARCHAR, "binary": _mssql.SQLBINARY,
    "varbinary": _mssql.SQLVARBINARY, "date": _mssql.SQLDATE,
    "time": _mssql.SQLTIME, "datetime": _mssql.SQLDATETIME,
    "smalldatetime": _mssql.SQLDATETIM4, "datetime2": _mssql.SQLDATETIME2,
    "uniqueidentifier": _mssql.SQLUUID,
}


def told(problem):
    """A SqlError of what pymssql raises."""
    number, message = (list(problem.args[0] if problem.args and isinstance(
        problem.args[0], tuple) else problem.args) + [None, b""])[:2]
    if isinstance(message, bytes):
        message = message.decode()
    return SqlError(number, message=str(message).split("DB-Lib error")[0].strip())


class Session:
    def __init__(self, connection):
        self.connection = connection
        self.messages = []
        self.errors = []
        connection._conn.set_msghandler(self.take)

    def take(self, state, severity, server, procedure, line, message):
        into = self.messages if severity <= 10 else self.errors
        into.append((message.decode(), severity, state))

    def batch(self, sql):
        results, cursor = [], self.connection.cursor()
        self.errors.clear()
        try:
            cursor.execute(sql)
            while True:
                if cursor.description is not None:
                    names = [column[0] for column in cursor.description]
                    results.append((names, []))
                    for row in cursor:
                        results[-1][1].append(row)
                if not cursor.nextset():
                    return results
        except pymssql.Error as problem:
            error = told(problem)
            error.results = results
            if self.errors:
                _, error.severity, error.state = self.errors[0]
            raise error from problem

    def cancel(self):
        self.connection._conn.cancel()

    def close(self):
        self.connection.close()


class PymssqlSteps(Steps):
    def open(self, database="", password="x", packet_size=None, limit_s=NEVER_S,
             autocommit=True):
        more = {"initial_block_size": packet_size} if packet_size else {}
        os.environ["FREETDSCONF"] = freetds_conf.write(
            self.args, f"freetds-{packet_size}.conf", **more)
        try:
            return Session(pymssql.connect(
                server=freetds_conf.HOST, port=self.args.port, user="sa",
                password=password, database=database,
                autocommit=autocommit, timeout=limit_s, login_timeout=20))
        except pymssql.Error as problem:
            raise told(problem) from problem

    def show(self, kind, value):
        if base(kind) == "datetimeoffset" and isinstance(value, bytes):
            return offset_text(value)
        if base(kind) == "money" and isinstance(value, Decimal):
            return f"{value:.4f}"
        return super().show(kind, value)

    def native(self, value):
        if value.text is not None and base(value.kind) == "uniqueidentifier":
            return uuid.UUID(value.text)
        return super().native(value)

    def parameter(self, value):
        """pymssql writes its parameters into the text itself."""
        cursor = self.session().connection.cursor()
        try:
            cursor.execute(f"SELECT CAST(%s AS {value.kind}) AS v",
                           (self.native(value),))
            value.check(self.show(value.kind, cursor.fetchone()[0]))
        except pymssql.Error as problem:
            raise told(problem) from problem

    def several_parameters(self):
        cursor = self.session().connection.cursor()
        sent = (1, 2 ** 40, "trzy", 4.5, True, None, "sześć", -8,
                Decimal("8.25"), "it's")
        cursor.execute("SELECT " + ", ".join(["%s"] * len(sent)), sent)
        equal(cursor.fetchone(), sent, "row")

    def output(self, value):
        """sp_executesql as a remote procedure with an output parameter."""
        session = self.open() if value.text is None else self.session()
        call = session.connection._conn.init_procedure("sp_executesql")
        kind = value.kind
        first = largest(kind) if base(kind) in ("decimal", "numeric") else None
        try:
            call.bind(f"SET @o = CAST({value.literal} AS {kind})",
                      _mssql.SQLVARCHAR, "@stmt")
            call.bind(f"@o {kind} OUTPUT", _mssql.SQLVARCHAR, "@params")
            call.bind(first, BOUND[base(kind)], "@o", output=True,
                      null=first is None, max_length=8000)
            call.execute()
            value.check(self.show(kind, call.parameters["@o"]))
        except _mssql.MSSQLException as problem:
            raise told(problem) from problem

    def output_apart(self, value):
        """A NULL may be the end of the process."""
        if value.text is None:
            in_child(lambda: self.output(value))
        else:
            self.output(value)

    def commit_api(self, end):
        """Its own transactions: they begin by themselves."""
        session = self.open(autocommit=False)
        self.depth(session, 1)
        getattr(session.connection, end)()
        self.depth(session, 1)
        session.connection.autocommit(True)
        self.depth(session, 0)
        session.close()

    def timeout(self):
        session = self.open(limit_s=SOON_S)
        problem = failure(lambda: session.batch("WAITFOR DELAY '00:00:10'"))
        equal(problem.number in (20003, 20047), True, "time-out")

    def all(self):
        for name, step in self.common():
            if name in ("txn/commit", "txn/rollback"):
                step = (lambda end=name[len("txn/"):]: self.commit_api(end))
            yield name, step
            if name == "select1":
                yield from self.each("param", self.parameter)
                yield from self.each("output", self.output_apart)
                yield "param/several", self.several_parameters
        yield "cancel/timeout", self.timeout


def largest(kind):
    """An output parameter without a value would have a precision of 0."""
    precision, scale = map(int, re.findall(r"\d+", kind))
    return Decimal("9" * (precision - scale) + "." + "9" * scale)


def offset_text(raw):
    """datetimeoffset comes as the bytes of db-lib's DBDATETIMEALL."""
    ticks, days, minutes = struct.unpack_from("<Qih", raw)
    moment = (datetime.datetime(1900, 1, 1)
              + datetime.timedelta(days=days, minutes=minutes,
                                   seconds=ticks // 10 ** 7))
    sign = "-" if minutes < 0 else "+"
    hours, rest = divmod(abs(minutes), 60)
    return (f"{day(moment)} {clock('datetime2(0)', moment)}."
            f"{ticks % 10 ** 7:07} {sign}{hours:02}:{rest:02}")


def main():
    steps = PymssqlSteps(arguments())
    run(steps.args, steps.all(), steps.drop)
    os._exit(0)  # threads that hang are left behind


if __name__ == "__main__":
    main()
