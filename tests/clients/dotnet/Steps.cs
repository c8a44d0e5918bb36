// SPDX-License-Identifier: MIT
// The steps themselves, by name, in the order of steps.json.
using System.Data;
using Microsoft.Data.SqlClient;

namespace Weir.Clients;

sealed partial class Steps(Bench bench)
{
    const int Big = 10 * 1024 * 1024;

    static void Equal<T>(T got, T wanted, string what = "value")
    {
        if (!EqualityComparer<T>.Default.Equals(got, wanted))
        {
            throw new WrongException($"{what} is {got}, not {wanted}");
        }
    }

    static SqlCommand Command(SqlConnection session, string sql)
    {
        var command = session.CreateCommand();
        command.CommandText = sql;
        command.CommandTimeout = 30;
        return command;
    }

    static async Task<object?> Scalar(
        SqlConnection session, string sql, SqlTransaction? transaction = null)
    {
        using var command = Command(session, sql);
        command.Transaction = transaction;
        return await command.ExecuteScalarAsync();
    }

    static async Task Run(SqlConnection session, string sql)
    {
        using var command = Command(session, sql);
        await command.ExecuteNonQueryAsync();
    }

    static async Task<SqlException> Failure(Func<Task> work)
    {
        try
        {
            await work();
        }
        catch (SqlException problem)
        {
            return problem;
        }
        throw new WrongException("no error came");
    }

    // All results as rows joined by bars, each result after its column names.
    static async Task<string> Results(SqlDataReader reader)
    {
        var lines = new List<string>();
        do
        {
            lines.Add("[" + string.Join(",", Enumerable.Range(
                0, reader.FieldCount).Select(reader.GetName)) + "]");
            while (await reader.ReadAsync())
            {
                lines.Add(string.Join(",", Enumerable.Range(
                    0, reader.FieldCount).Select(i => reader.GetValue(i))));
            }
        }
        while (await reader.NextResultAsync());
        return string.Join("|", lines);
    }

    async Task Connect()
    {
        using var session = await bench.Open(
            settings => settings.InitialCatalog = "weir");
        Equal(session.Database, "weir", "database");
        Equal(await Scalar(session, "SELECT SUSER_SNAME()"), "sa", "login");
        Equal((await Scalar(session, "SELECT @@SPID"))?.ToString(),
            session.ServerProcessId.ToString(), "session");
    }

    async Task Refused(Action<SqlConnectionStringBuilder> change, int number)
    {
        var problem = await Failure(() => bench.Open(change));
        Equal(problem.Number, number, "error");
    }

    async Task Select1()
    {
        using var command = Command(await bench.Session(), "SELECT 1 AS one");
        using var reader = await command.ExecuteReaderAsync();
        Equal(await Results(reader), "[one]|1");
    }

    async Task AsColumn(Value value)
    {
        using var command = Command(await bench.Session(),
            $"SELECT CAST({value.Literal} AS {value.Type}) AS v");
        using var reader = await command.ExecuteReaderAsync();
        Equal(await reader.ReadAsync(), true, "row");
        value.Check(reader.GetProviderSpecificValue(0));
    }

    async Task AsParameter(Value value)
    {
        using var command = Command(await bench.Session(), "SELECT @p AS v");
        command.Parameters.Add(value.Parameter("@p", false));
        using var reader = await command.ExecuteReaderAsync();
        Equal(await reader.ReadAsync(), true, "row");
        value.Check(reader.GetProviderSpecificValue(0));
    }

    async Task AsOutput(Value value)
    {
        using var command = Command(await bench.Session(),
            $"SET @o = CAST({value.Literal} AS {value.Type})");
        var parameter = command.Parameters.Add(value.Parameter("@o", true));
        await command.ExecuteNonQueryAsync();
        value.Check(parameter.SqlValue);
    }

    async Task SeveralParameters()
    {
        using var command = Command(await bench.Session(),
            "SELECT @a, @b, @c, @d, @e, @f, @g, @h, @i, @j");
        object[] values = [1, 2L, "trzy", 4.5, true, DBNull.Value, "sześć",
            (byte)7, 8.25m, (short)-9];
        for (var i = 0; i < values.Length; i++)
        {
            command.Parameters.Add(
                new SqlParameter("@" + (char)('a' + i), values[i]));
        }
        using var reader = await command.ExecuteReaderAsync();
        Equal(await reader.ReadAsync(), true, "row");
        for (var i = 0; i < values.Length; i++)
        {
            Equal(reader.GetValue(i), values[i]);
        }
    }

