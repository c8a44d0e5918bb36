/* SPDX-License-Identifier: MIT */
/* tds_txn.c - begin, commit, rollback and savepoints as requests to the
 * transaction manager (MS-TDS 2.2.6.9).
 *
 * What a request was good for is told by ENVCHANGE, never by the request having
 * been sent: a commit that answers none has ended a nested transaction only, and
 * one that is cancelled without any may have happened or not. */
#include "tds_txn.h"

#include <string.h>

#include "tds_fail.h"
#include "tds_reply.h"
#include "tds_text.h"

/* The server has no transaction for a commit, for a rollback. */
#define ERROR_NO_COMMIT   3902
#define ERROR_NO_ROLLBACK 3903

/* ------------------------------------------------------------------- state */

/* The next request starts in a session that has just been reset. */
static bool fresh(const struct weir_drv_conn *c) {
  return c->reset_wanted == TDS_ST_RESET;
}

static bool inside(const struct weir_drv_conn *c) {
  return c->transaction != 0 && !fresh(c);
}

bool tds_txn_lost(const struct weir_drv_conn *c) {
  return c->scope.open && !fresh(c) && (c->transaction == 0 || c->scope.doomed);
}

int32_t tds_txn_state(const struct weir_drv_conn *c) {
  if (c->transaction == 0) {
    return c->scope.open ? WEIR_DRV_TXN_DOOMED : WEIR_DRV_TXN_NONE;
  }
  return c->scope.doomed ? WEIR_DRV_TXN_DOOMED : WEIR_DRV_TXN_OPEN;
}

/* The session's end rolls back whatever it had open, so only what may have
 * committed is in doubt: a commit, and a batch, which may hold one. */
int32_t tds_txn_fate(const struct weir_drv_conn *c) {
  bool commit = c->op == TDS_OP_TXN && c->scope.verb == WEIR_DRV_TX_COMMIT;
  bool batch = c->op == TDS_OP_EXEC && c->transaction != 0;
  return commit || batch ? WEIR_DRV_TXN_UNKNOWN : WEIR_DRV_TXN_NONE;
}

bool tds_txn_nothing(const struct weir_drv_conn *c) {
  return c->reply.failure.set && c->reply.failure.number == ERROR_NO_ROLLBACK;
}

/* ---------------------------------------------------------------- refusals */

static weir_drv_status refuse(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              int32_t scope,
                              int32_t kind,
                              const char *why) {
  (void)tds_fail(t->err, scope, kind, WEIR_DRV_RETRY_NO, "%s", why);
  if (t->err != NULL) {
    t->err->txn = tds_txn_state(c);
  }
  return tds_conn_end(c, t, WEIR_DRV_FAIL);
}

static weir_drv_status refuse_misuse(struct weir_drv_conn *c,
                                     struct tds_turn *t,
                                     const char *why) {
  return refuse(c, t, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_OTHER, why);
}

weir_drv_status tds_txn_refuse(struct weir_drv_conn *c, struct tds_turn *t) {
  return refuse(c, t, WEIR_DRV_SCOPE_TXN, WEIR_DRV_K_OTHER,
                c->transaction != 0
                    ? "the server allows nothing but a rollback of this "
                      "transaction; roll back to go on"
                    : "the server has ended the transaction, so this would "
                      "run outside of it; roll back to go on");
}

static const char not_open[] = "no transaction is open";

/* ----------------------------------------------------------------- request */

static size_t fill(struct weir_drv_conn *c, uint8_t *body, size_t cap) {
  size_t n = tds_request_put_head(c, body, cap);
  return n + tds_bytes_out_put(&c->request.bytes, body + n, cap - n);
}

static bool over(const struct weir_drv_conn *c) {
  return c->request.bytes.at == c->request.bytes.n;
}

const struct tds_source tds_txn_source = {TDS_PKT_TXN, fill, over};

static void put_byte(struct tds_bytes_out *o, uint8_t v) {
  o->bytes[o->n++] = v;
}

static struct tds_bytes_out *put_type(struct weir_drv_conn *c, uint8_t type) {
  tds_request_clear(c);
  put_byte(&c->request.bytes, type);
  put_byte(&c->request.bytes, 0);
  return &c->request.bytes;
}

/* B_VARBYTE of UTF-16.  Returns false if the name is not UTF-8 or too long. */
static bool put_name(struct tds_bytes_out *o,
                     const struct weir_drv_text *name) {
  size_t n = 0;
  if (tds_text_to16(name->p, (size_t)name->n, o->bytes + o->n + 1,
                    (size_t)TDS_TXN_NAME_UNITS * 2, &n) != TDS_OK) {
    return false;
  }
  o->bytes[o->n] = (uint8_t)n;
  o->n = (uint8_t)(1u + o->n + n);
  return true;
}

