/* SPDX-License-Identifier: MIT */
/* tds_reply.c - reads an answer: tokens become results, notices, state. */
#include "tds_reply.h"

#include <string.h>

#include "tds_fail.h"
#include "tds_reset.h"
#include "tds_session.h"
#include "tds_txn.h"

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
  r->told = 0;
  r->rows = 0;
  r->bytes = 0;
  r->batch = NULL;
  r->failure.set = false;
  tds_token_begin(&c->decoder, sink);
  c->decoder.value_sink = c->outputs.wanted ? &c->outputs.sink : NULL;
}

/* ------------------------------------------------------------------- events */

int tds_reply_event(struct weir_drv_conn *c, int64_t *out_lost) {
  struct tds_reply *r = &c->reply;
  for (;;) {
    int ev = tds_token_next(&c->decoder, &r->body);
    if (ev != TDS_MORE) {
      return ev;
    }
    int rc = tds_packet_next(&c->link.reader, &c->link.in, &r->body);
    if (rc == TDS_PACKET_END) {
      rc = tds_token_end(&c->decoder);
      return rc == TDS_OK ? TDS_EV_END : rc;
    }
    if (rc < 0) {
      /* It has a byte of its own, of the stream. */
      memcpy(c->decoder.why, c->link.reader.why, sizeof c->link.reader.why);
      return rc;
    }
    if (rc == TDS_PACKET_DATA) {
      continue;
    }
    if (c->spent > TDS_STEP_BYTES) {
      return TDS_EV_AGAIN;
    }
    int64_t n = tds_link_fill(&c->link);
    if (n == WEIR_DRV_E_AGAIN) {
      return TDS_EV_WAIT;
    }
    if (n < 0) {
      *out_lost = n;
      return TDS_EV_LOST;
    }
    c->spent += (uint64_t)n;
  }
}

int tds_reply_apply(struct weir_drv_conn *c, int ev) {
  switch (ev) {
  case TDS_EV_ERROR:
  case TDS_EV_INFO:
    return tds_message_take(c, ev);
  case TDS_EV_ENV:
    return tds_session_env(c);
  case TDS_EV_LOGIN:
    return tds_session_ack(c);
  case TDS_EV_FEATURE:
    return tds_session_feature(c);
  case TDS_EV_FEDAUTH:
    return tds_session_fedauth(c);
  case TDS_EV_DONE:
    return tds_message_done(c);
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

/* Whether a transaction must be rolled back is what its state says, not what the
 * error's number suggests: the server may have done so already, and any error
 * may have made it do so (XACT_ABORT). */
static int32_t txn_scope(const struct weir_drv_conn *c, int32_t scope) {
  if (scope > WEIR_DRV_SCOPE_TXN) {
    return scope;
  }
  return tds_txn_state(c) == WEIR_DRV_TXN_DOOMED ? WEIR_DRV_SCOPE_TXN
                                                 : WEIR_DRV_SCOPE_STATEMENT;
}

weir_drv_status tds_reply_failure(struct weir_drv_conn *c,
                                  struct tds_turn *t,
                                  const char *prefix) {
  const struct tds_failure *f = &c->reply.failure;
  size_t n = f->text_n < sizeof f->text ? f->text_n : sizeof f->text;
  int32_t scope = txn_scope(c, f->rule.scope);
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
  tds_fail_detail(t->err, f->state, f->line);
  t->err->retry_after_ms = f->rule.retry_after_s * UINT32_C(1000);
  t->err->txn = tds_txn_state(c);
  if (scope >= WEIR_DRV_SCOPE_CONN && c->op != TDS_OP_CONNECT &&
      (f->rule.flags & TDS_EF_NOT_STARTED) == 0) {
    t->err->flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
    t->err->txn = tds_txn_fate(c);
    t->err->retry = c->op == TDS_OP_TXN ? WEIR_DRV_RETRY_NO : f->rule.retry;
  }
  return WEIR_DRV_FAIL;
}

weir_drv_status tds_reply_end_failed(struct weir_drv_conn *c,
                                     struct tds_turn *t) {
  (void)tds_reply_failure(c, t, "");
  bool dead = c->reply.failure.rule.scope >= WEIR_DRV_SCOPE_CONN;
  (void)tds_conn_go(c, dead ? TDS_STEP_DEAD : TDS_STEP_IDLE);
  return tds_conn_end(c, t, WEIR_DRV_FAIL);
}

weir_drv_status tds_reply_malformed(struct weir_drv_conn *c,
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

weir_drv_status tds_reply_end_cancelled(struct weir_drv_conn *c,
                                        struct tds_turn *t) {
  /* A reset bit went out with the first packet of a request that was then given
   * up: whether it was acted on cannot be known. */
  if (c->request.given_up && c->reset_sent && !c->reset_done) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_CANCELLED,
                         "cancelled while a reset was being sent");
  }
  (void)tds_fail(t->err, txn_scope(c, WEIR_DRV_SCOPE_STATEMENT),
                 WEIR_DRV_K_CANCELLED, WEIR_DRV_RETRY_SAME, "cancelled");
  if (t->err != NULL) {
    /* A request that was given up is never looked at (2.2.1.7). */
    t->err->flags |=
        c->request.given_up ? 0 : (uint32_t)WEIR_DRV_EF_MAYBE_EXECUTED;
    t->err->txn = tds_txn_state(c);
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
    return tds_reply_end_failed(c, t);
  }
  if (c->reset_sent && !c->reset_done && !c->request.given_up) {
    return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_PROTOCOL,
                         "the server did not confirm the reset");
  }
  if (c->op == TDS_OP_TXN) {
    return tds_txn_end(c, t);
  }
  if (c->op == TDS_OP_RESET) {
    return tds_reset_end(c, t);
  }
  if (c->reply.drain) {
    return tds_reply_end_cancelled(c, t);
  }
  if (tds_stmt_again(c)) {
    return c->missed ? tds_request_cancelled(c, t) : tds_exec_again(c, t);
  }
  if (f->set) {
    return tds_reply_end_failed(c, t);
  }
  weir_drv_status rc = tds_out_give(c, t);
  if (rc != TDS_NEXT) {
    c->reply.held = rc < 0 ? 0 : TDS_EV_END; /* the answer ends once more */
    return rc == WEIR_DRV_ROWS ? hand_over(c) : rc;
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
      return tds_reply_end_failed(c, t); /* its last words tell more */
    }
    (void)tds_session_bad(c, "the reply ends without a final DONE");
    return tds_reply_malformed(c, t, TDS_E_PROTO);
  }
  if (r->attention && !r->acknowledged) {
    r->final = false;
    tds_token_begin(&c->decoder, NULL);
    return TDS_NEXT;
  }
  return end_request(c, t);
}

