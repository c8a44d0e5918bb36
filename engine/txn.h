/* SPDX-License-Identifier: MIT */
/* txn.h - verbs of a transaction on a lease: by a blocking caller, and the parts of
 * which submit_txn.c makes the form that does not wait. */
#ifndef WEIR_TXN_H
#define WEIR_TXN_H

#include <stdint.h>

#include "weir.h"

#include "caller.h"
#include "command.h"
#include "lease.h"

/* Longest name of a savepoint, in characters: SQL Server's limit. */
#define WEIR_SAVEPOINT_MAX 32u

/* What is to be done: arguments have been checked. */
struct weir__txn {
  int32_t verb;      /* WEIR_DRV_TX_BEGIN to _ROLLBACK_TO */
  int32_t isolation; /* WEIR_ISO_*; with BEGIN */
  const char *name;  /* with SAVE and ROLLBACK_TO */
  uint64_t name_len;
};

/* weir_begin(), weir_commit(), weir_rollback(), weir_save(), weir_rollback_to(),
 * within a call on the lease. */
int weir__txn(struct weir__lease *lease,
              struct weir__caller *self,
              const struct weir__txn *txn,
              struct weir_error *err);

/* All that can be refused before the driver is asked. */
int weir__txn_check(struct weir_drv_hconn *session,
                    const struct weir__txn *txn,
                    struct weir_error *err);
/* Then: sends it.  The name must stay until the verb has ended. */
void weir__txn_send(struct weir_drv_hconn *session,
                    const struct weir__txn *txn);

/* What becomes of it. */
extern const struct weir__command weir__txn_command;

#endif
