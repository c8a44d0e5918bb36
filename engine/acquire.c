/* SPDX-License-Identifier: MIT */
#include "acquire.h"

#include <stddef.h>
#include <string.h>

#include "cause.h"
#include "connect.h"
#include "dispatch.h"
#include "explain.h"
#include "growth.h"
#include "handle.h"
#include "loader.h"
#include "session.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/point.h"

uint64_t weir__acquire_lease(const struct weir__slot *slot, uint64_t word) {
  return weir__handle_make(WEIR_TYPE_LEASE, slot->number,
                           weir__slot_lease(word));
}

static uint64_t with_flags(uint64_t word, uint32_t flags) {
  return weir__slot_word(weir__slot_state(word), flags,
                         weir__slot_generation(word), weir__slot_lease(word));
}

/* Idle Expiry=enforced: neither used nor pinged for more than Connection Idle
 * Timeout.  Of a connection that has rested for trust_ns, which is not more: the
 * warm path does not come by here. */
static bool is_stale(const struct weir__pool *pool,
                     const struct weir__slot *slot) {
  const struct weir__settings *set = weir__pool_settings(pool);
  uint64_t rested = weir__load_relaxed_u64(&slot->idle_since);
  uint64_t pinged = weir__slot_session(slot)->pinged;
  uint64_t since = rested > pinged ? rested : pinged;
  return set->idle_expiry == WEIR_EXPIRY_ENFORCED &&
         weir__clock_coarse() > weir__clock_add(since, set->idle_timeout_ns);
}

/* Whether a connection that has rested may be used: it is not stale, and the
 * driver says that it lives.  INCALL leaves the connection to us if a shutdown
 * takes the lease away meanwhile.  *word is followed; false: stale, or dead,
 * cleared or taken away. */
static bool is_sound(struct weir__pool *pool,
                     struct weir__slot *slot,
                     uint64_t *word,
                     bool *out_stale) {
  uint64_t at = *word;
  uint64_t to = with_flags(at, WEIR_SLOT_INCALL);
  if (!weir__slot_move(slot, &at, to)) {
    return false;
  }
  WEIR_POINT("acquire.probe", slot);
  WEIR_ASSERT(weir__mutex_none_held());
  *out_stale = is_stale(pool, slot);
  bool good = !*out_stale &&
              pool->driver->table.health(weir__slot_session(slot)->conn) ==
                  WEIR_DRV_ALIVE_YES;
  at = to;
  do {
    bool mine = weir__slot_lease(at) == weir__slot_lease(*word);
    to = with_flags(at, weir__slot_flags(at) & ~WEIR_SLOT_INCALL);
    if (!good || !mine) {
      *word = at;
      return false;
    }
  } while (!weir__slot_move(slot, &at, to));
  *word = to;
  return weir__slot_flags(to) == 0;
}

enum weir__trust weir__acquire_trust(struct weir__pool *pool,
                                     struct weir__slot *slot,
                                     uint64_t word) {
  uint64_t now = weir__clock_coarse();
  uint64_t rested = weir__load_relaxed_u64(&slot->idle_since);
  if (weir__retire_aged(pool, slot, now)) {
    return WEIR_TRUST_NONE;
  }
  uint64_t window = weir__pool_settings(pool)->trust_ns;
  if ((weir__slot_flags(word) & WEIR_SLOT_SUSPECT) != 0 ||
      now >= weir__clock_add(rested, window)) {
    return WEIR_TRUST_LOOK;
  }
  if (now != rested) { /* each time, the store would cost 3 ns of 67 */
    weir__store_relaxed_u64(&slot->idle_since, now);
  }
  return WEIR_TRUST_FULL;
}

bool weir__acquire_trusted(struct weir__pool *pool,
                           struct weir__slot *slot,
                           uint64_t *word) {
  enum weir__trust trust = weir__acquire_trust(pool, slot, *word);
  if (trust != WEIR_TRUST_LOOK) {
    return trust == WEIR_TRUST_FULL;
  }
  bool stale = false;
  if (!is_sound(pool, slot, word, &stale)) {
    if (!stale) {
      weir__idle_lost(pool);
    }
    return false;
  }
  weir__store_relaxed_u64(&slot->idle_since, weir__clock_coarse());
  return true;
}

/* Whether one who sees that Q may take what is idle. */
static bool may_take(const struct weir__pool *pool, uint64_t q) {
  return (q & WEIR_Q_HALT) == 0 || ((q & WEIR_Q_SHUT) == 0 && !pool->ordered);
}

/* The warm path: an idle connection is there, and nobody waits or may be
 * overtaken. */
static struct weir__slot *take_idle(struct weir__pool *pool,
                                    uint64_t *out_word) {
  for (;;) {
    uint64_t q = weir__load_seq_u64(&pool->q);
    if (!may_take(pool, q)) {
      return NULL;
    }
    struct weir__slot *slot =
        weir__idle_take(pool, weir__q_generation(q), out_word);
    if (slot == NULL) {
      return NULL;
    }
    WEIR_POINT("acquire.claimed", slot);
    weir__slot_start_lease(slot);
    /* Q again: a shutdown that has looked for leases already has not seen this
     * one. */
    if ((weir__load_seq_u64(&pool->q) & WEIR_Q_CLOSED) == 0 &&
        weir__acquire_trusted(pool, slot, out_word)) {
      if ((q & WEIR_Q_WAITERS) != 0) {
        weir__idle_overtook(pool);
      }
      return slot;
    }
    (void)weir__growth_retire(slot, out_word);
  }
}

