/* SPDX-License-Identifier: MIT */
/* Helpers of the server's unit tests: bytes from hexadecimal text, and a session
 * that is fed by hand. */
#ifndef TDSD_TEST_SUPPORT_H
#define TDSD_TEST_SUPPORT_H

#include "server_session.h"

/* Appends the bytes of hexadecimal text; blanks do not matter, and text between
 * quotes is taken as UTF-16LE. */
void hex(struct tdsd_buf *out, const char *text);

/* Whether buf holds exactly these bytes. */
bool holds_hex(const struct tdsd_buf *buf, const char *text);

/* Whether buf holds these bytes somewhere. */
bool contains_hex(const struct tdsd_buf *buf, const char *text);

/* A LOGIN7 message of sa with password x and this TDS version and packet size,
 * as one packet. */
void login_packet(struct tdsd_buf *out, uint32_t version, uint32_t size);

/* A batch in one packet with status bits and a transaction descriptor. */
void batch_packet(struct tdsd_buf *out,
                  uint32_t status,
                  uint64_t descriptor,
                  const char *sql);

/* The smallest PRELOGIN: VERSION and ENCRYPTION. */
void prelogin_packet(struct tdsd_buf *out, uint8_t encryption);

/* Feeds all of in, packet by packet; returns what was not taken. */
size_t feed_all(struct tdsd_session *session, const struct tdsd_buf *in);

/* A session behind a good login, its out empty. */
struct fixture {
  struct tdsd_shared shared;
  struct tdsd_account account;
  struct tdsd_session session;
  char log[512]; /* the last line logged */
};
void fixture_init(struct fixture *fixture);
void fixture_login(struct fixture *fixture, uint32_t version);
void fixture_fini(struct fixture *fixture);

/* Sends a batch and returns the reply's packets in session->out, emptied before.
 * A WAITFOR does not run on by itself. */
void fixture_batch(struct fixture *fixture, const char *sql);

/* Appends an unnamed nvarchar(max) parameter. */
void rpc_text(struct tdsd_buf *out, const char *text);

/* Sends the calls in body as an RPC and runs it to its end, as fixture_batch. */
void fixture_rpc(struct fixture *fixture, const struct tdsd_buf *body);

#endif
