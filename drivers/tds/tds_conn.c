/* SPDX-License-Identifier: MIT */
/* tds_conn.c - life of a connection and the dispatcher of its steps. */
#include "tds_conn.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tds_fail.h"
#include "tds_race.h"
#include "tds_session.h"
#include "tds_txn.h"
#include "tds_value.h"

static const struct {
  const char *phase;
  const char *prefix; /* of error messages */
  tds_step_fn *run;   /* NULL: no operation is running */
} steps[TDS_STEP_COUNT] = {
    [TDS_STEP_NEW] = {"new", "connect", NULL},
    [TDS_STEP_RESOLVE] = {"resolve", "resolve", tds_connect_resolve},
    [TDS_STEP_CONNECT] = {"connect", "connect", tds_connect_tcp},
    [TDS_STEP_RACE] = {"connect", "connect", tds_race_run},
    [TDS_STEP_STRICT] = {"tls", "TLS handshake", tds_connect_strict},
    [TDS_STEP_PRELOGIN] = {"prelogin", "prelogin", tds_connect_prelogin},
    [TDS_STEP_WRAPPED] = {"tls", "TLS handshake", tds_connect_wrapped},
    [TDS_STEP_CREDENTIAL] = {"credential", "login", tds_credential_wait},
    [TDS_STEP_LOGIN] = {"login", "login", tds_credential_send},
    [TDS_STEP_LOGIN_READ] = {"login", "login", tds_login_read},
    [TDS_STEP_TOKEN] = {"credential", "login", tds_credential_token},
    [TDS_STEP_IDLE] = {"idle", "idle", NULL},
    [TDS_STEP_CHECK] = {"check", "request", tds_exec_check},
    [TDS_STEP_SEND] = {"send", "request", tds_request_send},
    [TDS_STEP_READ] = {"execute", "request", tds_reply_read},
    [TDS_STEP_DEAD] = {"dead", "connection", NULL},
};

weir_drv_status tds_conn_go(struct weir_drv_conn *c, enum tds_step step) {
  c->step = step;
  if (step != TDS_STEP_DEAD) {
    c->phase = steps[step].phase;
  }
  return TDS_NEXT;
}

weir_drv_status tds_conn_run(struct weir_drv_conn *c, struct tds_turn *t) {
  weir_drv_status rc = TDS_NEXT;
  if (c->op == TDS_OP_CONNECT && c->cancelled) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_CANCELLED,
                         "cancelled");
  }
  c->spent = 0;
  while (rc == TDS_NEXT) {
    tds_step_fn *run = steps[c->step].run;
    rc = run == NULL ? WEIR_DRV_E_INVALID : run(c, t);
  }
  return rc;
}

weir_drv_status tds_conn_step(struct weir_drv_conn *c,
                              const struct weir_drv_wake *wake,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err) {
  struct tds_turn t = {wake, wait, err};
  if (c->op == TDS_OP_NONE) {
    return WEIR_DRV_E_INVALID;
  }
  return tds_conn_run(c, &t);
}

/* ------------------------------------------------------------------ endings */

weir_drv_status tds_conn_end(struct weir_drv_conn *c,
                             struct tds_turn *t,
                             weir_drv_status rc) {
  /* More than the answer: the next request would take it for its own. */
  if (c->step == TDS_STEP_IDLE && c->op != TDS_OP_CONNECT && c->link.in.n > 0) {
    (void)tds_conn_go(c, TDS_STEP_DEAD);
  }
  tds_stmt_end(c, rc == WEIR_DRV_DONE, c->cancelled);
  c->op = TDS_OP_NONE;
  c->cancelled = false;
  tds_exec_end(c);
  tds_token_trim(&c->decoder);
  tds_link_trim(&c->link);
  tds_buf_fini(&c->login.record); /* left over if the login failed */
  tds_session_state(c, t->wait);
  return rc;
}

