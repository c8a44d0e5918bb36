/* SPDX-License-Identifier: MIT */
/* growth.h - places that get a connection and places that lose it. */
#ifndef WEIR_GROWTH_H
#define WEIR_GROWTH_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"
#include "sys/clock.h"

struct weir_drv_hconn;

/* How long a connect that no caller drives any more is taken for the next
 * waiter's. */
#define WEIR_GROWTH_PATIENCE_NS (UINT64_C(250) * WEIR_NS_PER_MS)

void weir__growth_init(struct weir__pool *pool);
void weir__growth_fini(struct weir__pool *pool);

/* ---------------------------------------------------------------- growing */

/* A connect is under way that no caller drives any more.  mu held. */
void weir__growth_unclaimed_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);

/* Gives empty places to waiters, who then open for themselves, or to the reactor
 * for those who cannot, and, beyond them, asks the reactor to fill the pool up to
 * Min Pool Size.  mu held. */
void weir__growth_locked(struct weir__pool *pool, struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* Nothing is opened from now on: the pool was paused, drained or closed.  What the
 * endpoint keeps for it is others' now.  mu held. */
void weir__growth_halt_locked(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);

/* On the reactor: opens the places that were taken for waiters who open none
 * themselves, starts connects for Min Pool Size, at most two at once, and gives an
 * idle connection up if a sibling at the endpoint needs it. */
void weir__growth_fill(struct weir__pool *pool);

/* When the pool is to be tended to next because a limit that stands in the way of
 * a connect ends with time; WEIR_NEVER.  The caller sets a timer for it.  now: taken
 * before the pool was dispatched, so that what has passed by then is stale. */
uint64_t weir__growth_next_look(struct weir__pool *pool, uint64_t now);

/* Starts none for Min Pool Size for a second: whoever clears a pool wants the
 * server left alone for a moment.  Forgets a permanent failure.  mu held. */
void weir__growth_rest_locked(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);

/* --------------------------------------------------------- what is measured */

/* The connect of the slot has given a session.  mu held. */
void weir__growth_connected_locked(struct weir__pool *pool,
                                   struct weir__slot *slot)
    WEIR_REQUIRES(pool->mu);

/* A slot that was leased is about to be handed to the next user: how long its lease
 * has lasted, if that is known.  Before idle_since is written anew.  mu held. */
void weir__growth_returned_locked(struct weir__pool *pool,
                                  struct weir__slot *slot)
    WEIR_REQUIRES(pool->mu);

/* A waiter is served.  mu held. */
void weir__growth_served_locked(struct weir__pool *pool,
                                const struct weir__waiter *w)
    WEIR_REQUIRES(pool->mu);

/* effective_max, breaker, hold_ns, connect_ns and down.  mu held. */
void weir__growth_tell_locked(struct weir__pool *pool,
                              struct weir_pool_stats *out)
    WEIR_REQUIRES(pool->mu);

/* ---------------------------------------------------------------- failure */

/* True if waiters are told at once when no connect can be made because the
 * endpoint is down: Pool Blocking Period=always, or a pool that is not open before
 * one has succeeded (Startup=require).  mu held. */
bool weir__growth_is_hasty(const struct weir__pool *pool);

/* Says that it is such a pool, from the first who says so to the last who takes it
 * back. */
void weir__growth_prove(struct weir__pool *pool, bool proving);

/* A connect has failed: tells breaker and budget, then, by its class, the waiters
 * and the pool.  The slot is CONNECTING and the caller's, who retires it
 * afterwards.  True: the caller who opened it for itself keeps its place in line
 * (weir__growth_keep()); false: it is told *err.  No lock is held. */
bool weir__growth_failed(struct weir__pool *pool,
                         struct weir__slot *slot,
                         const struct weir_error *err);

/* A connect that replaces a session within its lease has ended; session->error says
 * why if it failed.  Who comes hears of it as of any other; those in line do not
 * fail with it.  No lock is held. */
void weir__growth_replaced(struct weir__pool *pool,
                           const struct weir_drv_hconn *session,
                           bool good);

/* A connect failed in a way that no other attempt can mend: nothing is opened for
 * Min Pool Size until one succeeds, or the user knows better.  mu held. */
void weir__growth_bar_locked(struct weir__pool *pool, struct weir__cause *cause)
    WEIR_REQUIRES(pool->mu);
void weir__growth_unbar_locked(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);

/* Forgets failures: another attempt may have another end.  mu held. */
void weir__growth_forgive_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);

/* Does so if the pool's credential has given another secret since a connect failed
 * for its secret.  mu held. */
void weir__growth_secrets_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);

/* Whether a session may be replaced within its lease: the server is thought well.
 * True: *out_ticket is for the endpoint, and the replacement has begun. */
bool weir__growth_replace_begin(struct weir__pool *pool, uint32_t *out_ticket);

/* Back in line where its time of coming puts it, if it is still opening. */
void weir__growth_keep(struct weir__pool *pool, struct weir__waiter *w);

/* Fails those that wait with that cause as far as there is room; each takes a
 * reference.  mu held. */
void weir__growth_fail_locked(struct weir__pool *pool,
                              struct weir__cause *cause,
                              struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* A session that was in use, or being cleaned, is lost; *session says why.  `word`
 * is what its slot's was.  No lock of rank POOL or above is held. */
void weir__growth_lost(struct weir__pool *pool,
                       const struct weir_drv_hconn *session,
                       uint64_t word);

/* ------------------------------------------------------------------ places */

/* On the reactor: a connect that it drove has ended.  The session's slot is
 * CONNECTING. */
void weir__growth_opened(struct weir_drv_hconn *session);

/* A place whose session could not even be made: as if its connect had failed.
 * The slot is CONNECTING and the caller's. */
void weir__growth_abandon(struct weir__pool *pool,
                          struct weir__slot *slot,
                          const struct weir_error *err);

/* A place that was to be opened and will not be: its connect had not begun.  The
 * slot is CONNECTING, without a session, and the caller's. */
void weir__growth_drop(struct weir__pool *pool, struct weir__slot *slot);

/* The owner of a slot gives it up: CLOSING, and its session to the reactor to be
 * closed.  *word is LEASED, IDLE, RESERVED or CONNECTING and is followed if
 * flags were added meanwhile, or with WEIR_SLOT_INCALL the lease moved on.  False:
 * the slot is somebody else's by now. */
bool weir__growth_retire(struct weir__slot *slot, uint64_t *word);

/* Retires every idle slot.  By the words, because a bit may be away for a moment
 * (strategy/idle_affinity.c). */
void weir__growth_sweep(struct weir__pool *pool);

/* On the reactor: a slot's session is closed and gone. */
void weir__growth_emptied(struct weir__slot *slot);

/* When a physical connect that begins now must have ended. */
uint64_t weir__growth_limit(const struct weir__pool *pool, uint64_t now);

#endif
