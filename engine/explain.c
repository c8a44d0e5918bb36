/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <stdio.h>
#include <string.h>

#include "cause.h"
#include "dispatch.h"
#include "endpoint.h"
#include "observe/lease_ages.h"
#include "status.h"
#include "sys/clock.h"

void weir__explain_copy(struct weir_error *err, const struct weir_error *from) {
  if (err == NULL) {
    return;
  }
  struct weir_drv_error as_driver = {
      .struct_size = sizeof as_driver,
      .scope = from->scope,
      .kind = from->kind,
      .retry = from->retry,
      .txn = from->txn,
      .flags = from->flags,
      .native = from->native,
      .native_severity = from->native_severity,
      .retry_after_ms = from->retry_after_ms,
      .native_state = from->native_state,
      .line = from->line,
      .message = (char *)(uintptr_t)from->message,
      .message_cap = sizeof from->message,
      .message_len = from->message_len,
  };
  memcpy(as_driver.sqlstate, from->sqlstate, sizeof as_driver.sqlstate);
  weir__error_from_driver(err, &as_driver, from->code, from->phase);
}

struct phase_name {
  const char *name;
  int32_t phase;
};

static const struct phase_name phases[] = {
    {"resolve", WEIR_PHASE_RESOLVE}, {"connect", WEIR_PHASE_CONNECT},
    {"tls", WEIR_PHASE_TLS},         {"prelogin", WEIR_PHASE_LOGIN},
    {"login", WEIR_PHASE_LOGIN},
};

static void phase_text(struct weir_drv_hconn *session, char *buf, size_t cap) {
  uint64_t len = 0;
  if (!weir__session_fact(session, WEIR_DRV_P_PHASE, buf, cap, &len) ||
      len == 0) {
    (void)snprintf(buf, cap, "connect");
  }
}

static int32_t phase_number(const char *text) {
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    if (strcmp(text, phases[i].name) == 0) {
      return phases[i].phase;
    }
  }
  return WEIR_PHASE_LOGIN; /* a step of the driver's own protocol */
}

int32_t weir__explain_phase(struct weir_drv_hconn *session) {
  char text[32];
  phase_text(session, text, sizeof text);
  return phase_number(text);
}

static int32_t phase_of_kind(struct weir_drv_hconn *session) {
  switch (session->error.kind) {
  case WEIR_DRV_K_NAME:
    return WEIR_PHASE_RESOLVE;
  case WEIR_DRV_K_TLS:
    return WEIR_PHASE_TLS;
  case WEIR_DRV_K_AUTH:
  case WEIR_DRV_K_AUTH_EXPIRED:
    return WEIR_PHASE_LOGIN;
  default:
    return weir__explain_phase(session);
  }
}

void weir__explain_connect(struct weir_drv_hconn *session,
                           struct weir_error *err) {
  int32_t phase = phase_of_kind(session);
  int32_t code =
      session->status == WEIR_DRV_E_NOMEM ? WEIR_E_NOMEM : WEIR_E_FAIL;
  weir__error_from_driver(err, &session->error, code, phase);
}

static double seconds(uint64_t ns) {
  return (double)ns / (double)WEIR_NS_PER_S;
}

/* ------------------------------------------------- one sentence about a pool
 *
 * The last connect error stands in the middle, and is cut as far as it takes for
 * the rest to fit. */

#define TEXT_CAP sizeof(((struct weir_error *)NULL)->message)

struct text {
  char buf[TEXT_CAP];
  uint32_t n;
};

#define SAY(text, ...)                                     \
  ((text)->n += weir__text_format((text)->buf + (text)->n, \
                                  TEXT_CAP - (text)->n, __VA_ARGS__))

/* What is told of a pool: as it was when the caller had given up. */
struct view {
  struct weir_pool_stats stats;
  struct weir__lease_ages ages;
  uint64_t error_age;   /* WEIR_NEVER: not known */
  char error[TEXT_CAP]; /* of the last connect that failed; "": none has */
};

