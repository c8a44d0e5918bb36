/* SPDX-License-Identifier: MIT */
/* replace.h - a lazy reset that fails with the next user's first statement, before
 * anything of that was executed: the connection is replaced within its slot and
 * its lease, closed first and then opened anew, and the statement sent again, all
 * within the statement's own limit.  Its user sees nothing of it. */
#ifndef WEIR_REPLACE_H
#define WEIR_REPLACE_H

#include <stdbool.h>

#include "session.h"

/* Whether the statement that failed just now is given another connection: then it
 * is as if that had begun, and weir__replace_renew() follows.  None is where the last
 * connect failed for good, in a blocking period, or while the endpoint is not thought
 * well.  Takes the pool's mutex. */
bool weir__replace_begin(struct weir_drv_hconn *session);

/* Ends the session's connection, whose place in the server is free from then on
 * (the stream is torn down), and makes the session one that has yet to connect.
 * Calls the driver: no lock is held. */
void weir__replace_renew(struct weir_drv_hconn *session);

/* The new connection is there, or could not be had. */
void weir__replace_ended(struct weir_drv_hconn *session, bool good);

#endif
