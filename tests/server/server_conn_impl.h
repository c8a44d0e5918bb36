/* SPDX-License-Identifier: MIT */
/* What the files of a connection share. */
#ifndef TDSD_SERVER_CONN_IMPL_H
#define TDSD_SERVER_CONN_IMPL_H

#include "server_conn.h"

/* Logs and counts what the client did wrong below its session, and ends it. */
void tdsd_conn_refuse(struct tdsd_conn *conn, const char *problem);

/* Lets the session take one packet.  Returns false if it took none. */
bool tdsd_conn_feed(struct tdsd_conn *conn,
                    struct tdsd_buf *from,
                    uint64_t now_ns);

/* Begins TLS, with the faults that hit it (server_conn_tls.c). */
bool tdsd_conn_start_tls(struct tdsd_conn *conn, bool strict);

/* Moves the handshake, an encrypted LOGIN7, what is encrypted on by what has come.
 * Each returns false if nothing more can come of it. */
bool tdsd_conn_pump_handshake(struct tdsd_conn *conn);
bool tdsd_conn_pump_login_only(struct tdsd_conn *conn, uint64_t now_ns);
bool tdsd_conn_decrypt(struct tdsd_conn *conn);

/* Moves what the session has said to the socket's buffer, as far as the gates on
 * the way allow, and sends that (server_send.c). */
void tdsd_send_collect(struct tdsd_conn *conn, uint64_t now_ns);
void tdsd_send_transmit(struct tdsd_conn *conn);

/* Once the session has ended and all is sent: FIN, or RST if it is to be cut. */
void tdsd_send_goodbye(struct tdsd_conn *conn, uint64_t now_ns);
void tdsd_send_abort(struct tdsd_conn *conn);

#endif
