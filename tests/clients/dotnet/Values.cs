// SPDX-License-Identifier: MIT
// Values of steps.json as SqlClient takes and gives them.
using System.Data;
using System.Data.SqlTypes;
using System.Globalization;
using System.Text.Json;
using Microsoft.Data.SqlClient;

namespace Weir.Clients;

// A value of steps.json: its type, name, literal, and text or null.
sealed record Value(string Type, string Label, string Literal, string? Text)
{
    static readonly CultureInfo Plain = CultureInfo.InvariantCulture;

    string Base => Type.Split('(')[0];

    int[] Numbers => Type.Contains('(')
        ? [.. Type.Split('(')[1].TrimEnd(')').Split(',')
            .Select(text => text == "max" ? -1 : int.Parse(text, Plain))]
        : [];

    public static IEnumerable<Value> All(JsonElement script) =>
        from type in script.GetProperty("types").EnumerateObject()
        from value in type.Value.EnumerateObject()
        select new Value(type.Name, value.Name, value.Value[0].GetString()!,
            Wanted(value.Value[1]));

    static string? Wanted(JsonElement text) => text.ValueKind switch
    {
        JsonValueKind.Null => null,
        JsonValueKind.Object => string.Concat(Enumerable.Repeat(
            text.GetProperty("repeat").GetString(),
            text.GetProperty("times").GetInt32())),
        _ => text.GetString(),
    };

    SqlDbType DbType => Base switch
    {
        "numeric" => SqlDbType.Decimal,
        _ => Enum.Parse<SqlDbType>(Base, ignoreCase: true),
    };

    // A parameter of the type; with the value unless it is for output.
    public SqlParameter Parameter(string name, bool isOutput)
    {
        var parameter = new SqlParameter(name, DbType);
        var numbers = Numbers;
        switch (Base)
        {
            case "decimal" or "numeric":
                parameter.Precision = (byte)numbers[0];
                parameter.Scale = (byte)numbers[1];
                break;
            case "time" or "datetime2" or "datetimeoffset":
                parameter.Scale = (byte)numbers[0];
                break;
            case "text" or "ntext" or "image":
                parameter.Size = -1;
                break;
            default:
                parameter.Size = numbers.Length > 0 ? numbers[0] : 0;
                break;
        }
        if (isOutput)
        {
            parameter.Direction = ParameterDirection.Output;
        }
        else
        {
            parameter.Value = Text == null ? DBNull.Value : Native(Text);
        }
        return parameter;
    }

    object Native(string text) => Base switch
    {
        "bit" => text == "1",
        "tinyint" => byte.Parse(text, Plain),
        "smallint" => short.Parse(text, Plain),
        "int" => int.Parse(text, Plain),
        "bigint" => long.Parse(text, Plain),
        "real" => (float)double.Parse(text, Plain),
        "float" => double.Parse(text, Plain),
        "decimal" or "numeric" => SqlDecimal.ConvertToPrecScale(
            SqlDecimal.Parse(text), Numbers[0], Numbers[1]),
        "money" or "smallmoney" => decimal.Parse(text, Plain),
        "binary" or "varbinary" or "image" => Convert.FromHexString(text),
        "date" or "datetime" or "smalldatetime" or "datetime2" =>
            DateTime.Parse(text, Plain),
        "time" => TimeSpan.Parse(text, Plain),
        "datetimeoffset" => DateTimeOffset.Parse(text, Plain),
        "uniqueidentifier" => Guid.Parse(text),
        _ => text,
    };

    string Digits(int count) => count == 0 ? "" : "." + new string('f', count);

    // The text of what came, comparable with steps.json.
    string? Show(object got)
    {
        if (got is DBNull or INullable { IsNull: true })
        {
            return null;
        }
        return got switch
        {
            SqlBoolean value => value.Value ? "1" : "0",
            SqlDouble value => value.Value.ToString("R", Plain),
            SqlSingle value => ((double)value.Value).ToString("R", Plain),
            SqlMoney value => value.ToDecimal().ToString("F4", Plain),
            SqlBinary value => Convert.ToHexStringLower(value.Value),
            SqlBytes value => Convert.ToHexStringLower(value.Value),
            SqlChars value => new string(value.Value),
            SqlDateTime value => value.Value.ToString(
                Base == "datetime" ? "yyyy-MM-dd HH:mm:ss.fff"
                    : "yyyy-MM-dd HH:mm:ss", Plain),
            DateTime value => value.ToString(
                Base == "date" ? "yyyy-MM-dd"
                    : "yyyy-MM-dd HH:mm:ss" + Digits(Numbers[0]), Plain),
            TimeSpan value => new DateTime(value.Ticks).ToString(
                "HH:mm:ss" + Digits(Numbers[0]), Plain),
            DateTimeOffset value => value.ToString(
                "yyyy-MM-dd HH:mm:ss" + Digits(Numbers[0]) + " zzz", Plain),
            SqlGuid value => value.Value.ToString(),
            _ => Convert.ToString(got, Plain),
        };
    }

    bool Same(string? shown)
    {
        if (shown != null && Text != null && Base is "real" or "float")
        {
            return double.Parse(shown!, Plain) == double.Parse(Text!, Plain);
        }
        return shown == Text;
    }

    public void Check(object got)
    {
        var shown = Show(got);
        if (!Same(shown))
        {
            throw new WrongException(
                $"value is {Short(shown)}, not {Short(Text)}");
        }
    }

    static string Short(string? text) => text == null ? "NULL"
        : text.Length > 60 ? text[..60] + $"... of {text.Length}" : text;
}

// What a step says of a client or a server that did not do as it should.
sealed class WrongException(string message) : Exception(message);
