/* SPDX-License-Identifier: MIT */
/* tds_txn.h - the user's transaction: begin to commit or rollback.
 *
 *             begin                 ENVCHANGE 9, 10, 12, 17 out of turn
 *   none ------------> open ------------------------------------> lost
 *    ^                  |                                           |
 *    +-- commit, rollback (ENVCHANGE 9, 10) --+-- rollback (no I/O) +
 *
 * Lost: the server has ended the transaction by itself.  What follows would be
 * committed one by one, so nothing more is sent until the user has ended it,
 * too. */
#ifndef TDS_TXN_H
#define TDS_TXN_H

#include "tds_conn.h"

/* Whether statements of the user must be refused: the server has ended his
 * transaction, or allows only its rollback, and no reset is due that would
 * clear the matter up. */
bool tds_txn_lost(const struct weir_drv_conn *c);

/* Ends an operation before it began, because of that: nothing was sent.
 * Returns WEIR_DRV_FAIL. */
weir_drv_status tds_txn_refuse(struct weir_drv_conn *c, struct tds_turn *t);

/* What is known of the session's transaction: WEIR_DRV_TXN_*. */
int32_t tds_txn_state(const struct weir_drv_conn *c);

/* What can be said when the connection broke after a request was sent. */
int32_t tds_txn_fate(const struct weir_drv_conn *c);

/* Makes a rollback of everything the request; for a reset. */
void tds_txn_set_rollback(struct weir_drv_conn *c);
extern const struct tds_source tds_txn_source;

/* The server's error says that a rollback found nothing to roll back. */
bool tds_txn_nothing(const struct weir_drv_conn *c);

/* The answer to a request of this file is complete, and the connection good.
 * Returns as a step. */
weir_drv_status tds_txn_end(struct weir_drv_conn *c, struct tds_turn *t);

#endif
