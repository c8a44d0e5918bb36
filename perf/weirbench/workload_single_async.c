/* SPDX-License-Identifier: MIT */
/* single_thread_async: one caller submits an acquire, waits for it if it is
 * pending, and releases, ops times; the pool has been warmed to depth idle
 * connections. */
#include "task.h"
#include "workload.h"

static uint32_t axes(struct axis *axes) {
  axes[0] = (struct axis){PARAM_DEPTH, 3, {1, 10, 100}};
  axes[1] = (struct axis){PARAM_MAX_POOL, 1, {100}};
  axes[2] = (struct axis){PARAM_OPS, 1, {1000}};
  return 3;
}

static uint32_t workers(const struct params *params) {
  (void)params;
  return 1;
}

static uint64_t ops(const struct params *params) {
  return params->v[PARAM_OPS];
}

static void churn(struct worker *w) {
  for (uint64_t i = 0; i < w->quota && !w->fault.set; i++) {
    struct task *task = &w->stage->tasks[0];
    enum pool_result rc = task_submit(w, task);
    if (rc == POOL_PENDING) {
      rc = task_next(w, &task);
    }
    if (rc == POOL_OK) {
      task_give(w, task);
    }
  }
}

static int prepare(struct stage *stage) {
  uint32_t depth = stage->params.v[PARAM_DEPTH];
  if (depth > stage->params.v[PARAM_MAX_POOL]) {
    fault_usage(&stage->fault, "depth is over max_pool");
    return -1;
  }
  if (stage_warm(stage, depth) != 0) {
    return -1;
  }
  return tasks_prepare(stage, 1);
}

static int before(struct stage *stage) {
  (void)stage;
  return 0;
}

static int64_t body(struct stage *stage) {
  crew_run(&stage->crew, churn);
  return stage_span(stage);
}

const struct workload workload_single_thread_async = {
    .name = "single_thread_async",
    .what = "one caller submits an acquire and releases, ops times",
    .submits = true,
    .axes = axes,
    .workers = workers,
    .ops = ops,
    .prepare = prepare,
    .before = before,
    .finish = tasks_finish,
    .body = body,
    .iterations = 100,
    .iterations_quick = 20,
};
