/* SPDX-License-Identifier: MIT */
#include "executor.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "rendezvous.h"

#define STARVED_NS INT64_C(500000000)

/* Returns the next task, or NULL at the end. */
static struct worker *next_task(struct executor *e, worker_job **out_job) {
  struct worker *task = NULL;
  (void)pthread_mutex_lock(&e->mutex);
  while (e->begun == e->n_tasks && !e->quit) {
    (void)pthread_cond_wait(&e->work, &e->mutex);
  }
  if (!e->quit) {
    task = &e->workers[e->begun++];
    *out_job = e->job;
  }
  (void)pthread_mutex_unlock(&e->mutex);
  return task;
}

static void end_task(struct executor *e) {
  (void)pthread_mutex_lock(&e->mutex);
  e->ended++;
  if (e->ended == e->n_tasks) {
    (void)pthread_cond_signal(&e->idle);
  }
  (void)pthread_mutex_unlock(&e->mutex);
}

static void *serve(void *arg) {
  struct executor *e = arg;
  worker_job *job = NULL;
  worker_thread_begin();
  for (struct worker *task = next_task(e, &job); task != NULL;
       task = next_task(e, &job)) {
    task->begun_ns = clock_now();
    job(task);
    task->ended_ns = clock_now();
    end_task(e);
  }
  return NULL;
}

/* Adds a thread.  Returns 0 or an errno. */
static int add_thread(struct executor *e) {
  if (e->n_threads == e->most_threads) {
    return 0;
  }
  int rc = bench_thread(&e->threads[e->n_threads], serve, e);
  e->n_threads += rc == 0 ? 1 : 0;
  return rc;
}

int executor_start(struct executor *e,
                   uint32_t threads,
                   uint32_t most_tasks,
                   struct fault *fault) {
  memset(e, 0, sizeof *e);
  e->most_threads = threads > most_tasks ? threads : most_tasks;
  e->threads = calloc(e->most_threads, sizeof *e->threads);
  if (e->threads == NULL) {
    fault_set(fault, "no memory");
    return -1;
  }
  (void)pthread_mutex_init(&e->mutex, NULL);
  (void)pthread_cond_init(&e->work, NULL);
  monotonic_cond_init(&e->idle);
  while (e->n_threads < threads) {
    int rc = add_thread(e);
    if (rc != 0) {
      fault_set(fault, "only %u of %u threads could be started: %s",
                e->n_threads, threads, strerrordesc_np(rc));
      executor_stop(e);
      return -1;
    }
  }
  return 0;
}

/* Waits for the end, or for the next look at the queue. */
static void wait_a_while(struct executor *e) {
  int64_t until = clock_now() + STARVED_NS;
  struct timespec at = {.tv_sec = (time_t)(until / 1000000000),
                        .tv_nsec = (long)(until % 1000000000)};
  int rc = 0;
  while (e->ended < e->n_tasks && rc == 0) {
    rc = pthread_cond_timedwait(&e->idle, &e->mutex, &at);
  }
}

void executor_run(struct executor *e,
                  worker_job *job,
                  struct worker *workers,
                  uint32_t n) {
  (void)pthread_mutex_lock(&e->mutex);
  e->job = job;
  e->workers = workers;
  e->begun = 0;
  e->ended = 0;
  e->n_tasks = n;
  (void)pthread_cond_broadcast(&e->work);
  while (e->ended < e->n_tasks) {
    uint32_t begun = e->begun;
    wait_a_while(e);
    if (e->begun == begun && begun < e->n_tasks) {
      /* Without a new thread the old ones still get there. */
      (void)add_thread(e);
    }
  }
  e->n_tasks = 0;
  e->begun = 0;
  (void)pthread_mutex_unlock(&e->mutex);
}

void executor_stop(struct executor *e) {
  if (e->threads == NULL) {
    return;
  }
  (void)pthread_mutex_lock(&e->mutex);
  e->quit = true;
  (void)pthread_cond_broadcast(&e->work);
  (void)pthread_mutex_unlock(&e->mutex);
  for (uint32_t i = 0; i < e->n_threads; i++) {
    (void)pthread_join(e->threads[i], NULL);
  }
  (void)pthread_cond_destroy(&e->idle);
  (void)pthread_cond_destroy(&e->work);
  (void)pthread_mutex_destroy(&e->mutex);
  free(e->threads);
  memset(e, 0, sizeof *e);
}
