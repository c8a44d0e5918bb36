/* SPDX-License-Identifier: MIT */
/* stress_order.c - Pool Idle Order=lifo and fifo under Pool Handoff=barging and queued,
 * and the presets that have them:
 * eight threads that block and a submitter on three connections, beside what takes
 * idle slots by their word: keepalive, waves of suspicion, a server that ends idle
 * sessions, trimming, clears, a maximum that shrinks.
 *
 * A connection is never in two hands; nobody in line is forgotten (P3): whoever waits
 * for ever is served; under queued nobody overtakes; at rest everything adds up.
 *
 * WEIR_STRESS_SECONDS sets how long (default 3, shared by the pools),
 * WEIR_STRESS_SEED the seed. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine.h"
#include "handle.h"
#include "loader.h"
#include "stress.h"

#define CALLERS 8u
#define SLOTS   131072u

static _Atomic int in_use[SLOTS];
static _Atomic int stop;
static _Atomic uint64_t leases;
static _Atomic uint64_t timeouts;
static _Atomic uint64_t completions;
static weir_h engine;
static weir_h pool;
static weir_h queue;
static const struct mock_control *mock;
static weir_drv_drv *drv;

#define KINDS 6u
static const char *const kinds[KINDS] = {
    "Pool Idle Order=lifo;Pool Handoff=barging;",
    "Pool Idle Order=fifo;Pool Handoff=queued;",
    "Pool Idle Order=lifo;Pool Handoff=queued;",
    "Pool Idle Order=fifo;Pool Handoff=barging;",
    "Pool Strategy=legacy;",
    "Pool Strategy=channel;",
};

/* The index of the slot is what a lease's handle has in bits 32 to 48. */
static _Atomic int *mark_of(weir_h lease) {
  return &in_use[lease >> 32 & (SLOTS - 1)];
}

static void use(weir_h lease, struct stress_random *random) {
  if (atomic_exchange(mark_of(lease), 1) != 0) {
    stress_broken("a connection is in two hands", WEIR_E_FAIL);
  }
  if (stress_below(random, 8) == 0) {
    stress_pause(20 * STRESS_US);
  }
  atomic_store(mark_of(lease), 0);
  int rc =
      stress_below(random, 64) == 0 ? weir_discard(lease) : weir_release(lease);
  if (rc != WEIR_OK) {
    stress_broken("release", rc);
  }
  atomic_fetch_add(&leases, 1);
}

/* From no time at all to for ever: the last must be served. */
static int64_t pick_timeout(struct stress_random *random) {
  static const int64_t spans[] = {0, 20 * STRESS_US, STRESS_MS,
                                  WEIR_TIMEOUT_NEVER};
  return spans[stress_below(random, 4)];
}

static void *call(void *arg) {
  struct stress_random random = *(const struct stress_random *)arg;
  while (atomic_load(&stop) == 0) {
    weir_h lease = 0;
    int rc = weir_acquire(pool, pick_timeout(&random), &lease, NULL);
    STRESS_ALLOW("acquire", rc, WEIR_E_TIMEOUT);
    if (rc == WEIR_OK) {
      use(lease, &random);
    } else {
      atomic_fetch_add(&timeouts, 1);
    }
  }
  return NULL;
}

static void take_one(struct stress_random *random) {
  struct weir_completion c = {.struct_size = sizeof c};
  int rc = weir_queue_take(queue, STRESS_PATIENCE_NS, &c, NULL);
  if (rc != WEIR_OK) {
    stress_broken("a submitted acquire is forgotten", rc);
  }
  STRESS_ALLOW("submitted acquire", c.status, WEIR_E_TIMEOUT, WEIR_E_CANCELLED);
  if (c.status == WEIR_OK) {
    use(c.lease, random);
  }
  atomic_fetch_add(&completions, 1);
}

/* Up to two at a time; one in four is cancelled. */
static void *submit(void *arg) {
  struct stress_random random = *(const struct stress_random *)arg;
  unsigned pending = 0;
  while (atomic_load(&stop) == 0 || pending != 0) {
    weir_h lease = 0;
    weir_h op = 0;
    int rc = WEIR_PENDING;
    if (pending == 2 || atomic_load(&stop) != 0) {
      take_one(&random);
      pending--;
      continue;
    }
    rc = weir_submit_acquire(pool, pick_timeout(&random), queue, 0, &lease, &op,
                             NULL);
    STRESS_ALLOW("submit", rc, WEIR_PENDING, WEIR_E_TIMEOUT);
    if (rc == WEIR_OK) {
      use(lease, &random);
    } else if (rc == WEIR_PENDING) {
      pending++;
      if (stress_below(&random, 4) == 0) {
        STRESS_ALLOW("cancel", weir_op_cancel(op), WEIR_E_HANDLE);
      }
    }
  }
  return NULL;
}

