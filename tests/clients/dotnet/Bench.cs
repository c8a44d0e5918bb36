// SPDX-License-Identifier: MIT
// What the steps get: connections, and tdsd's control socket.
using System.Net.Sockets;
using System.Text;
using System.Text.Json;
using Microsoft.Data.SqlClient;

namespace Weir.Clients;

sealed class Bench(Dictionary<string, string> args)
{
    SqlConnection? shared;

    public JsonElement Script { get; } =
        JsonDocument.Parse(File.ReadAllText(args["steps"])).RootElement;

    public string? Token => args.GetValueOrDefault("token");

    // The settings of a connection as this mode wants them, without a pool.
    public SqlConnectionStringBuilder Settings()
    {
        var parts = args["tls"].Split('+');
        var settings = new SqlConnectionStringBuilder
        {
            DataSource = "tcp:127.0.0.1," + args["port"],
            UserID = "sa",
            Password = "x",
            HostNameInCertificate = "localhost",
            Pooling = false,
            ConnectTimeout = 20,
            Encrypt = SqlConnectionEncryptOption.Parse(parts[0]),
        };
        if (parts.Length > 1 && parts[1] == "trust")
        {
            settings.TrustServerCertificate = true;
        }
        if (parts.Length > 1 && parts[1] == "file")
        {
            settings.ServerCertificate = args["cert"];
        }
        return settings;
    }

    public async Task<SqlConnection> Open(
        Action<SqlConnectionStringBuilder>? change = null)
    {
        var settings = Settings();
        change?.Invoke(settings);
        var connection = new SqlConnection(settings.ConnectionString);
        try
        {
            await connection.OpenAsync();
            return connection;
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    // A connection that steps share as long as none of them fails.
    public async Task<SqlConnection> Session()
    {
        if (shared is not { State: System.Data.ConnectionState.Open })
        {
            Drop();
            shared = await Open();
        }
        return shared;
    }

    public void Drop()
    {
        shared?.Dispose();
        shared = null;
    }

    // One command to tdsd; its answer.
    public JsonElement Control(string command)
    {
        using var socket = new Socket(
            AddressFamily.Unix, SocketType.Stream, ProtocolType.Unspecified);
        socket.Connect(new UnixDomainSocketEndPoint(args["control"]));
        socket.Send(Encoding.ASCII.GetBytes(command + "\n"));
        using var reader = new StreamReader(new NetworkStream(socket));
        return JsonDocument.Parse(reader.ReadLine()!).RootElement;
    }

    public long Count(string counter) =>
        Control("stats").GetProperty(counter).GetInt64();

    // What tdsd knows of a session.
    public JsonElement Seen(long spid) => Control("sessions").EnumerateArray()
        .First(session => session.GetProperty("spid").GetInt64() == spid);
}
