/* SPDX-License-Identifier: MIT */
#include "histogram.h"

#include <stddef.h>

/* Values below HISTOGRAM_STEPS have a bin each; above, the highest bits after
 * the leading one choose the step within the doubling. */
static size_t bin_of(uint64_t value) {
  if (value < HISTOGRAM_STEPS) {
    return (size_t)value;
  }
  unsigned top = 63u - (unsigned)__builtin_clzll(value);
  unsigned shift = top - HISTOGRAM_STEP_BITS;
  size_t step = (size_t)(value >> shift) & (HISTOGRAM_STEPS - 1u);
  return (size_t)(shift + 1u) * HISTOGRAM_STEPS + step;
}

/* The largest value of a bin. */
static uint64_t end_of(size_t bin) {
  if (bin < HISTOGRAM_STEPS) {
    return bin;
  }
  unsigned shift = (unsigned)(bin / HISTOGRAM_STEPS) - 1u;
  uint64_t step = bin % HISTOGRAM_STEPS + HISTOGRAM_STEPS;
  return (step << shift) + ((UINT64_C(1) << shift) - 1u);
}

void histogram_add(struct histogram *h, int64_t value) {
  uint64_t v = value < 0 ? 0 : (uint64_t)value;
  h->count++;
  h->sum += v;
  h->max = v > h->max ? v : h->max;
  h->bins[bin_of(v)]++;
}

void histogram_merge(struct histogram *h, const struct histogram *other) {
  h->count += other->count;
  h->sum += other->sum;
  h->max = other->max > h->max ? other->max : h->max;
  for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
    h->bins[i] += other->bins[i];
  }
}

uint64_t histogram_at(const struct histogram *h, uint32_t per_mille) {
  if (h->count == 0) {
    return 0;
  }
  /* ceil(count * per_mille / 1000) without overflow, at least 1. */
  uint64_t rank =
      h->count / 1000 * per_mille + (h->count % 1000 * per_mille + 999) / 1000;
  rank = rank == 0 ? 1 : rank;
  uint64_t seen = 0;
  for (size_t i = 0; i < HISTOGRAM_BINS; i++) {
    seen += h->bins[i];
    if (seen >= rank) {
      return end_of(i) < h->max ? end_of(i) : h->max;
    }
  }
  return h->max;
}

double histogram_mean(const struct histogram *h) {
  return h->count == 0 ? 0 : (double)h->sum / (double)h->count;
}
