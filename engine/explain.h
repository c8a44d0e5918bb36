/* SPDX-License-Identifier: MIT */
/* explain.h - errors of an acquire that say what happened, in which phase, what
 * was tried and what to do. */
#ifndef WEIR_EXPLAIN_H
#define WEIR_EXPLAIN_H

#include "pool.h"
#include "session.h"
#include "waiter.h"

/* The caller waited in line, or had no time to, and got nothing.  Returns
 * WEIR_E_TIMEOUT. */
int weir__explain_timeout(struct weir__pool *pool,
                          const struct weir__waiter *w,
                          struct weir_error *err);

/* The caller was taken out of the line so that others are served in time.  Returns
 * WEIR_E_OVERLOADED. */
int weir__explain_shed(struct weir__pool *pool,
                       const struct weir__waiter *w,
                       struct weir_error *err);

/* The session's connect has failed: its error, with the phase.  Calls the
 * driver. */
void weir__explain_connect(struct weir_drv_hconn *session,
                           struct weir_error *err);

/* Time ran out while the session was connecting.  Calls the driver. */
void weir__explain_late(struct weir__pool *pool,
                        const struct weir__waiter *w,
                        struct weir_drv_hconn *session,
                        struct weir_error *err);

/* The same where no caller drove it. */
void weir__explain_expired(struct weir_drv_hconn *session,
                           struct weir_error *err);

/* What the session is doing now: WEIR_PHASE_*.  Calls the driver. */
int32_t weir__explain_phase(struct weir_drv_hconn *session);

/* *from into the caller's struct, as far as that goes; err may be NULL. */
void weir__explain_copy(struct weir_error *err, const struct weir_error *from);

/* The last connect error of the pool as a clause to be put behind a sentence, with
 * a NUL, or "". */
void weir__explain_last_error(struct weir__pool *pool, char *buf, size_t cap);

#endif
