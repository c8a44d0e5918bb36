/* SPDX-License-Identifier: MIT */
/* request.h - what a driver asks of the engine while it waits: names,
 * credentials, calls that block. */
#ifndef WEIR_REQUEST_H
#define WEIR_REQUEST_H

#include <stdbool.h>

#include "session.h"

/* Starts session->request with the driver's arguments; the answer may come
 * before this returns.  False: there is no such request. */
bool weir__request_begin(struct weir_drv_hconn *session, const void *arg);

/* Answers an open request of a credential, with a secret that is the session's
 * from here on, or with the reason why there is none.  Any thread; the session may
 * be gone when these return. */
void weir__request_given(struct weir_drv_hconn *session,
                         int32_t kind,
                         struct weir__secret *secret,
                         uint64_t expires_unix_s);
void weir__request_denied(struct weir_drv_hconn *session, const char *why);

/* True if the open request has been answered and the owner may use it now. */
bool weir__request_answered(struct weir_drv_hconn *session);

/* True while an offloaded function of the driver may be running: no call on the
 * connection is legal then but interrupt(). */
bool weir__request_offloaded(struct weir_drv_hconn *session);

/* Puts the answer into *wake, for one step. */
void weir__request_reply(struct weir_drv_hconn *session,
                         struct weir_drv_wake *wake);

/* After that step: the request is over. */
void weir__request_end(struct weir_drv_hconn *session);

/* Gives up on the open request, if any.  Reactor thread.  False: its call is
 * inside foreign code, or its answer is on the way; session->reply_pending is
 * set until reply_task has run, and the session must stay until then. */
bool weir__request_abandon(struct weir_drv_hconn *session);

#endif
