// SPDX-License-Identifier: MIT
// The steps about transactions, errors, messages, cancelling, pools and sizes.
using System.Data;
using Microsoft.Data.SqlClient;

namespace Weir.Clients;

sealed partial class Steps
{
    static Task<object?> Depth(SqlConnection session, SqlTransaction? within) =>
        Scalar(session, "SELECT @@TRANCOUNT", within);

    async Task Commit()
    {
        var session = await bench.Session();
        using var transaction = session.BeginTransaction();
        Equal(await Depth(session, transaction), 1, "depth");
        transaction.Commit();
        Equal(await Depth(session, null), 0, "depth");
    }

    async Task Rollback()
    {
        var session = await bench.Session();
        using var transaction = session.BeginTransaction();
        Equal(await Depth(session, transaction), 1, "depth");
        transaction.Rollback();
        Equal(await Depth(session, null), 0, "depth");
    }

    async Task Save()
    {
        var session = await bench.Session();
        using var transaction = session.BeginTransaction("outer");
        transaction.Save("here");
        transaction.Rollback("here");
        Equal(await Depth(session, transaction), 1, "depth");
        transaction.Commit();
        Equal(await Depth(session, null), 0, "depth");
    }

    async Task Isolation(int level, IsolationLevel isolation)
    {
        using var session = await bench.Open();
        using var transaction = session.BeginTransaction(isolation);
        var seen = bench.Seen(session.ServerProcessId);
        Equal(seen.GetProperty("isolation").GetInt32(), level, "isolation");
        Equal(seen.GetProperty("trancount").GetInt32(), 1, "depth");
        transaction.Commit();
    }

    async Task ErrorOf(int severity)
    {
        using var session = await bench.Open();
        var log = severity > 18 ? " WITH LOG" : "";
        var problem = await Failure(() => Run(session,
            $"RAISERROR(N'class {severity} ż', {severity}, 3){log}"));
        var error = problem.Errors[0];
        Equal((error.Number, (int)error.Class, (int)error.State, error.Message),
            (50000, severity, 3, $"class {severity} ż"), "error");
        if (severity >= 20)
        {
            Equal(session.State, ConnectionState.Closed, "connection");
        }
        else
        {
            Equal(await Scalar(session, "SELECT 7"), 7);
        }
    }

    async Task SyntaxError()
    {
        var session = await bench.Session();
        var problem = await Failure(() => Run(session, "SELECT FROM"));
        Equal(problem.Number, 156, "error");
    }

    async Task ErrorAfterRows()
    {
        using var command = Command(await bench.Session(),
            "SELECT 1 AS a UNION ALL SELECT 2 RAISERROR('late', 16, 1)");
        using var reader = await command.ExecuteReaderAsync();
        var sum = 0;
        var problem = await Failure(async () =>
        {
            while (await reader.ReadAsync())
            {
                sum += reader.GetInt32(0);
            }
            await reader.NextResultAsync();
        });
        Equal((sum, problem.Message), (3, "late"));
    }

