/* SPDX-License-Identifier: MIT */
#include "explain.h"

#include <stdio.h>
#include <string.h>

#include "cause.h"
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

void weir__explain_late(struct weir__pool *pool,
                        const struct weir__waiter *w,
                        struct weir_drv_hconn *session,
                        struct weir_error *err) {
  char text[32];
  phase_text(session, text, sizeof text);
  uint64_t now = weir__clock_now();
  const char *question = strcmp(text, "credential") == 0
                             ? "does the program answer weir_credential_next()?"
                             : "is the server reachable and answering?";
  (void)weir__error_set(
      err, WEIR_E_TIMEOUT, phase_number(text),
      "timed out after %.2f s while opening a connection, in phase %s; pool "
      "%s; %s Connect Timeout sets the limit",
      seconds(now - w->since), text, weir__key_text(pool->key, NULL), question);
  weir__error_class(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_TIMEOUT,
                    WEIR_DRV_RETRY_OTHER);
}

void weir__explain_last_error(struct weir__pool *pool, char *buf, size_t cap) {
  weir__mutex_lock(&pool->mu);
  if (pool->last_error != NULL) {
    (void)snprintf(buf, cap, "; the last connect failed: %.300s",
                   pool->last_error->error.message);
  } else {
    buf[0] = '\0';
  }
  weir__mutex_unlock(&pool->mu);
}

/* A caller that came without time did not wait, and no size of the pool would
 * have helped it. */
static void tell_no_wait(const struct weir_pool_stats *stats,
                         const char *last,
                         struct weir_error *err) {
  if (stats->state == WEIR_POOL_PAUSED) {
    (void)weir__error_set(err, WEIR_E_TIMEOUT, WEIR_PHASE_QUEUE,
                          "the pool is paused, and a time-out of 0 does not "
                          "wait for weir_pool_resume()");
    return;
  }
  (void)weir__error_set(
      err, WEIR_E_TIMEOUT, WEIR_PHASE_QUEUE,
      "no connection is idle, and a time-out of 0 opens none; give a time-out "
      "(Max Pool Size %u, %u leased, %u connecting, %u closing%s)",
      stats->max_size, stats->leased, stats->connecting, stats->closing, last);
}

static void tell_wait(const struct weir_pool_stats *stats,
                      uint64_t since,
                      const char *last,
                      struct weir_error *err) {
  (void)weir__error_set(
      err, WEIR_E_TIMEOUT, WEIR_PHASE_QUEUE,
      "timed out after %.2f s waiting for a connection: Max Pool Size %u, %u "
      "leased, %u connecting, %u idle, %u closing, %u other callers waiting%s; "
      "%s",
      seconds(weir__clock_now() - since), stats->max_size, stats->leased,
      stats->connecting, stats->idle, stats->closing, stats->waiters, last,
      stats->state == WEIR_POOL_PAUSED
          ? "the pool is paused: weir_pool_resume() ends that"
          : "release connections sooner, or raise Max Pool Size or the "
            "time-out");
}

int weir__explain_timeout(struct weir__pool *pool,
                          const struct weir__waiter *w,
                          struct weir_error *err) {
  char last[400];
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  if (err == NULL) {
    return WEIR_E_TIMEOUT;
  }
  weir__explain_last_error(pool, last, sizeof last);
  weir__pool_stats(pool, &stats);
  if (w->deadline == w->since) {
    tell_no_wait(&stats, last, err);
  } else {
    tell_wait(&stats, w->since, last, err);
  }
  weir__error_class(err, WEIR_DRV_SCOPE_NONE, WEIR_DRV_K_TIMEOUT,
                    WEIR_DRV_RETRY_SAME);
  return WEIR_E_TIMEOUT;
}
