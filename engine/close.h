/* SPDX-License-Identifier: MIT */
/* close.h - a session's last way: log out, half-close, wait for the peer's end
 * at most Close Timeout, and only then is its place empty (P1). */
#ifndef WEIR_CLOSE_H
#define WEIR_CLOSE_H

#include "session.h"

/* The session's slot is CLOSING and the session nobody else's.  Any thread; its
 * op word is NONE or DRIVING by the caller.  The rest happens on the reactor. */
void weir__close_begin(struct weir_drv_hconn *session);

/* On the reactor: ends every close of the pool at once, because somebody waits
 * for the place or time is up. */
void weir__close_hurry(struct weir__pool *pool);

#endif
