/* SPDX-License-Identifier: MIT */
/* workload.h - what is done to a pool, by name. */
#ifndef WEIRBENCH_WORKLOAD_H
#define WEIRBENCH_WORKLOAD_H

#include <stdint.h>

#include "crew.h"
#include "executor.h"
#include "param.h"
#include "rendezvous.h"
#include "worker.h"

#define WORKLOAD_VALUES 4u
#define WORKLOAD_AXES   6u

/* A parameter of a workload and its values: the rows are all combinations. */
struct axis {
  enum param param;
  uint32_t n;
  uint32_t values[WORKLOAD_VALUES];
};

/* A workload being run on one pool with one row of parameters. */
struct stage {
  const struct workload *workload;
  const struct pool_kind *kind;
  void *pool;
  struct params params;
  struct worker *workers;
  uint32_t n_workers;
  struct order order;
  struct fault fault; /* what is nobody's in particular */
  struct crew crew;
  struct executor executor;
  struct rendezvous gate;
  uint64_t queue; /* of submitted acquires */
  struct task *tasks;
  uint32_t n_tasks;
};

struct workload {
  const char *name;
  const char *what; /* one line for "list" */

  /* Fills axes (room for WORKLOAD_AXES) and returns their number. */
  uint32_t (*axes)(struct axis *axes);

  bool submits; /* makes acquires that do not block */
  /* Each of "connections" is a thread: "threads" is the same. */
  bool thread_each;

  /* Callers; acquires of one iteration, which they share. */
  uint32_t (*workers)(const struct params *params);
  uint64_t (*ops)(const struct params *params);

  /* Once, after the pool was opened and the workers were made; before each
   * iteration; after the last.  The first two return 0, or -1 with
   * stage->fault. */
  int (*prepare)(struct stage *stage);
  int (*before)(struct stage *stage);
  void (*finish)(struct stage *stage);

  /* One iteration: each worker makes its quota of acquires.  Returns the wall
   * time it took.  Failures are left in the workers' faults. */
  int64_t (*body)(struct stage *stage);

  /* Iterations with and without --quick. */
  uint32_t iterations;
  uint32_t iterations_quick;
};

extern const struct workload workload_cold_start_ramp;
extern const struct workload workload_cold_start_ramp_async;
extern const struct workload workload_rapid_fire;
extern const struct workload workload_rapid_fire_async;
extern const struct workload workload_single_thread;
extern const struct workload workload_single_thread_async;
extern const struct workload workload_saturated_sync;

/* All there are; *out_n gets their number. */
const struct workload *const *workload_list(uint32_t *out_n);

/* NULL if there is none of the name. */
const struct workload *workload_find(const char *name);

/* Writes the rows of a workload, as far as the user's settings leave them open,
 * to out (room for cap) and returns their number.  Returns 0 with *fault when
 * the user has set what the workload does not have. */
uint32_t workload_rows(const struct workload *workload,
                       const struct param_sets *sets,
                       struct params *out,
                       uint32_t cap,
                       struct fault *fault);

/* Helpers for workloads. */

/* Longest that callers wait for each other. */
#define RENDEZVOUS_NS INT64_C(120000000000)

/* From the first worker's beginning to the last one's end. */
int64_t stage_span(const struct stage *stage);

/* Opens depth connections at once and gives them back.  Returns 0, or -1 with
 * stage->fault. */
int stage_warm(struct stage *stage, uint32_t depth);

#endif
