/* SPDX-License-Identifier: MIT */
/* submit.h - operations that do not wait.
 *
 * A submitted acquire is an entry of a queue (queue.h) whose waiter stands in the
 * same line as the nodes of blocking callers.  Whoever takes the node out of the
 * line, under the pool's mutex, ends the operation, so it ends once; what is left,
 * the completion, is posted when the mutex is free. */
#ifndef WEIR_SUBMIT_H
#define WEIR_SUBMIT_H

#include <stdint.h>

#include "caller.h"
#include "pool.h"
#include "queue.h"

/* weir_submit_acquire() on a pool and a queue of one engine. */
struct weir__submission {
  int64_t timeout_ns;
  uint64_t user;
  uint64_t *out_lease;
  uint64_t *out_op; /* may be NULL */
};
int weir__submit_acquire(struct weir__pool *pool,
                         struct weir__queue *queue,
                         struct weir__caller *self,
                         const struct weir__submission *how,
                         struct weir_error *err);

/* A submitted node has been decided and nobody else can: its completion.  No
 * mutex of a pool or of rank LEAF is held; others may be.  The node may be gone
 * when it returns. */
void weir__submit_decided(struct weir__waiter *w);

/* On the reactor, with the entry pinned: does for an ACQUIRE what is due now. */
void weir__submit_look(struct weir__entry *entry, bool check);

/* On the reactor: a lease that nobody will take. */
void weir__submit_drop_lease(uint64_t lease);

/* On the reactor: a connect that was begun for submitted waiters, and is still
 * counted as connecting, has failed: the oldest of them fails with *err, unless
 * what else is being opened will do for all. */
void weir__submit_fail_one(struct weir__pool *pool,
                           const struct weir_error *err);

/* Gives an operation up, which is pinned: what weir_op_cancel() does. */
void weir__submit_cancel(struct weir__entry *entry);

/* weir_op_cancel(): WEIR_OK or WEIR_E_HANDLE. */
int weir__submit_cancel_op(uint64_t op);

#endif
