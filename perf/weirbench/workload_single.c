/* SPDX-License-Identifier: MIT */
/* single_thread: one caller acquires and releases ops times; the pool has been
 * warmed to depth idle connections. */
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
  uint64_t lease;
  for (uint64_t i = 0; i < w->quota && !w->fault.set; i++) {
    if (worker_take(w, &lease)) {
      worker_give(w, lease);
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
  return crew_start(&stage->crew, stage->workers, 1, &stage->fault);
}

static int before(struct stage *stage) {
  (void)stage;
  return 0;
}

static int64_t body(struct stage *stage) {
  crew_run(&stage->crew, churn);
  return stage_span(stage);
}

static void finish(struct stage *stage) {
  crew_stop(&stage->crew);
}

const struct workload workload_single_thread = {
    .name = "single_thread",
    .what = "one caller acquires and releases ops times, depth are idle",
    .axes = axes,
    .workers = workers,
    .ops = ops,
    .prepare = prepare,
    .before = before,
    .finish = finish,
    .body = body,
    .iterations = 100,
    .iterations_quick = 20,
};
