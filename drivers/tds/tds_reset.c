/* SPDX-License-Identifier: MIT */
/* tds_reset.c - RESETCONNECTION (MS-TDS 2.2.3.1.2): a bit on the first packet of
 * the next request.
 *
 * The bit alone would roll back an open transaction, too.  But a request must
 * carry the descriptor of the session's transaction, and the specification does
 * not say whether it is compared before or after the reset.  So an eager reset
 * rolls back by a request of its own first, which costs a round trip only then. */
#include "tds_reset.h"

#include "tds_reply.h"
#include "tds_session.h"
#include "tds_txn.h"

static const char probe[] = "SELECT 1";

/* The reset leaves the level as it is. */
static const char restore[] = "SET TRANSACTION ISOLATION LEVEL READ COMMITTED";

static int add(struct tds_buf *b, const char *text) {
  size_t n = 0;
  while (text[n] != '\0') {
    n++;
  }
  return tds_buf_add(b, text, n);
}

/* USE [name], with each ] doubled. */
static int add_use(struct tds_buf *b, const struct tds_buf *name) {
  int rc = add(b, "USE [");
  for (size_t i = 0; rc == TDS_OK && i < name->n; i++) {
    rc = tds_buf_add(b, &name->p[i], 1);
    if (rc == TDS_OK && name->p[i] == ']') {
      rc = tds_buf_add(b, "]", 1);
    }
  }
  return rc == TDS_OK ? add(b, "] ") : rc;
}

/* What undoes that which a reset does not, on one server or another. */
static int write_batch(struct weir_drv_conn *c) {
  struct tds_buf *b = &c->own;
  int rc = TDS_OK;
  b->n = 0;
  if (tds_session_moved(c)) {
    rc = add_use(b, &c->baseline.database);
  }
  if (rc == TDS_OK && c->isolation) {
    rc = add(b, restore);
  }
  return rc == TDS_OK && b->n == 0 ? add(b, probe) : rc;
}

/* The batch that carries the bit.  Returns TDS_NEXT, or WEIR_DRV_FAIL. */
static weir_drv_status begin_batch(struct weir_drv_conn *c,
                                   struct tds_turn *t) {
  c->reset_rolls = false;
  c->reset_wanted = TDS_ST_RESET;
  if (write_batch(c) != TDS_OK) {
    return tds_conn_no_memory(c, t);
  }
  tds_batch_set(c, (const char *)c->own.p, c->own.n);
  return tds_request_begin(c, TDS_OP_RESET, &tds_batch_source);
}

static weir_drv_status start_eager(struct weir_drv_conn *c,
                                   struct tds_turn *t) {
  weir_drv_status rc = TDS_NEXT;
  c->op = TDS_OP_RESET;
  c->dirty = WEIR_DRV_DIRTY_UNKNOWN; /* until it is confirmed */
  if (c->transaction == 0) {
    rc = begin_batch(c, t);
  } else {
    c->reset_wanted = 0;
    c->reset_rolls = true;
    tds_txn_set_rollback(c);
    rc = tds_request_begin(c, TDS_OP_RESET, &tds_txn_source);
  }
  return rc == TDS_NEXT ? tds_conn_run(c, t) : rc;
}

weir_drv_status tds_request_reset(struct weir_drv_conn *c,
                                  const struct weir_drv_reset_args *a,
                                  struct weir_drv_wait *wait,
                                  struct weir_drv_error *err) {
  struct tds_turn t = {NULL, wait, err};
  if (c->step != TDS_STEP_IDLE) {
    return WEIR_DRV_E_INVALID;
  }
  bool keep = a->mode == WEIR_DRV_RESET_KEEP_TXN;
  if (!keep && c->transaction == 0) {
    c->scope.open = false; /* the server has ended it: nothing is left */
  }
  switch (a->mode) {
  case WEIR_DRV_RESET_LAZY:
  case WEIR_DRV_RESET_KEEP_TXN:
    c->reset_wanted = keep ? TDS_ST_RESET_KEEP : TDS_ST_RESET;
    c->dirty = 0;
    return tds_conn_end(c, &t, WEIR_DRV_DONE);
  case WEIR_DRV_RESET_EAGER:
    return start_eager(c, &t);
  default:
    (void)tds_request_refuse(c, &t, WEIR_DRV_K_UNSUPPORTED,
                             "unknown kind of reset");
    return WEIR_DRV_E_UNSUPPORTED;
  }
}

/* The rollback is over, or the reset itself.  Whatever the rollback's error was,
 * the reset ends the transaction; its confirmation decides. */
weir_drv_status tds_reset_end(struct weir_drv_conn *c, struct tds_turn *t) {
  const struct tds_reply *r = &c->reply;
  if (r->drain) {
    return tds_reply_end_cancelled(c, t);
  }
  if (c->reset_rolls) {
    if (!r->failure.set || tds_txn_nothing(c)) {
      c->transaction = 0; /* also where the server does not say so */
      c->scope.open = false;
    }
    return begin_batch(c, t);
  }
  if (r->failure.set) {
    return tds_reply_end_failed(c, t);
  }
  c->isolation = false;
  (void)tds_conn_go(c, TDS_STEP_IDLE);
  return tds_conn_end(c, t, WEIR_DRV_DONE);
}
