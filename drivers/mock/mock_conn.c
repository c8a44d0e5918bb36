/* SPDX-License-Identifier: MIT */
/* Connections: their life, what is said of them, and their descriptor. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mock.h"

/* -------------------------------------------------------------- descriptor */

int mock_event_open(weir_drv_conn *c) {
  if (c->event_fd >= 0) {
    return 0;
  }
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (fd < 0) {
    return -errno;
  }
  (void)pthread_mutex_lock(&c->drv->mu);
  c->event_fd = fd;
  (void)pthread_mutex_unlock(&c->drv->mu);
  return 0;
}

void mock_event_want(const weir_drv_conn *c, struct weir_drv_wait *wait) {
  if (c->event_fd >= 0) {
    wait->want[wait->n_want] =
        (struct weir_drv_want){.fd = c->event_fd, .events = WEIR_DRV_EV_READ};
    wait->n_want++;
  }
}

/* A killed session's descriptor stays readable: that is how idle() shows it. */
void mock_event_drain(const weir_drv_conn *c) {
  uint64_t count;
  bool killed = atomic_load_explicit(&c->killed, memory_order_acquire) == 1;
  if (c->event_fd >= 0 && !killed &&
      read(c->event_fd, &count, sizeof count) < 0) {
    return; /* nothing was in it */
  }
}

/* Out of reach of control functions first, then of the engine's pollers. */
static void event_close(weir_drv_conn *c) {
  const struct weir_drv_host *host = c->drv->host;
  (void)pthread_mutex_lock(&c->drv->mu);
  int fd = c->event_fd;
  c->event_fd = -1;
  (void)pthread_mutex_unlock(&c->drv->mu);
  if (fd >= 0) {
    host->fd_forget(host->ctx, c->hconn, fd);
    (void)close(fd);
  }
}

/* -------------------------------------------------------------------- life */

static void link_newest(weir_drv_conn *c) {
  weir_drv_drv *d = c->drv;
  (void)pthread_mutex_lock(&d->mu);
  c->older = d->newest;
  *(d->newest == NULL ? &d->oldest : &d->newest->newer) = c;
  d->newest = c;
  (void)pthread_mutex_unlock(&d->mu);
}

static void unlink_conn(weir_drv_conn *c) {
  weir_drv_drv *d = c->drv;
  (void)pthread_mutex_lock(&d->mu);
  *(c->older == NULL ? &d->oldest : &c->older->newer) = c->newer;
  *(c->newer == NULL ? &d->newest : &c->newer->older) = c->older;
  (void)pthread_mutex_unlock(&d->mu);
}

weir_drv_status mock_conn_create(weir_drv_drv *d,
                                 const weir_drv_cfg *cfg,
                                 weir_drv_hconn *hc,
                                 weir_drv_conn **out,
                                 struct weir_drv_error *err) {
  mock_call_note(d, MOCK_CONN_CREATE);
  weir_drv_conn *c = d->host->alloc(d->host->ctx, sizeof *c, 0);
  if (c == NULL) {
    (void)mock_fail(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                    "no memory for a connection");
    return WEIR_DRV_E_NOMEM;
  }
  c->drv = d;
  c->cfg = cfg->self;
  c->hconn = hc;
  c->event_fd = -1;
  c->op.kind = -1;
  c->usable_said = -1;
  c->id = 1 + atomic_fetch_add_explicit(&d->next_id, 1, memory_order_relaxed);
  c->number =
      1 + atomic_fetch_add_explicit(&c->cfg->conns, 1, memory_order_relaxed);
  (void)atomic_fetch_add_explicit(&c->cfg->refs, 1, memory_order_relaxed);
  mock_gauge_up(&d->conns);
  link_newest(c);
  *out = c;
  return WEIR_DRV_DONE;
}

void mock_session_end(weir_drv_conn *c) {
  if (atomic_exchange_explicit(&c->live, 0, memory_order_acq_rel) == 1) {
    mock_gauge_down(&c->drv->sessions);
  }
}

static void abort_now(weir_drv_conn *c) {
  mock_op_drop(c);
  mock_session_end(c);
  event_close(c);
  c->broken = true;
}

/* In a forked child no lock may be taken and nothing of the host's called. */
static void forget(weir_drv_conn *c) {
  mock_count(c->drv, MOCK_N_FORGETS);
  if (c->event_fd >= 0) {
    (void)close(c->event_fd);
    c->event_fd = -1;
  }
  c->broken = true;
}

void mock_conn_abort(weir_drv_conn *c, int32_t how) {
  if (how == WEIR_DRV_ABORT_FORGET) {
    forget(c);
    return;
  }
  if (!mock_call_enter(c, MOCK_ABORT)) {
    return;
  }
  abort_now(c);
  mock_call_leave(c);
}

/* A connection destroyed while a call runs on it is kept, so that the test that
 * did it finds a count and not a crash. */
