/* SPDX-License-Identifier: MIT */
/* median.h - how many connections of a pool lie idle most of the time.
 *
 * The idle ones are counted at an interval, and a window of such samples has one
 * answer: its median, of an even number the lower middle.  So a burst that most
 * samples do not see changes nothing, and one that only a few miss does not,
 * either.  The next window begins empty.
 *
 *   Connection Idle Timeout   interval   samples
 *   up to 10 s                    10 s         1
 *   15 s                          10 s         2
 *   60 s                          10 s         6
 *   300 s (the default)           10 s        30
 *   3,000 s                       10 s       300
 *   6,000 s                       20 s       300
 *   10,000 s                      34 s       295
 *   a day                        288 s       300
 *   300 days and more            one day     300
 *
 * The figures are SqlClient's; a fraction of a second is rounded up.  Pure: no
 * clock, no pool, no memory of its own. */
#ifndef WEIR_MEDIAN_H
#define WEIR_MEDIAN_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_MEDIAN_SAMPLES    300u
#define WEIR_MEDIAN_INTERVAL_S UINT64_C(10)    /* shortest */
#define WEIR_MEDIAN_DAY_S      UINT64_C(86400) /* longest */

struct weir__median_plan {
  uint64_t interval_ns;
  uint32_t samples; /* 1..WEIR_MEDIAN_SAMPLES */
};

struct weir__median {
  uint32_t *sample; /* in ascending order; room for a window */
  struct weir__median_plan plan;
  uint32_t n;       /* samples taken of this window */
  uint32_t surplus; /* what the last window said, as far as it is not done */
};

/* The interval and the window of a Connection Idle Timeout that is neither 0 nor
 * WEIR_NEVER. */
struct weir__median_plan weir__median_plan(uint64_t idle_timeout_ns);

/* Which of n > 0 samples in ascending order is the median. */
uint32_t weir__median_index(uint32_t n);

/* One sample of plan.samples.  True: the window is whole, *out is its median and the
 * next one begins. */
bool weir__median_note(struct weir__median *median,
                       uint32_t idle,
                       uint32_t *out);

#endif
