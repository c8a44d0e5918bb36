/* SPDX-License-Identifier: MIT */
/* acquire.h - one acquire, from the warm path to the end of the line. */
#ifndef WEIR_ACQUIRE_H
#define WEIR_ACQUIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "caller.h"
#include "pool.h"

/* weir_acquire() on a pool that the caller has resolved. */
int weir__acquire(struct weir__pool *pool,
                  struct weir__caller *self,
                  int64_t timeout_ns,
                  uint64_t *out_lease,
                  struct weir_error *err);

/* The same for one that is back at its time whatever Connect Timeout Scope says: a
 * connect that it has begun goes on without it. */
int weir__acquire_within(struct weir__pool *pool,
                         struct weir__caller *self,
                         int64_t timeout_ns,
                         uint64_t *out_lease,
                         struct weir_error *err);

/* ---------------------------------- what blocking and submitted ones share */

/* The warm path: an idle connection is there, and nobody waits or may be
 * overtaken (Pool Handoff). */
bool weir__acquire_at_once(struct weir__pool *pool, uint64_t *out_lease);

/* A node that is to wait: its times.  WEIR_OK, or why it may not (WEIR_E_CLOSED;
 * WEIR_E_TIMEOUT: it came without time). */
int weir__acquire_prepare(struct weir__pool *pool,
                          struct weir__waiter *w,
                          int64_t timeout_ns,
                          struct weir_error *err);

/* The error of an acquire that is refused or failed with that code. */
int weir__acquire_refuse(struct weir__pool *pool,
                         int code,
                         struct weir_error *err);

/* The same of a node: its cause if it has one, which is given back. */
int weir__acquire_refuse_node(struct weir__pool *pool,
                              struct weir__waiter *w,
                              int code,
                              struct weir_error *err);

/* Whether a connection that was idle until now may be given to a user: not any
 * more, if it lives, or as it is because it has just been used. */
enum weir__trust {
  WEIR_TRUST_NONE,
  WEIR_TRUST_LOOK,
  WEIR_TRUST_FULL
};
enum weir__trust weir__acquire_trust(struct weir__pool *pool,
                                     struct weir__slot *slot,
                                     uint64_t word);

/* The same, with the look: a read without waiting, no round trip.  Calls the
 * driver.  False: it is to be retired; *word is the slot's. */
bool weir__acquire_trusted(struct weir__pool *pool,
                           struct weir__slot *slot,
                           uint64_t *word);

/* The handle of the lease that a slot's word says. */
uint64_t weir__acquire_lease(const struct weir__slot *slot, uint64_t word);

#endif
