/* SPDX-License-Identifier: MIT */
/* plan.h - what is compared with what. */
#ifndef PEERS_PLAN_H
#define PEERS_PLAN_H

#include <stdint.h>

#include "pool.h"
#include "result.h"
#include "workload.h"

/* The pools.  The first is the one that others are measured against; the second
 * is the same once more, so that its ratio shows the noise. */
enum {
  POOL_WEIR,
  POOL_WEIR_AGAIN,
  POOL_APR,
  POOL_SLOT,
  POOL_CONDVAR,
  POOL_HANDOVER,
  POOL_NONE,
  POOLS
};

struct plan_pool {
  const char *name;
  const struct pool_kind *kind; /* NULL: not built here */
};

extern const struct plan_pool plan_pools[POOLS];

/* A figure of a result, and how it is called. */
struct figure {
  const char *name;
  double (*of)(const struct result *r);
};

#define PLAN_FIGURES 4u
#define PLAN_SETS    5u

/* One workload with some of its parameters set, and who takes part. */
struct plan_part {
  const struct workload *workload;
  const char *sets[PLAN_SETS];
  uint32_t pools; /* bits: 1 << POOL_X */
  const struct figure *figures[PLAN_FIGURES];
};

/* All parts; *out_n gets their number. */
const struct plan_part *plan_parts(uint32_t *out_n);

#endif
