/* SPDX-License-Identifier: MIT */
/* direct.c - connections are handed over, never thrown into a crowd.
 *
 * First come, first served among those who sleep; a caller that is opening a
 * connection of its own comes after them, because it will be served anyway. */
#include <stddef.h>

#include "pool.h"
#include "strategy.h"
#include "waiter.h"

static struct weir__waiter *first_in_time(const struct weir__waiters *list,
                                          uint64_t now) {
  struct weir__waiter *w = list->first;
  while (w != NULL && w->deadline <= now) {
    w = w->next; /* its own thread is about to find out */
  }
  return w;
}

static struct weir__waiter *heir(struct weir__pool *pool, uint64_t now) {
  struct weir__waiter *w = first_in_time(&pool->waiting, now);
  return w != NULL ? w : first_in_time(&pool->driving, now);
}

static bool may_open(const struct weir__pool *pool) {
  return pool->n_connecting < weir__pool_settings(pool)->max_connects;
}

/* A caller that was handed a connection leaves its connect to the next waiter;
 * opening another for that one would make a pool larger than it was ever used.
 * Only for so long (growth.h): a connect that hangs must not hold up those who
 * could open a good one. */
static bool enough(const struct weir__pool *pool, uint64_t now) {
  uint32_t unclaimed = pool->n_connecting - pool->driving.n;
  return now < pool->unclaimed_until && pool->waiting.n <= unclaimed;
}

const struct weir__strategy weir__strategy_direct = {
    .name = "direct",
    .heir = heir,
    .may_open = may_open,
    .enough = enough,
};