static const struct weir_drv_text no_name = {NULL, 0};

/* Commit and rollback: a name, and flags that begin no new transaction. */
static void put_end(struct weir_drv_conn *c, uint8_t type) {
  struct tds_bytes_out *o = put_type(c, type);
  (void)put_name(o, &no_name);
  put_byte(o, 0);
}

void tds_txn_set_rollback(struct weir_drv_conn *c) {
  put_end(c, TDS_TM_ROLLBACK);
}

static weir_drv_status send(struct weir_drv_conn *c, struct tds_turn *t) {
  return tds_request_start(c, t, TDS_OP_TXN, &tds_txn_source);
}

static weir_drv_status bad_name(struct weir_drv_conn *c, struct tds_turn *t) {
  return refuse_misuse(c, t,
                       "the name of a transaction or savepoint must be valid "
                       "UTF-8 of at most 32 characters");
}

/* ------------------------------------------------------------------- verbs */

static weir_drv_status begin(struct weir_drv_conn *c,
                             const struct weir_drv_txn_args *a,
                             struct tds_turn *t) {
  if (a->isolation < WEIR_DRV_ISO_DEFAULT ||
      a->isolation > WEIR_DRV_ISO_SNAPSHOT) {
    return tds_request_refuse(c, t, WEIR_DRV_K_UNSUPPORTED,
                              "unknown isolation level");
  }
  if (a->flags != 0) {
    return tds_request_refuse(c, t, WEIR_DRV_K_UNSUPPORTED,
                              "SQL Server has no read-only transactions");
  }
  if (tds_txn_lost(c)) {
    return tds_txn_refuse(c, t);
  }
  if (inside(c)) {
    return refuse_misuse(c, t,
                         c->scope.open
                             ? "a transaction is open already"
                             : "a statement has left a transaction open; "
                               "commit or roll it back first");
  }
  struct tds_bytes_out *o = put_type(c, TDS_TM_BEGIN);
  put_byte(o, (uint8_t)a->isolation);
  if (!put_name(o, &a->name)) {
    return bad_name(c, t);
  }
  c->isolation = c->isolation || a->isolation != WEIR_DRV_ISO_DEFAULT;
  return send(c, t);
}

/* The words for a commit of what the server has ended by itself. */
static const char *too_late(const struct weir_drv_conn *c) {
  return c->scope.ended == TDS_ENV_COMMIT
             ? "a statement has committed the transaction already; there is "
               "nothing left to commit"
             : "the server has ended the transaction before the commit; "
               "nothing was committed";
}

static weir_drv_status commit(struct weir_drv_conn *c, struct tds_turn *t) {
  if (tds_txn_lost(c)) {
    if (c->transaction != 0) {
      return tds_txn_refuse(c, t);
    }
    c->scope.open = false;
    return refuse(c, t, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_OTHER,
                  too_late(c));
  }
  if (!inside(c)) {
    return refuse_misuse(c, t, not_open);
  }
  put_end(c, TDS_TM_COMMIT);
  return send(c, t);
}

static weir_drv_status rollback(struct weir_drv_conn *c, struct tds_turn *t) {
  if (c->transaction == 0) {
    c->scope.open = false;
    return tds_conn_end(c, t, WEIR_DRV_DONE);
  }
  put_end(c, TDS_TM_ROLLBACK);
  return send(c, t);
}

static weir_drv_status savepoint(struct weir_drv_conn *c,
                                 const struct weir_drv_txn_args *a,
                                 struct tds_turn *t) {
  bool save = a->verb == WEIR_DRV_TX_SAVE;
  if (tds_txn_lost(c)) {
    return tds_txn_refuse(c, t);
  }
  if (!inside(c)) {
    return refuse_misuse(c, t, not_open);
  }
  if (a->name.n == 0) {
    return refuse_misuse(c, t, "a savepoint needs a name");
  }
  struct tds_bytes_out *o = put_type(c, save ? TDS_TM_SAVE : TDS_TM_ROLLBACK);
  if (!put_name(o, &a->name)) {
    return bad_name(c, t);
  }
  if (!save) {
    put_byte(o, 0);
  }
  return send(c, t);
}