void mock_conn_destroy(weir_drv_conn *c) {
  if (c == NULL || !mock_call_enter(c, MOCK_CONN_DESTROY)) {
    return;
  }
  weir_drv_drv *d = c->drv;
  const struct weir_drv_host *host = d->host;
  abort_now(c);
  unlink_conn(c);
  mock_gauge_down(&d->conns);
  mock_config_unref(c->cfg);
  if (c->columns != NULL) {
    host->release(host->ctx, c->columns);
  }
  if (c->scratch != NULL) {
    host->release(host->ctx, c->scratch);
  }
  if (c->outs != NULL) {
    host->release(host->ctx, c->outs);
  }
  host->release(host->ctx, c);
}

void mock_session_reset(weir_drv_conn *c, int32_t mode) {
  c->state_len = 0;
  c->dirty = 0;
  c->usable_said = -1;
  memset(c->prepared, 0, sizeof c->prepared);
  if (mode == WEIR_DRV_RESET_EAGER) {
    c->isolation = WEIR_DRV_ISO_DEFAULT;
  }
  if (mode != WEIR_DRV_RESET_KEEP_TXN) {
    c->txn = WEIR_DRV_TXN_NONE;
  }
  c->resets++;
  mock_count(c->drv, MOCK_N_RESETS);
}

/* ---------------------------------------------------------- what it is like */

static void put_text(struct weir_drv_value *out, const char *p, uint64_t n) {
  out->type = p == NULL ? WEIR_DRV_T_NULL : WEIR_DRV_T_TEXT;
  out->p = p;
  out->n = n;
}

static weir_drv_status get(const weir_drv_conn *c,
                           int32_t prop,
                           struct weir_drv_value *out) {
  static const char version[] = "mock 1.0";
  memset(out, 0, sizeof *out);
  switch (prop) {
  case WEIR_DRV_P_SERVER_NAME:
    put_text(out, c->cfg->server.p, c->cfg->server.n);
    return WEIR_DRV_DONE;
  case WEIR_DRV_P_SERVER_VERSION:
    put_text(out, version, sizeof version - 1);
    return WEIR_DRV_DONE;
  case WEIR_DRV_P_DATABASE:
    put_text(out, c->cfg->database.p, c->cfg->database.n);
    return WEIR_DRV_DONE;
  case WEIR_DRV_P_SESSION_ID:
    out->type = WEIR_DRV_T_INT;
    out->i = (int64_t)c->id;
    return WEIR_DRV_DONE;
  default:
    return WEIR_DRV_E_UNSUPPORTED;
  }
}

weir_drv_status mock_conn_get(weir_drv_conn *c,
                              int32_t prop,
                              struct weir_drv_value *out) {
  if (!mock_call_enter(c, MOCK_GET)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = get(c, prop, out);
  mock_call_leave(c);
  return rc;
}

static int32_t look(const weir_drv_conn *c) {
  const struct mock_rule *rule =
      mock_script_match(c->cfg->script, MOCK_K_HEALTH, c->number);
  bool dead = atomic_load_explicit(&c->killed, memory_order_acquire) == 1;
  if (dead || !c->connected || c->broken) {
    return WEIR_DRV_ALIVE_NO;
  }
  if (rule == NULL) {
    return WEIR_DRV_ALIVE_YES;
  }
  switch (c->cfg->script->actions[rule->first].what) {
  case MOCK_DEAD:
    return WEIR_DRV_ALIVE_NO;
  case MOCK_PENDING:
    return WEIR_DRV_ALIVE_PENDING;
  default:
    return WEIR_DRV_ALIVE_YES;
  }
}

int32_t mock_conn_health(weir_drv_conn *c) {
  int32_t found = WEIR_DRV_ALIVE_NO;
  if (!mock_call_enter(c, MOCK_HEALTH)) {
    return found;
  }
  if (c->broken || c->op.kind >= 0) {
    (void)mock_misuse(c, MOCK_HEALTH);
  } else {
    found = look(c);
  }
  mock_call_leave(c);
  return found;
}

static weir_drv_status idle(weir_drv_conn *c, struct weir_drv_wait *wait) {
  if (c->broken || c->op.kind >= 0 || !c->connected) {
    return mock_misuse(c, MOCK_IDLE);
  }
  if (!c->cfg->idle_watch) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  /* Without a descriptor nobody watches, which is slower but right. */
  if (mock_event_open(c) != 0) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  mock_event_want(c, wait);
  return WEIR_DRV_WAIT;
}

weir_drv_status mock_conn_idle(weir_drv_conn *c, struct weir_drv_wait *wait) {
  if (!mock_call_enter(c, MOCK_IDLE)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = idle(c, wait);
  mock_call_leave(c);
  return rc;
}

weir_drv_status mock_conn_columns(weir_drv_conn *c,
                                  const struct weir_drv_column **arr,
                                  uint32_t *n,
                                  uint32_t *stride) {
  if (!mock_call_enter(c, MOCK_COLUMNS)) {
    return WEIR_DRV_E_INVALID;
  }
  weir_drv_status rc = WEIR_DRV_DONE;
  if (c->op.kind != MOCK_K_EXEC || c->n_columns == 0) {
    rc = mock_misuse(c, MOCK_COLUMNS);
  } else {
    *arr = &c->columns[0].column;
    *n = c->n_columns;
    *stride = (uint32_t)sizeof c->columns[0];
  }
  mock_call_leave(c);
  return rc;
}
