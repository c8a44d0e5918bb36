/* SPDX-License-Identifier: MIT */
/* growth_serial.c - one connect at a time, whoever it is for: while one is under way
 * all others wait for its end, or for what comes back.  Then the first in line
 * opens the next. */
#include <stddef.h>

#include "policy.h"
#include "pool.h"
#include "sys/clock.h"
#include "waiter.h"

/* The first of those that no idle connection is there for.  That none is under way
 * is the permit's business: at_once. */
static struct weir__waiter *opener(struct weir__pool *pool,
                                   uint64_t now,
                                   uint32_t tried,
                                   uint32_t leased,
                                   uint64_t *out_at) {
  struct weir__waiter *w = pool->waiting.first;
  (void)now;
  (void)leased;
  *out_at = WEIR_NEVER; /* the end of the connect looks again */
  while (w != NULL && tried > 0) {
    w = w->next;
    tried--;
  }
  return w == NULL || w != pool->waiting.trier ? w : w->next;
}

const struct weir__growth_policy weir__growth_serial = {
    .name = "serial",
    .opener = opener,
    .at_once = 1,
    .filling = 1,
    .pauses = false,
};
