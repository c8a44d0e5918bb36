/* SPDX-License-Identifier: MIT */
#include "sweep.h"

#include "sys/clock.h"

uint64_t weir__sweep_period(bool enforced,
                            uint64_t idle_timeout_ns,
                            uint32_t drawn) {
  if (!enforced) {
    uint64_t step = drawn % WEIR_SWEEP_STEPS;
    return (WEIR_SWEEP_FIRST_S + step * WEIR_SWEEP_STEP_S) * WEIR_NS_PER_S;
  }
  if (idle_timeout_ns == WEIR_NEVER) {
    return WEIR_NEVER;
  }
  uint64_t half = idle_timeout_ns / 2;
  uint64_t least = WEIR_SWEEP_LEAST_S * WEIR_NS_PER_S;
  return half > least ? half : least;
}
