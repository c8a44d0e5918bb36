/* SPDX-License-Identifier: MIT */
/* crew.h - dedicated threads: one for each worker. */
#ifndef WEIRBENCH_CREW_H
#define WEIRBENCH_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "worker.h"

typedef void worker_job(struct worker *w);

/* Threads that wait behind one gate for the next job. */
struct crew {
  pthread_mutex_t mutex;
  pthread_cond_t go;
  pthread_cond_t idle;
  worker_job *job;
  uint64_t round; /* rises with each job */
  uint32_t running;
  bool quit;
  uint32_t n;
  struct crew_member *members;
};

struct crew_member {
  struct crew *crew;
  struct worker *worker;
  pthread_t thread;
};

/* Starts a thread for each of n workers.  Returns 0, or -1 with *fault. */
int crew_start(struct crew *crew,
               struct worker *workers,
               uint32_t n,
               struct fault *fault);

/* Lets all do the job and waits until the last has done it. */
void crew_run(struct crew *crew, worker_job *job);

/* Ends the threads.  Does nothing with one that is all zero. */
void crew_stop(struct crew *crew);

/* Starts a fresh thread for each worker, which does the job at once, and waits
 * for their end.  Returns how many could be started; of the rest on_missing is
 * told as soon as that is known, so that nobody waits for them. */
uint32_t crew_once(struct worker *workers,
                   uint32_t n,
                   worker_job *job,
                   void (*on_missing)(struct stage *stage, uint32_t missing));

/* A thread of the bench, with a small stack.  Returns 0 or an errno. */
int bench_thread(pthread_t *out, void *(*fn)(void *), void *arg);

#endif