    static SqlCommand Prepared(SqlConnection session, string sql)
    {
        var command = Command(session, sql);
        command.Parameters.Add("@a", SqlDbType.Int);
        command.Parameters.Add("@b", SqlDbType.NVarChar, 50);
        command.Prepare();
        return command;
    }

    static async Task<string> RunPrepared(SqlCommand command, object a, object b)
    {
        command.Parameters[0].Value = a;
        command.Parameters[1].Value = b;
        using var reader = await command.ExecuteReaderAsync();
        return await Results(reader);
    }

    async Task PrepareExecute()
    {
        var session = await bench.Session();
        using (var command = Prepared(session, "SELECT @a + 1 AS a, @b AS b"))
        {
            Equal(await RunPrepared(command, 1, "ż"), "[a,b]|2,ż");
            Equal(await RunPrepared(command, 41, DBNull.Value), "[a,b]|42,");
            Equal(await RunPrepared(command, DBNull.Value, ""), "[a,b]|,");
        }
        Equal(await Scalar(session, "SELECT 5"), 5);
    }

    async Task PrepareError()
    {
        using var command = Prepared(
            await bench.Session(), "SELECT 10 / @a AS a, @b AS b");
        var problem = await Failure(() => RunPrepared(command, 0, "x"));
        Equal(problem.Number, 8134, "error");
        Equal(await RunPrepared(command, 5, "y"), "[a,b]|2,y");
    }

    async Task Bulk()
    {
        var table = new DataTable();
        table.Columns.Add("a", typeof(int));
        table.Rows.Add(1);
        using var bulk = new SqlBulkCopy(await bench.Session());
        bulk.DestinationTableName = "loaded";
        await bulk.WriteToServerAsync(table);
    }

    async Task Token()
    {
        if (bench.Token == null)
        {
            throw new WrongException("tdsd was given no token");
        }
        var settings = bench.Settings();
        settings.Remove("User ID");
        settings.Remove("Password");
        using var session = new SqlConnection(settings.ConnectionString);
        session.AccessToken = bench.Token;
        await session.OpenAsync();
        Equal(await Scalar(session, "SELECT 1"), 1);
    }

    string[] NeverOutput => [.. bench.Script.GetProperty("never output")
        .EnumerateArray().Select(type => type.GetString()!)];

    IEnumerable<(string, Func<Task>)> Each(string kind, Func<Value, Task> step) =>
        Value.All(bench.Script).Select(value => (
            $"{kind}/{value.Type}/{value.Label}",
            (Func<Task>)(() => step(value))));

    // Every step with its name.
    public IEnumerable<(string Name, Func<Task> Step)> All() =>
    [
        ("connect", Connect),
        ("login/password", () => Refused(s => s.Password = "wrong", 18456)),
        ("login/database", () => Refused(s => s.InitialCatalog = "nosuch", 4060)),
        ("select1", Select1),
        .. Each("value", AsColumn),
        .. Each("param", AsParameter),
        .. Each("output", AsOutput).Where(
            step => !NeverOutput.Any(type => step.Item1.Contains($"/{type}/"))),
        ("param/several", SeveralParameters),
        ("prepare/execute", PrepareExecute),
        ("prepare/error", PrepareError),
        ("txn/commit", Commit),
        ("txn/rollback", Rollback),
        ("txn/save", Save),
        ("txn/isolation/1", () => Isolation(1, IsolationLevel.ReadUncommitted)),
        ("txn/isolation/2", () => Isolation(2, IsolationLevel.ReadCommitted)),
        ("txn/isolation/3", () => Isolation(3, IsolationLevel.RepeatableRead)),
        ("txn/isolation/4", () => Isolation(4, IsolationLevel.Serializable)),
        ("txn/isolation/5", () => Isolation(5, IsolationLevel.Snapshot)),
        .. Enumerable.Range(11, 10).Select(severity => (
            $"error/{severity}", (Func<Task>)(() => ErrorOf(severity)))),
        ("error/syntax", SyntaxError),
        ("error/after-rows", ErrorAfterRows),
        ("results/several", SeveralResults),
        ("results/rows", ManyRows),
        ("message/print", Print),
        ("message/info", Info),
        ("message/order", Order),
        ("cancel/wait", CancelWait),
        ("cancel/usable", CancelUsable),
        ("cancel/rows", CancelRows),
        ("cancel/timeout", Timeout),
        ("reset", Reset),
        ("reset/transaction", ResetTransaction),
        ("big/from", BigFrom),
        ("big/to", BigTo),
        ("packet/512", () => Packets(512)),
        ("packet/16383", () => Packets(16383)),
        ("logins/100", ManyLogins),
        ("bulk", Bulk),
        ("token", Token),
    ];
}
