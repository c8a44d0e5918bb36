/* SPDX-License-Identifier: MIT */
/* stress_control.c - callers of a pool that two threads pause, drain, resize,
 * reconfigure, clear and wait for, all the while.
 *
 * A connection is never in two hands, no caller is forgotten, sessions never exceed
 * the largest maximum, and in the end the pool is whole: it serves its maximum and
 * drains to nothing.
 *
 * WEIR_STRESS_SECONDS sets how long (default 2), WEIR_STRESS_SEED the seed. */
#include <pthread.h>

#include "strategies.h"
#include "stress.h"

#define WORKERS    12
#define MASTERS    2
#define SLOTS      131072u
#define LARGEST    40u
#define IN_THE_END 8u

static _Atomic weir_h holder[SLOTS];
static _Atomic int over;
static _Atomic uint64_t leases;
static _Atomic uint64_t refused;
static _Atomic uint64_t cut;
static _Atomic uint64_t changes;
static weir_h engine;
static weir_h pool;
static long seed;

static int64_t pick_timeout(struct stress_random *r) {
  switch (stress_below(r, 4)) {
  case 0:
    return 0;
  case 1:
    return 20 * STRESS_US;
  case 2:
    return 5 * STRESS_MS;
  default:
    return 4 * STRESS_PATIENCE_NS;
  }
}

/* Who holds the slot's connection.  A drain may have taken it away from the one
 * before us, or from us while we came here: then one of the handles is stale. */
static void take(_Atomic weir_h *at, weir_h lease) {
  weir_h before = atomic_exchange(at, lease);
  if (before != 0 && weir_cancel(before) != WEIR_E_HANDLE &&
      weir_cancel(lease) != WEIR_E_HANDLE) {
    stress_broken("a connection is in two hands", WEIR_E_FAIL);
  }
}

static void give(_Atomic weir_h *at, weir_h lease) {
  (void)atomic_compare_exchange_strong(at, &lease, 0);
}

static void use(weir_h lease, struct stress_random *r) {
  _Atomic weir_h *at = &holder[lease >> 32 & (SLOTS - 1)];
  int rc = WEIR_OK;
  take(at, lease);
  if (stress_below(r, 4) == 0) {
    stress_pause(stress_below(r, 100) * STRESS_US);
  }
  give(at, lease);
  if (stress_below(r, 3) == 0) {
    rc = weir_exec(lease, "rows 2", 6, NULL, NULL);
    STRESS_ALLOW("exec", rc, WEIR_E_HANDLE, WEIR_E_CLOSED, WEIR_E_FAIL);
    if (rc == WEIR_OK && stress_below(r, 4) != 0) {
      rc = stress_read_all(lease);
      STRESS_ALLOW("next", rc, WEIR_E_HANDLE, WEIR_E_CLOSED, WEIR_E_FAIL);
    }
  }
  rc = stress_below(r, 32) == 0 ? weir_discard(lease) : weir_release(lease);
  STRESS_ALLOW("release", rc, WEIR_E_HANDLE);
  (void)atomic_fetch_add(&cut, rc == WEIR_E_HANDLE);
  (void)atomic_fetch_add(&leases, 1);
}

static void *work(void *arg) {
  struct stress_random r = stress_seed(seed, (long)(intptr_t)arg);
  while (atomic_load(&over) == 0) {
    weir_h lease = 0;
    int64_t begun = stress_now();
    int rc = weir_acquire(pool, pick_timeout(&r), &lease, NULL);
    if (stress_now() - begun > 2 * STRESS_PATIENCE_NS) {
      stress_broken("an acquire was forgotten", rc);
    }
    STRESS_ALLOW("acquire", rc, WEIR_E_TIMEOUT, WEIR_E_CLOSED,
                 WEIR_E_OVERLOADED);
    (void)atomic_fetch_add(&refused,
                           rc == WEIR_E_CLOSED || rc == WEIR_E_OVERLOADED);
    if (rc == WEIR_OK) {
      use(lease, &r);
    } else if (rc != WEIR_E_TIMEOUT) {
      stress_pause(100 * STRESS_US);
    }
  }
  return NULL;
}

static void reconfigure(struct stress_random *r) {
  static const char *const texts[] = {
      "Max Waiters=3",
      "Max Waiters=0;Connect Timeout=5",
      "Max Uses=7;Probe Window=0",
      "Max Uses=0;Probe Window=;Close Timeout=100 ms",
      "Connection Idle Timeout=1 ms",
      "Connection Idle Timeout=300;Connection Lifetime=2 ms",
      "Connection Lifetime=0;Max Concurrent Connects=1",
      "Max Concurrent Connects=0;Lifetime Jitter=50",
      "Min Pool Size=0;Max Pool Size=12",
      "Max Waiters=3;Max Pool Size=0", /* refused */
  };
  uint32_t i = stress_below(r, sizeof texts / sizeof texts[0]);
  int rc = weir_pool_reconfigure(pool, texts[i], strlen(texts[i]), NULL);
  STRESS_ALLOW("reconfigure", rc, WEIR_E_ARG, WEIR_E_SPACE);
}

static void resize(struct stress_random *r) {
  uint32_t max = 1 + stress_below(r, LARGEST);
  uint32_t min = stress_below(r, 4) == 0 ? stress_below(r, max + 1) : 0;
  STRESS_ALLOW("resize", weir_pool_resize(pool, min, max, NULL), WEIR_E_SPACE);
}

