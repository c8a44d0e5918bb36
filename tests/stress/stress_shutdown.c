/* SPDX-License-Identifier: MIT */
/* stress_shutdown.c - engines that are shut down in the middle of everything.
 *
 * Eight threads open and close pools, acquire, run statements, cancel, clear and
 * release, while another thread shuts the engine down with a grace of 0, 1 ms or
 * 1 s.  Every call must answer one of the codes weir.h allows it, the shutdown
 * must come to its end, and afterwards no descriptor and no thread is left.
 *
 * WEIR_STRESS_SECONDS (2), WEIR_STRESS_SEED. */
#include <dirent.h>
#include <pthread.h>
#include <unistd.h>

#include "strategies.h"
#include "stress.h"

#define WORKERS 8
#define SHARED  4u

static const char *const conninfo[SHARED] = {
    "Driver=mock;Max Pool Size=2;Max Concurrent Connects=1;"
    "Mock Connect Delay=200us",
    "Driver=mock;Max Pool Size=3;Min Pool Size=2;Connection Reset=verified;"
    "Mock Reset Delay=300us;Probe Window=0;Close Timeout=20ms",
    "Driver=mock;Max Pool Size=40;Connect Timeout=40ms;Close Timeout=5ms;"
    "Mock Script Text='connect every 4: fail conn network; "
    "connect every 9: hang; connect every 5: offload; reset every 3: hang; "
    "logout every 2: offload; exec every 11: hang; exec every 7: offload; "
    "txn every 6: hang; txn every 5: die; cancel every 3: hang; "
    "cancel every 5: rows 100000x1; health every 5: dead; connect: delay "
    "100us'",
    "Driver=mock;Startup=require;Pooling=false;Max Pool Size=5;"
    "Max Waiters=4;Mock Exec Delay=200us",
};

static const char *const sql[] = {
    "rows 3", "sleep 300us", "SELECT 1", "begin",          "fail 50000",
    "kill",   "rows 2000",   "hang",     "rows 1000000000"};
#define STATEMENTS (sizeof sql / sizeof sql[0])

static weir_h engine;
static _Atomic uint64_t shared_pool[SHARED];
static _Atomic uint64_t last_lease; /* somebody's, to be cancelled */
static _Atomic int stop;
static _Atomic uint64_t engines;
static _Atomic uint64_t leases;
static _Atomic uint64_t statements;
static _Atomic uint64_t late;

static weir_h open_pool(uint32_t which) {
  weir_h pool = 0;
  int rc =
      stress_open_pool(engine, stress_policy(atomic_load(&engines) + which),
                       conninfo[which], &pool, NULL);
  STRESS_ALLOW("pool_open", rc, WEIR_E_CLOSED, WEIR_E_HANDLE, WEIR_E_TIMEOUT,
               WEIR_E_OVERLOADED, WEIR_E_FAIL, WEIR_E_DOWN);
  return rc == WEIR_OK ? pool : 0;
}

static void close_pool(weir_h pool) {
  if (pool != 0) {
    STRESS_ALLOW("pool_close", weir_pool_close(pool), WEIR_E_HANDLE);
  }
}

static void run_statement(weir_h lease, struct stress_random *r) {
  const char *text = sql[stress_below(r, STATEMENTS)];
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .timeout_ns = 3 * STRESS_MS};
  int rc = weir_exec(lease, text, strlen(text), &opts, NULL);
  if (rc == WEIR_OK && stress_below(r, 8) != 0) {
    rc = stress_read_all(lease); /* its time-out ends what has no end */
  }
  STRESS_ALLOW("statement", rc, WEIR_E_FAIL, WEIR_E_TIMEOUT, WEIR_E_CANCELLED,
               WEIR_E_CLOSED, WEIR_E_HANDLE, WEIR_E_BUSY);
  atomic_fetch_add(&statements, 1);
}

