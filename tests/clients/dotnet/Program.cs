// SPDX-License-Identifier: MIT
// Microsoft.Data.SqlClient through the steps of steps.json against a tdsd that
// runs already.
//
// usage: sqlclient --port N --tls SETTING --cert FILE --control SOCKET
//          --steps FILE [--only GLOB]
//
// SETTING is optional, mandatory or strict, then +trust (any certificate), +ca
// (SSL_CERT_FILE names the authority) or +file (exactly that certificate).
// Prints "ok STEP" or "not ok STEP: why" for each step, "N passed, N failed" last.
using System.Text.RegularExpressions;

namespace Weir.Clients;

static class Program
{
    static readonly TimeSpan Limit = TimeSpan.FromSeconds(40);

    static async Task<int> Main(string[] argv)
    {
        var args = new Dictionary<string, string> { ["only"] = "*" };
        for (var i = 0; i + 1 < argv.Length; i += 2)
        {
            args[argv[i].TrimStart('-')] = argv[i + 1];
        }
        var only = new Regex("^" + Regex.Escape(args["only"])
            .Replace("\\*", ".*") + "$");
        var bench = new Bench(args);
        int passed = 0, failed = 0;
        foreach (var (name, step) in new Steps(bench).All())
        {
            if (!only.IsMatch(name))
            {
                continue;
            }
            if (await Run(bench, name, step))
            {
                passed++;
            }
            else
            {
                failed++;
            }
        }
        Console.WriteLine($"{passed} passed, {failed} failed");
        return 0;
    }

    static async Task<bool> Run(Bench bench, string name, Func<Task> step)
    {
        try
        {
            await Task.Run(step).WaitAsync(Limit);
            Console.WriteLine($"ok {name}");
            return true;
        }
        catch (Exception problem)
        {
            // The innermost says it best.
            var text = problem.GetType().Name + " "
                + problem.GetBaseException().Message + " / " + problem.Message;
            text = text.ReplaceLineEndings(" ");
            Console.WriteLine(
                $"not ok {name}: {text[..Math.Min(text.Length, 400)]}");
            bench.Drop();
            return false;
        }
    }
}
