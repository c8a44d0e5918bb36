/* SPDX-License-Identifier: MIT */
/* stress_everything.c - fifty threads do everything that can be done with pools, at
 * random, while servers refuse, hang and die, and engines come and go.
 *
 * A life takes a second or so.  One in three has a foreign loop.  Every second one
 * ends in the middle; in the others everybody is waited for, each operation has
 * completed, every acquire was served or told why not, and the counts are exact.
 * After each, no descriptor and no thread is left.
 *
 * WEIR_STRESS_SECONDS (3), WEIR_STRESS_SEED. */
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include "crowd.h"
#include "engine.h"
#include "handle.h"
#include "loader.h"

#define SERVER   3 /* the number of its thread */
#define TAKERS   4
#define PATIENCE 240u /* seconds */
#define WARM_UP  4    /* a seed of a quiet life with a thread of its own */

static const uint32_t capacities[CROWD_QUEUES] = {4, 64, 1024};

static unsigned entries(const char *path) {
  unsigned n = 0;
  DIR *d = opendir(path);
  if (d == NULL) {
    stress_broken(path, WEIR_E_FAIL);
  }
  while (readdir(d) != NULL) { /* NOLINT(concurrency-mt-unsafe) */
    n++;
  }
  (void)closedir(d);
  return n;
}

/* A thread that was joined is seen for a moment longer. */
static void check_left(const char *path, unsigned before) {
  int64_t end = stress_now() + STRESS_PATIENCE_NS;
  while (entries(path) > before) {
    if (stress_now() > end) {
      (void)fprintf(stderr, "%s: %u, %u before\n", path, entries(path), before);
      stress_broken("something is left of an engine", WEIR_E_FAIL);
    }
    stress_pause(STRESS_MS);
  }
}

static void find_mock(void) {
  struct weir__engine *e = weir__handle_find(crowd.engine, WEIR_TYPE_ENGINE);
  const struct weir__driver *found = NULL;
  if (weir__loader_load(e->loader, "mock", 4, &found, NULL) != WEIR_OK) {
    stress_broken("no mock", WEIR_E_FAIL);
  }
  crowd.driver = found->instance;
  crowd.mock = found->table.extension(crowd.driver, MOCK_CONTROL_NAME,
                                      MOCK_CONTROL_VERSION);
}

