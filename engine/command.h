/* SPDX-License-Identifier: MIT */
/* command.h - an operation that a lease's holder asked for: a statement, or a verb
 * of a transaction.  One limit, cancellation, shutdown, and one way to its end,
 * whether its caller waits (here) or nobody does (submit_command.h).
 *
 *   weir__command_check()   may it begin?
 *   weir__command_begin()   this thread drives from here on
 *   weir__command_start()   it begins now
 *   ... weir__op_exec() or weir__op_txn(), or weir__command_resume() ...
 *   weir__command_wait()    to its end or its next pause
 */
#ifndef WEIR_COMMAND_H
#define WEIR_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#include "caller.h"
#include "lease.h"

struct weir_drv_hconn;

/* What becomes of an operation, whoever waits for it. */
struct weir__command {
  /* It does not wait at present.  False: it went on and waits again.  True: it
   * has ended, or has something to tell. */
  bool (*advance)(struct weir_drv_hconn *session);
  /* Then: what the call or the completion answers. */
  int (*outcome)(struct weir_drv_hconn *session, struct weir_error *err);
};

/* WEIR_OK; WEIR_E_BUSY while a result is being read; WEIR_E_FAIL on a broken
 * connection. */
int weir__command_check(const struct weir_drv_hconn *session,
                        struct weir_error *err);

/* Has this thread drive.  Returns WEIR_OK, WEIR_E_NOMEM, WEIR_E_FAIL (no
 * descriptor).  Call it before the operation, and before it is resumed. */
int weir__command_begin(const struct weir__lease *lease,
                        struct weir__caller *self,
                        struct weir_error *err);

/* The same for a thread that will not wait, and so needs no descriptor. */
void weir__command_take(const struct weir__lease *lease,
                        struct weir__caller *self);

/* Notes, before the operation is begun, that it is and when it must have ended.
 * span_ns: of weir.h's exec options. */
void weir__command_start(struct weir_drv_hconn *session, int64_t span_ns);

/* Whoever drives looks, before it waits and before each step, whether the
 * operation is to stop or is late.  True: so it was, and has been cancelled or
 * given up; its status and its deadline are new. */
bool weir__command_look(struct weir_drv_hconn *session);

/* Goes on after a pause, if nothing has stopped it meanwhile. */
void weir__command_resume(struct weir_drv_hconn *session);

/* Drives to the operation's end or its next pause; this thread then drives no
 * more.  Returns the outcome.  Blocks: yes. */
int weir__command_wait(const struct weir__command *command,
                       struct weir_drv_hconn *session,
                       struct weir__caller *self,
                       struct weir_error *err);

/* Part of advance: the operation pauses or has ended. */
void weir__command_pause(struct weir_drv_hconn *session);

/* Fills *err with the failure of the operation that has ended.  Returns the code:
 * WEIR_E_CLOSED, WEIR_E_TIMEOUT, WEIR_E_CANCELLED, WEIR_E_NOMEM,
 * WEIR_E_UNSUPPORTED or WEIR_E_FAIL. */
int weir__command_fail(struct weir_drv_hconn *session, struct weir_error *err);

/* True if the driver can turn an operation into its cancellation. */
bool weir__command_can_cancel(const struct weir_drv_hconn *session);

#endif
