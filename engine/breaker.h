/* SPDX-License-Identifier: MIT */
/* breaker.h - whether an endpoint may be connected to: a policy without clock,
 * lock or I/O.
 *
 *   CLOSED --failure--> OPEN --delay over--> HALF_OPEN --good--> RAMP --> CLOSED
 *     |                   ^                      |              ^ |
 *     |                   +------- failure ------+--------------|-+
 *     +--connections lost--------------------------------------+
 *
 * Every connect gets a ticket when it begins and hands it in with its result, or
 * unused.  A ticket of an earlier state is ignored: twenty connects that fail
 * together open the breaker once, and one that was begun before an outage says
 * nothing about its end. */
#ifndef WEIR_BREAKER_H
#define WEIR_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

/* The pause before a probe: decorrelated jitter between these two. */
#define WEIR_BREAKER_DELAY_MIN_NS UINT64_C(1000000000)
#define WEIR_BREAKER_DELAY_MAX_NS UINT64_C(10000000000)
/* A ramp that has let so many through at once, or lasts so long, is over. */
#define WEIR_BREAKER_RAMP_MAX     16u
#define WEIR_BREAKER_RAMP_NS      UINT64_C(10000000000)

/* All zero is a closed one. */
struct weir__breaker {
  uint32_t state;     /* WEIR_BREAKER_* of weir.h */
  uint32_t epoch;     /* grows with each change of state; a ticket is one */
  uint32_t under_way; /* connects of this epoch */
  uint32_t limit;     /* RAMP: how many of them at most */
  uint32_t good;      /* RAMP: how many ended well since the limit grew */
  uint64_t delay_ns;  /* the last pause; 0: none since the last success */
  uint64_t until;     /* OPEN: when a probe may begin; RAMP: when it ends */
};

/* Asks for leave to begin a connect at `now`.  True: *out_ticket is to be handed
 * in.  False: not now; weir__breaker_next() says when to ask again. */
bool weir__breaker_begin(struct weir__breaker *b,
                         uint64_t now,
                         uint32_t *out_ticket);

/* True if weir__breaker_begin() would say yes.  Changes nothing. */
bool weir__breaker_allows(const struct weir__breaker *b, uint64_t now);

/* When time alone may change the answer; UINT64_MAX: it is the end of a connect
 * that will. */
uint64_t weir__breaker_next(const struct weir__breaker *b);

/* The connect has ended well; badly; or was not begun, or told nothing.  True:
 * the state has changed, or more may begin than before, so that all who wait are
 * to be looked at again.  random: 64 random bits. */
bool weir__breaker_good(struct weir__breaker *b, uint32_t ticket, uint64_t now);
bool weir__breaker_bad(struct weir__breaker *b,
                       uint32_t ticket,
                       uint64_t now,
                       uint64_t random);
bool weir__breaker_drop(struct weir__breaker *b, uint32_t ticket, uint64_t now);

/* Several connections to the endpoint were lost at once, so it may be gone: from
 * CLOSED to the ramp, where one connect goes first.  True: the state has
 * changed. */
bool weir__breaker_suspect(struct weir__breaker *b, uint64_t now);

/* The pause after one of `last` (0: the first): decorrelated jitter. */
uint64_t weir__breaker_delay(uint64_t last, uint64_t random);

/* Forgets all: the configuration has changed, or the user knows better. */
void weir__breaker_reset(struct weir__breaker *b);

#endif
