/* SPDX-License-Identifier: MIT */
/* submit_exec.h - statements and verbs of a transaction that do not wait. */
#ifndef WEIR_SUBMIT_EXEC_H
#define WEIR_SUBMIT_EXEC_H

#include <stdint.h>

#include "weir.h"

#include "submit_command.h"
#include "txn.h"

/* weir_submit_exec(), weir_submit_next() and weir_submit_txn(), within a call on
 * the lease; arguments have been checked.  WEIR_PENDING: the call is not this
 * thread's any more. */
int weir__submit_exec(struct weir__lease *lease,
                      struct weir__caller *self,
                      const struct weir__submit_how *how,
                      const char *sql,
                      uint64_t sql_len,
                      const struct weir_exec_opts *opts,
                      struct weir_error *err);
int weir__submit_next(struct weir__lease *lease,
                      struct weir__caller *self,
                      const struct weir__submit_how *how,
                      struct weir_item *out,
                      struct weir_error *err);

/* what: WEIR_OP_BEGIN to WEIR_OP_ROLLBACK_TO, as is txn->verb. */
int weir__submit_txn(struct weir__lease *lease,
                     struct weir__caller *self,
                     const struct weir__submit_how *how,
                     int32_t what,
                     const struct weir__txn *txn,
                     struct weir_error *err);

#endif
