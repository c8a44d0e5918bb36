/* SPDX-License-Identifier: MIT */
/* demo_ramp.c - connections opened one after another, and by many threads at once. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "demo_bench.h"
#include "diag.h"
#include "duration.h"
#include "exit_code.h"

/* Soft connects of one thread. */
#define SOFT_TIMES 200

static struct demo_cpu read_cpu(const struct demo_target *target) {
  struct demo_cpu cpu = {0};
  /* It could be read at the start; a server that has died since shows in
   * everything else. */
  (void)demo_cpu_read(target->server, &cpu);
  return cpu;
}

static struct demo_cpu cpu_between(struct demo_cpu a, struct demo_cpu b) {
  return (struct demo_cpu){b.client - a.client, b.server - a.server};
}

/* --------------------------------------------------------------- serial */

static int open_each(const struct demo_bench *bench,
                     weir_h *leases,
                     uint32_t n,
                     uint32_t *out_opened) {
  int code = EXIT_CODE_OK;
  uint32_t opened = 0;
  while (opened < n && code == EXIT_CODE_OK) {
    struct weir_error err = WEIR_ERROR_INIT;
    int32_t rc =
        weir_acquire(bench->pool, WEIR_TIMEOUT_POOL, &leases[opened], &err);
    if (rc == WEIR_OK) {
      opened++;
    } else {
      code = demo_bench_fail(rc, &err, "opening one connection");
    }
  }
  *out_opened = opened;
  return code;
}

int demo_serial_run(const struct demo_target *target,
                    uint32_t n,
                    struct demo_serial *out) {
  struct demo_bench bench = {0};
  struct demo_serial result = {0};
  weir_h *leases = calloc(n, sizeof *leases);
  if (leases == NULL) {
    return diag_output(-ENOMEM);
  }
  int code = demo_bench_open(target, DEMO_DIRECT, n, &bench);
  if (code == EXIT_CODE_OK) {
    struct demo_cpu cpu = read_cpu(target);
    int64_t begun = duration_now();
    code = open_each(&bench, leases, n, &result.opened);
    result.wall_ns = duration_now() - begun;
    result.cpu = cpu_between(cpu, read_cpu(target));
    for (uint32_t i = 0; i < result.opened; i++) {
      (void)weir_release(leases[i]);
    }
    demo_bench_close(&bench);
  }
  free(leases);
  if (code == EXIT_CODE_OK) {
    *out = result;
  }
  return code;
}

/* ----------------------------------------------------------------- ramp */

struct worker;

/* What main and workers share.  A ramp has stages; a worker goes on to the
 * next when all workers and main have come to the gate. */
struct ramp {
  struct demo_bench bench;
  enum demo_strategy strategy;
  const char *sql;
  pthread_barrier_t gate;
  pthread_mutex_t start; /* held by main until all threads exist, or */
  bool given_up;         /* it is known that they never will; under start */
  struct worker *workers;
  uint32_t n;
};

struct worker {
  struct ramp *ramp;
  pthread_t thread;
  weir_h lease; /* 0: none */
  int64_t begun;
  int64_t opened;
  uint64_t rows;
  uint64_t statements;
  uint64_t soft;
  int32_t rc; /* the first failure */
  const char *doing;
  struct weir_error err;
  char session[32];
};

static void pass(struct ramp *ramp) {
  (void)pthread_barrier_wait(&ramp->gate);
}

static bool check(struct worker *w, int32_t rc, const char *doing) {
  if (rc != WEIR_OK && w->rc == WEIR_OK) {
    w->rc = rc;
    w->doing = doing;
  }
  return rc == WEIR_OK;
}

static void acquire_first(struct worker *w) {
  w->begun = duration_now();
  int32_t rc =
      weir_acquire(w->ramp->bench.pool, WEIR_TIMEOUT_POOL, &w->lease, &w->err);
  w->opened = duration_now();
  if (!check(w, rc, "opening connections at once")) {
    w->lease = 0;
  }
}

