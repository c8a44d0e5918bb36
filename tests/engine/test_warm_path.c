/* SPDX-License-Identifier: MIT */
/* P7: a warm acquire and release of a lease that runs nothing make no system call
 * and no allocation.  Against libweir.so itself, without seams. */
#include <stdlib.h>
#include <string.h>

#include "weir.h"

#include "check.h"
#include "count_calls.h"
#include "drivers_dir.h"

#define ROUNDS 10000u

struct warm {
  weir_h engine;
  weir_h pool;
  weir_h queue;
  weir_h small; /* a pool of one */
  weir_h held;  /* and its lease */
  unsigned failed;
};

/* The same with the submit form, whose queue must stay as it is. */
static void cycle_submitted(struct warm *w) {
  weir_h lease = 0;
  weir_h op = 0;
  w->failed += weir_submit_acquire(w->pool, WEIR_TIMEOUT_POOL, w->queue, 1,
                                   &lease, &op, NULL) != WEIR_OK;
  w->failed += op != 0;
  w->failed += weir_release(lease) != WEIR_OK;
}

static void run_submitted(void *arg) {
  for (unsigned i = 0; i < ROUNDS; i++) {
    cycle_submitted(arg);
  }
}

/* One that waits and is served by a release: nothing is allocated for it. */
static void run_waiting(void *arg) {
  struct warm *w = arg;
  struct weir_completion c = {.struct_size = sizeof c};
  for (unsigned i = 0; i < ROUNDS; i++) {
    weir_h lease = 0;
    w->failed += weir_submit_acquire(w->small, WEIR_TIMEOUT_POOL, w->queue, i,
                                     &lease, NULL, NULL) != WEIR_PENDING;
    w->failed += weir_release(w->held) != WEIR_OK;
    w->failed += weir_queue_take(w->queue, 0, &c, NULL) != WEIR_OK;
    w->failed += c.user != i || c.status != WEIR_OK;
    w->held = c.lease;
  }
}

static int open_pool(struct warm *w) {
  static const char text[] = "Driver=mock;Max Pool Size=8";
  char dirs[512];
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV};
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  if (weir_engine_open(&opts, &w->engine, &err) != WEIR_OK ||
      weir_pool_open(w->engine, text, strlen(text), &w->pool, &err) !=
          WEIR_OK) {
    (void)fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  return 0;
}

static void cycle(struct warm *w) {
  weir_h lease = 0;
  struct weir_error err;
  err.struct_size = sizeof err;
  w->failed +=
      weir_acquire(w->pool, WEIR_TIMEOUT_POOL, &lease, &err) != WEIR_OK;
  w->failed += weir_release(lease) != WEIR_OK;
}

/* Opens the connection and lets every lazy thing happen once. */
static int prepare(void *arg) {
  struct warm *w = arg;
  if (open_pool(w) != 0) {
    return 1;
  }
  cycle(w);
  cycle(w);
  return w->failed != 0;
}

static void run(void *arg) {
  for (unsigned i = 0; i < ROUNDS; i++) {
    cycle(arg);
  }
}

/* Several leases at once, so that more than the hinted slot is found. */
static void run_deep(void *arg) {
  struct warm *w = arg;
  weir_h leases[8];
  for (unsigned i = 0; i < ROUNDS / 8; i++) {
    for (unsigned k = 0; k < 8; k++) {
      w->failed +=
          weir_acquire(w->pool, WEIR_TIMEOUT_POOL, &leases[k], NULL) != WEIR_OK;
    }
    for (unsigned k = 0; k < 8; k++) {
      w->failed += weir_release(leases[k]) != WEIR_OK;
    }
  }
}

static int prepare_deep(void *arg) {
  if (prepare(arg) != 0) {
    return 1;
  }
  run_deep(arg);
  return ((struct warm *)arg)->failed != 0;
}

static void finish(void *arg) {
  struct warm *w = arg;
  if (w->failed != 0) {
    (void)fprintf(stderr, "%u calls failed\n", w->failed);
    abort();
  }
}

static void makes_no_system_call(const char *name,
                                 int (*before)(void *),
                                 void (*warm)(void *)) {
  struct warm w = {.engine = 0};
  struct count_calls_result found = {.calls = 1};
  const struct count_calls what = {
      .prepare = before, .run = warm, .finish = finish, .arg = &w};
  CHECK(count_system_calls(&what, &found) == 0);
  CHECK(found.calls == 0);
  if (found.calls != 0) {
    (void)fprintf(stderr, "%s: the first is number %lld\n", name,
                  (long long)found.shown[0]);
  }
}

static void makes_no_allocation(int (*before)(void *), void (*warm)(void *)) {
  struct warm w = {.engine = 0};
  CHECK(before(&w) == 0);
  CHECK(count_allocations(warm, &w) == 0);
  CHECK(w.failed == 0);
  CHECK(weir_engine_shutdown(w.engine, 0, NULL) == WEIR_OK);
}

static int prepare_submitted(void *arg) {
  static const char text[] = "Driver=mock;Max Pool Size=1";
  struct warm *w = arg;
  if (prepare(w) != 0 ||
      weir_queue_open(w->engine, 4, &w->queue, NULL) != WEIR_OK ||
      weir_pool_open(w->engine, text, strlen(text), &w->small, NULL) !=
          WEIR_OK ||
      weir_acquire(w->small, WEIR_TIMEOUT_POOL, &w->held, NULL) != WEIR_OK) {
    return 1;
  }
  cycle_submitted(w);
  /* As often as the queue has entries, whose timers are then set. */
  run_waiting(w);
  return w->failed != 0;
}

/* The counters can count. */
static void sees_a_cold_one(void) {
  struct warm w = {.engine = 0};
  struct weir_pool_stats s = {.struct_size = sizeof s};
  CHECK(open_pool(&w) == 0);
  CHECK(count_allocations(run, &w) > 0);
  CHECK(weir_pool_stats(w.pool, &s) == WEIR_OK);
  CHECK(s.acquired == ROUNDS);
  CHECK(s.connects_begun == 1);
  CHECK(weir_engine_shutdown(w.engine, 0, NULL) == WEIR_OK);
}

int main(void) {
  /* The system calls first: they fork, and no thread is there yet. */
  makes_no_system_call("warm", prepare, run);
  makes_no_system_call("deep", prepare_deep, run_deep);
  makes_no_system_call("submitted", prepare_submitted, run_submitted);
  makes_no_system_call("waiting", prepare_submitted, run_waiting);
  makes_no_allocation(prepare, run);
  makes_no_allocation(prepare_deep, run_deep);
  makes_no_allocation(prepare_submitted, run_submitted);
  makes_no_allocation(prepare_submitted, run_waiting);
  sees_a_cold_one();
  return check_summary();
}
