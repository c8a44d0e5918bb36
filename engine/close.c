/* SPDX-License-Identifier: MIT */
#include "close.h"

#include <stddef.h>

#include "base/container.h"
#include "engine.h"
#include "growth.h"
#include "loader.h"
#include "op.h"
#include "pool.h"
#include "remote.h"
#include "request.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "watch.h"

static void link_closing(struct weir_drv_hconn *s) {
  struct weir__pool *pool = s->pool;
  s->closing = true;
  s->next_closing = pool->closing;
  s->prev_closing = &pool->closing;
  if (pool->closing != NULL) {
    pool->closing->prev_closing = &s->next_closing;
  }
  pool->closing = s;
}

static void unlink_closing(struct weir_drv_hconn *s) {
  *s->prev_closing = s->next_closing;
  if (s->next_closing != NULL) {
    s->next_closing->prev_closing = s->prev_closing;
  }
  s->closing = false;
}

static void finish(struct weir_drv_hconn *s, bool reset) {
  struct weir__slot *slot = s->slot;
  struct weir__pool *pool = s->pool;
  bool opened = s->opened;
  bool patient = s->patient;
  unlink_closing(s);
  weir__remote_quiet(s);
  if (reset) {
    s->reset = true;
  }
  /* Out of sight first: whoever interrupts the slot's session holds free_mu. */
  weir__mutex_lock(&pool->free_mu);
  weir__slot_set_session(slot, NULL);
  weir__mutex_unlock(&pool->free_mu);
  weir__session_free(s);
  weir__mutex_lock(&pool->mu);
  pool->sessions_closed++;
  pool->disconnects += opened;
  pool->n_patient -= patient;
  weir__mutex_unlock(&pool->mu);
  weir__growth_emptied(slot);
}

/* False: the close may take its time, and a waiter who comes has the pool tended
 * to.  The tending that hurries closes may have come before this one began. */
static bool wanted_now(struct weir_drv_hconn *s) {
  struct weir__pool *pool = s->pool;
  weir__mutex_lock(&pool->mu);
  bool wanted = pool->waiting.n != 0 || pool->hurried;
  if (!wanted && !s->patient) {
    s->patient = true;
    pool->n_patient++;
  }
  weir__mutex_unlock(&pool->mu);
  return wanted;
}

/* It is not: once is enough, or the pool would be tended to for ever while a
 * driver's answer is awaited, with which this comes back to half_close(). */
static void hurried(struct weir_drv_hconn *s) {
  struct weir__pool *pool = s->pool;
  weir__mutex_lock(&pool->mu);
  pool->n_patient -= s->patient;
  s->patient = false;
  weir__mutex_unlock(&pool->mu);
}

static struct weir_drv_hconn *of_timer(struct weir__timer *timer) {
  return weir_container_of(timer, struct weir_drv_hconn, timer);
}

static void on_time(struct weir__timer *timer) {
  finish(of_timer(timer), true);
}

static void on_peer(struct weir__watch *watch, uint32_t events) {
  struct weir_drv_hconn *s =
      ((struct weir__session_watch *)(void *)watch)->session;
  (void)events;
  if (weir__streams_peer_done(&s->streams)) {
    finish(s, false);
  }
}

/* False: some stream cannot be watched, so there is nothing to wait for. */
static bool watch_peers(struct weir_drv_hconn *s) {
  bool any = false;
  for (uint32_t i = 0; i < WEIR_STREAMS_MAX; i++) {
    if (s->streams.slot[i] == NULL) {
      continue;
    }
    struct weir__session_watch *w = &s->watches[i];
    w->session = s;
    w->watch = (struct weir__watch){
        .ready = on_peer,
        .fd = weir__stream_fd(s->streams.slot[i]),
    };
    any = true;
    if (weir__reactor_watch(s->engine->reactor, &w->watch, WEIR_DRV_EV_READ) !=
        0) {
      return false;
    }
  }
  return any;
}

/* A log-out that ran out of time may have left a request open; with the answer
 * this comes again. */
static void half_close(struct weir_drv_hconn *s) {
  uint64_t span = weir__pool_settings(s->pool)->close_timeout_ns;
  weir__remote_quiet(s);
  s->run = half_close;
  if (!weir__request_abandon(s)) {
    return;
  }
  if (span == 0 || wanted_now(s)) {
    finish(s, true);
    return;
  }
  weir__streams_half_close(&s->streams);
  if (weir__streams_peer_done(&s->streams) || !watch_peers(s)) {
    finish(s, false);
    return;
  }
  s->timer.fire = on_time;
  weir__reactor_timer(s->engine->reactor, &s->timer,
                      weir__clock_add(weir__clock_now(), span));
}

static void run_close(struct weir_drv_hconn *s) {
  if (!weir__request_abandon(s)) {
    return; /* comes back here with the answer */
  }
  weir__watch_leave(s); /* its end is no news any more */
  link_closing(s);
  bool polite = s->conn != NULL && s->usable && !s->reading &&
                (s->driver->has & WEIR_DRIVER_HAS_LOGOUT) != 0 &&
                !wanted_now(s);
  if (!polite) {
    half_close(s);
    return;
  }
  s->limit = weir__clock_add(weir__clock_now(),
                             weir__pool_settings(s->pool)->close_timeout_ns);
  weir__remote_go(s, weir__op_logout(s), half_close);
}

void weir__close_begin(struct weir_drv_hconn *session) {
  weir__remote_post(session, run_close);
}

void weir__close_hurry(struct weir__pool *pool) {
  struct weir_drv_hconn *s = pool->closing;
  while (s != NULL) {
    struct weir_drv_hconn *next = s->next_closing;
    hurried(s);
    s->run = half_close;
    if (!s->reply_pending && weir__request_abandon(s)) {
      finish(s, true);
    }
    s = next;
  }
}
