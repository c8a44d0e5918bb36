/* SPDX-License-Identifier: MIT */
/* stress_pool.c - many threads, few connections, everything at once: acquires of
 * 20 us to for ever, statements, discards, double releases, clears, and an
 * assertion that a connection is never in two hands.
 *
 * A plain program, so that it runs under ThreadSanitizer and AddressSanitizer.
 * WEIR_STRESS_SECONDS sets how long (default 2), WEIR_STRESS_SEED the seed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "weir.h"

#include "strategies.h"

#define THREADS 16
#define SLOTS   131072u

static _Atomic int in_use[SLOTS];
static _Atomic int stop;
static _Atomic uint64_t leases;
static _Atomic uint64_t timeouts;
static _Atomic uint64_t statements;
static _Atomic uint64_t failures;
static weir_h pool;

static void broken(const char *what, int rc) {
  (void)fprintf(stderr, "stress_pool: %s: %s\n", what, weir_status_name(rc));
  abort();
}

static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

/* The index of the slot is what a lease's handle has in bits 32 to 48. */
static _Atomic int *mark_of(weir_h lease) {
  return &in_use[lease >> 32 & (SLOTS - 1)];
}

static int read_all(weir_h lease) {
  for (;;) {
    struct weir_item item = {.struct_size = sizeof item};
    int rc = weir_next(lease, &item, NULL);
    if (rc != WEIR_OK || item.type == WEIR_ITEM_DONE) {
      return rc;
    }
    if (item.type == WEIR_ITEM_ROWS && weir_rows_free(item.rows) != WEIR_OK) {
      broken("rows_free", WEIR_E_HANDLE);
    }
  }
}

static const char *const sql[] = {"rows 3",    "rows 0", "SELECT 1",
                                  "sleep 1ms", "begin",  "fail 50000",
                                  "kill",      "set x"};

static void run_statement(weir_h lease, uint64_t *random) {
  const char *text = sql[next_random(random) % (sizeof sql / sizeof *sql)];
  int rc = weir_exec(lease, text, strlen(text), NULL, NULL);
  if (rc == WEIR_OK && next_random(random) % 8 != 0) {
    rc = read_all(lease);
  }
  if (rc != WEIR_OK && rc != WEIR_E_FAIL) {
    broken("statement", rc);
  }
  atomic_fetch_add(&statements, 1);
  atomic_fetch_add(&failures, rc == WEIR_E_FAIL);
}

static void end_lease(weir_h lease, uint64_t *random) {
  int rc =
      next_random(random) % 64 == 0 ? weir_discard(lease) : weir_release(lease);
  if (rc != WEIR_OK) {
    broken("release", rc);
  }
  if (next_random(random) % 4 == 0 && weir_release(lease) != WEIR_E_HANDLE) {
    broken("second release", rc);
  }
}

static int64_t pick_timeout(uint64_t *random) {
  switch (next_random(random) % 4) {
  case 0:
    return 0;
  case 1:
    return 20 * 1000;
  case 2:
    return 5 * 1000 * 1000;
  default:
    return INT64_C(60) * 1000 * 1000 * 1000;
  }
}

static void use_once(uint64_t *random) {
  weir_h lease = 0;
  int rc = weir_acquire(pool, pick_timeout(random), &lease, NULL);
  if (rc == WEIR_E_TIMEOUT) {
    atomic_fetch_add(&timeouts, 1);
    return;
  }
  if (rc != WEIR_OK) {
    broken("acquire", rc);
  }
  if (atomic_exchange(mark_of(lease), 1) != 0) {
    broken("a connection is in two hands", rc);
  }
  if (next_random(random) % 4 == 0) {
    run_statement(lease, random);
  }
  atomic_store(mark_of(lease), 0);
  end_lease(lease, random);
  atomic_fetch_add(&leases, 1);
}

static void *work(void *arg) {
  uint64_t random = (uint64_t)(uintptr_t)arg;
  while (atomic_load(&stop) == 0) {
    use_once(&random);
    if (next_random(&random) % 2048 == 0 && weir_pool_clear(pool) != WEIR_OK) {
      broken("clear", WEIR_E_FAIL);
    }
  }
  return NULL;
}

static long setting(const char *name, long fallback) {
  const char *text = getenv(name);
  return text == NULL ? fallback : strtol(text, NULL, 10);
}

