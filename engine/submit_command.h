/* SPDX-License-Identifier: MIT */
/* submit_command.h - an operation on a lease that nobody waits for.
 *
 * It is begun on its caller's thread, by the functions of command.h, exec.h and
 * txn.h.  What does not end at once goes to the reactor, and its end goes to a
 * queue.  The lease's call lasts from the submission to the completion, so that
 * another call on it is answered with WEIR_E_BUSY. */
#ifndef WEIR_SUBMIT_COMMAND_H
#define WEIR_SUBMIT_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#include "caller.h"
#include "command.h"
#include "lease.h"
#include "queue.h"

/* Where its completion goes. */
struct weir__submit_how {
  struct weir__queue *queue; /* of the lease's engine */
  uint64_t user;
  uint64_t *out_op; /* may be NULL */
};

/* Takes an entry for an operation of a lease, type WEIR_OP_*.  NULL: *out_code
 * and *err say why.  Its owner gives it to weir__submit_command() or back. */
struct weir__entry *weir__submit_reserve(const struct weir__lease *lease,
                                         const struct weir__submit_how *how,
                                         int32_t type,
                                         int *out_code,
                                         struct weir_error *err);

/* After the operation has been begun or resumed under weir__command_take(): its
 * outcome, with the entry given back and the call still the caller's to end; or
 * WEIR_PENDING: call and entry are the reactor's, which ends both. */
int weir__submit_command(const struct weir__command *command,
                         struct weir__lease *lease,
                         struct weir__entry *entry,
                         const struct weir__submit_how *how,
                         struct weir_error *err);

#endif