weir_drv_status tds_conn_fail(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              int32_t scope,
                              int32_t kind,
                              const char *format,
                              ...) {
  char text[400];
  va_list args;
  int32_t retry =
      scope >= WEIR_DRV_SCOPE_CONFIG ? WEIR_DRV_RETRY_NO : WEIR_DRV_RETRY_OTHER;
  va_start(args, format);
  /* The analyzer of clang 14 does not see what va_start did.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  (void)vsnprintf(text, sizeof text, format, args);
  va_end(args);
  tds_fail_trim(text, sizeof text);
  (void)tds_fail(t->err, scope, kind, retry, "%s: %s (%s,%u)",
                 steps[c->step].prefix, text, c->cfg->host.p, c->cfg->port);
  bool sent = c->request.started && c->link.written > c->request.mark;
  if (t->err != NULL && c->op >= TDS_OP_EXEC && sent) {
    t->err->flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
    t->err->txn = tds_txn_fate(c);
    if (c->op == TDS_OP_TXN) {
      t->err->retry = WEIR_DRV_RETRY_NO;
    }
  }
  (void)tds_conn_go(c, TDS_STEP_DEAD);
  return tds_conn_end(c, t, WEIR_DRV_FAIL);
}

weir_drv_status tds_conn_no_memory(struct weir_drv_conn *c,
                                   struct tds_turn *t) {
  return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                       "out of memory");
}

weir_drv_status tds_conn_broken(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                int64_t why) {
  int32_t scope =
      c->op == TDS_OP_CONNECT ? WEIR_DRV_SCOPE_ENDPOINT : WEIR_DRV_SCOPE_CONN;
  if (why == WEIR_DRV_E_NOMEM) {
    return tds_conn_no_memory(c, t);
  }
  return tds_conn_fail(c, t, scope, WEIR_DRV_K_NETWORK, "%s",
                       why == WEIR_DRV_E_CLOSED
                           ? "the server closed the connection"
                           : "the connection broke");
}

weir_drv_status tds_conn_wait(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              uint32_t events) {
  tds_link_want(&c->link, events, t->wait);
  return WEIR_DRV_WAIT;
}

weir_drv_status tds_conn_again(struct tds_turn *t) {
  t->wait->flags |= WEIR_DRV_WAIT_AGAIN;
  return WEIR_DRV_WAIT;
}

int tds_conn_set(struct tds_buf *b, const char *p, size_t n) {
  b->n = 0;
  return tds_buf_add(b, p, n);
}

/* --------------------------------------------------------------------- life */

weir_drv_status tds_conn_create(struct weir_drv_drv *d,
                                const struct weir_drv_cfg *cfg,
                                weir_drv_hconn *hc,
                                struct weir_drv_conn **out,
                                struct weir_drv_error *err) {
  struct weir_drv_conn *c = d->mem.alloc(d->mem.ctx, sizeof *c, 0);
  if (c == NULL) {
    return tds_fail(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE,
                    WEIR_DRV_RETRY_NO, "out of memory");
  }
  c->drv = d;
  c->cfg = cfg;
  c->hc = hc;
  tds_link_init(&c->link, &d->host, hc, &d->mem);
  tds_token_init(&c->decoder, &d->mem);
  tds_reply_sink(c);
  c->message.mem = &d->mem;
  c->user.mem = &d->mem;
  c->login.record.mem = &d->mem;
  c->login.record.flags = WEIR_DRV_V_SECRET;
  c->login.sts.mem = &d->mem;
  c->login.spn.mem = &d->mem;
  c->routed.mem = &d->mem;
  c->own.mem = &d->mem;
  tds_session_init(c);
  c->server_name.mem = &d->mem;
  tds_exec_init(c);
  tds_stmt_init(c);
  (void)tds_conn_go(c, TDS_STEP_NEW);
  *out = c;
  return WEIR_DRV_DONE;
}

void tds_conn_abort(struct weir_drv_conn *c, int32_t how) {
  /* [F1]: a forked child owns no descriptor of ours and may call nothing. */
  if (how != WEIR_DRV_ABORT_FORGET) {
    tds_race_close(c);
    tds_link_close(&c->link);
  }
  (void)tds_conn_go(c, TDS_STEP_DEAD);
  c->op = TDS_OP_NONE;
}

void tds_conn_destroy(struct weir_drv_conn *c) {
  if (c == NULL) {
    return;
  }
  const struct tds_mem *mem = &c->drv->mem;
  tds_race_close(c);
  tds_link_close(&c->link);
  tds_token_fini(&c->decoder);
  tds_exec_fini(c);
  tds_stmt_fini(c);
  tds_buf_fini(&c->message);
  tds_buf_fini(&c->user);
  tds_buf_fini(&c->login.record);
  tds_buf_fini(&c->login.sts);
  tds_buf_fini(&c->login.spn);
  tds_buf_fini(&c->routed);
  tds_buf_fini(&c->own);
  tds_session_fini(c);
  tds_buf_fini(&c->server_name);
  if (c->columns != NULL) {
    mem->release(mem->ctx, c->columns);
  }
  if (c->app.p != NULL) {
    mem->release(mem->ctx, c->app.p);
  }
  mem->release(mem->ctx, c);
}

/* --------------------------------------------------------------- properties */

static weir_drv_status give_text(struct weir_drv_value *out,
                                 const void *p,
                                 size_t n) {
  out->type = n == 0 ? WEIR_DRV_T_NULL : WEIR_DRV_T_TEXT;
  out->p = p;
  out->n = n;
  return WEIR_DRV_DONE;
}

static weir_drv_status give_int(struct weir_drv_value *out, int64_t i) {
  out->type = WEIR_DRV_T_INT;
  out->i = i;
  return WEIR_DRV_DONE;
}

static weir_drv_status give_scratch(struct weir_drv_conn *c,
                                    struct weir_drv_value *out,
                                    int n) {
  size_t most = sizeof c->scratch - 1;
  return give_text(out, c->scratch,
                   n < 0              ? 0
                   : (size_t)n > most ? most
                                      : (size_t)n);
}

static weir_drv_status give_version(struct weir_drv_conn *c,
                                    struct weir_drv_value *out) {
  const uint8_t *v = c->server_version;
  if (!c->logged_in) {
    return give_text(out, NULL, 0);
  }
  return give_scratch(c, out,
                      snprintf(c->scratch, sizeof c->scratch, "%u.%u.%u", v[0],
                               v[1], (unsigned)v[2] << 8 | v[3]));
}

/* The address in use as "address,port", the way Server= writes it. */
static weir_drv_status give_peer(struct weir_drv_conn *c,
                                 struct weir_drv_value *out) {
  const struct weir_drv_addr *a = &c->addresses[c->address];
  char text[INET6_ADDRSTRLEN] = "";
  struct sockaddr_in in4;
  struct sockaddr_in6 in6;
  if (c->address >= c->n_addresses) {
    return give_text(out, NULL, 0);
  }
  if (a->family == AF_INET) {
    memcpy(&in4, a->bytes, sizeof in4);
    (void)inet_ntop(AF_INET, &in4.sin_addr, text, sizeof text);
  } else if (a->family == AF_INET6) {
    memcpy(&in6, a->bytes, sizeof in6);
    (void)inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof text);
  }
  return give_scratch(
      c, out,
      snprintf(c->scratch, sizeof c->scratch, "%s,%u", text, c->cfg->port));
}

