/* SPDX-License-Identifier: MIT */
/* connect.h - a waiter opens a connection on its own thread. */
#ifndef WEIR_CONNECT_H
#define WEIR_CONNECT_H

#include "pool.h"
#include "waiter.h"

/* Drives the connect of w->slot until it ends, or the node is decided, or the
 * caller's deadline passes; whatever is left of the connect goes on on the
 * reactor.
 * Returns WEIR_OK: w->granted is leased to the caller; WEIR_PENDING: look at the
 * node's state; else the acquire has failed with *err. */
int weir__connect_drive(struct weir__pool *pool,
                        struct weir__waiter *w,
                        struct weir_error *err);

#endif
