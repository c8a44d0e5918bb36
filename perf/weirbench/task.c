/* SPDX-License-Identifier: MIT */
#include "task.h"

#include <stdlib.h>

#include "clock.h"

int tasks_prepare(struct stage *stage, uint32_t n) {
  stage->tasks = calloc(n, sizeof *stage->tasks);
  if (stage->tasks == NULL) {
    fault_set(&stage->fault, "no memory");
    return -1;
  }
  stage->n_tasks = n;
  if (stage->kind->queue_open(stage->pool, n, &stage->queue, &stage->fault) !=
      0) {
    stage->queue = 0;
    return -1;
  }
  return crew_start(&stage->crew, stage->workers, 1, &stage->fault);
}

void tasks_finish(struct stage *stage) {
  crew_stop(&stage->crew);
  if (stage->queue != 0) {
    stage->kind->queue_close(stage->pool, stage->queue);
  }
  free(stage->tasks);
}

/* An acquire that was pending has waited. */
static void stamp_got(struct worker *w, struct task *task, bool pending) {
  struct stamp *s = &task->stamp;
  s->got = atomic_fetch_add_explicit(&w->order->got, 1, memory_order_relaxed);
  s->got_ns = clock_now();
  s->slept = pending;
  if (w->n_stamps < w->quota) {
    w->stamps[w->n_stamps++] = *s;
  }
}

static enum pool_result note_ending(struct worker *w,
                                    struct task *task,
                                    enum pool_result rc,
                                    bool pending) {
  if (rc == POOL_TIMEOUT) {
    w->timeouts++;
    w->fault.set = false; /* a figure, not a failure */
  } else if (rc == POOL_OK && w->pass == PASS_OBSERVED) {
    stamp_got(w, task, pending);
  }
  return rc;
}

enum pool_result task_submit(struct worker *w, struct task *task) {
  const struct stage *stage = w->stage;
  if (w->pass == PASS_OBSERVED) {
    task->stamp.asked_ns = clock_now();
    task->stamp.asked =
        atomic_fetch_add_explicit(&w->order->asked, 1, memory_order_relaxed);
  }
  worker_call_begin(w);
  enum pool_result rc =
      w->kind->submit(w->pool, stage->queue, (uint64_t)(task - stage->tasks),
                      &task->lease, &w->fault);
  worker_call_end(w);
  return note_ending(w, task, rc, false);
}

enum pool_result task_next(struct worker *w, struct task **out_task) {
  const struct stage *stage = w->stage;
  uint64_t number = UINT64_MAX;
  uint64_t lease = 0;
  worker_call_begin(w);
  enum pool_result rc =
      w->kind->next(w->pool, stage->queue, &number, &lease, &w->fault);
  worker_call_end(w);
  if (number >= stage->n_tasks) {
    fault_set(&w->fault, "a completion of an acquire that nobody submitted");
    *out_task = NULL;
    return POOL_FAILED;
  }
  struct task *task = &stage->tasks[number];
  task->lease = lease;
  *out_task = task;
  return note_ending(w, task, rc, true);
}

void task_give(struct worker *w, struct task *task) {
  if (w->pass == PASS_OBSERVED) {
    w->held_ns += clock_now() - task->stamp.got_ns;
  }
  worker_call_begin(w);
  w->done += w->kind->give(w->pool, task->lease, &w->fault) == 0 ? 1 : 0;
  worker_call_end(w);
}
