/* SPDX-License-Identifier: MIT */
#include "control.h"

#include <stddef.h>

#include "close.h"
#include "dispatch.h"
#include "engine.h"
#include "growth.h"
#include "revoke.h"
#include "session.h"
#include "shed.h"
#include "status.h"
#include "sys/clock.h"
#include "tend.h"

/* After the grace of a drain and Close Timeout: time for interrupted calls to come
 * back. */
#define LAST_CALL_NS WEIR_NS_PER_S

/* ------------------------------------------------------------------ news */

void weir__control_watch_locked(struct weir__pool *pool) {
  pool->watchers++;
}

void weir__control_unwatch_locked(struct weir__pool *pool) {
  pool->watchers--;
}

/* By way of the reactor: mu is held, and waking takes locks of its own. */
void weir__control_news_locked(struct weir__pool *pool) {
  if (pool->watchers != 0) {
    weir__tend(pool);
  }
}

void weir__control_tell(struct weir__pool *pool) {
  weir__mutex_lock(&pool->mu);
  uint32_t n = pool->watchers;
  weir__mutex_unlock(&pool->mu);
  if (n != 0) {
    (void)weir__add_acq_rel_u32(&pool->news, 1);
  }
  for (uint32_t i = 0; i < n; i++) {
    weir__engine_unpark(pool->engine, &pool->news);
  }
}

void weir__control_await(struct weir__pool *pool,
                         struct weir__caller *self,
                         uint32_t seen,
                         uint64_t deadline) {
  (void)weir__engine_park(pool->engine, self, &pool->news, seen, deadline);
}

/* -------------------------------------------------------- pause and resume */

void weir__control_pause(struct weir__pool *pool) {
  weir__mutex_lock(&pool->mu);
  if (weir__control_opens_locked(pool)) {
    pool->paused = true;
    (void)weir__or_seq_u64(&pool->q, WEIR_Q_PAUSED);
    weir__growth_halt_locked(pool);
  }
  weir__mutex_unlock(&pool->mu);
}

void weir__control_resume(struct weir__pool *pool,
                          const struct weir__caller *self) {
  weir__mutex_lock(&pool->mu);
  bool held = pool->paused || pool->draining;
  pool->drains += pool->draining;
  pool->paused = false;
  pool->draining = false;
  pool->cut = false;
  (void)weir__and_seq_u64(&pool->q, ~(WEIR_Q_PAUSED | WEIR_Q_DRAINING));
  weir__control_news_locked(pool);
  if (held) {
    weir__shed_served_locked(pool, weir__clock_now(), 0); /* waits begin anew */
  }
  weir__mutex_unlock(&pool->mu);
  if (held) {
    weir__dispatch(pool, self);
    weir__tend(pool); /* Min Pool Size */
  }
}

/* ----------------------------------------------------------------- surplus */

