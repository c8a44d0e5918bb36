/* SPDX-License-Identifier: MIT */
/* tds_reply.c - reads an answer: tokens become results, notices, state. */
#include <stdio.h>
#include <string.h>

#include "tds_conn.h"
#include "tds_fail.h"
#include "tds_prelogin.h"

/* Events of next_event besides the decoder's. */
#define EV_END   50 /* the message has ended */
#define EV_WAIT  51 /* the stream has no more bytes */
#define EV_AGAIN 52 /* enough for one step */
#define EV_LOST  53 /* the stream ended: *out_lost says how */

/* --------------------------------------------------------------------- sink */

static bool have_batch(struct weir_drv_conn *c) {
  const struct weir_drv_host *host = &c->drv->host;
  if (c->reply.batch == NULL) {
    c->reply.batch = host->batch(host->ctx, c->hc);
  }
  return c->reply.batch != NULL;
}

static void *sink_space(void *ctx, size_t n) {
  struct weir_drv_conn *c = ctx;
  if (!have_batch(c)) {
    return NULL;
  }
  c->reply.bytes += n;
  return c->drv->host.batch_space(c->reply.batch, n);
}

static void *sink_grow(void *ctx, void *block, size_t n, size_t bigger) {
  struct weir_drv_conn *c = ctx;
  c->reply.bytes += bigger - n;
  return c->drv->host.batch_grow(c->reply.batch, block, n, bigger);
}

static int sink_cell(void *ctx, const void *p, size_t n) {
  struct weir_drv_conn *c = ctx;
  if (!have_batch(c)) {
    return -1;
  }
  weir_drv_status rc =
      c->drv->host.batch_cell(c->reply.batch, p, p == NULL ? UINT64_MAX : n);
  return rc < 0 ? -1 : 0;
}

void tds_reply_sink(struct weir_drv_conn *c) {
  c->sink.ctx = c;
  c->sink.space = sink_space;
  c->sink.grow = sink_grow;
  c->sink.cell = sink_cell;
}

void tds_reply_begin(struct weir_drv_conn *c, const struct tds_sink *sink) {
  struct tds_reply *r = &c->reply;
  r->body.n = 0;
  r->held = 0;
  r->final = false;
  r->attention = false;
  r->acknowledged = false;
  r->drain = false;
  r->error_seen = false;
  r->rows = 0;
  r->bytes = 0;
  r->batch = NULL;
  r->failure.set = false;
  tds_token_begin(&c->decoder, sink);
}

/* ----------------------------------------------------------------- messages */

static struct weir_drv_text text(const char *p, size_t n) {
  struct weir_drv_text t = {n == 0 ? NULL : p, n};
  return t;
}

static void tell(struct weir_drv_conn *c, const struct tds_message *m) {
  const struct weir_drv_host *host = &c->drv->host;
  struct weir_drv_diag d;
  memset(&d, 0, sizeof d);
  d.struct_size = sizeof d;
  d.native = m->number;
  d.severity = m->severity;
  d.line = m->line;
  d.message = text(m->text, m->text_n);
  d.server = text(m->server, m->server_n);
  d.procedure = text(m->procedure, m->procedure_n);
  host->diag(host->ctx, c->hc, &d);
}

/* Keeps an error if it is the first or costs more than the one kept. */
static void keep(struct weir_drv_conn *c,
                 int32_t number,
                 uint8_t severity,
                 const char *p,
                 size_t n) {
  struct tds_failure *f = &c->reply.failure;
  struct tds_error_rule rule;
  tds_errors_find(number, severity, c->op == TDS_OP_CONNECT, &rule);
  if (f->set && rule.scope <= f->rule.scope) {
    return;
  }
  f->set = true;
  f->number = number;
  f->severity = severity;
  f->rule = rule;
  f->text_n = n;
  memcpy(f->text, p, n < sizeof f->text ? n : sizeof f->text);
}

