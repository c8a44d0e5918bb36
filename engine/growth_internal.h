/* SPDX-License-Identifier: MIT */
/* growth_internal.h - between growth.c (who is to open), growth_limit.c (whether it
 * may), growth_place.c (where) and growth_fill.c (what the reactor opens). */
#ifndef WEIR_GROWTH_INTERNAL_H
#define WEIR_GROWTH_INTERNAL_H

#include "endpoint.h"
#include "growth.h"

/* Time alone may allow then what is denied now.  mu held. */
void weir__growth_look_locked(struct weir__pool *pool, uint64_t at)
    WEIR_REQUIRES(pool->mu);

/* Has the reactor set a timer for it unless it has one.  mu held. */
void weir__growth_arm_locked(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);

/* Whether one more connect may begin, as far as limits go other than room in the
 * pool itself: then *out_ticket is its ticket.  mu held. */
bool weir__growth_permit_locked(struct weir__pool *pool,
                                uint64_t now,
                                uint32_t *out_ticket) WEIR_REQUIRES(pool->mu);

/* Hands the ticket of a connect in.  True: the breaker has opened.  err: of a bad
 * outcome. */
bool weir__growth_hand_in(struct weir__pool *pool,
                          struct weir__slot *slot,
                          enum weir__outcome outcome,
                          enum weir__class class,
                          const struct weir_error *err);

/* A place to be opened, CONNECTING, or NULL; *out_full then says whether there is
 * none, else it is a limit.  mu held. */
struct weir__slot *weir__growth_take_locked(struct weir__pool *pool,
                                            uint64_t now,
                                            bool *out_full)
    WEIR_REQUIRES(pool->mu);

/* Whether Min Pool Size, Min Idle or a replacement asks for one more.  mu held. */
bool weir__growth_below_min(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);

/* If nobody here needs a unit of the endpoint's budget any more, it is others'.
 * mu held. */
void weir__growth_content_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);

#endif