static weir_drv_status give_tls(struct weir_drv_conn *c,
                                struct weir_drv_value *out) {
  if (!c->link.tls_in) {
    return give_text(out, NULL, 0);
  }
  int64_t n = c->link.tls_api->info(c->link.tls, c->scratch, sizeof c->scratch);
  return give_scratch(c, out, (int)n);
}

static weir_drv_status give_server(struct weir_drv_conn *c,
                                   struct weir_drv_value *out) {
  return c->server_name.n > 0
             ? give_text(out, c->server_name.p, c->server_name.n)
             : give_text(out, c->cfg->host.p, c->cfg->host.n);
}

weir_drv_status tds_conn_get(struct weir_drv_conn *c,
                             int32_t prop,
                             struct weir_drv_value *out) {
  memset(out, 0, sizeof *out);
  switch (prop) {
  case WEIR_DRV_P_SERVER_NAME:
    return give_server(c, out);
  case WEIR_DRV_P_SERVER_VERSION:
    return give_version(c, out);
  case WEIR_DRV_P_SESSION_ID:
    return give_int(out, c->link.reader.spid);
  case WEIR_DRV_P_DATABASE:
    return give_text(out, c->now.database.p, c->now.database.n);
  case WEIR_DRV_P_TLS:
    return give_tls(c, out);
  case WEIR_DRV_P_PEER:
    return give_peer(c, out);
  case WEIR_DRV_P_REDIRECTS:
    return give_int(out, 0);
  case WEIR_DRV_P_PACKET_SIZE:
    return give_int(out, c->link.packet_size);
  case WEIR_DRV_P_PHASE:
    return give_text(out, c->phase, strlen(c->phase));
  default:
    return WEIR_DRV_E_UNSUPPORTED;
  }
}

