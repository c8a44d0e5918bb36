/* SPDX-License-Identifier: MIT */
/* keepalive.h - idle connections are pinged every Keepalive Interval, so that
 * nothing between here and the server forgets them, and one that has died in
 * silence is found before somebody needs it.
 *
 * Each in its own time (the interval less or more a tenth, drawn once for each
 * connection), one of a pool at a time, and none is begun while somebody waits.
 * The ping is the driver's; where it has none it is a reset with a round trip, or
 * else one look at the session.  A ping neither counts as a use nor ends
 * idleness. */
#ifndef WEIR_KEEPALIVE_H
#define WEIR_KEEPALIVE_H

#include <stdint.h>

struct weir__pool;

/* Longest a ping may take; then the connection is closed. */
#define WEIR_KEEPALIVE_LIMIT_NS (UINT64_C(5) * WEIR_NS_PER_S)

/* On the reactor: begins the ping that is due, if one is and may be, and returns
 * when to ask again; WEIR_NEVER: not before the pool changes, or the ping that
 * runs has the pool tended to when it ends. */
uint64_t weir__keepalive(struct weir__pool *pool, uint64_t now);

#endif
