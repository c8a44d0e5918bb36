/* SPDX-License-Identifier: MIT */
/* shed.h - Queue Policy=codel on a pool: who waits too long in a queue that stands
 * is refused, so that others are served in time.
 *
 * Never while there are places for more connections, because then the pool grows;
 * nor while it is paused, or draining.  With Queue Policy=fifo there is no struct
 * weir__shed, and all of this costs a comparison. */
#ifndef WEIR_SHED_H
#define WEIR_SHED_H

#include <stdint.h>

#include "codel.h"
#include "pool.h"

/* Guarded by the pool's mutex. */
struct weir__shed {
  struct weir__codel codel;
  uint64_t told; /* when the reactor will look; WEIR_NEVER: not at all */
};

/* Of a new pool with Queue Policy=codel; NULL: no memory. */
struct weir__shed *weir__shed_new(void);

/* A node is about to be served: refuses those at the head of the line whose time is
 * over, as far as there is room in *wakes.  mu held. */
void weir__shed_head_locked(struct weir__pool *pool,
                            uint64_t now,
                            struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu);

/* A node is put in line behind all others, or has come to be in it.  mu held. */
void weir__shed_queues_locked(struct weir__pool *pool, uint64_t now)
    WEIR_REQUIRES(pool->mu);
void weir__shed_queued_locked(struct weir__pool *pool,
                              const struct weir__waiter *w)
    WEIR_REQUIRES(pool->mu);

/* A node is served after that wait; a pool that was held goes on.  mu held. */
void weir__shed_served_locked(struct weir__pool *pool,
                              uint64_t now,
                              uint64_t wait_ns) WEIR_REQUIRES(pool->mu);

/* On the reactor: refuses those who wait in a line from which nobody is served at
 * all.  Returns when it is to be called next; WEIR_NEVER. */
uint64_t weir__shed_stuck(struct weir__pool *pool);

#endif
