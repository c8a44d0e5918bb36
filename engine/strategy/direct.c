/* SPDX-License-Identifier: MIT */
/* direct.c - the engine's own: a connection goes back to whom it serves best, and one
 * more is opened only where that is predicted to be sooner.  The settings table
 * holds its defaults. */
#include <stddef.h>

#include "strategy.h"

const struct weir__strategy weir__strategy_direct = {
    .name = "direct",
    .presets = NULL,
    .n = 0,
};
