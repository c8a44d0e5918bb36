/* SPDX-License-Identifier: MIT */
#include "dispatch.h"

#include <stddef.h>

#include "cause.h"
#include "control.h"
#include "growth.h"
#include "policy.h"
#include "session.h"
#include "shed.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/point.h"

/* Whether that one is woken to take for itself, so that others may be sooner.  In
 * a pool that drains there are no others, and what is idle is closed. */
static bool may_try(const struct weir__pool *pool,
                    const struct weir__waiter *w) {
  return !pool->ordered && !pool->draining && w->caller != NULL &&
         weir__waiter_waits(weir__waiter_state(w));
}

/* When a release is to hand over to that one; of the head of the line: when any
 * is. */
static uint64_t due_of(const struct weir__pool *pool,
                       const struct weir__waiter *w) {
  if (!may_try(pool, w)) {
    return 0;
  }
  return pool->policies.handoff->overtaking == WEIR_OVERTAKE_ALWAYS
             ? WEIR_NEVER
             : weir__clock_add(w->since,
                               weir__pool_settings(pool)->handoff_bound_ns);
}

/* The first of those who may get what comes free; its time may have passed. */
static const struct weir__waiter *head_of(const struct weir__pool *pool) {
  return pool->waiting.first != NULL       ? pool->waiting.first
         : pool->policies.handoff->openers ? pool->driving.first
                                           : NULL;
}

static void set_due(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  const struct weir__waiter *head = head_of(pool);
  weir__store_relaxed_u64(&pool->due,
                          head == NULL ? WEIR_NEVER : due_of(pool, head));
}

void weir__dispatch_flag_locked(struct weir__pool *pool) {
  uint64_t want = (head_of(pool) != NULL ? WEIR_Q_WAITERS : 0) |
                  (pool->waiting.trier != NULL ? WEIR_Q_TRYING : 0);
  /* These two bits change under mu only. */
  uint64_t have = weir__load_relaxed_u64(&pool->q);
  uint64_t gone = have & ~want & (WEIR_Q_WAITERS | WEIR_Q_TRYING);
  set_due(pool);
  WEIR_POINT("dispatch.flag.locked", pool);
  if ((want & ~have) != 0) {
    (void)weir__or_seq_u64(&pool->q, want);
  }
  if (gone != 0) {
    (void)weir__and_seq_u64(&pool->q, ~gone);
  }
}

/* True if it was opening a connection, which goes on without it. */
static bool unlist(struct weir__pool *pool, struct weir__waiter *w) {
  bool driving = weir__load_relaxed_u32(&w->state) == WEIR_WAITER_DRIVING;
  weir__waiters_remove(driving ? &pool->driving : &pool->waiting, w);
  return driving;
}

/* The bucket of a wait: below 1 us << i. */
static uint32_t bucket_of(uint64_t ns) {
  uint64_t us = ns / WEIR_NS_PER_US;
  uint32_t i = us == 0 ? 0 : 64u - (uint32_t)__builtin_clzll(us);
  return i < WEIR_WAIT_BUCKETS ? i : WEIR_WAIT_BUCKETS - 1;
}

void weir__dispatch_waited_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  uint64_t now) {
  struct weir__waits *waits = &pool->waits;
  w->waited = now > w->since ? now - w->since : 0;
  waits->count++;
  waits->sum_ns += w->waited;
  waits->bucket[bucket_of(w->waited)]++;
  waits->max_ns = w->waited > waits->max_ns ? w->waited : waits->max_ns;
  weir__shed_served_locked(pool, now, w->waited);
}

/* It was not served after all.  The longest wait stays: this one goes on, and
 * will be longer. */
static void not_waited(struct weir__pool *pool, const struct weir__waiter *w)
    WEIR_REQUIRES(pool->mu) {
  struct weir__waits *waits = &pool->waits;
  waits->count--;
  waits->sum_ns -= w->waited;
  waits->bucket[bucket_of(w->waited)]--;
}

/* The node has it, but for the decision. */
static void assign(struct weir__pool *pool,
                   struct weir__waiter *w,
                   struct weir__slot *slot,
                   uint64_t word,
                   uint64_t now) WEIR_REQUIRES(pool->mu) {
  if (unlist(pool, w)) {
    weir__growth_unclaimed_locked(pool);
  }
  weir__dispatch_waited_locked(pool, w, now);
  weir__growth_served_locked(pool, w);
  w->granted = slot;
  w->granted_word = word;
}

static void grant(struct weir__pool *pool,
                  struct weir__waiter *w,
                  struct weir__slot *slot,
                  uint64_t word,
                  uint64_t now,
                  struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  assign(pool, w, slot, word, now);
  weir__waiter_decide(w, WEIR_WAITER_GRANTED, wakes);
}

