/* SPDX-License-Identifier: MIT */
/* strategies.h - the strategies, and policies swapped alone, for programs that take
 * them in turn.  Each is to stand before the settings of a program, which win. */
#ifndef WEIR_TEST_STRATEGIES_H
#define WEIR_TEST_STRATEGIES_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "weir.h"

#define STRESS_STRATEGIES 3u

static inline const char *stress_strategy(unsigned long turn) {
  static const char *const all[STRESS_STRATEGIES] = {"Pool Strategy=direct;",
                                                     "Pool Strategy=legacy;",
                                                     "Pool Strategy=channel;"};
  return all[turn % STRESS_STRATEGIES];
}

/* Every third of these is a strategy, the others change one thing of direct. */
static inline const char *stress_policy(unsigned long turn) {
  static const char *const all[] = {"Pool Idle Order=lifo;",
                                    "Pool Idle Order=fifo;",
                                    "Pool Growth=serial;",
                                    "Pool Growth=parallel;",
                                    "Pool Handoff=direct;",
                                    "Pool Handoff=queued;",
                                    "Pool Handoff=barging;",
                                    "Pool Trim=sweep;Idle Expiry=enforced;",
                                    "Pool Trim=median;",
                                    "Pool Failure=all;",
                                    "Pool Failure=one;",
                                    "Pool Async=dispatcher;",
                                    "Connect Timeout Scope=per-phase;"};
  return turn % 3 == 0 ? stress_strategy(turn / 3)
                       : all[turn % (sizeof all / sizeof all[0])];
}

/* weir_pool_open() of the two texts, one behind the other. */
static inline int stress_open_pool(weir_h engine,
                                   const char *strategy,
                                   const char *settings,
                                   weir_h *out_pool,
                                   struct weir_error *err) {
  char text[1024];
  int n = snprintf(text, sizeof text, "%s%s", strategy, settings);
  return n > 0 && (size_t)n < sizeof text
             ? weir_pool_open(engine, text, (uint64_t)n, out_pool, err)
             : WEIR_E_ARG;
}

#endif
