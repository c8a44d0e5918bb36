/* SPDX-License-Identifier: MIT */
/* check.h - counting checks for plain main() programs, which Criterion cannot
 * replace under ThreadSanitizer.  CHECK may be used from any thread.  Each CHECK
 * of the source counts once, however often it runs: failed if it ever failed. */
#ifndef WEIR_TEST_CHECK_H
#define WEIR_TEST_CHECK_H

#include <stdatomic.h>
#include <stdio.h>

static _Atomic unsigned check_passed;
static _Atomic unsigned check_failed;

enum check_seen {
  CHECK_RAN = 1,
  CHECK_FAILED = 2
};

static inline void check_that(int ok,
                              const char *what,
                              const char *file,
                              int line,
                              _Atomic unsigned *site) {
  unsigned seen = atomic_fetch_or_explicit(
      site, CHECK_RAN | (ok ? 0u : CHECK_FAILED), memory_order_relaxed);
  if (seen == 0) {
    (void)atomic_fetch_add_explicit(ok ? &check_passed : &check_failed, 1,
                                    memory_order_relaxed);
  } else if (!ok && (seen & CHECK_FAILED) == 0) {
    (void)atomic_fetch_sub_explicit(&check_passed, 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&check_failed, 1, memory_order_relaxed);
  }
  if (!ok) {
    (void)fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  }
}

#define CHECK(cond)                                                      \
  do {                                                                   \
    static _Atomic unsigned check_site_;                                 \
    check_that((cond) ? 1 : 0, #cond, __FILE__, __LINE__, &check_site_); \
  } while (0)

/* Prints "N passed, N failed"; what main returns. */
static inline int check_summary(void) {
  unsigned failed = atomic_load_explicit(&check_failed, memory_order_relaxed);
  (void)printf("%u passed, %u failed\n",
               atomic_load_explicit(&check_passed, memory_order_relaxed),
               failed);
  return failed == 0 ? 0 : 1;
}

#endif
