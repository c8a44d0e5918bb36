/* SPDX-License-Identifier: MIT */
/* demo_strategy.c - what the strategies are called, and why they are as fast as they
 * are. */
#include "demo.h"

static const struct {
  const char *name;
  const char *why;
} strategies[DEMO_STRATEGIES] = {
    [DEMO_LEGACY] =
        {"legacy",
         "opens one connection at a time, so the last thread of a ramp waits "
         "for "
         "everybody else's login; what comes back is taken by whoever is there "
         "first, so running threads seldom stop and a sleeping one may be "
         "overtaken without end."},
    [DEMO_CHANNEL] =
        {"channel",
         "has each caller open for itself, all at once; what comes back goes "
         "to "
         "the head of one line, whatever runs, so with more threads than "
         "connections each hand-over costs a wake-up."},
    [DEMO_DIRECT] =
        {"direct",
         "opens one more for each waiter that no return will serve sooner, "
         "each "
         "caller driving its own; a warm open is one compare-and-swap on the "
         "connection that this processor used last, and a running thread "
         "passes "
         "those who wait only until one has waited for Handoff Bound."},
};

const char *demo_strategy_name(enum demo_strategy strategy) {
  return strategies[strategy].name;
}

const char *demo_strategy_why(enum demo_strategy strategy) {
  return strategies[strategy].why;
}
