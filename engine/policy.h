/* SPDX-License-Identifier: MIT */
/* policy.h - how a pool behaves: six choices, each from a table of its own and each
 * with a key of its own in the connection string.
 *
 * A policy decides; it owns no memory, blocks nowhere and calls no driver.  What it
 * has to remember lies in the pool.  Functions are called with the pool's mutex
 * held unless said otherwise; none may be NULL.  Policies are read when a pool is
 * made and do not change while it lives. */
#ifndef WEIR_POLICY_H
#define WEIR_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "classify.h"

struct weir__cause;
struct weir__look;
struct weir__pool;
struct weir__settings;
struct weir__slot;
struct weir__waiter;

/* Pool Idle Order: which idle connection is handed out first.  The slot's word alone
 * says whether it is idle (idle.h); this only finds it.  Any thread; the pool's
 * mutex may be held. */
struct weir__idle_policy {
  const char *name;
  bool listed; /* has a list of its own (idle_list.h), and no bitmap */
  /* As weir__idle_take(). */
  struct weir__slot *(*take)(struct weir__pool *pool,
                             uint32_t generation,
                             uint64_t *out_word);
  /* As weir__idle_note(): the word of that slot is IDLE. */
  void (*note)(struct weir__pool *pool, uint32_t index, bool again);
  /* As weir__idle_any(). */
  bool (*any)(struct weir__pool *pool, uint32_t generation);
};

/* Pool Growth: how many connects waiting acquires start. */
struct weir__growth_policy {
  const char *name;
  /* For whom one more connect should begin at `now`, if the limits allow it: a
   * waiter in `waiting`, not the trier.  For those who do not block it is enough
   * that one of them is meant.  NULL: what is under way or lent out will do, and
   * *out_at is when time alone may change that, or WEIR_NEVER.
   * tried: idle connections that the first in line are about to take.  leased:
   * connections that are lent out. */
  struct weir__waiter *(*opener)(struct weir__pool *pool,
                                 uint64_t now,
                                 uint32_t tried,
                                 uint32_t leased,
                                 uint64_t *out_at);
  uint32_t at_once; /* connects under way; UINT32_MAX: no limit of its own */
  uint32_t filling; /* of them, for Min Pool Size */
  bool pauses;      /* fills nothing for a moment after its opening, a clear */
};

/* Pool Handoff: who gets a connection that comes back. */
enum weir__overtaking {
  WEIR_OVERTAKE_NEVER,   /* nobody looks for an idle one while somebody waits */
  WEIR_OVERTAKE_BOUNDED, /* for Handoff Bound; then it is handed over */
  WEIR_OVERTAKE_ALWAYS   /* whoever is there first has it */
};

struct weir__handoff_policy {
  const char *name;
  /* Who gets a connection that has come free at `now`: a waiter still in its list,
   * or NULL.  (Bounded and barging: or who is first to be woken to try.) */
  struct weir__waiter *(*heir)(struct weir__pool *pool, uint64_t now);
  enum weir__overtaking overtaking;
  bool openers; /* so may be one who opens a connection of its own */
};

/* Pool Trim: which connections nobody has needed lately. */
struct weir__trim_policy {
  const char *name;
  /* Wants a look as soon as the pool has come down to Min Pool Size: `fell` in
   * upkeep_look.h. */
  bool falls;
  /* Of those whose life is over only some leave at a time: retire.h. */
  bool rations;
  /* One look, if it is due, and what follows from it.  On the reactor; no lock. */
  void (*look)(struct weir__look *look);
};

/* Pool Failure: what a failed connect means for the other callers. */
struct weir__failure_verdict {
  bool stay; /* the caller keeps its place in line; the time-out will tell it */
  bool all;  /* all who wait fail with it */
  bool one;  /* the first in line who has no connect under way fails with it */
  uint64_t again_ns; /* they are told that nobody asks before; 0: nothing */
};

struct weir__failure_policy {
  const char *name;
  bool breaker; /* asks the endpoint's breaker, and tells it how connects end */
  /* Whether a connect may begin at `now`, as far as those before it go.  False:
   * *out_at says when time alone may change that; WEIR_NEVER: the end of one that
   * is under way will. */
  bool (*allows)(struct weir__pool *pool, uint64_t now, uint64_t *out_at);
  /* It begins; one that began at `begun` has told nothing. */
  void (*begun)(struct weir__pool *pool, uint64_t now);
  void (*dropped)(struct weir__pool *pool, uint64_t begun);
  /* Whether one who needs a connect that may not begin at `now` is told so instead
   * of waiting: who comes, or those who are in line.  True: *out_cause is the error,
   * a new reference (NULL: no memory). */
  bool (*refuses)(struct weir__pool *pool,
                  uint64_t now,
                  bool comes,
                  struct weir__cause **out_cause);
  /* A connect that began at `begun` has failed. */
  struct weir__failure_verdict (*judge)(struct weir__pool *pool,
                                        enum weir__class class,
                                        struct weir__cause *cause,
                                        uint64_t begun);
  /* A connect has succeeded, or the user knows better. */
  void (*mended)(struct weir__pool *pool);
  /* How long no connect begins because some have failed; 0: one may. */
  uint64_t (*blocked_ns)(const struct weir__pool *pool, uint64_t now);
};

/* Pool Async: how acquires that do not block wait. */
struct weir__async_policy {
  const char *name;
  bool one_by_one; /* only the first of them is in line, the others behind it */
};

struct weir__policies {
  const struct weir__idle_policy *idle;
  const struct weir__growth_policy *growth;
  const struct weir__handoff_policy *handoff;
  const struct weir__trim_policy *trim;
  const struct weir__failure_policy *failure;
  const struct weir__async_policy *async;
};

/* Those that the settings name. */
struct weir__policies weir__policies_of(const struct weir__settings *set);

extern const struct weir__idle_policy weir__idle_affinity;
extern const struct weir__idle_policy weir__idle_lifo;
extern const struct weir__idle_policy weir__idle_fifo;
extern const struct weir__growth_policy weir__growth_adaptive;
extern const struct weir__growth_policy weir__growth_serial;
extern const struct weir__growth_policy weir__growth_parallel;
extern const struct weir__handoff_policy weir__handoff_bounded;
extern const struct weir__handoff_policy weir__handoff_direct;
extern const struct weir__handoff_policy weir__handoff_queued;
extern const struct weir__handoff_policy weir__handoff_barging;
extern const struct weir__trim_policy weir__trim_by_peak;
extern const struct weir__trim_policy weir__trim_by_sweep;
extern const struct weir__trim_policy weir__trim_by_median;
extern const struct weir__failure_policy weir__failure_breaker;
extern const struct weir__failure_policy weir__failure_all;
extern const struct weir__failure_policy weir__failure_one;
extern const struct weir__async_policy weir__async_queue;
extern const struct weir__async_policy weir__async_dispatcher;

#endif
