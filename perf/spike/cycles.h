/* SPDX-License-Identifier: MIT */
/* cycles.h - timing of short cycles, by the processor time of the thread that
 * runs them: other programs on the machine then cost caches, not time.  Threads
 * are pinned, each to a processor: two that share one would share nothing. */
#ifndef WEIR_PERF_SPIKE_CYCLES_H
#define WEIR_PERF_SPIKE_CYCLES_H

#include <sched.h>

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
  unsigned threads;
  _Atomic uint32_t done;
  double ns[CYCLES_THREADS];
};

/* To the which-th processor that the program may use; not if it has only one. */
static inline void cycles_pin(unsigned which) {
  cpu_set_t may;
  cpu_set_t one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof may, &may) != 0) {
    return;
  }
  for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    if (CPU_ISSET(cpu, &may) && which-- == 0) {
      CPU_SET(cpu, &one);
      (void)sched_setaffinity(0, sizeof one, &one);
      return;
    }
  }
}

static inline void cycles_work(void *arg, unsigned which) {
  struct cycles_job *job = arg;
  cycles_pin(which);
  job->way->run(which, job->n / 16); /* caches and branches */
  uint64_t begun = spike_thread_ns();
  job->way->run(which, job->n);
  job->ns[which] = (double)(spike_thread_ns() - begun) / (double)job->n;
  /* Whoever is first goes on: the other's figure is of two threads, too. */
  (void)atomic_fetch_add_explicit(&job->done, 1, memory_order_relaxed);
  while (atomic_load_explicit(&job->done, memory_order_relaxed) <
         job->threads) {
    job->way->run(which, 1000);
  }
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
        struct cycles_job job = {.way = &ways[k], .n = n, .threads = threads};
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
