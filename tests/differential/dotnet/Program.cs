// SPDX-License-Identifier: MIT
// Runs the statements of a JSON file through Microsoft.Data.SqlClient and prints
// one canonical JSON line for each (../README.md says what is in it).
//
// usage: sqlclient PORT STATEMENTS.json
using System.Collections.ObjectModel;
using System.Data.Common;
using System.Globalization;
using System.Text.Encodings.Web;
using System.Text.Json;
using System.Text.Json.Nodes;
using Microsoft.Data.SqlClient;

var options = new JsonSerializerOptions
{
    Encoder = JavaScriptEncoder.UnsafeRelaxedJsonEscaping,
};
var line = new JsonObject();
var connection = Connect();
var statements = JsonNode.Parse(File.ReadAllText(args[1]))!.AsArray();
foreach (var statement in statements)
{
    Run((string)statement!["id"]!, (string)statement["sql"]!);
    Console.WriteLine(line.ToJsonString(options));
}

SqlConnection Connect()
{
    var opened = new SqlConnection(
        $"Server=127.0.0.1,{args[0]};User ID=sa;Password=x;Encrypt=Optional;"
        + "TrustServerCertificate=true;Pooling=false");
    // Errors up to class 16 come in their order among the other messages.
    opened.FireInfoMessageEventOnUserErrors = true;
    opened.InfoMessage += (_, e) => Say(e.Errors);
    opened.Open();
    return opened;
}

void Say(SqlErrorCollection errors)
{
    foreach (SqlError error in errors)
    {
        line["messages"]!.AsArray().Add(new JsonObject
        {
            ["number"] = error.Number,
            ["class"] = error.Class,
            ["state"] = error.State,
            ["text"] = error.Message,
        });
    }
}

void Run(string id, string sql)
{
    line = new JsonObject
    {
        ["id"] = id,
        ["results"] = new JsonArray(),
        ["counts"] = new JsonArray(),
        ["messages"] = new JsonArray(),
    };
    using var command = new SqlCommand(sql, connection);
    command.StatementCompleted += (_, e) =>
        line["counts"]!.AsArray().Add(e.RecordCount);
    try
    {
        using var reader = command.ExecuteReader();
        do
        {
            if (reader.FieldCount != 0)
            {
                line["results"]!.AsArray().Add(ReadResult(reader));
            }
        }
        while (reader.NextResult());
    }
    catch (SqlException problem)
    {
        Say(problem.Errors);
    }
    catch (Exception problem)
    {
        // It has lost its place in what the server said, or misses an assembly.
        line["messages"]!.AsArray().Add("!" + problem.GetType().Name);
        connection.Dispose();
        connection = Connect();
    }
}

JsonObject ReadResult(SqlDataReader reader)
{
    var schema = reader.GetColumnSchema();
    var columns = new JsonArray();
    foreach (var column in schema)
    {
        columns.Add(new JsonObject
        {
            ["name"] = column.ColumnName,
            ["type"] = TypeOf(column),
        });
    }
    var rows = new JsonArray();
    while (reader.Read())
    {
        var row = new JsonArray();
        for (var i = 0; i < reader.FieldCount; i++)
        {
            row.Add(reader.IsDBNull(i) ? null : TryTextOf(reader, i, schema));
        }
        rows.Add(row);
    }
    return new JsonObject { ["columns"] = columns, ["rows"] = rows };
}

static string TypeOf(DbColumn column)
{
    var name = column.DataTypeName!;
    var size = name switch
    {
        "char" or "varchar" or "nchar" or "nvarchar" or "binary" or "varbinary"
            => column.ColumnSize == int.MaxValue ? "(max)"
                : $"({column.ColumnSize})",
        "decimal" or "numeric"
            => $"({column.NumericPrecision},{column.NumericScale})",
        "time" or "datetime2" or "datetimeoffset" => $"({column.NumericScale})",
        _ => "",
    };
    return name + size + (column.AllowDBNull == true ? " null" : "");
}

// What SqlClient refuses to give is told by the name of its exception.
static string TryTextOf(SqlDataReader reader, int i,
    ReadOnlyCollection<DbColumn> schema)
{
    try
    {
        return TextOf(reader, i, schema);
    }
    catch (Exception problem)
    {
        return "!" + problem.GetType().Name;
    }
}

static string TextOf(SqlDataReader reader, int i,
    ReadOnlyCollection<DbColumn> schema)
{
    var name = schema[i].DataTypeName!;
    var scale = schema[i].NumericScale ?? 0;
    var invariant = CultureInfo.InvariantCulture;
    var fraction = scale == 0 ? "" : "." + new string('f', scale);
    switch (name)
    {
        case "bit":
            return reader.GetBoolean(i) ? "1" : "0";
        case "decimal" or "numeric":
            return reader.GetSqlDecimal(i).ToString();
        case "money" or "smallmoney":
            return reader.GetDecimal(i).ToString("0.0000", invariant);
        case "real":
            return reader.GetFloat(i).ToString("R", invariant);
        case "float":
            return reader.GetDouble(i).ToString("R", invariant);
        case "date":
            return reader.GetDateTime(i).ToString("yyyy-MM-dd", invariant);
        case "smalldatetime":
            return reader.GetDateTime(i).ToString("yyyy-MM-dd HH:mm:ss",
                invariant);
        case "datetime":
            return reader.GetDateTime(i).ToString("yyyy-MM-dd HH:mm:ss.fff",
                invariant);
        case "datetime2":
            return reader.GetDateTime(i).ToString(
                "yyyy-MM-dd HH:mm:ss" + fraction, invariant);
        case "time":
            return reader.GetTimeSpan(i).ToString(
                "hh\\:mm\\:ss" + (scale == 0 ? ""
                    : "\\." + new string('f', scale)), invariant);
        case "datetimeoffset":
            return reader.GetDateTimeOffset(i).ToString(
                "yyyy-MM-dd HH:mm:ss" + fraction + " zzz", invariant);
        case "binary" or "varbinary" or "image" or "timestamp":
            return "0x" + Convert.ToHexString((byte[])reader.GetValue(i));
        case "uniqueidentifier":
            return reader.GetGuid(i).ToString().ToUpperInvariant();
        default:
            return reader.GetValue(i) switch
            {
                bool bit => bit ? "1" : "0",
                byte[] bytes => "0x" + Convert.ToHexString(bytes),
                var value => Convert.ToString(value, invariant)!,
            };
    }
}
