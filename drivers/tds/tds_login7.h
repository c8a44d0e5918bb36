/* SPDX-License-Identifier: MIT */
/* tds_login7.h - the login record (MS-TDS 2.2.6.4): encode, pure. */
#ifndef TDS_LOGIN7_H
#define TDS_LOGIN7_H

#include "tds_limits.h"
#include "tds_wire.h"

/* One entry of the list of features. */
struct tds_ask {
  uint8_t id; /* TDS_FEATURE_* */
  struct tds_span data;
};

/* UTF-8 texts; NULL with 0 is empty. */
struct tds_login {
  uint32_t version; /* TDS_V74 or TDS_V80 */
  uint32_t packet_size;
  uint32_t pid;
  bool read_only; /* ApplicationIntent=ReadOnly */
  const char *host;
  size_t host_n;
  const char *user;
  size_t user_n;
  const char *password;
  size_t password_n;
  const char *app;
  size_t app_n;
  const char *server;
  size_t server_n;
  const char *language;
  size_t language_n;
  const char *database;
  size_t database_n;
  const struct tds_ask *asks;
  size_t n_asks;
};

/* Bytes that the record of l needs at most. */
size_t tds_login7_room(const struct tds_login *l);

/* Writes the record to out, tds_login7_room() bytes of memory that the caller
 * wipes afterwards: it holds the password in disguise, or a token.
 * Returns TDS_OK and *out_n; TDS_E_SPACE if a text is longer than 128 UTF-16
 * units, TDS_E_PROTO if one is not UTF-8: *out_what names it. */
int tds_login7_write(const struct tds_login *l,
                     uint8_t *out,
                     size_t *out_n,
                     const char **out_what);

#endif
