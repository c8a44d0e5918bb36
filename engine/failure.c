/* SPDX-License-Identifier: MIT */
/* failure.c - what a failed connect, or a lost connection, does to its pool.
 *
 * Order: the breaker and the budget first (permits back), then the waiters, then
 * whoever owns the slot retires it. */
#include <stddef.h>

#include "cause.h"
#include "classify.h"
#include "control.h"
#include "dispatch.h"
#include "endpoint.h"
#include "growth.h"
#include "idle.h"
#include "policy.h"
#include "session.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "tend.h"

/* ----------------------------------------------------------------- waiters */

void weir__growth_fail_locked(struct weir__pool *pool,
                              struct weir__cause *cause,
                              struct weir__wakes *wakes) {
  int32_t code = cause == NULL ? WEIR_E_NOMEM : cause->error.code;
  while (pool->waiting.first != NULL && weir__wakes_room(wakes)) {
    struct weir__waiter *w = pool->waiting.first;
    weir__waiters_remove(&pool->waiting, w);
    w->code = code;
    w->cause = weir__cause_ref(cause);
    pool->growth.down += code == WEIR_E_DOWN;
    weir__waiter_decide(w, WEIR_WAITER_FAILED, wakes);
  }
  if (pool->waiting.first != NULL) {
    weir__tend(pool); /* for the rest */
  }
}

static void fail_all(struct weir__pool *pool, struct weir__cause *cause) {
  bool more;
  do {
    struct weir__wakes wakes = {.n_asleep = 0};
    weir__mutex_lock(&pool->mu);
    weir__growth_fail_locked(pool, cause, &wakes);
    weir__dispatch_flag_locked(pool);
    more = pool->waiting.first != NULL;
    weir__mutex_unlock(&pool->mu);
    weir__wakes_flush(&wakes, NULL);
  } while (more);
}

/* Behind all that came before it: usually those that failed with it. */
static void insert(struct weir__waiters *list, struct weir__waiter *w) {
  struct weir__waiter *next = list->first;
  while (next != NULL && next->since <= w->since) {
    next = next->next;
  }
  if (next == NULL) {
    weir__waiters_push(list, w);
  } else if (next->prev == NULL) {
    weir__waiters_push_front(list, w);
  } else {
    w->next = next;
    w->prev = next->prev;
    next->prev->next = w;
    next->prev = w;
    list->n++;
    list->n_submitted += w->caller == NULL;
  }
}

void weir__growth_keep(struct weir__pool *pool, struct weir__waiter *w) {
  struct weir__wakes wakes = {.n_asleep = 0};
  weir__mutex_lock(&pool->mu);
  if (weir__waiter_state(w) == WEIR_WAITER_DRIVING) {
    weir__waiters_remove(&pool->driving, w);
    w->slot = NULL;
    weir__waiter_move(w, WEIR_WAITER_WAITING);
    insert(&pool->waiting, w);
    weir__dispatch_locked(pool, &wakes);
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, w->caller);
}

/* ---------------------------------------------------------------- the pool */

static bool clears_on_role(const struct weir__pool *pool) {
  return weir__pool_settings(pool)->clear_on_failover != 0;
}

/* True once for each set of connections: until one has succeeded since there is
 * nothing to clear. */
static bool first_of_role(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  bool first = pool->growth.cleared_at_ok != pool->connects_ok;
  pool->growth.cleared_at_ok = pool->connects_ok;
  return first;
}

bool weir__growth_is_hasty(const struct weir__pool *pool) {
  return pool->growth.proving != 0 ||
         weir__pool_settings(pool)->blocking_period == WEIR_BLOCKING_ALWAYS;
}

void weir__growth_prove(struct weir__pool *pool, bool proving) {
  weir__mutex_lock(&pool->mu);
  pool->growth.proving += proving ? 1u : UINT32_MAX;
  weir__mutex_unlock(&pool->mu);
}