int32_t tds_conn_health(struct weir_drv_conn *c) {
  return c->step == TDS_STEP_IDLE ? tds_link_health(&c->link)
                                  : WEIR_DRV_ALIVE_NO;
}

weir_drv_status tds_conn_idle(struct weir_drv_conn *c,
                              struct weir_drv_wait *wait) {
  if (c->step != TDS_STEP_IDLE) {
    return WEIR_DRV_E_INVALID;
  }
  tds_link_want(&c->link, WEIR_DRV_EV_READ, wait);
  return WEIR_DRV_WAIT;
}

/* ------------------------------------------------------------------ columns */

void tds_conn_fill_column(struct weir_drv_column *to,
                          const struct tds_type *type,
                          struct tds_span name) {
  const char *native = tds_value_type_name(type);
  memset(to, 0, sizeof *to);
  to->struct_size = sizeof *to;
  to->type = type->rule->cell;
  to->name.p = (const char *)name.p;
  to->name.n = name.n;
  to->native_type.p = native;
  to->native_type.n = strlen(native);
  to->native_code = type->rule->code;
  to->precision = type->precision;
  to->scale = type->scale;
  to->max_bytes = type->max == UINT32_MAX ? 0 : type->max;
}

static void fill_column(struct weir_drv_conn *c,
                        struct weir_drv_column *to,
                        const struct tds_column *from) {
  struct tds_span name = {c->decoder.names.p + from->name_at, from->name_n};
  tds_conn_fill_column(to, &from->type, name);
  to->nullable = (from->flags & 0x8000) != 0 ? -1 : (from->flags & 1) != 0;
}

int tds_conn_room_for_columns(struct weir_drv_conn *c, uint32_t n) {
  const struct tds_mem *mem = &c->drv->mem;
  if (n > c->columns_cap) {
    void *p = mem->alloc(mem->ctx, n * sizeof *c->columns, 0);
    if (p == NULL) {
      return TDS_E_NOMEM;
    }
    if (c->columns != NULL) {
      mem->release(mem->ctx, c->columns);
    }
    c->columns = p;
    c->columns_cap = n;
  }
  return TDS_OK;
}

int tds_conn_keep_columns(struct weir_drv_conn *c) {
  uint32_t count = c->decoder.n_columns;
  if (tds_conn_room_for_columns(c, count) != TDS_OK) {
    return TDS_E_NOMEM;
  }
  c->n_columns = count;
  for (uint32_t i = 0; i < count; i++) {
    fill_column(c, &c->columns[i], &c->decoder.columns[i]);
  }
  return TDS_OK;
}

weir_drv_status tds_conn_columns(struct weir_drv_conn *c,
                                 const struct weir_drv_column **arr,
                                 uint32_t *n,
                                 uint32_t *stride) {
  *arr = c->columns;
  *n = c->n_columns;
  *stride = sizeof *c->columns;
  return WEIR_DRV_DONE;
}
