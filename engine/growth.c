/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include <stddef.h>

#include "close.h"
#include "control.h"
#include "dispatch.h"
#include "engine.h"
#include "explain.h"
#include "observe/counters.h"
#include "op.h"
#include "remote.h"
#include "session.h"
#include "status.h"
#include "strategy.h"
#include "submit.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/point.h"
#include "tend.h"

/* A physical connect always has a limit: this where Connect Timeout has none. */
#define CONNECT_LIMIT_NS (UINT64_C(15) * WEIR_NS_PER_S)

/* Connects for Min Pool Size under way at once: a fleet that starts together
 * must not be a login storm. */
#define FILLING_MAX       2u
#define FILL_PAUSE_MIN_NS WEIR_NS_PER_S
#define FILL_PAUSE_MAX_NS (UINT64_C(10) * WEIR_NS_PER_S)
#define CLEAR_PAUSE_NS    WEIR_NS_PER_S

uint64_t weir__growth_limit(const struct weir__pool *pool, uint64_t now) {
  uint64_t span = weir__pool_settings(pool)->connect_timeout_ns;
  return weir__clock_add(now, span == WEIR_NEVER ? CONNECT_LIMIT_NS : span);
}

/* Makes eight more places.  False: there is no memory, or there are too many. */
static bool make_slots(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  uint32_t n = weir__pool_extend_locked(pool);
  if (n == UINT32_MAX) {
    return false;
  }
  for (uint32_t i = n; i < n + WEIR_SLOT_CHUNK; i++) {
    weir__bits_set(&pool->empties, i);
  }
  /* Release: whoever counts slots without mu sees the chunk. */
  weir__store_release_u32(&pool->n_slots, n + WEIR_SLOT_CHUNK);
  return true;
}

/* An EMPTY place, made CONNECTING and stamped with the generation, or NULL. */
static struct weir__slot *take_empty(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu) {
  if (pool->n_open >= pool->max_now) {
    return NULL;
  }
  uint32_t i = weir__bits_next(&pool->empties, 0);
  if (i == WEIR_BITS_NONE && make_slots(pool)) {
    i = weir__bits_next(&pool->empties, 0);
  }
  if (i == WEIR_BITS_NONE) {
    return NULL;
  }
  struct weir__slot *slot = weir__pool_slot(pool, i);
  uint64_t word = weir__load_seq_u64(&slot->word);
  uint64_t q = weir__load_seq_u64(&pool->q);
  WEIR_ASSERT(weir__slot_session(slot) == NULL);
  bool moved = weir__slot_move(slot, &word,
                               weir__slot_word(WEIR_SLOT_CONNECTING, 0,
                                               weir__q_generation(q),
                                               weir__slot_lease(word)));
  WEIR_ASSERT(moved);
  (void)moved;
  weir__bits_clear(&pool->empties, i);
  if (pool->n_open == 0 || pool->trimless) {
    pool->review_asked = true;
    weir__tend(pool); /* which looks after idle ones from now on */
  }
  pool->n_open++;
  WEIR_ASSERT(pool->n_open <= pool->max_now); /* P1 */
  pool->n_connecting++;
  pool->connects_begun++;
  return slot;
}

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
}

void weir__growth_unclaimed_locked(struct weir__pool *pool) {
  pool->unclaimed_until =
      weir__clock_add(weir__clock_now(), WEIR_GROWTH_PATIENCE_NS);
}

/* Waiters who count on such a connect are looked at again when patience ends. */
static void ask_to_look_again(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  if (pool->unclaimed_told != pool->unclaimed_until) {
    pool->unclaimed_told = pool->unclaimed_until;
    weir__tend(pool);
  }
}

/* The oldest that can open for itself. */
static struct weir__waiter *first_blocking(const struct weir__pool *pool) {
  struct weir__waiter *w = pool->waiting.first;
  while (w != NULL && w->caller == NULL) {
    w = w->next;
  }
  return w;
}

