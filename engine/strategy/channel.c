/* SPDX-License-Identifier: MIT */
/* channel.c - SqlClient's Pool V2: every caller opens for itself, and one line for all,
 * first come, first served. */
#include "strategy.h"

static const struct weir__preset presets[] = {
    {"Pool Idle Order", "fifo"},
    {"Pool Growth", "parallel"},
    {"Pool Handoff", "queued"},
    {"Pool Trim", "median"},
    {"Pool Failure", "one"},
    {"Pool Async", "queue"},
    {"Connect Timeout Scope", "per-phase"},
    {"Idle Expiry", "sqlclient"},
    {"Probe Window", "5 ms"},
    {"Lifetime Jitter", "0 %"},
};

const struct weir__strategy weir__strategy_channel = {
    .name = "channel",
    .presets = presets,
    .n = sizeof presets / sizeof presets[0],
};