static void read_rows(struct worker *w) {
  struct weir_item item = {.struct_size = sizeof item};
  do {
    item = (struct weir_item){.struct_size = sizeof item};
    int32_t rc = weir_next(w->lease, &item, &w->err);
    if (!check(w, rc, "reading rows")) {
      return;
    }
    if (item.type == WEIR_ITEM_ROWS) {
      w->rows += item.n_rows;
      (void)weir_rows_free(item.rows);
    }
  } while (item.type != WEIR_ITEM_DONE);
  w->statements++;
}

static void run_statement(struct worker *w) {
  if (w->lease == 0) {
    return;
  }
  int32_t rc =
      weir_exec(w->lease, w->ramp->sql, strlen(w->ramp->sql), NULL, &w->err);
  if (check(w, rc, "running a statement")) {
    read_rows(w);
  }
  (void)check(w, weir_release(w->lease), "giving a connection back");
  w->lease = 0;
}

static void connect_softly(struct worker *w) {
  for (int i = 0; i < SOFT_TIMES && w->rc == WEIR_OK; i++) {
    weir_h lease;
    int32_t rc =
        weir_acquire(w->ramp->bench.pool, WEIR_TIMEOUT_POOL, &lease, &w->err);
    if (check(w, rc, "taking an open connection") &&
        check(w, weir_release(lease), "giving a connection back")) {
      w->soft++;
    }
  }
}

static void note_session(struct worker *w) {
  if (w->lease != 0 &&
      weir_lease_info(w->lease, WEIR_INFO_SESSION_ID, w->session,
                      sizeof w->session, NULL) != WEIR_OK) {
    w->session[0] = '\0';
  }
}

/* A worker passes every gate, whatever has failed: the others wait there. */
static void *work(void *arg) {
  struct worker *w = arg;
  struct ramp *ramp = w->ramp;
  (void)pthread_mutex_lock(&ramp->start);
  bool given_up = ramp->given_up;
  (void)pthread_mutex_unlock(&ramp->start);
  if (given_up) {
    return NULL;
  }
  pass(ramp); /* all threads exist */
  acquire_first(w);
  pass(ramp); /* all have a connection */
  note_session(w);
  pass(ramp); /* main has looked at the pool */
  run_statement(w);
  pass(ramp); /* all are back */
  connect_softly(w);
  pass(ramp); /* the end */
  return NULL;
}

/* Starts the threads.  Returns how many there are. */
static uint32_t start_workers(struct ramp *ramp) {
  pthread_attr_t attr;
  (void)pthread_attr_init(&attr);
  (void)pthread_attr_setstacksize(&attr, DEMO_STACK_BYTES);
  (void)pthread_mutex_lock(&ramp->start);
  uint32_t started = 0;
  while (started < ramp->n) {
    struct worker *w = &ramp->workers[started];
    w->ramp = ramp;
    w->err.struct_size = sizeof w->err;
    if (pthread_create(&w->thread, &attr, work, w) != 0) {
      break;
    }
    started++;
  }
  ramp->given_up = started < ramp->n;
  (void)pthread_mutex_unlock(&ramp->start);
  (void)pthread_attr_destroy(&attr);
  return started;
}

/* Later connects would be replacements, which a pool may open. */
static void note_stats(const struct ramp *ramp,
                       struct demo_ramp *result,
                       bool opening) {
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  if (weir_pool_stats(ramp->bench.pool, &stats) != WEIR_OK) {
    return; /* Stale after Ctrl-C. */
  }
  uint32_t total = stats.connecting + stats.idle + stats.leased +
                   stats.reserved + stats.parked + stats.stasis + stats.closing;
  result->sessions_max =
      total > result->sessions_max ? total : result->sessions_max;
  if (opening) {
    result->connects_ok = stats.connects_ok;
    result->connects_begun = stats.connects_begun;
  }
}

