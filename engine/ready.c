/* SPDX-License-Identifier: MIT */
/* ready.c - the first connection is opened by the caller, as by an acquire: it
 * learns at first hand why it fails.  The rest is filled by the reactor. */
#include "ready.h"

#include <stddef.h>

#include "acquire.h"
#include "cause.h"
#include "classify.h"
#include "control.h"
#include "explain.h"
#include "growth.h"
#include "lease.h"
#include "status.h"
#include "sys/clock.h"
#include "tend.h"

/* After a connect that failed but may succeed next time. */
#define PAUSE_NS WEIR_NS_PER_S

struct wait {
  struct weir__pool *pool;
  struct weir__caller *self;
  uint64_t deadline;
  uint64_t next;   /* not before that: another connect of its own */
  uint64_t failed; /* pool->connects_failed that is known */
  bool strict;     /* any failure ends it */
};

static bool cannot_mend(const struct weir_error *e) {
  return weir__classify_connect(e->scope, e->kind, e->phase) ==
         WEIR_CLASS_PERMANENT;
}

/* Sessions that are open, and how many are wanted. */
struct progress {
  uint32_t open;
  uint32_t wanted;
  uint32_t seen; /* news */
  int rc;        /* WEIR_OK, or how a connect failed meanwhile, or CLOSED */
  struct weir_error why;
};

static void look(struct wait *w, struct progress *p) {
  struct weir__pool *pool = w->pool;
  p->seen = weir__load_acquire_u32(&pool->news);
  p->rc = WEIR_OK;
  weir__mutex_lock(&pool->mu);
  uint32_t min = weir__pool_settings(pool)->min_pool_size;
  min = min < pool->max_now ? min : pool->max_now;
  p->wanted = min == 0 ? 1 : min;
  p->open = pool->n_open - pool->n_connecting - pool->n_closing;
  if (pool->connects_failed != w->failed && pool->last_error != NULL &&
      (w->strict || cannot_mend(&pool->last_error->error))) {
    p->why = pool->last_error->error;
    p->rc = p->why.code;
  } else if (p->open != 0 && p->open < p->wanted &&
             pool->growth.barred != NULL) {
    /* Nothing is opened in the background any more. */
    p->why = pool->growth.barred->error;
    p->rc = p->why.code;
  }
  if (pool->closed || pool->draining) {
    p->rc = WEIR_E_CLOSED;
  }
  w->failed = pool->connects_failed;
  pool->lazy = false;
  weir__mutex_unlock(&pool->mu);
}

static int64_t left(uint64_t deadline) {
  uint64_t now = weir__clock_now();
  if (deadline == WEIR_NEVER) {
    return WEIR_TIMEOUT_NEVER;
  }
  uint64_t ns = deadline > now ? deadline - now : 0;
  return ns > INT64_MAX - 1 ? INT64_MAX - 1 : (int64_t)ns;
}

/* Not again before an error says that the server is asked. */
static void pause(struct wait *w, const struct weir_error *e) {
  uint64_t told = e->retry_after_ms * WEIR_NS_PER_MS;
  w->next =
      weir__clock_add(weir__clock_now(), told > PAUSE_NS ? told : PAUSE_NS);
}

/* Its time is over, or no other attempt will help. */
static bool is_last(const struct wait *w, int rc, const struct weir_error *e) {
  switch (rc) {
  case WEIR_E_TIMEOUT: /* of one connect, if it is not the wait's */
    return weir__clock_now() >= w->deadline;
  case WEIR_E_CLOSED:
  case WEIR_E_SPACE:
  case WEIR_E_NOMEM:
    return true;
  default:
    return cannot_mend(e);
  }
}

