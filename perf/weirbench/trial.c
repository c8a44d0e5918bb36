/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alloc.h"
#include "clock.h"
#include "trace.h"

#define WARM_UPS   2u
/* Acquires of one iteration that are stamped or traced at most. */
#define STAMPS_MAX (UINT64_C(1) << 18)
#define TRACED_MAX UINT64_C(20000)

/* --------------------------------------------------------------- the stage */

static uint32_t max_pool(const struct trial *trial) {
  return trial->params.v[PARAM_MAX_POOL];
}

static int open_stage(const struct trial *trial, struct stage *stage) {
  struct pool_config config = trial->config;
  config.max_pool = max_pool(trial);
  memset(stage, 0, sizeof *stage);
  stage->workload = trial->workload;
  stage->kind = trial->kind;
  stage->params = trial->params;
  stage->n_workers = trial->workload->workers(&trial->params);
  stage->workers = calloc(stage->n_workers, sizeof *stage->workers);
  if (stage->workers == NULL) {
    fault_set(&stage->fault, "no memory");
    return -1;
  }
  if (stage->workload->submits && stage->kind->submit == NULL) {
    fault_set(&stage->fault, "%s: %s has no submitted acquire",
              stage->workload->name, stage->kind->name);
    return -1;
  }
  if (stage->kind->open(&config, &stage->pool, &stage->fault) != 0) {
    return -1;
  }
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    struct worker *w = &stage->workers[i];
    w->kind = stage->kind;
    w->pool = stage->pool;
    w->stage = stage;
    w->index = i;
    w->order = &stage->order;
  }
  return stage->workload->prepare(stage);
}

static void close_stage(struct stage *stage) {
  if (stage->pool != NULL) {
    stage->workload->finish(stage);
    stage->kind->close(stage->pool);
  }
  free(stage->workers);
}

/* Sets what the workers do in the next iterations: ops acquires, shared evenly,
 * at least one each. */
static void deal(struct stage *stage,
                 enum pass pass,
                 uint64_t ops,
                 struct stamp *stamps) {
  uint64_t each = ops / stage->n_workers;
  uint64_t rest = ops % stage->n_workers;
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    struct worker *w = &stage->workers[i];
    w->pass = pass;
    w->quota = each + (i < rest ? 1 : 0);
    w->stamps = stamps;
    stamps = stamps == NULL ? NULL : stamps + w->quota;
  }
}

/* Takes a worker's failure, if there was one, for the stage's. */
static int verdict(struct stage *stage) {
  uint32_t failed = 0;
  const struct worker *first = NULL;
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    if (stage->workers[i].fault.set) {
      first = first == NULL ? &stage->workers[i] : first;
      failed++;
    }
  }
  if (first != NULL) {
    stage->fault.set = false;
    fault_set(&stage->fault, "%s: %u of %u callers failed; one of them: %s",
              stage->workload->name, failed, stage->n_workers,
              first->fault.text);
  }
  return stage->fault.set ? -1 : 0;
}

struct sums {
  uint64_t done;
  uint64_t timeouts;
  int64_t held_ns;
};

static struct sums sum_up(const struct stage *stage) {
  struct sums sums = {0, 0, 0};
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    sums.done += stage->workers[i].done;
    sums.timeouts += stage->workers[i].timeouts;
    sums.held_ns += stage->workers[i].held_ns;
  }
  return sums;
}

static int prepare_iteration(struct stage *stage) {
  if (stage->workload->before(stage) != 0) {
    return -1;
  }
  for (uint32_t i = 0; i < stage->n_workers; i++) {
    worker_reset(&stage->workers[i]);
  }
  return 0;
}

/* One iteration that is not measured. */
static int warm_up(struct stage *stage) {
  if (prepare_iteration(stage) != 0) {
    return -1;
  }
  (void)stage->workload->body(stage);
  return verdict(stage);
}

/* ------------------------------------------------------------- traced pass */

