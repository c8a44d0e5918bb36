/* SPDX-License-Identifier: MIT */
/* Threads that begin at once on an arena and a process key that do not exist
 * yet, and then allocate, check, release and digest beside each other.  A plain
 * program, so that it runs under ThreadSanitizer. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "digest.h"
#include "secret.h"

#define THREADS 4
#define ROUNDS  4000
#define LIVE    16

struct worker {
  pthread_t thread;
  uint32_t seed;
  uint32_t failures;
  uint8_t digest[WEIR_DIGEST_BYTES];
};

static pthread_barrier_t start;

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

static bool all_are(const unsigned char *p, size_t n, unsigned char value) {
  return n == 0 || (p[0] == value && memcmp(p, p + 1, n - 1) == 0);
}

static void churn(struct worker *w) {
  static const size_t sizes[] = {1, 60, 64, 65, 300, 5000, 65536, 70000};
  unsigned char *live[LIVE] = {0};
  size_t len[LIVE] = {0};
  for (int i = 0; i < ROUNDS + LIVE; i++) {
    size_t k = i < ROUNDS ? next_random(&w->seed) % LIVE : (size_t)(i - ROUNDS);
    unsigned char mark = (unsigned char)(w->seed | 1u);
    if (live[k] != NULL) {
      w->failures += !all_are(live[k], len[k], live[k][0]);
      weir__secret_release(live[k]);
      live[k] = NULL;
    } else if (i < ROUNDS) {
      len[k] = sizes[next_random(&w->seed) % (sizeof sizes / sizeof sizes[0])];
      live[k] = weir__secret_alloc(len[k]);
      w->failures += live[k] == NULL || !weir__secret_owns(live[k]) ||
                     !all_are(live[k], len[k], 0);
      if (live[k] != NULL) {
        memset(live[k], mark, len[k]);
      }
    }
  }
}

static void *work(void *arg) {
  struct worker *w = arg;
  struct weir__digest_piece piece = {"same", 4};
  (void)pthread_barrier_wait(&start);
  w->failures += !weir__digest(&piece, 1, w->digest);
  churn(w);
  return NULL;
}

int main(void) {
  static struct worker workers[THREADS];
  unsigned failed = 0;
  (void)pthread_barrier_init(&start, NULL, THREADS);
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i].seed = i + 1;
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
      return 2;
    }
  }
  for (uint32_t i = 0; i < THREADS; i++) {
    (void)pthread_join(workers[i].thread, NULL);
    failed +=
        workers[i].failures != 0 || memcmp(workers[i].digest, workers[0].digest,
                                           sizeof workers[0].digest) != 0;
  }
  (void)pthread_barrier_destroy(&start);
  (void)printf("%u passed, %u failed\n", THREADS - failed, failed);
  return failed == 0 ? 0 : 1;
}
