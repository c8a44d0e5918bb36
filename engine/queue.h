/* SPDX-License-Identifier: MIT */
/* queue.h - a queue of completions, and the operations that end in it.
 *
 * A queue owns as many entries as its capacity says, and a few spare ones, made
 * when it is opened.  A
 * submission takes one, which is then the operation until its completion has been
 * taken: so completions are never lost for want of room, and nothing is allocated
 * on the way.  An entry is
 *
 *   FREE -> TAKEN (an operation runs) -> POSTED (in line to be taken) -> FREE
 *                                     -> DROPPED (its queue has closed) -> FREE
 *
 * and its handle is good while it is TAKEN.  weir__queue_post() is called exactly
 * once for each TAKEN entry that is not given back.
 *
 * The queue lives until nothing refers to it: itself until it is closed, each entry
 * that is not FREE, each task of an entry that is on its way to the reactor, and
 * each taker that sleeps.  The last reference posts a task that ends it on the
 * reactor, where its timers are; its memory goes when no call can hold it any
 * more, as that of a pool does. */
#ifndef WEIR_QUEUE_H
#define WEIR_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#include "caller.h"
#include "reactor.h"
#include "sys/atomic.h"
#include "sys/mutex.h"
#include "waiter.h"

#define WEIR_QUEUE_CAPACITY_MAX 65536u

/* Entries beyond the capacity: one whose completion has been taken may still be
 * pinned, and a submission must not be refused for that. */
#define WEIR_QUEUE_SPARES 16u

struct weir__engine;
struct weir__pool;
struct weir__queue;

enum weir__entry_state {
  WEIR_ENTRY_FREE = 0,
  WEIR_ENTRY_TAKEN,
  WEIR_ENTRY_POSTED,
  WEIR_ENTRY_DROPPED /* carries a lease that nobody will take */
};

/* Guarded by its queue's mutex unless said otherwise. */
struct weir__entry {
  struct weir__queue *queue; /* fixed */
  uint32_t index;            /* of its handle; fixed */
  uint32_t state;            /* enum weir__entry_state */
  uint32_t pins; /* who looks at it; it is not used again meanwhile */
  bool task_posted;
  bool check;               /* a connection was granted and must be looked at */
  struct weir__entry *next; /* free, or posted */
  uint64_t handle;          /* of the operation; 0: FREE */
  uint64_t user;
  int32_t type; /* WEIR_OP_* */

  /* ACQUIRE: the pool, which outlives the entry's not being FREE; the place in its
   * line, guarded by the pool's mutex; and what looks at it on the reactor. */
  struct weir__pool *pool;
  struct weir__waiter waiter;
  bool cancelled; /* too late for the line; guarded by the pool's mutex */
  struct weir__task task;
  struct weir__timer timer; /* the reactor's */
  uint64_t armed; /* what it is set to, or about to be; WEIR_NEVER: not set */

  /* Others: whose request it is, and its number.  They stay while it is pinned. */
  uint64_t of_lease; /* 0: not known yet */
  uint32_t of_request;

  /* Posted: what the completion says. */
  uint64_t lease;
  int32_t status;
  struct weir_error *error; /* NULL: none, or no memory to tell it */
};

_Static_assert(sizeof(struct weir__entry) < 300, "weir.h promises it");

struct weir__queue {
  struct weir__engine *engine;
  uint64_t handle;
  uint32_t capacity; /* most of them in_use */
  uint32_t in_use;   /* not FREE */
  uint32_t prepared; /* entries that have a handle's index */
  _Atomic uint32_t
      signal; /* changes when a sleeping taker has something to see */

  struct weir__mutex mu; /* rank LEAF; guards all below */
  bool closed;
  bool watched;  /* somebody has asked for the descriptor */
  bool readable; /* the descriptor is */
  int fd;        /* an eventfd; -1 once closed */
  uint32_t refs;
  uint32_t wakes;    /* weir_queue_wake() not yet answered */
  uint32_t sleepers; /* takers asleep on signal, or about to be */
  struct weir__entry *free;
  struct weir__entry *first; /* posted, oldest first */
  struct weir__entry *last;

