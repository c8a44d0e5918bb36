/* SPDX-License-Identifier: MIT */
/* strategy.h - how a pool behaves, as one table of small policies.
 *
 * A strategy decides; it owns nothing and blocks nowhere.  Every function is
 * called with the pool's mutex held and none may be NULL. */
#ifndef WEIR_STRATEGY_H
#define WEIR_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

struct weir__pool;
struct weir__waiter;

struct weir__strategy {
  const char *name; /* the value of Pool Strategy */
  /* Who gets a connection that has come free at `now`: a waiter still in its
   * list, or NULL. */
  struct weir__waiter *(*heir)(struct weir__pool *pool, uint64_t now);
  /* For whom one more connect should begin at `now`, if the limits allow it: a
   * waiter in `waiting`, not the trier; NULL: what is under way or lent out will do.  covered:
   * connects that will serve whoever comes first.  leased: connections that are
   * lent out. */
  struct weir__waiter *(*opener)(struct weir__pool *pool,
                                 uint64_t now,
                                 uint32_t covered,
                                 uint32_t leased);
};

/* The strategy of that index in the setting's choices, or NULL: not built. */
const struct weir__strategy *weir__strategy_find(uint32_t kind);

extern const struct weir__strategy weir__strategy_direct;

#endif