/* What takes idle slots by their word. */
static void *disturb(void *arg) {
  struct stress_random random = *(const struct stress_random *)arg;
  while (atomic_load(&stop) == 0) {
    int rc = WEIR_OK;
    switch (stress_below(&random, 8)) {
    case 0:
      rc = weir_pool_clear(pool);
      break;
    case 1:
      rc = weir_pool_resize(pool, 0, 1 + stress_below(&random, 3), NULL);
      break;
    case 2:
      rc = weir_pool_pause(pool);
      stress_pause(100 * STRESS_US);
      rc = rc == WEIR_OK ? weir_pool_resume(pool) : rc;
      break;
    default:
      (void)mock->kill_idle(drv, stress_below(&random, 3));
    }
    if (rc != WEIR_OK) {
      stress_broken("disturbance", rc);
    }
    stress_pause(STRESS_MS);
  }
  return NULL;
}

static void open_pool(const char *kind) {
  char text[512];
  struct weir_error err = {.struct_size = sizeof err};
  int n = snprintf(text, sizeof text,
                   "Driver=mock;Mock Strict=true;Max Pool Size=3;%s"
                   "Mock Connect Delay=1ms;Probe Window=0;Keepalive "
                   "Interval=2ms;Connection Idle Timeout=5ms",
                   kind);
  int rc = weir_pool_open(engine, text, (uint64_t)n, &pool, &err);
  if (rc != WEIR_OK) {
    stress_broken(err.message, rc);
  }
  rc = weir_queue_open(engine, 4, &queue, &err);
  if (rc != WEIR_OK) {
    stress_broken(err.message, rc);
  }
}

static struct weir_pool_stats stats(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  int rc = weir_pool_stats(pool, &s);
  if (rc != WEIR_OK) {
    stress_broken("stats", rc);
  }
  return s;
}

/* Whatever was under way must end by itself. */
static void check_rest(const char *kind) {
  struct weir_pool_stats s = stats();
  int64_t until = stress_now() + STRESS_PATIENCE_NS;
  while (s.connecting + s.reserved + s.closing != 0 && stress_now() < until) {
    stress_pause(STRESS_MS);
    s = stats();
  }
  if (s.connecting + s.closing + s.leased + s.waiters != 0 ||
      s.acquired != s.released) {
    stress_broken("the pool does not add up", WEIR_E_FAIL);
  }
  bool strict =
      strstr(kind, "queued") != NULL || strstr(kind, "channel") != NULL;
  if (strict && s.overtakes != 0) {
    stress_broken("somebody has overtaken under queued", WEIR_E_FAIL);
  }
}

/* The last one in line, whatever became of the others, is served, too. */
static void run(const char *kind, long seed, int64_t ns) {
  pthread_t threads[CALLERS + 2];
  struct stress_random random[CALLERS + 2];
  open_pool(kind);
  atomic_store(&stop, 0);
  for (unsigned i = 0; i < CALLERS + 2; i++) {
    random[i] = stress_seed(seed, (long)i);
    void *(*what)(void *) = i < CALLERS    ? call
                            : i == CALLERS ? submit
                                           : disturb;
    if (pthread_create(&threads[i], NULL, what, &random[i]) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause(ns);
  atomic_store(&stop, 1);
  for (unsigned i = 0; i < CALLERS + 2; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  check_rest(kind);
  if (weir_queue_close(queue) != WEIR_OK || weir_pool_close(pool) != WEIR_OK) {
    stress_broken("close", WEIR_E_HANDLE);
  }
}

static void find_mock(void) {
  struct weir_error err = {.struct_size = sizeof err};
  const struct weir__driver *found = NULL;
  struct weir__engine *e = weir__handle_find(engine, WEIR_TYPE_ENGINE);
  if (weir__loader_load(e->loader, "mock", 4, &found, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  drv = found->instance;
  mock = found->table.extension(drv, MOCK_CONTROL_NAME, MOCK_CONTROL_VERSION);
}

int main(void) {
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 3);
  long seed = stress_setting("WEIR_STRESS_SEED", 20261201);
  struct weir_error err = {.struct_size = sizeof err};
  (void)printf("seed %ld\n", seed);
  engine = stress_open_engine();
  find_mock();
  for (unsigned i = 0; i < KINDS; i++) {
    run(kinds[i], seed + (long)i, seconds * STRESS_S / KINDS);
  }
  int rc = weir_engine_shutdown(engine, STRESS_PATIENCE_NS, &err);
  if (rc != WEIR_OK) {
    stress_broken(err.message, rc);
  }
  uint64_t n = atomic_load(&leases);
  uint64_t m = atomic_load(&completions);
  (void)printf("%lu leases, %lu time-outs, %lu completions\n"
               "1 passed, 0 failed\n",
               (unsigned long)n, (unsigned long)atomic_load(&timeouts),
               (unsigned long)m);
  return n == 0 || m == 0;
}
