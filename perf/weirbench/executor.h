/* SPDX-License-Identifier: MIT */
/* executor.h - a thread pool that grows, as the one of .NET does: it starts with
 * a given number of threads; when tasks have waited for half a second during
 * which none was begun, it adds one thread, and so on. */
#ifndef WEIRBENCH_EXECUTOR_H
#define WEIRBENCH_EXECUTOR_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "crew.h"

struct executor {
  pthread_mutex_t mutex;
  pthread_cond_t work;
  pthread_cond_t idle; /* all tasks done */
  worker_job *job;
  struct worker *workers; /* the tasks */
  uint32_t n_tasks;
  uint32_t begun;
  uint32_t ended;
  bool quit;
  pthread_t *threads;
  uint32_t n_threads;
  uint32_t most_threads;
};

/* Starts threads; there will be at most so many as there are tasks.  Returns 0,
 * or -1 with *fault. */
int executor_start(struct executor *e,
                   uint32_t threads,
                   uint32_t most_tasks,
                   struct fault *fault);

/* Queues the job once for each worker and waits until all are done, adding
 * threads as needed. */
void executor_run(struct executor *e,
                  worker_job *job,
                  struct worker *workers,
                  uint32_t n);

/* Ends the threads.  Does nothing with one that is all zero. */
void executor_stop(struct executor *e);

#endif
