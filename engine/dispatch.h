/* SPDX-License-Identifier: MIT */
/* dispatch.h - from a free connection to the one who waits for it.
 *
 * Every way of making a connection free ends in weir__publish(), and every way
 * of making a place free ends in weir__dispatch() (P3). */
#ifndef WEIR_DISPATCH_H
#define WEIR_DISPATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

/* The owner of a slot whose session is good lets go of it: to the heir among the
 * waiters, else to the idle set.  *word is the slot's word, LEASED, CONNECTING
 * or RESERVED.  False: the word has changed (doomed meanwhile, or the lease was
 * not the caller's); *word is what it is now and nothing else has happened.
 * self: the calling thread's record, or NULL.  Locks: takes mu. */
bool weir__publish(struct weir__pool *pool,
                   struct weir__slot *slot,
                   uint64_t *word,
                   const struct weir__caller *self);

/* The same on the reactor for a slot that was idle until the reactor looked at it:
 * if it stays idle it does so since when it was. */
bool weir__publish_again(struct weir__pool *pool,
                         struct weir__slot *slot,
                         uint64_t *word);

/* Serves waiters from the idle set and starts connects for the rest, and for Min
 * Pool Size.  mu held. */
void weir__dispatch_locked(struct weir__pool *pool, struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* The same for one who does not hold mu. */
void weir__dispatch(struct weir__pool *pool, const struct weir__caller *self);

/* A node at the end of the line, and served if that can be.  0, or it is refused,
 * and counted so: WEIR_E_CLOSED, WEIR_E_OVERLOADED (Max Waiters), WEIR_E_TIMEOUT
 * (its time-out has passed).  mu held. */
int weir__dispatch_enqueue_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* Back in line, in front: what it was granted was not good (P4: a failed
 * validation does not cost the place).  0 or WEIR_E_CLOSED.  mu held. */
int weir__dispatch_requeue_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* Out of the line, if it still waits there: true, and `before` tells how many were
 * in front, WEIR_DISPATCH_BEFORE_MAX for so many or more.  mu held. */
#define WEIR_DISPATCH_BEFORE_MAX 100u
bool weir__dispatch_leave_locked(struct weir__pool *pool,
                                 struct weir__waiter *w)
    WEIR_REQUIRES(pool->mu);

/* Notes how long a node has waited that is served at `now`.  mu held. */
void weir__dispatch_waited_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  uint64_t now) WEIR_REQUIRES(pool->mu);

/* Keeps WAITERS in Q as the lists are.  mu held. */
void weir__dispatch_flag_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);

#endif
