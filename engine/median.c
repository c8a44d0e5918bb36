/* SPDX-License-Identifier: MIT */
#include "median.h"

#include "sys/clock.h"

static uint64_t divide_up(uint64_t a, uint64_t b) {
  return a / b + (a % b != 0);
}

struct weir__median_plan weir__median_plan(uint64_t idle_timeout_ns) {
  uint64_t idle_s = divide_up(idle_timeout_ns, WEIR_NS_PER_S);
  uint64_t interval_s = divide_up(idle_s, WEIR_MEDIAN_SAMPLES);
  if (interval_s < WEIR_MEDIAN_INTERVAL_S) {
    interval_s = WEIR_MEDIAN_INTERVAL_S;
  } else if (interval_s > WEIR_MEDIAN_DAY_S) {
    interval_s = WEIR_MEDIAN_DAY_S;
  }
  uint64_t samples = divide_up(idle_s, interval_s);
  return (struct weir__median_plan){
      .interval_ns = interval_s * WEIR_NS_PER_S,
      .samples = samples > WEIR_MEDIAN_SAMPLES ? WEIR_MEDIAN_SAMPLES
                                               : (uint32_t)samples,
  };
}

uint32_t weir__median_index(uint32_t n) {
  return (uint32_t)divide_up(n, 2) - 1;
}

/* In order as they come: a window is short, and its end is then a look. */
bool weir__median_note(struct weir__median *median,
                       uint32_t idle,
                       uint32_t *out) {
  uint32_t at = median->n;
  while (at > 0 && median->sample[at - 1] > idle) {
    median->sample[at] = median->sample[at - 1];
    at--;
  }
  median->sample[at] = idle;
  median->n++;
  if (median->n < median->plan.samples) {
    return false;
  }
  *out = median->sample[weir__median_index(median->n)];
  median->n = 0;
  return true;
}