static void give_to_waiters(struct weir__pool *pool, struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu) {
  uint64_t now = pool->waiting.first == NULL ? 0 : weir__clock_now();
  while (pool->waiting.n != pool->waiting.n_submitted &&
         weir__wakes_room(wakes) && pool->strategy->may_open(pool)) {
    if (pool->strategy->enough(pool, now)) {
      ask_to_look_again(pool);
      return;
    }
    struct weir__waiter *w = first_blocking(pool);
    struct weir__slot *slot = take_empty(pool);
    if (slot == NULL) {
      if (pool->n_open == 0) {
        refuse_waiters(pool, wakes);
      }
      return;
    }
    weir__waiters_remove(&pool->waiting, w);
    weir__waiters_push(&pool->driving, w);
    w->slot = slot;
    weir__waiter_decide(w, WEIR_WAITER_DRIVING, wakes);
  }
}

/* Whether a connect is to be begun for a submitted waiter: each has one that nobody
 * drives. */
static bool wants_connect(const struct weir__pool *pool) {
  uint32_t unclaimed = pool->n_connecting - pool->driving.n;
  return pool->waiting.n_submitted > unclaimed && !pool->no_places &&
         pool->n_open < pool->max_now && pool->strategy->may_open(pool);
}

/* Min Pool Size, a replacement for one that is to retire, or Min Idle.  Those that
 * are being opened for it count as idle: that is what they will be. */
static bool below_min(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  const struct weir__settings *set = weir__pool_settings(pool);
  uint32_t min =
      pool->wanted > set->min_pool_size ? pool->wanted : set->min_pool_size;
  if (pool->n_open - pool->n_closing < min) {
    return true;
  }
  return set->min_idle != 0 && pool->n_open < pool->max_now &&
         weir__idle_count(pool, set->min_idle) + pool->n_filling <
             set->min_idle;
}

void weir__growth_locked(struct weir__pool *pool, struct weir__wakes *wakes) {
  if (!weir__control_opens_locked(pool)) {
    return;
  }
  pool->lazy = pool->lazy && pool->waiting.n == 0;
  give_to_waiters(pool, wakes);
  if (wants_connect(pool)) {
    weir__tend(pool);
  }
  if (pool->waiting.n != 0 && pool->n_closing != 0) {
    weir__tend(pool); /* places that are closing are wanted now */
  }
  if (below_min(pool) && pool->n_filling < FILLING_MAX && !pool->resting &&
      !pool->lazy) {
    weir__tend(pool);
  }
}

/* Claims one place for a submitted waiter. */
static struct weir__slot *take_for_submitted(struct weir__pool *pool) {
  struct weir__wakes wakes = {.n_asleep = 0};
  struct weir__slot *slot = NULL;
  weir__mutex_lock(&pool->mu);
  if (weir__control_opens_locked(pool) && wants_connect(pool)) {
    slot = take_empty(pool);
    pool->no_places = slot == NULL;
    if (slot == NULL && pool->n_open == 0) {
      refuse_waiters(pool, &wakes);
      weir__dispatch_flag_locked(pool);
    }
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  return slot;
}

/* Claims one place for Min Pool Size. */
static struct weir__slot *take_for_min(struct weir__pool *pool) {
  struct weir__slot *slot = NULL;
  weir__mutex_lock(&pool->mu);
  if (weir__control_opens_locked(pool) && !pool->lazy && below_min(pool) &&
      pool->n_filling < FILLING_MAX && pool->waiting.n == 0 &&
      pool->strategy->may_open(pool)) {
    slot = take_empty(pool);
    pool->n_filling += slot != NULL;
    weir__growth_unclaimed_locked(pool);
  }
  weir__mutex_unlock(&pool->mu);
  return slot;
}

/* CONNECTING, with no session yet, to EMPTY. */
static void give_back(struct weir__pool *pool, struct weir__slot *slot) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  WEIR_ASSERT(weir__slot_session(slot) == NULL);
  while (!weir__slot_move(slot, &word,
                          weir__slot_word(WEIR_SLOT_CLOSING, 0,
                                          weir__slot_generation(word),
                                          weir__slot_lease(word)))) {
  }
  weir__mutex_lock(&pool->mu);
  pool->n_connecting--;
  pool->n_closing++;
  weir__mutex_unlock(&pool->mu);
  weir__growth_emptied(slot);
}

void weir__growth_abandon(struct weir__pool *pool,
                          struct weir__slot *slot,
                          const struct weir_error *err) {
  weir__growth_failed(pool, err);
  give_back(pool, slot);
}