    async Task SeveralResults()
    {
        using var command = Command(await bench.Session(), @"SELECT 1 AS a
            SELECT 2 AS b, 'x' AS c WHERE 1 = 0
            SELECT n FROM dbo.rows(3)");
        using var reader = await command.ExecuteReaderAsync();
        Equal(await Results(reader), "[a]|1|[b,c]|[n]|1|2|3");
    }

    async Task ManyRows()
    {
        using var command = Command(
            await bench.Session(), "SELECT n FROM dbo.rows(20000)");
        using var reader = command.ExecuteReader();
        long rows = 0;
        while (reader.Read())
        {
            Equal(Convert.ToInt64(reader.GetValue(0)), ++rows, "row");
        }
        Equal(rows, 20000, "rows");
    }

    // Runs with the messages that come collected.
    async Task<List<SqlError>> Messages(Func<SqlConnection, Task> work)
    {
        var session = await bench.Session();
        var messages = new List<SqlError>();
        void Take(object sender, SqlInfoMessageEventArgs args) =>
            messages.AddRange(args.Errors.Cast<SqlError>());
        session.InfoMessage += Take;
        try
        {
            await work(session);
        }
        finally
        {
            session.InfoMessage -= Take;
        }
        return messages;
    }

    async Task Print()
    {
        var messages = await Messages(s => Run(s, "PRINT N'zażółć'"));
        Equal(string.Join("|", messages.Select(m => m.Message)), "zażółć");
    }

    async Task Info()
    {
        var messages = await Messages(
            s => Run(s, "RAISERROR('info %d', 5, 2, 42)"));
        Equal(messages.Count, 1, "messages");
        Equal((messages[0].Message, (int)messages[0].Class,
            (int)messages[0].State), ("info 42", 5, 2));
    }

    async Task Order()
    {
        var events = new List<string>();
        var session = await bench.Session();
        void Take(object sender, SqlInfoMessageEventArgs args) =>
            events.Add(args.Message);
        session.InfoMessage += Take;
        using var command = Command(
            session, "SELECT 1 PRINT 'between' SELECT 2");
        using (var reader = await command.ExecuteReaderAsync())
        {
            do
            {
                while (await reader.ReadAsync())
                {
                    events.Add(reader.GetInt32(0).ToString());
                }
            }
            while (await reader.NextResultAsync());
        }
        session.InfoMessage -= Take;
        Equal(string.Join("|", events), "1|between|2", "order");
    }

    async Task CancelWait()
    {
        var session = await bench.Session();
        var before = bench.Count("attentions");
        var begun = Environment.TickCount64;
        using var command = Command(
            session, "WAITFOR DELAY '00:00:10' SELECT 1");
        var running = Failure(() => Task.Run(() => command.ExecuteScalar()));
        await Task.Delay(100);
        command.Cancel();
        Equal((await running).Message.Contains("cancelled by user"), true,
            "error");
        Equal(Environment.TickCount64 - begun < 5000, true, "in time");
        Equal(bench.Count("attentions") - before, 1, "attentions");
    }

    async Task CancelUsable()
    {
        var session = await bench.Session();
        var spid = await Scalar(session, "SELECT @@SPID");
        using var command = Command(
            session, "WAITFOR DELAY '00:00:10' SELECT @p");
        command.Parameters.AddWithValue("@p", 1);
        using var limit = new CancellationTokenSource(100);
        try
        {
            await command.ExecuteScalarAsync(limit.Token);
            throw new WrongException("no error came");
        }
        catch (Exception problem)
            when (problem is SqlException or OperationCanceledException)
        {
        }
        Equal(await Scalar(session, "SELECT @@SPID"), spid, "session");
    }

    async Task CancelRows()
    {
        var session = await bench.Session();
        using (var command = Command(session, "SELECT n FROM dbo.rows(150000)"))
        using (var reader = await command.ExecuteReaderAsync())
        {
            for (var i = 0; i < 50; i++)
            {
                Equal(await reader.ReadAsync(), true, "row");
            }
            command.Cancel();
        }
        Equal(await Scalar(session, "SELECT 3"), 3);
    }

    async Task Timeout()
    {
        var session = await bench.Session();
        using var command = Command(session, "WAITFOR DELAY '00:00:10'");
        command.CommandTimeout = 1;
        var problem = await Failure(() => command.ExecuteNonQueryAsync());
        Equal(problem.Number, -2, "error");
        Equal(await Scalar(session, "SELECT 4"), 4);
    }

    static void OneInPool(SqlConnectionStringBuilder settings)
    {
        settings.Pooling = true;
        settings.MaxPoolSize = 1;
        settings.InitialCatalog = "weir";
    }

    async Task Reset()
    {
        object? spid;
        using (var session = await bench.Open(OneInPool))
        {
            spid = await Scalar(session, "SELECT @@SPID");
            await Run(session, "USE tempdb SET DATEFIRST 3");
        }
        var before = bench.Count("resets");
        using (var session = await bench.Open(OneInPool))
        {
            Equal(session.Database, "weir", "database as the client sees it");
            using var command = Command(
                session, "SELECT @@SPID AS s, DB_NAME() AS d, @@DATEFIRST AS f");
            using var reader = await command.ExecuteReaderAsync();
            Equal(await Results(reader), $"[s,d,f]|{spid},weir,7");
            Equal(bench.Count("resets") - before, 1, "resets");
            SqlConnection.ClearPool(session);
        }
    }

    async Task ResetTransaction()
    {
        object? spid;
        using (var session = await bench.Open(OneInPool))
        {
            spid = await Scalar(session, "SELECT @@SPID");
            await Run(session, "BEGIN TRAN");
        }
        using (var session = await bench.Open(OneInPool))
        {
            Equal(await Depth(session, null), 0, "depth");
            Equal(await Scalar(session, "SELECT @@SPID"), spid, "session");
            SqlConnection.ClearPool(session);
        }
    }

    // Large values are read synchronously: SqlClient's asynchronous reading begins
    // a value anew with each packet, which takes minutes for 10 MB.
    async Task BigFrom()
    {
        using var command = Command(await bench.Session(),
            "SELECT REPLICATE(CAST('abcdefghij' AS varchar(max)), "
            + $"{Big / 10})");
        var text = command.ExecuteScalar();
        Equal(text is string got && got == string.Concat(
            Enumerable.Repeat("abcdefghij", Big / 10)), true, "the same");
    }

    static void Echo(SqlConnection session, int length)
    {
        var bytes = new byte[length];
        for (var i = 0; i < length; i++)
        {
            bytes[i] = (byte)(i * 7 + (i >> 8));
        }
        using var command = Command(
            session, "SELECT DATALENGTH(@p) AS n, @p AS v");
        command.Parameters.Add("@p", SqlDbType.VarBinary, -1).Value = bytes;
        using var reader = command.ExecuteReader();
        Equal(reader.Read(), true, "row");
        Equal(Convert.ToInt64(reader.GetValue(0)), length, "length");
        Equal(reader.GetFieldValue<byte[]>(1).AsSpan().SequenceEqual(bytes), true,
            "the same");
    }

    async Task BigTo() => Echo(await bench.Session(), Big);

    async Task Packets(int size)
    {
        using var session = await bench.Open(s => s.PacketSize = size);
        Equal(bench.Seen(session.ServerProcessId).GetProperty("packet_size")
            .GetInt32(), size, "packet size");
        Equal(session.PacketSize, size, "packet size as the client sees it");
        Echo(session, 100000);
        using var command = Command(session,
            "SELECT REPLICATE(CAST('ab' AS varchar(max)), 50000)");
        Equal(command.ExecuteScalar(),
            string.Concat(Enumerable.Repeat("ab", 50000)));
    }

    async Task ManyLogins()
    {
        static void Pool(SqlConnectionStringBuilder settings)
        {
            settings.Pooling = true;
            settings.MaxPoolSize = 100;
        }
        var sessions = await Task.WhenAll(
            Enumerable.Range(0, 100).Select(_ => bench.Open(Pool)));
        var spids = await Task.WhenAll(sessions.Select(
            session => Scalar(session, "SELECT @@SPID")));
        Equal(spids.Distinct().Count(), 100, "sessions");
        SqlConnection.ClearPool(sessions[0]);
        foreach (var session in sessions)
        {
            session.Dispose();
        }
    }
}
