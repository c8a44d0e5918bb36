/* SPDX-License-Identifier: MIT */
#include "crew.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"

/* Enough for TLS; thousands of threads shall not need much address space. */
#define STACK_BYTES ((size_t)512 << 10)

int bench_thread(pthread_t *out, void *(*fn)(void *), void *arg) {
  pthread_attr_t attr;
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setstacksize(&attr, STACK_BYTES);
  int rc = pthread_create(out, &attr, fn, arg);
  (void)pthread_attr_destroy(&attr);
  return rc;
}

static void do_job(struct worker *w, worker_job *job) {
  w->begun_ns = clock_now();
  job(w);
  w->ended_ns = clock_now();
}

/* Waits for a round other than the last; NULL is the end. */
static worker_job *next_job(struct crew *crew, uint64_t *round) {
  (void)pthread_mutex_lock(&crew->mutex);
  while (crew->round == *round && !crew->quit) {
    (void)pthread_cond_wait(&crew->go, &crew->mutex);
  }
  *round = crew->round;
  worker_job *job = crew->quit ? NULL : crew->job;
  (void)pthread_mutex_unlock(&crew->mutex);
  return job;
}

static void report_done(struct crew *crew) {
  (void)pthread_mutex_lock(&crew->mutex);
  crew->running--;
  if (crew->running == 0) {
    (void)pthread_cond_signal(&crew->idle);
  }
  (void)pthread_mutex_unlock(&crew->mutex);
}

static void *serve(void *arg) {
  struct crew_member *m = arg;
  uint64_t round = 0;
  worker_thread_begin();
  for (worker_job *job = next_job(m->crew, &round); job != NULL;
       job = next_job(m->crew, &round)) {
    do_job(m->worker, job);
    report_done(m->crew);
  }
  return NULL;
}

int crew_start(struct crew *crew,
               struct worker *workers,
               uint32_t n,
               struct fault *fault) {
  memset(crew, 0, sizeof *crew);
  crew->members = calloc(n, sizeof *crew->members);
  if (crew->members == NULL) {
    fault_set(fault, "no memory");
    return -1;
  }
  (void)pthread_mutex_init(&crew->mutex, NULL);
  (void)pthread_cond_init(&crew->go, NULL);
  (void)pthread_cond_init(&crew->idle, NULL);
  while (crew->n < n) {
    struct crew_member *m = &crew->members[crew->n];
    m->crew = crew;
    m->worker = &workers[crew->n];
    int rc = bench_thread(&m->thread, serve, m);
    if (rc != 0) {
      fault_set(fault, "only %u of %u threads could be started: %s", crew->n, n,
                strerrordesc_np(rc));
      crew_stop(crew);
      return -1;
    }
    crew->n++;
  }
  return 0;
}

void crew_run(struct crew *crew, worker_job *job) {
  (void)pthread_mutex_lock(&crew->mutex);
  crew->job = job;
  crew->running = crew->n;
  crew->round++;
  (void)pthread_cond_broadcast(&crew->go);
  while (crew->running > 0) {
    (void)pthread_cond_wait(&crew->idle, &crew->mutex);
  }
  (void)pthread_mutex_unlock(&crew->mutex);
}

void crew_stop(struct crew *crew) {
  if (crew->members == NULL) {
    return;
  }
  (void)pthread_mutex_lock(&crew->mutex);
  crew->quit = true;
  (void)pthread_cond_broadcast(&crew->go);
  (void)pthread_mutex_unlock(&crew->mutex);
  for (uint32_t i = 0; i < crew->n; i++) {
    (void)pthread_join(crew->members[i].thread, NULL);
  }
  (void)pthread_cond_destroy(&crew->idle);
  (void)pthread_cond_destroy(&crew->go);
  (void)pthread_mutex_destroy(&crew->mutex);
  free(crew->members);
  memset(crew, 0, sizeof *crew);
}

/* ------------------------------------------------------------------- once */

struct errand {
  struct worker *worker;
  worker_job *job;
  pthread_t thread;
};

static void *run_errand(void *arg) {
  struct errand *e = arg;
  worker_thread_begin();
  do_job(e->worker, e->job);
  return NULL;
}

uint32_t crew_once(struct worker *workers,
                   uint32_t n,
                   worker_job *job,
                   void (*on_missing)(struct stage *stage, uint32_t missing)) {
  uint32_t started = 0;
  struct errand *errands = calloc(n, sizeof *errands);
  while (errands != NULL && started < n) {
    struct errand *e = &errands[started];
    e->worker = &workers[started];
    e->job = job;
    if (bench_thread(&e->thread, run_errand, e) != 0) {
      break;
    }
    started++;
  }
  if (started < n) {
    on_missing(workers[0].stage, n - started);
  }
  for (uint32_t i = 0; i < started; i++) {
    (void)pthread_join(errands[i].thread, NULL);
  }
  free(errands);
  return started;
}
