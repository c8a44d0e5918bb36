/* SPDX-License-Identifier: MIT */
/* stress_engine.c - engines are shut down under load, again and again: while
 * callers wait, connect, run, cancel, release, clear, close pools and open them,
 * by two threads at once, with and without grace (P4, P10).  Each shutdown must
 * answer WEIR_OK, and in the end no descriptor and no thread is left.
 *
 * WEIR_STRESS_SECONDS sets how long (default 2), WEIR_STRESS_SEED the seed. */
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir.h"

#include "check.h"
#include "drivers_dir.h"

#define WORKERS 6

static _Atomic uint64_t engine;
static _Atomic uint64_t pool;
static _Atomic uint64_t shared; /* a lease that others may cancel or release */
static _Atomic int stop;
static _Atomic uint64_t calls;

static const char *const texts[] = {
    "Driver=mock;Max Pool Size=3;Mock Strict=true;Min Pool Size=1;"
    "Mock Connect Delay=200us",
    "Driver=mock;Max Pool Size=2;Mock Strict=true;Connection Reset=verified;"
    "Mock Reset Delay=100us",
    "Driver=mock;Max Pool Size=3;Mock Strict=true;Probe Window=0;"
    "Mock Script Text=\"connect every 3: hang; logout every 4: hang\"",
    "Driver=mock;Max Pool Size=3;Mock Strict=true;Password=x;"
    "Mock Script Text=\"connect every 5: resolve '127.0.0.1' 1, offload; "
    "exec every 7: offload\"",
};

static const char *const sql[] = {"rows 3",     "hang",  "SELECT 1",
                                  "sleep 20us", "begin", "fail 50000",
                                  "kill",       "set x"};

static uint32_t next_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return (uint32_t)(*state >> 33);
}

static bool known(int rc) {
  return rc == WEIR_OK || rc == WEIR_E_FAIL || rc == WEIR_E_HANDLE ||
         rc == WEIR_E_CLOSED || rc == WEIR_E_TIMEOUT || rc == WEIR_E_BUSY ||
         rc == WEIR_E_CANCELLED || rc == WEIR_E_ARG;
}

static void read_all(weir_h lease) {
  int rc;
  struct weir_item item;
  do {
    memset(&item, 0, sizeof item);
    item.struct_size = sizeof item;
    rc = weir_next(lease, &item, NULL);
    if (rc == WEIR_OK && item.type == WEIR_ITEM_ROWS) {
      CHECK(weir_rows_free(item.rows) == WEIR_OK);
    }
  } while (rc == WEIR_OK && item.type != WEIR_ITEM_DONE);
  CHECK(known(rc));
}

static void use_lease(weir_h lease, uint64_t *random) {
  const struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                      .timeout_ns = 2 * 1000 * 1000};
  const char *text = sql[next_random(random) % (sizeof sql / sizeof *sql)];
  atomic_store(&shared, lease);
  if (next_random(random) % 2 == 0) {
    int rc = weir_exec(lease, text, strlen(text), &opts, NULL);
    CHECK(known(rc));
    if (rc == WEIR_OK && next_random(random) % 8 != 0) {
      read_all(lease);
    }
  }
  if (next_random(random) % 16 != 0) { /* else it is lost */
    CHECK(known(next_random(random) % 8 == 0 ? weir_discard(lease)
                                             : weir_release(lease)));
  }
}

static void disturb(uint64_t *random) {
  const char *text = texts[next_random(random) % 4];
  weir_h other = 0;
  switch (next_random(random) % 8) {
  case 0:
    CHECK(known(weir_pool_clear(atomic_load(&pool))));
    break;
  case 1:
    CHECK(known(weir_release(atomic_load(&shared))));
    break;
  case 2:
    if (weir_pool_open(atomic_load(&engine), text, strlen(text), &other,
                       NULL) == WEIR_OK) {
      CHECK(known(weir_pool_close(other)));
    }
    break;
  default:
    CHECK(known(weir_cancel(atomic_load(&shared))));
    break;
  }
}

static void *work(void *arg) {
  uint64_t random = (uint64_t)(uintptr_t)arg * 7919 + 11;
  while (atomic_load(&stop) == 0) {
    weir_h lease = 0;
    int64_t span =
        next_random(&random) % 3 == 0 ? 50 * 1000 : INT64_C(60) * 1000000000;
    int rc = weir_acquire(atomic_load(&pool), span, &lease, NULL);
    CHECK(known(rc));
    if (rc == WEIR_OK) {
      use_lease(lease, &random);
    } else if (rc == WEIR_E_HANDLE) {
      (void)sched_yield(); /* no engine just now */
    }
    if (next_random(&random) % 4 == 0) {
      disturb(&random);
    }
    atomic_fetch_add(&calls, 1);
  }
  return NULL;
}

static weir_h open_engine(void) {
  char dirs[512];
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV};
  struct weir_error err = {.struct_size = sizeof err};
  weir_h fresh = 0;
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  if (weir_engine_open(&opts, &fresh, &err) != WEIR_OK) {
    (void)fprintf(stderr, "%s\n", err.message);
    exit(1);
  }
  return fresh;
}

static void *second_shutdown(void *arg) {
  CHECK(weir_engine_shutdown(*(weir_h *)arg, 0, NULL) == WEIR_E_HANDLE);
  return NULL;
}

static void end_engine(weir_h ended, int64_t grace) {
  struct weir_error err = {.struct_size = sizeof err};
  pthread_t second;
  int rc = weir_engine_shutdown(ended, grace, &err);
  CHECK(rc == WEIR_OK);
  if (rc != WEIR_OK) {
    (void)fprintf(stderr, "%s\n", err.message);
  }
  CHECK(pthread_create(&second, NULL, second_shutdown, &ended) == 0);
  (void)pthread_join(second, NULL);
}

static void one_life(uint64_t *random) {
  const char *text = texts[next_random(random) % 4];
  weir_h mine = open_engine();
  weir_h opened = 0;
  CHECK(weir_pool_open(mine, text, strlen(text), &opened, NULL) == WEIR_OK);
  atomic_store(&engine, mine);
  atomic_store(&pool, opened);
  struct timespec span = {0, (long)(next_random(random) % 8000) * 1000};
  (void)nanosleep(&span, NULL); /* under load for so long */
  end_engine(mine, next_random(random) % 2 == 0 ? 0 : 1000 * 1000);
}

static unsigned entries(const char *path) {
  unsigned n = 0;
  DIR *dir = opendir(path);
  while (dir != NULL && readdir(dir) != NULL) {
    n++;
  }
  (void)closedir(dir);
  return n;
}

static long setting(const char *name, long fallback) {
  const char *text = getenv(name);
  return text == NULL ? fallback : strtol(text, NULL, 10);
}

int main(void) {
  pthread_t threads[WORKERS];
  uint64_t random = (uint64_t)setting("WEIR_STRESS_SEED", 20260711);
  time_t end = time(NULL) + setting("WEIR_STRESS_SECONDS", 2);
  unsigned lives = 0;
  (void)printf("seed %llu\n", (unsigned long long)random);
  end_engine(open_engine(), 0); /* libuv keeps descriptors for the process */
  unsigned fds = entries("/proc/self/fd");
  for (uintptr_t i = 0; i < WORKERS; i++) {
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number for the thread */
    CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
  }
  while (time(NULL) < end) {
    one_life(&random);
    lives++;
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < WORKERS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  CHECK(entries("/proc/self/fd") == fds);
  (void)printf("%u engines, %llu rounds\n", lives,
               (unsigned long long)atomic_load(&calls));
  return check_summary();
}
