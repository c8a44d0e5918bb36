# SPDX-License-Identifier: MIT
"""The steps as every client that Python drives does them.  What differs is in the
class that a runner derives from Steps."""
import datetime
import threading
import time
from decimal import Decimal

from runner import (Bench, SqlError, Wrong, base, equal, letters, show,
                    values)

BIG = 10 * 1024 * 1024
ISOLATION = ["", "READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ",
             "SERIALIZABLE", "SNAPSHOT"]


def failure(work):
    """The server's error that the work ends in."""
    try:
        work()
    except SqlError as problem:
        return problem
    raise Wrong("no error came")


class Steps(Bench):
    """A derived class has open(), which gives sessions with batch(sql), a list of
    (names, rows); messages, a list of (message, severity, state); close()."""

    def __init__(self, args):
        super().__init__(args)
        self.shared = None

    def session(self):
        if self.shared is None:
            self.shared = self.open()
        return self.shared

    def drop(self):
        shared, self.shared = self.shared, None
        if shared is not None:
            try:
                shared.close()
            except Exception:  # it was broken already
                pass

    def scalar(self, sql, session=None):
        return (session or self.session()).batch(sql)[0][1][0][0]

    def spid(self, session):
        return int(self.scalar("SELECT @@SPID", session))

    def number(self, sql, session=None):
        return int(self.scalar(sql, session))

    def native(self, value):
        """What a program would pass for a value."""
        if value.text is None:
            return None
        name = base(value.kind)
        if name in ("bit", "tinyint", "smallint", "int", "bigint"):
            return int(value.text)
        if name in ("real", "float"):
            return float(value.text)
        if name in ("decimal", "numeric", "money", "smallmoney"):
            return Decimal(value.text)
        if name in ("binary", "varbinary", "image"):
            return bytes.fromhex(value.text)
        if name == "date":
            return datetime.date.fromisoformat(value.text)
        if name in ("datetime", "smalldatetime", "datetime2"):
            return datetime.datetime.fromisoformat(value.text[:26])
        return value.text

    def connect(self):
        session = self.open(database="weir")
        equal(self.scalar("SELECT DB_NAME()", session), "weir", "database")
        equal(self.scalar("SELECT SUSER_SNAME()", session), "sa", "login")
        session.close()

    def refused(self, number, **settings):
        equal(failure(lambda: self.open(**settings)).number, number, "error")

    def select1(self):
        names, rows = self.session().batch("SELECT 1 AS one")[0]
        equal([int(cell) for row in rows for cell in row], [1])
        equal(list(names), ["one"], "names")

    def show(self, kind, value):
        return show(kind, value)

    def column(self, value):
        got = self.scalar(f"SELECT CAST({value.literal} AS {value.kind}) AS v")
        value.check(self.show(value.kind, got))

    def depth(self, session, wanted):
        equal(self.number("SELECT @@TRANCOUNT", session), wanted, "depth")

    def begin(self, session):
        session.batch("BEGIN TRAN")

    def commit(self, session):
        session.batch("COMMIT TRAN")

    def rollback(self, session):
        session.batch("ROLLBACK TRAN")

    def transaction(self, end):
        session = self.session()
        self.begin(session)
        self.depth(session, 1)
        end(session)
        self.depth(session, 0)

    def save(self):
        session = self.session()
        session.batch("BEGIN TRAN SAVE TRAN here")
        session.batch("ROLLBACK TRAN here")
        self.depth(session, 1)
        session.batch("COMMIT TRAN")
        self.depth(session, 0)

    def isolation(self, level):
        session = self.open()
        session.batch("SET TRANSACTION ISOLATION LEVEL " + ISOLATION[level])
        session.batch("BEGIN TRAN")
        seen = self.seen(self.spid(session))
        equal((seen["isolation"], seen["trancount"]), (level, 1), "what tdsd saw")
        session.batch("COMMIT TRAN")
        session.close()

    def error_of(self, severity):
        session = self.open()
        spid = self.spid(session)
        log = " WITH LOG" if severity > 18 else ""
        problem = failure(lambda: session.batch(
            f"RAISERROR(N'class {severity} ż', {severity}, 3){log}"))
        told = {"number": 50000, "severity": severity, "state": 3,
                "message": f"class {severity} ż"}
        for name, wanted in told.items():
            if getattr(problem, name) is not None:
                equal(getattr(problem, name), wanted, name)
        if severity < 20:
            equal(self.number("SELECT 7", session), 7)
            session.close()
        else:
            self.must_be_over(session, spid)

    def must_be_over(self, session, spid):
        phases = [told["phase"] for told in self.control("sessions")
                  if told["spid"] == spid]
        equal(phases in ([], ["ended"]), True, "the session's end")
        try:
            session.batch("SELECT 7")
        except Exception:  # whatever a client says of a dead connection
            return
        raise Wrong("the session goes on")

    def syntax(self):
        equal(failure(lambda: self.session().batch("SELECT FROM")).number, 156,
              "error")

    def after_rows(self):
        problem = failure(lambda: self.session().batch(
            "SELECT 1 AS a UNION ALL SELECT 2 RAISERROR('late', 16, 1)"))
        equal(problem.message, "late", "error")
        rows = problem.results[0][1]
        equal([int(row[0]) for row in rows], [1, 2], "rows")

    def several(self):
        results = self.session().batch(
            "SELECT 1 AS a SELECT 2 AS b, 'x' AS c WHERE 1 = 0 "
            "SELECT n FROM dbo.rows(3)")
        equal([[int(row[0]) for row in rows] for _, rows in results],
              [[1], [], [1, 2, 3]])
        equal([list(names) for names, _ in results], [["a"], ["b", "c"], ["n"]],
              "names")

    def many_rows(self):
        rows = self.session().batch("SELECT n FROM dbo.rows(20000)")[0][1]
        equal([int(row[0]) for row in rows], list(range(1, 20001)))

    def messages_of(self, sql):
        session = self.session()
        session.messages.clear()
        session.batch(sql)
        return session.messages

    def print_(self):
        equal([told[0] for told in self.messages_of("PRINT N'zażółć'")],
              ["zażółć"], "messages")

    def info(self):
        equal(self.messages_of("RAISERROR('info %d', 5, 2, 42)"),
              [("info 42", 5, 2)], "messages")

    def cancelled(self, session, sql):
        """Runs sql, cancels it after 100 ms."""
        timer = threading.Timer(0.1, session.cancel)
        timer.start()
        begun = time.monotonic()
        try:
            session.batch(sql)
        except Exception:  # how a client tells of it is its own affair
            pass
        timer.join()
        equal(time.monotonic() - begun < 5, True, "in time")

    def cancel_wait(self):
        session = self.open()
        before = self.count("attentions")
        self.cancelled(session, "WAITFOR DELAY '00:00:10' SELECT 1")
        equal(self.count("attentions") - before, 1, "attentions")
        session.close()

    def cancel_usable(self):
        session = self.open()
        spid = self.spid(session)
        self.cancelled(session, "WAITFOR DELAY '00:00:10' SELECT 1")
        equal(self.spid(session), spid, "session")
        session.close()

    def big_from(self):
        text = self.scalar("SELECT REPLICATE(CAST('abcdefghij' AS "
                           f"varchar(max)), {BIG // 10})")
        equal(text == "abcdefghij" * (BIG // 10), True, "the same")

    def echo(self, session, length):
        """Sends a text, as a literal, and has it back."""
        sent = letters(length)
        n, back = session.batch(
            f"DECLARE @p varchar(max) = '{sent}' "
            "SELECT DATALENGTH(@p) AS n, @p AS v")[0][1][0]
        equal(int(n), length, "length")
        equal(back == sent, True, "the same")

    def big_to(self):
        self.echo(self.session(), BIG)

    def packets(self, size):
        """FreeTDS asks for 4096 bytes at least, and takes what it is told."""
        if size < 4096:
            self.command(f"fault msg=login packet-size {size}")
        session = self.open(packet_size=size)
        self.command("fault clear")
        equal(self.seen(self.spid(session))["packet_size"], size, "packet size")
        self.echo(session, 100000)
        text = self.scalar(
            "SELECT REPLICATE(CAST('ab' AS varchar(max)), 50000)", session)
        equal(text == "ab" * 50000, True, "the same")
        session.close()

    def many_logins(self):
        sessions, problems = [], []

        def login():
            try:
                sessions.append(self.open())
            except Exception as problem:  # told below
                problems.append(problem)

        threads = [threading.Thread(target=login) for _ in range(100)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        equal(problems[:1], [], "problem")
        equal(len({self.spid(session) for session in sessions}), 100, "sessions")
        for session in sessions:
            session.close()

    def each(self, kind, step):
        for value in values(self.script):
            if (kind == "output" and
                    value.kind in self.script["never output"]):
                continue
            yield (f"{kind}/{value.kind}/{value.label}",
                   lambda value=value: step(value))

    def common(self):
        """The steps that need no more than batches, as (name, function)."""
        yield "connect", self.connect
        # In this order: pymssql keeps the gravest error of all failed logins.
        yield "login/database", lambda: self.refused(4060, database="nosuch")
        yield "login/password", lambda: self.refused(18456, password="wrong")
        yield "select1", self.select1
        yield from self.each("value", self.column)
        yield "txn/commit", lambda: self.transaction(self.commit)
        yield "txn/rollback", lambda: self.transaction(self.rollback)
        yield "txn/save", self.save
        for level in range(1, 6):
            yield (f"txn/isolation/{level}",
                   lambda level=level: self.isolation(level))
        for severity in range(11, 21):
            yield (f"error/{severity}",
                   lambda severity=severity: self.error_of(severity))
        yield "error/syntax", self.syntax
        yield "error/after-rows", self.after_rows
        yield "results/several", self.several
        yield "results/rows", self.many_rows
        yield "message/print", self.print_
        yield "message/info", self.info
        yield "cancel/wait", self.cancel_wait
        yield "cancel/usable", self.cancel_usable
        yield "big/from", self.big_from
        yield "big/to", self.big_to
        yield "packet/512", lambda: self.packets(512)
        yield "packet/16383", lambda: self.packets(16383)
        yield "logins/100", self.many_logins
