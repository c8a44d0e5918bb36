/* SPDX-License-Identifier: MIT */
/* failure_period.h - what Pool Failure=all and one have in common: a blocking period
 * for each pool (blocking.h).
 *
 * While it lasts whoever comes and finds nothing idle fails at once with a copy of
 * the error that began it.  Pool Blocking Period says whether there is one: auto,
 * unless the server is a cloud host; always; never, and then nobody is told of
 * another's failure.  A permanent failure is one like any other to callers, but
 * opens for Min Pool Size end with it: accounts get locked.  All with mu held. */
#ifndef WEIR_FAILURE_PERIOD_H
#define WEIR_FAILURE_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

#include "classify.h"
#include "pool.h"

struct weir__cause;

/* Whether failures of the pool begin a period. */
bool weir__period_applies(const struct weir__pool *pool);

/* Whether others are told of the failure of one connect.  That we have no memory says
 * nothing of the server, and without any for the cause nobody could be told why: the
 * next one finds out for itself. */
bool weir__period_tells(const struct weir__pool *pool,
                        const struct weir__cause *cause);

/* As in struct weir__failure_policy. */
bool weir__period_allows(struct weir__pool *pool,
                         uint64_t now,
                         uint64_t *out_at);
void weir__period_begun(struct weir__pool *pool, uint64_t now);
void weir__period_dropped(struct weir__pool *pool, uint64_t begun);
void weir__period_mended(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);
uint64_t weir__period_left(const struct weir__pool *pool, uint64_t now);

/* True while the period lasts: *out_cause is what to tell, a new one. */
bool weir__period_refuses(struct weir__pool *pool,
                          uint64_t now,
                          struct weir__cause **out_cause);

/* A connect has failed.  Returns how long no other begins; 0: it tells others
 * nothing. */
uint64_t weir__period_failed(struct weir__pool *pool,
                             enum weir__class class,
                             struct weir__cause *cause,
                             uint64_t begun) WEIR_REQUIRES(pool->mu);

#endif
