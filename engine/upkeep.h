/* SPDX-License-Identifier: MIT */
/* upkeep.h - which of a pool's idle connections leave it, and when.
 *
 *   idle     one that has been idle for Connection Idle Timeout is closed
 *   age      one that is older than Connection Lifetime is closed; where it is
 *            needed a replacement is opened first while the pool is below its
 *            maximum, else it is closed first
 *   surplus  what the pool has not needed for a whole Connection Idle Timeout
 *            (trim.h) is closed, the longest idle first
 *
 * None below Min Pool Size or Min Idle but for age, none while somebody waits, and
 * for idleness and age at most a tenth of the pool per tick (retire.h).  So a
 * connection that was needed in the last Connection Idle Timeout stays, the use of
 * the pool decides earlier than that how many of those that are used in turn are
 * too many, and a burst's connections do not log out all at once. */
#ifndef WEIR_UPKEEP_H
#define WEIR_UPKEEP_H

#include "pool.h"

/* On the reactor: looks at every place, closes what has to leave, and returns when
 * to look again; WEIR_NEVER: not before the pool grows. */
uint64_t weir__upkeep(struct weir__pool *pool, uint64_t now);

/* A session has begun to close: if that has brought the pool down to Min Pool Size,
 * a policy of Pool Trim may want to know at once.  mu held. */
void weir__upkeep_left_locked(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);

#endif
