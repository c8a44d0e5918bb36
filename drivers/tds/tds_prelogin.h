/* SPDX-License-Identifier: MIT */
/* tds_prelogin.h - the option table that opens a conversation (2.2.6.5). */
#ifndef TDS_PRELOGIN_H
#define TDS_PRELOGIN_H

#include "tds_wire.h"

/* Values of ENCRYPTION. */
#define TDS_ENC_OFF    0u
#define TDS_ENC_ON     1u
#define TDS_ENC_NOTSUP 2u
#define TDS_ENC_REQ    3u

/* What the user asked for. */
#define TDS_ENCRYPT_OPTIONAL  0
#define TDS_ENCRYPT_MANDATORY 1
#define TDS_ENCRYPT_STRICT    2

/* What follows from both sides' wishes. */
#define TDS_CHANNEL_PLAIN      0
#define TDS_CHANNEL_LOGIN_ONLY 1 /* LOGIN7 alone is encrypted */
#define TDS_CHANNEL_FULL       2
#define TDS_CHANNEL_REFUSED    3 /* we want TLS, the server has none */

#define TDS_PRELOGIN_REQUEST_MAX 64u

/* Writes the request for one of TDS_ENCRYPT_*; fedauth: we have a token, or will.
 * Returns its length. */
size_t tds_prelogin_write(uint8_t out[TDS_PRELOGIN_REQUEST_MAX],
                          int encrypt,
                          bool fedauth);

struct tds_prelogin {
  uint8_t version[6];
  uint8_t encryption; /* TDS_ENC_*, flag bits removed */
  uint8_t instance;   /* 1: not the instance that was asked for */
  uint8_t has_encryption;
  uint8_t fedauth;   /* FEDAUTHREQUIRED, 0 if absent */
  uint8_t has_nonce; /* 1: nonce is to be sent back with a token */
  uint8_t nonce[32];
};

/* Reads a whole reply.  Returns TDS_OK, or TDS_E_PROTO with a constant text in
 * *out_why. */
int tds_prelogin_read(const uint8_t *p,
                      size_t n,
                      struct tds_prelogin *out,
                      const char **out_why);

/* TDS_CHANNEL_* for a wish (not strict, where TLS is below) and a reply. */
int tds_prelogin_channel(int encrypt, uint8_t reply);

#endif