/* Another pool has found out that the server is down, and this one does not try. */
static void view_trouble(struct weir__pool *pool, struct view *v) {
  struct weir__cause *trouble = weir__endpoint_trouble(pool);
  if (trouble != NULL) {
    (void)weir__text_format(v->error, sizeof v->error, "%s",
                            trouble->error.message);
    weir__cause_unref(trouble);
  }
}

static void view_error(struct weir__pool *pool, struct view *v) {
  uint64_t now = weir__clock_now();
  weir__mutex_lock(&pool->mu);
  uint64_t at = pool->last_error_at;
  (void)weir__text_format(
      v->error, sizeof v->error, "%s",
      pool->last_error != NULL ? pool->last_error->error.message : "");
  weir__mutex_unlock(&pool->mu);
  v->error_age = at == 0 || at > now ? WEIR_NEVER : now - at;
  if (v->error[0] == '\0') {
    view_trouble(pool, v);
  }
}

static void view_pool(struct weir__pool *pool, struct view *v) {
  memset(&v->stats, 0, sizeof v->stats);
  v->stats.struct_size = sizeof v->stats;
  weir__pool_stats(pool, &v->stats);
  v->ages = weir__lease_ages(pool);
  view_error(pool, v);
}

static void say_leases(struct text *t, const struct view *v) {
  SAY(t, ", %u leased", v->stats.leased);
  if (v->ages.n == 1) {
    SAY(t, " (for %.2f s)", seconds(v->ages.oldest_ns));
  } else if (v->ages.n > 1) {
    SAY(t, " (the oldest for %.2f s, the youngest for %.2f s)",
        seconds(v->ages.oldest_ns), seconds(v->ages.youngest_ns));
  }
}

static void say_if_any(struct text *t, uint32_t n, const char *what) {
  if (n != 0) {
    SAY(t, ", %u %s", n, what);
  }
}

static void say_places(struct text *t, const struct view *v) {
  const struct weir_pool_stats *s = &v->stats;
  SAY(t, "Max Pool Size %u", s->max_size);
  if (s->effective_max < s->max_size) {
    SAY(t, " (%u for now)", s->effective_max);
  }
  say_leases(t, v);
  SAY(t, ", %u connecting, %u idle", s->connecting, s->idle);
  say_if_any(t, s->reserved, "being reset");
  say_if_any(t, s->parked, "parked");
  say_if_any(t, s->stasis, "in stasis");
  SAY(t, ", %u closing", s->closing);
}

static void say_line(struct text *t,
                     const struct view *v,
                     const struct weir__waiter *w) {
  uint32_t others = v->stats.waiters;
  /* Some of them have been served meanwhile. */
  uint32_t before = w->before < others ? w->before : others;
  SAY(t, ", %u other caller%s waiting", others, others == 1 ? "" : "s");
  if (before == WEIR_DISPATCH_BEFORE_MAX) {
    SAY(t, ", %u or more of them longer", before);
  } else if (before != 0) {
    SAY(t, ", %u of them longer", before);
  }
}

static void say_breaker(struct text *t, const struct view *v) {
  static const char *const states[] = {
      [WEIR_BREAKER_OPEN] = "the server is down and left alone until a probe",
      [WEIR_BREAKER_HALF_OPEN] = "the server was down and is being probed",
      [WEIR_BREAKER_RAMP] = "the server is back and opened to bit by bit",
  };
  uint32_t state = v->stats.breaker;
  if (state != WEIR_BREAKER_CLOSED && state <= WEIR_BREAKER_RAMP) {
    SAY(t, "; %s", states[state]);
  }
  if (v->stats.blocked_ns != 0) {
    SAY(t, "; because connects failed, none begins for %.2f s",
        seconds(v->stats.blocked_ns));
  }
}

