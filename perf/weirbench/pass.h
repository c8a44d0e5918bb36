/* SPDX-License-Identifier: MIT */
/* pass.h - the passes of a trial, and what they share. */
#ifndef WEIRBENCH_PASS_H
#define WEIRBENCH_PASS_H

#include "trial.h"

/* Over all workers, of one iteration. */
struct sums {
  uint64_t done;
  uint64_t timeouts;
  int64_t held_ns;
};

/* Sets what the workers do in the next iterations: ops acquires, shared evenly.
 * stamps: room for as many, or NULL. */
void pass_deal(struct stage *stage,
               enum pass pass,
               uint64_t ops,
               struct stamp *stamps);

/* Before an iteration: the workload's part, and fresh counts.  Returns 0, or -1
 * with stage->fault. */
int pass_prepare(struct stage *stage);

/* One iteration that is not measured.  Returns as pass_prepare(). */
int pass_warm_up(struct stage *stage);

/* After an iteration: takes a worker's failure, if there was one, for the
 * stage's; that every acquire has timed out is one, too.  Returns -1 if there was
 * any. */
int pass_verdict(struct stage *stage);

struct sums pass_sums(const struct stage *stage);

/* Tells how many iterations of the trial are done. */
void pass_tell(const struct trial *trial, uint32_t done);

/* Whose turn is the k-th of an iteration, of n trials side by side. */
uint32_t pass_turn(uint32_t iteration, uint32_t k, uint32_t n);

/* The passes, on n open stages, as many trials that differ in their pools alone:
 * fill in their part of out[0..n-1].  Return 0, or -1 with the fault of a stage. */
int pass_plain(const struct trial *trials,
               struct stage *stages,
               uint32_t n,
               struct result *out);
int pass_observed(const struct trial *trials,
                  struct stage *stages,
                  uint32_t n,
                  struct result *out);

#endif