/* The server hung up in the middle.  What it said before tells more than that it
 * did: some errors below class 20 end the session, too. */
static weir_drv_status lost(struct weir_drv_conn *c,
                            struct tds_turn *t,
                            int64_t why) {
  struct tds_failure *f = &c->reply.failure;
  if (!f->set) {
    return tds_conn_broken(c, t, why);
  }
  tds_message_fatal(f);
  return tds_reply_end_failed(c, t);
}

/* A result event.  Returns TDS_NEXT, or what exec gives to the engine. */
static weir_drv_status show(struct weir_drv_conn *c,
                            struct tds_turn *t,
                            int ev) {
  struct tds_reply *r = &c->reply;
  if (c->op != TDS_OP_EXEC || r->drain) {
    return TDS_NEXT;
  }
  if (ev == TDS_EV_VALUE && c->decoder.value_sink != NULL) {
    tds_out_take(c);
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
  return ev == TDS_EV_AGAIN ? tds_conn_again(t)
                            : tds_conn_wait(c, t, WEIR_DRV_EV_READ);
}

/* One event.  Returns TDS_NEXT to go on, or the step's result. */
static weir_drv_status handle(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              int ev,
                              int64_t why) {
  if (ev < 0) {
    return tds_reply_malformed(c, t, ev);
  }
  if (must_hand_over(c, ev)) {
    c->reply.held = ev;
    return hand_over(c);
  }
  switch (ev) {
  case TDS_EV_END:
    return end_message(c, t);
  case TDS_EV_WAIT:
  case TDS_EV_AGAIN:
    return pause(c, t, ev);
  case TDS_EV_LOST:
    return lost(c, t, why);
  default:
    break;
  }
  bool front = c->outputs.front > 0; /* not of the statement itself */
  int rc = tds_reply_apply(c, ev);
  if (rc >= 0 && front) {
    if (ev != TDS_EV_COLUMNS) {
      return TDS_NEXT;
    }
    rc = tds_session_bad(c, "a result where there can be none");
  }
  return rc < 0 ? tds_reply_malformed(c, t, rc) : show(c, t, ev);
}

weir_drv_status tds_reply_read(struct weir_drv_conn *c, struct tds_turn *t) {
  weir_drv_status rc = tds_link_flush(&c->link);
  (void)rc; /* a broken stream shows itself when it is read */
  do {
    int64_t why = 0;
    int ev = c->reply.held;
    c->reply.held = 0;
    if (ev == 0) {
      ev = tds_reply_event(c, &why);
    }
    rc = handle(c, t, ev, why);
  } while (rc == TDS_NEXT && c->step == TDS_STEP_READ);
  if (rc == WEIR_DRV_META || rc == WEIR_DRV_ROWS || rc == WEIR_DRV_COUNT) {
    c->stmts.told = true;
  }
  return rc;
}
