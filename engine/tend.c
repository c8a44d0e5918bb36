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
#include "probe.h"
#include "remote.h"
#include "session.h"
#include "shed.h"
#include "sys/clock.h"
#include "upkeep.h"

static struct weir__pool *of_task(struct weir__task *task) {
  return weir_container_of(task, struct weir__pool, tend_task);
}

static struct weir__pool *of_timer(struct weir__timer *timer) {
  return weir_container_of(timer, struct weir__pool, tend_timer);
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

/* A look at every place, unless the next one has its time: most tendings are about
 * places and waiters. */
static bool is_due(struct weir__pool *pool, uint64_t now) {
  weir__mutex_lock(&pool->mu);
  bool due = pool->trimless || pool->review_asked;
  pool->review_asked = false;
  weir__mutex_unlock(&pool->mu);
  return due || now >= pool->review_at;
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
  if (closed) {
    weir__growth_fill(pool); /* which gives places back that it was to open */
  }
  if (closed || cut) {
    expire_connects(pool);
  }
  if (closed) {
    weir__reactor_timer(pool->engine->reactor, &pool->tend_timer, WEIR_NEVER);
    return; /* it waits for leases, not for a time */
  }
  uint64_t now = weir__clock_now();
  if ((weir__load_seq_u64(&pool->q) & WEIR_Q_WAITERS) != 0) {
    weir__dispatch(pool, NULL); /* for idle.c */
  }
  if (weir__exchange_seq_u32(&pool->idle.suspects, 0) != 0) {
    weir__probe_suspects(pool);
  }
  weir__growth_fill(pool);
  if (is_due(pool, now)) {
    pool->review_at = weir__upkeep(pool, now);
  }
  uint64_t at = earlier(pool->review_at, weir__growth_next_look(pool, now));
  at = earlier(at, weir__shed_stuck(pool));
  weir__reactor_timer(pool->engine->reactor, &pool->tend_timer, at);
}

static void on_timer(struct weir__timer *timer) {
  tend(of_timer(timer));
}

static void on_task(struct weir__task *task) {
  struct weir__pool *pool = of_task(task);
  weir__store_seq_u32(&pool->tend_posted, 0);
  pool->tend_timer.fire = on_timer; /* here, because it may be firing */
  tend(pool);
}

/* Sequentially consistent, as the store in on_task() and what either side does
 * besides: who finds it posted has written before what the tending will read, also
 * where no mutex says so (tidy() in idle.c, and suspects). */
void weir__tend(struct weir__pool *pool) {
  if (weir__exchange_seq_u32(&pool->tend_posted, 1) == 0) {
    pool->tend_task.run = on_task;
    weir__reactor_post(pool->engine->reactor, &pool->tend_task);
  }
}
