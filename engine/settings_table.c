/* SPDX-License-Identifier: MIT */
/* The table of all settings.  Its order is that of canonical keys. */
#include <string.h>

#include "names.h"
#include "settings.h"
#include "sys/clock.h"

#define NS_S   WEIR_NS_PER_S
#define NS_MIN (60 * NS_S)
#define NS_H   (60 * NS_MIN)
#define AGES   (UINT64_C(2147483647) * NS_S) /* SqlClient's limit: 68 years */
#define BUILT  WEIR_SETTING_BUILT
#define LIVE   WEIR_SETTING_LIVE
#define SHAPES WEIR_SETTING_SHAPES
#define OFF    WEIR_SETTING_ZERO_OFF
#define SECRET WEIR_SETTING_PRIVATE
#define AT(f)  (uint32_t) offsetof(struct weir__settings, f)
#define YES_NO "true=lazy,yes=lazy,1=lazy,false=off,no=off,0=off"

/* Shapes of rows; what varies is the name, the texts and a few numbers. */
#define TIME(n, alias, def, lo, hi, fl, at, text) \
  { n, alias, "", "", def, text, lo, hi, WEIR_SETTING_TIME, fl, at }
#define COUNT(n, alias, def, lo, hi, fl, at, text) \
  { n, alias, "", "", def, text, lo, hi, WEIR_SETTING_COUNT, fl, at }
#define BOOL(n, def, fl, at, text) \
  { n, "", "", "", def, text, 0, 1, WEIR_SETTING_BOOL, fl, at }
/* built: highest choice that something acts on. */
#define CHOICE(n, list, syn, def, built, fl, at, text) \
  { n, "", list, syn, def, text, 0, built, WEIR_SETTING_CHOICE, fl, at }

