/* SPDX-License-Identifier: MIT */
/* growth.c - which waiter is to get a connection of its own, and when none is. */
#include "growth.h"

#include <stddef.h>

#include "cause.h"
#include "control.h"
#include "dispatch.h"
#include "endpoint.h"
#include "growth_internal.h"
#include "policy.h"
#include "session.h"
#include "sys/clock.h"
#include "tend.h"

/* A physical connect always has a limit: this where Connect Timeout has none. */
#define CONNECT_LIMIT_NS (UINT64_C(15) * WEIR_NS_PER_S)

/* Places that are looked at for measured leases each time. */
#define COLLECT_MAX 8u

uint64_t weir__growth_limit(const struct weir__pool *pool, uint64_t now) {
  uint64_t span = weir__pool_settings(pool)->connect_timeout_ns;
  return weir__clock_add(now, span == WEIR_NEVER ? CONNECT_LIMIT_NS : span);
}

void weir__growth_init(struct weir__pool *pool) {
  pool->growth.look_at = WEIR_NEVER;
  pool->growth.look_armed = WEIR_NEVER;
  pool->growth.cleared_at_ok = UINT64_MAX;
}

void weir__growth_fini(struct weir__pool *pool) {
  weir__cause_unref(pool->growth.barred);
  weir__cause_unref(pool->growth.cached);
  weir__cause_unref(pool->last_error);
}

/* ----------------------------------------------------------------- waiters */

/* Not one place could be made for the pool, so nobody would ever come back and
 * wake these. */
static void refuse_waiters(struct weir__pool *pool, struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu) {
  int32_t code = weir__slot_all_made() ? WEIR_E_SPACE : WEIR_E_NOMEM;
  while (pool->waiting.first != NULL && weir__wakes_room(wakes)) {
    struct weir__waiter *w = pool->waiting.first;
    weir__waiters_remove(&pool->waiting, w);
    w->code = code;
    weir__waiter_decide(w, WEIR_WAITER_FAILED, wakes);
  }
  if (pool->waiting.first != NULL) {
    weir__tend(pool); /* for the rest */
  }
}

void weir__growth_unclaimed_locked(struct weir__pool *pool) {
  pool->unclaimed_until =
      weir__clock_add(weir__clock_now(), WEIR_GROWTH_PATIENCE_NS);
}

/* Leases that the warm path has measured, a few places at a time. */
static void collect_samples(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  struct weir__growth *g = &pool->growth;
  uint32_t n = weir__load_relaxed_u32(&pool->n_slots);
  for (uint32_t k = 0; k < COLLECT_MAX && k < n; k++) {
    g->cursor = g->cursor + 1 < n ? g->cursor + 1 : 0;
    struct weir__slot *slot = weir__pool_slot(pool, g->cursor);
    uint32_t held = weir__load_relaxed_u32(&slot->hold_us);
    if (held != 0) {
      weir__store_relaxed_u32(&slot->hold_us, 0); /* a newer one may be lost */
      weir__average_feed(&g->forecast.hold, (held - 1) * WEIR_NS_PER_US);
    }
  }
}

/* Idle connections that waiters are about to take, one after the other.  Asked only
 * where one more could be opened, so the search is as long as a growing pool. */
static uint32_t tried(const struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  uint32_t n = pool->waiting.trier == NULL || pool->n_open >= pool->max_now
                   ? 0
                   : weir__idle_count(pool, pool->waiting.n);
  return pool->waiting.trier != NULL && n == 0 ? 1 : n;
}

/* To be opened by the reactor, for those who open none themselves. */
static void plan_start(struct weir__pool *pool, struct weir__slot *slot)
    WEIR_REQUIRES(pool->mu) {
  slot->since = pool->growth.starts;
  pool->growth.starts = slot->index + 1;
  pool->growth.n_owned++;
  weir__tend(pool);
}

static void begin_driving(struct weir__pool *pool,
                          struct weir__waiter *w,
                          struct weir__slot *slot,
                          struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  weir__waiters_remove(&pool->waiting, w);
  weir__waiters_push(&pool->driving, w);
  w->slot = slot;
  weir__waiter_decide(w, WEIR_WAITER_DRIVING, wakes);
}

/* No connect may begin now.  Some of those who wait need not. */
static void denied(struct weir__pool *pool,
                   uint64_t now,
                   bool full,
                   struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  struct weir__cause *cause = NULL;
  pool->growth.refused = pool->growth.refused && !full;
  if (full && pool->n_open == 0) {
    refuse_waiters(pool, wakes);
  } else if (pool->policies.failure->refuses(pool, now, false, &cause)) {
    weir__growth_fail_locked(pool, cause, wakes);
    weir__cause_unref(cause);
  }
}

/* What was idle has gone, and the one who was woken to take it has yet to find
 * out.  It is awake and dispatches when it has looked; a place that was given away
 * before that would go past it. */
static bool trier_is_misled(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  uint32_t generation = weir__q_generation(weir__load_seq_u64(&pool->q));
  return pool->waiting.trier != NULL && !weir__idle_any(pool, generation);
}

