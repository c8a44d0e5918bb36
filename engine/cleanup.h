/* SPDX-License-Identifier: MIT */
/* cleanup.h - from one user of a connection to the next.
 *
 *   drain     an unread result is cancelled and its rest thrown away
 *   roll back an open transaction, where a reset would not do it
 *   reset     with the next request (lazy) or by a round trip (eager)
 *   init      Session Init, if there is one, after each reset: a round trip, which
 *             takes a lazy reset along
 *
 * A lazy reset costs nothing and is done by whoever releases.  The rest is done
 * on the reactor with the slot RESERVED, each step within a limit, and what fails
 * is closed: nobody gets a connection that is not clean. */
#ifndef WEIR_CLEANUP_H
#define WEIR_CLEANUP_H

#include <stdbool.h>

#include "caller.h"
#include "lease.h"

/* Most time for an unread result to end after its cancellation. */
#define WEIR_DRAIN_LIMIT_NS (UINT64_C(1) * WEIR_NS_PER_S)
/* ... and for a roll-back or a reset. */
#define WEIR_RESET_LIMIT_NS (UINT64_C(5) * WEIR_NS_PER_S)

/* The end of a lease that used its connection, is to be discarded or has grown
 * old.  The lease is in a call, which ends here.  Calls the driver: no lock is
 * held.  Blocks: no. */
void weir__cleanup_begin(struct weir__lease *lease,
                         const struct weir__caller *self,
                         bool discard);

/* True if the connection is to be closed when it comes back, however clean. */
bool weir__cleanup_worn_out(struct weir__pool *pool,
                            struct weir__slot *slot,
                            uint64_t word);

#endif
