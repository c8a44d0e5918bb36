/* SPDX-License-Identifier: MIT */
/* probe.h - whether an idle connection still lives, asked by the reactor.
 *
 * A probe is the driver's health(): one look at what has come, no round trip.
 * The slot is RESERVED for it, one of a pool at a time. */
#ifndef WEIR_PROBE_H
#define WEIR_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct weir__pool;
struct weir__slot;
struct weir_drv_hconn;

/* On the reactor: looks at an idle slot, whose word is *word.  A good connection
 * is as idle as before, or serves a waiter; a dead one is closed.  False: the slot
 * is not what *word was, which is what it is now; nothing has happened.  Calls
 * the driver: no lock is held. */
bool weir__probe_idle(struct weir__pool *pool,
                      struct weir__slot *slot,
                      uint64_t *word);

/* On the reactor: looks at every idle slot that is suspect. */
void weir__probe_suspects(struct weir__pool *pool);

/* One look at a session at rest.  Its owner asks.  Calls the driver. */
bool weir__probe_alive(struct weir_drv_hconn *session);

#endif
