/* SPDX-License-Identifier: MIT */
/* session_init.h - Session Init: SQL of the pool's own, which runs on a connection
 * before each of its users can: when it has been opened, as the last part of its
 * connect and within the same deadline, and after each reset.
 *
 * What it gives is thrown away.  It may hold a secret, and a server's message may
 * quote it, so errors name Session Init and the server's number, never a text, and
 * its messages are not logged. */
#ifndef WEIR_SESSION_INIT_H
#define WEIR_SESSION_INIT_H

#include "session.h"

/* Longest that it may run after a reset; then the connection is closed. */
#define WEIR_SESSION_INIT_LIMIT_NS (UINT64_C(5) * WEIR_NS_PER_S)

/* Its text, with a NUL, or NULL.  It never changes while the pool is there, so it
 * may be in use while the pool is reconfigured. */
const char *weir__session_init_sql(const struct weir_drv_hconn *session);

/* It has failed: its error becomes one that can be shown.  A statement that the
 * server refuses will be refused on every connection of the pool, so the error is
 * one of the configuration. */
void weir__session_init_failed(struct weir_drv_hconn *session);

#endif