/* Leaves `room` bytes. */
static void say_error(struct text *t, const struct view *v, uint32_t room) {
  char when[48] = "";
  size_t end = t->n + room;
  if (v->error[0] == '\0') {
    return;
  }
  if (v->error_age != WEIR_NEVER) {
    (void)weir__text_format(when, sizeof when, " %.2f s ago",
                            seconds(v->error_age));
  }
  if (end + sizeof "; the last connect failed : " + sizeof when < TEXT_CAP) {
    SAY(t, "; the last connect failed%s: ", when);
    t->n += weir__text_format(t->buf + t->n, TEXT_CAP - room - t->n, "%s",
                              v->error);
  }
}

/* One that nobody gave back while the caller waited, so many times over, may wait
 * for the caller. */
static bool is_stuck(const struct view *v, uint64_t waited) {
  return v->ages.n > 1 && v->stats.leased >= v->stats.effective_max &&
         v->ages.youngest_ns >= waited / 2;
}

static const char *advice(const struct view *v, uint64_t waited) {
  const struct weir_pool_stats *s = &v->stats;
  if (s->state == WEIR_POOL_PAUSED) {
    return "the pool is paused: weir_pool_resume() ends that";
  }
  if (s->state == WEIR_POOL_DRAINING) {
    return "the pool is draining: it gives those in line what comes back, and "
           "opens nothing";
  }
  if (is_stuck(v, waited)) {
    return "no connection has come back for long: does a caller wait for a "
           "second one while it holds one?";
  }
  if (s->leased < s->effective_max && v->error[0] != '\0') {
    return "is the server reachable and answering?";
  }
  return "release connections sooner, or raise Max Pool Size or the time-out";
}

static void finish(struct text *t, const struct view *v, const char *last) {
  say_breaker(t, v);
  say_error(t, v, (uint32_t)strlen(last) + 2);
  SAY(t, "; %s", last);
}

static int set_timeout(struct weir_error *err,
                       int32_t phase,
                       const struct text *t) {
  return weir__error_set(err, WEIR_E_TIMEOUT, phase, "%s", t->buf);
}

/* ------------------------------------------------------------------ endings */

/* What is over is the connect's own time, which is not part of the wait. */
static void say_own_time(struct text *t,
                         const struct weir__pool *pool,
                         const struct weir__waiter *w,
                         const struct weir_drv_hconn *session) {
  uint64_t begun = session->slot->since;
  if (w->strict ||
      weir__pool_settings(pool)->timeout_scope == WEIR_SCOPE_OVERALL) {
    return;
  }
  SAY(t, ", which had %.2f s of its own after %.2f s in line",
      seconds(weir__clock_now() - begun),
      seconds(begun > w->since ? begun - w->since : 0));
}

void weir__explain_late(struct weir__pool *pool,
                        const struct weir__waiter *w,
                        struct weir_drv_hconn *session,
                        struct weir_error *err) {
  char phase[32];
  struct view v;
  struct text t = {.n = 0};
  phase_text(session, phase, sizeof phase);
  uint64_t waited = weir__clock_now() - w->since;
  view_pool(pool, &v);
  SAY(&t, "timed out after %.2f s while opening a connection, in phase %s",
      seconds(waited), phase);
  say_own_time(&t, pool, w, session);
  SAY(&t, "; pool %.300s: ", weir__key_text(pool->key, NULL));
  say_places(&t, &v);
  finish(
      &t, &v,
      strcmp(phase, "credential") == 0
          ? "does the program answer weir_credential_next()? Connect Timeout "
            "sets the limit"
          : "is the server reachable and answering? Connect Timeout sets the "
            "limit");
  (void)set_timeout(err, phase_number(phase), &t);
  weir__error_class(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_TIMEOUT,
                    WEIR_DRV_RETRY_OTHER);
}

void weir__explain_expired(struct weir_drv_hconn *session,
                           struct weir_error *err) {
  char phase[32];
  phase_text(session, phase, sizeof phase);
  (void)weir__error_set(
      err, WEIR_E_TIMEOUT, phase_number(phase),
      "the connect timed out after %.2f s, in phase %s; Connect Timeout sets "
      "the limit",
      seconds(weir__clock_now() - session->slot->since), phase);
  weir__error_class(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_TIMEOUT,
                    WEIR_DRV_RETRY_OTHER);
}

