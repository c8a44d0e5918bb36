/* SPDX-License-Identifier: MIT */
/* stress_watch.c - a server that ends sessions at random, idle and in use, under
 * threads that acquire, use and release them, while the pool trims, pings, keeps
 * some idle ones ready, ages its connections, and now and then holds all idle ones
 * suspect.  Nobody may get a connection twice, nobody may wait beside an idle one,
 * and in the end every place can be had.
 *
 * WEIR_STRESS_SECONDS (3), WEIR_STRESS_SEED. */
#include <pthread.h>

#include "engine.h"
#include "handle.h"
#include "idle.h"
#include "loader.h"
#include "pool.h"
#include "strategies.h"
#include "stress.h"

#define THREADS   12
#define MAX_SLOTS 8
#define SLOTS     131072u

static const char conninfo[] =
    "Driver=mock;Mock Strict=true;Max Pool Size=8;Min Pool Size=1;Min Idle=2;"
    "Close Timeout=0;Connection Idle Timeout=50ms;Connection Lifetime=300ms;"
    "Keepalive Interval=5ms;Session Init='set ready';Probe Window=1ms;"
    "Mock Script Text=\"ping every 17: fail conn network 'gone';"
    "ping every 5: delay 1ms;health every 211: dead;"
    "exec every 997: die\"";

static weir_h engine;
static weir_h pool;
static long seed;
static weir_drv_drv *driver;
static const struct mock_control *mock;
static _Atomic int in_use[SLOTS];
static _Atomic int stop;
static _Atomic uint64_t leases;
static _Atomic uint64_t dead;
static _Atomic uint64_t kills;
static _Atomic uint64_t waves;

static void find_mock(void) {
  struct weir__engine *e = weir__handle_find(engine, WEIR_TYPE_ENGINE);
  const struct weir__driver *found = NULL;
  if (weir__loader_load(e->loader, "mock", 4, &found, NULL) != WEIR_OK) {
    stress_broken("no mock", WEIR_E_FAIL);
  }
  driver = found->instance;
  mock =
      found->table.extension(driver, MOCK_CONTROL_NAME, MOCK_CONTROL_VERSION);
}

static struct mock_counts mock_counts(void) {
  struct mock_counts c = {.struct_size = sizeof c};
  mock->counts(driver, &c);
  return c;
}

/* The index of the slot is what a lease's handle has in bits 32 to 48. */
static _Atomic int *mark_of(weir_h lease) {
  return &in_use[lease >> 32 & (SLOTS - 1)];
}

static void use(weir_h lease, struct stress_random *r) {
  static const char *const sql[] = {"rows 3", "set mine", "begin", "rows 900"};
  const char *text = sql[stress_below(r, 4)];
  int rc = weir_exec(lease, text, strlen(text), NULL, NULL);
  if (rc == WEIR_OK && stress_below(r, 4) != 0) {
    rc = stress_read_all(lease);
  }
  STRESS_ALLOW("statement", rc, WEIR_E_FAIL);
  atomic_fetch_add(&dead, rc == WEIR_E_FAIL);
}

static void *work(void *arg) {
  struct stress_random r = stress_seed(seed, *(const int *)arg + 1);
  while (atomic_load(&stop) == 0) {
    weir_h lease = 0;
    int64_t patience = stress_below(&r, 4) == 0
                           ? (int64_t)stress_below(&r, 400) * STRESS_US
                           : STRESS_PATIENCE_NS;
    int rc = weir_acquire(pool, patience, &lease, NULL);
    if (patience < STRESS_PATIENCE_NS) {
      STRESS_ALLOW("short acquire", rc, WEIR_E_TIMEOUT, WEIR_E_FAIL);
    } else {
      STRESS_ALLOW("acquire", rc, WEIR_E_FAIL);
    }
    if (rc != WEIR_OK) {
      continue;
    }
    if (atomic_fetch_add(mark_of(lease), 1) != 0) {
      stress_broken("a connection in two hands", WEIR_E_FAIL);
    }
    if (stress_below(&r, 3) != 0) {
      use(lease, &r);
    }
    atomic_fetch_sub(mark_of(lease), 1);
    STRESS_ALLOW("release", weir_release(lease), WEIR_OK);
    atomic_fetch_add(&leases, 1);
    if (stress_below(&r, 16) == 0) {
      stress_pause(stress_below(&r, 3) * STRESS_MS); /* so that some idle */
    }
  }
  return arg;
}

/* The server: one session now and then, several at once now and then. */
static void *kill_sessions(void *arg) {
  struct stress_random r = stress_seed(seed, 100);
  while (atomic_load(&stop) == 0) {
    uint32_t n = stress_below(&r, 20) == 0 ? 5 : 1;
    for (uint32_t i = 0; i < n; i++) {
      atomic_fetch_add(&kills, (uint64_t)mock->kill_idle(
                                   driver, 1 + stress_below(&r, MAX_SLOTS)));
    }
    stress_pause(stress_below(&r, 3000) * STRESS_US);
  }
  return arg;
}

