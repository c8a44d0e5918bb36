/* SPDX-License-Identifier: MIT */
/* growth_fill.c - what the reactor opens: for Min Pool Size, and for waiters who open
 * nothing themselves. */
#include <stddef.h>

#include "breaker.h"
#include "cause.h"
#include "control.h"
#include "dispatch.h"
#include "endpoint.h"
#include "engine.h"
#include "explain.h"
#include "growth_internal.h"
#include "observe/counters.h"
#include "op.h"
#include "policy.h"
#include "remote.h"
#include "session.h"
#include "status.h"
#include "submit.h"
#include "sys/chance.h"
#include "sys/clock.h"
#include "tend.h"

#define FIRST_JITTER_NS (UINT64_C(100) * WEIR_NS_PER_MS)
#define CLEAR_PAUSE_NS  WEIR_NS_PER_S

/* Claims one place for Min Pool Size. */
static struct weir__slot *take_for_min(struct weir__pool *pool, uint64_t now) {
  struct weir__slot *slot = NULL;
  bool full;
  weir__mutex_lock(&pool->mu);
  if (weir__control_opens_locked(pool) && !pool->lazy &&
      weir__growth_below_min(pool) &&
      pool->n_filling < pool->policies.growth->filling &&
      pool->waiting.n == 0 && pool->growth.barred == NULL) {
    slot = weir__growth_take_locked(pool, now, &full);
    if (slot != NULL) {
      pool->n_filling++;
      weir__growth_unclaimed_locked(pool);
    }
  }
  weir__mutex_unlock(&pool->mu);
  return slot;
}

static void connect_error(struct weir_drv_hconn *session,
                          struct weir_error *err) {
  if (session->expired) {
    weir__explain_expired(session, err);
  } else {
    weir__explain_connect(session, err);
  }
}

static void rest(struct weir__pool *pool, uint64_t ns) WEIR_REQUIRES(pool->mu) {
  uint64_t until = weir__clock_add(weir__clock_now(), ns);
  if (!pool->resting || pool->fill_not_before < until) {
    pool->fill_not_before = until;
  }
  pool->resting = true;
}

/* A connect for Min Pool Size has ended; after a failure there is a pause, drawn
 * as the breaker draws its own: a fleet must not come back in step. */
static void note_filled(struct weir__pool *pool, bool good) {
  weir__mutex_lock(&pool->mu);
  pool->n_filling--;
  if (good) {
    pool->fill_pause = 0;
  } else {
    pool->fill_pause = weir__breaker_delay(pool->fill_pause, weir__random());
    rest(pool, pool->fill_pause);
  }
  weir__mutex_unlock(&pool->mu);
}

void weir__growth_rest_locked(struct weir__pool *pool) {
  const struct weir__settings *set = weir__pool_settings(pool);
  weir__growth_forgive_locked(pool);
  if (pool->closed || (set->min_pool_size | set->min_idle) == 0) {
    return;
  }
  if (pool->policies.growth->pauses) {
    rest(pool, CLEAR_PAUSE_NS);
  } else {
    pool->resting = false; /* whatever failed before */
  }
  weir__tend(pool); /* which sets the timer for the end of the pause */
}

static void fill_ended(struct weir_drv_hconn *session) {
  struct weir__pool *pool = session->pool;
  note_filled(pool, session->status == WEIR_DRV_DONE);
  weir__growth_opened(session);
}

static void begin_fill(struct weir_drv_hconn *session) {
  weir__remote_go(session, weir__op_connect(session, session->limit),
                  fill_ended);
}

static void tell_no_memory(struct weir_error *err) {
  (void)weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_CONNECT,
                        "no memory for a connection");
  weir__error_class(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_OTHER);
}

/* True if the reactor has to open the place itself. */
static bool launch(struct weir__pool *pool,
                   struct weir__slot *slot,
                   uint64_t now,
                   void (*begin)(struct weir_drv_hconn *session),
                   struct weir_error *err) {
  struct weir_drv_hconn *session = weir__session_new(pool->engine, pool, slot);
  if (session == NULL) {
    tell_no_memory(err);
    return false;
  }
  session->limit = weir__growth_limit(pool, now);
  weir__remote_post(session, begin);
  return true;
}

/* ------------------------------------------- for waiters who open none */

static void note_owned(struct weir__pool *pool) {
  weir__mutex_lock(&pool->mu);
  pool->growth.n_owned--;
  weir__mutex_unlock(&pool->mu);
}

static void own_ended(struct weir_drv_hconn *session) {
  note_owned(session->pool);
  session->for_waiters = true;
  weir__growth_opened(session);
}

static void begin_own(struct weir_drv_hconn *session) {
  weir__remote_go(session, weir__op_connect(session, session->limit),
                  own_ended);
}

/* The first of those in line who open none themselves that no connect has been
 * begun for yet; or NULL.  As a rule they come one by one. */
static struct weir__waiter *next_to_open_for(const struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu) {
  struct weir__waiter *w = pool->waiting.last;
  if (w != NULL && w->caller == NULL && !w->opened_for &&
      (w->prev == NULL || w->prev->opened_for)) {
    return w;
  }
  w = pool->waiting.first;
  while (w != NULL && (w->caller != NULL || w->opened_for)) {
    w = w->next;
  }
  return w;
}

/* Connect Timeout Scope=per-phase: the wait is not over before the connect is that
 * begins for it, once; that may end at its limit, and says then why. */
