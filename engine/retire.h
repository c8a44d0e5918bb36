/* SPDX-License-Identifier: MIT */
/* retire.h - how many connections may leave a pool for their age at a time.
 *
 * Connections that were opened together grow old together.  So in each tick at
 * most a tenth of the pool's places, and at least one, may be vacated for age;
 * the others are used a little longer.  A tick is a sixtieth of the span in
 * question and at most 30 s: the whole pool can be renewed in a sixth of its
 * lifetime, and in five minutes at the latest.
 *
 * That is for Pool Trim=peak.  The sweep and the median are SqlClient's, where each
 * is told its own age whenever it is handed out or comes back. */
#ifndef WEIR_RETIRE_H
#define WEIR_RETIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/atomic.h"
#include "sys/clock.h"

#define WEIR_RETIRE_TICK_MAX_NS (UINT64_C(30) * WEIR_NS_PER_S)
#define WEIR_RETIRE_TICK_MIN_NS WEIR_NS_PER_MS

struct weir__retire {
  _Atomic uint64_t word; /* bits 0-19 taken in the tick, 20-63 its number */
};

/* The tick of a lifetime or of an idle time. */
uint64_t weir__retire_tick(uint64_t span_ns);

/* Takes one of the permits of the tick that now is in, of a pool of `places`.
 * False: none is left until weir__retire_next().  Threads: any. */
bool weir__retire_take(struct weir__retire *retire,
                       uint64_t now,
                       uint64_t tick_ns,
                       uint32_t places);

/* When the next tick begins. */
uint64_t weir__retire_next(uint64_t now, uint64_t tick_ns);

struct weir__pool;
struct weir__slot;

/* Whether a connection is to be closed for its age now: its life is over and a
 * permit is there; where Pool Trim does not ration them, none is asked for.  Once
 * true it stays so.  The slot's owner asks, or the reactor of an idle one. */
bool weir__retire_aged(struct weir__pool *pool,
                       struct weir__slot *slot,
                       uint64_t now);

#endif
