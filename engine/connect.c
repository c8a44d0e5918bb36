/* SPDX-License-Identifier: MIT */
/* connect.c - the result of a connect goes to the caller that drives it, unless
 * somebody handed that caller a connection first; then the connect goes on
 * without it and serves the next one.  Who wins is decided under the pool's
 * mutex by the node's state. */
#include "connect.h"

#include <errno.h>
#include <stddef.h>

#include "close.h"
#include "control.h"
#include "dispatch.h"
#include "drive.h"
#include "engine.h"
#include "explain.h"
#include "growth.h"
#include "observe/counters.h"
#include "op.h"
#include "remote.h"
#include "session.h"
#include "shed.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/point.h"

static bool decided(void *arg) {
  return weir__waiter_state(arg) != WEIR_WAITER_DRIVING;
}

/* Takes the node out of the line for good.  False: it was decided before. */
static bool withdraw(struct weir__pool *pool,
                     struct weir__waiter *w,
                     enum weir__waiter_state state) WEIR_REQUIRES(pool->mu) {
  if (weir__waiter_state(w) != WEIR_WAITER_DRIVING) {
    return false;
  }
  weir__waiters_remove(&pool->driving, w);
  weir__waiter_move(w, state);
  weir__dispatch_flag_locked(pool);
  return true;
}

static bool withdraw_now(struct weir__pool *pool,
                         struct weir__waiter *w,
                         bool late) {
  weir__mutex_lock(&pool->mu);
  bool mine = withdraw(pool, w, WEIR_WAITER_FAILED);
  pool->timeouts += mine && late;
  weir__mutex_unlock(&pool->mu);
  return mine;
}

/* A caller that gets nothing for what it opened, because that was cleared, or the
 * pool is paused or about to close, goes back to its place in line, before anybody
 * else can have what it opened. */
static void wait_again_locked(struct weir__pool *pool, struct weir__waiter *w)
    WEIR_REQUIRES(pool->mu) {
  if (weir__waiter_state(w) == WEIR_WAITER_DRIVING) {
    weir__waiters_remove(&pool->driving, w);
    w->slot = NULL;
    weir__waiter_move(w, WEIR_WAITER_WAITING);
    weir__waiters_restore(&pool->waiting, w);
    weir__dispatch_flag_locked(pool); /* nobody may overtake it from now on */
    weir__shed_queued_locked(pool, w);
  }
}

/* Before the mutex is given up: a drain may take the lease away again, and nobody
 * has the place before he has had the mutex. */
static void begin_lease_locked(struct weir__slot *slot, uint64_t now) {
  weir__slot_start_lease(slot);
  weir__store_relaxed_u64(&slot->idle_since, weir__clock_coarse());
  weir__slot_stamp(slot, now);
}

/* The same for one whose wait may be over meanwhile: each phase has its own time
 * (Connect Timeout Scope), and back in line it would be given another connect.
 * True: it is, and the node has left. */
static bool over_or_again_locked(struct weir__pool *pool,
                                 struct weir__waiter *w)
    WEIR_REQUIRES(pool->mu) {
  bool over =
      weir__clock_now() >= w->deadline && withdraw(pool, w, WEIR_WAITER_FAILED);
  pool->timeouts += over;
  if (!over) {
    wait_again_locked(pool, w);
  }
  return over;
}

/* CONNECTING -> LEASED for this caller.  0: somebody handed it another
 * connection, or a clear has doomed this one; *out_over: and its time is over. */
static uint64_t lease_own(struct weir__pool *pool,
                          struct weir__waiter *w,
                          struct weir__slot *slot,
                          bool *out_over) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  uint64_t leased =
      weir__slot_word(WEIR_SLOT_LEASED, 0, weir__slot_generation(word),
                      weir__slot_lease(word) + 1);
  struct weir__wakes wakes = {.n_asleep = 0};
  bool won = false;
  weir__mutex_lock(&pool->mu);
  weir__counters_opened_locked(pool, weir__slot_session(slot));
  weir__growth_connected_locked(pool, slot);
  weir__control_news_locked(pool);
  if (weir__waiter_state(w) == WEIR_WAITER_DRIVING &&
      weir__control_grants_locked(pool) && weir__slot_flags(word) == 0 &&
      weir__slot_move(slot, &word, leased)) {
    uint64_t now = weir__clock_now();
    begin_lease_locked(slot, now);
    weir__dispatch_waited_locked(pool, w, now);
    won = withdraw(pool, w, WEIR_WAITER_GRANTED);
    pool->n_connecting--;
    /* One connect less under way may be leave for another. */
    weir__growth_locked(pool, &wakes);
  } else {
    *out_over = over_or_again_locked(pool, w);
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, w->caller);
  return won ? leased : 0;
}

static int connected(struct weir__pool *pool,
                     struct weir__waiter *w,
                     struct weir_drv_hconn *session,
                     struct weir_error *err) {
  struct weir__slot *slot = session->slot;
  bool over = false;
  WEIR_POINT("connect.done", w);
  weir__drive_end(session);
  uint64_t leased = lease_own(pool, w, slot, &over);
  if (leased != 0) {
    w->granted = slot;
    w->granted_word = leased;
    return WEIR_OK;
  }
  uint64_t word = weir__load_seq_u64(&slot->word);
  if (weir__slot_flags(word) != 0 ||
      !weir__publish(pool, slot, &word, w->caller)) {
    (void)weir__growth_retire(slot, &word);
  }
  weir__dispatch(pool, w->caller);
  return over ? weir__explain_timeout(pool, w, err) : WEIR_PENDING;
}

