/* SPDX-License-Identifier: MIT */
/* trim.h - how many of a pool's connections nobody has needed lately.
 *
 * Ten times in each Connection Idle Timeout the pool's use is noted, and the
 * largest of the last ten notes is its peak.  Two things are noted, because
 * neither is right alone:
 *
 *   used    connections that were in use at any time since the last note, and
 *           acquires that wait: never less than what was needed at once, so that
 *           a burst between two notes is not missed; it bounds what is kept
 *   needed  connections in use at the moment of the note, or the highest place
 *           that a search for the lowest idle one has come to since: about what
 *           was needed at once; hints are followed below it (idle.h), which
 *           brings `used` down to it
 *
 * What is beyond the peak, Min Pool Size and Min Idle is surplus.  A fifth of it
 * goes with each note, and at least one.  Pure: no clock, no pool. */
#ifndef WEIR_TRIM_H
#define WEIR_TRIM_H

#include <stdint.h>

#define WEIR_TRIM_NOTES 10u

/* Most connections that one note closes. */
#define WEIR_TRIM_MAX 256u

struct weir__trim {
  uint32_t used[WEIR_TRIM_NOTES];
  uint32_t needed[WEIR_TRIM_NOTES];
  uint32_t n;  /* notes taken, at most WEIR_TRIM_NOTES */
  uint32_t at; /* where the next one goes */
};

/* Forgets all notes. */
void weir__trim_reset(struct weir__trim *trim);

/* One note. */
void weir__trim_note(struct weir__trim *trim, uint32_t used, uint32_t needed);

/* The largest `used` of the window; UINT32_MAX until a whole one is there. */
uint32_t weir__trim_peak(const struct weir__trim *trim);

/* The same of `needed`. */
uint32_t weir__trim_packed(const struct weir__trim *trim);

/* How many of `open` connections to close now if `keep` are to stay. */
uint32_t weir__trim_count(uint32_t open, uint32_t keep);

/* Time between two notes. */
uint64_t weir__trim_step(uint64_t idle_timeout_ns);

#endif
