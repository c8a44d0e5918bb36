/* SPDX-License-Identifier: MIT */
/* PRELOGIN (MS-TDS 2.2.6.5): the client's options, and the reply that settles
 * how much of the conversation is encrypted.  Pure. */
#ifndef TDSD_SERVER_PRELOGIN_H
#define TDSD_SERVER_PRELOGIN_H

#include "server_wire.h"

/* What the server was told to do about TLS (--tls). */
enum tdsd_tls_mode {
  TDSD_TLS_OFF,        /* no TLS at all */
  TDSD_TLS_LOGIN_ONLY, /* offered: login-only unless the client wants more */
  TDSD_TLS_FULL,       /* demanded for everything (--tls self-signed) */
  TDSD_TLS_STRICT,     /* TDS 8: TLS before the first byte of TDS */
};

/* What the two sides settled on. */
enum tdsd_encryption {
  TDSD_CRYPT_PLAIN,
  TDSD_CRYPT_LOGIN_ONLY,
  TDSD_CRYPT_FULL,
  TDSD_CRYPT_REFUSE, /* one side insists, the other cannot */
};

struct tdsd_prelogin {
  uint32_t seen; /* bit n: option n was there */
  uint8_t version[6];
  uint8_t encryption; /* TDSD_ENC_, without the client certificate bit */
  uint8_t mars;
  uint8_t fedauth;
  char instance[64]; /* without the ending zero */
};

/* Reads the client's PRELOGIN.
 * Returns 0, or -1 with the problem. */
int tdsd_prelogin_parse(const uint8_t *body,
                        size_t len,
                        struct tdsd_prelogin *out_prelogin,
                        struct tdsd_problem *problem);

/* Decides by the table of MS-TDS 2.2.6.5.  inside_tls says that the conversation
 * runs inside TLS already, where the value has no meaning.
 * Returns the outcome; *out_value is what the reply says. */
enum tdsd_encryption tdsd_prelogin_decide(enum tdsd_tls_mode mode,
                                          const struct tdsd_prelogin *client,
                                          bool inside_tls,
                                          uint8_t *out_value);

/* Appends the body of the reply.  fedauth is what FEDAUTHREQUIRED says, if the
 * client mentioned it. */
void tdsd_prelogin_reply(struct tdsd_buf *out,
                         const struct tdsd_prelogin *client,
                         uint8_t encryption,
                         uint8_t fedauth);

#endif
