/* SPDX-License-Identifier: MIT */
/* histogram.h - how often which time was seen: log-linear, 64 steps for each
 * doubling, so that a percentile is at most 1.6 % too high.  Sum, count and
 * maximum are exact.  All zero is empty. */
#ifndef WEIRBENCH_HISTOGRAM_H
#define WEIRBENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_STEP_BITS 6u
#define HISTOGRAM_STEPS     (1u << HISTOGRAM_STEP_BITS)
#define HISTOGRAM_BINS      ((64u - HISTOGRAM_STEP_BITS + 1u) * HISTOGRAM_STEPS)

struct histogram {
  uint64_t count;
  uint64_t sum;
  uint64_t max;
  uint64_t bins[HISTOGRAM_BINS];
};

/* Notes one value; a negative one counts as 0. */
void histogram_add(struct histogram *h, int64_t value);

/* Adds what another has seen. */
void histogram_merge(struct histogram *h, const struct histogram *other);

/* The smallest value that per_mille of the values do not exceed, rounded up to
 * its step's end and never above the maximum; 0 if there is none. */
uint64_t histogram_at(const struct histogram *h, uint32_t per_mille);

double histogram_mean(const struct histogram *h);

#endif
