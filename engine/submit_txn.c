/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "exec.h"
#include "session.h"
#include "status.h"
#include "submit_exec.h"
#include "sys/mem.h"

/* A name lives as long as its verb: where the text of a statement does. */
static int keep_name(struct weir_drv_hconn *s,
                     struct weir__txn *txn,
                     struct weir_error *err) {
  if (txn->name == NULL) {
    return WEIR_OK;
  }
  s->sql = weir__mem_text(txn->name, txn->name_len);
  if (s->sql == NULL) {
    int rc = weir__error_set(err, WEIR_E_NOMEM, WEIR_PHASE_EXEC,
                             "no memory for the name");
    weir__error_txn(err, s->txn);
    return rc;
  }
  txn->name = s->sql;
  return WEIR_OK;
}

int weir__submit_txn(struct weir__lease *lease,
                     struct weir__caller *self,
                     const struct weir__submit_how *how,
                     int32_t what,
                     const struct weir__txn *txn,
                     struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  struct weir__txn own = *txn;
  int rc = weir__txn_check(s, txn, err);
  if (rc == WEIR_OK) {
    rc = keep_name(s, &own, err);
  }
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__entry *entry = weir__submit_reserve(lease, how, what, &rc, err);
  if (entry == NULL) {
    weir__exec_drop(s);
    weir__error_txn(err, s->txn);
    return rc;
  }
  weir__command_take(lease, self);
  weir__txn_send(s, &own);
  return weir__submit_command(&weir__txn_command, lease, entry, how, err);
}
