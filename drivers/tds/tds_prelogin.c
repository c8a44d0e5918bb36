/* SPDX-License-Identifier: MIT */
/* tds_prelogin.c - encode and decode, pure. */
#include "tds_prelogin.h"

#include <string.h>

#define OPT_VERSION    0x00u
#define OPT_ENCRYPTION 0x01u
#define OPT_INSTANCE   0x02u
#define OPT_THREAD     0x03u
#define OPT_MARS       0x04u
#define OPT_FEDAUTH    0x06u
#define OPT_NONCE      0x07u
#define OPT_END        0xFFu

#define ENTRY 5u /* token(1) offset(2) length(2) */

struct option {
  uint8_t token;
  uint8_t length;
  uint8_t value[6];
};

size_t tds_prelogin_write(uint8_t out[TDS_PRELOGIN_REQUEST_MAX],
                          int encrypt,
                          bool fedauth) {
  bool optional = encrypt == TDS_ENCRYPT_OPTIONAL;
  uint8_t enc = (uint8_t)(optional ? TDS_ENC_OFF : TDS_ENC_ON);
  const struct option options[] = {
      {OPT_VERSION, 6, {0, 1, 0, 0, 0, 0}},
      {OPT_ENCRYPTION, 1, {enc}},
      {OPT_INSTANCE, 1, {0}},
      {OPT_THREAD, 4, {0}},
      {OPT_MARS, 1, {0}},
      {OPT_FEDAUTH, 1, {1}},
  };
  const size_t count = sizeof options / sizeof options[0] - (fedauth ? 0 : 1);
  size_t at = count * ENTRY + 1;
  uint8_t *entry = out;
  for (size_t i = 0; i < count; i++) {
    entry[0] = options[i].token;
    tds_put16be(entry + 1, (uint32_t)at);
    tds_put16be(entry + 3, options[i].length);
    memcpy(out + at, options[i].value, options[i].length);
    at += options[i].length;
    entry += ENTRY;
  }
  *entry = OPT_END;
  return at;
}

static int fail(const char **out_why, const char *why) {
  *out_why = why;
  return TDS_E_PROTO;
}

static int read_option(struct tds_prelogin *r,
                       uint8_t token,
                       const uint8_t *v,
                       size_t n,
                       const char **out_why) {
  switch (token) {
  case OPT_VERSION:
    if (n < sizeof r->version) {
      return fail(out_why, "VERSION is shorter than 6 bytes");
    }
    memcpy(r->version, v, sizeof r->version);
    return TDS_OK;
  case OPT_ENCRYPTION:
    if (n != 1) {
      return fail(out_why, "ENCRYPTION is not one byte");
    }
    /* 0x20 and 0x80 say things about client certificates. */
    r->encryption = v[0] & 0x1Fu;
    r->has_encryption = 1;
    if (r->encryption > TDS_ENC_REQ) {
      return fail(out_why, "ENCRYPTION has an unknown value");
    }
    return TDS_OK;
  case OPT_INSTANCE:
    r->instance = n > 0 && v[0] == 1;
    return TDS_OK;
  /* Some servers name options that they do not know, with nothing in them. */
  case OPT_FEDAUTH:
    if (n > 1 || (n == 1 && v[0] > 1)) {
      return fail(out_why, "FEDAUTHREQUIRED is neither 0 nor 1");
    }
    r->fedauth = n == 1 ? v[0] : 0;
    return TDS_OK;
  case OPT_NONCE:
    if (n == 0) {
      return TDS_OK;
    }
    if (n != sizeof r->nonce) {
      return fail(out_why, "NONCE is not 32 bytes");
    }
    memcpy(r->nonce, v, n);
    r->has_nonce = 1;
    return TDS_OK;
  default:
    return TDS_OK;
  }
}

int tds_prelogin_read(const uint8_t *p,
                      size_t n,
                      struct tds_prelogin *out,
                      const char **out_why) {
  struct tds_prelogin r;
  memset(&r, 0, sizeof r);
  if (n == 0 || p[0] != OPT_VERSION) {
    return fail(out_why, "the reply does not start with VERSION");
  }
  for (size_t at = 0;; at += ENTRY) {
    if (at >= n) {
      return fail(out_why, "the option table has no end");
    }
    if (p[at] == OPT_END) {
      break;
    }
    if (n - at < ENTRY) {
      return fail(out_why, "the option table is cut");
    }
    size_t offset = tds_u16be(p + at + 1);
    size_t length = tds_u16be(p + at + 3);
    if (offset > n || length > n - offset) {
      return fail(out_why, "an option lies outside the reply");
    }
    int rc = read_option(&r, p[at], p + offset, length, out_why);
    if (rc != TDS_OK) {
      return rc;
    }
  }
  if (!r.has_encryption) {
    r.encryption = TDS_ENC_NOTSUP;
  }
  *out = r;
  return TDS_OK;
}

int tds_prelogin_channel(int encrypt, uint8_t reply) {
  if (reply == TDS_ENC_ON || reply == TDS_ENC_REQ) {
    return TDS_CHANNEL_FULL;
  }
  if (encrypt != TDS_ENCRYPT_OPTIONAL) {
    return TDS_CHANNEL_REFUSED;
  }
  return reply == TDS_ENC_OFF ? TDS_CHANNEL_LOGIN_ONLY : TDS_CHANNEL_PLAIN;
}
