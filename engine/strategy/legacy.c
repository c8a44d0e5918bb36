/* SPDX-License-Identifier: MIT */
/* legacy.c - the pool that Microsoft.Data.SqlClient 7.1 uses unless told otherwise: one
 * connect at a time, whoever comes first takes what is there, and all fail when a
 * connect does. */
#include "strategy.h"

static const struct weir__preset presets[] = {
    {"Pool Idle Order", "lifo"},
    {"Pool Growth", "serial"},
    {"Pool Handoff", "barging"},
    {"Pool Trim", "sweep"},
    {"Pool Failure", "all"},
    {"Pool Async", "dispatcher"},
    {"Connect Timeout Scope", "per-phase"},
    {"Idle Expiry", "sqlclient"},
    {"Probe Window", "5 ms"},
    {"Lifetime Jitter", "0 %"},
};

const struct weir__strategy weir__strategy_legacy = {
    .name = "legacy",
    .presets = presets,
    .n = sizeof presets / sizeof presets[0],
};