static int traced_work(void *arg) {
  const struct trial *trial = arg;
  struct stage stage;
  uint64_t ops = trial->workload->ops(&trial->params);
  alloc_quiet(true);
  int rc = open_stage(trial, &stage);
  if (rc == 0) {
    deal(&stage, PASS_TRACED, ops < TRACED_MAX ? ops : TRACED_MAX, NULL);
    rc = warm_up(&stage);
    rc = rc == 0 ? prepare_iteration(&stage) : rc;
  }
  if (rc == 0) {
    trace_begin();
    (void)trial->workload->body(&stage);
    trace_end(sum_up(&stage).done);
    rc = verdict(&stage);
  }
  close_stage(&stage);
  return rc;
}

void trial_trace(const struct trial *trial, struct result *out) {
  struct trace_result traced;
  struct trial copy = *trial;
  out->syscalls_known = false;
  if (trace_count(traced_work, &copy, &traced, out->syscalls_why,
                  sizeof out->syscalls_why) == 0 &&
      traced.ops > 0) {
    out->syscalls_known = true;
    out->syscalls_per_op = (double)traced.calls / (double)traced.ops;
  }
}

/* -------------------------------------------------------------- plain pass */

struct plain {
  int64_t *walls; /* of each iteration */
  uint64_t done;
  int64_t wall_ns;
  int64_t cpu_ns;
  uint64_t wait_bucket[POOL_BUCKETS];
  uint64_t wait_max_ns;
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
  for (unsigned i = 0; i < POOL_BUCKETS; i++) {
    sum->wait_bucket[i] += after->wait_bucket[i] - before->wait_bucket[i];
  }
}

static int plain_iteration(struct stage *stage,
                           struct plain *sum,
                           struct result *out) {
  struct pool_counts before = {0};
  struct pool_counts after = {0};
  if (prepare_iteration(stage) != 0) {
    return -1;
  }
  stage->kind->count(stage->pool, &before);
  int64_t cpu = clock_cpu();
  int64_t wall = stage->workload->body(stage);
  sum->cpu_ns += clock_cpu() - cpu;
  stage->kind->count(stage->pool, &after);
  sum->walls[out->iterations] = wall;
  sum->wall_ns += wall;
  sum->done += sum_up(stage).done;
  out->timeouts += sum_up(stage).timeouts;
  note_counts(sum, out, &before, &after);
  out->iterations++;
  return verdict(stage);
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

/* The end of the bucket that percent of the waits do not exceed. */
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
  uint64_t end = UINT64_C(1000) << i;
  bool rest = i == POOL_BUCKETS - 1;
  return rest || end > sum->wait_max_ns ? sum->wait_max_ns : end;
}

