/* SPDX-License-Identifier: MIT */
/* The plain pass: time, processor time, connects. */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "pass.h"

#define WARM_UPS 2u

struct plain {
  int64_t *walls; /* of each iteration */
  uint64_t done;
  int64_t wall_ns;
  int64_t cpu_ns;
  uint64_t wait_bucket[POOL_BUCKETS];
  uint64_t wait_max_ns;
  uint64_t wait_sum_ns;
};

static void note_connects(struct result *out, uint64_t n) {
  bool first = out->iterations == 0;
  out->connects += n;
  out->connects_min = first || n < out->connects_min ? n : out->connects_min;
  out->connects_max = n > out->connects_max ? n : out->connects_max;
}

/* What the pool did between two counts, beside what came of it before. */
static void note_counts(struct plain *sum,
                        struct result *out,
                        const struct pool_counts *before,
                        const struct pool_counts *after) {
  note_connects(out, after->connects - before->connects);
  out->granted_waits += after->waits - before->waits;
  out->granted_overtakes += after->overtakes - before->overtakes;
  sum->wait_max_ns = after->wait_max_ns;
  sum->wait_sum_ns += after->wait_sum_ns - before->wait_sum_ns;
  for (unsigned i = 0; i < POOL_BUCKETS; i++) {
    sum->wait_bucket[i] += after->wait_bucket[i] - before->wait_bucket[i];
  }
}

static int plain_iteration(struct stage *stage,
                           struct plain *sum,
                           struct result *out) {
  struct pool_counts before = {0};
  struct pool_counts after = {0};
  if (pass_prepare(stage) != 0) {
    return -1;
  }
  stage->kind->count(stage->pool, &before);
  int64_t cpu = clock_cpu();
  int64_t wall = stage->workload->body(stage);
  sum->cpu_ns += clock_cpu() - cpu;
  stage->kind->count(stage->pool, &after);
  sum->walls[out->iterations] = wall;
  sum->wall_ns += wall;
  sum->done += pass_sums(stage).done;
  out->timeouts += pass_sums(stage).timeouts;
  note_counts(sum, out, &before, &after);
  out->iterations++;
  return pass_verdict(stage);
}

static int by_value(const void *a, const void *b) {
  const int64_t *x = a;
  const int64_t *y = b;
  return (*x > *y) - (*x < *y);
}

/* Iterations are few, so that these are exact. */
static uint64_t percentile(const int64_t *sorted,
                           uint32_t n,
                           uint32_t percent) {
  uint32_t rank = (n * percent + 99) / 100;
  return (uint64_t)sorted[rank == 0 ? 0 : rank - 1];
}

/* The wait that percent of the waits do not exceed, as if those of a bucket were
 * spread evenly over it. */
static uint64_t bucket_at(const struct plain *sum,
                          uint64_t waits,
                          uint32_t percent) {
  uint64_t rank = (waits * percent + 99) / 100;
  uint64_t seen = 0;
  unsigned i = 0;
  while (i < POOL_BUCKETS - 1 && seen + sum->wait_bucket[i] < rank) {
    seen += sum->wait_bucket[i];
    i++;
  }
  uint64_t low = i == 0 ? 0 : UINT64_C(1000) << (i - 1);
  uint64_t high = UINT64_C(1000) << i;
  high = i == POOL_BUCKETS - 1 || high > sum->wait_max_ns ? sum->wait_max_ns
                                                          : high;
  double share = sum->wait_bucket[i] == 0
                     ? 1
                     : (double)(rank - seen) / (double)sum->wait_bucket[i];
  return high <= low ? high : low + (uint64_t)((double)(high - low) * share);
}

static void finish_waits(const struct plain *sum, struct result *out) {
  if (out->granted_waits > 0) {
    out->granted_mean = (double)sum->wait_sum_ns / (double)out->granted_waits;
    out->granted_p50 = bucket_at(sum, out->granted_waits, 50);
    out->granted_p99 = bucket_at(sum, out->granted_waits, 99);
    out->granted_max = bucket_at(sum, out->granted_waits, 100);
  }
}

static void finish_plain(const struct plain *sum, struct result *out) {
  uint32_t n = out->iterations;
  qsort(sum->walls, n, sizeof *sum->walls, by_value);
  out->wall_mean = (double)sum->wall_ns / (double)n;
  out->wall_p50 = percentile(sum->walls, n, 50);
  out->wall_p99 = percentile(sum->walls, n, 99);
  out->wall_max = percentile(sum->walls, n, 100);
  out->cpu = (double)sum->cpu_ns / (double)out->iterations;
  out->ops_per_s =
      sum->wall_ns == 0 ? 0 : (double)sum->done * 1e9 / (double)sum->wall_ns;
}

static int begin_plain(const struct trial *trial,
                       struct stage *stage,
                       struct plain *sum,
                       struct result *out) {
  sum->walls = calloc(trial->iterations, sizeof *sum->walls);
  if (sum->walls == NULL) {
    fault_set(&stage->fault, "no memory");
    return -1;
  }
  out->ops_per_iteration = trial->workload->ops(&trial->params);
  pass_deal(stage, PASS_PLAIN, out->ops_per_iteration, NULL);
  return 0;
}

/* Warm-ups take turns, too. */
static int run_plain(const struct trial *trials,
                     struct stage *stages,
                     uint32_t n,
                     struct plain *sums,
                     struct result *out) {
  int rc = 0;
  for (uint32_t i = 0; i < WARM_UPS + trials->iterations && rc == 0; i++) {
    if (i >= WARM_UPS) {
      pass_tell(trials, i - WARM_UPS);
    }
    for (uint32_t k = 0; k < n && rc == 0; k++) {
      uint32_t t = pass_turn(i, k, n);
      rc = i < WARM_UPS ? pass_warm_up(&stages[t])
                        : plain_iteration(&stages[t], &sums[t], &out[t]);
    }
  }
  return rc;
}

int pass_plain(const struct trial *trials,
               struct stage *stages,
               uint32_t n,
               struct result *out) {
  struct plain sums[TRIALS_TOGETHER];
  int rc = 0;
  memset(sums, 0, sizeof sums);
  for (uint32_t i = 0; i < n && rc == 0; i++) {
    rc = begin_plain(&trials[i], &stages[i], &sums[i], &out[i]);
  }
  rc = rc == 0 ? run_plain(trials, stages, n, sums, out) : rc;
  for (uint32_t i = 0; i < n; i++) {
    if (rc == 0) {
      finish_waits(&sums[i], &out[i]);
      finish_plain(&sums[i], &out[i]);
    }
    free(sums[i].walls);
  }
  return rc;
}
