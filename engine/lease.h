/* SPDX-License-Identifier: MIT */
/* lease.h - the right to use a connection: calls on it and its end. */
#ifndef WEIR_LEASE_H
#define WEIR_LEASE_H

#include <stdbool.h>
#include <stdint.h>

#include "caller.h"
#include "pool.h"

/* A call on a lease that has begun. */
struct weir__lease {
  struct weir__slot *slot;
  struct weir_drv_hconn *session;
  struct weir__pool *pool;
  uint64_t word; /* with WEIR_SLOT_INCALL */
};

/* Begins a call that uses the lease's connection: no other call on it runs, and
 * it cannot be released, until weir__lease_end().  Returns 0, WEIR_E_HANDLE or
 * WEIR_E_BUSY. */
int weir__lease_begin(uint64_t handle,
                      struct weir__caller *self,
                      struct weir__lease *out);

/* Ends the call.  If the lease was taken away meanwhile (shutdown), its
 * connection is closed here. */
void weir__lease_end(struct weir__lease *lease);

/* weir_release() and weir_discard(). */
int weir__lease_release(uint64_t handle,
                        const struct weir__caller *self,
                        bool discard);

/* weir_cancel(). */
int weir__lease_cancel(uint64_t handle);

/* The same for one request of it, by its number; without effect on others.  Any
 * thread, locks may be held. */
int weir__lease_cancel_request(uint64_t handle, uint32_t request);

/* Has whoever drives the request of a slot look at it, after it has been made to
 * stop: the thread that is inside the call, or the reactor.  Any thread that keeps
 * the slot's pool from going away; locks may be held.  Does not block. */
void weir__lease_stir(struct weir__slot *slot);

/* True if the present request of that lease is to stop.  The owner of the call
 * asks. */
bool weir__lease_cancelled(const struct weir__slot *slot, uint32_t lease);

/* Within a call: a request that goes on when the call has ended, until it is
 * said to be over. */
static inline void weir__lease_set_active(struct weir__slot *slot,
                                          bool active) {
  weir__store_seq_u32(&slot->active, active ? 1 : 0);
}

#endif
