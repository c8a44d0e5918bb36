/* SPDX-License-Identifier: MIT */
/* counters.h - the sixteen counters of Microsoft.Data.SqlClient, from what pools
 * and slots know anyway.
 *
 *   SqlClient's                      ours
 *   active-hard-connections          hard-connects less hard-disconnects
 *   hard-connects                    sessions that were logged in
 *   hard-disconnects                 ... and have been closed, peer's end included
 *   active-soft-connects             soft-connects less soft-disconnects
 *   soft-connects                    leases begun, those included whose connection
 *                                    then proved bad (uses of the slots)
 *   soft-disconnects                 ... and over: returned, retired, taken away
 *   number-of-non-pooled-connections sessions with Pooling=false, not yet closing
 *   number-of-pooled-connections     the others: idle, leased, reserved, parked,
 *                                    stasis
 *   active-connection-pool-groups    keys that have a pool
 *   inactive-connection-pool-groups  ... whose pool is closed and not yet empty
 *   active-connection-pools          the same for pools, of which Pooling=false
 *   inactive-connection-pools        makes none
 *   number-of-active-connections     leases: as active-soft-connects
 *   number-of-free-connections       idle and parked
 *   number-of-stasis-connections     stasis; 0 until transactions of several leases
 *   number-of-reclaimed-connections  leases taken from an owner who has gone; 0 until
 *                                    leases have owners
 *
 * As SqlClient does, a lease of a pool with Pooling=false is no soft connect: it
 * counts as hard and as non-pooled only.
 *
 * Nothing is written for them while connections are warm.  Between calls they are
 * exact.  Under load a lease that has just begun may not be in the sum yet; the
 * cumulative ones never fall, no gauge is negative, and these hold at any moment:
 * what is active is what was begun less what is over, and no more is pooled than is
 * hard. */
#ifndef WEIR_COUNTERS_H
#define WEIR_COUNTERS_H

#include "weir.h"

#include "pool.h"

struct weir__engine;

/* Adds those of one pool to *sum.  Locks: takes the pool's. */
void weir__counters_add(struct weir__pool *pool, struct weir_counters *sum);

/* The sums over all pools that the engine has had.  Locks: takes the engine's and
 * those of its pools. */
void weir__counters_engine(struct weir__engine *engine,
                           struct weir_counters *out);

/* A pool has ended and leaves the engine's list, whose mutex is held: what it has
 * had stays in the engine's sums.  Locks: takes the pool's. */
void weir__counters_keep(struct weir__pool *pool);

/* A session has been logged in.  mu held. */
void weir__counters_opened_locked(struct weir__pool *pool,
                                  struct weir_drv_hconn *session)
    WEIR_REQUIRES(pool->mu);

#endif
