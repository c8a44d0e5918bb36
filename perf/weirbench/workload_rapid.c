/* SPDX-License-Identifier: MIT */
/* rapid_fire: as many acquires as ops says in all, shared by dedicated threads
 * that give each connection back at once.  The pool is opened to its maximum
 * first and never cleared.  hold_us makes each hold for so long instead. */
#include "clock.h"
#include "workload.h"

static uint32_t axes(struct axis *axes) {
  axes[0] = (struct axis){PARAM_THREADS, 2, {10, 50}};
  axes[1] = (struct axis){PARAM_MAX_POOL, 2, {50, 100}};
  axes[2] = (struct axis){PARAM_OPS, 1, {1000}};
  axes[3] = (struct axis){PARAM_HOLD_US, 1, {0}};
  return 4;
}

static uint32_t workers(const struct params *params) {
  return params->v[PARAM_THREADS];
}

static uint64_t ops(const struct params *params) {
  return params->v[PARAM_OPS];
}

static void fire(struct worker *w) {
  uint64_t lease;
  for (uint64_t i = 0; i < w->quota && !w->fault.set; i++) {
    if (worker_take(w, &lease)) {
      worker_give(w, lease);
    }
  }
}

static void fire_slowly(struct worker *w) {
  int64_t hold_ns = (int64_t)w->stage->params.v[PARAM_HOLD_US] * 1000;
  uint64_t lease;
  for (uint64_t i = 0; i < w->quota && !w->fault.set; i++) {
    if (worker_take(w, &lease)) {
      clock_sleep(hold_ns);
      worker_give(w, lease);
    }
  }
}

static int prepare(struct stage *stage) {
  if (stage_warm(stage, stage->params.v[PARAM_MAX_POOL]) != 0) {
    return -1;
  }
  return crew_start(&stage->crew, stage->workers, stage->n_workers,
                    &stage->fault);
}

static int before(struct stage *stage) {
  (void)stage;
  return 0;
}

static int64_t body(struct stage *stage) {
  crew_run(&stage->crew,
           stage->params.v[PARAM_HOLD_US] == 0 ? fire : fire_slowly);
  return stage_span(stage);
}

static void finish(struct stage *stage) {
  crew_stop(&stage->crew);
}

const struct workload workload_rapid_fire = {
    .name = "rapid_fire",
    .what =
        "threads share ops acquires of a warm pool, each given back at once",
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
