/* SPDX-License-Identifier: MIT */
/* handoff_bounded.c - a running thread may take what comes back past those who wait, for
 * a while: whoever has waited for Handoff Bound is handed what comes back. */
#include "policy.h"
#include "strategy/handoff.h"

const struct weir__handoff_policy weir__handoff_bounded = {
    .name = "bounded",
    .heir = weir__handoff_openers_last,
    .overtaking = WEIR_OVERTAKE_BOUNDED,
    .openers = true,
};
