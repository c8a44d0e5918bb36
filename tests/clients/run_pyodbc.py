#!/usr/bin/python3 -B
# SPDX-License-Identifier: MIT
"""pyodbc on FreeTDS's tdsodbc through the steps of steps.json against a tdsd that
runs already.

usage: run_pyodbc.py --port N --tls SETTING --cert FILE --control SOCKET
         --steps FILE [--only GLOB]

SETTING is off, request or require, then +ca for the authority in --cert.
"""
import datetime
import glob
import os
import re
import struct
from decimal import Decimal

import pyodbc

import freetds_conf
from pysteps import ISOLATION, Steps, failure
from runner import SqlError, arguments, base, clock, day, equal, run

OFFSET_TYPE = -155  # SQL_SS_TIMESTAMPOFFSET, which pyodbc does not know
NO_LIMIT, SOON_S = 0, 1

pyodbc.pooling = False


def told(problem):
    """A SqlError of what pyodbc raises: the number is in the text, the class
    and the state of the server are not."""
    text = str(problem.args[-1])
    number = re.search(r"\((\d+)\) \(SQL\w+\)", text)
    message = re.search(r"\[SQL Server\](.*?) \(\d+\) \(SQL\w+\)", text, re.S)
    return SqlError(int(number.group(1)) if number else None,
                    message=message.group(1) if message else text)


def driver():
    return glob.glob("/usr/lib/*/odbc/libtdsodbc.so")[0]


def offset(raw):
    """SQL_SS_TIMESTAMPOFFSET_STRUCT as the text of steps.json."""
    year, month, date, hour, minute, second, nanos, h, m = struct.unpack(
        "<hHHHHHIhh", raw)
    moment = datetime.datetime(year, month, date, hour, minute, second)
    sign = "-" if h < 0 or m < 0 else "+"
    return (f"{day(moment)} {clock('datetime2(0)', moment)}."
            f"{nanos // 100:07} {sign}{abs(h):02}:{abs(m):02}")


class Session:
    def __init__(self, connection):
        self.connection = connection
        self.cursor = connection.cursor()
        self.messages = []
        self.events = []  # rows and messages in the order in which they came
        connection.add_output_converter(OFFSET_TYPE, offset)

    def batch(self, sql, *parameters):
        results = []
        try:
            self.cursor.execute(sql, *parameters)
            while True:
                self.collect()
                if self.cursor.description is not None:
                    names = [column[0] for column in self.cursor.description]
                    results.append((names, []))
                    for row in self.cursor:
                        results[-1][1].append(tuple(row))
                        self.events.append(f"row {row[0]}")
                if not self.cursor.nextset():
                    return results
        except pyodbc.Error as problem:
            error = told(problem)
            error.results = results
            raise error from problem

    def collect(self):
        for _, text in self.cursor.messages or []:
            message = text.split("[SQL Server]")[-1]
            self.messages.append((message, 0, 0))
            self.events.append("message " + message)

    def cancel(self):
        self.cursor.cancel()

    def close(self):
        self.connection.close()


