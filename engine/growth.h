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

/* A connect is under way that no caller drives any more.  mu held. */
void weir__growth_unclaimed_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);

/* Gives empty places to waiters, who then open for themselves, and, beyond them,
 * asks the reactor to fill the pool up to Min Pool Size.  mu held. */
void weir__growth_locked(struct weir__pool *pool, struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu);

/* On the reactor: a connect that it drove has ended.  The session's slot is
 * CONNECTING. */
void weir__growth_opened(struct weir_drv_hconn *session);

/* On the reactor: starts connects for Min Pool Size, at most two at once. */
void weir__growth_fill(struct weir__pool *pool);

/* Starts none for a second: whoever clears a pool wants the server left alone for
 * a moment.  mu held. */
void weir__growth_rest_locked(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);

/* A place whose session could not even be made: as if its connect had failed.
 * The slot is CONNECTING and the caller's. */
void weir__growth_abandon(struct weir__pool *pool,
                          struct weir__slot *slot,
                          const struct weir_error *err);

/* A place that was to be opened and will not be: its connect had not begun.  The
 * slot is CONNECTING, without a session, and the caller's. */
void weir__growth_drop(struct weir__pool *pool, struct weir__slot *slot);

/* Counts a connect that failed, for the next time-out's text. */
void weir__growth_failed(struct weir__pool *pool, const struct weir_error *err);

/* The owner of a slot gives it up: CLOSING, and its session to the reactor to be
 * closed.  *word is LEASED, IDLE, RESERVED or CONNECTING and is followed if
 * flags were added meanwhile, or with WEIR_SLOT_INCALL the lease moved on.  False: the slot is somebody else's by now. */
bool weir__growth_retire(struct weir__slot *slot, uint64_t *word);

/* Retires every idle slot.  By the words, because a bit may be away for a moment
 * (idle.c). */
void weir__growth_sweep(struct weir__pool *pool);

/* On the reactor: a slot's session is closed and gone. */
void weir__growth_emptied(struct weir__slot *slot);

/* When a physical connect that begins now must have ended. */
uint64_t weir__growth_limit(const struct weir__pool *pool, uint64_t now);

#endif