static void open_engine(void) {
  char dirs[512];
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_engine_opts opts = {
      .struct_size = sizeof opts,
      .flags =
          WEIR_ENGINE_NO_ENV | (crowd.foreign ? WEIR_ENGINE_FOREIGN_LOOP : 0u)};
  weir__seams.point = stress_hold_up;
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  if (weir_engine_open(&opts, &crowd.engine, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
}

static void open_life(long seed) {
  bool rough = seed % 2 != 0;
  memset(&crowd, 0, sizeof crowd);
  crowd.seed = seed;
  crowd.foreign = seed % 3 == 0;
  atomic_store(&crowd.callers, CROWD_THREADS);
  open_engine();
  find_mock();
  for (unsigned i = 0; i < CROWD_QUEUES; i++) {
    STRESS_ALLOW(
        "queue",
        weir_queue_open(crowd.engine, capacities[i], &crowd.queue[i], NULL),
        WEIR_OK);
  }
  for (unsigned i = 0; i < CROWD_POOLS; i++) {
    weir_h pool = 0;
    STRESS_ALLOW("open", crowd_open_pool(i, &pool), WEIR_OK);
    atomic_store(&crowd.pool[i], pool);
  }
  crowd.rough = rough;
}

static void check_mock(void) {
  struct mock_counts c = {.struct_size = sizeof c};
  crowd.mock->counts(crowd.driver, &c);
  uint64_t most = (uint64_t)CROWD_LARGEST * CROWD_POOLS +
                  (uint64_t)CROWD_LARGEST * atomic_load(&crowd.opens);
  if (c.overlaps != 0 || c.misuses != 0 || c.sessions_max > most) {
    stress_broken("the driver's contract, or Max Pool Size", WEIR_E_FAIL);
  }
}

static void tell(unsigned i,
                 const struct weir_pool_stats *s,
                 const struct weir_counters *c) {
  (void)fprintf(
      stderr,
      "pool %u: %u leased, %u waiters, %u empty of %u; acquired %llu, released "
      "%llu; begun %llu, ok %llu, failed %llu, closed %llu; hard %llu %llu, "
      "soft %llu %llu\n",
      i, s->leased, s->waiters, s->empty, s->effective_max,
      (unsigned long long)s->acquired, (unsigned long long)s->released,
      (unsigned long long)s->connects_begun, (unsigned long long)s->connects_ok,
      (unsigned long long)s->connects_failed, (unsigned long long)s->closed,
      (unsigned long long)c->hard_connects,
      (unsigned long long)c->hard_disconnects,
      (unsigned long long)c->soft_connects,
      (unsigned long long)c->soft_disconnects);
  stress_broken("counts are not exact at rest", WEIR_E_FAIL);
}

/* Nobody is here, and nothing can be left. */
static void check_rest(unsigned i) {
  weir_h pool = atomic_load(&crowd.pool[i]);
  struct weir_pool_stats s = {.struct_size = sizeof s};
  struct weir_counters c = {.struct_size = sizeof c};
  STRESS_ALLOW("drain", weir_pool_drain(pool, STRESS_PATIENCE_NS, NULL),
               WEIR_OK);
  STRESS_ALLOW("stats", weir_pool_stats(pool, &s), WEIR_OK);
  STRESS_ALLOW("counters", weir_pool_counters(pool, &c), WEIR_OK);
  if (s.leased != 0 || s.waiters != 0 || s.empty != s.effective_max ||
      s.acquired != s.released || s.connects_begun != s.closed ||
      c.hard_connects != c.hard_disconnects || c.active_hard_connections != 0 ||
      c.soft_connects != c.soft_disconnects || c.active_soft_connects != 0 ||
      c.number_of_active_connections != 0 ||
      c.number_of_free_connections != 0) {
    tell(i, &s, &c);
  }
}

typedef void *role(void *);

static role *role_of(int i) {
  static role *const others[] = {crowd_master, crowd_master, crowd_opener,
                                 crowd_server, crowd_cancel, crowd_watch};
  int n = (int)(sizeof others / sizeof others[0]);
  return i < n ? others[i] : i < n + TAKERS ? crowd_take : crowd_call;
}

static void start(pthread_t *threads, struct stress_random *random) {
  uint32_t callers = 0;
  for (int i = 0; i < CROWD_THREADS; i++) {
    callers += role_of(i) == crowd_call;
  }
  atomic_store(&crowd.callers, callers);
  for (int i = 0; i < CROWD_THREADS; i++) {
    random[i] = stress_seed(crowd.seed, i + 1);
    if (pthread_create(&threads[i], NULL, role_of(i), &random[i]) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
}

static void join(pthread_t *threads, int from, int to) {
  for (int i = from; i < to; i++) {
    (void)pthread_join(threads[i], NULL);
  }
}

static void end_quietly(pthread_t *threads) {
  atomic_store(&crowd.calm, 1);
  join(threads, 0, SERVER);
  crowd_calm_down();
  atomic_store(&crowd.over, 1);
  join(threads, SERVER + 1, CROWD_THREADS);
  for (unsigned i = 0; i < CROWD_POOLS; i++) {
    check_rest(i);
  }
}

static void shut_down(void) {
  struct weir_error err = {.struct_size = sizeof err};
  int rc =
      weir_engine_shutdown(crowd.engine, crowd.seed % 5 * 5 * STRESS_MS, &err);
  if (rc != WEIR_OK) {
    stress_broken(err.message, rc);
  }
}

static void live(long seed, int64_t ns) {
  pthread_t threads[CROWD_THREADS];
  pthread_t loop = 0;
  struct stress_random random[CROWD_THREADS];
  open_life(seed);
  if (crowd.foreign && pthread_create(&loop, NULL, crowd_loop, NULL) != 0) {
    stress_broken("thread", WEIR_E_NOMEM);
  }
  start(threads, random);
  stress_pause(ns);
  if (!crowd.rough) {
    end_quietly(threads);
  }
  /* The mock and the loop's descriptor end with the engine. */
  atomic_store(&crowd.unplugged, 1);
  join(threads, SERVER, SERVER + 1);
  check_mock();
  if (crowd.foreign) {
    (void)pthread_join(loop, NULL);
  }
  shut_down();
  atomic_store(&crowd.calm, 1);
  atomic_store(&crowd.over, 1);
  if (crowd.rough) {
    join(threads, 0, SERVER);
    join(threads, SERVER + 1, CROWD_THREADS);
  }
}

int main(void) {
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 3);
  long seed =
      stress_setting("WEIR_STRESS_SEED", (long)(stress_now() & 0xFFFFF));
  uint64_t totals[4] = {0};
  long lives = 0;
  int64_t end = stress_now() + seconds * STRESS_S;
  (void)printf("seed %ld\n", seed);
  (void)fflush(stdout);
  /* A sanitizer may start a thread of its own and open descriptors. */
  (void)alarm(PATIENCE);
  live(WARM_UP, 50 * STRESS_MS);
  unsigned fds = entries("/proc/self/fd");
  unsigned tasks = entries("/proc/self/task");
  while (lives == 0 || stress_now() < end) {
    (void)alarm(PATIENCE);
    live(seed + lives++, 700 * STRESS_MS);
    check_left("/proc/self/fd", fds);
    check_left("/proc/self/task", tasks);
    totals[0] += atomic_load(&crowd.leases);
    totals[1] += atomic_load(&crowd.completions);
    totals[2] += atomic_load(&crowd.failures);
    totals[3] += atomic_load(&crowd.changes);
  }
  (void)printf("%ld lives, %llu leases, %llu completions, %llu failures, %llu "
               "changes\n1 passed, 0 failed\n",
               lives, (unsigned long long)totals[0],
               (unsigned long long)totals[1], (unsigned long long)totals[2],
               (unsigned long long)totals[3]);
  return totals[0] == 0 || totals[1] == 0 || totals[3] == 0;
}