int weir__acquire_refuse(struct weir__pool *pool,
                         int code,
                         struct weir_error *err) {
  if (code == WEIR_E_CLOSED &&
      (weir__load_seq_u64(&pool->q) & WEIR_Q_CLOSED) == 0) {
    return weir__error_set(err, code, WEIR_PHASE_QUEUE,
                           "the pool is draining; weir_pool_resume() has it "
                           "take callers again");
  }
  if (code == WEIR_E_CLOSED) {
    return weir__error_set(err, code, WEIR_PHASE_QUEUE,
                           "the pool is closed; open it again");
  }
  if (code == WEIR_E_NOMEM) {
    return weir__error_set(err, code, WEIR_PHASE_QUEUE,
                           "no memory for a place in the pool");
  }
  if (code == WEIR_E_SPACE) {
    return weir__error_set(err, code, WEIR_PHASE_QUEUE,
                           "the pools of this process have %u places already, "
                           "and there can be no more",
                           WEIR_HANDLE_MAX);
  }
  return weir__error_set(
      err, code, WEIR_PHASE_QUEUE,
      "%u callers wait for a connection already and Max Waiters allows no "
      "more; raise it, or send less",
      weir__pool_settings(pool)->max_waiters);
}

int weir__acquire_refuse_node(struct weir__pool *pool,
                              struct weir__waiter *w,
                              int code,
                              struct weir_error *err) {
  struct weir__cause *cause = w->cause;
  w->cause = NULL;
  return cause != NULL ? weir__cause_tell(cause, err)
                       : weir__acquire_refuse(pool, code, err);
}

/* In line.  0 or the reason why not. */
static int enqueue(struct weir__pool *pool, struct weir__waiter *w) {
  struct weir__wakes wakes = {.n_asleep = 0};
  weir__mutex_lock(&pool->mu);
  int rc = weir__dispatch_enqueue_locked(pool, w, &wakes);
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, w->caller);
  return rc;
}

/* Leaves the line.  False: the node was decided meanwhile. */
static bool leave(struct weir__pool *pool, struct weir__waiter *w) {
  struct weir__wakes wakes = {.n_asleep = 0};
  WEIR_POINT("waiter.leave", w);
  weir__mutex_lock(&pool->mu);
  bool left = weir__dispatch_leave_locked(pool, w, &wakes);
  pool->timeouts += left;
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, w->caller);
  return left;
}

/* Told that a connection is idle. */
static void try_own(struct weir__pool *pool, struct weir__waiter *w) {
  struct weir__wakes wakes = {.n_asleep = 0};
  WEIR_POINT("waiter.try", w);
  weir__mutex_lock(&pool->mu);
  weir__dispatch_try_locked(pool, w, &wakes);
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, w->caller);
}

static int requeue(struct weir__pool *pool, struct weir__waiter *w) {
  struct weir__wakes wakes = {.n_asleep = 0};
  weir__mutex_lock(&pool->mu);
  int rc = weir__dispatch_requeue_locked(pool, w, &wakes);
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, w->caller);
  return rc;
}

/* A connection that was handed over: good unless its life is over.  False: the
 * caller retires w->granted, whose word is w->granted_word now. */
static bool accept_grant(struct weir__pool *pool,
                         struct weir__waiter *w,
                         uint64_t *out_lease) {
  struct weir__slot *slot = w->granted;
  uint64_t word = w->granted_word;
  if (weir__acquire_trusted(pool, slot, &word)) {
    *out_lease = weir__acquire_lease(slot, word);
    return true;
  }
  w->granted_word = word;
  return false;
}

/* Told to open, and decided otherwise before it could begin.  Not before it has
 * been decided for good: it may be told to open once more. */
static void drop_place(struct weir__pool *pool, struct weir__waiter *w) {
  if (w->slot != NULL) {
    weir__growth_drop(pool, w->slot);
    w->slot = NULL;
  }
}

/* It opens a connection of its own.  WEIR_PENDING: it was decided otherwise. */
static int drive(struct weir__pool *pool,
                 struct weir__waiter *w,
                 uint64_t *out_lease,
                 struct weir_error *err) {
  int rc = weir__connect_drive(pool, w, err);
  if (rc == WEIR_OK) {
    *out_lease = weir__acquire_lease(w->granted, w->granted_word);
  }
  return rc;
}

