/* SPDX-License-Identifier: MIT */
#include "sys/seams.h"

#if WEIR_SEAMS
#  include <pthread.h>
#  include <stdlib.h>
#  include <time.h>

#  include "sys/chance.h"
#  include "sys/clock.h"
#  include "sys/park.h"

void weir__net_real(struct weir__seams *out);
int weir__thread_spawn(void *(*run)(void *), void *arg, uint64_t *out_thread);

static uint64_t real_now(void) {
  return weir__clock_read(CLOCK_MONOTONIC);
}

static uint64_t real_coarse(void) {
  return weir__clock_read(CLOCK_MONOTONIC_COARSE);
}

static uint64_t real_unix_ms(void) {
  return weir__clock_read(CLOCK_REALTIME) / WEIR_NS_PER_MS;
}

static uint64_t real_random(void) {
  return weir__random_read();
}

static void ignore_watch(void (*kick)(void *arg), void *arg) {
  (void)kick;
  (void)arg;
}

static void *real_alloc(size_t n) {
  return calloc(1, n);
}

struct weir__seams weir__seams;

void weir__seams_reset(void) {
  struct weir__seams real = {
      .now = real_now,
      .coarse = real_coarse,
      .unix_ms = real_unix_ms,
      .virtual_time = 0,
      .random = real_random,
      .watch_clock = ignore_watch,
      .unwatch_clock = ignore_watch,
      .park = weir__park_futex,
      .unpark = weir__unpark_futex,
      .poll = weir__poll_ppoll,
      .thread_start = weir__thread_spawn,
      .alloc = real_alloc,
      .resize = realloc,
      .point = NULL,
  };
  weir__net_real(&real);
  weir__seams = real;
}

/* Before main, so that a test that replaces nothing needs no set-up. */
__attribute__((constructor)) static void start_real(void) {
  weir__seams_reset();
}
#else
typedef int weir__seams_unused;
#endif
