/* SPDX-License-Identifier: MIT */
/* worker.h - one caller of a pool: takes, uses, gives back, and keeps count.
 *
 * The same workload is run three times over: plain, which is timed; observed,
 * where each acquire is stamped and allocations are counted; traced, where
 * system calls are counted.  So nothing that is counted costs the time that is
 * measured. */
#ifndef WEIRBENCH_WORKER_H
#define WEIRBENCH_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fault.h"
#include "observe.h"
#include "pool.h"

enum pass {
  PASS_PLAIN,
  PASS_OBSERVED,
  PASS_TRACED
};

/* Where callers draw the numbers of their stamps; a cache line each. */
struct order {
  _Alignas(64) _Atomic uint64_t asked;
  _Alignas(64) _Atomic uint64_t got;
};

struct stage;

struct worker {
  const struct pool_kind *kind;
  void *pool;
  struct stage *stage; /* what is the same for all workers */
  enum pass pass;
  uint32_t index;
  uint64_t quota; /* acquires to do in this iteration */

  /* Of this iteration. */
  uint64_t done;     /* leases taken and given back */
  uint64_t timeouts; /* acquires that timed out */
  int64_t begun_ns;  /* first and last moment of its work */
  int64_t ended_ns;
  struct fault fault;

  /* Observed pass only. */
  struct order *order;
  struct stamp *stamps; /* room for quota */
  uint64_t n_stamps;
  int64_t got_ns;  /* since when the lease at hand is held */
  int64_t held_ns; /* sum over leases that were given back */
};

/* Of the calling thread, once: it belongs to the bench. */
void worker_thread_begin(void);

/* Forgets the counts of the last iteration. */
void worker_reset(struct worker *w);

/* Takes a connection.  Returns false after a time-out, which is counted, or a
 * failure, which is noted. */
bool worker_take(struct worker *w, uint64_t *out_lease);

/* Gives it back; counts it as done. */
void worker_give(struct worker *w, uint64_t lease);

/* Runs the statement, if there is a server. */
void worker_query(struct worker *w, uint64_t lease);

/* Before and after a call into the pool, for those who make one themselves: from
 * here to there allocations and system calls count. */
void worker_call_begin(const struct worker *w);
void worker_call_end(const struct worker *w);

#endif
