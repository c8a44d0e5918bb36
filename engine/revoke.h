/* SPDX-License-Identifier: MIT */
/* revoke.h - taking leases away: at the end of an engine, and of a drain. */
#ifndef WEIR_REVOKE_H
#define WEIR_REVOKE_H

#include <stdint.h>

#include "pool.h"

/* Makes the handle of every lease of the pool stale.  A connection that no call
 * uses is closed at once; one in the middle of a call is interrupted and left to
 * that call, which finds its lease gone and closes it.  Returns how many leases
 * were taken; one that was taken before does not count.
 * Threads: any; no lock of rank CLEAR or after is held.  Blocks: no. */
uint32_t weir__revoke_leases(struct weir__pool *pool);

#endif
