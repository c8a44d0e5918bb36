/* SPDX-License-Identifier: MIT */
/* check.h - counting checks for plain main() programs, which Criterion cannot
 * replace under ThreadSanitizer.  CHECK may be used from any thread. */
#ifndef WEIR_TEST_CHECK_H
#define WEIR_TEST_CHECK_H

#include <stdatomic.h>
#include <stdio.h>

static _Atomic unsigned check_passed;
static _Atomic unsigned check_failed;

static inline void check_that(int ok,
                              const char *what,
                              const char *file,
                              int line) {
  (void)atomic_fetch_add_explicit(ok ? &check_passed : &check_failed, 1,
                                  memory_order_relaxed);
  if (!ok) {
    (void)fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  }
}

#define CHECK(cond) check_that((cond) ? 1 : 0, #cond, __FILE__, __LINE__)

/* Prints "N passed, N failed"; what main returns. */
static inline int check_summary(void) {
  unsigned failed = atomic_load_explicit(&check_failed, memory_order_relaxed);
  (void)printf("%u passed, %u failed\n",
               atomic_load_explicit(&check_passed, memory_order_relaxed),
               failed);
  return failed == 0 ? 0 : 1;
}

#endif
