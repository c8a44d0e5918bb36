/* SPDX-License-Identifier: MIT */
/* tds_fedauth.h - federated authentication (MS-TDS 2.2.6.3, 2.2.6.4, 2.2.7.12):
 * what goes out and what comes in, pure.
 *
 *   token at hand   LOGIN7 with the token               -> login response
 *   token asked     LOGIN7 with the wish -> FEDAUTHINFO
 *                   token message                       -> login response */
#ifndef TDS_FEDAUTH_H
#define TDS_FEDAUTH_H

#include "tds_buf.h"

#define TDS_NONCE 32u

/* What FEDAUTHINFO says: UTF-16LE texts inside what was read. */
struct tds_fedauth {
  struct tds_span sts; /* URL of who issues tokens */
  struct tds_span spn; /* for what the token must be */
};

/* Reads a whole FEDAUTHINFO, without token byte and length.
 * Returns TDS_OK, or TDS_E_PROTO with a constant text in *out_why. */
int tds_fedauth_read(const uint8_t *p,
                     size_t n,
                     struct tds_fedauth *out,
                     const char **out_why);

/* The data of LOGIN7's feature 02.  echo: the server's FEDAUTHREQUIRED was 1.
 * nonce: TDS_NONCE bytes that the server gave, or NULL.  token: UTF-8; it and
 * all copies lie in buf, whose memory the caller makes secret.
 * Return TDS_OK; TDS_E_NOMEM; TDS_E_PROTO: the token is not UTF-8. */
int tds_fedauth_put_token(struct tds_buf *buf,
                          bool echo,
                          const void *token,
                          size_t n,
                          const uint8_t *nonce);
int tds_fedauth_put_wish(struct tds_buf *buf, bool echo, uint8_t workflow);

/* The body of the token message, type 08.  Returns as tds_fedauth_put_token. */
int tds_fedauth_put_message(struct tds_buf *buf,
                            const void *token,
                            size_t n,
                            const uint8_t *nonce);

#endif