/* Opens one, or finds that there is one by now.  WEIR_PENDING: not this time. */
static int open_one(struct wait *w, struct weir_error *err) {
  struct weir_error own = {.struct_size = sizeof own};
  uint64_t lease = 0;
  if (w->strict) {
    weir__growth_prove(w->pool, true);
  }
  int rc =
      weir__acquire_within(w->pool, w->self, left(w->deadline), &lease, &own);
  if (w->strict) {
    weir__growth_prove(w->pool, false);
  }
  pause(w, &own);
  if (rc == WEIR_OK) {
    return weir__lease_release(lease, w->self, false);
  }
  if (w->strict || is_last(w, rc, &own)) {
    weir__explain_copy(err, &own);
    return rc;
  }
  return WEIR_PENDING;
}

static int tell_late(const struct progress *p,
                     struct weir__pool *pool,
                     struct weir_error *err) {
  char last[400];
  weir__explain_last_error(pool, last, sizeof last);
  return weir__error_set(err, WEIR_E_TIMEOUT, WEIR_PHASE_QUEUE,
                         "the pool is not ready: %u of %u connections are "
                         "open%s",
                         p->open, p->wanted, last);
}

static int tell_failed(const struct progress *p, struct weir_error *err) {
  if (p->rc == WEIR_E_CLOSED) {
    return weir__error_set(err, p->rc, WEIR_PHASE_QUEUE,
                           "the pool is closed or draining");
  }
  weir__explain_copy(err, &p->why);
  return p->rc;
}

/* One that was good may be closed by now: nothing is kept without Pooling, or after
 * Max Uses. */
static bool is_decided(const struct wait *w, const struct progress *p, int rc) {
  return rc == WEIR_OK
             ? p->wanted == 1 || !weir__pool_settings(w->pool)->pooling
             : rc != WEIR_PENDING;
}

static int loop(struct wait *w, struct weir_error *err) {
  struct progress p;
  for (;;) {
    look(w, &p);
    if (p.rc != WEIR_OK) {
      return tell_failed(&p, err);
    }
    if (p.open >= p.wanted) {
      return WEIR_OK;
    }
    uint64_t now = weir__clock_now();
    if (now >= w->deadline) {
      return tell_late(&p, w->pool, err);
    }
    if (p.open == 0 && now >= w->next) {
      int rc = open_one(w, err);
      if (is_decided(w, &p, rc)) {
        return rc;
      }
      continue;
    }
    weir__tend(w->pool); /* which fills it */
    bool soon = p.open == 0 && w->next < w->deadline;
    weir__control_await(w->pool, w->self, p.seen, soon ? w->next : w->deadline);
  }
}

static int wait_for(struct wait *w, struct weir_error *err) {
  weir__mutex_lock(&w->pool->mu);
  weir__control_watch_locked(w->pool);
  w->failed = w->pool->connects_failed;
  weir__mutex_unlock(&w->pool->mu);
  int rc = loop(w, err);
  weir__mutex_lock(&w->pool->mu);
  weir__control_unwatch_locked(w->pool);
  weir__mutex_unlock(&w->pool->mu);
  return rc;
}

static uint64_t after(uint64_t ns) {
  return weir__clock_add(weir__clock_now(), ns);
}

int weir__ready_wait(struct weir__pool *pool,
                     struct weir__caller *self,
                     int64_t timeout_ns,
                     struct weir_error *err) {
  uint64_t span =
      timeout_ns == WEIR_TIMEOUT_NEVER ? WEIR_NEVER : (uint64_t)timeout_ns;
  struct wait w = {.pool = pool, .self = self, .deadline = after(span)};
  return wait_for(&w, err);
}

int weir__ready_start(struct weir__pool *pool,
                      struct weir__caller *self,
                      bool fresh,
                      struct weir_error *err) {
  const struct weir__settings *set = weir__pool_settings(pool);
  if (set->startup == WEIR_STARTUP_REQUIRE) {
    struct wait w = {.pool = pool,
                     .self = self,
                     .deadline = after(set->connect_timeout_ns),
                     .strict = true};
    return wait_for(&w, err);
  }
  if (fresh && set->startup == WEIR_STARTUP_BACKGROUND &&
      (set->min_pool_size | set->min_idle) != 0) {
    weir__tend(pool);
  }
  return WEIR_OK;
}
