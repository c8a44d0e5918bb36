/* SPDX-License-Identifier: MIT */
/* spike.h - what the programs of this folder share: rounds that interleave the
 * alternatives, medians, threads that start together, a histogram of waits. */
#ifndef WEIR_PERF_SPIKE_H
#define WEIR_PERF_SPIKE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SPIKE_ROUNDS_MAX 16u

_Noreturn static inline void spike_die(const char *why) {
  (void)fprintf(stderr, "spike: %s\n", why);
  exit(1); /* The program is over.  NOLINT(concurrency-mt-unsafe) */
}

static inline uint64_t spike_now(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t spike_cpu_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Processor time of the calling thread. */
static inline uint64_t spike_thread_ns(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline void spike_sleep(uint64_t ns) {
  struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
  (void)nanosleep(&t, NULL);
}

/* True for --quick; anything else on the command line ends the program. */
static inline bool spike_quick(int argc, char **argv) {
  if (argc == 1) {
    return false;
  }
  if (argc == 2 && strcmp(argv[1], "--quick") == 0) {
    return true;
  }
  spike_die("usage: the program's name [--quick]");
}

static inline int spike_order(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Sorts v. */
static inline double spike_median(double *v, unsigned n) {
  qsort(v, n, sizeof *v, spike_order);
  return n % 2 == 1 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Round r of n alternatives visits them forwards and backwards in turn. */
static inline unsigned spike_turn(unsigned r, unsigned i, unsigned n) {
  return r % 2 == 0 ? i : n - 1 - i;
}

/* Threads that start together. */
struct spike_crew {
  pthread_barrier_t start;
  void (*work)(void *arg, unsigned which);
  void *arg;
};

struct spike_member {
  struct spike_crew *crew;
  unsigned which;
  pthread_t thread;
};

static inline void *spike_member_main(void *arg) {
  struct spike_member *m = arg;
  (void)pthread_barrier_wait(&m->crew->start);
  m->crew->work(m->crew->arg, m->which);
  return NULL;
}

/* Runs work(arg, 0..n-1), each on a thread of its own.  With seconds > 0, sets
 * *stop after that time.  Returns the wall time from start to the last end. */
static inline uint64_t spike_run(unsigned n,
                                 void (*work)(void *arg, unsigned which),
                                 void *arg,
                                 _Atomic uint32_t *stop,
                                 uint64_t ns) {
  struct spike_crew crew = {.work = work, .arg = arg};
  struct spike_member *members = calloc(n, sizeof *members);
  if (members == NULL || pthread_barrier_init(&crew.start, NULL, n + 1) != 0) {
    spike_die("no memory");
  }
  for (unsigned i = 0; i < n; i++) {
    members[i].crew = &crew;
    members[i].which = i;
    if (pthread_create(&members[i].thread, NULL, spike_member_main,
                       &members[i]) != 0) {
      spike_die("no thread");
    }
  }
  (void)pthread_barrier_wait(&crew.start);
  uint64_t begun = spike_now();
  if (stop != NULL) {
    spike_sleep(ns);
    atomic_store_explicit(stop, 1, memory_order_relaxed);
  }
  for (unsigned i = 0; i < n; i++) {
    (void)pthread_join(members[i].thread, NULL);
  }
  uint64_t wall = spike_now() - begun;
  (void)pthread_barrier_destroy(&crew.start);
  free(members);
  return wall;
}

/* Waits in ns: 16 steps an octave, so a percentile is right within 6 %. */
#define SPIKE_HIST 1024u

struct spike_hist {
  uint64_t n;
  uint64_t max;
  uint64_t at[SPIKE_HIST];
};

static inline unsigned spike_bucket(uint64_t v) {
  unsigned top = v < 16 ? 0 : (unsigned)(63 - __builtin_clzll(v)) - 3;
  return top == 0 ? (unsigned)v : top * 16 + (unsigned)(v >> (top - 1)) % 16;
}

static inline void spike_note(struct spike_hist *h, uint64_t v) {
  h->n++;
  h->max = v > h->max ? v : h->max;
  h->at[spike_bucket(v)]++;
}

static inline void spike_merge(struct spike_hist *to,
                               const struct spike_hist *from) {
  to->n += from->n;
  to->max = from->max > to->max ? from->max : to->max;
  for (unsigned i = 0; i < SPIKE_HIST; i++) {
    to->at[i] += from->at[i];
  }
}

/* The lower end of the bucket that holds the q-th share of all values. */
static inline double spike_quantile(const struct spike_hist *h, double q) {
  uint64_t want = (uint64_t)((double)h->n * q);
  uint64_t seen = 0;
  for (unsigned i = 0; i < SPIKE_HIST; i++) {
    seen += h->at[i];
    if (seen > want) {
      unsigned top = i / 16;
      return top == 0 ? (double)i
                      : (double)((16 + (uint64_t)(i % 16)) << (top - 1));
    }
  }
  return (double)h->max;
}

#endif
