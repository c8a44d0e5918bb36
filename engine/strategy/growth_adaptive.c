/* SPDX-License-Identifier: MIT */
/* growth_adaptive.c - one more connect for each waiter that a return is not predicted
 * to serve sooner (forecast.h). */
#include <stddef.h>

#include "forecast.h"
#include "policy.h"
#include "pool.h"
#include "waiter.h"

/* One more than the returns that are predicted would serve in time.
 * The head gets it when no forecast holds; else the last in line, who alone would
 * wait too long, while those before it are served by what comes back. */
static struct weir__waiter *opener(struct weir__pool *pool,
                                   uint64_t now,
                                   uint32_t covered,
                                   uint32_t leased) {
  struct weir__waiter *head = pool->waiting.first;
  if (head == NULL) {
    return NULL;
  }
  struct weir__outlook o = {
      .now = now,
      .head_since = head->since,
      .waiting = pool->waiting.n,
      .unclaimed = covered,
      .leased = leased,
  };
  switch (weir__forecast_ask(&pool->growth.forecast, &o)) {
  case WEIR_FORECAST_HEAD:
    return head != pool->waiting.trier ? head : head->next;
  case WEIR_FORECAST_TAIL:
    return pool->waiting.last != pool->waiting.trier ? pool->waiting.last
                                                     : NULL;
  case WEIR_FORECAST_ENOUGH:
  default:
    return NULL;
  }
}

const struct weir__growth_policy weir__growth_adaptive = {
    .name = "adaptive",
    .opener = opener,
    .at_once = UINT32_MAX,
    .filling = 2, /* a fleet that starts together must not be a login storm */
};
