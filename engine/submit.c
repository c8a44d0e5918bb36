/* SPDX-License-Identifier: MIT */
/* submit.c - submitted acquires.
 *
 * A grant is checked as a blocking caller would check it.  One that needs no look
 * is posted where it was made.  One that does is looked at on the reactor: the
 * granter may be a release, which must not spend time on the connection of another,
 * or hold the lock of an engine, under which no driver is called.  A blocking
 * waiter looks on its own thread; a submitted one has none, and the reactor is the
 * thread that may. */
#include "submit.h"

#include <stddef.h>

#include "acquire.h"
#include "base/container.h"
#include "cause.h"
#include "cleanup.h"
#include "dispatch.h"
#include "explain.h"
#include "growth.h"
#include "handle.h"
#include "lease.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/point.h"

static struct weir__entry *entry_of(struct weir__waiter *w) {
  return weir_container_of(w, struct weir__entry, waiter);
}

static void post_lease(struct weir__entry *e,
                       const struct weir__slot *slot,
                       uint64_t word) {
  weir__queue_post(e, WEIR_OK, weir__acquire_lease(slot, word), NULL);
}

/* The end of a pool may end many: the words for that are made when it is taken. */
static void post_failure(struct weir__entry *e, int code) {
  struct weir_error err = {.struct_size = sizeof err};
  bool plain = code == WEIR_E_CANCELLED ||
               (code == WEIR_E_CLOSED &&
                (weir__load_seq_u64(&e->pool->q) & WEIR_Q_CLOSED) != 0);
  if (code == WEIR_E_OVERLOADED) {
    (void)weir__explain_shed(e->pool, &e->waiter, &err);
  } else if (!plain) {
    (void)weir__acquire_refuse(e->pool, code, &err);
  }
  weir__queue_post(e, code, 0, plain ? NULL : &err);
}

static void post_cause(struct weir__entry *e, struct weir__waiter *w) {
  if (w->cause == NULL) {
    post_failure(e, w->code);
    return;
  }
  struct weir_error err = {.struct_size = sizeof err};
  int code = weir__cause_tell(w->cause, &err);
  w->cause = NULL;
  weir__queue_post(e, code, 0, &err);
}

void weir__submit_decided(struct weir__waiter *w) {
  struct weir__entry *e = entry_of(w);
  if (weir__waiter_state(w) == WEIR_WAITER_FAILED) {
    post_cause(e, w);
  } else if (weir__acquire_trust(e->pool, w->granted, w->granted_word) ==
             WEIR_TRUST_FULL) {
    post_lease(e, w->granted, w->granted_word);
  } else {
    weir__entry_look(e, true);
  }
}

/* ----------------------------------------------------------- on the reactor */

