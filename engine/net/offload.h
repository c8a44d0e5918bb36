/* SPDX-License-Identifier: MIT */
/* offload.h - the engine's own threads for work that blocks.
 *
 * Threads start when there is work for them, at most max_threads, with all
 * signals blocked.  Once started they stay, asleep without any wake-up, until
 * the end: a burst that came once will come again.
 *
 * Fairness: jobs with one fair_key run in order; keys take turns.  A key that
 * runs k jobs starts another only while more than k of the max_threads threads
 * are free, so a slow endpoint gets at most half of them (two get a third each,
 * and so on) and one that runs nothing never waits for a busy one while a thread
 * is free. */
#ifndef WEIR_NET_OFFLOAD_H
#define WEIR_NET_OFFLOAD_H

#include <stdbool.h>
#include <stdint.h>

struct weir__offload;
struct weir__lane;

#define WEIR_OFFLOAD_THREADS_MAX 256u

/* A piece of work in its owner's memory: set run, drop and fair_key, zero the
 * rest.  Exactly one of these ends it: run(), drop(), or a
 * weir__offload_withdraw() that answered true.  Once run() or drop() has been
 * called the job is not touched any more and may be freed from inside.  Jobs are
 * dropped at stop, and when not a single thread could be started for them. */
struct weir__job {
  void (*run)(struct weir__job *job);  /* on an offload thread, no lock held */
  void (*drop)(struct weir__job *job); /* will never run: see stop; or NULL */
  uint64_t fair_key;

  struct weir__job *next; /* the rest is the offload's */
  struct weir__job *prev;
  struct weir__lane *lane; /* not NULL while it is queued */
};

/* max_threads: 1 to WEIR_OFFLOAD_THREADS_MAX.  Starts no thread yet.
 * Returns 0, -EINVAL or -ENOMEM.  Owns: *out until weir__offload_stop(). */
int weir__offload_new(uint32_t max_threads, struct weir__offload **out);

/* Queues a job.
 * Returns 0; -ENOMEM; -ESHUTDOWN: stopping; another -errno: there is no thread
 * and none could be started.  On failure the job was not taken.
 * Threads: any.  Blocks: no.  Takes a lock of rank OFFLOAD. */
int weir__offload_submit(struct weir__offload *offload, struct weir__job *job);

/* Takes a job back that was submitted.
 * Returns true: it had not started and never will; false: it has started, has
 * ended or was dropped.  Threads: any, as long as the job's memory is there.
 * Blocks: no.  Takes a lock of rank OFFLOAD. */
bool weir__offload_withdraw(struct weir__offload *offload,
                            struct weir__job *job);

struct weir__offload_stats {
  uint32_t threads; /* started */
  uint32_t busy;    /* inside run() */
  uint64_t queued;
  uint64_t done;
};

/* Threads: any.  Takes a lock of rank OFFLOAD. */
void weir__offload_stats(struct weir__offload *offload,
                         struct weir__offload_stats *out);

/* Drops what is queued, waits for what runs until deadline (clock.h), joins the
 * threads that have come back and lets go of the others, which free what is
 * left when they return.  *offload is gone afterwards; jobs that are still
 * running must not use it.
 * Returns the number of jobs still inside foreign code.  NULL is fine: 0.
 * Threads: any but its own; once.  Blocks: until deadline. */
uint32_t weir__offload_stop(struct weir__offload *offload, uint64_t deadline);

#endif
