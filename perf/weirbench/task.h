/* SPDX-License-Identifier: MIT */
/* task.h - callers that do not block: many of them on one thread, each with one
 * submitted acquire or one lease at a time. */
#ifndef WEIRBENCH_TASK_H
#define WEIRBENCH_TASK_H

#include <stdint.h>

#include "worker.h"
#include "workload.h"

struct task {
  struct stamp stamp; /* of the acquire under way; observed pass only */
  uint64_t lease;
  uint64_t left; /* acquires it has still to make */
};

/* Makes n tasks, the queue they complete in, and a thread for the only worker.
 * Returns 0, or -1 with stage->fault. */
int tasks_prepare(struct stage *stage, uint32_t n);

/* Ends what tasks_prepare() made, also if it made only a part. */
void tasks_finish(struct stage *stage);

/* Submits an acquire.  POOL_OK: the task has its lease; POOL_PENDING: it will come
 * out of task_next().  Time-outs are counted, failures noted. */
enum pool_result task_submit(struct worker *w, struct task *task);

/* Waits for an acquire that was pending.  *out_task is whose it was, or NULL
 * when the queue itself failed. */
enum pool_result task_next(struct worker *w, struct task **out_task);

/* Gives the lease back; counts it as done. */
void task_give(struct worker *w, struct task *task);

#endif
