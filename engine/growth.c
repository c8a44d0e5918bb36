/* SPDX-License-Identifier: MIT */
#include "growth.h"

#include <stddef.h>

#include "breaker.h"
#include "cause.h"
#include "close.h"
#include "control.h"
#include "dispatch.h"
#include "endpoint.h"
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
#include "sys/chance.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "sys/point.h"
#include "tend.h"

/* A physical connect always has a limit: this where Connect Timeout has none. */
#define CONNECT_LIMIT_NS (UINT64_C(15) * WEIR_NS_PER_S)

/* Connects for Min Pool Size under way at once: a fleet that starts together
 * must not be a login storm. */
#define FILLING_MAX     2u
#define FIRST_JITTER_NS (UINT64_C(100) * WEIR_NS_PER_MS)
#define CLEAR_PAUSE_NS  WEIR_NS_PER_S

/* After a permanent failure: one attempt in so long, and none without a caller. */
#define BARRED_NS WEIR_NS_PER_S

/* Places that are looked at for measured leases each time. */
#define COLLECT_MAX 8u

uint64_t weir__growth_limit(const struct weir__pool *pool, uint64_t now) {
  uint64_t span = weir__pool_settings(pool)->connect_timeout_ns;
  return weir__clock_add(now, span == WEIR_NEVER ? CONNECT_LIMIT_NS : span);
}

void weir__growth_init(struct weir__pool *pool) {
  pool->growth.look_at = WEIR_NEVER;
  pool->growth.look_armed = WEIR_NEVER;
  pool->growth.cleared_at_ok = UINT64_MAX;
}

