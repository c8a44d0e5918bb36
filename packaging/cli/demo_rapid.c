/* SPDX-License-Identifier: MIT */
/* demo_rapid.c - threads that take connections of a warm pool and give them back at
 * once.
 *
 * They do so for a time and not a number of times, as strategies differ by powers of
 * ten where connections are short.  Nothing else is in the loop: no clock is read in
 * it, and how long somebody waited the pool tells. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "demo_bench.h"
#include "diag.h"
#include "duration.h"
#include "exit_code.h"

#define RUN_NS INT64_C(100000000)

struct rapid;

struct worker {
  _Alignas(64) struct rapid *rapid;
  pthread_t thread;
  uint64_t ops;
  int64_t begun;
  int64_t ended;
  int64_t cpu_ns;
  int32_t rc; /* the first failure */
  struct weir_error err;
};

/* What main and workers share. */
struct rapid {
  struct demo_bench bench;
  enum demo_strategy strategy;
  struct worker *workers;
  uint32_t n;
  pthread_barrier_t gate;
  pthread_mutex_t start; /* held by main until all threads exist, or */
  bool given_up;         /* it is known that they never will; under start */
  _Alignas(64) atomic_bool stop;
};

/* One thread opens all: they are few. */
static int open_all(const struct demo_bench *bench, uint32_t n) {
  struct weir_error err = WEIR_ERROR_INIT;
  int32_t rc = WEIR_OK;
  uint32_t opened = 0;
  weir_h *leases = calloc(n, sizeof *leases);
  if (leases == NULL) {
    return diag_output(-ENOMEM);
  }
  while (opened < n && rc == WEIR_OK) {
    rc = weir_acquire(bench->pool, WEIR_TIMEOUT_POOL, &leases[opened], &err);
    opened += rc == WEIR_OK ? 1 : 0;
  }
  for (uint32_t i = 0; i < opened; i++) {
    (void)weir_release(leases[i]);
  }
  free(leases);
  return rc == WEIR_OK
             ? EXIT_CODE_OK
             : demo_bench_fail(rc, &err, "opening connections for a warm pool");
}

static void fire(struct worker *w) {
  struct rapid *rapid = w->rapid;
  weir_h pool = rapid->bench.pool;
  int32_t rc = WEIR_OK;
  uint64_t ops = 0;
  while (rc == WEIR_OK &&
         !atomic_load_explicit(&rapid->stop, memory_order_relaxed)) {
    weir_h lease;
    rc = weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &w->err);
    if (rc == WEIR_OK) {
      rc = weir_release(lease);
      ops++;
    }
  }
  w->ops = ops;
  w->rc = rc;
}

/* Since the thread began, which has done nothing else. */
static int64_t own_cpu(void) {
  struct timespec t = {0};
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void *work(void *arg) {
  struct worker *w = arg;
  struct rapid *rapid = w->rapid;
  (void)pthread_mutex_lock(&rapid->start);
  bool given_up = rapid->given_up;
  (void)pthread_mutex_unlock(&rapid->start);
  if (!given_up) {
    (void)pthread_barrier_wait(&rapid->gate);
    w->begun = duration_now();
    fire(w);
    w->ended = duration_now();
    w->cpu_ns = own_cpu();
  }
  return NULL;
}

/* Starts the threads.  Returns how many there are. */
static uint32_t start_workers(struct rapid *rapid) {
  pthread_attr_t attr;
  uint32_t started = 0;
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setstacksize(&attr, DEMO_STACK_BYTES);
  (void)pthread_mutex_lock(&rapid->start);
  while (started < rapid->n) {
    struct worker *w = &rapid->workers[started];
    w->rapid = rapid;
    w->err.struct_size = sizeof w->err;
    if (pthread_create(&w->thread, &attr, work, w) != 0) {
      break;
    }
    started++;
  }
  rapid->given_up = started < rapid->n;
  (void)pthread_mutex_unlock(&rapid->start);
  (void)pthread_attr_destroy(&attr);
  return started;
}

static void lead(struct rapid *rapid) {
  struct timespec rest = {.tv_nsec = RUN_NS};
  (void)pthread_barrier_wait(&rapid->gate);
  while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
  }
  atomic_store_explicit(&rapid->stop, true, memory_order_relaxed);
}

