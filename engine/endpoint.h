/* SPDX-License-Identifier: MIT */
/* endpoint.h - one server, as all pools of an engine share it: its breaker, its
 * budget of sessions, its last error.
 *
 * An endpoint is what a driver calls so (the ENDPOINT parts of a key).  It lives
 * as long as a pool refers to it; a closed pool does until its last session is
 * gone, so that its sessions count for the one that is opened after it.
 *
 * The mutex has the rank ENDPOINT, after POOL: a pool asks while it holds its own.
 * Nobody is woken from here with two pools locked: whatever concerns another pool
 * is posted to it (weir__tend). */
#ifndef WEIR_ENDPOINT_H
#define WEIR_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#include "breaker.h"
#include "budget.h"
#include "classify.h"
#include "sys/mutex.h"

/* The ticket of a connect that has none: its pool asks no breaker, or it has been
 * handed in. */
#define WEIR_ENDPOINT_NO_TICKET UINT32_MAX

struct weir__cause;
struct weir__driver;
struct weir__engine;
struct weir__key;
struct weir__pool;
struct weir__slot;

/* A pool's seat at its endpoint. */
struct weir__seat {
  struct weir__endpoint *endpoint; /* a reference; fixed */
  /* Guarded by the endpoint's mutex. */
  struct weir__budget_member member;
  struct weir__seat *next; /* of those that are seated */
  struct weir__seat **prev;
  bool seated;
  bool evict; /* to give its longest idle connection up for a sibling */
};

struct weir__endpoint {
  struct weir__endpoint *next; /* in the engine's list, guarded by its mutex, */
  uint32_t references;         /* as is this */
  const struct weir__driver *driver;
  uint8_t *key; /* len bytes */
  size_t len;

  struct weir__mutex mu; /* rank ENDPOINT; guards all below */
  struct weir__breaker breaker;
  struct weir__budget budget;
  struct weir__seat *seats;
  struct weir__cause *last; /* of the last connect that failed; or NULL */
  bool evicting;            /* one seat has been asked */
};

/* Gives the pool a seat at the endpoint of its key, which is made if it is the
 * first.  False: no memory.  Locks: takes the engine's. */
bool weir__endpoint_open(struct weir__pool *pool);

/* The pool has no session any more and opens none: it is posted nothing from here
 * on.  Twice is fine. */
void weir__endpoint_leave(struct weir__pool *pool);

/* Gives the reference back.  Locks: takes the engine's. */
void weir__endpoint_close(struct weir__pool *pool);

/* Leave to begin one connect at `now`: what it has to hand in is noted in the
 * slot when it begins.  The pool's mutex is held by callers of all that
 * follows, unless said otherwise. */
enum weir__leave {
  WEIR_LEAVE_GIVEN, /* *out_ticket; ends with weir__endpoint_ended() */
  WEIR_LEAVE_LATER, /* ask again at *out_at, or when tended to */
  WEIR_LEAVE_DOWN   /* the same, and the breaker is why */
};
enum weir__leave weir__endpoint_begin(struct weir__pool *pool,
                                      uint64_t now,
                                      uint32_t *out_ticket,
                                      uint64_t *out_at);

/* True if the endpoint is thought well, or the pool does not ask: a session may be
 * replaced, which keeps its unit of the budget.  *out_ticket is to be handed in. */
bool weir__endpoint_is_well(struct weir__pool *pool, uint32_t *out_ticket);

/* How a connect has ended. */
enum weir__outcome {
  WEIR_OUTCOME_GOOD,
  WEIR_OUTCOME_DROPPED, /* not begun, or nobody waited for its end */
  WEIR_OUTCOME_BAD
};

/* The connect of that ticket has ended; class and error: of a BAD one.  Has every
 * pool of the endpoint tended to if that changes what they may do.  Returns true
 * if it is the first failure of its kind: the breaker has opened.  The unit of the
 * budget stays taken.  Threads: any; the pool's mutex may be held. */
bool weir__endpoint_ended(struct weir__pool *pool,
                          uint32_t ticket,
                          enum weir__outcome outcome,
                          enum weir__class class,
                          const struct weir_error *error);

/* A session that was in use said that the server has too much to do. */
void weir__endpoint_overloaded(struct weir__pool *pool);

/* Several sessions were lost at once: the next connect goes first and alone.
 * Threads: any; the pool's mutex may be held. */
void weir__endpoint_lost(struct weir__pool *pool);

/* A session of the pool is gone for good: the unit is free for whoever is next. */
void weir__endpoint_give(struct weir__pool *pool);

/* The pool wants no more sessions for now. */
void weir__endpoint_content(struct weir__pool *pool);

/* True, once, if the pool is to give an idle connection up for a sibling. */
bool weir__endpoint_evicts(struct weir__pool *pool);

/* It had none to give. */
void weir__endpoint_kept(struct weir__pool *pool);

/* The error of an acquire that is refused because the endpoint is down, as a new
 * cause; NULL: no memory. */
struct weir__cause *weir__endpoint_down(struct weir__pool *pool, uint64_t now);

/* The error of the last connect of any pool that failed, as a reference; NULL: none
 * has, or the breaker is closed, and it is of the past.  The pool's mutex need not
 * be held. */
struct weir__cause *weir__endpoint_trouble(struct weir__pool *pool);

/* For statistics. */
struct weir__endpoint_view {
  uint32_t breaker; /* WEIR_BREAKER_* */
  uint32_t reach;   /* most sessions the pool could have now */
};
void weir__endpoint_look(struct weir__pool *pool,
                         struct weir__endpoint_view *out);

/* The pool's Endpoint Max Connections may have changed: who waits for a unit is
 * told if there is one now.  Takes the endpoint's mutex. */
void weir__endpoint_changed(struct weir__pool *pool);

#endif