/* Half a transaction, or a whole one. */
static void run_txn(weir_h lease, struct stress_random *r) {
  int rc = weir_begin(lease, (int32_t)stress_below(r, 6), NULL);
  if (rc == WEIR_OK && stress_below(r, 2) == 0) {
    rc = weir_save(lease, "a", 1, NULL);
  }
  if (rc == WEIR_OK && stress_below(r, 2) == 0) {
    rc = stress_below(r, 2) == 0 ? weir_commit(lease, NULL)
                                 : weir_rollback(lease, NULL);
  }
  STRESS_ALLOW("transaction", rc, WEIR_E_FAIL, WEIR_E_TIMEOUT, WEIR_E_CANCELLED,
               WEIR_E_CLOSED, WEIR_E_HANDLE, WEIR_E_BUSY);
}

static void end_lease(weir_h lease, struct stress_random *r) {
  int rc = stress_below(r, 16) == 0 ? weir_discard(lease) : weir_release(lease);
  STRESS_ALLOW("release", rc, WEIR_E_HANDLE);
  if (weir_release(lease) != WEIR_E_HANDLE) {
    stress_broken("a second release", rc);
  }
}

static int64_t pick_timeout(struct stress_random *r) {
  static const int64_t span[] = {0, 50 * STRESS_US, 2 * STRESS_MS,
                                 WEIR_TIMEOUT_POOL, WEIR_TIMEOUT_NEVER};
  return span[stress_below(r, 5)];
}

static void use_lease(weir_h pool, struct stress_random *r) {
  weir_h lease = 0;
  int rc = weir_acquire(pool, pick_timeout(r), &lease, NULL);
  STRESS_ALLOW("acquire", rc, WEIR_E_TIMEOUT, WEIR_E_FAIL, WEIR_E_CLOSED,
               WEIR_E_HANDLE, WEIR_E_OVERLOADED, WEIR_E_DOWN);
  if (rc != WEIR_OK) {
    return;
  }
  atomic_fetch_add(&leases, 1);
  atomic_store(&last_lease, lease);
  while (stress_below(r, 3) == 0) {
    if (stress_below(r, 4) == 0) {
      run_txn(lease, r);
    }
    run_statement(lease, r);
  }
  end_lease(lease, r);
}

static void look(weir_h pool) {
  char text[64];
  struct weir_pool_stats stats = {.struct_size = sizeof stats};
  struct weir_driver_info info[4];
  uint32_t n;
  STRESS_ALLOW("stats", weir_pool_stats(pool, &stats), WEIR_E_HANDLE);
  STRESS_ALLOW("key", weir_pool_key(pool, text, sizeof text, NULL),
               WEIR_E_HANDLE, WEIR_E_SPACE);
  memset(info, 0, sizeof info);
  info[0].struct_size = sizeof info[0];
  STRESS_ALLOW("list", weir_driver_list(engine, info, 1, &n, NULL),
               WEIR_E_HANDLE);
}

static void act(struct stress_random *r) {
  uint32_t which = stress_below(r, SHARED);
  weir_h pool = atomic_load(&shared_pool[which]);
  switch (stress_below(r, 64)) {
  case 0:
    STRESS_ALLOW("clear", weir_pool_clear(pool), WEIR_E_HANDLE);
    break;
  case 1:
  case 2:
    STRESS_ALLOW("cancel", weir_cancel(atomic_load(&last_lease)),
                 WEIR_E_HANDLE);
    break;
  case 3:
    close_pool(open_pool(which));
    break;
  case 4:
    /* The pool's end, and a new one in its place. */
    close_pool(atomic_exchange(&shared_pool[which], open_pool(which)));
    break;
  case 5:
    look(pool);
    break;
  default:
    use_lease(pool, r);
    break;
  }
}

static void *work(void *arg) {
  struct stress_random r = *(struct stress_random *)arg;
  while (atomic_load(&stop) == 0) {
    act(&r);
  }
  return NULL;
}