static const struct weir__setting table[] = {
    {"Driver", "", "", "", "",
     "Name of the driver (letters, digits, _), or the absolute path of its "
     "file.",
     1, WEIR_SETTINGS_DRIVER_MAX, WEIR_SETTING_TEXT,
     BUILT | WEIR_SETTING_REQUIRED, AT(driver)},
    BOOL("Pooling",
         "true",
         BUILT | SHAPES,
         AT(pooling),
         "Keep connections for later; if false, each acquire opens one and "
         "each release closes it."),
    CHOICE("Pool Strategy",
           "direct,legacy,channel",
           "",
           "direct",
           2,
           BUILT | SHAPES,
           AT(strategy),
           "How the pool behaves: a preset over the policy settings."),
    COUNT("Min Pool Size",
          "Minimum Pool Size",
          "0",
          0,
          WEIR_SETTINGS_POOL_MAX,
          BUILT | SHAPES | LIVE,
          AT(min_pool_size),
          "Connections the pool keeps open when nobody needs them."),
    COUNT("Max Pool Size",
          "Maximum Pool Size",
          "100",
          1,
          WEIR_SETTINGS_POOL_MAX,
          BUILT | SHAPES | LIVE,
          AT(max_pool_size),
          "Most sessions the pool has at the server, those being opened and "
          "closed included."),
    TIME("Connect Timeout",
         "Connection Timeout,Timeout",
         "15 s",
         0,
         AGES,
         BUILT | LIVE | OFF,
         AT(connect_timeout_ns),
         "Longest an acquire waits, and longest a physical connect takes; 0 "
         "waits for ever, but one connect still ends after 15 s."),
    TIME("Command Timeout",
         "",
         "30 s",
         0,
         AGES,
         BUILT | LIVE | OFF,
         AT(command_timeout_ns),
         "Longest a request runs to its end; 0 sets no limit."),
    TIME("Connection Lifetime",
         "Load Balance Timeout",
         "0",
         0,
         AGES,
         BUILT | SHAPES | LIVE | OFF,
         AT(lifetime_ns),
         "Age at which a connection is closed instead of reused; 0 is never."),
    {"Lifetime Jitter", "", "", "", "10 %",
     "Share of Connection Lifetime by which a connection may end sooner.", 0,
     100, WEIR_SETTING_PERCENT, BUILT | SHAPES | LIVE, AT(lifetime_jitter)},
    TIME("Connection Idle Timeout",
         "",
         "300 s",
         0,
         AGES,
         BUILT | SHAPES | LIVE | OFF,
         AT(idle_timeout_ns),
         "Longest a connection lies idle before it is closed; 0 is never."),
    COUNT("Max Uses",
          "",
          "0",
          0,
          UINT32_MAX - 1,
          BUILT | SHAPES | LIVE | OFF,
          AT(max_uses),
          "Leases after which a connection is closed; 0 sets no limit."),
    CHOICE("Connection Reset",
           "lazy,verified,off",
           YES_NO,
           "lazy",
           2,
           BUILT | SHAPES,
           AT(reset),
           "Cleaning between users: with the next request, by a round trip "
           "before the next user, or never; true is lazy, false is off."),
    TIME("Close Timeout",
         "",
         "1 s",
         0,
         NS_H,
         BUILT | SHAPES | LIVE,
         AT(close_timeout_ns),
         "Wait for the server's end of a session that is closed; 0 cuts it "
         "off."),
    CHOICE("Startup",
           "background,lazy,require",
           "",
           "background",
           2,
           BUILT | SHAPES,
           AT(startup),
           "When Min Pool Size is filled: beside the first caller, not before "
           "the first acquire, or before the pool opens, which then fails if "
           "a connect fails."),
    COUNT("Max Waiters",
          "",
          "0",
          0,
          UINT32_MAX - 1,
          BUILT | SHAPES | LIVE | OFF,
          AT(max_waiters),
          "Acquires that may wait at once; one more is refused; 0 sets no "
          "limit."),
    TIME("Probe Window",
         "",
         "500 ms",
         0,
         NS_H,
         BUILT | SHAPES | LIVE,
         AT(probe_window_ns),
         "A connection used that recently is handed out without a look at "
         "its health."),
    COUNT("Max Concurrent Connects",
          "",
          "0",
          0,
          WEIR_SETTINGS_POOL_MAX,
          BUILT | SHAPES | LIVE | OFF,
          AT(max_connects),
          "Physical connects of the pool under way at once; 0 is Max Pool "
          "Size."),
    {"Credential", "", "", "", "0",
     "Handle of the credential to ask for a password or a token that the "
     "string "
     "does not give; 0 is none.",
     0, (UINT64_C(1) << 53) - 1, WEIR_SETTING_HANDLE, BUILT | SHAPES,
     AT(credential)},
    CHOICE("Pool Key",
           "canonical,exact",
           "",
           "canonical",
           1,
           BUILT,
           AT(key),
           "What makes two connection strings mean one pool: their meaning, "
           "or their text."),
    CHOICE(
        "Connect Timeout Scope",
        "overall,per-phase",
        "",
        "overall",
        1,
        BUILT | SHAPES,
        AT(timeout_scope),
        "Whether wait and login share one Connect Timeout, or a connect has a "
        "whole one from when it begins."),
    CHOICE(
        "Idle Expiry",
        "enforced,sqlclient",
        "",
        "enforced",
        1,
        BUILT | SHAPES,
        AT(idle_expiry),
        "Whether Connection Idle Timeout is acted on; sqlclient: only surplus "
        "is closed, as Pool Trim says."),
    COUNT("Min Idle",
          "",
          "0",
          0,
          WEIR_SETTINGS_POOL_MAX,
          BUILT | SHAPES | LIVE,
          AT(min_idle),
          "Idle connections the pool keeps ready while it is below Max Pool "
          "Size."),
    TIME("Keepalive Interval",
         "",
         "0",
         WEIR_NS_PER_MS,
         AGES,
         BUILT | SHAPES | LIVE | OFF,
         AT(keepalive_ns),
         "Time after which an idle connection is pinged, less or more 10 %; 0 "
         "is "
         "never."),
    CHOICE("Pool Blocking Period",
           "auto,always,never",
           "AlwaysBlock=always,NeverBlock=never",
           "auto",
           2,
           BUILT | SHAPES,
           AT(blocking_period),
           "Whether acquires fail at once while the server is down."),
    BOOL("Enlist",
         "true",
         SHAPES,
         AT(enlist),
         "Whether an acquire inside a transaction joins it."),
    CHOICE("Transaction Binding",
           "Implicit Unbind,Explicit Unbind",
           "",
           "Implicit Unbind",
           0,
           SHAPES,
           AT(txn_binding),
           "Whether a connection leaves its transaction when that ends."),
    {"Session Init", "", "", "", "",
     "SQL that runs after login and after each reset, at the cost of a round "
     "trip for each lease that ran something.",
     0, WEIR_SETTINGS_SQL_MAX, WEIR_SETTING_TEXT, BUILT | SHAPES | SECRET,
     AT(session_init)},
    TIME("Handoff Bound",
         "",
         "1.5 ms",
         0,
         NS_S,
         BUILT | SHAPES | LIVE,
         AT(handoff_bound_ns),
         "Longest that running threads overtake a waiter under Pool "
         "Handoff=bounded."),
    BOOL("Clear On Failover",
         "true",
         BUILT | SHAPES,
         AT(clear_on_failover),
         "Whether the pool is cleared when the server changes its role."),
    CHOICE("Pool Idle Order",
           "affinity,lifo,fifo",
           "",
           "affinity",
           2,
           BUILT | SHAPES,
           AT(idle_order),
           "Which idle connection is handed out first."),
    CHOICE("Pool Growth",
           "adaptive,serial,parallel",
           "",
           "adaptive",
           2,
           BUILT | SHAPES,
           AT(growth),
           "How many connects waiting acquires start: as many as returns are "
           "predicted not to make up for, one at a time, or one each."),
    CHOICE(
        "Pool Handoff",
        "bounded,direct,barging,queued",
        "",
        "bounded",
        3,
        BUILT | SHAPES,
        AT(handoff),
        "Who gets a connection that comes back: bounded, who is running or "
        "whoever has waited for Handoff Bound; direct and queued, the oldest "
        "waiter, for queued never one that opens its own; barging, whoever "
        "is there first."),
    CHOICE(
        "Pool Trim",
        "peak,sweep,median",
        "",
        "peak",
        2,
        BUILT | SHAPES,
        AT(trim),
        "How surplus connections are found: by the peak of use, by a sweep "
        "over those not used since the last, or by the median of idle ones."),
    CHOICE("Pool Failure",
           "breaker,all,one",
           "",
           "breaker",
           2,
           BUILT | SHAPES,
           AT(failure),
           "Who is told when a connect fails: who cannot be helped by another "
           "attempt, all who wait, or its caller and one more."),
    CHOICE(
        "Pool Async",
        "queue,dispatcher",
        "",
        "queue",
        1,
        BUILT | SHAPES,
        AT(async),
        "How acquires that do not block wait: in the line of all, or one at a "
        "time behind a dispatcher."),
    CHOICE("Queue Policy",
           "fifo,codel",
           "",
           "fifo",
           1,
           BUILT | SHAPES,
           AT(queue_policy),
           "Who is refused under overload: nobody, or those who have waited "
           "for a tenth of their time-out in a queue that stands."),
    COUNT("Connect Rate",
          "",
          "0",
          0,
          1000000,
          BUILT | SHAPES | LIVE | OFF,
          AT(connect_rate),
          "Physical connects per second; 0 sets no limit."),
    COUNT("Connect Burst",
          "",
          "1",
          1,
          WEIR_SETTINGS_POOL_MAX,
          BUILT | SHAPES | LIVE,
          AT(connect_burst),
          "Connects that Connect Rate lets through at once."),
    COUNT("Endpoint Max Connections",
          "",
          "0",
          0,
          UINT32_MAX - 1,
          BUILT | SHAPES | LIVE | OFF,
          AT(endpoint_max),
          "Most sessions of all pools of the engine at one server; 0 sets no "
          "limit."),
    TIME("Lease Timeout",
         "",
         "0",
         0,
         AGES,
         SHAPES | LIVE | OFF,
         AT(lease_timeout_ns),
         "Age at which a lease is taken away; 0 is never."),
    TIME("Leak Report After",
         "",
         "0",
         0,
         AGES,
         SHAPES | LIVE | OFF,
         AT(leak_report_ns),
         "Age at which a lease is reported; 0 is never."),
};

#define N_TABLE (sizeof table / sizeof table[0])

const struct weir__setting *weir__settings_table(uint32_t *out_n) {
  *out_n = (uint32_t)N_TABLE;
  return table;
}

const struct weir__setting *weir__settings_find(const char *name, size_t len) {
  for (size_t i = 0; i < N_TABLE; i++) {
    if (weir__names_equal(name, len, table[i].name, strlen(table[i].name)) ||
        weir__names_listed(name, len, table[i].aliases,
                           strlen(table[i].aliases))) {
      return &table[i];
    }
  }
  return NULL;
}
