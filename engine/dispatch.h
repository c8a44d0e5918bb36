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

/* Who gets what comes free (Pool Handoff).
 *
 * bounded: a release hands over to the heir if that is overdue: submitted, opening
 * a connection of its own, or asleep in line for Handoff Bound.  Else it makes its
 * connection idle, for anybody who comes by, and has the heir woken to try, unless
 * one is trying already.  pool->due says since when a release hands over, for the
 * head of the line: 0 at once, WEIR_NEVER while nobody is in line.  It is written
 * before WAITERS is, so who has read that need not lock to know.
 * direct: everybody in line is overdue, and nobody looks for an idle connection
 * while somebody is in line.
 * queued: the same, but who opens a connection of its own is not in line for this.
 * barging: as bounded without a bound.  due is WEIR_NEVER for a head that can try for
 * itself, 0 for a submitted one.  Nor is who opens in line.
 * WAITERS says that somebody may be the heir: where openers are none, it is not set
 * for them, and what comes back while they open is idle for whoever comes by.
 *
 * No wake-up is lost.  While a slot is idle and somebody is in line:
 *   1. a thread is between making a slot idle and reading Q afterwards, or
 *   2. somebody holds mu and dispatches before he lets go of it, or
 *   3. TRYING is set: the trier is on its way here, and clears TRYING before it
 *      looks at the slots and dispatches.
 * A release writes its slot's word and then reads Q; a waiter writes Q (sets
 * WAITERS, or clears TRYING) and then reads the slots' words; all four accesses are
 * sequentially consistent, so one sees the other.  Whatever takes the trier out of
 * the line clears TRYING and dispatches too, in this order: whoever dispatches
 * clears the TRYING of one who has gone before it looks. */

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

/* The trier has come to look: it is served from the idle set, or waits as before;
 * and then the line is dispatched.  Nothing if it is not TRYING any more.  mu
 * held. */
void weir__dispatch_try_locked(struct weir__pool *pool,
                               struct weir__waiter *w,
                               struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* After nodes have left the line: keeps the flags, and dispatches if one of them was
 * the trier there had been before (or NULL), or if one has come into line from
 * behind.  mu held. */
void weir__dispatch_tried_locked(struct weir__pool *pool,
                                 const struct weir__waiter *trier,
                                 struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* A node at the end of the line, and served if that can be: a blocking caller looks
 * for itself where it may overtake.  0, or it is refused, and counted so:
 * WEIR_E_CLOSED, WEIR_E_OVERLOADED (Max Waiters), WEIR_E_TIMEOUT (its time-out has
 * passed); or, because connects fail and it would need one (Pool Failure), with the
 * code of w->cause, a reference; then it has left the line.  mu held. */
int weir__dispatch_enqueue_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* Back in line, in front: what it was granted was not good (P4: a failed
 * validation does not cost the place).  0, WEIR_E_CLOSED, or the code of w->cause as
 * above.  mu held. */
int weir__dispatch_requeue_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* Out of the line, if it still waits there: true, and `before` tells how many were
 * in front, WEIR_DISPATCH_BEFORE_MAX for so many or more.  What it was to try for
 * is the next one's.  mu held. */
#define WEIR_DISPATCH_BEFORE_MAX 100u
bool weir__dispatch_leave_locked(struct weir__pool *pool,
                                 struct weir__waiter *w,
                                 struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* Notes how long a node has waited that is served at `now`.  mu held. */
void weir__dispatch_waited_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  uint64_t now) WEIR_REQUIRES(pool->mu);

/* Keeps due, and WAITERS and TRYING in Q, as the lists are.  mu held. */
void weir__dispatch_flag_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);

#endif