class PyodbcSteps(Steps):
    def open(self, database="master", password="x", packet_size=None,
             limit_s=NO_LIMIT, autocommit=True):
        more = {"initial_block_size": packet_size} if packet_size else {}
        os.environ["FREETDSCONF"] = freetds_conf.write(
            self.args, f"freetds-{packet_size}.conf", **more)
        try:
            connection = pyodbc.connect(
                f"DRIVER={driver()};SERVERNAME=weir;UID=sa;PWD={password};"
                f"DATABASE={database};TDS_Version=7.4;ClientCharset=UTF-8;"
                f"Encryption={self.args.tls.split('+')[0]}",
                autocommit=autocommit)
        except pyodbc.Error as problem:
            raise told(problem) from problem
        connection.timeout = limit_s
        return Session(connection)

    def native(self, value):
        name = base(value.kind)
        if value.text is not None and name == "bit":
            return value.text == "1"
        if value.text is not None and name == "time":
            return datetime.time.fromisoformat(value.text[:15])
        return super().native(value)

    def parameter(self, value):
        got = self.session().batch(f"SELECT CAST(? AS {value.kind}) AS v",
                                   self.native(value))[0][1][0][0]
        value.check(self.show(value.kind, got))

    def several_parameters(self):
        sent = (1, 2 ** 40, "trzy", 4.5, True, None, "sześć", b"\x07",
                Decimal("8.25"), datetime.date(2020, 2, 29))
        sql = "SELECT " + ", ".join(["?"] * len(sent))
        equal(self.session().batch(sql, *sent)[0][1][0], sent, "row")

    def prepare_execute(self):
        """Each execute binds anew, for which tdsodbc releases its handle and
        prepares again: sp_prepexec, sp_unprepare, sp_prepexec, ..."""
        session = self.open()
        before = self.count("rpcs")
        for number, text in ((1, "ż"), (41, "b"), (-1, "")):
            equal(session.batch("SELECT ? + 1 AS a, ? AS b", number, text)[0][1],
                  [(number + 1, text)])
        equal(self.count("rpcs") - before, 5, "calls")
        equal(self.number("SELECT 5", session), 5)
        session.close()

    def prepare_error(self):
        session = self.session()
        problem = failure(lambda: session.batch("SELECT 10 / ? AS a", 0))
        equal(problem.number, 8134, "error")
        equal(session.batch("SELECT 10 / ? AS a", 5)[0][1], [(2,)])

    def by_itself(self, end):
        """Its own transactions, requests to the transaction manager."""
        session = self.open(autocommit=False)
        self.depth(session, 1)
        getattr(session.connection, end)()
        session.connection.autocommit = True
        self.depth(session, 0)
        session.close()

    def isolation(self, level):
        """SQL_ATTR_TXN_ISOLATION, whose levels are powers of two."""
        session = self.open()
        session.connection.set_attr(pyodbc.SQL_ATTR_TXN_ISOLATION,
                                    {1: 1, 2: 2, 3: 4, 4: 8, 5: 32}[level])
        session.connection.autocommit = False
        spid = self.spid(session)
        seen = self.seen(spid)
        equal((seen["isolation"], seen["trancount"]), (level, 1),
              f"what tdsd saw of {ISOLATION[level]}")
        session.connection.commit()
        session.close()

    def timeout(self):
        session = self.open(limit_s=SOON_S)
        failure(lambda: session.batch("WAITFOR DELAY '00:00:10'"))
        equal(self.number("SELECT 4", session), 4)
        session.close()

    def cancel_rows(self):
        session = self.session()
        session.cursor.execute("SELECT n FROM dbo.rows(150000)")
        session.cursor.fetchmany(50)
        session.cursor.cancel()
        equal(self.number("SELECT 3", session), 3)

    def info(self):
        equal([told[0] for told in self.messages_of(
            "RAISERROR('info %d', 5, 2, 42)")], ["info 42"], "messages")

    def order(self):
        session = self.session()
        session.events.clear()
        session.batch("SELECT 1 PRINT 'between' SELECT 2")
        equal(session.events, ["row 1", "message between", "row 2"], "order")

    def all(self):
        for name, step in self.common():
            if name in ("txn/commit", "txn/rollback"):
                step = (lambda end=name[len("txn/"):]: self.by_itself(end))
            yield name, step
            if name == "select1":
                yield from self.each("param", self.parameter)
                yield "param/several", self.several_parameters
                yield "prepare/execute", self.prepare_execute
                yield "prepare/error", self.prepare_error
        yield "message/order", self.order
        yield "cancel/timeout", self.timeout
        yield "cancel/rows", self.cancel_rows


def main():
    steps = PyodbcSteps(arguments())
    run(steps.args, steps.all(), steps.drop)
    os._exit(0)  # threads that hang are left behind


if __name__ == "__main__":
    main()
