/* SPDX-License-Identifier: MIT */
#include "submit_exec.h"

#include <stddef.h>

#include "exec.h"
#include "session.h"
#include "status.h"

int weir__submit_exec(struct weir__lease *lease,
                      struct weir__caller *self,
                      const struct weir__submit_how *how,
                      const char *sql,
                      uint64_t sql_len,
                      const struct weir_exec_opts *opts,
                      struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  int rc = weir__exec_prepare(s, sql, sql_len, opts, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  struct weir__entry *entry =
      weir__submit_reserve(lease, how, WEIR_OP_EXEC, &rc, err);
  if (entry == NULL) {
    weir__exec_drop(s);
    weir__error_txn(err, s->txn);
    return rc;
  }
  weir__command_take(lease, self);
  weir__exec_send(s, sql_len, opts);
  return weir__submit_command(&weir__exec_command, lease, entry, how, err);
}

int weir__submit_next(struct weir__lease *lease,
                      struct weir__caller *self,
                      const struct weir__submit_how *how,
                      struct weir_item *out,
                      struct weir_error *err) {
  struct weir_drv_hconn *s = lease->session;
  int rc = weir__exec_tell(s, out, err);
  if (rc != WEIR_PENDING) {
    return rc;
  }
  struct weir__entry *entry =
      weir__submit_reserve(lease, how, WEIR_OP_NEXT, &rc, err);
  if (entry == NULL) {
    return rc;
  }
  weir__command_take(lease, self);
  weir__command_resume(s);
  rc = weir__submit_command(&weir__next_command, lease, entry, how, err);
  return rc == WEIR_OK ? weir__exec_tell(s, out, err) : rc;
}
