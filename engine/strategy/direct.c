/* SPDX-License-Identifier: MIT */
/* direct.c - whoever has waited for the bound is handed what comes back; nothing is
 * thrown into a crowd.
 *
 * First come, first served among those who sleep (dispatch.h: how far a running
 * thread may overtake them); a caller that is opening a
 * connection of its own comes after them, because it will be served anyway. */
#include <stddef.h>

#include "forecast.h"
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

/* One more than the returns that are predicted would serve in time (forecast.h).
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

const struct weir__strategy weir__strategy_direct = {
    .name = "direct",
    .heir = heir,
    .opener = opener,
};