/* What a failed statement of several users does. */
static void *accuse(void *arg) {
  struct stress_random r = stress_seed(seed, 200);
  struct weir__pool *p = weir__handle_find(pool, WEIR_TYPE_POOL);
  while (atomic_load(&stop) == 0) {
    weir__idle_suspect_all(p);
    atomic_fetch_add(&waves, 1);
    stress_pause(stress_below(&r, 4000) * STRESS_US);
  }
  return arg;
}

static void run(long seconds) {
  pthread_t threads[THREADS + 2];
  int numbers[THREADS];
  for (int i = 0; i < THREADS + 2; i++) {
    int rc;
    if (i < THREADS) {
      numbers[i] = i;
      rc = pthread_create(&threads[i], NULL, work, &numbers[i]);
    } else {
      rc = pthread_create(&threads[i], NULL,
                          i == THREADS ? kill_sessions : accuse, NULL);
    }
    if (rc != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause(seconds * STRESS_S);
  atomic_store(&stop, 1);
  for (int i = 0; i < THREADS + 2; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

/* Session Init may die with its session; a clear ends the time in which nobody may
 * try again. */
static weir_h acquire_in_the_end(void) {
  weir_h lease = 0;
  int rc = WEIR_E_FAIL;
  for (int attempt = 0; rc == WEIR_E_FAIL && attempt < 5; attempt++) {
    rc = weir_acquire(pool, STRESS_PATIENCE_NS, &lease, NULL);
    if (rc == WEIR_E_FAIL) {
      STRESS_ALLOW("clear", weir_pool_clear(pool), WEIR_OK);
    }
  }
  STRESS_ALLOW("all places", rc, WEIR_OK);
  return lease;
}

/* All places can be had, and the pool comes to rest by itself. */
static void check_end(void) {
  weir_h all[MAX_SLOTS];
  /* Ends a blocking period: a session may have been killed while it opened. */
  STRESS_ALLOW("clear", weir_pool_clear(pool), WEIR_OK);
  for (int i = 0; i < MAX_SLOTS; i++) {
    all[i] = acquire_in_the_end();
  }
  for (int i = 0; i < MAX_SLOTS; i++) {
    STRESS_ALLOW("release", weir_release(all[i]), WEIR_OK);
  }
  struct weir_pool_stats s = {.struct_size = sizeof s};
  int64_t end = stress_now() + STRESS_PATIENCE_NS;
  do {
    STRESS_ALLOW("stats", weir_pool_stats(pool, &s), WEIR_OK);
    if (stress_now() > end) {
      stress_broken("the pool does not come down", WEIR_E_TIMEOUT);
    }
    stress_pause(STRESS_MS);
  } while (s.idle + s.connecting + s.reserved > 3);
  if (s.leased != 0 || s.waiters != 0 || s.acquired != s.released) {
    stress_broken("the pool does not add up", WEIR_E_FAIL);
  }
}

int main(void) {
  struct weir_error err = {.struct_size = sizeof err};
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 3);
  seed = stress_setting("WEIR_STRESS_SEED", 20261130);
  engine = stress_open_engine();
  find_mock();
  const char *strategy = stress_strategy((unsigned long)stress_setting(
      "WEIR_STRESS_STRATEGY", (long)(stress_now() & 0xFFFFF)));
  (void)printf("%s seed %ld\n", strategy, seed);
  if (stress_open_pool(engine, strategy, conninfo, &pool, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  run(seconds);
  check_end();
  struct mock_counts c = mock_counts();
  if (c.overlaps != 0 || c.misuses != 0 || c.sessions_max > MAX_SLOTS) {
    stress_broken("the driver's contract, or Max Pool Size", WEIR_E_FAIL);
  }
  if (weir_engine_shutdown(engine, STRESS_S, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  (void)printf(
      "seed %ld: %lu leases, %lu failed statements, %lu sessions "
      "killed, %lu waves of suspicion, %lu pings, %lu looks, %lu "
      "connects\n1 passed, 0 failed\n",
      seed, (unsigned long)atomic_load(&leases),
      (unsigned long)atomic_load(&dead), (unsigned long)atomic_load(&kills),
      (unsigned long)atomic_load(&waves), (unsigned long)c.calls[MOCK_PING],
      (unsigned long)c.calls[MOCK_HEALTH],
      (unsigned long)c.calls[MOCK_CONNECT]);
  return atomic_load(&kills) == 0 || c.calls[MOCK_PING] == 0;
}
