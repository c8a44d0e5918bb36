/* SPDX-License-Identifier: MIT */
/* handoff_barging.c - what comes back is whoever's comes by first.  The first in line is
 * woken to try for it, and may find that others were sooner, as often as it likes.
 *
 * An acquire that does not block has no thread that could try.  Once it is the first
 * in line it is handed what comes back, so it is nobody's prey; behind callers who
 * block it waits as they do, and no longer: each of them that gets one, or gives
 * up, passes the turn on (dispatch.c). */
#include "policy.h"
#include "strategy/handoff.h"

const struct weir__handoff_policy weir__handoff_barging = {
    .name = "barging",
    .heir = weir__handoff_waiting,
    .overtaking = WEIR_OVERTAKE_ALWAYS,
    .openers = false,
};