/* Goes through the stages with the workers, looking at the clocks. */
static void lead(struct ramp *ramp,
                 const struct demo_target *target,
                 struct demo_ramp *result) {
  struct demo_cpu cpu = read_cpu(target);
  pass(ramp); /* all threads exist */
  pass(ramp); /* all have a connection */
  result->cpu = cpu_between(cpu, read_cpu(target));
  note_stats(ramp, result, true);
  int64_t begun = duration_now();
  pass(ramp); /* main has looked at the pool */
  pass(ramp); /* all are back */
  result->query_ns = duration_now() - begun;
  note_stats(ramp, result, false);
  begun = duration_now();
  pass(ramp); /* the end */
  result->soft_ns = duration_now() - begun;
  note_stats(ramp, result, false);
}

static int compare_sessions(const void *a, const void *b) {
  const struct worker *left = a;
  const struct worker *right = b;
  return strcmp(left->session, right->session);
}

/* Sorts the workers, whose threads have ended. */
static uint32_t count_sessions(struct ramp *ramp) {
  qsort(ramp->workers, ramp->n, sizeof *ramp->workers, compare_sessions);
  uint32_t n = 0;
  for (uint32_t i = 0; i < ramp->n; i++) {
    const char *session = ramp->workers[i].session;
    bool again = i > 0 && strcmp(session, ramp->workers[i - 1].session) == 0;
    n += session[0] != '\0' && !again ? 1 : 0;
  }
  return n;
}

/* Sums up what the workers saw and reports the first failure. */
static int sum_up(struct ramp *ramp, struct demo_ramp *result) {
  const struct worker *failed = NULL;
  uint32_t n_failed = 0;
  int64_t begun = INT64_MAX;
  int64_t opened = 0;
  for (uint32_t i = 0; i < ramp->n; i++) {
    const struct worker *w = &ramp->workers[i];
    begun = w->begun < begun ? w->begun : begun;
    opened = w->opened > opened ? w->opened : opened;
    result->rows += w->rows;
    result->statements += w->statements;
    result->soft += w->soft;
    if (w->rc != WEIR_OK) {
      failed = failed == NULL ? w : failed;
      n_failed++;
    }
  }
  result->threads = ramp->n;
  result->wall_ns = opened - begun;
  if (failed != NULL) {
    return demo_bench_fail_thread(ramp->strategy, n_failed, ramp->n, failed->rc,
                                  &failed->err, failed->doing);
  }
  result->sessions_distinct = count_sessions(ramp);
  return EXIT_CODE_OK;
}

static int run_ramp(struct ramp *ramp,
                    const struct demo_target *target,
                    struct demo_ramp *result) {
  uint32_t started = start_workers(ramp);
  if (started == ramp->n) {
    lead(ramp, target, result);
  }
  for (uint32_t i = 0; i < started; i++) {
    (void)pthread_join(ramp->workers[i].thread, NULL);
  }
  if (started < ramp->n) {
    diag_line("only %u of %u threads could be started", started, ramp->n);
    return EXIT_CODE_OTHER;
  }
  return sum_up(ramp, result);
}

int demo_ramp_run(const struct demo_target *target,
                  enum demo_strategy strategy,
                  uint32_t n,
                  struct demo_ramp *out) {
  struct demo_ramp result = {0};
  struct ramp ramp = {.sql = target->sql, .strategy = strategy, .n = n};
  ramp.workers = calloc(n, sizeof *ramp.workers);
  if (ramp.workers == NULL) {
    return diag_output(-ENOMEM);
  }
  int code = demo_bench_open(target, strategy, n, &ramp.bench);
  if (code == EXIT_CODE_OK) {
    (void)pthread_mutex_init(&ramp.start, NULL);
    (void)pthread_barrier_init(&ramp.gate, NULL, n + 1);
    code = run_ramp(&ramp, target, &result);
    (void)pthread_barrier_destroy(&ramp.gate);
    (void)pthread_mutex_destroy(&ramp.start);
    demo_bench_close(&ramp.bench);
  }
  free(ramp.workers);
  if (code == EXIT_CODE_OK) {
    *out = result;
  }
  return code;
}
