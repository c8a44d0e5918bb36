/* SPDX-License-Identifier: MIT */
/* Federated authentication (MS-TDS 2.2.6.3, 2.2.6.4, 2.2.7.12): what LOGIN7 says
 * about it, the question for a token, the message that brings one.  Pure. */
#ifndef TDSD_SERVER_FEDAUTH_H
#define TDSD_SERVER_FEDAUTH_H

#include "server_reply.h"
#include "server_wire.h"

#define TDSD_FEDAUTH_NONCE 32u

/* How a token comes. */
enum tdsd_fedauth_library {
  TDSD_FEDAUTH_LIVE = 0,  /* of Live ID; read over and never right */
  TDSD_FEDAUTH_TOKEN = 1, /* in LOGIN7 */
  TDSD_FEDAUTH_ASK = 2,   /* in a message of its own, once asked for */
};

struct tdsd_fedauth {
  bool asked; /* feature 02 is there */
  bool echo;  /* the client repeats that FEDAUTHREQUIRED was 1 */
  bool nonce; /* a nonce came along */
  uint8_t library;
  uint8_t workflow; /* of TDSD_FEDAUTH_ASK: 1 password, 2 integrated, 3 other */
  uint8_t nonce_bytes[TDSD_FEDAUTH_NONCE];
  char *token; /* UTF-8; NULL = none has come */
};

/* Reads the data of feature 02.
 * Returns 0, or -1 with the problem; *out is written only on success.
 * Owns: *out needs tdsd_fedauth_wipe(). */
int tdsd_fedauth_parse(const uint8_t *data,
                       size_t len,
                       struct tdsd_fedauth *out,
                       struct tdsd_problem *problem);

/* Reads a token message (packet type 08) into *fedauth. */
int tdsd_fedauth_parse_token(const uint8_t *body,
                             size_t len,
                             struct tdsd_fedauth *fedauth,
                             struct tdsd_problem *problem);

void tdsd_fedauth_wipe(struct tdsd_fedauth *fedauth);

/* FEDAUTHINFO: where a token is to be had, and for whom. */
void tdsd_write_fedauthinfo(const struct tdsd_writer *writer);

#define TDSD_STS_URL "https://login.tdsd.invalid/common"
#define TDSD_SPN     "https://database.tdsd.invalid/"

#endif
