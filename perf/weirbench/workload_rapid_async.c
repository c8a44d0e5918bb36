/* SPDX-License-Identifier: MIT */
/* rapid_fire_async: ops acquires in all, shared by as many tasks as threads says,
 * on one thread.  A task whose acquire ends at once goes on at once, as a
 * coroutine would; one whose acquire is pending lets the next run.  The pool is
 * opened to its maximum first and never cleared. */
#include "task.h"
#include "workload.h"

static uint32_t axes(struct axis *axes) {
  axes[0] = (struct axis){PARAM_THREADS, 2, {10, 50}};
  axes[1] = (struct axis){PARAM_MAX_POOL, 2, {50, 100}};
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

/* Runs a task until it is pending or through.  Returns whether it is pending. */
static bool run_task(struct worker *w, struct task *task) {
  while (task->left > 0 && !w->fault.set) {
    task->left--;
    enum pool_result rc = task_submit(w, task);
    if (rc == POOL_PENDING) {
      return true;
    }
    if (rc == POOL_OK) {
      task_give(w, task);
    }
  }
  return false;
}

static void deal_tasks(const struct worker *w) {
  uint32_t n = w->stage->n_tasks;
  for (uint32_t i = 0; i < n; i++) {
    w->stage->tasks[i].left = w->quota / n + (i < w->quota % n ? 1 : 0);
  }
}

static void fire(struct worker *w) {
  uint64_t pending = 0;
  deal_tasks(w);
  for (uint32_t i = 0; i < w->stage->n_tasks; i++) {
    pending += run_task(w, &w->stage->tasks[i]) ? 1 : 0;
  }
  while (pending > 0) {
    struct task *task;
    enum pool_result rc = task_next(w, &task);
    if (task == NULL) {
      return; /* the queue has failed */
    }
    if (rc == POOL_OK) {
      task_give(w, task);
    }
    pending -= run_task(w, task) ? 0 : 1;
  }
}

static int prepare(struct stage *stage) {
  if (stage_warm(stage, stage->params.v[PARAM_MAX_POOL]) != 0) {
    return -1;
  }
  return tasks_prepare(stage, stage->params.v[PARAM_THREADS]);
}

static int before(struct stage *stage) {
  (void)stage;
  return 0;
}

static int64_t body(struct stage *stage) {
  crew_run(&stage->crew, fire);
  return stage_span(stage);
}

const struct workload workload_rapid_fire_async = {
    .name = "rapid_fire_async",
    .what = "tasks on one thread share ops submitted acquires of a warm pool",
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
