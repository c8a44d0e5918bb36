/* SPDX-License-Identifier: MIT */
/* codel.h - whether a queue stands, and who is to be refused then: a policy without
 * clock or lock (CoDel, scaled to how long each caller is ready to wait).
 *
 * A burst makes a queue that goes away; overload makes one that stands, and then all
 * who wait in it wait in vain.  So what counts is the shortest wait of an interval.
 * With S the time-out that a caller came with:
 *
 *   target    S / 20       a wait that a caller does not mind
 *   interval  10 targets   how long nobody may be served so soon
 *   limit     2 targets, which is a tenth of S
 *
 * The queue stands for a caller when nobody has been served within its target for
 * its interval, and it is refused if it has waited longer than its limit by then.
 * Callers of different time-outs share a queue: what stands for one of 1 s may be
 * nothing to one of 15 s. */
#ifndef WEIR_CODEL_H
#define WEIR_CODEL_H

#include <stdint.h>

/* Waits from 1 us to an hour, four bands to an octave: a target is met to within a
 * fifth. */
#define WEIR_CODEL_BANDS 128u

/* All zero: an empty queue at time 0. */
struct weir__codel {
  /* When somebody was last served after a wait of that band or a shorter one. */
  uint64_t served[WEIR_CODEL_BANDS];
};

/* Somebody was served at `now` after that wait; 0 also when the queue was empty. */
void weir__codel_served(struct weir__codel *c, uint64_t now, uint64_t wait_ns);

/* When one who waits since `since`, for at most span_ns, is to be refused by whoever
 * next looks for somebody to serve, unless somebody is served meanwhile after a wait
 * that was short enough.  Never (UINT64_MAX) for a span without end, which is
 * UINT64_MAX. */
uint64_t weir__codel_refuse_at(const struct weir__codel *c,
                               uint64_t since,
                               uint64_t span_ns);

/* The same for a clock, which is only for queues that nobody looks at: not before
 * nobody has been served for the limit, either. */
uint64_t weir__codel_stuck_at(const struct weir__codel *c,
                              uint64_t since,
                              uint64_t span_ns);

/* How long one with that span is let wait at least. */
uint64_t weir__codel_limit(uint64_t span_ns);

#endif