static int on_message(struct weir_drv_conn *c, int event) {
  const struct tds_message *m = &c->decoder.message;
  if (c->op == TDS_OP_CONNECT && m->server_n > 0) {
    (void)tds_conn_set(&c->server_name, m->server, m->server_n);
  }
  if (!c->reply.drain || m->severity >= TDS_SEVERITY_FATAL) {
    tell(c, m);
  }
  if (event == TDS_EV_ERROR) {
    c->reply.error_seen = true;
    keep(c, m->number, m->severity, m->text, m->text_n);
  }
  return TDS_OK;
}

/* -------------------------------------------------------------------- state */

static int bad(struct weir_drv_conn *c, const char *why) {
  (void)snprintf(c->decoder.why, sizeof c->decoder.why, "%s", why);
  return TDS_E_PROTO;
}

static int set_packet_size(struct weir_drv_conn *c) {
  const struct tds_env *e = &c->decoder.env;
  uint32_t size = 0;
  for (size_t i = 0; i < e->text_n; i++) {
    if (e->text[i] < '0' || e->text[i] > '9' || size > TDS_PACKET_MAX) {
      return bad(c, "the server set an impossible packet size");
    }
    size = size * 10 + (uint32_t)(e->text[i] - '0');
  }
  if (size < TDS_PACKET_MIN || size > TDS_PACKET_MAX) {
    return bad(c, "the server set an impossible packet size");
  }
  c->agreed_size = size;
  return TDS_OK;
}

static int set_routed(struct weir_drv_conn *c) {
  const struct tds_env *e = &c->decoder.env;
  char port[16];
  if (c->op != TDS_OP_CONNECT) {
    return bad(c, "the server routes a session that is logged in");
  }
  int n = snprintf(port, sizeof port, ",%u", tds_u16(e->bytes.p + 3));
  int rc = tds_conn_set(&c->routed, e->text, e->text_n);
  return rc == TDS_OK ? tds_buf_add(&c->routed, port, (size_t)n) : rc;
}

/* The reset has happened: everything the session carried is gone, and the
 * database is the one of the login (the server does not say so). */
static int on_reset(struct weir_drv_conn *c) {
  if (!c->reset_sent) {
    return bad(c, "the server confirms a reset that was not asked for");
  }
  c->reset_done = true;
  if (c->request.reset == TDS_ST_RESET) {
    c->transaction = 0;
  }
  c->dirty = 0;
  return tds_conn_set(&c->database, (const char *)c->baseline.p, c->baseline.n);
}

static int on_env(struct weir_drv_conn *c) {
  const struct tds_env *e = &c->decoder.env;
  switch (e->type) {
  case TDS_ENV_DATABASE:
    return tds_conn_set(&c->database, e->text, e->text_n);
  case TDS_ENV_PACKET:
    return c->op == TDS_OP_CONNECT ? set_packet_size(c) : TDS_OK;
  case TDS_ENV_BEGIN:
  case TDS_ENV_ENLIST:
    if (e->bytes.n != 8) {
      return bad(c, "a transaction descriptor that is not 8 bytes");
    }
    c->transaction = tds_u64(e->bytes.p);
    return TDS_OK;
  case TDS_ENV_COMMIT:
  case TDS_ENV_ROLLBACK:
  case TDS_ENV_DEFECT:
  case TDS_ENV_ENDED:
    c->transaction = 0;
    return TDS_OK;
  case TDS_ENV_RESET:
    return on_reset(c);
  case TDS_ENV_ROUTING:
  case TDS_ENV_ROUTING2:
    return set_routed(c);
  default:
    return TDS_OK;
  }
}

static int on_ack(struct weir_drv_conn *c) {
  uint32_t v = c->decoder.ack.version;
  bool strict = c->cfg->encrypt == TDS_ENCRYPT_STRICT;
  bool known = v == TDS_V74 || v == TDS_V73B || v == TDS_V73A || v == TDS_V72 ||
               (strict && v == TDS_V80);
  if (c->op != TDS_OP_CONNECT || c->logged_in) {
    return bad(c, "a LOGINACK that nobody waits for");
  }
  if (!known) {
    (void)snprintf(c->decoder.why, sizeof c->decoder.why,
                   "the server speaks TDS version 0x%08X, which is not "
                   "supported",
                   v);
    return TDS_E_UNSUPPORTED;
  }
  c->logged_in = true;
  c->version = v;
  memcpy(c->server_version, c->decoder.ack.server, 4);
  return TDS_OK;
}

