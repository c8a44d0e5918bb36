/* SPDX-License-Identifier: MIT */
/* growth_adaptive.c - one more connect for each waiter that a return is not predicted
 * to serve sooner (forecast.h). */
#include <stddef.h>

#include "forecast.h"
#include "policy.h"
#include "pool.h"
#include "waiter.h"

/* Connects that will serve whoever comes first: those begun for waiters who open
 * none themselves, and, for a while, those that lost the caller they were begun
 * for, or fill the pool.  One that hangs must not hold up those who could open a
 * good one. */
static uint32_t covered(const struct weir__pool *pool, uint64_t now) {
  uint32_t owned = pool->growth.n_owned;
  uint32_t others = pool->n_connecting - pool->driving.n - owned;
  return now < pool->unclaimed_until ? owned + others : owned;
}

/* What is under way or lent out will do for now: until when? */
static struct weir__waiter *wait_and_see(const struct weir__pool *pool,
                                         const struct weir__outlook *o,
                                         uint64_t *out_at) {
  *out_at = weir__forecast_next(&pool->growth.forecast, o);
  if (o->now < pool->unclaimed_until && pool->unclaimed_until < *out_at) {
    *out_at = pool->unclaimed_until;
  }
  return NULL;
}

/* One more than the returns that are predicted would serve in time.
 * The head gets it when no forecast holds; else the last in line, who alone would
 * wait too long, while those before it are served by what comes back. */
static struct weir__waiter *opener(struct weir__pool *pool,
                                   uint64_t now,
                                   uint32_t tried,
                                   uint32_t leased,
                                   uint64_t *out_at) {
  struct weir__waiter *head = pool->waiting.first;
  struct weir__outlook o = {
      .now = now,
      .head_since = head->since,
      .waiting = pool->waiting.n,
      .unclaimed = tried + covered(pool, now),
      .leased = leased,
  };
  struct weir__waiter *w = NULL;
  switch (weir__forecast_ask(&pool->growth.forecast, &o)) {
  case WEIR_FORECAST_HEAD:
    w = head != pool->waiting.trier ? head : head->next;
    break;
  case WEIR_FORECAST_TAIL:
    w = pool->waiting.last != pool->waiting.trier ? pool->waiting.last : NULL;
    break;
  case WEIR_FORECAST_ENOUGH:
  default:
    break;
  }
  return w != NULL ? w : wait_and_see(pool, &o, out_at);
}

const struct weir__growth_policy weir__growth_adaptive = {
    .name = "adaptive",
    .opener = opener,
    .at_once = UINT32_MAX,
    .filling = 2, /* a fleet that starts together must not be a login storm */
    .pauses = true,
};