static struct weir__slot *claim_idle(struct weir__pool *pool,
                                     uint64_t *out_word)
    WEIR_REQUIRES(pool->mu) {
  uint32_t generation = weir__q_generation(weir__load_seq_u64(&pool->q));
  struct weir__slot *slot = weir__idle_take(pool, generation, out_word);
  if (slot != NULL) {
    weir__slot_start_lease(slot);
  }
  return slot;
}

/* The calling thread looks for itself. */
static bool take_own(struct weir__pool *pool, struct weir__waiter *w)
    WEIR_REQUIRES(pool->mu) {
  uint64_t word = 0;
  struct weir__slot *slot =
      weir__control_grants_locked(pool) ? claim_idle(pool, &word) : NULL;
  if (slot == NULL) {
    return false;
  }
  assign(pool, w, slot, word, weir__clock_now());
  weir__waiter_move(w, WEIR_WAITER_GRANTED);
  return true;
}

/* False: *word was not the slot's. */
static bool hand_over_locked(struct weir__pool *pool,
                             struct weir__waiter *w,
                             struct weir__slot *slot,
                             uint64_t *word,
                             uint64_t now,
                             struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu) {
  uint64_t leased =
      weir__slot_word(WEIR_SLOT_LEASED, 0, weir__slot_generation(*word),
                      weir__slot_lease(*word) + 1);
  if (weir__slot_state(*word) != WEIR_SLOT_CONNECTING) {
    weir__growth_returned_locked(pool, slot);
  }
  /* In use until now: the next one need not look whether it lives. */
  weir__store_relaxed_u64(&slot->idle_since, weir__clock_coarse());
  if (!weir__slot_move(slot, word, leased)) {
    return false;
  }
  weir__slot_start_lease(slot);
  pool->handovers++;
  grant(pool, w, slot, leased, now, wakes);
  if (weir__slot_state(*word) == WEIR_SLOT_CONNECTING) {
    pool->n_connecting--;
    weir__growth_locked(pool, wakes);
  }
  return true;
}

/* 1: handed over; 0: nobody to hand it to yet; -1: *word was not the slot's. */
static int try_hand_over(struct weir__pool *pool,
                         struct weir__slot *slot,
                         uint64_t *word,
                         const struct weir__caller *self) {
  struct weir__wakes wakes = {.n_asleep = 0};
  int result = 0;
  weir__mutex_lock(&pool->mu);
  uint64_t now = weir__clock_now();
  const struct weir__waiter *trier = pool->waiting.trier;
  weir__shed_head_locked(pool, now, &wakes);
  /* Those that wait in a closed pool are about to be told so. */
  struct weir__waiter *w = weir__control_grants_locked(pool)
                               ? pool->policies.handoff->heir(pool, now)
                               : NULL;
  /* Again: another may be the heir by now. */
  if (w != NULL && now >= due_of(pool, w)) {
    result = hand_over_locked(pool, w, slot, word, now, &wakes) ? 1 : -1;
  }
  weir__dispatch_tried_locked(pool, trier, &wakes);
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, self);
  return result;
}

/* Idle since when it was, and in the same turn. */
#define AS_BEFORE WEIR_NEVER

static bool make_idle(struct weir__pool *pool,
                      struct weir__slot *slot,
                      uint64_t *word,
                      uint64_t since) {
  uint64_t idle = weir__slot_word(
      WEIR_SLOT_IDLE, 0, weir__slot_generation(*word), weir__slot_lease(*word));
  bool connecting = weir__slot_state(*word) == WEIR_SLOT_CONNECTING;
  if (weir__slot_state(*word) == WEIR_SLOT_LEASED) {
    weir__slot_sample(slot, since);
  }
  if (since != AS_BEFORE) {
    weir__store_relaxed_u64(&slot->idle_since, since);
  }
  if (!weir__slot_move(slot, word, idle)) {
    return false;
  }
  if (connecting) {
    weir__mutex_lock(&pool->mu);
    pool->n_connecting--; /* the permit is back before anyone is woken */
    weir__mutex_unlock(&pool->mu);
  }
  return true;
}

/* No clock is read for those who need not wait for the bound. */
static bool is_due(const struct weir__pool *pool) {
  uint64_t due = weir__load_relaxed_u64(&pool->due);
  return due == 0 || (due != WEIR_NEVER && weir__clock_now() >= due);
}

/* Whether one who has made a slot idle must look who waits for it.  The end of a
 * connect is leave for another, whoever takes what it has opened. */
static bool must_dispatch(uint64_t q, bool connected) {
  uint64_t alone = WEIR_Q_WAITERS | WEIR_Q_TRYING;
  return (q & WEIR_Q_FLAGS) != 0 && (connected || (q & WEIR_Q_FLAGS) != alone);
}