static int on_feature(struct weir_drv_conn *c) {
  const struct tds_feature *f = &c->decoder.feature;
  if (c->op != TDS_OP_CONNECT || f->id != TDS_FEATURE_UTF8) {
    return bad(c, "the server acknowledges a feature that was not asked for");
  }
  return f->data.n == 1 ? TDS_OK
                        : bad(c, "the UTF8_SUPPORT answer is not one byte");
}

static int on_done(struct weir_drv_conn *c) {
  static const char fatal[] = "the server ended the request with an error and "
                              "wants its results discarded";
  static const char unsaid[] = "the server reported an error without saying "
                               "which";
  const struct tds_done *d = &c->decoder.done;
  struct tds_reply *r = &c->reply;
  if ((d->status & TDS_DONE_ATTN) != 0) {
    if (!r->attention) {
      return bad(c, "an attention is acknowledged that was not sent");
    }
    r->acknowledged = true;
    r->final = true;
  }
  if ((d->status & TDS_DONE_SRVERR) != 0) {
    keep(c, 0, TDS_SEVERITY_FATAL, fatal, sizeof fatal - 1);
  } else if ((d->status & TDS_DONE_ERROR) != 0 && !r->error_seen && !r->drain) {
    keep(c, 0, 16, unsaid, sizeof unsaid - 1);
  }
  r->error_seen = false;
  r->final = r->final || (d->status & TDS_DONE_MORE) == 0;
  return TDS_OK;
}

/* ------------------------------------------------------------------- events */

/* The next event of the decoder, or EV_*, or a negative verdict. */
static int next_event(struct weir_drv_conn *c, int64_t *out_lost) {
  struct tds_reply *r = &c->reply;
  for (;;) {
    int ev = tds_token_next(&c->decoder, &r->body);
    if (ev != TDS_MORE) {
      return ev;
    }
    int rc = tds_packet_next(&c->link.reader, &c->link.in, &r->body);
    if (rc == TDS_PACKET_END) {
      rc = tds_token_end(&c->decoder);
      return rc == TDS_OK ? EV_END : rc;
    }
    if (rc < 0) {
      return bad(c, c->link.reader.why);
    }
    if (rc == TDS_PACKET_DATA) {
      continue;
    }
    if (c->spent > TDS_STEP_BYTES) {
      return EV_AGAIN;
    }
    int64_t n = tds_link_fill(&c->link);
    if (n == WEIR_DRV_E_AGAIN) {
      return EV_WAIT;
    }
    if (n < 0) {
      *out_lost = n;
      return EV_LOST;
    }
    c->spent += (uint64_t)n;
  }
}

/* State and messages; events that are results are left to the caller. */
static int apply(struct weir_drv_conn *c, int ev) {
  switch (ev) {
  case TDS_EV_ERROR:
  case TDS_EV_INFO:
    return on_message(c, ev);
  case TDS_EV_ENV:
    return on_env(c);
  case TDS_EV_LOGIN:
    return on_ack(c);
  case TDS_EV_FEATURE:
    return on_feature(c);
  case TDS_EV_DONE:
    return on_done(c);
  default:
    return TDS_OK;
  }
}

static weir_drv_status hand_over(struct weir_drv_conn *c) {
  c->reply.rows = 0;
  c->reply.bytes = 0;
  c->reply.batch = NULL;
  return WEIR_DRV_ROWS;
}

/* ----------------------------------------------------------------- failures */

