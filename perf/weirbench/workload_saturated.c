/* SPDX-License-Identifier: MIT */
/* saturated_sync: more callers than connections, on the threads of a growing
 * executor that starts with min_workers.  Each caller does ops times: acquire,
 * run a statement, release; with hold_us it sleeps in place of the statement.
 * The pool is new and opened to its maximum before each iteration. */
#include <unistd.h>

#include "clock.h"
#include "workload.h"

/* Processors x 1/4, 1, 2, 8, at least 1, each once. */
static struct axis worker_axis(void) {
  static const struct {
    uint32_t times;
    uint32_t over;
  } parts[WORKLOAD_VALUES] = {{1, 4}, {1, 1}, {2, 1}, {8, 1}};
  struct axis axis = {PARAM_MIN_WORKERS, 0, {0}};
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t n = cpus < 1 ? 1 : cpus > 512 ? 512 : (uint32_t)cpus;
  for (uint32_t i = 0; i < WORKLOAD_VALUES; i++) {
    uint32_t value = n * parts[i].times / parts[i].over;
    value = value < 1 ? 1 : value;
    if (axis.n == 0 || axis.values[axis.n - 1] != value) {
      axis.values[axis.n++] = value;
    }
  }
  return axis;
}

static uint32_t axes(struct axis *axes) {
  axes[0] = (struct axis){PARAM_THREADS, 1, {50}};
  axes[1] = (struct axis){PARAM_MAX_POOL, 1, {10}};
  axes[2] = worker_axis();
  axes[3] = (struct axis){PARAM_OPS, 1, {20}};
  axes[4] = (struct axis){PARAM_HOLD_US, 1, {0}};
  return 5;
}

static uint32_t workers(const struct params *params) {
  return params->v[PARAM_THREADS];
}

static uint64_t ops(const struct params *params) {
  return (uint64_t)params->v[PARAM_THREADS] * params->v[PARAM_OPS];
}

static void work(struct worker *w) {
  int64_t hold_ns = (int64_t)w->stage->params.v[PARAM_HOLD_US] * 1000;
  uint64_t lease;
  for (uint64_t i = 0; i < w->quota && !w->fault.set; i++) {
    if (!worker_take(w, &lease)) {
      continue;
    }
    if (hold_ns > 0) {
      clock_sleep(hold_ns);
    } else {
      worker_query(w, lease);
    }
    worker_give(w, lease);
  }
}

static int prepare(struct stage *stage) {
  return executor_start(&stage->executor, stage->params.v[PARAM_MIN_WORKERS],
                        stage->n_workers, &stage->fault);
}

static int before(struct stage *stage) {
  if (stage->kind->renew(stage->pool, &stage->fault) != 0) {
    return -1;
  }
  return stage_warm(stage, stage->params.v[PARAM_MAX_POOL]);
}

static int64_t body(struct stage *stage) {
  int64_t begun = clock_now();
  executor_run(&stage->executor, work, stage->workers, stage->n_workers);
  return clock_now() - begun;
}

static void finish(struct stage *stage) {
  executor_stop(&stage->executor);
}

const struct workload workload_saturated_sync = {
    .name = "saturated_sync",
    .what = "more callers than connections, on a growing executor's threads",
    .axes = axes,
    .workers = workers,
    .ops = ops,
    .prepare = prepare,
    .before = before,
    .finish = finish,
    .body = body,
    .iterations = 20,
    .iterations_quick = 5,
};
