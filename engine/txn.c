/* SPDX-License-Identifier: MIT */
/* txn.c - a verb is driven as a statement is: the same limit, the same
 * cancellation.  What differs is its end: a commit that was not answered has an
 * outcome that nobody knows, so its connection is not used again. */
#include "txn.h"

#include "command.h"
#include "exec.h"
#include "loader.h"
#include "op.h"
#include "session.h"
#include "status.h"

#define SAME(t) _Static_assert(WEIR_ISO_##t == WEIR_DRV_ISO_##t, #t)
SAME(DEFAULT);
SAME(READ_UNCOMMITTED);
SAME(READ_COMMITTED);
SAME(REPEATABLE_READ);
SAME(SERIALIZABLE);
SAME(SNAPSHOT);

static int check(const struct weir_drv_hconn *s,
                 const struct weir__txn *txn,
                 struct weir_error *err) {
  int rc = weir__command_check(s, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  if ((s->driver->table.caps & WEIR_DRV_CAP_TXN) == 0) {
    return weir__error_set(err, WEIR_E_UNSUPPORTED, WEIR_PHASE_EXEC,
                           "driver %s has no transactions", s->driver->name);
  }
  if (txn->verb == WEIR_DRV_TX_BEGIN && s->txn == WEIR_DRV_TXN_OPEN) {
    rc = weir__error_set(err, WEIR_E_FAIL, WEIR_PHASE_EXEC,
                         "a transaction is open already; commit it or roll it "
                         "back");
    weir__error_class(err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_OTHER,
                      WEIR_DRV_RETRY_NO);
  }
  return rc;
}

/* True if a commit has failed in a way that leaves open whether it took effect.
 * A driver that knows the transaction to be open, or doomed, knows enough; one
 * that says it is gone does not say how, unless nothing was sent. */
static bool is_unknown(const struct weir_drv_hconn *s) {
  const struct weir_drv_error *e = &s->error;
  bool unanswered = (e->flags & WEIR_DRV_EF_MAYBE_EXECUTED) != 0 ||
                    e->kind == WEIR_DRV_K_CANCELLED;
  return e->txn == WEIR_DRV_TXN_UNKNOWN ||
         (e->txn == WEIR_DRV_TXN_NONE && unanswered);
}

static void append(struct weir_drv_hconn *s, const char *more) {
  struct weir_drv_error *e = &s->error;
  size_t n = e->message_len < e->message_cap ? e->message_len : e->message_cap;
  n += weir__text_format(s->text + n, sizeof s->text - n, "%s", more);
  e->message_len = (uint32_t)n;
}

static void note_unknown(struct weir_drv_hconn *s) {
  struct weir_drv_error *e = &s->error;
  append(s, "; whether the commit took effect is not known");
  e->txn = WEIR_DRV_TXN_UNKNOWN;
  e->flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
  e->retry = WEIR_DRV_RETRY_NO;
  e->kind = s->expired ? WEIR_DRV_K_TIMEOUT : e->kind;
  e->scope = e->scope < WEIR_DRV_SCOPE_CONN ? WEIR_DRV_SCOPE_CONN : e->scope;
  s->txn = WEIR_DRV_TXN_UNKNOWN;
  s->usable = false;
}

static bool advance(struct weir_drv_hconn *s) {
  if (s->status == WEIR_DRV_WAIT) {
    return false;
  }
  weir__command_pause(s);
  weir__exec_ended(s);
  return true;
}

static int outcome(struct weir_drv_hconn *s, struct weir_error *err) {
  if (s->status == WEIR_DRV_DONE) {
    return WEIR_OK;
  }
  if (s->verb == WEIR_DRV_TX_COMMIT && is_unknown(s)) {
    note_unknown(s);
  }
  return weir__command_fail(s, err);
}

const struct weir__command weir__txn_command = {advance, outcome};

int weir__txn_check(struct weir_drv_hconn *session,
                    const struct weir__txn *txn,
                    struct weir_error *err) {
  int rc = check(session, txn, err);
  if (rc == WEIR_OK) {
    weir__exec_forget(session);
  } else {
    weir__error_txn(err, session->txn); /* a refusal leaves it as it is */
  }
  return rc;
}

void weir__txn_send(struct weir_drv_hconn *session,
                    const struct weir__txn *txn) {
  weir__command_start(session, WEIR_TIMEOUT_POOL);
  session->verb = txn->verb;
  struct weir__txn_args args = {.verb = txn->verb,
                                .phase = WEIR_PHASE_EXEC,
                                .isolation = txn->isolation,
                                .deadline = session->deadline,
                                .name = txn->name,
                                .name_len = txn->name_len};
  (void)weir__op_txn(session, &args);
}

int weir__txn(struct weir__lease *lease,
              struct weir__caller *self,
              const struct weir__txn *txn,
              struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  int rc = weir__txn_check(s, txn, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  rc = weir__command_begin(lease, self, err);
  if (rc != WEIR_OK) {
    weir__error_txn(err, s->txn);
    return rc;
  }
  weir__txn_send(s, txn);
  return weir__command_wait(&weir__txn_command, s, self, err);
}