/* WEIR_PENDING: in line again, because what it was given was dead. */
static int granted(struct weir__pool *pool,
                   struct weir__waiter *w,
                   uint64_t *out_lease,
                   struct weir_error *err) {
  drop_place(pool, w);
  if (accept_grant(pool, w, out_lease)) {
    return WEIR_OK;
  }
  /* In line first: the place that comes free is for the first in line. */
  struct weir__slot *dead = w->granted;
  uint64_t word = w->granted_word;
  int rc = requeue(pool, w);
  (void)weir__growth_retire(dead, &word);
  return rc == 0 ? WEIR_PENDING : weir__acquire_refuse_node(pool, w, rc, err);
}

static int failed(struct weir__pool *pool,
                  struct weir__waiter *w,
                  struct weir_error *err) {
  drop_place(pool, w);
  if (w->code == WEIR_E_OVERLOADED) {
    return weir__explain_shed(pool, w, err);
  }
  return weir__acquire_refuse_node(pool, w, w->code, err);
}

/* What has been decided.  WEIR_PENDING: nothing for good. */
static int follow(struct weir__pool *pool,
                  struct weir__waiter *w,
                  uint64_t *out_lease,
                  struct weir_error *err) {
  int rc = WEIR_PENDING;
  if (weir__waiter_state(w) == WEIR_WAITER_DRIVING) {
    rc = drive(pool, w, out_lease, err);
  }
  if (rc != WEIR_PENDING) {
    return rc;
  }
  switch (weir__waiter_state(w)) {
  case WEIR_WAITER_FAILED:
    return failed(pool, w, err);
  case WEIR_WAITER_GRANTED:
    return granted(pool, w, out_lease, err);
  case WEIR_WAITER_WAITING:
  case WEIR_WAITER_TRYING:
  case WEIR_WAITER_DRIVING:
  default:
    return WEIR_PENDING;
  }
}

static int wait_in_line(struct weir__pool *pool,
                        struct weir__waiter *w,
                        uint64_t *out_lease,
                        struct weir_error *err) {
  int rc;
  do {
    enum weir__waiter_state state = weir__waiter_sleep(w);
    if (state == WEIR_WAITER_TRYING) {
      try_own(pool, w);
    } else if (state == WEIR_WAITER_WAITING && leave(pool, w)) {
      return weir__explain_timeout(pool, w, err);
    }
    rc = follow(pool, w, out_lease, err);
  } while (rc == WEIR_PENDING);
  return rc;
}

int weir__acquire_prepare(struct weir__pool *pool,
                          struct weir__waiter *w,
                          int64_t timeout_ns,
                          struct weir_error *err) {
  uint64_t span = timeout_ns == WEIR_TIMEOUT_POOL
                      ? weir__pool_settings(pool)->connect_timeout_ns
                  : timeout_ns == WEIR_TIMEOUT_NEVER ? WEIR_NEVER
                                                     : (uint64_t)timeout_ns;
  w->since = weir__clock_now();
  w->deadline = weir__clock_add(w->since, span);
  if ((weir__load_seq_u64(&pool->q) & (WEIR_Q_CLOSED | WEIR_Q_DRAINING)) != 0) {
    return weir__acquire_refuse(pool, WEIR_E_CLOSED, err);
  }
  if (span != 0) {
    return WEIR_OK;
  }
  weir__mutex_lock(&pool->mu);
  pool->timeouts++;
  weir__mutex_unlock(&pool->mu);
  return weir__explain_timeout(pool, w, err);
}

bool weir__acquire_at_once(struct weir__pool *pool, uint64_t *out_lease) {
  uint64_t word;
  struct weir__slot *slot = take_idle(pool, &word);
  if (slot == NULL) {
    return false;
  }
  *out_lease = weir__acquire_lease(slot, word);
  return true;
}

/* A frame of its own: the warm path must not pay for clearing a node. */
static int acquire_slow(struct weir__pool *pool,
                        struct weir__caller *self,
                        int64_t timeout_ns,
                        bool strict,
                        uint64_t *out_lease,
                        struct weir_error *err) {
  struct weir__waiter w;
  memset(&w, 0, sizeof w);
  w.caller = self;
  w.strict = strict;
  int rc = weir__acquire_prepare(pool, &w, timeout_ns, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  WEIR_POINT("waiter.enqueue", pool);
  rc = enqueue(pool, &w);
  if (rc == WEIR_E_TIMEOUT && w.cause == NULL) {
    return weir__explain_timeout(pool, &w, err);
  }
  if (rc != 0) {
    return weir__acquire_refuse_node(pool, &w, rc, err);
  }
  WEIR_POINT("waiter.queued", pool);
  return wait_in_line(pool, &w, out_lease, err);
}

int weir__acquire(struct weir__pool *pool,
                  struct weir__caller *self,
                  int64_t timeout_ns,
                  uint64_t *out_lease,
                  struct weir_error *err) {
  return weir__acquire_at_once(pool, out_lease)
             ? WEIR_OK
             : acquire_slow(pool, self, timeout_ns, false, out_lease, err);
}

int weir__acquire_within(struct weir__pool *pool,
                         struct weir__caller *self,
                         int64_t timeout_ns,
                         uint64_t *out_lease,
                         struct weir_error *err) {
  return weir__acquire_at_once(pool, out_lease)
             ? WEIR_OK
             : acquire_slow(pool, self, timeout_ns, true, out_lease, err);
}