static void prolong_wait(struct weir__pool *pool, uint64_t now)
    WEIR_REQUIRES(pool->mu) {
  bool overall = weir__pool_settings(pool)->timeout_scope == WEIR_SCOPE_OVERALL;
  struct weir__waiter *w = overall ? NULL : next_to_open_for(pool);
  if (w == NULL) {
    return;
  }
  uint64_t until = weir__clock_add(weir__growth_limit(pool, now), 1);
  w->opened_for = true;
  w->deadline = until > w->deadline ? until : w->deadline;
}

/* The next place to be opened; *out_wanted: whether there is anybody left for it.
 * A return that came first, or a clear, may have made it needless. */
static struct weir__slot *take_start(struct weir__pool *pool,
                                     uint64_t now,
                                     bool *out_wanted) {
  struct weir__slot *slot = NULL;
  weir__mutex_lock(&pool->mu);
  if (pool->growth.starts != 0) {
    slot = weir__pool_slot(pool, pool->growth.starts - 1);
    pool->growth.starts = (uint32_t)slot->since;
    slot->since = weir__clock_now();
    *out_wanted = weir__control_opens_locked(pool) &&
                  pool->waiting.n >= pool->growth.n_owned &&
                  weir__slot_flags(weir__load_seq_u64(&slot->word)) == 0;
    if (*out_wanted) {
      prolong_wait(pool, now);
    }
  }
  weir__mutex_unlock(&pool->mu);
  return slot;
}

static void start_planned(struct weir__pool *pool, uint64_t now) {
  struct weir__slot *slot;
  bool wanted = false;
  while ((slot = take_start(pool, now, &wanted)) != NULL) {
    struct weir_error err = {.struct_size = sizeof err};
    if (!wanted) {
      note_owned(pool);
      weir__growth_drop(pool, slot);
    } else if (!launch(pool, slot, now, begin_own, &err)) {
      note_owned(pool);
      weir__submit_fail_one(pool, &err);
      weir__growth_abandon(pool, slot, &err);
    }
  }
}

/* ------------------------------------------------------- for Min Pool Size */

/* Once for a pool: a fleet that starts together must not log in together. */
static void rest_at_first(struct weir__pool *pool) {
  const struct weir__settings *set = weir__pool_settings(pool);
  weir__mutex_lock(&pool->mu);
  if (!pool->growth.jittered && pool->policies.growth->pauses) {
    pool->growth.jittered = true;
    if (set->min_pool_size != 0 && set->startup != WEIR_STARTUP_REQUIRE) {
      rest(pool, weir__random() % FIRST_JITTER_NS);
    }
  }
  weir__mutex_unlock(&pool->mu);
}

static void fill(struct weir__pool *pool, uint64_t now) {
  weir__mutex_lock(&pool->mu);
  /* Once the pause is over it is the ends of connects and the comings and goings
   * of waiters that bring us back here. */
  pool->resting = pool->resting && now < pool->fill_not_before;
  bool resting = pool->resting;
  weir__mutex_unlock(&pool->mu);
  struct weir__slot *slot;
  while (!resting && (slot = take_for_min(pool, now)) != NULL) {
    struct weir_error err = {.struct_size = sizeof err};
    if (!launch(pool, slot, now, begin_fill, &err)) {
      note_filled(pool, false);
      weir__growth_abandon(pool, slot, &err);
      return;
    }
  }
}

/* The connection that has rested longest goes, if long enough. */
static void evict(struct weir__pool *pool, uint64_t now) {
  struct weir__slot *oldest = NULL;
  uint64_t oldest_word = 0;
  uint64_t best = WEIR_NEVER;
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(pool, i);
    uint64_t word = weir__load_seq_u64(&slot->word);
    uint64_t since = weir__load_relaxed_u64(&slot->idle_since);
    if (weir__slot_state(word) == WEIR_SLOT_IDLE &&
        weir__budget_evicts(since, best, now)) {
      oldest = slot;
      oldest_word = word;
      best = since;
    }
  }
  if (oldest == NULL || !weir__growth_retire(oldest, &oldest_word)) {
    weir__endpoint_kept(pool);
  }
}

void weir__growth_fill(struct weir__pool *pool) {
  uint64_t now = weir__clock_now();
  start_planned(pool, now);
  if (weir__endpoint_evicts(pool)) {
    evict(pool, now);
  }
  rest_at_first(pool);
  fill(pool, now);
  weir__mutex_lock(&pool->mu);
  weir__growth_content_locked(pool);
  weir__mutex_unlock(&pool->mu);
}

static void note_failure(struct weir_drv_hconn *session) {
  struct weir_error err = {.struct_size = sizeof err};
  connect_error(session, &err);
  if (!weir__growth_failed(session->pool, session->slot, &err) &&
      session->for_waiters) {
    weir__submit_fail_one(session->pool, &err);
  }
}

void weir__growth_opened(struct weir_drv_hconn *session) {
  struct weir__pool *pool = session->pool;
  struct weir__slot *slot = session->slot;
  uint64_t word = weir__load_seq_u64(&slot->word);
  weir__remote_release(session);
  if (session->status == WEIR_DRV_DONE && session->usable) {
    weir__mutex_lock(&pool->mu);
    weir__counters_opened_locked(pool, session);
    weir__growth_connected_locked(pool, slot);
    weir__control_news_locked(pool);
    weir__mutex_unlock(&pool->mu);
    if ((weir__slot_flags(word) & WEIR_SLOT_DOOMED) == 0 &&
        weir__publish(pool, slot, &word, NULL)) {
      weir__tend(pool); /* one for Min Pool Size may have stood behind it */
      return;
    }
  } else {
    note_failure(session);
  }
  (void)weir__growth_retire(slot, &word);
  weir__tend(pool);
}
