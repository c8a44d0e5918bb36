/* SPDX-License-Identifier: MIT */
#include "failure_period.h"

#include <stddef.h>

#include "blocking.h"
#include "cause.h"
#include "growth.h"
#include "pool.h"
#include "sys/clock.h"

/* Not without Pooling: there each open has its own error, as in SqlClient. */
bool weir__period_applies(const struct weir__pool *pool) {
  const struct weir__settings *set = weir__pool_settings(pool);
  if (!set->pooling) {
    return false;
  }
  switch (set->blocking_period) {
  case WEIR_BLOCKING_ALWAYS:
    return true;
  case WEIR_BLOCKING_NEVER:
    return false;
  default:
    return !pool->cloud;
  }
}

bool weir__period_allows(struct weir__pool *pool,
                         uint64_t now,
                         uint64_t *out_at) {
  return !weir__period_applies(pool) ||
         weir__blocking_allows(&pool->growth.blocking, now, out_at);
}

void weir__period_begun(struct weir__pool *pool, uint64_t now) {
  weir__blocking_begun(&pool->growth.blocking, now);
}

void weir__period_dropped(struct weir__pool *pool, uint64_t begun) {
  weir__blocking_dropped(&pool->growth.blocking, begun);
}

void weir__period_mended(struct weir__pool *pool) {
  struct weir__growth *g = &pool->growth;
  weir__blocking_reset(&g->blocking);
  weir__cause_unref(g->cached);
  g->cached = NULL;
  weir__growth_unbar_locked(pool);
}

uint64_t weir__period_left(const struct weir__pool *pool, uint64_t now) {
  return weir__period_applies(pool)
             ? weir__blocking_left(&pool->growth.blocking, now)
             : 0;
}

bool weir__period_refuses(struct weir__pool *pool,
                          uint64_t now,
                          struct weir__cause **out_cause) {
  uint64_t left = weir__period_left(pool, now);
  if (left == 0) {
    return false;
  }
  const struct weir__cause *cached = pool->growth.cached;
  *out_cause = cached == NULL ? NULL : weir__cause_again(cached, left);
  return true;
}

bool weir__period_tells(const struct weir__pool *pool,
                        const struct weir__cause *cause) {
  return weir__period_applies(pool) && cause != NULL &&
         cause->error.code != WEIR_E_NOMEM;
}

uint64_t weir__period_failed(struct weir__pool *pool,
                             enum weir__class class,
                             struct weir__cause *cause,
                             uint64_t begun) {
  struct weir__growth *g = &pool->growth;
  uint64_t now = weir__clock_now();
  if (class == WEIR_CLASS_PERMANENT) {
    weir__growth_bar_locked(pool, cause);
  }
  if (!weir__period_tells(pool, cause)) {
    return 0;
  }
  (void)weir__blocking_failed(&g->blocking, begun, now);
  weir__cause_unref(g->cached);
  g->cached = weir__cause_ref(cause);
  return weir__blocking_left(&g->blocking, now);
}
