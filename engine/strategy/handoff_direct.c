/* SPDX-License-Identifier: MIT */
/* handoff_direct.c - what comes back is handed to whoever has waited longest; nothing is
 * thrown into a crowd. */
#include "policy.h"
#include "strategy/handoff.h"

const struct weir__handoff_policy weir__handoff_direct = {
    .name = "direct",
    .heir = weir__handoff_openers_last,
    .overtaking = WEIR_OVERTAKE_NEVER,
    .openers = true,
};
