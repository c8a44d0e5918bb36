/* SPDX-License-Identifier: MIT */
/* command.h - an operation that a lease's holder asked for and waits for: a
 * statement, or a verb of a transaction.  One limit, cancellation by weir_cancel(),
 * shutdown.
 *
 *   weir__command_check()   may it begin?
 *   weir__command_begin()   this thread drives from here on
 *   ... weir__op_exec() or weir__op_txn() ...
 *   weir__command_drive()   to its end or its next pause
 *   weir__command_pause()   this thread drives no more
 *   weir__command_fail()    what went wrong, in the words of weir.h
 */
#ifndef WEIR_COMMAND_H
#define WEIR_COMMAND_H

#include <stdint.h>

#include "weir.h"

#include "caller.h"
#include "lease.h"

struct weir_drv_hconn;

/* WEIR_OK; WEIR_E_BUSY while a result is being read; WEIR_E_FAIL on a broken
 * connection. */
int weir__command_check(const struct weir_drv_hconn *session,
                        struct weir_error *err);

/* Has this thread drive.  Returns WEIR_OK, WEIR_E_NOMEM, WEIR_E_FAIL (no
 * descriptor).  Call it before the operation, and before it is resumed. */
int weir__command_begin(struct weir_drv_hconn *session,
                        struct weir__caller *self,
                        struct weir_error *err);

/* Notes, before the operation is begun, that it is and when it must have ended.
 * span_ns: of weir.h's exec options. */
void weir__command_start(struct weir__lease *lease, int64_t span_ns);

/* Goes on after a pause, if nothing has stopped it meanwhile. */
void weir__command_resume(struct weir__lease *lease);

/* Drives to the operation's end or its next pause.  Blocks: yes. */
void weir__command_drive(struct weir__lease *lease, struct weir__caller *self);

/* After that. */
void weir__command_pause(struct weir_drv_hconn *session);

/* Fills *err with the failure of the operation that has ended.  Returns the code:
 * WEIR_E_CLOSED, WEIR_E_TIMEOUT, WEIR_E_CANCELLED, WEIR_E_NOMEM,
 * WEIR_E_UNSUPPORTED or WEIR_E_FAIL. */
int weir__command_fail(struct weir_drv_hconn *session, struct weir_error *err);

/* True if the driver can turn an operation into its cancellation. */
bool weir__command_can_cancel(const struct weir_drv_hconn *session);

#endif
