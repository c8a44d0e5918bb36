/* SPDX-License-Identifier: MIT */
/* param.h - the parameters of workloads, by name. */
#ifndef WEIRBENCH_PARAM_H
#define WEIRBENCH_PARAM_H

#include <stdbool.h>
#include <stdint.h>

#include "fault.h"

enum param {
  PARAM_CONNECTIONS, /* callers that open one connection each */
  PARAM_THREADS,     /* callers */
  PARAM_MAX_POOL,    /* Max Pool Size */
  PARAM_DEPTH,       /* idle connections the pool is warmed to */
  PARAM_OPS,         /* acquires; see the workload: in all or per caller */
  PARAM_HOLD_US,     /* sleep while holding instead of a statement */
  PARAM_HOLD_US_MAX, /* upper end of a random hold */
  PARAM_WAVES,       /* bursts */
  PARAM_MIN_WORKERS, /* threads the executor starts with */
  PARAM_COUNT
};

/* One row of a workload: a value for each parameter that it uses. */
struct params {
  bool used[PARAM_COUNT];
  uint32_t v[PARAM_COUNT];
};

/* What the user has set. */
struct param_sets {
  bool set[PARAM_COUNT];
  uint32_t v[PARAM_COUNT];
};

const char *param_name(enum param p);

/* Reads "name=value" into *sets.  Returns 0, or -1 with *fault telling what is
 * wrong and which names there are. */
int param_set(struct param_sets *sets, const char *text, struct fault *fault);

#endif