static void give_to_waiters(struct weir__pool *pool, struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu) {
  uint64_t now = weir__clock_now();
  pool->growth.wants = trier_is_misled(pool);
  if (pool->growth.wants) {
    return;
  }
  collect_samples(pool);
  while (pool->waiting.first != NULL && weir__wakes_room(wakes)) {
    uint32_t leased = pool->n_open - pool->n_connecting - pool->n_closing;
    uint64_t at = WEIR_NEVER;
    struct weir__waiter *w =
        pool->policies.growth->opener(pool, now, tried(pool), leased, &at);
    if (w == NULL) {
      weir__growth_look_locked(pool, at);
      return;
    }
    bool full;
    struct weir__slot *slot = weir__growth_take_locked(pool, now, &full);
    if (slot == NULL) {
      pool->growth.wants = !full;
      denied(pool, now, full, wakes);
      return;
    }
    weir__forecast_acted(&pool->growth.forecast);
    if (w->caller == NULL) {
      plan_start(pool, slot);
    } else {
      begin_driving(pool, w, slot, wakes);
    }
  }
  if (pool->waiting.first != NULL) {
    pool->growth.wants = true;
    weir__tend(pool); /* for the rest */
  }
}

/* Connects that nobody drives: what they open will be idle, once those who wait have
 * had theirs. */
static uint32_t to_be_idle(const struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu) {
  return pool->n_connecting > pool->driving.n
             ? pool->n_connecting - pool->driving.n
             : 0;
}

/* Min Pool Size, a replacement for one that is to retire, or Min Idle.  A connect that
 * has lost its caller to a connection that came sooner counts as idle, as those
 * for Min Idle do: else there would be one too many. */
bool weir__growth_below_min(struct weir__pool *pool) {
  const struct weir__settings *set = weir__pool_settings(pool);
  uint32_t min =
      pool->wanted > set->min_pool_size ? pool->wanted : set->min_pool_size;
  if (pool->n_open - pool->n_closing < min) {
    return true;
  }
  return set->min_idle != 0 && pool->n_open < pool->max_now &&
         weir__idle_count(pool, set->min_idle) + to_be_idle(pool) <
             set->min_idle;
}

/* A unit of the endpoint's budget that is kept for a pool is nobody else's. */
static bool uses_unit(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  struct weir__growth *g = &pool->growth;
  return weir__control_opens_locked(pool) &&
         pool->policies.failure->blocked_ns(pool, weir__clock_now()) == 0 &&
         (pool->waiting.n != 0
              ? g->wants
              : g->barred == NULL && weir__growth_below_min(pool));
}

/* Nobody here needs a unit any more. */
void weir__growth_content_locked(struct weir__pool *pool) {
  if (pool->growth.in_ring && !uses_unit(pool)) {
    pool->growth.in_ring = false;
    weir__endpoint_content(pool);
  }
}

void weir__growth_halt_locked(struct weir__pool *pool) {
  pool->growth.look_at = WEIR_NEVER;
  weir__growth_content_locked(pool);
}

void weir__growth_locked(struct weir__pool *pool, struct weir__wakes *wakes) {
  pool->growth.look_at = WEIR_NEVER;
  if (!weir__control_opens_locked(pool)) {
    return;
  }
  weir__growth_secrets_locked(pool);
  pool->lazy = pool->lazy && pool->waiting.n == 0;
  if (pool->waiting.first != NULL) {
    give_to_waiters(pool, wakes);
    weir__dispatch_flag_locked(pool); /* the head may be another one */
  } else {
    weir__forecast_waited(&pool->growth.forecast, 0, 0);
  }
  weir__growth_content_locked(pool);
  weir__growth_arm_locked(pool);
  if (pool->waiting.n != 0 && pool->n_patient != 0) {
    weir__tend(pool); /* places that are closing are wanted now */
  }
  if (pool->waiting.n == 0 && weir__growth_below_min(pool) &&
      pool->n_filling < pool->policies.growth->filling && !pool->resting &&
      !pool->lazy && pool->growth.look_at == WEIR_NEVER) {
    weir__tend(pool);
  }
}

void weir__growth_connected_locked(struct weir__pool *pool,
                                   struct weir__slot *slot) {
  uint64_t now = weir__clock_now();
  weir__average_feed(&pool->growth.forecast.connect,
                     now > slot->since ? now - slot->since : 0);
  pool->policies.failure->mended(pool);
  (void)weir__growth_hand_in(pool, slot, WEIR_OUTCOME_GOOD, WEIR_CLASS_NONE,
                             NULL);
}

void weir__growth_returned_locked(struct weir__pool *pool,
                                  struct weir__slot *slot) {
  uint64_t now = weir__clock_now();
  uint64_t held;
  if (weir__slot_held(slot, now, &held)) {
    weir__average_feed(&pool->growth.forecast.hold, held);
  }
}

void weir__growth_served_locked(struct weir__pool *pool,
                                const struct weir__waiter *w) {
  uint64_t now = weir__clock_now();
  weir__forecast_waited(&pool->growth.forecast, now,
                        now > w->since ? now - w->since : 0);
}

void weir__growth_tell_locked(struct weir__pool *pool,
                              struct weir_pool_stats *out) {
  const struct weir__forecast *f = &pool->growth.forecast;
  struct weir__endpoint_view view;
  collect_samples(pool);
  weir__endpoint_look(pool, &view);
  out->effective_max = view.reach;
  out->breaker = view.breaker;
  out->hold_ns = f->hold.known && f->hold.ns == 0 ? 1 : f->hold.ns;
  out->connect_ns = f->connect.known && f->connect.ns == 0 ? 1 : f->connect.ns;
  out->down = pool->growth.down;
  out->blocked_ns = pool->policies.failure->blocked_ns(pool, weir__clock_now());
}