static void hand_in_bad(struct weir__pool *pool,
                        struct weir__slot *slot,
                        enum weir__class class,
                        const struct weir_error *err) {
  /* What a closed pool was still opening has been cut off by ourselves. */
  bool closed = (weir__load_seq_u64(&pool->q) & WEIR_Q_CLOSED) != 0;
  uint32_t ticket = slot->mark;
  slot->mark = WEIR_ENDPOINT_NO_TICKET;
  (void)weir__endpoint_ended(pool, ticket,
                             closed ? WEIR_OUTCOME_DROPPED : WEIR_OUTCOME_BAD,
                             class, err);
}

bool weir__growth_failed(struct weir__pool *pool,
                         struct weir__slot *slot,
                         const struct weir_error *err) {
  enum weir__class class =
      weir__classify_connect(err->scope, err->kind, err->phase);
  struct weir__cause *cause = weir__cause_new(err);
  hand_in_bad(pool, slot, class, err);
  weir__mutex_lock(&pool->mu);
  pool->connects_failed++;
  weir__control_news_locked(pool);
  weir__cause_unref(pool->last_error);
  pool->last_error = weir__cause_ref(cause);
  pool->last_error_at = weir__clock_now();
  struct weir__failure_verdict verdict =
      pool->policies.failure->judge(pool, class, cause);
  bool clear =
      class == WEIR_CLASS_ROLE && clears_on_role(pool) && first_of_role(pool);
  weir__mutex_unlock(&pool->mu);
  if (verdict.all) {
    fail_all(pool, cause);
  }
  weir__cause_unref(cause);
  if (clear) {
    weir__pool_clear(pool);
  }
  return verdict.stay;
}

void weir__growth_replace_failed(struct weir__pool *pool,
                                 const struct weir_drv_hconn *session) {
  struct weir_error err = {.struct_size = sizeof err};
  weir__error_from_driver(&err, &session->error, WEIR_E_FAIL, WEIR_PHASE_LOGIN);
  struct weir__cause *cause = weir__cause_new(&err);
  weir__mutex_lock(&pool->mu);
  pool->connects_failed++;
  weir__control_news_locked(pool);
  weir__cause_unref(pool->last_error);
  pool->last_error = weir__cause_ref(cause);
  pool->last_error_at = weir__clock_now();
  (void)pool->policies.failure->judge(
      pool, weir__classify_connect(err.scope, err.kind, err.phase), cause);
  weir__mutex_unlock(&pool->mu);
  weir__cause_unref(cause);
}

bool weir__growth_is_barred(struct weir__pool *pool) {
  weir__mutex_lock(&pool->mu);
  bool barred = pool->growth.barred != NULL;
  weir__mutex_unlock(&pool->mu);
  return barred;
}

/* --------------------------------------------------------- lost ones in use */

void weir__growth_lost(struct weir__pool *pool,
                       const struct weir_drv_hconn *session,
                       uint64_t word) {
  const struct weir_drv_error *err = &session->error;
  uint64_t q = weir__load_seq_u64(&pool->q);
  if (session->usable || (q & WEIR_Q_CLOSED) != 0) {
    return;
  }
  switch (weir__classify(err->scope, err->kind)) {
  case WEIR_CLASS_ROLE:
    if (clears_on_role(pool) &&
        weir__slot_generation(word) == weir__q_generation(q)) {
      weir__pool_clear(pool); /* once: the others are of an older one then */
    }
    break;
  case WEIR_CLASS_OVERLOADED:
    weir__endpoint_overloaded(pool);
    break;
  case WEIR_CLASS_UNREACHABLE:
  case WEIR_CLASS_TRANSIENT:
    if (err->kind == WEIR_DRV_K_NETWORK) {
      weir__idle_lost(pool); /* several in a second: all idle ones suspect */
    }
    break;
  case WEIR_CLASS_NONE:
  case WEIR_CLASS_PERMANENT:
  default:
    break;
  }
}
