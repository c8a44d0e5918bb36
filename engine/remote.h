/* SPDX-License-Identifier: MIT */
/* remote.h - operations that nobody's thread drives: the reactor does. */
#ifndef WEIR_REMOTE_H
#define WEIR_REMOTE_H

#include "session.h"

/* Has run(session) called on the reactor thread, with the op word REACTOR.  The
 * caller owns the session and no longer does after this call.  Any thread; locks
 * may be held. */
void weir__remote_post(struct weir_drv_hconn *session,
                       void (*run)(struct weir_drv_hconn *session));

/* Hands an operation that this thread drives to the reactor, which carries it on
 * until session->limit and then calls done(session). */
void weir__remote_adopt(struct weir_drv_hconn *session,
                        void (*done)(struct weir_drv_hconn *session));

/* On the reactor: goes on with an operation that answered `status` when it was
 * begun; done(session) is called when it has ended, maybe from here.  When the
 * limit passes, session->expired is set, its error filled, and the operation
 * left for done() to abort. */
void weir__remote_go(struct weir_drv_hconn *session,
                     int32_t status,
                     void (*done)(struct weir_drv_hconn *session));

/* On the reactor: the operation is over and the session about to be somebody
 * else's: op word NONE. */
void weir__remote_release(struct weir_drv_hconn *session);

/* On the reactor: the same for a session that goes back to its lease, whose user
 * may be anywhere.  False: the answer to a request of it is on its way here, after
 * which done() is called again. */
bool weir__remote_leave(struct weir_drv_hconn *session);

/* On the reactor: true if it drives the session's operation, which waits. */
bool weir__remote_drives(const struct weir_drv_hconn *session);

/* On the reactor: ends an operation that it drives, as if its limit had passed.
 * False: the operation is not the reactor's. */
bool weir__remote_expire(struct weir_drv_hconn *session);

/* On the reactor: takes every descriptor and the timer of the session out of
 * it. */
void weir__remote_quiet(struct weir_drv_hconn *session);

/* On the reactor: the same for one descriptor that is about to be closed. */
void weir__remote_forget_fd(struct weir_drv_hconn *session, int fd);

#endif