/* The server's error becomes ours. */
static weir_drv_status fill_failure(struct weir_drv_conn *c,
                                    struct tds_turn *t,
                                    const char *prefix) {
  const struct tds_failure *f = &c->reply.failure;
  size_t n = f->text_n < sizeof f->text ? f->text_n : sizeof f->text;
  int32_t scope = f->rule.scope;
  bool gone = c->transaction == 0 && (f->rule.flags & TDS_EF_DOOMED) == 0;
  if (scope == WEIR_DRV_SCOPE_TXN && gone) {
    scope = WEIR_DRV_SCOPE_STATEMENT;
  }
  (void)tds_fail(t->err, scope, f->rule.kind, f->rule.retry, "%s%.*s", prefix,
                 (int)n, f->text);
  if (t->err == NULL) {
    return WEIR_DRV_FAIL;
  }
  if (n < f->text_n) {
    t->err->message_len += (uint32_t)(f->text_n - n);
    t->err->flags |= WEIR_DRV_EF_TRUNCATED;
  }
  t->err->native = f->number;
  t->err->native_severity = f->severity;
  t->err->retry_after_ms = f->rule.retry_after_s * UINT32_C(1000);
  t->err->txn = (f->rule.flags & TDS_EF_DOOMED) != 0 ? WEIR_DRV_TXN_DOOMED
                : c->transaction != 0                ? WEIR_DRV_TXN_OPEN
                                                     : WEIR_DRV_TXN_NONE;
  if (scope >= WEIR_DRV_SCOPE_CONN && c->op != TDS_OP_CONNECT &&
      (f->rule.flags & TDS_EF_NOT_STARTED) == 0) {
    t->err->flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
  }
  return WEIR_DRV_FAIL;
}

static weir_drv_status end_failed(struct weir_drv_conn *c, struct tds_turn *t) {
  (void)fill_failure(c, t, "");
  bool dead = c->reply.failure.rule.scope >= WEIR_DRV_SCOPE_CONN;
  bool doomed = (c->reply.failure.rule.flags & TDS_EF_DOOMED) != 0;
  (void)tds_conn_go(c, dead ? TDS_STEP_DEAD : TDS_STEP_IDLE);
  (void)tds_conn_end(c, t, WEIR_DRV_FAIL);
  if (doomed && c->transaction != 0) {
    t->wait->txn = WEIR_DRV_TXN_DOOMED;
  }
  return WEIR_DRV_FAIL;
}

static weir_drv_status malformed(struct weir_drv_conn *c,
                                 struct tds_turn *t,
                                 int verdict) {
  if (verdict == TDS_E_NOMEM) {
    return tds_conn_no_memory(c, t);
  }
  int32_t scope =
      c->op == TDS_OP_CONNECT ? WEIR_DRV_SCOPE_ENDPOINT : WEIR_DRV_SCOPE_CONN;
  return tds_conn_fail(c, t, scope,
                       verdict == TDS_E_UNSUPPORTED ? WEIR_DRV_K_UNSUPPORTED
                                                    : WEIR_DRV_K_PROTOCOL,
                       "%s", c->decoder.why);
}

/* ------------------------------------------------------------------ request */

static weir_drv_status end_cancelled(struct weir_drv_conn *c,
                                     struct tds_turn *t) {
  /* A reset bit went out with the first packet of a request that was then given
   * up: whether it was acted on cannot be known. */
  if (c->request.given_up && c->reset_sent && !c->reset_done) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_CANCELLED,
                         "cancelled while a reset was being sent");
  }
  (void)tds_fail(t->err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_CANCELLED,
                 WEIR_DRV_RETRY_SAME, "cancelled");
  if (t->err != NULL) {
    t->err->flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
    t->err->txn = c->transaction != 0 ? WEIR_DRV_TXN_OPEN : WEIR_DRV_TXN_NONE;
  }
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  return tds_conn_end(c, t, WEIR_DRV_FAIL);
}

