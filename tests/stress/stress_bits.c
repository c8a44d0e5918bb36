/* SPDX-License-Identifier: MIT */
/* Members of one bitmap come and go on many threads.  Each thread owns some
 * members; while it has one in the set, no search that starts at or before it
 * may miss it: that is what keeps an idle connection findable (P3). */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#include "base/bits.h"
#include "check.h"

#define THREADS 4u

static struct weir__bits bits;
static uint32_t size;
static _Atomic uint32_t stop;

static uint64_t next_random(uint64_t *seed) {
  *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
  return *seed >> 33;
}

/* Member m is owned by thread m % THREADS, so words are shared. */
static void *worker(void *arg) {
  uint64_t seed = (uint64_t)(uintptr_t)arg * 977 + 20260711;
  uint32_t mine = (uint32_t)(uintptr_t)arg;
  uint64_t missed = 0;
  while (weir__load_acquire_u32(&stop) == 0) {
    uint32_t m = (uint32_t)(next_random(&seed) % size);
    m = m - m % THREADS + mine;
    if (m >= size) {
      continue;
    }
    weir__bits_set(&bits, m);
    missed += !weir__bits_has(&bits, m);
    missed += weir__bits_next(&bits, m) != m;
    missed +=
        weir__bits_next(&bits, (uint32_t)(next_random(&seed) % (m + 1))) > m;
    missed += weir__bits_next(&bits, 0) > m;
    weir__bits_clear(&bits, m);
    missed += weir__bits_has(&bits, m);
  }
  CHECK(missed == 0);
  return NULL;
}

static void run(uint32_t n, long ms) {
  pthread_t threads[THREADS];
  struct timespec span = {ms / 1000, ms % 1000 * 1000000};
  size = n;
  weir__store_release_u32(&stop, 0);
  CHECK(weir__bits_init(&bits, n));
  for (uintptr_t i = 0; i < THREADS; i++) {
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a number for the thread */
    CHECK(pthread_create(&threads[i], NULL, worker, (void *)i) == 0);
  }
  (void)nanosleep(&span, NULL); /* how long the load lasts */
  weir__store_release_u32(&stop, 1);
  for (uint32_t i = 0; i < THREADS; i++) {
    (void)pthread_join(threads[i], NULL);
  }
  CHECK(weir__bits_next(&bits, 0) == WEIR_BITS_NONE);
  weir__bits_fini(&bits);
}

int main(void) {
  static const uint32_t sizes[] = {8, 65, 4096, 131072};
  const char *text = getenv("WEIR_STRESS_SECONDS");
  long seconds = text == NULL ? 0 : strtol(text, NULL, 10);
  long ms = seconds <= 0 ? 300 : seconds * 250;
  (void)printf("seed 20260711\n");
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    run(sizes[i], ms);
  }
  return check_summary();
}
