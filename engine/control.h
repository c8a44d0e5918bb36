/* SPDX-License-Identifier: MIT */
/* control.h - a running pool is held, emptied, and let go again.
 *
 * Three bits of Q and the same in words of the pool, guarded by mu:
 *
 *   paused    nothing is granted and nothing opened; waiters stay in line
 *   draining  nothing is opened, nobody new gets into line, and what comes back
 *             goes to those in line or is closed
 *   SURPLUS   more is open than max_now: what comes back is closed
 *
 * A pool is never paused and draining: a drain ends a pause. */
#ifndef WEIR_CONTROL_H
#define WEIR_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "caller.h"
#include "pool.h"
#include "waiter.h"

/* Whether a waiter may be given a connection.  mu held. */
static inline bool weir__control_grants_locked(const struct weir__pool *pool) {
  return !pool->closed && !pool->paused;
}

/* Whether a connection may be opened, as far as control goes.  mu held. */
static inline bool weir__control_opens_locked(const struct weir__pool *pool) {
  return !pool->closed && !pool->paused && !pool->draining;
}

/* weir_pool_pause() and weir_pool_resume(). */
void weir__control_pause(struct weir__pool *pool);
void weir__control_resume(struct weir__pool *pool,
                          const struct weir__caller *self);

/* weir_pool_drain(). */
int weir__control_drain(struct weir__pool *pool,
                        struct weir__caller *self,
                        uint64_t grace_ns,
                        struct weir_error *err);

/* While draining: with no session left that could come back, those in line are
 * told that they wait for nothing.  mu held. */
void weir__control_give_up_locked(struct weir__pool *pool,
                                  struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* The owner of a slot, whose word is `word`, lets go of it while SURPLUS is set:
 * true if it was one too many and is being closed.  Takes mu. */
bool weir__control_shed(struct weir__pool *pool,
                        struct weir__slot *slot,
                        uint64_t word);

/* Closes idle connections that are too many, the highest index first. */
void weir__control_shed_idle(struct weir__pool *pool);

/* Threads that wait for what becomes of a pool: sessions opened and closed, and
 * changes of its state.  Between _watch() and _unwatch() each of these changes
 * the word `news` some time after it.
 *   _news_locked()  something has happened; mu held
 *   _tell()         on the reactor: wakes those who watch
 *   _await()        sleeps until news is not `seen` any more, or the deadline */
void weir__control_watch_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);
void weir__control_unwatch_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);
void weir__control_news_locked(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);
void weir__control_tell(struct weir__pool *pool);
void weir__control_await(struct weir__pool *pool,
                         struct weir__caller *self,
                         uint32_t seen,
                         uint64_t deadline);

#endif