/* The answer is complete. */
static weir_drv_status end_request(struct weir_drv_conn *c,
                                   struct tds_turn *t) {
  const struct tds_failure *f = &c->reply.failure;
  if (c->op == TDS_OP_EXEC) {
    c->dirty = WEIR_DRV_DIRTY_UNKNOWN;
  }
  if (f->set && f->rule.scope >= WEIR_DRV_SCOPE_CONN) {
    return end_failed(c, t);
  }
  if (c->reply.drain) {
    if (c->reset_sent && !c->reset_done && !c->request.given_up) {
      return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_PROTOCOL,
                           "the server did not confirm the reset");
    }
    return end_cancelled(c, t);
  }
  if (c->reset_sent && !c->reset_done) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_PROTOCOL,
                         "the server did not confirm the reset");
  }
  if (f->set) {
    return end_failed(c, t);
  }
  if (c->op == TDS_OP_RESET) {
    c->isolation = false;
  }
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  return tds_conn_end(c, t, WEIR_DRV_DONE);
}

/* A message has ended.  Returns TDS_NEXT if another one must come: the
 * acknowledgement of an attention often is one of its own. */
static weir_drv_status end_message(struct weir_drv_conn *c,
                                   struct tds_turn *t) {
  struct tds_reply *r = &c->reply;
  if (!r->final) {
    if (r->failure.set && r->failure.rule.scope >= WEIR_DRV_SCOPE_CONN) {
      return end_failed(c, t); /* its last words tell more */
    }
    (void)bad(c, "the reply ends without a final DONE");
    return malformed(c, t, TDS_E_PROTO);
  }
  if (r->attention && !r->acknowledged) {
    r->final = false;
    tds_token_begin(&c->decoder, NULL);
    return TDS_NEXT;
  }
  return end_request(c, t);
}

static weir_drv_status lost(struct weir_drv_conn *c,
                            struct tds_turn *t,
                            int64_t why) {
  const struct tds_failure *f = &c->reply.failure;
  if (f->set && f->rule.scope >= WEIR_DRV_SCOPE_CONN) {
    return end_failed(c, t);
  }
  return tds_conn_broken(c, t, why);
}

/* A result event.  Returns TDS_NEXT, or what exec gives to the engine. */
static weir_drv_status show(struct weir_drv_conn *c,
                            struct tds_turn *t,
                            int ev) {
  struct tds_reply *r = &c->reply;
  if (c->op != TDS_OP_EXEC || r->drain) {
    return TDS_NEXT;
  }
  if (ev == TDS_EV_ROW && c->decoder.sink != NULL) {
    r->rows++;
    bool full = r->rows >= c->batch_rows || r->bytes >= c->batch_bytes;
    return full ? hand_over(c) : TDS_NEXT;
  }
  if (ev == TDS_EV_COLUMNS && !c->no_rows) {
    return tds_conn_keep_columns(c) == TDS_OK ? WEIR_DRV_META
                                              : tds_conn_no_memory(c, t);
  }
  const struct tds_done *d = &c->decoder.done;
  if (ev == TDS_EV_DONE && (d->status & TDS_DONE_COUNT) != 0 &&
      (d->status & TDS_DONE_ERROR) == 0) {
    t->wait->row_count = d->rows;
    return WEIR_DRV_COUNT;
  }
  return TDS_NEXT;
}

/* Rows that are whole are handed over before their result ends. */
static bool must_hand_over(const struct weir_drv_conn *c, int ev) {
  bool ends = ev == TDS_EV_COLUMNS || ev == TDS_EV_DONE;
  return ends && c->reply.rows > 0 && !c->reply.drain;
}

static bool between_tokens(const struct weir_drv_conn *c) {
  const struct tds_decoder *d = &c->decoder;
  return d->state == 0 && d->acc.n == 0 && d->skip == 0;
}

static weir_drv_status pause(struct weir_drv_conn *c,
                             struct tds_turn *t,
                             int ev) {
  if (c->reply.rows > 0 && !c->reply.drain && between_tokens(c)) {
    return hand_over(c);
  }
  return ev == EV_AGAIN ? tds_conn_again(t)
                        : tds_conn_wait(c, t, WEIR_DRV_EV_READ);
}