static void finish_waits(const struct plain *sum, struct result *out) {
  if (out->granted_waits > 0) {
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

static void tell_progress(const struct trial *trial, uint32_t done) {
  if (trial->progress != NULL) {
    trial->progress(trial->progress_arg, done,
                    trial->iterations + trial->observed);
  }
}

static int plain_pass(const struct trial *trial,
                      struct stage *stage,
                      struct result *out) {
  struct plain sum = {0};
  sum.walls = calloc(trial->iterations, sizeof *sum.walls);
  if (sum.walls == NULL) {
    fault_set(&stage->fault, "no memory");
    return -1;
  }
  out->ops_per_iteration = trial->workload->ops(&trial->params);
  deal(stage, PASS_PLAIN, out->ops_per_iteration, NULL);
  int rc = 0;
  for (uint32_t i = 0; i < WARM_UPS && rc == 0; i++) {
    rc = warm_up(stage);
  }
  for (uint32_t i = 0; i < trial->iterations && rc == 0; i++) {
    tell_progress(trial, i);
    rc = plain_iteration(stage, &sum, out);
  }
  if (rc == 0) {
    finish_waits(&sum, out);
    finish_plain(&sum, out);
  }
  free(sum.walls);
  return rc;
}

/* ----------------------------------------------------------- observed pass */

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
  if (prepare_iteration(stage) != 0) {
    return -1;
  }
  alloc_count(true);
  sum->wall_ns += stage->workload->body(stage);
  alloc_count(false);
  struct alloc_counts allocs = alloc_read();
  sum->allocs += allocs.allocs;
  sum->frees += allocs.frees;
  sum->done += sum_up(stage).done;
  sum->held_ns += sum_up(stage).held_ns;
  observe(sum->stamps, gather(stage, sum->stamps), seen);
  histogram_merge(sum->wait, &seen->wait);
  out->overtakes += seen->overtakes;
  out->waiters_max = seen->waiters_max > out->waiters_max ? seen->waiters_max
                                                          : out->waiters_max;
  return verdict(stage);
}

static void finish_observed(const struct trial *trial,
                            const struct observed *sum,
                            struct result *out) {
  double ops = sum->done == 0 ? 1 : (double)sum->done;
  double room = (double)max_pool(trial) * (double)sum->wall_ns;
  out->observed_ops = sum->done;
  out->allocs_per_op = (double)sum->allocs / ops;
  out->frees_per_op = (double)sum->frees / ops;
  out->waits = sum->wait->count;
  out->wait_p50 = histogram_at(sum->wait, 500);
  out->wait_p99 = histogram_at(sum->wait, 990);
  out->wait_max = sum->wait->max;
  out->utilisation = room > 0 ? (double)sum->held_ns / room : 0;
}

static int observe_all(const struct trial *trial,
                       struct stage *stage,
                       struct observed *sum,
                       struct result *out) {
  struct observation *seen = calloc(1, sizeof *seen);
  int rc = seen == NULL ? -1 : 0;
  deal(stage, PASS_OBSERVED, sum->ops, sum->stamps);
  for (uint32_t i = 0; i < trial->observed && rc == 0; i++) {
    tell_progress(trial, trial->iterations + i);
    rc = observed_iteration(stage, sum, seen, out);
  }
  free(seen);
  return rc;
}

static int observed_pass(const struct trial *trial,
                         struct stage *stage,
                         struct result *out) {
  struct observed sum = {0};
  uint64_t ops = trial->workload->ops(&trial->params);
  sum.ops = ops < STAMPS_MAX ? ops : STAMPS_MAX;
  sum.wait = calloc(1, sizeof *sum.wait);
  sum.stamps = calloc((size_t)sum.ops, sizeof *sum.stamps);
  int rc = -1;
  if (sum.wait != NULL && sum.stamps != NULL) {
    rc = observe_all(trial, stage, &sum, out);
  }
  if (rc == 0) {
    finish_observed(trial, &sum, out);
  } else {
    fault_set(&stage->fault, "no memory");
  }
  free(sum.stamps);
  free(sum.wait);
  return rc;
}

/* ------------------------------------------------------------------ the row */

int trial_run(const struct trial *trial,
              struct result *out,
              struct fault *fault) {
  struct stage stage;
  alloc_quiet(true);
  out->workload = trial->workload->name;
  out->params = trial->params;
  int rc = open_stage(trial, &stage);
  if (rc == 0) {
    (void)snprintf(out->driver, sizeof out->driver, "%s",
                   stage.kind->driver(stage.pool));
    (void)snprintf(out->strategy, sizeof out->strategy, "%s",
                   stage.kind->strategy(stage.pool));
    rc = plain_pass(trial, &stage, out);
  }
  rc = rc == 0 ? observed_pass(trial, &stage, out) : rc;
  if (rc != 0 && !fault->set) {
    *fault = stage.fault;
  }
  close_stage(&stage);
  return rc;
}

static void *park(void *arg) {
  for (;;) {
    (void)pause();
  }
  return arg;
}

void trial_park_thread(void) {
  pthread_t thread;
  if (bench_thread(&thread, park, NULL) == 0) {
    (void)pthread_detach(thread);
  }
}