static weir_h open_engine(void) {
  char dirs[4096];
  const char *build = getenv("WEIR_BUILD_DIR");
  int n = snprintf(dirs, sizeof dirs, "%s/lib/weir/drivers",
                   build == NULL ? "." : build);
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .driver_dirs = dirs,
                                  .driver_dirs_len = (uint64_t)n};
  struct weir_error err = {.struct_size = sizeof err};
  weir_h engine = 0;
  if (weir_engine_open(&opts, &engine, &err) != WEIR_OK) {
    (void)fprintf(stderr, "%s\n", err.message);
    exit(1);
  }
  return engine;
}

static void open_pool(weir_h engine, unsigned strategy) {
  static const char conninfo[] =
      "Driver=mock;Max Pool Size=5;Mock Connect Delay=1ms;Probe Window=1ms;"
      "Connection Reset=lazy";
  struct weir_error err = {.struct_size = sizeof err};
  if (stress_open_pool(engine, stress_strategy(strategy), conninfo, &pool,
                       &err) != WEIR_OK) {
    (void)fprintf(stderr, "%s\n", err.message);
    exit(1);
  }
}

/* Whatever was under way when the last caller left must end by itself: a place
 * that stays CONNECTING has been lost. */
static void await_rest(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  struct timespec ms = {.tv_nsec = 1000 * 1000};
  for (int i = 0; i < 10000; i++) {
    if (weir_pool_stats(pool, &s) == WEIR_OK &&
        s.connecting + s.reserved + s.closing == 0) {
      return;
    }
    (void)nanosleep(&ms, NULL);
  }
  broken("a place never comes to rest", WEIR_E_TIMEOUT);
}

/* At rest everything adds up. */
static void check_rest(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  if (weir_pool_stats(pool, &s) != WEIR_OK || s.leased != 0 || s.waiters != 0 ||
      s.acquired != s.released ||
      s.empty + s.connecting + s.idle + s.reserved + s.closing != s.max_size) {
    broken("the pool does not add up", WEIR_E_FAIL);
  }
}

/* The counters, too, and those of the engine, which has had this pool only. */
static void check_counters(weir_h engine) {
  struct weir_counters c = {.struct_size = sizeof c};
  struct weir_counters e = {.struct_size = sizeof e};
  if (weir_pool_counters(pool, &c) != WEIR_OK ||
      weir_engine_counters(engine, &e) != WEIR_OK ||
      c.soft_connects != c.soft_disconnects ||
      c.active_hard_connections != c.hard_connects - c.hard_disconnects ||
      c.active_hard_connections != c.number_of_pooled_connections ||
      c.number_of_free_connections != c.number_of_pooled_connections ||
      c.soft_connects < atomic_load(&leases) || memcmp(&c, &e, sizeof c) != 0) {
    broken("the counters do not add up", WEIR_E_FAIL);
  }
}

static unsigned long count(_Atomic uint64_t *counter) {
  return (unsigned long)atomic_load(counter);
}

/* One strategy, in an engine of its own. */
static void run(unsigned strategy, long seed, int64_t ns) {
  pthread_t threads[THREADS];
  weir_h engine = open_engine();
  uint64_t before = atomic_exchange(&leases, 0);
  struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
  open_pool(engine, strategy);
  atomic_store(&stop, 0);
  for (long i = 0; i < THREADS; i++) {
    if (pthread_create(&threads[i], NULL, work,
                       (void *)(uintptr_t)(seed + i * 7919)) != 0) {
      broken("thread", WEIR_E_NOMEM);
    }
  }
  (void)nanosleep(&t, NULL);
  atomic_store(&stop, 1);
  for (int i = 0; i < THREADS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  await_rest();
  check_rest();
  check_counters(engine);
  struct weir_error err = {.struct_size = sizeof err};
  int rc = weir_engine_shutdown(engine, INT64_C(5000000000), &err);
  if (rc != WEIR_OK) {
    broken(err.message, rc);
  }
  (void)atomic_fetch_add(&leases, before);
}

int main(void) {
  long seconds = setting("WEIR_STRESS_SECONDS", 2);
  long seed = setting("WEIR_STRESS_SEED", 20261130);
  for (unsigned i = 0; i < STRESS_STRATEGIES; i++) {
    run(i, seed, seconds * INT64_C(1000000000) / STRESS_STRATEGIES);
  }
  (void)printf("seed %ld: %lu leases, %lu statements (%lu failed as told), "
               "%lu time-outs\n1 passed, 0 failed\n",
               seed, count(&leases), count(&statements), count(&failures),
               count(&timeouts));
  return count(&leases) == 0 || count(&timeouts) == 0 ||
         count(&statements) == 0;
}