static void retire(struct weir__slot *slot) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  bool ours = weir__growth_retire(slot, &word);
  WEIR_ASSERT(ours); /* CONNECTING is its driver's */
  (void)ours;
}

static int failed(struct weir__pool *pool,
                  struct weir__waiter *w,
                  struct weir_drv_hconn *session,
                  struct weir_error *err) {
  struct weir_error own = {.struct_size = sizeof own};
  weir__explain_connect(session, &own);
  bool stay = weir__growth_failed(pool, session->slot, &own);
  bool late = stay && weir__clock_now() >= w->deadline;
  if (stay && !late) {
    weir__growth_keep(pool, w);
    retire(session->slot);
    return WEIR_PENDING;
  }
  bool mine = withdraw_now(pool, w, late);
  retire(session->slot);
  if (!mine) {
    return WEIR_PENDING; /* served or closed while it failed */
  }
  if (late) {
    return weir__explain_timeout(pool, w, err);
  }
  weir__explain_copy(err, &own);
  return own.code;
}

/* The caller's deadline, or the connect's own limit, whichever came first. */
static int late(struct weir__pool *pool,
                struct weir__waiter *w,
                struct weir_drv_hconn *session,
                struct weir_error *err) {
  struct weir_error own = {.struct_size = sizeof own};
  bool over = weir__clock_now() >= session->limit;
  if (over) {
    session->expired = true;
    weir__explain_late(pool, w, session, &own);
    if (weir__growth_failed(pool, session->slot, &own) &&
        weir__clock_now() < w->deadline) {
      weir__growth_keep(pool, w);
      retire(session->slot);
      return WEIR_PENDING;
    }
  }
  weir__mutex_lock(&pool->mu);
  bool mine = withdraw(pool, w, WEIR_WAITER_FAILED);
  pool->timeouts += mine;
  if (!over) {
    weir__growth_unclaimed_locked(pool);
  }
  weir__mutex_unlock(&pool->mu);
  if (mine && !over) {
    weir__explain_late(pool, w, session, &own);
  }
  if (over) {
    retire(session->slot);
  } else {
    weir__remote_adopt(session, weir__growth_opened);
  }
  if (!mine) {
    return WEIR_PENDING;
  }
  weir__explain_copy(err, &own);
  return own.code;
}

/* Handed a connection, or the pool has closed. */
static int stopped(struct weir__waiter *w, struct weir_drv_hconn *session) {
  if (weir__waiter_state(w) == WEIR_WAITER_GRANTED) {
    weir__remote_adopt(session, weir__growth_opened);
  } else {
    retire(session->slot);
  }
  return WEIR_PENDING;
}

/* A session that was made goes the way of all: the reactor may be looking at
 * it. */
static int no_session(struct weir__pool *pool,
                      struct weir__waiter *w,
                      struct weir__slot *slot,
                      struct weir_drv_hconn *session,
                      int error,
                      struct weir_error *err) {
  struct weir_error own = {.struct_size = sizeof own};
  char why[128];
  (void)weir__error_set(&own, error == ENOMEM ? WEIR_E_NOMEM : WEIR_E_FAIL,
                        WEIR_PHASE_CONNECT, "cannot open a connection: %s",
                        weir__errno_text(error, why, sizeof why));
  weir__error_class(&own, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_OTHER);
  bool mine = withdraw_now(pool, w, false);
  if (session == NULL) {
    weir__growth_abandon(pool, slot, &own);
  } else {
    (void)weir__growth_failed(pool, slot, &own);
    retire(slot);
  }
  if (!mine) {
    return WEIR_PENDING;
  }
  weir__explain_copy(err, &own);
  return own.code;
}

/* When the caller leaves it to others: at its own deadline, or when the connect's
 * own time is over, which is not part of the wait if each phase has its own. */
static uint64_t until_of(const struct weir__pool *pool,
                         const struct weir__waiter *w,
                         uint64_t limit) {
  bool overall = w->strict ||
                 weir__pool_settings(pool)->timeout_scope == WEIR_SCOPE_OVERALL;
  return overall && w->deadline < limit ? w->deadline : limit;
}

int weir__connect_drive(struct weir__pool *pool,
                        struct weir__waiter *w,
                        struct weir_error *err) {
  struct weir__slot *slot = w->slot;
  struct weir_drv_hconn *session = weir__session_new(pool->engine, pool, slot);
  w->slot = NULL; /* the session has it from here on */
  int rc = session == NULL ? -ENOMEM : weir__drive_begin(session, w->caller);
  if (rc != 0) {
    return no_session(pool, w, slot, session, -rc, err);
  }
  session->limit = weir__growth_limit(pool, weir__clock_now());
  uint64_t until = until_of(pool, w, session->limit);
  (void)weir__op_connect(session, until);
  switch (weir__drive(session, w->caller, until, decided, w)) {
  case WEIR_DRIVE_STOPPED:
    return stopped(w, session);
  case WEIR_DRIVE_LATE:
    return late(pool, w, session, err);
  case WEIR_DRIVE_ENDED:
  default:
    return session->status == WEIR_DRV_DONE && session->usable
               ? connected(pool, w, session, err)
               : failed(pool, w, session, err);
  }
}