static unsigned entries(const char *folder) {
  unsigned n = 0;
  DIR *dir = opendir(folder);
  if (dir == NULL) {
    stress_broken(folder, WEIR_E_FAIL);
  }
  /* A DIR of its own: NOLINTNEXTLINE(concurrency-mt-unsafe) */
  while (readdir(dir) != NULL) {
    n++;
  }
  (void)closedir(dir);
  return n;
}

/* Waits until there are no more of them than at the start: threads that were
 * joined leave /proc a moment later. */
static void await_entries(const char *folder, unsigned before) {
  int64_t until = stress_now() + STRESS_PATIENCE_NS;
  while (entries(folder) > before) {
    if (stress_now() > until) {
      (void)fprintf(stderr, "%u of %u left\n", entries(folder), before);
      stress_broken(folder, WEIR_E_FAIL);
    }
    stress_pause(STRESS_MS);
  }
}

/* When the last shutdown that was late came back; 0: none was. */
static int64_t late_since;

static void shut_down(struct stress_random *r) {
  static const int64_t grace[] = {0, STRESS_MS, STRESS_S};
  struct weir_error err = {.struct_size = sizeof err};
  int rc = weir_engine_shutdown(engine, grace[stress_below(r, 3)], &err);
  if (rc == WEIR_E_TIMEOUT) {
    /* Legal only for want of CPU: nothing here stays in foreign code. */
    (void)fprintf(stderr, "late: %s\n", err.message);
    late_since = stress_now();
    atomic_fetch_add(&late, 1);
  } else if (rc != WEIR_OK) {
    stress_broken(err.message, rc);
  }
}

static void one_engine(struct stress_random *r) {
  pthread_t threads[WORKERS];
  struct stress_random seeds[WORKERS];
  atomic_store(&stop, 0);
  engine = stress_open_engine();
  for (uint32_t i = 0; i < SHARED; i++) {
    atomic_store(&shared_pool[i], open_pool(i));
  }
  for (int i = 0; i < WORKERS; i++) {
    seeds[i] = stress_seed((long)stress_below(r, 1u << 30), i);
    if (pthread_create(&threads[i], NULL, work, &seeds[i]) != 0) {
      stress_broken("thread", WEIR_E_NOMEM);
    }
  }
  stress_pause((int64_t)stress_below(r, 30000) * STRESS_US);
  shut_down(r);
  stress_pause((int64_t)stress_below(r, 2) * STRESS_MS);
  atomic_store(&stop, 1);
  for (int i = 0; i < WORKERS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  atomic_fetch_add(&engines, 1);
}

static void tell_late(void) {
  if (late_since != 0) {
    (void)fprintf(stderr, "... and was gone %lld ms later\n",
                  (long long)((stress_now() - late_since) / STRESS_MS));
    late_since = 0;
  }
}

static unsigned long count(_Atomic uint64_t *counter) {
  return (unsigned long)atomic_load(counter);
}

int main(void) {
  long seconds = stress_setting("WEIR_STRESS_SECONDS", 2);
  long seed = stress_setting("WEIR_STRESS_SEED", 20261130);
  struct stress_random r = stress_seed(seed, 0);
  /* Once before counting: a sanitizer may start a thread of its own. */
  one_engine(&r);
  unsigned fds = entries("/proc/self/fd");
  unsigned threads = entries("/proc/self/task");
  int64_t until = stress_now() + seconds * STRESS_S;
  while (stress_now() < until) {
    one_engine(&r);
    await_entries("/proc/self/task", threads);
    await_entries("/proc/self/fd", fds);
    tell_late();
  }
  (void)printf("seed %ld: %lu engines, %lu leases, %lu statements, %lu late\n"
               "1 passed, 0 failed\n",
               seed, count(&engines), count(&leases), count(&statements),
               count(&late));
  return count(&leases) == 0 || count(&statements) == 0;
}