/* Sums up what the workers did and reports the first failure. */
static int sum_up(const struct rapid *rapid, struct demo_rapid *result) {
  const struct worker *failed = NULL;
  uint32_t n_failed = 0;
  int64_t begun = INT64_MAX;
  int64_t ended = 0;
  for (uint32_t i = 0; i < rapid->n; i++) {
    const struct worker *w = &rapid->workers[i];
    begun = w->begun < begun ? w->begun : begun;
    ended = w->ended > ended ? w->ended : ended;
    result->ops += w->ops;
    result->cpu_ns += w->cpu_ns;
    if (w->rc != WEIR_OK) {
      failed = failed == NULL ? w : failed;
      n_failed++;
    }
  }
  result->wall_ns = ended - begun;
  if (failed != NULL) {
    return demo_bench_fail_thread(rapid->strategy, n_failed, rapid->n,
                                  failed->rc, &failed->err,
                                  "opening and closing a warm connection");
  }
  return EXIT_CODE_OK;
}

/* All zero after Ctrl-C. */
static struct weir_pool_stats read_stats(const struct demo_bench *bench) {
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  (void)weir_pool_stats(bench->pool, &stats);
  return stats;
}

/* Of the waits since then: those before were for the connects of a cold pool. */
static int64_t wait_below(const struct weir_pool_stats *then,
                          const struct demo_bench *bench) {
  struct weir_pool_stats now = read_stats(bench);
  for (unsigned i = sizeof now.wait_bucket / sizeof now.wait_bucket[0];
       i-- > 0;) {
    if (now.wait_bucket[i] > then->wait_bucket[i]) {
      return INT64_C(1000) << i;
    }
  }
  return 0;
}

static int run_rapid(struct rapid *rapid, struct demo_rapid *result) {
  struct weir_pool_stats warm = read_stats(&rapid->bench);
  uint32_t started = start_workers(rapid);
  if (started == rapid->n) {
    lead(rapid);
  }
  for (uint32_t i = 0; i < started; i++) {
    (void)pthread_join(rapid->workers[i].thread, NULL);
  }
  if (started < rapid->n) {
    diag_line("only %u of %u threads could be started", started, rapid->n);
    return EXIT_CODE_OTHER;
  }
  result->wait_below_ns = wait_below(&warm, &rapid->bench);
  return sum_up(rapid, result);
}

/* The barrier and the mutex live for one run. */
static int run_threads(struct rapid *rapid, struct demo_rapid *result) {
  (void)pthread_mutex_init(&rapid->start, NULL);
  (void)pthread_barrier_init(&rapid->gate, NULL, rapid->n + 1);
  int code = run_rapid(rapid, result);
  (void)pthread_barrier_destroy(&rapid->gate);
  (void)pthread_mutex_destroy(&rapid->start);
  return code;
}

int demo_rapid_run(const struct demo_target *target,
                   enum demo_strategy strategy,
                   const struct demo_shape *shape,
                   struct demo_rapid *out) {
  struct demo_rapid result = {0};
  struct rapid rapid = {.strategy = strategy, .n = shape->threads};
  rapid.workers =
      aligned_alloc(_Alignof(struct worker), rapid.n * sizeof *rapid.workers);
  if (rapid.workers == NULL) {
    return diag_output(-ENOMEM);
  }
  memset(rapid.workers, 0, rapid.n * sizeof *rapid.workers);
  int code =
      demo_bench_open(target, strategy, shape->connections, &rapid.bench);
  if (code == EXIT_CODE_OK) {
    code = open_all(&rapid.bench, shape->connections);
    code = code == EXIT_CODE_OK ? run_threads(&rapid, &result) : code;
    demo_bench_close(&rapid.bench);
  }
  free(rapid.workers);
  if (code == EXIT_CODE_OK) {
    *out = result;
  }
  return code;
}