  struct weir__task bury;
  struct weir__queue
      *next;        /* in a list of the engine's; guarded by its mutex */
  uint64_t retired; /* epoch of its end */
  struct weir__entry entries[];
};

/* ------------------------------------------------------------- operations */

/* An entry for an operation, or NULL: the queue is full or closed.  pool: of an
 * ACQUIRE; else NULL.  Any thread. */
struct weir__entry *weir__queue_reserve(struct weir__queue *queue,
                                        int32_t type,
                                        uint64_t user,
                                        struct weir__pool *pool);

/* Says which request of a lease a TAKEN entry is of. */
void weir__entry_bind(struct weir__entry *entry,
                      uint64_t lease,
                      uint32_t request);

/* Why reserve answered NULL: WEIR_E_BUSY or WEIR_E_HANDLE, with *err. */
int weir__queue_refuse(struct weir__queue *queue, struct weir_error *err);

/* It has ended at once: nothing will be posted. */
void weir__queue_give_back(struct weir__entry *entry);

/* The operation is over: the entry goes in line with status, lease and a copy of
 * *err, which may be NULL where the status says it all.  Any thread; no lock of
 * rank LEAF may be held, others may; the entry may be gone when it returns.  A
 * queue that has closed drops it; a lease that an ACQUIRE brings is then released
 * by the reactor. */
void weir__queue_post(struct weir__entry *entry,
                      int32_t status,
                      uint64_t lease,
                      const struct weir_error *err);

/* True once the queue has closed: an operation that was begun meanwhile has been
 * missed by weir__queue_close() and must be given up by whoever began it. */
bool weir__queue_closed(struct weir__queue *queue);

/* The operation of a handle, kept from being used again until it is unpinned
 * though it may end meanwhile; NULL: it is over. */
struct weir__entry *weir__entry_pin(uint64_t handle);
void weir__entry_unpin(struct weir__entry *entry);

/* Has weir__submit_look() called on the reactor for a TAKEN entry of an ACQUIRE;
 * check: a grant of it is to be looked at. */
void weir__entry_look(struct weir__entry *entry, bool check);

/* The same if its timer is not set to that time or a sooner one. */
void weir__entry_arm(struct weir__entry *entry, uint64_t at);

/* On the reactor, for an entry that is pinned: sets its timer. */
void weir__entry_timer(struct weir__entry *entry, uint64_t at);

/* ------------------------------------------------------------------ queues */

/* weir_queue_open() with a capacity that is good. */
int weir__queue_open(struct weir__engine *engine,
                     uint32_t capacity,
                     uint64_t *out_handle,
                     struct weir_error *err);

/* Ends the queue of a handle: WEIR_OK or WEIR_E_HANDLE. */
int weir__queue_close(uint64_t handle);

/* Ends every queue of an engine that is shutting down. */
void weir__queue_close_all(struct weir__engine *engine);

/* Frees the ended queues that no call can hold any more; all of them if so told.
 * Locks: takes the engine's. */
void weir__queue_clear_limbo(struct weir__engine *engine, bool all);

/* In a forked child: close(2) on the descriptors of an engine's queues. */
void weir__queue_forget_all(struct weir__engine *engine);

int64_t weir__queue_fd(struct weir__queue *queue);
void weir__queue_wake(struct weir__queue *queue);

/* weir_queue_take() until deadline.  A caller that has to sleep leaves its call
 * (*inout_self becomes NULL): a taker may sleep for ever, and pools that were
 * closed meanwhile must not wait for it. */
int weir__queue_take(struct weir__queue *queue,
                     struct weir__caller **inout_self,
                     uint64_t deadline,
                     struct weir_completion *out,
                     struct weir_error *err);

#endif
