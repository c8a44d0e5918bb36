/* SPDX-License-Identifier: MIT */
/* blocking.h - SqlClient's blocking period of one pool, as data: no clock, no lock,
 * no pool.
 *
 * A connect that fails begins a period of 5 s, in which no connect begins.  Behind
 * its end one goes first, the probe, and one after the other until one succeeds.  A
 * probe that fails begins the next period, twice as long, 60 s at most.  What else
 * fails belongs to an outage that is known: a connect that began before the period
 * ended lengthens none.
 *
 * There is no timer that could end a period which is not its own: `until` is
 * compared with the time of whoever asks. */
#ifndef WEIR_BLOCKING_H
#define WEIR_BLOCKING_H

#include <stdbool.h>
#include <stdint.h>

#define WEIR_BLOCKING_MIN_NS UINT64_C(5000000000)
#define WEIR_BLOCKING_MAX_NS UINT64_C(60000000000)

/* All zero: no connect has failed since the last that succeeded. */
struct weir__blocking {
  bool active;      /* one has failed, and none succeeded since */
  bool probing;     /* ... and a probe is under way */
  uint64_t until;   /* active: when the period ends */
  uint64_t span_ns; /* of the last period; 0: none since the last success */
};

/* True while the period lasts. */
bool weir__blocking_holds(const struct weir__blocking *b, uint64_t now);

/* How long it still lasts; 0: it does not. */
uint64_t weir__blocking_left(const struct weir__blocking *b, uint64_t now);

/* Whether a connect may begin at `now`.  False: *out_at says when to ask again;
 * UINT64_MAX: the end of the probe will tell. */
bool weir__blocking_allows(const struct weir__blocking *b,
                           uint64_t now,
                           uint64_t *out_at);

/* A connect that was allowed begins at `now`. */
void weir__blocking_begun(struct weir__blocking *b, uint64_t now);

/* One that began at `begun` has told nothing: another may probe. */
void weir__blocking_dropped(struct weir__blocking *b, uint64_t begun);

/* It has failed at `now`.  True: a period begins. */
bool weir__blocking_failed(struct weir__blocking *b,
                           uint64_t begun,
                           uint64_t now);

/* One has succeeded, or the user knows better: the next period is a first one. */
void weir__blocking_reset(struct weir__blocking *b);

#endif
