/* SPDX-License-Identifier: MIT */
/* clock.h - wall and processor time, in ns. */
#ifndef WEIRBENCH_CLOCK_H
#define WEIRBENCH_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t clock_read(clockid_t which) {
  struct timespec t;
  (void)clock_gettime(which, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Monotonic time. */
static inline int64_t clock_now(void) {
  return clock_read(CLOCK_MONOTONIC);
}

/* Processor time of the whole process, user and system. */
static inline int64_t clock_cpu(void) {
  return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

/* Sleeps for so long, whatever signals come. */
static inline void clock_sleep(int64_t ns) {
  struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
                       .tv_nsec = (long)(ns % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) != 0) {
  }
}

#endif
