/* SPDX-License-Identifier: MIT */
/* handoff_queued.c - first come, first served: what comes back is handed to whoever has
 * waited longest.  Who opens a connection of its own goes on opening. */
#include "policy.h"
#include "strategy/handoff.h"

const struct weir__handoff_policy weir__handoff_queued = {
    .name = "queued",
    .heir = weir__handoff_waiting,
    .overtaking = WEIR_OVERTAKE_NEVER,
    .openers = false,
};
