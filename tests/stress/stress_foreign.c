/* SPDX-License-Identifier: MIT */
/* stress_foreign.c - a loop that is nobody's: threads that poll the engine's
 * descriptor and take turns, threads that only block, statements, time-outs of
 * 20 us, clears, resets with a round trip, and a shutdown in the middle.  Each
 * round must end: a wake that was missed shows as a watchdog's abort. */
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "strategies.h"
#include "stress.h"

#define BLOCKERS 6
#define TURNERS  2
#define PATIENCE 120u /* seconds */

struct world {
  weir_h engine;
  weir_h pool;
  int64_t fd;
  _Atomic int over;
  long rounds;
};

struct worker {
  struct world *world;
  struct stress_random random;
  _Atomic uint64_t served;
};

static const char *const statements[] = {"rows 3", "set x", "begin", "rows 40",
                                         "sleep 1ms; rows 1"};

static int may_end(const struct world *w) {
  return atomic_load(&w->over) != 0;
}

static void use(struct worker *k, weir_h lease) {
  const char *sql = statements[stress_below(&k->random, 5)];
  int rc = weir_exec(lease, sql, strlen(sql), NULL, NULL);
  if (rc == WEIR_OK && stress_below(&k->random, 3) != 0) {
    rc = stress_read_all(lease);
  }
  STRESS_ALLOW("statement", rc, WEIR_E_CLOSED, WEIR_E_HANDLE, WEIR_E_FAIL);
  rc = stress_below(&k->random, 8) == 0 ? weir_discard(lease)
                                        : weir_release(lease);
  STRESS_ALLOW("release", rc, WEIR_E_HANDLE);
}

static void *block(void *arg) {
  struct worker *k = arg;
  const struct world *w = k->world;
  while (!may_end(w)) {
    weir_h lease = 0;
    int64_t timeout =
        stress_below(&k->random, 4) == 0 ? 20 * STRESS_US : STRESS_PATIENCE_NS;
    int rc = weir_acquire(w->pool, timeout, &lease, NULL);
    STRESS_ALLOW("acquire", rc, WEIR_E_TIMEOUT, WEIR_E_CLOSED, WEIR_E_HANDLE);
    if (rc == WEIR_OK) {
      (void)atomic_fetch_add(&k->served, 1);
      use(k, lease);
    } else if (rc != WEIR_E_TIMEOUT) {
      break;
    }
    if (stress_below(&k->random, 200) == 0) {
      (void)weir_pool_clear(w->pool);
    }
  }
  return NULL;
}

static int to_ms(int64_t ns) {
  return ns > 20 * STRESS_MS ? 20 : (int)((ns + STRESS_MS - 1) / STRESS_MS);
}

static void *take_turns(void *arg) {
  struct worker *k = arg;
  const struct world *w = k->world;
  int64_t due = 0;
  while (weir_engine_turn(w->engine, &due, NULL) == WEIR_OK) {
    struct pollfd p = {.fd = (int)w->fd, .events = POLLIN};
    (void)poll(&p, 1, to_ms(due));
    if (stress_below(&k->random, 64) == 0) {
      stress_pause(200 * STRESS_US); /* the others have it for a while */
    }
  }
  return NULL;
}

static weir_h open_engine(void) {
  char dirs[512];
  weir_h engine = 0;
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV |
                                           WEIR_ENGINE_FOREIGN_LOOP};
  weir__seams.point = stress_hold_up;
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  int rc = weir_engine_open(&opts, &engine, NULL);
  if (rc != WEIR_OK) {
    stress_broken("engine", rc);
  }
  return engine;
}

static void open_world(struct world *w) {
  static unsigned turn;
  static const char text[] =
      "Driver=mock;Mock Strict=true;Max Pool Size=3;Min Pool Size=1;"
      "Connection Reset=verified;Close Timeout=1;Mock Connect Delay=200us";
  atomic_store(&w->over, 0);
  w->engine = open_engine();
  int rc = weir_engine_fd(w->engine, &w->fd, NULL);
  if (rc == WEIR_OK) {
    rc = stress_open_pool(w->engine, stress_policy(turn++), text, &w->pool,
                          NULL);
  }
  if (rc != WEIR_OK) {
    stress_broken("open", rc);
  }
}

static uint64_t sum(struct worker *k) {
  uint64_t served = 0;
  for (unsigned i = 0; i < BLOCKERS; i++) {
    served += atomic_load(&k[i].served);
  }
  return served;
}

/* A busy machine may give nobody a turn for long; a pool must not. */
static void await_one(struct worker *k) {
  int64_t end = stress_now() + STRESS_PATIENCE_NS;
  while (sum(k) == 0) {
    if (stress_now() > end) {
      stress_broken("nobody is served", WEIR_E_TIMEOUT);
    }
    stress_pause(STRESS_MS);
  }
}

/* turners: threads that turn besides those that block; 0: nobody does. */
static uint64_t run_round(long seed, unsigned turners) {
  struct world w;
  struct worker k[BLOCKERS + TURNERS];
  pthread_t thread[BLOCKERS + TURNERS];
  open_world(&w);
  for (unsigned i = 0; i < BLOCKERS + turners; i++) {
    k[i].world = &w;
    k[i].random = stress_seed(seed, (long)i);
    atomic_store(&k[i].served, 0);
  }
  for (unsigned i = 0; i < BLOCKERS + turners; i++) {
    if (pthread_create(&thread[i], NULL, i < BLOCKERS ? block : take_turns,
                       &k[i]) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause(60 * STRESS_MS);
  await_one(k);
  if (seed % 2 == 0) {
    atomic_store(&w.over, 1);
  }
  int rc = weir_engine_shutdown(w.engine, seed % 3 * 5 * STRESS_MS, NULL);
  STRESS_ALLOW("shutdown", rc, WEIR_OK);
  for (unsigned i = 0; i < BLOCKERS + turners; i++) {
    (void)pthread_join(thread[i], NULL);
  }
  return sum(k);
}

int main(void) {
  long factor = stress_setting("WEIR_STRESS_FACTOR", 1);
  long seed = stress_setting("WEIR_STRESS_SEED", 1);
  uint64_t served = 0;
  long rounds = 12 * factor;
  for (long i = 0; i < rounds; i++) {
    (void)alarm(PATIENCE);
    served += run_round(seed + i, i % 3 == 0 ? 0 : TURNERS);
  }
  (void)printf("%llu leases\n", (unsigned long long)served);
  (void)printf("%ld passed, 0 failed\n", rounds);
  return 0;
}
