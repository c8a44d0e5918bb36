/* SPDX-License-Identifier: MIT */
/* failure.c - what a failed connect, or a lost connection, does to its pool.
 *
 * Order: the breaker and the budget first (permits back), then the waiters, then
 * whoever owns the slot retires it. */
#include <stddef.h>

#include "cause.h"
#include "classify.h"
#include "control.h"
#include "credential.h"
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

static void fail(struct weir__pool *pool,
                 struct weir__waiter *w,
                 struct weir__cause *cause,
                 struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  weir__waiters_remove(&pool->waiting, w);
  w->code = cause == NULL ? WEIR_E_NOMEM : cause->error.code;
  w->cause = weir__cause_ref(cause);
  pool->growth.down += w->code == WEIR_E_DOWN;
  weir__waiter_decide(w, WEIR_WAITER_FAILED, wakes);
}

void weir__growth_fail_locked(struct weir__pool *pool,
                              struct weir__cause *cause,
                              struct weir__wakes *wakes) {
  while (pool->waiting.first != NULL && weir__wakes_room(wakes)) {
    fail(pool, pool->waiting.first, cause, wakes);
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

/* One more than the caller whose connect it was: the first in line, if there are
 * more in line than will be opened for.  `own`: the connect was for one of those,
 * whom it will fail besides. */
static void fail_one(struct weir__pool *pool,
                     struct weir__cause *cause,
                     bool own) {
  struct weir__wakes wakes = {.n_asleep = 0};
  weir__mutex_lock(&pool->mu);
  const struct weir__waiter *trier = pool->waiting.trier;
  struct weir__waiter *w = pool->waiting.first;
  if (pool->waiting.n > pool->growth.n_owned + own) {
    fail(pool, w, cause, &wakes);
    weir__dispatch_tried_locked(pool, trier, &wakes);
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
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

/* What a pool was still opening when it was closed, or when the grace of its drain
 * had passed, has been cut off by ourselves. */
static bool is_cut(struct weir__pool *pool) {
  weir__mutex_lock(&pool->mu);
  bool cut = pool->closed || pool->cut;
  weir__mutex_unlock(&pool->mu);
  return cut;
}

static void hand_in_bad(struct weir__pool *pool,
                        struct weir__slot *slot,
                        enum weir__class class,
                        const struct weir_error *err) {
  enum weir__outcome outcome =
      is_cut(pool) ? WEIR_OUTCOME_DROPPED : WEIR_OUTCOME_BAD;
  uint32_t ticket = slot->mark;
  slot->mark = WEIR_ENDPOINT_NO_TICKET;
  (void)weir__endpoint_ended(pool, ticket, outcome, class, err);
}

/* True: the pool is to be cleared for it. */
static bool note(struct weir__pool *pool,
                 enum weir__class class,
                 struct weir__cause *cause) {
  weir__mutex_lock(&pool->mu);
  pool->connects_failed++;
  weir__control_news_locked(pool);
  weir__cause_unref(pool->last_error);
  pool->last_error = weir__cause_ref(cause);
  pool->last_error_at = weir__clock_now();
  bool clear =
      class == WEIR_CLASS_ROLE && clears_on_role(pool) && first_of_role(pool);
  weir__mutex_unlock(&pool->mu);
  return clear;
}

static struct weir__failure_verdict judge(struct weir__pool *pool,
                                          enum weir__class class,
                                          struct weir__cause *cause,
                                          uint64_t begun) {
  struct weir__failure_verdict verdict = {.stay = false};
  weir__mutex_lock(&pool->mu);
  if (!pool->closed && !pool->cut) {
    verdict = pool->policies.failure->judge(pool, class, cause, begun);
    pool->growth.secrets = weir__credential_secrets(pool->credential);
  }
  weir__mutex_unlock(&pool->mu);
  return verdict;
}

static void tell_others(struct weir__pool *pool,
                        const struct weir__failure_verdict *verdict,
                        struct weir__cause *cause,
                        bool own) {
  struct weir__cause *told = cause == NULL || verdict->again_ns == 0
                                 ? weir__cause_ref(cause)
                                 : weir__cause_again(cause, verdict->again_ns);
  if (verdict->all) {
    fail_all(pool, told);
  } else if (verdict->one) {
    fail_one(pool, told, own);
  }
  weir__cause_unref(told);
}

/* Cleared before it is judged: a clear forgets failures. */
bool weir__growth_failed(struct weir__pool *pool,
                         struct weir__slot *slot,
                         const struct weir_error *err) {
  enum weir__class class =
      weir__classify_connect(err->scope, err->kind, err->phase);
  const struct weir_drv_hconn *session = weir__slot_session(slot);
  struct weir__cause *cause = weir__cause_new(err);
  hand_in_bad(pool, slot, class, err);
  if (note(pool, class, cause)) {
    weir__pool_clear(pool);
  }
  struct weir__failure_verdict verdict = judge(pool, class, cause, slot->since);
  if (verdict.all || verdict.one) {
    tell_others(pool, &verdict, cause, session != NULL && session->for_waiters);
  }
  weir__cause_unref(cause);
  return verdict.stay;
}

/* ------------------------------------------------------------- replacements */

bool weir__growth_replace_begin(struct weir__pool *pool, uint32_t *out_ticket) {
  weir__mutex_lock(&pool->mu);
  /* Not as a probe: its end would be the end of a statement, too. */
  bool may = pool->growth.barred == NULL && !pool->growth.blocking.active &&
             weir__endpoint_is_well(pool, out_ticket);
  pool->connects_begun += may;
  weir__mutex_unlock(&pool->mu);
  return may;
}

/* What its user has stopped, or its statement's time, says nothing of the server. */
static bool is_telling(const struct weir_drv_hconn *session) {
  return !session->cancelling && !session->expired && !session->closed &&
         session->error.kind != WEIR_DRV_K_CANCELLED;
}

static void replace_failed(struct weir__pool *pool,
                           const struct weir_drv_hconn *session) {
  struct weir_error err = {.struct_size = sizeof err};
  weir__error_from_driver(&err, &session->error, WEIR_E_FAIL, WEIR_PHASE_LOGIN);
  enum weir__class class =
      weir__classify_connect(err.scope, err.kind, err.phase);
  struct weir__cause *cause = weir__cause_new(&err);
  bool telling = is_telling(session);
  (void)weir__endpoint_ended(pool, session->ticket,
                             telling ? WEIR_OUTCOME_BAD : WEIR_OUTCOME_DROPPED,
                             class, &err);
  bool clear = note(pool, class, cause);
  if (telling && clear) {
    weir__pool_clear(pool);
  }
  if (telling) {
    (void)judge(pool, class, cause, session->replaced_at);
  }
  weir__cause_unref(cause);
}

void weir__growth_replaced(struct weir__pool *pool,
                           const struct weir_drv_hconn *session,
                           bool good) {
  if (!good) {
    replace_failed(pool, session);
    return;
  }
  (void)weir__endpoint_ended(pool, session->ticket, WEIR_OUTCOME_GOOD,
                             WEIR_CLASS_NONE, NULL);
  weir__mutex_lock(&pool->mu);
  pool->connects_ok++;
  pool->disconnects++; /* of the one it replaces; else its end counts */
  weir__growth_forgive_locked(pool);
  weir__mutex_unlock(&pool->mu);
}

/* ------------------------------------------------------- what is remembered */

void weir__growth_bar_locked(struct weir__pool *pool,
                             struct weir__cause *cause) {
  weir__cause_unref(pool->growth.barred);
  pool->growth.barred = weir__cause_ref(cause);
}

void weir__growth_unbar_locked(struct weir__pool *pool) {
  weir__cause_unref(pool->growth.barred);
  pool->growth.barred = NULL;
}

void weir__growth_forgive_locked(struct weir__pool *pool) {
  pool->policies.failure->mended(pool);
  if (pool->waiting.n != 0) {
    weir__tend(pool); /* one may be opened for them now */
  }
}

static bool is_for_secret(const struct weir__cause *cause) {
  return cause != NULL && (cause->error.kind == WEIR_KIND_AUTH ||
                           cause->error.kind == WEIR_KIND_AUTH_EXPIRED);
}

void weir__growth_secrets_locked(struct weir__pool *pool) {
  struct weir__growth *g = &pool->growth;
  if (!is_for_secret(g->barred) && !is_for_secret(g->cached)) {
    return;
  }
  if (g->secrets != weir__credential_secrets(pool->credential)) {
    weir__growth_forgive_locked(pool);
  }
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
