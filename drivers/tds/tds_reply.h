/* SPDX-License-Identifier: MIT */
/* tds_reply.h - reading an answer: what its readers share. */
#ifndef TDS_REPLY_H
#define TDS_REPLY_H

#include "tds_conn.h"

/* Events of tds_reply_event besides the decoder's. */
#define TDS_EV_END   50 /* the message has ended */
#define TDS_EV_WAIT  51 /* the stream has no more bytes */
#define TDS_EV_AGAIN 52 /* enough for one step */
#define TDS_EV_LOST  53 /* the stream ended: *out_lost says how */

/* The next event of the decoder, or one of these, or a negative verdict with
 * c->decoder.why filled. */
int tds_reply_event(struct weir_drv_conn *c, int64_t *out_lost);

/* Applies an event to the session's state and passes messages on; events that
 * are results are left to the caller.  Returns TDS_OK or a verdict. */
int tds_reply_apply(struct weir_drv_conn *c, int ev);

/* What tds_reply_apply() does with messages and with DONE (tds_message.c): tells
 * the engine, and keeps the error that costs most.  Return as it does. */
int tds_message_take(struct weir_drv_conn *c, int event);
int tds_message_done(struct weir_drv_conn *c);

/* The error that was kept turns out to have cost the connection. */
void tds_message_fatal(struct tds_failure *f);

/* Fills t->err with the server's error, prefix before its words.
 * Returns WEIR_DRV_FAIL. */
weir_drv_status tds_reply_failure(struct weir_drv_conn *c,
                                  struct tds_turn *t,
                                  const char *prefix);

/* Ends the operation: with the server's error; as cancelled; because of a
 * verdict.  Each returns WEIR_DRV_FAIL. */
weir_drv_status tds_reply_end_failed(struct weir_drv_conn *c,
                                     struct tds_turn *t);
weir_drv_status tds_reply_end_cancelled(struct weir_drv_conn *c,
                                        struct tds_turn *t);
weir_drv_status tds_reply_malformed(struct weir_drv_conn *c,
                                    struct tds_turn *t,
                                    int verdict);

#endif