void weir__growth_fini(struct weir__pool *pool) {
  weir__cause_unref(pool->growth.barred);
  weir__cause_unref(pool->last_error);
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

/* ------------------------------------------------------------------ limits */

/* Time alone may allow then what is denied now. */
static void look_at(struct weir__pool *pool, uint64_t at)
    WEIR_REQUIRES(pool->mu) {
  struct weir__growth *g = &pool->growth;
  g->look_at = at < g->look_at ? at : g->look_at;
}

/* Has the reactor set a timer for it unless it has one. */
static void arm_look(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  struct weir__growth *g = &pool->growth;
  if (g->look_at < g->look_armed) {
    g->look_armed = g->look_at;
    weir__tend(pool);
  }
}

uint64_t weir__growth_next_look(struct weir__pool *pool, uint64_t now) {
  struct weir__growth *g = &pool->growth;
  weir__mutex_lock(&pool->mu);
  if (g->look_at <= now) {
    g->look_at = WEIR_NEVER; /* of somebody who has left */
  }
  g->look_armed = g->look_at;
  uint64_t at = g->look_at;
  if (pool->resting && pool->fill_not_before < at) {
    at = pool->fill_not_before;
  }
  weir__mutex_unlock(&pool->mu);
  return at;
}

/* A connect was refused for good, and callers are told so again for a while. */
static bool is_barred(const struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  return pool->growth.barred != NULL &&
         weir__pool_settings(pool)->blocking_period != WEIR_BLOCKING_NEVER;
}

/* Everything that can stand in the way of one more connect, but for room in the
 * pool itself. */
static bool permit(struct weir__pool *pool, uint64_t now, uint32_t *out_ticket)
    WEIR_REQUIRES(pool->mu) {
  const struct weir__settings *set = weir__pool_settings(pool);
  struct weir__growth *g = &pool->growth;
  g->refused = false;
  if (pool->n_connecting >= set->max_connects) {
    return false; /* the end of one looks again */
  }
  if (is_barred(pool) && (pool->n_connecting != 0 || now < g->barred_until)) {
    return false; /* the same */
  }
  uint64_t at = weir__limiter_next(&g->limiter, set->connect_rate,
                                   set->connect_burst, now);
  if (at > now) {
    look_at(pool, at);
    return false;
  }
  enum weir__leave leave = weir__endpoint_begin(pool, now, out_ticket, &at);
  if (leave != WEIR_LEAVE_GIVEN) {
    g->refused = leave == WEIR_LEAVE_DOWN;
    g->in_ring = g->in_ring || leave == WEIR_LEAVE_LATER;
    look_at(pool, at);
    return false;
  }
  weir__limiter_take(&g->limiter, set->connect_rate, now);
  if (g->barred != NULL) {
    g->barred_until = weir__clock_add(now, BARRED_NS);
  }
  return true;
}

/* Hands the ticket of a connect in.  True: the breaker has opened. */
static bool hand_in(struct weir__pool *pool,
                    struct weir__slot *slot,
                    enum weir__outcome outcome,
                    enum weir__class class,
                    const struct weir_error *err) {
  uint32_t ticket = slot->mark;
  slot->mark = WEIR_ENDPOINT_NO_TICKET;
  return (ticket != WEIR_ENDPOINT_NO_TICKET || outcome == WEIR_OUTCOME_BAD) &&
         weir__endpoint_ended(pool, ticket, outcome, class, err);
}

/* An EMPTY place, or WEIR_BITS_NONE. */
static uint32_t find_empty(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  if (pool->n_open >= pool->max_now) {
    return WEIR_BITS_NONE;
  }
  uint32_t i = weir__bits_next(&pool->empties, 0);
  if (i == WEIR_BITS_NONE && make_slots(pool)) {
    i = weir__bits_next(&pool->empties, 0);
  }
  return i;
}

/* An EMPTY place made CONNECTING, stamped with the generation. */
static struct weir__slot *occupy(struct weir__pool *pool,
                                 uint32_t i,
                                 uint32_t ticket,
                                 uint64_t now) WEIR_REQUIRES(pool->mu) {
  struct weir__slot *slot = weir__pool_slot(pool, i);
  uint64_t word = weir__load_seq_u64(&slot->word);
  uint64_t q = weir__load_seq_u64(&pool->q);
  WEIR_ASSERT(weir__slot_session(slot) == NULL);
  slot->mark = ticket;
  slot->since = now;
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

/* A place to be opened, or NULL; *out_full then says whether there is none, else
 * it is a limit. */
static struct weir__slot *take_empty(struct weir__pool *pool,
                                     uint64_t now,
                                     bool *out_full) WEIR_REQUIRES(pool->mu) {
  uint32_t ticket = 0;
  uint32_t i = find_empty(pool);
  *out_full = i == WEIR_BITS_NONE;
  if (*out_full || !permit(pool, now, &ticket)) {
    return NULL;
  }
  return occupy(pool, i, ticket, now);
}

/* ----------------------------------------------------------------- waiters */

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
  if (pool->waiting.first != NULL) {
    weir__tend(pool); /* for the rest */
  }
}

void weir__growth_unclaimed_locked(struct weir__pool *pool) {
  pool->unclaimed_until =
      weir__clock_add(weir__clock_now(), WEIR_GROWTH_PATIENCE_NS);
}

/* Leases that the warm path has measured, a few places at a time. */
static void collect_samples(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  struct weir__growth *g = &pool->growth;
  uint32_t n = weir__load_relaxed_u32(&pool->n_slots);
  for (uint32_t k = 0; k < COLLECT_MAX && k < n; k++) {
    g->cursor = g->cursor + 1 < n ? g->cursor + 1 : 0;
    struct weir__slot *slot = weir__pool_slot(pool, g->cursor);
    uint32_t held = weir__load_relaxed_u32(&slot->hold_us);
    if (held != 0) {
      weir__store_relaxed_u32(&slot->hold_us, 0); /* a newer one may be lost */
      weir__average_feed(&g->forecast.hold, (held - 1) * WEIR_NS_PER_US);
    }
  }
}

/* Idle connections that waiters are about to take, one after the other.  Asked only
 * where one more could be opened, so the search is as long as a growing pool. */
static uint32_t tried(const struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  uint32_t n = pool->waiting.trier == NULL || pool->n_open >= pool->max_now
                   ? 0
                   : weir__idle_count(pool, pool->waiting.n);
  return pool->waiting.trier != NULL && n == 0 ? 1 : n;
}

/* Connects that will serve whoever comes first: those begun for waiters who open
 * none themselves, and, for a while, those that lost the caller they were begun
 * for, or fill the pool.  One that hangs must not hold up those who could open a
 * good one. */
static uint32_t covered(struct weir__pool *pool, uint64_t now)
    WEIR_REQUIRES(pool->mu) {
  uint32_t owned = pool->growth.n_owned;
  uint32_t others = pool->n_connecting - pool->driving.n - owned;
  return tried(pool) + (now < pool->unclaimed_until ? owned + others : owned);
}

/* What is under way or lent out will do for now: until when? */
static void wait_and_see(struct weir__pool *pool, uint64_t now)
    WEIR_REQUIRES(pool->mu) {
  const struct weir__waiter *head = pool->waiting.first;
  struct weir__outlook o = {.now = now,
                            .head_since = head->since,
                            .waiting = pool->waiting.n,
                            .unclaimed = covered(pool, now)};
  look_at(pool, weir__forecast_next(&pool->growth.forecast, &o));
  if (now < pool->unclaimed_until) {
    look_at(pool, pool->unclaimed_until);
  }
}

/* To be opened by the reactor, for those who open none themselves. */
static void plan_start(struct weir__pool *pool, struct weir__slot *slot)
    WEIR_REQUIRES(pool->mu) {
  slot->since = pool->growth.starts;
  pool->growth.starts = slot->index + 1;
  pool->growth.n_owned++;
  weir__tend(pool);
}

static void begin_driving(struct weir__pool *pool,
                          struct weir__waiter *w,
                          struct weir__slot *slot,
                          struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  weir__waiters_remove(&pool->waiting, w);
  weir__waiters_push(&pool->driving, w);
  w->slot = slot;
  weir__waiter_decide(w, WEIR_WAITER_DRIVING, wakes);
}

/* No connect may begin now.  Some of those who wait need not. */
static void denied(struct weir__pool *pool,
                   uint64_t now,
                   bool full,
                   struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  struct weir__growth *g = &pool->growth;
  if (full && pool->n_open == 0) {
    refuse_waiters(pool, wakes);
  } else if (is_barred(pool) && pool->n_connecting == 0) {
    uint64_t wait = g->barred_until > now ? g->barred_until - now : 0;
    struct weir__cause *cause = weir__cause_again(g->barred, wait);
    weir__growth_fail_locked(pool, cause, wakes);
    weir__cause_unref(cause);
  } else if (!full && g->refused && weir__growth_is_hasty(pool)) {
    struct weir__cause *cause = weir__endpoint_down(pool, now);
    weir__growth_fail_locked(pool, cause, wakes);
    weir__cause_unref(cause);
  }
}

/* What was idle has gone, and the one who was woken to take it has yet to find
 * out.  It is awake and dispatches when it has looked; a place that was given away
 * before that would go past it. */
static bool trier_is_misled(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  uint32_t generation = weir__q_generation(weir__load_seq_u64(&pool->q));
  return pool->waiting.trier != NULL && !weir__idle_any(pool, generation);
}

static void give_to_waiters(struct weir__pool *pool, struct weir__wakes *wakes)
    WEIR_REQUIRES(pool->mu) {
  uint64_t now = weir__clock_now();
  pool->growth.wants = trier_is_misled(pool);
  if (pool->growth.wants) {
    return;
  }
  collect_samples(pool);
  while (pool->waiting.first != NULL && weir__wakes_room(wakes)) {
    uint32_t leased = pool->n_open - pool->n_connecting - pool->n_closing;
    struct weir__waiter *w =
        pool->strategy->opener(pool, now, covered(pool, now), leased);
    if (w == NULL) {
      wait_and_see(pool, now);
      return;
    }
    bool full;
    struct weir__slot *slot = take_empty(pool, now, &full);
    if (slot == NULL) {
      pool->growth.wants = !full;
      denied(pool, now, full, wakes);
      return;
    }
    weir__forecast_acted(&pool->growth.forecast);
    if (w->caller == NULL) {
      plan_start(pool, slot);
    } else {
      begin_driving(pool, w, slot, wakes);
    }
  }
  if (pool->waiting.first != NULL) {
    pool->growth.wants = true;
    weir__tend(pool); /* for the rest */
  }
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

/* A unit of the endpoint's budget that is kept for a pool is nobody else's. */
static bool uses_unit(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  struct weir__growth *g = &pool->growth;
  return weir__control_opens_locked(pool) &&
         (pool->waiting.n != 0 ? g->wants
                               : g->barred == NULL && below_min(pool));
}

/* Nobody here needs a unit any more. */
static void content(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  if (pool->growth.in_ring && !uses_unit(pool)) {
    pool->growth.in_ring = false;
    weir__endpoint_content(pool);
  }
}

void weir__growth_halt_locked(struct weir__pool *pool) {
  pool->growth.look_at = WEIR_NEVER;
  content(pool);
}

void weir__growth_locked(struct weir__pool *pool, struct weir__wakes *wakes) {
  pool->growth.look_at = WEIR_NEVER;
  if (!weir__control_opens_locked(pool)) {
    return;
  }
  pool->lazy = pool->lazy && pool->waiting.n == 0;
  if (pool->waiting.first != NULL) {
    give_to_waiters(pool, wakes);
    weir__dispatch_flag_locked(pool); /* the head may be another one */
  } else {
    weir__forecast_waited(&pool->growth.forecast, 0, 0);
  }
  content(pool);
  arm_look(pool);
  if (pool->waiting.n != 0 && pool->n_patient != 0) {
    weir__tend(pool); /* places that are closing are wanted now */
  }
  if (pool->waiting.n == 0 && below_min(pool) &&
      pool->n_filling < FILLING_MAX && !pool->resting && !pool->lazy &&
      pool->growth.look_at == WEIR_NEVER) {
    weir__tend(pool);
  }
}

/* Claims one place for Min Pool Size. */
static struct weir__slot *take_for_min(struct weir__pool *pool, uint64_t now) {
  struct weir__slot *slot = NULL;
  bool full;
  weir__mutex_lock(&pool->mu);
  if (weir__control_opens_locked(pool) && !pool->lazy && below_min(pool) &&
      pool->n_filling < FILLING_MAX && pool->waiting.n == 0 &&
      pool->growth.barred == NULL) {
    slot = take_empty(pool, now, &full);
    if (slot != NULL) {
      pool->n_filling++;
      weir__growth_unclaimed_locked(pool);
    }
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
  (void)weir__growth_failed(pool, slot, err);
  give_back(pool, slot);
}

void weir__growth_drop(struct weir__pool *pool, struct weir__slot *slot) {
  (void)hand_in(pool, slot, WEIR_OUTCOME_DROPPED, WEIR_CLASS_NONE, NULL);
  weir__mutex_lock(&pool->mu);
  pool->connects_begun--;
  weir__limiter_give(&pool->growth.limiter,
                     weir__pool_settings(pool)->connect_rate);
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
  weir__cause_unref(pool->growth.barred);
  pool->growth.barred = NULL;
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

/* The next place to be opened; *out_wanted: whether there is anybody left for it.
 * A return that came first, or a clear, may have made it needless. */
static struct weir__slot *take_start(struct weir__pool *pool,
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
  }
  weir__mutex_unlock(&pool->mu);
  return slot;
}

static void start_planned(struct weir__pool *pool, uint64_t now) {
  struct weir__slot *slot;
  bool wanted = false;
  while ((slot = take_start(pool, &wanted)) != NULL) {
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
  if (!pool->growth.jittered) {
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
  content(pool);
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
      return;
    }
  } else {
    note_failure(session);
  }
  (void)weir__growth_retire(slot, &word);
}

void weir__growth_connected_locked(struct weir__pool *pool,
                                   struct weir__slot *slot) {
  uint64_t now = weir__clock_now();
  weir__average_feed(&pool->growth.forecast.connect,
                     now > slot->since ? now - slot->since : 0);
  weir__cause_unref(pool->growth.barred);
  pool->growth.barred = NULL;
  (void)hand_in(pool, slot, WEIR_OUTCOME_GOOD, WEIR_CLASS_NONE, NULL);
}

void weir__growth_returned_locked(struct weir__pool *pool,
                                  struct weir__slot *slot) {
  uint64_t now = weir__clock_now();
  uint64_t held;
  if (weir__slot_held(slot, now, &held)) {
    weir__average_feed(&pool->growth.forecast.hold, held);
  }
}

void weir__growth_served_locked(struct weir__pool *pool,
                                const struct weir__waiter *w) {
  uint64_t now = weir__clock_now();
  weir__forecast_waited(&pool->growth.forecast, now,
                        now > w->since ? now - w->since : 0);
}

void weir__growth_tell_locked(struct weir__pool *pool,
                              struct weir_pool_stats *out) {
  const struct weir__forecast *f = &pool->growth.forecast;
  struct weir__endpoint_view view;
  collect_samples(pool);
  weir__endpoint_look(pool, &view);
  out->effective_max = view.reach;
  out->breaker = view.breaker;
  out->hold_ns = f->hold.known && f->hold.ns == 0 ? 1 : f->hold.ns;
  out->connect_ns = f->connect.known && f->connect.ns == 0 ? 1 : f->connect.ns;
  out->down = pool->growth.down;
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
  if (state == WEIR_SLOT_CONNECTING) {
    (void)hand_in(pool, slot, WEIR_OUTCOME_DROPPED, WEIR_CLASS_NONE, NULL);
  }
  if (state == WEIR_SLOT_LEASED || state == WEIR_SLOT_RESERVED) {
    weir__growth_lost(pool, weir__slot_session(slot), closing);
  }
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
  weir__endpoint_give(pool); /* back before anyone is woken */
  weir__mutex_lock(&pool->mu);
  WEIR_ASSERT(pool->n_closing > 0 && pool->n_open > 0); /* P8 */
  pool->n_closing--;
  pool->n_open--;
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