static bool publish(struct weir__pool *pool,
                    struct weir__slot *slot,
                    uint64_t *word,
                    const struct weir__caller *self,
                    uint64_t since) {
  uint32_t index = slot->index;
  uint32_t generation = weir__slot_generation(*word);
  bool connected = weir__slot_state(*word) == WEIR_SLOT_CONNECTING;
  uint64_t idle =
      weir__slot_word(WEIR_SLOT_IDLE, 0, generation, weir__slot_lease(*word));
  uint64_t q = weir__load_seq_u64(&pool->q);
  if ((q & WEIR_Q_SURPLUS) != 0 && weir__control_shed(pool, slot, *word)) {
    return true;
  }
  if ((q & WEIR_Q_WAITERS) != 0 && is_due(pool)) {
    int handed = try_hand_over(pool, slot, word, self);
    if (handed != 0) {
      return handed > 0;
    }
  }
  WEIR_POINT("publish.idle", slot);
  if (!make_idle(pool, slot, word, since)) {
    return false;
  }
  WEIR_POINT("publish.published", slot);
  weir__idle_note(pool, index, since == AS_BEFORE);
  /* Re-read: a waiter that came before the slot was idle has set WAITERS, one
   * that came later finds the slot.  Whoever cleared or closed the pool before
   * the slot was idle has not seen it, so it is retired here, by its word: its
   * bit may be away for a moment (idle.c). */
  q = weir__load_seq_u64(&pool->q);
  if ((q & WEIR_Q_DRAINING) != 0 && (q & WEIR_Q_WAITERS) != 0) {
    weir__dispatch(pool, self); /* those in line before it is closed */
  }
  if ((q & (WEIR_Q_CLOSED | WEIR_Q_DRAINING)) != 0 ||
      weir__q_generation(q) != generation) {
    (void)weir__growth_retire(slot, &idle);
  } else if ((q & WEIR_Q_SURPLUS) != 0) {
    (void)weir__control_shed(pool, slot, idle);
  }
  if (must_dispatch(q, connected)) {
    weir__dispatch(pool, self);
  }
  return true;
}

bool weir__publish(struct weir__pool *pool,
                   struct weir__slot *slot,
                   uint64_t *word,
                   const struct weir__caller *self) {
  return publish(pool, slot, word, self, weir__clock_coarse());
}

bool weir__publish_again(struct weir__pool *pool,
                         struct weir__slot *slot,
                         uint64_t *word) {
  return publish(pool, slot, word, NULL, AS_BEFORE);
}

/* The trier has gone: a release that still sees its TRYING has made its slot idle
 * before. */
static void flag_before_look(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  if (pool->waiting.trier == NULL &&
      (weir__load_relaxed_u64(&pool->q) & WEIR_Q_TRYING) != 0) {
    weir__dispatch_flag_locked(pool);
  }
}

/* Idle slots to the heirs; one of those who take for themselves is woken, and the
 * rest is its business. */
static void serve_locked(struct weir__pool *pool, struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu) {
  uint64_t now = 0;
  while (head_of(pool) != NULL && weir__wakes_room(wakes)) {
    now = now == 0 ? weir__clock_now() : now;
    weir__shed_head_locked(pool, now, wakes);
    flag_before_look(pool);
    struct weir__waiter *w = pool->policies.handoff->heir(pool, now);
    if (w == NULL) {
      return;
    }
    if (may_try(pool, w)) {
      uint32_t generation = weir__q_generation(weir__load_seq_u64(&pool->q));
      if (pool->waiting.trier == NULL && weir__idle_any(pool, generation)) {
        WEIR_POINT("waiter.told.locked", w);
        weir__waiter_try(&pool->waiting, w, wakes);
      }
      return;
    }
    uint64_t word = 0;
    struct weir__slot *slot = claim_idle(pool, &word);
    if (slot == NULL) {
      return;
    }
    grant(pool, w, slot, word, now, wakes);
  }
}

void weir__dispatch_try_locked(struct weir__pool *pool,
                               struct weir__waiter *w,
                               struct weir__wakes *wakes) {
  if (pool->waiting.trier != w) {
    return;
  }
  /* First: a release that still sees TRYING has made its slot idle before. */
  weir__waiter_untry(&pool->waiting);
  weir__dispatch_flag_locked(pool);
  WEIR_POINT("try.look.locked", w);
  (void)take_own(pool, w);
  weir__dispatch_locked(pool, wakes);
}

void weir__dispatch_locked(struct weir__pool *pool, struct weir__wakes *wakes) {
  if (weir__control_grants_locked(pool)) {
    serve_locked(pool, wakes);
    weir__growth_locked(pool, wakes);
    weir__control_give_up_locked(pool, wakes);
  }
  pool->waiting.moved_up = false; /* whoever has has been thought of */
  weir__dispatch_flag_locked(pool);
}

