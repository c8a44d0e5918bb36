/* SPDX-License-Identifier: MIT */
/* queue.h - a queue of completions, and the operations that end in it.
 *
 * A queue owns as many entries as its capacity says, made when it is opened.  A
 * submission takes one, which is then the operation until its completion has been
 * taken: so completions are never lost for want of room, and nothing is allocated
 * on the way.  An entry is
 *
 *   FREE -> TAKEN (an operation runs) -> POSTED (in line to be taken) -> FREE
 *
 * and its handle grows stale when it becomes POSTED.  weir__queue_post() is called
 * exactly once for each TAKEN entry that is not given back. */
#ifndef WEIR_QUEUE_H
#define WEIR_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#include "reactor.h"
#include "waiter.h"

struct weir__engine;
struct weir__pool;
struct weir__queue;

struct weir__entry {
  struct weir__queue *queue;
  struct weir__entry *next; /* the queue's */
  uint64_t handle;          /* of the operation, while it may be cancelled */
  uint64_t user;
  int32_t type; /* WEIR_OP_* */

  /* ACQUIRE: its place in the line of its pool, and what ends it in time. */
  struct weir__pool *pool;
  struct weir__waiter waiter;
  struct weir__task task;
  struct weir__timer timer;

  /* Others: the lease whose request it is; see submit.h. */
  uint64_t lease;

  /* The result, once posted. */
  int32_t status;
  struct weir_error *error; /* NULL: none, or no memory to tell it */
};

/* An entry for an operation, or NULL: the queue is full or closed.  Any thread. */
struct weir__entry *weir__queue_reserve(struct weir__queue *queue,
                                        int32_t type,
                                        uint64_t user);

/* It has ended at once: nothing will be posted. */
void weir__queue_give_back(struct weir__entry *entry);

/* The operation is over: the entry goes in line with status, lease and a copy of
 * *err (may be NULL).  Any thread; a pool's mutex may be held; the entry may be gone
 * when it returns.  A queue that is closing drops it; a lease that it carries is
 * then released by the reactor. */
void weir__queue_post(struct weir__entry *entry,
                      int32_t status,
                      uint64_t lease,
                      const struct weir_error *err);

#endif
