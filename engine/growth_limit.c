/* SPDX-License-Identifier: MIT */
/* growth_limit.c - what stands in the way of a connect, and until when. */
#include <stddef.h>

#include "endpoint.h"
#include "growth_internal.h"
#include "policy.h"
#include "pool.h"
#include "sys/clock.h"
#include "tend.h"

void weir__growth_look_locked(struct weir__pool *pool, uint64_t at) {
  struct weir__growth *g = &pool->growth;
  g->look_at = at < g->look_at ? at : g->look_at;
}

void weir__growth_arm_locked(struct weir__pool *pool) {
  struct weir__growth *g = &pool->growth;
  if (g->look_at < g->look_armed) {
    g->look_armed = g->look_at;
    weir__tend(pool);
  }
}

uint64_t weir__growth_next_look(struct weir__pool *pool, uint64_t now) {
  struct weir__growth *g = &pool->growth;
  weir__mutex_lock(&pool->mu);
  if (g->look_at <= now) {
    g->look_at = WEIR_NEVER; /* of somebody who has left */
  }
  g->look_armed = g->look_at;
  uint64_t at = g->look_at;
  if (pool->resting && pool->fill_not_before < at) {
    at = pool->fill_not_before;
  }
  weir__mutex_unlock(&pool->mu);
  return at;
}

/* Everything that can stand in the way of one more connect, but for room in the
 * pool itself. */
bool weir__growth_permit_locked(struct weir__pool *pool,
                                uint64_t now,
                                uint32_t *out_ticket) {
  const struct weir__settings *set = weir__pool_settings(pool);
  struct weir__growth *g = &pool->growth;
  g->refused = false;
  if (pool->n_connecting >= set->max_connects ||
      pool->n_connecting >= pool->policies.growth->at_once) {
    return false; /* the end of one looks again */
  }
  uint64_t at;
  if (!pool->policies.failure->allows(pool, now, &at)) {
    weir__growth_look_locked(pool, at);
    return false;
  }
  at = weir__limiter_next(&g->limiter, set->connect_rate, set->connect_burst,
                          now);
  if (at > now) {
    weir__growth_look_locked(pool, at);
    return false;
  }
  enum weir__leave leave = weir__endpoint_begin(pool, now, out_ticket, &at);
  if (leave != WEIR_LEAVE_GIVEN) {
    g->refused = leave == WEIR_LEAVE_DOWN;
    g->in_ring = g->in_ring || leave == WEIR_LEAVE_LATER;
    weir__growth_look_locked(pool, at);
    return false;
  }
  weir__limiter_take(&g->limiter, set->connect_rate, now);
  pool->policies.failure->begun(pool, now);
  return true;
}

bool weir__growth_hand_in(struct weir__pool *pool,
                          struct weir__slot *slot,
                          enum weir__outcome outcome,
                          enum weir__class class,
                          const struct weir_error *err) {
  uint32_t ticket = slot->mark;
  slot->mark = WEIR_ENDPOINT_NO_TICKET;
  return (ticket != WEIR_ENDPOINT_NO_TICKET || outcome == WEIR_OUTCOME_BAD) &&
         weir__endpoint_ended(pool, ticket, outcome, class, err);
}