bool weir__control_shed(struct weir__pool *pool,
                        struct weir__slot *slot,
                        uint64_t word) {
  struct weir__wakes wakes = {.n_asleep = 0};
  bool connecting = weir__slot_state(word) == WEIR_SLOT_CONNECTING;
  bool shed = false;
  weir__mutex_lock(&pool->mu);
  if (weir__pool_surplus_locked(pool) != 0) {
    shed = weir__slot_move(slot, &word,
                           weir__slot_word(WEIR_SLOT_CLOSING, 0,
                                           weir__slot_generation(word),
                                           weir__slot_lease(word)));
  }
  if (shed) {
    pool->n_closing++;
    pool->n_connecting -= connecting;
    weir__growth_locked(pool, &wakes);
  } else if (pool->n_open <= pool->max_now) {
    (void)weir__and_seq_u64(&pool->q, ~WEIR_Q_SURPLUS);
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  if (shed) {
    weir__close_begin(weir__slot_session(slot));
  }
  return shed;
}

/* By the words, because a bit may be away for a moment (idle.c). */
void weir__control_shed_idle(struct weir__pool *pool) {
  for (uint32_t i = weir__load_acquire_u32(&pool->n_slots); i > 0; i--) {
    struct weir__slot *slot = weir__pool_slot(pool, i - 1);
    uint64_t word = weir__load_seq_u64(&slot->word);
    if ((weir__load_seq_u64(&pool->q) & WEIR_Q_SURPLUS) == 0) {
      return;
    }
    if (weir__slot_state(word) == WEIR_SLOT_IDLE) {
      (void)weir__control_shed(pool, slot, word);
    }
  }
}

/* ------------------------------------------------------------------- drain */

struct drain {
  uint32_t number;  /* pool->drains when it began */
  uint32_t leases;  /* taken away */
  uint32_t waiters; /* told to go */
  uint32_t open;    /* sessions at the last look */
};

static void fail_line(struct weir__waiters *line,
                      struct weir__wakes *wakes,
                      uint32_t *count) {
  while (line->first != NULL && weir__wakes_room(wakes)) {
    struct weir__waiter *w = line->first;
    weir__waiters_remove(line, w);
    w->code = WEIR_E_CLOSED;
    weir__waiter_decide(w, WEIR_WAITER_FAILED, wakes);
    (*count)++;
  }
}

void weir__control_give_up_locked(struct weir__pool *pool,
                                  struct weir__wakes *wakes) {
  uint32_t told = 0;
  if (!pool->draining || pool->n_open != pool->n_closing) {
    return;
  }
  fail_line(&pool->waiting, wakes, &told);
  if (told != 0) {
    weir__control_news_locked(pool);
  }
  if (pool->waiting.first != NULL) {
    weir__tend(pool); /* which comes back here for the rest */
  }
}

static bool begin_drain(struct weir__pool *pool, struct drain *d) {
  weir__mutex_lock(&pool->mu);
  bool open = !pool->closed;
  if (open) {
    pool->draining = true;
    pool->paused = false;
    d->number = pool->drains;
    (void)weir__or_seq_u64(&pool->q, WEIR_Q_DRAINING);
    (void)weir__and_seq_u64(&pool->q, ~WEIR_Q_PAUSED);
    weir__growth_halt_locked(pool);
    weir__control_watch_locked(pool);
  }
  weir__mutex_unlock(&pool->mu);
  return open;
}

/* WEIR_OK: all sessions are closed and nobody waits; WEIR_PENDING: not yet. */
static int look(struct weir__pool *pool, struct drain *d) {
  weir__mutex_lock(&pool->mu);
  bool waits = weir__pool_waiters_locked(pool) != 0;
  d->open = pool->n_open;
  int rc = pool->drains != d->number ? WEIR_E_CANCELLED
           : pool->closed            ? WEIR_E_CLOSED
           : waits || d->open != 0   ? WEIR_PENDING
                                     : WEIR_OK;
  weir__mutex_unlock(&pool->mu);
  return rc;
}

static int await_empty(struct weir__pool *pool,
                       struct weir__caller *self,
                       struct drain *d,
                       uint64_t deadline) {
  for (;;) {
    uint32_t seen = weir__load_acquire_u32(&pool->news);
    int rc = look(pool, d);
    if (rc != WEIR_PENDING || weir__clock_now() >= deadline) {
      return rc;
    }
    weir__control_await(pool, self, seen, deadline);
  }
}

/* The grace has passed. */
static void cut_off(struct weir__pool *pool, struct drain *d) {
  bool more;
  do {
    struct weir__wakes wakes = {.n_asleep = 0};
    weir__mutex_lock(&pool->mu);
    if (pool->drains != d->number) {
      weir__mutex_unlock(&pool->mu);
      return;
    }
    pool->cut = true; /* connects and resets end, too: tend.c */
    fail_line(&pool->waiting, &wakes, &d->waiters);
    fail_line(&pool->driving, &wakes, &d->waiters);
    weir__dispatch_flag_locked(pool);
    more = weir__pool_waiters_locked(pool) != 0;
    weir__mutex_unlock(&pool->mu);
    weir__wakes_flush(&wakes, NULL);
  } while (more);
  d->leases = weir__revoke_leases(pool);
  weir__tend(pool);
}

static int told(const struct drain *d, int rc, struct weir_error *err) {
  if (rc == WEIR_E_CANCELLED) {
    return weir__error_set(err, rc, WEIR_PHASE_CLOSE,
                           "the pool was resumed before it was empty");
  }
  if (rc == WEIR_E_CLOSED) {
    return weir__error_set(err, rc, WEIR_PHASE_CLOSE, "the pool is closed");
  }
  if (rc == WEIR_OK && d->leases + d->waiters == 0) {
    return WEIR_OK;
  }
  return weir__error_set(
      err, WEIR_E_TIMEOUT, WEIR_PHASE_CLOSE,
      "the grace passed: %u leases were taken away and %u waiters refused; %u "
      "sessions are still closing",
      d->leases, d->waiters, rc == WEIR_OK ? 0 : d->open);
}

int weir__control_drain(struct weir__pool *pool,
                        struct weir__caller *self,
                        uint64_t grace_ns,
                        struct weir_error *err) {
  struct drain d = {.number = 0};
  uint64_t grace = weir__clock_add(weir__clock_now(), grace_ns);
  if (!begin_drain(pool, &d)) {
    return told(&d, WEIR_E_CLOSED, err);
  }
  weir__dispatch(pool, self); /* a pause may have kept them apart */
  weir__growth_sweep(pool);
  int rc = await_empty(pool, self, &d, grace);
  if (rc == WEIR_PENDING) {
    cut_off(pool, &d);
    uint64_t last = weir__clock_add(
        weir__clock_now(),
        weir__pool_settings(pool)->close_timeout_ns + LAST_CALL_NS);
    rc = await_empty(pool, self, &d, last);
  }
  weir__mutex_lock(&pool->mu);
  weir__control_unwatch_locked(pool);
  weir__mutex_unlock(&pool->mu);
  return told(&d, rc, err);
}
