/* SPDX-License-Identifier: MIT */
/* stress.h - what the stress programs of the pool share: seeded random numbers,
 * settings from the environment, an engine with the mock driver, and a way to
 * stop that says why. */
#ifndef WEIR_TEST_STRESS_H
#define WEIR_TEST_STRESS_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "weir.h"

#include "drivers_dir.h"
#include "mock_control.h"
#include "sys/seams.h"

#define STRESS_US INT64_C(1000)
#define STRESS_MS INT64_C(1000000)
#define STRESS_S  INT64_C(1000000000)

/* How long a thread may be kept from running: machines that test are busy, and
 * sanitizers slow. */
#define STRESS_PATIENCE_NS (10 * STRESS_S)

_Noreturn static inline void stress_broken(const char *what, int rc) {
  (void)fprintf(stderr, "broken: %s: %s\n", what, weir_status_name(rc));
  abort();
}

/* Read before threads are started: NOLINTBEGIN(concurrency-mt-unsafe) */
static inline long stress_setting(const char *name, long fallback) {
  const char *text = getenv(name);
  return text == NULL ? fallback : strtol(text, NULL, 10);
}
/* NOLINTEND(concurrency-mt-unsafe) */

static inline int64_t stress_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * STRESS_S + t.tv_nsec;
}

static inline void stress_pause(int64_t ns) {
  struct timespec t = {.tv_sec = ns / STRESS_S, .tv_nsec = ns % STRESS_S};
  (void)nanosleep(&t, NULL);
}

struct stress_random {
  uint64_t state;
};

static inline struct stress_random stress_seed(long seed, long which) {
  struct stress_random r = {(uint64_t)seed + (uint64_t)which * 7919u};
  return r;
}

/* 0 to n - 1. */
static inline uint32_t stress_below(struct stress_random *r, uint32_t n) {
  r->state =
      r->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(r->state >> 33) % n;
}

/* At each test point a thread may be overtaken by others: orders that would come
 * once in hours come every minute. */
static inline void stress_hold_up(const char *name, const void *object) {
  static _Atomic uint32_t turn;
  uint32_t n = atomic_fetch_add_explicit(&turn, 1, memory_order_relaxed) *
               UINT32_C(2654435761);
  (void)name;
  (void)object;
  if (n >> 24 == 0) {
    stress_pause(200 * STRESS_US);
  } else if (n >> 29 == 1) {
    (void)sched_yield();
  }
}

static inline weir_h stress_open_engine(void) {
  char dirs[512];
  struct weir_error err = {.struct_size = sizeof err};
  struct weir_engine_opts opts = {.struct_size = sizeof opts,
                                  .flags = WEIR_ENGINE_NO_ENV};
  weir_h engine = 0;
  weir__seams.point = stress_hold_up;
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  if (weir_engine_open(&opts, &engine, &err) != WEIR_OK) {
    stress_broken(err.message, err.code);
  }
  return engine;
}

/* Reads a result to its end and frees its rows. */
static inline int stress_read_all(weir_h lease) {
  for (;;) {
    struct weir_item item = {.struct_size = sizeof item};
    int rc = weir_next(lease, &item, NULL);
    if (rc != WEIR_OK || item.type == WEIR_ITEM_DONE) {
      return rc;
    }
    if (item.type == WEIR_ITEM_ROWS && weir_rows_free(item.rows) != WEIR_OK) {
      stress_broken("rows_free", WEIR_E_HANDLE);
    }
  }
}

/* Aborts unless rc is WEIR_OK or one of those codes. */
static inline void stress_allow(const char *what,
                                int rc,
                                const int *codes,
                                unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    if (rc == codes[i]) {
      return;
    }
  }
  if (rc != WEIR_OK) {
    stress_broken(what, rc);
  }
}

#define STRESS_ALLOW(what, rc, ...)                                          \
  do {                                                                       \
    const int allowed[] = {__VA_ARGS__};                                     \
    stress_allow((what), (rc), allowed, sizeof allowed / sizeof allowed[0]); \
  } while (0)

#endif
