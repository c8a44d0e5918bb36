/* SPDX-License-Identifier: MIT */
/* observe.h - who waited how long for whom: the figures of the observed pass.
 *
 * Each caller stamps its acquires: a ticket before (the order of asking), a
 * number after (the order of getting), the time of both, and whether the
 * thread went to sleep in between (a voluntary context switch).  An acquire
 * that did not sleep did not wait, however long the scheduler kept it from
 * running.  The stamps are the callers', so a wait includes the time from the
 * grant to the moment the caller runs again. */
#ifndef WEIRBENCH_OBSERVE_H
#define WEIRBENCH_OBSERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "histogram.h"

/* One acquire. */
struct stamp {
  uint64_t asked; /* order */
  uint64_t got;   /* order */
  int64_t asked_ns;
  int64_t got_ns;
  bool slept;
};

struct observation {
  struct histogram wait; /* of the acquires that slept */
  uint64_t overtakes;    /* acquires that got theirs while one that had asked
                          * before and slept was still waiting */
  uint32_t waiters_max;  /* most callers asleep in an acquire at once */
};

/* Fills *out from n stamps, which it reorders. */
void observe(struct stamp *stamps, uint64_t n, struct observation *out);

#endif
