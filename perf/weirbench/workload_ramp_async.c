/* SPDX-License-Identifier: MIT */
/* cold_start_ramp_async: one thread submits all acquires to an empty pool, holds
 * what it gets until all have ended, and gives everything back. */
#include "task.h"
#include "workload.h"

static uint32_t axes(struct axis *axes) {
  axes[0] = (struct axis){PARAM_CONNECTIONS, 4, {10, 25, 50, 100}};
  axes[1] = (struct axis){PARAM_MAX_POOL, 1, {200}};
  return 2;
}

static uint32_t workers(const struct params *params) {
  (void)params;
  return 1;
}

static uint64_t ops(const struct params *params) {
  return params->v[PARAM_CONNECTIONS];
}

/* With fewer places than acquires the rest would wait for the first for ever,
 * so each lease is given back at once then. */
static bool holds(const struct stage *stage) {
  return stage->params.v[PARAM_MAX_POOL] >= stage->params.v[PARAM_CONNECTIONS];
}

/* Marks the task by left = 1 when it has something to give back at the end. */
static void keep_or_give(struct worker *w,
                         struct task *task,
                         enum pool_result rc,
                         bool keep) {
  task->left = rc == POOL_OK && keep ? 1 : 0;
  if (rc == POOL_OK && !keep) {
    task_give(w, task);
  }
}

/* Returns how many are pending. */
static uint64_t submit_all(struct worker *w, uint64_t n, bool keep) {
  uint64_t pending = 0;
  for (uint64_t i = 0; i < n; i++) {
    struct task *task = &w->stage->tasks[i];
    enum pool_result rc = task_submit(w, task);
    pending += rc == POOL_PENDING ? 1 : 0;
    keep_or_give(w, task, rc, keep);
  }
  return pending;
}

static void call_all(struct worker *w) {
  bool keep = holds(w->stage);
  uint64_t n = w->quota < w->stage->n_tasks ? w->quota : w->stage->n_tasks;
  for (uint64_t left = submit_all(w, n, keep); left > 0; left--) {
    struct task *task;
    enum pool_result rc = task_next(w, &task);
    if (task == NULL) {
      break; /* the queue has failed */
    }
    keep_or_give(w, task, rc, keep);
  }
  for (uint64_t i = 0; i < n; i++) {
    if (w->stage->tasks[i].left > 0) {
      task_give(w, &w->stage->tasks[i]);
    }
  }
}

static int prepare(struct stage *stage) {
  return tasks_prepare(stage, stage->params.v[PARAM_CONNECTIONS]);
}

static int before(struct stage *stage) {
  return stage->kind->renew(stage->pool, &stage->fault);
}

static int64_t body(struct stage *stage) {
  crew_run(&stage->crew, call_all);
  return stage_span(stage);
}

const struct workload workload_cold_start_ramp_async = {
    .name = "cold_start_ramp_async",
    .what = "one thread submits all acquires to an empty pool at once",
    .submits = true,
    .axes = axes,
    .workers = workers,
    .ops = ops,
    .prepare = prepare,
    .before = before,
    .finish = tasks_finish,
    .body = body,
    .iterations = 20,
    .iterations_quick = 5,
};
