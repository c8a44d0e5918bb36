/* SPDX-License-Identifier: MIT */
#include "tend.h"

#include <stddef.h>

#include "base/container.h"
#include "change.h"
#include "close.h"
#include "control.h"
#include "dispatch.h"
#include "engine.h"
#include "growth.h"
#include "remote.h"
#include "session.h"
#include "sys/clock.h"

static struct weir__pool *of_task(struct weir__task *task) {
  return weir_container_of(task, struct weir__pool, tend_task);
}

static struct weir__pool *of_timer(struct weir__timer *timer) {
  return weir_container_of(timer, struct weir__pool, tend_timer);
}

static bool above_min(struct weir__pool *pool) {
  weir__mutex_lock(&pool->mu);
  bool above =
      pool->n_open - pool->n_closing > weir__pool_settings(pool)->min_pool_size;
  weir__mutex_unlock(&pool->mu);
  return above;
}

/* Looks at one slot and retires it if it has been idle too long or its session
 * has lived its time; returns when it wants to be looked at again.  The slot is
 * not reserved for the look: a lease in between changes the word, and the
 * retirement, one compare-and-swap from the word read first, then fails. */
static uint64_t review(struct weir__pool *pool,
                       struct weir__slot *slot,
                       uint64_t now) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  if (weir__slot_state(word) != WEIR_SLOT_IDLE) {
    return WEIR_NEVER;
  }
  uint64_t expires = weir__load_relaxed_u64(&slot->expires);
  uint64_t idle_end =
      weir__clock_add(weir__load_relaxed_u64(&slot->idle_since),
                      weir__pool_settings(pool)->idle_timeout_ns);
  if (now >= expires || (now >= idle_end && above_min(pool))) {
    (void)weir__growth_retire(slot, &word);
    return WEIR_NEVER;
  }
  /* Idle too long but needed for Min Pool Size: only age is left to see. */
  return idle_end > now && idle_end < expires ? idle_end : expires;
}

static uint64_t review_idle(struct weir__pool *pool, uint64_t now) {
  uint64_t next = WEIR_NEVER;
  for (uint32_t i = weir__bits_next(&pool->idle.bits, 0); i != WEIR_BITS_NONE;
       i = weir__bits_next(&pool->idle.bits, i + 1)) {
    uint64_t at = review(pool, weir__pool_slot(pool, i), now);
    next = at < next ? at : next;
  }
  return next;
}

/* The next look at a pool whose connections have an end: leased ones may come
 * back at any time, so the span itself bounds the wait. */
static uint64_t next_review(struct weir__pool *pool,
                            uint64_t now,
                            uint64_t next) {
  const struct weir__settings *set = weir__pool_settings(pool);
  uint64_t span = set->idle_timeout_ns < set->lifetime_ns ? set->idle_timeout_ns
                                                          : set->lifetime_ns;
  weir__mutex_lock(&pool->mu);
  bool any = pool->n_open != 0;
  weir__mutex_unlock(&pool->mu);
  if (!any || span == WEIR_NEVER) {
    return WEIR_NEVER;
  }
  uint64_t at = weir__clock_add(now, span);
  return next < at ? next : at;
}

/* When the pause of connects for Min Pool Size is over. */
static uint64_t refill_at(struct weir__pool *pool) {
  weir__mutex_lock(&pool->mu);
  uint64_t at = pool->resting ? pool->fill_not_before : WEIR_NEVER;
  weir__mutex_unlock(&pool->mu);
  return at;
}

/* When waiters stop counting on a connect that nobody drives. */
static uint64_t patience_ends(struct weir__pool *pool, uint64_t now) {
  weir__mutex_lock(&pool->mu);
  uint64_t at = pool->waiting.n != 0 && pool->unclaimed_until > now
                    ? pool->unclaimed_until
                    : WEIR_NEVER;
  if (at == WEIR_NEVER) {
    pool->unclaimed_told = 0; /* no timer for it: the next waiter must ask */
  }
  weir__mutex_unlock(&pool->mu);
  return at;
}

static uint64_t earlier(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

/* Nobody wants what a pool that is closed, or cut off, is still opening or
 * resetting. */
static void expire_connects(struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(pool, i);
    struct weir_drv_hconn *session = weir__slot_session(slot);
    uint32_t state = weir__slot_state(weir__load_seq_u64(&slot->word));
    if (session != NULL &&
        (state == WEIR_SLOT_CONNECTING || state == WEIR_SLOT_RESERVED)) {
      (void)weir__remote_expire(session);
    }
  }
}

static void tend(struct weir__pool *pool) {
  if (pool->buried) {
    return;
  }
  weir__control_tell(pool);
  weir__change_reap(pool);
  weir__mutex_lock(&pool->mu);
  bool closed = pool->closed;
  bool cut = pool->cut;
  bool hurry = pool->n_closing != 0 && (pool->waiting.n != 0 || pool->hurried);
  bool gone = closed && pool->n_open == 0;
  weir__mutex_unlock(&pool->mu);
  if (hurry) {
    weir__close_hurry(pool);
  }
  if (gone) {
    weir__reactor_timer(pool->engine->reactor, &pool->tend_timer, WEIR_NEVER);
    weir__engine_bury(pool);
    return;
  }
  if (closed || cut) {
    expire_connects(pool);
  }
  if (closed) {
    return;
  }
  /* Before the dispatch: patience that ends after it has looked, and before the
   * timer is set, must still find a timer. */
  uint64_t now = weir__clock_now();
  if ((weir__load_seq_u64(&pool->q) & WEIR_Q_WAITERS) != 0) {
    weir__dispatch(pool, NULL); /* for idle.c */
  }
  weir__growth_fill(pool);
  uint64_t at = next_review(pool, now, review_idle(pool, now));
  at = earlier(at, refill_at(pool));
  at = earlier(at, patience_ends(pool, now));
  weir__reactor_timer(pool->engine->reactor, &pool->tend_timer, at);
}

static void on_timer(struct weir__timer *timer) {
  tend(of_timer(timer));
}

static void on_task(struct weir__task *task) {
  struct weir__pool *pool = of_task(task);
  weir__store_seq_u32(&pool->tend_posted, 0);
  tend(pool);
}

void weir__tend(struct weir__pool *pool) {
  if (weir__exchange_acq_rel_u32(&pool->tend_posted, 1) == 0) {
    pool->tend_task.run = on_task;
    pool->tend_timer.fire = on_timer;
    weir__reactor_post(pool->engine->reactor, &pool->tend_task);
  }
}
