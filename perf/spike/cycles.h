/* SPDX-License-Identifier: MIT */
/* cycles.h - timing of short cycles, by the processor time of the thread that
 * runs them: other programs on the machine then cost caches, not time. */
#ifndef WEIR_PERF_SPIKE_CYCLES_H
#define WEIR_PERF_SPIKE_CYCLES_H

#include "spike.h"

#define CYCLES_ALTERNATIVES 12u
#define CYCLES_THREADS      2u

struct cycles_way {
  const char *name;
  /* Runs n cycles as thread `which`. */
  void (*run)(unsigned which, uint64_t n);
};

struct cycles_job {
  const struct cycles_way *way;
  uint64_t n;
  double ns[CYCLES_THREADS];
};

static inline void cycles_work(void *arg, unsigned which) {
  struct cycles_job *job = arg;
  job->way->run(which, job->n / 16); /* caches and branches */
  uint64_t begun = spike_thread_ns();
  job->way->run(which, job->n);
  job->ns[which] = (double)(spike_thread_ns() - begun) / (double)job->n;
}

/* Prints a table: each way, on one thread and on two; ratios are to the first
 * way.  Rounds go forwards and backwards through the ways. */
static inline void cycles_table(const char *title,
                                const struct cycles_way *ways,
                                unsigned n_ways,
                                uint64_t n,
                                unsigned rounds) {
  static double ns[CYCLES_THREADS][CYCLES_ALTERNATIVES][SPIKE_ROUNDS_MAX];
  for (unsigned r = 0; r < rounds; r++) {
    for (unsigned i = 0; i < n_ways; i++) {
      unsigned k = spike_turn(r, i, n_ways);
      for (unsigned threads = 1; threads <= CYCLES_THREADS; threads++) {
        struct cycles_job job = {.way = &ways[k], .n = n};
        (void)spike_run(threads, cycles_work, &job, NULL, 0);
        ns[threads - 1][k][r] =
            threads == 1 ? job.ns[0] : (job.ns[0] + job.ns[1]) / 2;
      }
    }
  }
  (void)printf("\n%-44s %18s %18s\n", title, "1 thread, ns  x",
               "2 threads, ns  x");
  double base[CYCLES_THREADS] = {0};
  for (unsigned k = 0; k < n_ways; k++) {
    (void)printf("  %-42s", ways[k].name);
    for (unsigned t = 0; t < CYCLES_THREADS; t++) {
      double m = spike_median(ns[t][k], rounds);
      base[t] = k == 0 ? m : base[t];
      (void)printf(" %12.1f %5.2f", m, m / base[t]);
    }
    (void)printf("\n");
  }
}

#endif