/* One event.  Returns TDS_NEXT to go on, or the step's result. */
static weir_drv_status handle(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              int ev,
                              int64_t why) {
  if (ev < 0) {
    return malformed(c, t, ev);
  }
  if (must_hand_over(c, ev)) {
    c->reply.held = ev;
    return hand_over(c);
  }
  switch (ev) {
  case EV_END:
    return end_message(c, t);
  case EV_WAIT:
  case EV_AGAIN:
    return pause(c, t, ev);
  case EV_LOST:
    return lost(c, t, why);
  default:
    break;
  }
  int rc = apply(c, ev);
  return rc < 0 ? malformed(c, t, rc) : show(c, t, ev);
}

weir_drv_status tds_reply_read(struct weir_drv_conn *c, struct tds_turn *t) {
  weir_drv_status rc = tds_link_flush(&c->link);
  (void)rc; /* a broken stream shows itself when it is read */
  do {
    int64_t why = 0;
    int ev = c->reply.held;
    c->reply.held = 0;
    if (ev == 0) {
      ev = next_event(c, &why);
    }
    rc = handle(c, t, ev, why);
  } while (rc == TDS_NEXT);
  return rc;
}

/* -------------------------------------------------------------------- login */

/* "login as 'sa': the server's words", with the database if one was named. */
static weir_drv_status fail_login(struct weir_drv_conn *c, struct tds_turn *t) {
  /* Names have at most 128 UTF-16 units, so these bounds cut nothing. */
  char prefix[1400];
  char user[513] = "";
  bool named = c->cfg->database.n > 0;
  memcpy(user, c->user.p, c->user.n < 512 ? c->user.n : 512);
  (void)snprintf(prefix, sizeof prefix,
                 "login: as '%.512s' to %.255s,%u%s%.512s%s: ", user,
                 c->cfg->host.p, c->cfg->port, named ? ", database '" : "",
                 c->cfg->database.p, named ? "'" : "");
  (void)fill_failure(c, t, prefix);
  if (t->err != NULL && t->err->scope < WEIR_DRV_SCOPE_CONN) {
    t->err->scope = WEIR_DRV_SCOPE_CONN;
  }
  (void)tds_conn_go(c, TDS_STEP_DEAD);
  return tds_conn_end(c, t, WEIR_DRV_FAIL);
}

static weir_drv_status finish_login(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  const struct tds_failure *f = &c->reply.failure;
  bool fatal = f->set && f->severity >= TDS_SEVERITY_FATAL;
  if (f->set && (fatal || !c->logged_in)) {
    return fail_login(c, t);
  }
  if (!c->reply.final) {
    (void)bad(c, "the reply ends without a final DONE");
    return malformed(c, t, TDS_E_PROTO);
  }
  if (c->routed.n > 0) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_UNSUPPORTED,
                         "the server routes to %.*s; routing is not supported "
                         "yet",
                         (int)c->routed.n, (const char *)c->routed.p);
  }
  if (!c->logged_in) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL,
                         "the server neither accepts nor refuses the login");
  }
  if (tds_conn_set(&c->baseline, (const char *)c->database.p, c->database.n) !=
      TDS_OK) {
    return tds_conn_no_memory(c, t);
  }
  c->link.packet_size = c->agreed_size;
  c->link.reader.limit = c->agreed_size;
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  return tds_conn_end(c, t, WEIR_DRV_DONE);
}

weir_drv_status tds_reply_login(struct weir_drv_conn *c, struct tds_turn *t) {
  /* What TLS answered by itself; a broken stream shows itself when read. */
  (void)tds_link_flush(&c->link);
  for (;;) {
    int64_t why = 0;
    int ev = next_event(c, &why);
    if (ev < 0) {
      return malformed(c, t, ev);
    }
    switch (ev) {
    case EV_END:
      return finish_login(c, t);
    case EV_WAIT:
      return tds_conn_wait(c, t, WEIR_DRV_EV_READ);
    case EV_AGAIN:
      return tds_conn_again(t);
    case EV_LOST:
      return c->reply.failure.set ? fail_login(c, t)
                                  : tds_conn_broken(c, t, why);
    default:
      break;
    }
    int rc = apply(c, ev);
    if (rc < 0) {
      return malformed(c, t, rc);
    }
  }
}
