/* SPDX-License-Identifier: MIT */
/* waiter.h - who waits: an acquire in line, in the memory of its caller or of an
 * entry of a queue.
 *
 * A node is in one of two lists of its pool, each first come, first served:
 * `waiting` (asleep, or submitted) or `driving` (opening a connection of its own,
 * which a submitted one never does).  Whoever holds the pool's mutex may take a
 * node out of its list and decide it; the decision is the store of `state`, after
 * which the node is its caller's and may be gone.  So the one to be woken is noted
 * before the store, in a struct weir__wakes, and woken after the mutex is free.
 *
 * One in `waiting` may be told that a connection is idle and that it should try to
 * take it: the trier, one at a time in each pool (dispatch.h).  It keeps its place
 * until it has one.
 *
 * With Pool Async=dispatcher at most one submitted node is in `waiting`, the oldest
 * of them.  The others are behind it, in a list of its own, in the order of their
 * coming.  Nobody need know: whatever takes one out of `waiting` has the next come
 * in, because weir__waiters_remove() does; and one that is behind leaves by the same
 * call.
 *
 * A submitted node (no caller) is not gone before its completion has been posted,
 * and nobody but the one who decided it posts: so the nodes themselves are noted,
 * in a list by their `next`, and posted after the mutex is free. */
#ifndef WEIR_WAITER_H
#define WEIR_WAITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "caller.h"
#include "sys/atomic.h"

struct weir__cause;
struct weir__slot;

enum weir__waiter_state {
  WEIR_WAITER_WAITING = 0,
  WEIR_WAITER_TRYING,  /* as WAITING, and woken to look for an idle slot */
  WEIR_WAITER_DRIVING, /* slot is CONNECTING and this caller's to open */
  WEIR_WAITER_GRANTED, /* granted is LEASED, with granted_word */
  WEIR_WAITER_FAILED   /* code says why, and cause if there is one */
};

struct weir__waiter {
  struct weir__waiter *next;
  struct weir__waiter *prev;
  struct weir__caller *caller; /* NULL: submitted; an entry of a queue */
  uint64_t deadline;
  uint64_t since;
  _Atomic uint32_t state;
  int32_t code;
  struct weir__cause *cause; /* FAILED: a reference, the owner's now; or NULL */
  struct weir__slot *slot;   /* to be opened by this caller, not yet begun */
  struct weir__slot *granted;
  uint64_t granted_word;
  uint64_t waited; /* until it was granted, as the pool's sums have it */
  uint32_t before; /* that were in front when it gave up: dispatch.c */
  bool behind;     /* in line behind another: Pool Async=dispatcher */
  bool strict;     /* its time is its connect's, too, whatever the pool says */
  bool opened_for; /* a connect was begun for one that opens none itself */
};

struct weir__waiters {
  struct weir__waiter *first;
  struct weir__waiter *last;
  uint32_t n;
  uint32_t n_submitted;         /* of them, those without a caller */
  struct weir__waiter *trier;   /* the one that is TRYING, or NULL */
  struct weir__waiters *behind; /* its submitted nodes but one; or NULL */
  bool moved_up; /* one has come from behind since the last dispatch */
};

/* All that is in a list, or behind it. */
static inline uint32_t weir__waiters_all(const struct weir__waiters *list) {
  return list->n + (list->behind == NULL ? 0 : list->behind->n);
}

/* At the end of the line; a submitted one behind it if another is in line. */
void weir__waiters_push(struct weir__waiters *list, struct weir__waiter *w);

/* In front of all; another submitted one goes back behind the line for it, unless
 * it is the older one. */
void weir__waiters_push_front(struct weir__waiters *list,
                              struct weir__waiter *w);

/* From the line or from behind it, wherever it is; in the former case the first
 * from behind comes into line, where its time of coming puts it.  Whoever removes
 * the trier, or has one move up, dispatches before the mutex is free, or as soon as
 * it has been: what it is to look for may be there. */
void weir__waiters_remove(struct weir__waiters *list, struct weir__waiter *w);

/* Puts it where it was: before those who came later.  Not a submitted one. */
void weir__waiters_restore(struct weir__waiters *list, struct weir__waiter *w);

#define WEIR_WAKES_MAX 32u

struct weir__wakes {
  struct weir__caller *asleep[WEIR_WAKES_MAX];
  struct weir__caller *polling[WEIR_WAKES_MAX];
  uint32_t n_asleep;
  uint32_t n_polling;
  struct weir__waiter *first_submitted; /* in the order of their decisions */
  struct weir__waiter *last_submitted;
};

/* True if another decision could still be noted. */
static inline bool weir__wakes_room(const struct weir__wakes *wakes) {
  return wakes->n_asleep < WEIR_WAKES_MAX && wakes->n_polling < WEIR_WAKES_MAX;
}

/* The only writer of a node's state.  Aborts debug builds on a move that makes no
 * sense.  Release: publishes slot, granted and code.  Unless the node stays WAITING
 * or TRYING or is the calling thread's own, it may be gone afterwards.  Mutex
 * held. */
void weir__waiter_move(struct weir__waiter *w, enum weir__waiter_state to);

/* Has the caller of a node in `waiting` try.  Mutex held. */
void weir__waiter_try(struct weir__waiters *list,
                      struct weir__waiter *w,
                      struct weir__wakes *wakes);

/* The trier begins to look: it waits as before.  Mutex held. */
void weir__waiter_untry(struct weir__waiters *list);

/* Decides a node that is in no list any more.  Mutex held. */
void weir__waiter_decide(struct weir__waiter *w,
                         enum weir__waiter_state state,
                         struct weir__wakes *wakes);

/* Wakes everyone noted but self and posts what was submitted.  The pool's mutex is
 * not held, nor any of rank LEAF; others may be. */
void weir__wakes_flush(struct weir__wakes *wakes,
                       const struct weir__caller *self);

/* Sleeps until the node is decided or to try, or the deadline has passed.  Returns
 * the state seen, maybe still WAITING. */
enum weir__waiter_state weir__waiter_sleep(struct weir__waiter *w);

/* In line without a connect of its own. */
static inline bool weir__waiter_waits(enum weir__waiter_state state) {
  return state == WEIR_WAITER_WAITING || state == WEIR_WAITER_TRYING;
}

static inline enum weir__waiter_state weir__waiter_state(
    const struct weir__waiter *w) {
  /* Acquire: pairs with the release in weir__waiter_move(). */
  return (enum weir__waiter_state)weir__load_acquire_u32(&w->state);
}

#endif
