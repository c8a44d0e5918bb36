/* SPDX-License-Identifier: MIT */
/* LOGIN7 (MS-TDS 2.2.6.4), decoded strictly.  Pure. */
#ifndef TDSD_SERVER_LOGIN_H
#define TDSD_SERVER_LOGIN_H

#include "server_fedauth.h"
#include "server_wire.h"

/* 128 UTF-16 units take at most 384 bytes of UTF-8. */
#define TDSD_NAME_BYTES (128u * 3u + 1u)

/* A bit of flags2: the options of ODBC. */
#define TDSD_LOGIN_ODBC 0x02u

struct tdsd_login {
  uint32_t tds_version; /* as sent */
  uint32_t version;     /* the TDSD_V that will be spoken */
  uint32_t packet_size; /* wanted; 0 = as the server likes */
  uint32_t client_pid;
  uint8_t flags1, flags2, type_flags, flags3;
  char host[TDSD_NAME_BYTES];
  char user[TDSD_NAME_BYTES];
  char password[TDSD_NAME_BYTES];
  char app[TDSD_NAME_BYTES];
  char server[TDSD_NAME_BYTES];
  char library[TDSD_NAME_BYTES];
  char language[TDSD_NAME_BYTES];
  char database[TDSD_NAME_BYTES];
  uint32_t sspi_bytes;
  bool change_password; /* a new password came along */
  bool utf8_asked;      /* feature 0A */
  struct tdsd_fedauth fedauth;
};

/* Reads a LOGIN7 message.
 * Returns 0, or -1 with the problem; *out_login is written only on success.
 * Owns: the caller wipes *out_login with tdsd_login_wipe(). */
int tdsd_login_parse(const uint8_t *body,
                     size_t len,
                     struct tdsd_login *out_login,
                     struct tdsd_problem *problem);

void tdsd_login_wipe(struct tdsd_login *login);

/* Secrets that a LOGIN7 may have: two passwords and a token. */
#define TDSD_LOGIN_SECRETS 3u

/* Says where in a LOGIN7 record its secrets lie, from its first packet's body;
 * places are empty where the body is too short to tell, but for the token: then
 * the whole list of features is taken for one. */
void tdsd_login_secrets(const uint8_t *body,
                        size_t len,
                        size_t out_from[TDSD_LOGIN_SECRETS],
                        size_t out_to[TDSD_LOGIN_SECRETS]);

#endif
