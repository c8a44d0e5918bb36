/* SPDX-License-Identifier: MIT */
/* trial.h - runs one row of one workload on one kind of pool. */
#ifndef WEIRBENCH_TRIAL_H
#define WEIRBENCH_TRIAL_H

#include <stdint.h>

#include "pool.h"
#include "result.h"
#include "workload.h"

struct trial {
  const struct pool_kind *kind;
  struct pool_config config; /* max_pool is taken from the row */
  const struct workload *workload;
  struct params params;
  uint32_t iterations;
  uint32_t observed; /* iterations of the observed pass */
  /* Optional: told before each iteration that is measured or observed. */
  void (*progress)(void *arg, uint32_t done, uint32_t all);
  void *progress_arg;
};

/* The traced pass, in a child: fills in the system calls of *out, or why they
 * are not known.  Threads: the caller must be the only one and may not have an
 * engine. */
void trial_trace(const struct trial *trial, struct result *out);

/* The plain and the observed pass: fills in all else.  Returns 0, or -1 with
 * *fault. */
int trial_run(const struct trial *trial,
              struct result *out,
              struct fault *fault);

/* The most trials that run side by side. */
#define TRIALS_TOGETHER 8u

/* The same of n trials, 1 to TRIALS_TOGETHER, which differ in their pools alone:
 * all pools are open at once, and each iteration is made with one after another, the
 * other way round in every other iteration. */
int trial_run_together(const struct trial *trials,
                       uint32_t n,
                       struct result *out,
                       struct fault *fault);

/* Starts a thread that sleeps until the process ends: glibc drops lock prefixes
 * in a process with one thread, which flatters any pool. */
void trial_park_thread(void);

#endif
