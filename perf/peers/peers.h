/* SPDX-License-Identifier: MIT */
/* peers.h - the pools that Weir is measured beside, and physical limits. */
#ifndef PEERS_PEERS_H
#define PEERS_PEERS_H

#include "pool.h"

/* APR reslist of apr-util, a complete pool in C: a mutex, a list and a condition
 * variable; the constructor runs under the mutex. */
extern const struct pool_kind peer_apr;

/* Limits: what is reachable without deadlines, health, lifetimes or counts. */

/* A slot for each connection and a hint for each thread: one compare-and-swap on
 * a line that nobody else writes; stealing goes over all slots. */
extern const struct pool_kind peer_slot;

/* A mutex, a stack of idle connections and a condition variable. */
extern const struct pool_kind peer_condvar;

/* A mutex, and a release that hands its connection to the oldest waiter, which
 * sleeps on a futex of its own: strictly first come, first served. */
extern const struct pool_kind peer_handover;

/* No pool: each acquire opens, each release closes. */
extern const struct pool_kind peer_none;

#endif
