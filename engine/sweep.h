/* SPDX-License-Identifier: MIT */
/* sweep.h - how often a pool is swept of what nobody has used since the last time.
 *
 *   Idle Expiry   Connection Idle Timeout   period
 *   sqlclient     any                       120, 130 ... 230 s, drawn once for a pool
 *   enforced      0                         none: no sweep
 *   enforced      up to 2 s                 1 s
 *   enforced      more                      half of it
 *
 * A connection that is swept has been idle for more than one period, and for two
 * at most: under `enforced` never longer than Connection Idle Timeout, unless that
 * is below two seconds.  Pure: no clock, no pool. */
#ifndef WEIR_SWEEP_H
#define WEIR_SWEEP_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_SWEEP_FIRST_S UINT64_C(120)
#define WEIR_SWEEP_STEP_S  UINT64_C(10)
#define WEIR_SWEEP_STEPS   12u
#define WEIR_SWEEP_LEAST_S UINT64_C(1)

/* What a pool keeps of it. */
struct weir__sweep {
  uint64_t before; /* what is idle since before that goes; 0: nothing goes */
  uint32_t drawn;  /* 1 + what was drawn; 0: nothing yet */
  bool swept;      /* once, since the pool has been above its minimum */
};

/* Time between two sweeps; WEIR_NEVER: there are none.  idle_timeout_ns:
 * WEIR_NEVER stands for 0.  drawn: the pool's number, any bits. */
uint64_t weir__sweep_period(bool enforced,
                            uint64_t idle_timeout_ns,
                            uint32_t drawn);

#endif
