/* SPDX-License-Identifier: MIT */
/* growth_parallel.c - a connect for each who waits, as long as there is room.  Nothing
 * is predicted, and no connect that was begun for another counts. */
#include <stddef.h>

#include "policy.h"
#include "pool.h"
#include "sys/clock.h"
#include "waiter.h"

/* Of those who open none themselves as many are served as connects have been begun
 * for them. */
static uint32_t owned(const struct weir__pool *pool) {
  uint32_t submitted = pool->waiting.n_submitted;
  return pool->growth.n_owned < submitted ? pool->growth.n_owned : submitted;
}

/* The first that neither an idle connection nor a connect is there for.  In a full
 * pool, where nobody's turn can come, any: the line may be long. */
static struct weir__waiter *opener(struct weir__pool *pool,
                                   uint64_t now,
                                   uint32_t tried,
                                   uint32_t leased,
                                   uint64_t *out_at) {
  struct weir__waiter *trier = pool->waiting.trier;
  bool full = pool->n_open >= pool->max_now;
  uint32_t begun = full ? 0 : owned(pool);
  (void)now;
  (void)leased;
  *out_at = WEIR_NEVER; /* whatever changes it comes by */
  if (pool->waiting.n <= tried + begun) {
    return NULL;
  }
  tried -= trier != NULL && tried > 0;
  for (struct weir__waiter *w = pool->waiting.first; w != NULL; w = w->next) {
    if (w == trier) {
      continue;
    }
    if (w->caller == NULL && begun > 0) {
      begun--;
    } else if (tried > 0) {
      tried--;
    } else {
      return w;
    }
  }
  return NULL;
}

const struct weir__growth_policy weir__growth_parallel = {
    .name = "parallel",
    .opener = opener,
    .at_once = UINT32_MAX,
    .filling = 1,
    .pauses = false,
};