/* Its time has come, or its timer is set.  Somebody else may have decided it. */
static void look_at_time(struct weir__entry *e) {
  struct weir__pool *pool = e->pool;
  struct weir_error err = {.struct_size = sizeof err};
  struct weir__wakes wakes = {.n_asleep = 0};
  uint64_t deadline = WEIR_NEVER;
  bool late = false;
  WEIR_POINT("submit.time", e);
  weir__mutex_lock(&pool->mu);
  if (weir__waiter_state(&e->waiter) == WEIR_WAITER_WAITING) {
    deadline = e->waiter.deadline;
    late = weir__clock_now() >= deadline &&
           weir__dispatch_leave_locked(pool, &e->waiter, &wakes);
    pool->timeouts += late;
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  if (late) {
    (void)weir__explain_timeout(pool, &e->waiter, &err);
    weir__queue_post(e, err.code, 0, &err);
  } else if (deadline != WEIR_NEVER) {
    weir__entry_timer(e, deadline);
  }
}

/* A grant that was not good.  Who cancelled it meanwhile was told that it would
 * come: it must not wait on. */
static void requeue(struct weir__entry *e) {
  struct weir__pool *pool = e->pool;
  struct weir__wakes wakes = {.n_asleep = 0};
  weir__mutex_lock(&pool->mu);
  int rc = weir__dispatch_requeue_locked(pool, &e->waiter, &wakes);
  if (rc == 0 && e->cancelled &&
      weir__dispatch_leave_locked(pool, &e->waiter, &wakes)) {
    pool->cancelled++;
    rc = WEIR_E_CANCELLED;
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  if (rc != 0) {
    e->waiter.code = rc;
    post_cause(e, &e->waiter);
  } else {
    look_at_time(e);
  }
}

static void check_grant(struct weir__entry *e) {
  struct weir__slot *slot = e->waiter.granted;
  uint64_t word = e->waiter.granted_word;
  WEIR_POINT("submit.check", e);
  if (weir__acquire_trusted(e->pool, slot, &word)) {
    post_lease(e, slot, word);
    return;
  }
  (void)weir__growth_retire(slot, &word);
  requeue(e);
}

void weir__submit_look(struct weir__entry *entry, bool check) {
  if (check) {
    check_grant(entry);
  } else {
    look_at_time(entry);
  }
}

/* Nobody has ever seen the lease: only a clear or a shutdown may have moved the
 * word. */
void weir__submit_drop_lease(uint64_t lease) {
  uint32_t number;
  uint32_t count;
  if (!weir__handle_split(lease, WEIR_TYPE_LEASE, &number, &count)) {
    return;
  }
  struct weir__slot *slot = weir__slot_find(number);
  uint64_t word = weir__load_seq_u64(&slot->word);
  struct weir__pool *pool =
      atomic_load_explicit(&slot->pool, memory_order_relaxed);
  WEIR_POINT("submit.drop", slot);
  if (weir__slot_state(word) != WEIR_SLOT_LEASED ||
      weir__slot_lease(word) != count) {
    return; /* taken away */
  }
  if (weir__cleanup_worn_out(pool, slot, word) ||
      !weir__publish(pool, slot, &word, NULL)) {
    (void)weir__growth_retire(slot, &word);
  }
}

/* --------------------------------------------------------------- submitting */

/* In line; when the mutex is free the entry may be over and another operation. */
static int enqueue(struct weir__entry *e, const struct weir__caller *self) {
  struct weir__pool *pool = e->pool;
  struct weir__waiter *w = &e->waiter;
  struct weir__wakes wakes = {.n_asleep = 0};
  weir__mutex_lock(&pool->mu);
  e->cancelled = false;
  w->opened_for = false;
  int rc = weir__dispatch_enqueue_locked(pool, w, &wakes);
  if (rc == 0 && weir__waiter_state(w) == WEIR_WAITER_WAITING &&
      w->deadline != WEIR_NEVER) {
    weir__entry_arm(e, w->deadline);
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, self);
  return rc;
}

static int submit_slow(struct weir__pool *pool,
                       struct weir__queue *queue,
                       struct weir__caller *self,
                       const struct weir__submission *how,
                       struct weir_error *err) {
  struct weir__waiter times = {.caller = NULL};
  int rc = weir__acquire_prepare(pool, &times, how->timeout_ns, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__entry *e =
      weir__queue_reserve(queue, WEIR_OP_ACQUIRE, how->user, pool);
  if (e == NULL) {
    return weir__queue_refuse(queue, err);
  }
  uint64_t op = e->handle;
  WEIR_POINT("submit.reserved", e);
  e->waiter.since = times.since;
  e->waiter.deadline = times.deadline;
  rc = enqueue(e, self);
  if (rc != 0) {
    times.cause = e->waiter.cause;
    e->waiter.cause = NULL;
    weir__queue_give_back(e);
    return rc == WEIR_E_TIMEOUT && times.cause == NULL
               ? weir__explain_timeout(pool, &times, err)
               : weir__acquire_refuse_node(pool, &times, rc, err);
  }
  if (how->out_op != NULL) {
    *how->out_op = op;
  }
  WEIR_POINT("submit.queued", pool);
  if (weir__queue_closed(queue)) {
    (void)weir__submit_cancel_op(op); /* its end may have missed this one */
  }
  return WEIR_PENDING;
}

int weir__submit_acquire(struct weir__pool *pool,
                         struct weir__queue *queue,
                         struct weir__caller *self,
                         const struct weir__submission *how,
                         struct weir_error *err) {
  return weir__acquire_at_once(pool, how->out_lease)
             ? WEIR_OK
             : submit_slow(pool, queue, self, how, err);
}

/* --------------------------------------------------------------- cancelling */

static void cancel_acquire(struct weir__entry *e) {
  struct weir__pool *pool = e->pool;
  struct weir__wakes wakes = {.n_asleep = 0};
  weir__mutex_lock(&pool->mu);
  bool left = weir__dispatch_leave_locked(pool, &e->waiter, &wakes);
  pool->cancelled += left;
  e->cancelled = true;
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  if (left) {
    weir__queue_post(e, WEIR_E_CANCELLED, 0, NULL);
  }
}

void weir__submit_cancel(struct weir__entry *entry) {
  WEIR_POINT("op.cancel.locked", entry);
  if (entry->type == WEIR_OP_ACQUIRE) {
    cancel_acquire(entry);
  } else {
    (void)weir__lease_cancel_request(entry->of_lease, entry->of_request);
  }
}

int weir__submit_cancel_op(uint64_t op) {
  struct weir__entry *e = weir__entry_pin(op);
  if (e == NULL) {
    return WEIR_E_HANDLE;
  }
  weir__submit_cancel(e);
  weir__entry_unpin(e);
  return WEIR_OK;
}

void weir__submit_fail_one(struct weir__pool *pool,
                           const struct weir_error *err) {
  struct weir__wakes wakes = {.n_asleep = 0};
  struct weir__waiter *w = NULL;
  weir__mutex_lock(&pool->mu);
  /* The others are enough for the others. */
  if (pool->waiting.n_submitted > pool->growth.n_owned) {
    for (w = pool->waiting.first; w->caller != NULL; w = w->next) {
    }
    (void)weir__dispatch_leave_locked(pool, w, &wakes);
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  if (w != NULL) {
    weir__queue_post(entry_of(w), err->code, 0, err);
  }
}
