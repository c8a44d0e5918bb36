/* SPDX-License-Identifier: MIT */
/* op.h - running a driver operation: the part that is the same whoever waits.
 *
 * An operation begins with one of the weir__op_ functions, which return a driver
 * status.  WEIR_DRV_WAIT: the session's wants and weir__op_wake_at() say what
 * to wait for; then weir__op_turn().  Any other status: it has ended, or, for an
 * exec, paused at META, ROWS, COUNT or OUT.  After WEIR_DRV_DONE and failures the
 * session's usable, txn and dirty are set, and its error after a failure.
 *
 * Drivers are called here and nowhere else (but get, health and the end of a
 * session).  No lock of the engine may be held. */
#ifndef WEIR_OP_H
#define WEIR_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "session.h"

/* Creates the driver connection and starts to connect. */
int32_t weir__op_connect(struct weir_drv_hconn *session, uint64_t deadline);

struct weir__params;

/* sql and params must stay until the operation ends. */
int32_t weir__op_exec(struct weir_drv_hconn *session,
                      const struct weir__exec_args *args);

/* mode: WEIR_DRV_RESET_*. */
int32_t weir__op_reset(struct weir_drv_hconn *session,
                       int32_t mode,
                       uint64_t deadline);

struct weir__txn_args {
  int32_t verb;  /* WEIR_DRV_TX_* */
  int32_t phase; /* WEIR_PHASE_*: who reads its messages, and its errors */
  int32_t isolation;
  uint64_t deadline;
  const char *name; /* of a savepoint */
  uint64_t name_len;
};

int32_t weir__op_txn(struct weir_drv_hconn *session,
                     const struct weir__txn_args *args);

/* Runs Session Init (session_init.h), which a connect does by itself.  phase:
 * WEIR_PHASE_*.  Only of a pool that has one. */
int32_t weir__op_init(struct weir_drv_hconn *session,
                      int32_t phase,
                      uint64_t deadline);

/* One round trip.  Only of a driver that has one (WEIR_DRIVER_HAS_PING). */
int32_t weir__op_ping(struct weir_drv_hconn *session);

int32_t weir__op_logout(struct weir_drv_hconn *session);

/* Turns the running operation into its cancellation. */
int32_t weir__op_cancel(struct weir_drv_hconn *session);

/* The same for an exec whose user has gone: from here on it does not pause any
 * more, and what it gives is thrown away. */
int32_t weir__op_drain(struct weir_drv_hconn *session);

/* Goes on: why is WEIR_DRV_WHY_*.  Adds WEIR_DRV_WHY_REPLY by itself when an
 * answer has come.  Answers WEIR_DRV_WAIT, and calls nothing, while an offloaded
 * function runs. */
int32_t weir__op_turn(struct weir_drv_hconn *session, uint32_t why);

/* When to go on at the latest: the driver's timer, or 0 to go on at once. */
uint64_t weir__op_wake_at(struct weir_drv_hconn *session);

/* Fills the session's error as a failure of the engine's own: of scope CONN, and
 * the session is not usable any more; or of scope STATEMENT. */
void weir__op_fail_statement(struct weir_drv_hconn *session,
                             int32_t kind,
                             const char *text);
void weir__op_fail(struct weir_drv_hconn *session,
                   int32_t kind,
                   const char *fmt,
                   ...) __attribute__((format(printf, 3, 4)));

#endif