void weir__dispatch_tried_locked(struct weir__pool *pool,
                                 const struct weir__waiter *trier,
                                 struct weir__wakes *wakes) {
  if ((trier != NULL && pool->waiting.trier != trier) ||
      pool->waiting.moved_up) {
    weir__dispatch_locked(pool, wakes);
  } else {
    weir__dispatch_flag_locked(pool);
  }
}

/* One who has just come into line, while a connect may not begin for a while: it is
 * not to wait for that.  0: it stays, or has been given what was idle. */
static int refuse_locked(struct weir__pool *pool,
                         struct weir__waiter *w,
                         struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  struct weir__cause *cause = NULL;
  weir__growth_secrets_locked(pool);
  if (!weir__control_opens_locked(pool) ||
      !pool->policies.failure->refuses(pool, weir__clock_now(), true, &cause)) {
    return 0;
  }
  serve_locked(pool, wakes);
  if (!weir__dispatch_leave_locked(pool, w, wakes)) {
    weir__cause_unref(cause);
    return 0;
  }
  w->cause = cause;
  return cause == NULL ? WEIR_E_NOMEM : cause->error.code;
}

int weir__dispatch_enqueue_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  struct weir__wakes *wakes) {
  if (pool->closed || pool->draining) {
    return WEIR_E_CLOSED;
  }
  uint64_t now = weir__clock_now();
  if (now >= w->deadline) {
    pool->timeouts++;
    return WEIR_E_TIMEOUT;
  }
  if (weir__pool_waiters_locked(pool) >=
      weir__pool_settings(pool)->max_waiters) {
    pool->overloaded++;
    return WEIR_E_OVERLOADED;
  }
  w->before = 0;
  weir__shed_queues_locked(pool, now);
  bool overtakes = pool->waiting.n != 0;
  weir__waiter_move(w, WEIR_WAITER_WAITING);
  weir__waiters_push(&pool->waiting, w);
  weir__dispatch_flag_locked(pool);
  /* Before the node may be decided, and gone: only then, visible to every release,
   * look for what came free before. */
  if (!may_try(pool, w) || !take_own(pool, w)) {
    weir__shed_queued_locked(pool, w);
  } else if (overtakes) {
    weir__idle_overtook(pool);
  }
  int rc = refuse_locked(pool, w, wakes);
  weir__dispatch_locked(pool, wakes);
  return rc;
}

int weir__dispatch_requeue_locked(struct weir__pool *pool,
                                  struct weir__waiter *w,
                                  struct weir__wakes *wakes) {
  not_waited(pool, w);
  if (pool->closed) {
    return WEIR_E_CLOSED;
  }
  w->slot = NULL;
  w->granted = NULL;
  weir__waiter_move(w, WEIR_WAITER_WAITING);
  weir__waiters_push_front(&pool->waiting, w);
  weir__dispatch_flag_locked(pool);
  weir__shed_queued_locked(pool, w);
  int rc = refuse_locked(pool, w, wakes);
  weir__dispatch_locked(pool, wakes);
  return rc;
}

/* Those in front of it, in line and, if it is there, behind the line, not counted
 * beyond WEIR_DISPATCH_BEFORE_MAX. */
static uint32_t count_before(const struct weir__pool *pool,
                             const struct weir__waiter *w) {
  const struct weir__waiter *first = w->behind ? pool->waiting.first : NULL;
  uint32_t n = 0;
  for (const struct weir__waiter *at = w->prev;
       at != NULL && n < WEIR_DISPATCH_BEFORE_MAX; at = at->prev) {
    n++;
  }
  for (; first != NULL && first->since <= w->since &&
         n < WEIR_DISPATCH_BEFORE_MAX;
       first = first->next) {
    n++;
  }
  return n;
}

bool weir__dispatch_leave_locked(struct weir__pool *pool,
                                 struct weir__waiter *w,
                                 struct weir__wakes *wakes) {
  if (!weir__waiter_waits(weir__waiter_state(w))) {
    return false;
  }
  const struct weir__waiter *trier = pool->waiting.trier;
  w->before = count_before(pool, w);
  weir__waiters_remove(&pool->waiting, w);
  /* Others may ask for it after the mutex is free: a cancellation, a timer. */
  weir__waiter_move(w, WEIR_WAITER_FAILED);
  weir__dispatch_tried_locked(pool, trier, wakes);
  return true;
}

void weir__dispatch(struct weir__pool *pool, const struct weir__caller *self) {
  bool more;
  do {
    struct weir__wakes wakes = {.n_asleep = 0};
    weir__mutex_lock(&pool->mu);
    weir__dispatch_locked(pool, &wakes);
    more = !weir__wakes_room(&wakes);
    weir__mutex_unlock(&pool->mu);
    weir__wakes_flush(&wakes, self);
  } while (more);
}
