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

/* Every policy at once, each by its own part of the number.  Owns: the caller the
 * text, of STRESS_MIXTURE bytes. */
#define STRESS_MIXTURE 320u

static inline const char *stress_mixture(unsigned long turn, char *text) {
  static const char *const idle[] = {"affinity", "lifo", "fifo"};
  static const char *const growth[] = {"adaptive", "serial", "parallel"};
  static const char *const handoff[] = {"bounded", "direct", "queued",
                                        "barging"};
  static const char *const trim[] = {"peak", "sweep", "median"};
  static const char *const failure[] = {"breaker", "all", "one"};
  static const char *const async[] = {"queue", "dispatcher"};
  static const char *const scope[] = {"overall", "per-phase"};
  static const char *const expiry[] = {"enforced", "sqlclient"};
  static const char *const period[] = {"auto", "never"};
  unsigned long n = turn * 2654435761u >> 7;
  (void)snprintf(text, STRESS_MIXTURE,
                 "Pool Idle Order=%s;Pool Growth=%s;Pool Handoff=%s;"
                 "Pool Trim=%s;Pool Failure=%s;Pool Async=%s;"
                 "Connect Timeout Scope=%s;Idle Expiry=%s;"
                 "Pool Blocking Period=%s;",
                 idle[n % 3], growth[n / 3 % 3], handoff[n / 9 % 4],
                 trim[n / 36 % 3], failure[n / 108 % 3], async[n / 324 % 2],
                 scope[n / 648 % 2], expiry[n / 1296 % 2],
                 period[n / 2592 % 2]);
  return text;
}

/* A third of these are strategies, a third mixtures, the others change one thing of
 * direct.  The text is good until the thread asks again. */
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
  static _Thread_local char mixture[STRESS_MIXTURE];
  switch (turn % 3) {
  case 0:
    return stress_strategy(turn / 3);
  case 1:
    return stress_mixture(turn, mixture);
  default:
    return all[turn % (sizeof all / sizeof all[0])];
  }
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