static void step(struct stress_random *r) {
  switch (stress_below(r, 8)) {
  case 0:
    STRESS_ALLOW("pause", weir_pool_pause(pool), WEIR_OK);
    break;
  case 1:
    STRESS_ALLOW("drain",
                 weir_pool_drain(pool, stress_below(r, 3) * STRESS_MS, NULL),
                 WEIR_E_TIMEOUT, WEIR_E_CANCELLED);
    break;
  case 2:
    STRESS_ALLOW("clear", weir_pool_clear(pool), WEIR_OK);
    break;
  case 3:
    STRESS_ALLOW(
        "wait_ready",
        weir_pool_wait_ready(pool, stress_below(r, 3) * STRESS_MS, NULL),
        WEIR_E_TIMEOUT, WEIR_E_CLOSED);
    break;
  case 4:
  case 5:
    resize(r);
    break;
  default:
    reconfigure(r);
    break;
  }
}

static void *master(void *arg) {
  struct stress_random r = stress_seed(seed, (long)(intptr_t)arg);
  while (atomic_load(&over) == 0) {
    step(&r);
    (void)atomic_fetch_add(&changes, 1);
    stress_pause((int64_t)stress_below(&r, 3000) * STRESS_US);
    STRESS_ALLOW("resume", weir_pool_resume(pool), WEIR_OK);
  }
  return NULL;
}

static struct weir_pool_stats stats(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  STRESS_ALLOW("stats", weir_pool_stats(pool, &s), WEIR_OK);
  return s;
}

/* Nobody else is here. */
static void check_whole(void) {
  static const char calm[] =
      "Max Waiters=;Max Uses=;Probe Window=;Connection Idle Timeout=;"
      "Connection Lifetime=;Max Concurrent Connects=;Connect Timeout=";
  weir_h held[IN_THE_END];
  STRESS_ALLOW("resume", weir_pool_resume(pool), WEIR_OK);
  STRESS_ALLOW("calm", weir_pool_reconfigure(pool, calm, sizeof calm - 1, NULL),
               WEIR_OK);
  STRESS_ALLOW("resize", weir_pool_resize(pool, 0, IN_THE_END, NULL), WEIR_OK);
  for (unsigned i = 0; i < IN_THE_END; i++) {
    STRESS_ALLOW("acquire in the end",
                 weir_acquire(pool, STRESS_PATIENCE_NS, &held[i], NULL),
                 WEIR_OK);
  }
  struct weir_pool_stats s = stats();
  if (s.leased != IN_THE_END || s.effective_max != IN_THE_END ||
      s.waiters != 0) {
    stress_broken("the pool is not whole", WEIR_E_FAIL);
  }
  for (unsigned i = 0; i < IN_THE_END; i++) {
    STRESS_ALLOW("release in the end", weir_release(held[i]), WEIR_OK);
  }
  STRESS_ALLOW("drain in the end",
               weir_pool_drain(pool, STRESS_PATIENCE_NS, NULL), WEIR_OK);
  s = stats();
  if (s.empty != IN_THE_END || s.acquired != s.released ||
      s.connects_begun < s.connects_ok + s.connects_failed ||
      s.connects_begun != s.closed) {
    (void)fprintf(
        stderr, "%u empty, %llu begun, %llu ok, %llu failed, %llu closed\n",
        s.empty, (unsigned long long)s.connects_begun,
        (unsigned long long)s.connects_ok,
        (unsigned long long)s.connects_failed, (unsigned long long)s.closed);
    stress_broken("counts do not add up", WEIR_E_FAIL);
  }
}

int main(void) {
  static const char text[] =
      "Driver=mock;Max Pool Size=5;Mock Connect Delay=200us;Mock Strict=true";
  pthread_t threads[WORKERS + MASTERS];
  struct weir_error err = {.struct_size = sizeof err};
  seed = stress_setting("WEIR_STRESS_SEED", (long)(stress_now() & 0xFFFFFF));
  const char *strategy = stress_strategy((unsigned long)stress_setting(
      "WEIR_STRESS_STRATEGY", (long)(stress_now() & 0xFFFFF)));
  (void)printf("%s seed %ld\n", strategy, seed);
  engine = stress_open_engine();
  if (stress_open_pool(engine, strategy, text, &pool, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  for (int i = 0; i < WORKERS + MASTERS; i++) {
    if (pthread_create(&threads[i], NULL, i < WORKERS ? work : master,
                       (void *)(intptr_t)i) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause(stress_setting("WEIR_STRESS_SECONDS", 2) * STRESS_S);
  atomic_store(&over, 1);
  for (int i = WORKERS + MASTERS; i > 0; i--) {
    (void)pthread_join(threads[i - 1], NULL);
  }
  check_whole();
  STRESS_ALLOW("shutdown", weir_engine_shutdown(engine, STRESS_S, &err),
               WEIR_OK);
  (void)printf("%llu leases, %llu refused, %llu taken away, %llu changes\n",
               (unsigned long long)atomic_load(&leases),
               (unsigned long long)atomic_load(&refused),
               (unsigned long long)atomic_load(&cut),
               (unsigned long long)atomic_load(&changes));
  (void)printf("1 passed, 0 failed\n");
  return 0;
}