weir_drv_status tds_txn_start(struct weir_drv_conn *c,
                              const struct weir_drv_txn_args *a,
                              struct weir_drv_wait *wait,
                              struct weir_drv_error *err) {
  struct tds_turn t = {NULL, wait, err};
  if (c->step != TDS_STEP_IDLE || a->struct_size < WEIR_DRV_TXN_ARGS_SIZE_V0) {
    return WEIR_DRV_E_INVALID;
  }
  c->scope.verb = a->verb;
  switch (a->verb) {
  case WEIR_DRV_TX_BEGIN:
    return begin(c, a, &t);
  case WEIR_DRV_TX_COMMIT:
    return commit(c, &t);
  case WEIR_DRV_TX_ROLLBACK:
    return rollback(c, &t);
  case WEIR_DRV_TX_SAVE:
  case WEIR_DRV_TX_ROLLBACK_TO:
    return savepoint(c, a, &t);
  default:
    (void)tds_request_refuse(c, &t, WEIR_DRV_K_UNSUPPORTED,
                             "distributed transactions are not supported");
    return WEIR_DRV_E_UNSUPPORTED;
  }
}

/* ------------------------------------------------------------------- answers */

static weir_drv_status done(struct weir_drv_conn *c,
                            struct tds_turn *t,
                            bool open) {
  c->scope.open = open;
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  return tds_conn_end(c, t, WEIR_DRV_DONE);
}

/* Cancelled, and no ENVCHANGE says what became of the request: the session may
 * be in a transaction or not. */
static weir_drv_status in_doubt(struct weir_drv_conn *c, struct tds_turn *t) {
  return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_CANCELLED,
                       "cancelled, and the server did not say what became of "
                       "the transaction");
}

/* Neither ENVCHANGE nor success. */
static weir_drv_status end_other(struct weir_drv_conn *c, struct tds_turn *t) {
  const struct tds_reply *r = &c->reply;
  if (r->drain) {
    return r->failure.set ? tds_reply_end_cancelled(c, t) : in_doubt(c, t);
  }
  return tds_reply_end_failed(c, t);
}

static weir_drv_status end_begin(struct weir_drv_conn *c, struct tds_turn *t) {
  const struct tds_reply *r = &c->reply;
  if ((r->told & TDS_TOLD_BEGUN) != 0 && c->transaction != 0 &&
      !r->failure.set) {
    return done(c, t, true);
  }
  if (r->drain || r->failure.set) {
    return end_other(c, t);
  }
  return tds_conn_fail(c, t, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_PROTOCOL,
                       "the server says that it has begun a transaction, but "
                       "names none");
}

static weir_drv_status end_commit(struct weir_drv_conn *c, struct tds_turn *t) {
  const struct tds_reply *r = &c->reply;
  bool ended = (r->told & TDS_TOLD_ENDED) != 0 && c->transaction == 0;
  if (ended && c->scope.ended == TDS_ENV_COMMIT) {
    return done(c, t, false);
  }
  if (r->failure.set && r->failure.number == ERROR_NO_COMMIT) {
    c->transaction = 0; /* some servers end transactions without a word */
  }
  if (r->failure.set || (r->drain && !ended)) {
    return end_other(c, t);
  }
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  if (ended) {
    c->scope.open = false;
    return refuse(c, t, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_OTHER,
                  too_late(c));
  }
  return refuse(c, t, WEIR_DRV_SCOPE_TXN, WEIR_DRV_K_OTHER,
                "the commit ended a nested transaction that a statement has "
                "begun; the outer one is open still: commit again or roll "
                "back");
}

static weir_drv_status end_rollback(struct weir_drv_conn *c,
                                    struct tds_turn *t) {
  const struct tds_reply *r = &c->reply;
  bool ended = (r->told & TDS_TOLD_ENDED) != 0 || tds_txn_nothing(c);
  if (!ended && (r->drain || r->failure.set)) {
    return end_other(c, t);
  }
  c->transaction = 0;
  c->scope.doomed = false;
  return done(c, t, false);
}

static weir_drv_status end_savepoint(struct weir_drv_conn *c,
                                     struct tds_turn *t) {
  const struct tds_reply *r = &c->reply;
  if (r->drain) {
    return tds_reply_end_cancelled(c, t);
  }
  if (r->failure.set) {
    return tds_reply_end_failed(c, t);
  }
  if (c->transaction == 0) {
    (void)tds_conn_go(c, TDS_STEP_IDLE);
    return tds_txn_refuse(c, t);
  }
  return done(c, t, c->scope.open);
}

weir_drv_status tds_txn_end(struct weir_drv_conn *c, struct tds_turn *t) {
  switch (c->scope.verb) {
  case WEIR_DRV_TX_BEGIN:
    return end_begin(c, t);
  case WEIR_DRV_TX_COMMIT:
    return end_commit(c, t);
  case WEIR_DRV_TX_ROLLBACK:
    return end_rollback(c, t);
  default:
    return end_savepoint(c, t);
  }
}
