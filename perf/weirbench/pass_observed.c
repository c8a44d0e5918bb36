/* SPDX-License-Identifier: MIT */
/* The observed pass: waits, allocations, utilisation. */
#include <stdlib.h>
#include <string.h>

#include "alloc.h"
#include "pass.h"

/* Acquires of one iteration that are stamped at most. */
#define STAMPS_MAX (UINT64_C(1) << 18)

struct observed {
  struct histogram *wait;
  struct stamp *stamps; /* room for ops */
  uint64_t ops;
  uint64_t done;
  uint64_t allocs;
  uint64_t frees;
  int64_t held_ns;
  int64_t wall_ns;
};

/* The stamps of all workers, moved to the beginning of the room. */
static uint64_t gather(const struct stage *stage, struct stamp *room) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    const struct worker *w = &stage->workers[i];
    memmove(room + n, w->stamps, (size_t)w->n_stamps * sizeof *room);
    n += w->n_stamps;
  }
  return n;
}

static int observed_iteration(struct stage *stage,
                              struct observed *sum,
                              struct observation *seen,
                              struct result *out) {
  if (pass_prepare(stage) != 0) {
    return -1;
  }
  alloc_count(true);
  sum->wall_ns += stage->workload->body(stage);
  alloc_count(false);
  struct alloc_counts allocs = alloc_read();
  sum->allocs += allocs.allocs;
  sum->frees += allocs.frees;
  sum->done += pass_sums(stage).done;
  sum->held_ns += pass_sums(stage).held_ns;
  observe(sum->stamps, gather(stage, sum->stamps), seen);
  histogram_merge(sum->wait, &seen->wait);
  out->overtakes += seen->overtakes;
  out->waiters_max = seen->waiters_max > out->waiters_max ? seen->waiters_max
                                                          : out->waiters_max;
  return pass_verdict(stage);
}

static void finish_observed(const struct trial *trial,
                            const struct observed *sum,
                            struct result *out) {
  double ops = sum->done == 0 ? 1 : (double)sum->done;
  double room = (double)trial->params.v[PARAM_MAX_POOL] * (double)sum->wall_ns;
  out->observed_ops = sum->done;
  out->allocs_per_op = (double)sum->allocs / ops;
  out->frees_per_op = (double)sum->frees / ops;
  out->waits = sum->wait->count;
  out->wait_mean = histogram_mean(sum->wait);
  out->wait_p50 = histogram_at(sum->wait, 500);
  out->wait_p99 = histogram_at(sum->wait, 990);
  out->wait_max = sum->wait->max;
  out->utilisation = room > 0 ? (double)sum->held_ns / room : 0;
}

static int begin_observed(const struct trial *trial,
                          struct stage *stage,
                          struct observed *sum) {
  uint64_t ops = trial->workload->ops(&trial->params);
  sum->ops = ops < STAMPS_MAX ? ops : STAMPS_MAX;
  sum->wait = calloc(1, sizeof *sum->wait);
  sum->stamps = calloc((size_t)sum->ops, sizeof *sum->stamps);
  if (sum->wait == NULL || sum->stamps == NULL) {
    fault_set(&stage->fault, "no memory");
    return -1;
  }
  pass_deal(stage, PASS_OBSERVED, sum->ops, sum->stamps);
  return 0;
}

static int observe_all(const struct trial *trials,
                       struct stage *stages,
                       uint32_t n,
                       struct observed *sums,
                       struct result *out) {
  struct observation *seen = calloc(1, sizeof *seen);
  if (seen == NULL) {
    fault_set(&stages->fault, "no memory");
    return -1;
  }
  int rc = 0;
  for (uint32_t i = 0; i < trials->observed && rc == 0; i++) {
    pass_tell(trials, trials->iterations + i);
    for (uint32_t k = 0; k < n && rc == 0; k++) {
      uint32_t t = pass_turn(i, k, n);
      rc = observed_iteration(&stages[t], &sums[t], seen, &out[t]);
    }
  }
  free(seen);
  return rc;
}

int pass_observed(const struct trial *trials,
                  struct stage *stages,
                  uint32_t n,
                  struct result *out) {
  struct observed *sums = calloc(n, sizeof *sums);
  int rc = 0;
  if (sums == NULL) {
    fault_set(&stages->fault, "no memory");
    return -1;
  }
  for (uint32_t i = 0; i < n && rc == 0; i++) {
    rc = begin_observed(&trials[i], &stages[i], &sums[i]);
  }
  rc = rc == 0 ? observe_all(trials, stages, n, sums, out) : rc;
  for (uint32_t i = 0; i < n; i++) {
    if (rc == 0) {
      finish_observed(&trials[i], &sums[i], &out[i]);
    }
    free(sums[i].stamps);
    free(sums[i].wait);
  }
  free(sums);
  return rc;
}