void weir__growth_drop(struct weir__pool *pool, struct weir__slot *slot) {
  weir__mutex_lock(&pool->mu);
  pool->connects_begun--;
  weir__mutex_unlock(&pool->mu);
  give_back(pool, slot);
}

static void connect_error(struct weir_drv_hconn *session,
                          struct weir_error *err) {
  if (session->expired) {
    weir__error_from_driver(err, &session->error, WEIR_E_TIMEOUT,
                            WEIR_PHASE_CONNECT);
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

/* A connect for Min Pool Size has ended; after a failure there is a pause. */
static void note_filled(struct weir__pool *pool, bool good) {
  weir__mutex_lock(&pool->mu);
  pool->n_filling--;
  if (good) {
    pool->fill_pause = 0;
  } else {
    uint64_t pause = pool->fill_pause * 2;
    pause = pause < FILL_PAUSE_MIN_NS ? FILL_PAUSE_MIN_NS : pause;
    pool->fill_pause = pause > FILL_PAUSE_MAX_NS ? FILL_PAUSE_MAX_NS : pause;
    rest(pool, pool->fill_pause);
  }
  weir__mutex_unlock(&pool->mu);
}

void weir__growth_rest_locked(struct weir__pool *pool) {
  const struct weir__settings *set = weir__pool_settings(pool);
  if (!pool->closed && (set->min_pool_size | set->min_idle) != 0) {
    rest(pool, CLEAR_PAUSE_NS);
    weir__tend(pool); /* which sets the timer for its end */
  }
}

static void fill_ended(struct weir_drv_hconn *session) {
  struct weir__pool *pool = session->pool;
  note_filled(pool, session->status == WEIR_DRV_DONE);
  weir__growth_opened(session);
  weir__tend(pool);
}

static void begin_fill(struct weir_drv_hconn *session) {
  weir__remote_go(session, weir__op_connect(session, session->limit),
                  fill_ended);
}

static void submitted_ended(struct weir_drv_hconn *session) {
  if (session->status != WEIR_DRV_DONE || !session->usable) {
    struct weir_error err = {.struct_size = sizeof err};
    connect_error(session, &err);
    weir__submit_fail_one(session->pool, &err);
  }
  weir__growth_opened(session);
}

static void begin_submitted(struct weir_drv_hconn *session) {
  weir__remote_go(session, weir__op_connect(session, session->limit),
                  submitted_ended);
}

static void open_for_submitted(struct weir__pool *pool, uint64_t now) {
  struct weir__slot *slot;
  while ((slot = take_for_submitted(pool)) != NULL) {
    struct weir_drv_hconn *session =
        weir__session_new(pool->engine, pool, slot);
    if (session == NULL) {
      struct weir_error err = {.struct_size = sizeof err};
      (void)weir__error_set(&err, WEIR_E_NOMEM, WEIR_PHASE_CONNECT,
                            "no memory for a connection");
      weir__submit_fail_one(pool, &err);
      weir__growth_abandon(pool, slot, &err);
      return;
    }
    session->limit = weir__growth_limit(pool, now);
    weir__remote_post(session, begin_submitted);
  }
}

void weir__growth_fill(struct weir__pool *pool) {
  uint64_t now = weir__clock_now();
  open_for_submitted(pool, now);
  weir__mutex_lock(&pool->mu);
  /* Once the pause is over it is the ends of connects and the comings and goings
   * of waiters that bring us back here. */
  pool->resting = pool->resting && now < pool->fill_not_before;
  bool resting = pool->resting;
  weir__mutex_unlock(&pool->mu);
  if (resting) {
    return;
  }
  struct weir__slot *slot;
  while ((slot = take_for_min(pool)) != NULL) {
    struct weir_drv_hconn *session =
        weir__session_new(pool->engine, pool, slot);
    if (session == NULL) {
      note_filled(pool, false);
      struct weir_error err = {.struct_size = sizeof err};
      (void)weir__error_set(&err, WEIR_E_NOMEM, WEIR_PHASE_CONNECT,
                            "no memory for a connection");
      weir__growth_abandon(pool, slot, &err);
      return;
    }
    session->limit = weir__growth_limit(pool, now);
    weir__remote_post(session, begin_fill);
  }
}

void weir__growth_failed(struct weir__pool *pool,
                         const struct weir_error *err) {
  weir__mutex_lock(&pool->mu);
  pool->connects_failed++;
  weir__control_news_locked(pool);
  pool->last_error = *err;
  pool->last_error_at = weir__clock_now();
  weir__mutex_unlock(&pool->mu);
}

static void note_failure(struct weir_drv_hconn *session) {
  struct weir_error err = {.struct_size = sizeof err};
  connect_error(session, &err);
  weir__growth_failed(session->pool, &err);
}

void weir__growth_opened(struct weir_drv_hconn *session) {
  struct weir__pool *pool = session->pool;
  struct weir__slot *slot = session->slot;
  uint64_t word = weir__load_seq_u64(&slot->word);
  weir__remote_release(session);
  if (session->status == WEIR_DRV_DONE && session->usable) {
    weir__mutex_lock(&pool->mu);
    weir__counters_opened_locked(pool, session);
    weir__control_news_locked(pool);
    weir__mutex_unlock(&pool->mu);
    if ((weir__slot_flags(word) & WEIR_SLOT_DOOMED) == 0 &&
        weir__publish(pool, slot, &word, NULL)) {
      return;
    }
  } else {
    note_failure(session);
  }
  (void)weir__growth_retire(slot, &word);
}

bool weir__growth_retire(struct weir__slot *slot, uint64_t *word) {
  uint32_t state = weir__slot_state(*word);
  uint32_t lease = weir__slot_lease(*word);
  uint32_t incall = weir__slot_flags(*word) & WEIR_SLOT_INCALL;
  uint64_t closing;
  WEIR_POINT("retire.begin.locked", slot);
  do {
    /* Only DOOMED may have come: anything else is another owner.  Inside a call
     * the slot stays the caller's, also when shutdown has moved its lease on. */
    if (weir__slot_state(*word) != state ||
        (weir__slot_flags(*word) & WEIR_SLOT_INCALL) != incall ||
        (incall == 0 && weir__slot_lease(*word) != lease)) {
      return false;
    }
    closing =
        weir__slot_word(WEIR_SLOT_CLOSING, 0, weir__slot_generation(*word),
                        weir__slot_lease(*word));
  } while (!weir__slot_move(slot, word, closing));
  struct weir__pool *pool =
      atomic_load_explicit(&slot->pool, memory_order_relaxed);
  struct weir__wakes wakes = {.n_asleep = 0};
  WEIR_POINT("retire.closing.locked", slot);
  weir__mutex_lock(&pool->mu);
  pool->n_closing++;
  if (state == WEIR_SLOT_CONNECTING) {
    pool->n_connecting--;
    weir__growth_locked(pool, &wakes);
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  weir__close_begin(weir__slot_session(slot));
  return true;
}

void weir__growth_sweep(struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(pool, i);
    uint64_t word = weir__load_seq_u64(&slot->word);
    if (weir__slot_state(word) == WEIR_SLOT_IDLE) {
      (void)weir__growth_retire(slot, &word);
    }
  }
}

void weir__growth_emptied(struct weir__slot *slot) {
  struct weir__pool *pool =
      atomic_load_explicit(&slot->pool, memory_order_relaxed);
  struct weir__wakes wakes = {.n_asleep = 0};
  uint64_t word = weir__load_seq_u64(&slot->word);
  weir__slot_set_session(slot, NULL);
  bool moved = weir__slot_move(
      slot, &word,
      weir__slot_word(WEIR_SLOT_EMPTY, 0, 0, weir__slot_lease(word)));
  WEIR_ASSERT(moved); /* CLOSING is the reactor's alone */
  (void)moved;
  weir__mutex_lock(&pool->mu);
  WEIR_ASSERT(pool->n_closing > 0 && pool->n_open > 0); /* P8 */
  pool->n_closing--;
  pool->n_open--;
  pool->no_places = false;
  weir__bits_set(&pool->empties, slot->index);
  weir__dispatch_locked(pool, &wakes);
  weir__control_news_locked(pool);
  bool last = pool->closed && pool->n_open == 0;
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  if (last) {
    weir__tend(pool);
  }
}
