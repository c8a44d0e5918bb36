/* SPDX-License-Identifier: MIT */
/* tds_session.h - what the server says of the session itself: ENVCHANGE,
 * LOGINACK, features; and what of it a release has to know. */
#ifndef TDS_SESSION_H
#define TDS_SESSION_H

#include "tds_conn.h"

/* Prepares and gives back the texts of a connection's settings. */
void tds_session_init(struct weir_drv_conn *c);
void tds_session_fini(struct weir_drv_conn *c);

/* An event of the decoder, applied.  Each returns TDS_OK, TDS_E_NOMEM, or
 * another verdict with c->decoder.why filled. */
int tds_session_env(struct weir_drv_conn *c);
int tds_session_ack(struct weir_drv_conn *c);
int tds_session_feature(struct weir_drv_conn *c);
int tds_session_fedauth(struct weir_drv_conn *c);

/* The login is over: what holds now is what a reset goes back to.
 * Returns TDS_OK or TDS_E_NOMEM. */
int tds_session_keep_baseline(struct weir_drv_conn *c);

/* Whether some statement left the login's database. */
bool tds_session_moved(const struct weir_drv_conn *c);

/* Fills the second part of wait. */
void tds_session_state(const struct weir_drv_conn *c,
                       struct weir_drv_wait *wait);

/* Fills c->decoder.why, with the token and the byte of the reply.  Returns
 * TDS_E_PROTO. */
int tds_session_bad(struct weir_drv_conn *c, const char *why);

#endif