void weir__explain_last_error(struct weir__pool *pool, char *buf, size_t cap) {
  struct view v;
  view_error(pool, &v);
  buf[0] = '\0';
  if (v.error[0] != '\0' && v.error_age != WEIR_NEVER) {
    (void)weir__text_format(buf, cap,
                            "; the last connect failed %.2f s ago: %s",
                            seconds(v.error_age), v.error);
  } else if (v.error[0] != '\0') {
    (void)weir__text_format(buf, cap, "; the last connect failed: %s", v.error);
  }
}

/* A caller that came without time did not wait, and no size of the pool would
 * have helped it. */
static void tell_no_wait(const struct view *v, struct weir_error *err) {
  struct text t = {.n = 0};
  if (v->stats.state == WEIR_POOL_PAUSED) {
    (void)weir__error_set(err, WEIR_E_TIMEOUT, WEIR_PHASE_QUEUE,
                          "the pool is paused, and a time-out of 0 does not "
                          "wait for weir_pool_resume()");
    return;
  }
  SAY(&t, "no connection is idle, and a time-out of 0 opens none; give a "
          "time-out (");
  say_places(&t, v);
  say_if_any(&t, v->stats.waiters, "callers waiting");
  say_breaker(&t, v);
  say_error(&t, v, 1);
  SAY(&t, ")");
  (void)set_timeout(err, WEIR_PHASE_QUEUE, &t);
}

static void tell_wait(const struct weir__pool *pool,
                      const struct view *v,
                      const struct weir__waiter *w,
                      struct weir_error *err) {
  struct text t = {.n = 0};
  uint64_t waited = weir__clock_now() - w->since;
  SAY(&t, "timed out after %.2f s waiting for a connection: ", seconds(waited));
  say_places(&t, v);
  say_line(&t, v, w);
  if (pool->policies.async->one_by_one && w->caller == NULL) {
    SAY(&t, ", those that do not block one at a time (Pool Async=dispatcher)");
  }
  finish(&t, v, advice(v, waited));
  (void)set_timeout(err, WEIR_PHASE_QUEUE, &t);
}

int weir__explain_timeout(struct weir__pool *pool,
                          const struct weir__waiter *w,
                          struct weir_error *err) {
  struct view v;
  if (err == NULL) {
    return WEIR_E_TIMEOUT;
  }
  view_pool(pool, &v);
  if (w->deadline == w->since) {
    tell_no_wait(&v, err);
  } else {
    tell_wait(pool, &v, w, err);
  }
  weir__error_class(err, WEIR_DRV_SCOPE_NONE, WEIR_DRV_K_TIMEOUT,
                    WEIR_DRV_RETRY_SAME);
  return WEIR_E_TIMEOUT;
}

int weir__explain_shed(struct weir__pool *pool,
                       const struct weir__waiter *w,
                       struct weir_error *err) {
  struct view v;
  struct text t = {.n = 0};
  if (err == NULL) {
    return WEIR_E_OVERLOADED;
  }
  view_pool(pool, &v);
  SAY(&t,
      "overloaded: refused after %.2f s of waiting, so that others are served "
      "in time (Queue Policy=codel): ",
      seconds(weir__clock_now() - w->since));
  say_places(&t, &v);
  SAY(&t, ", %u other caller%s waiting", v.stats.waiters,
      v.stats.waiters == 1 ? "" : "s");
  finish(&t, &v,
         "send less, release connections sooner, or raise Max Pool Size");
  (void)weir__error_set(err, WEIR_E_OVERLOADED, WEIR_PHASE_QUEUE, "%s", t.buf);
  weir__error_class(err, WEIR_DRV_SCOPE_NONE, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_ELSE);
  return WEIR_E_OVERLOADED;
}
