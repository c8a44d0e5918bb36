/* SPDX-License-Identifier: MIT */
/* tds_fedauth.c - see tds_fedauth.h. */
#include "tds_fedauth.h"

#include "tds_limits.h"
#include "tds_text.h"

/* bFedAuthLibrary, in the upper seven bits of the options. */
#define LIBRARY_TOKEN (1u << 1)
#define LIBRARY_ASKED (2u << 1)

/* FedAuthInfoID. */
#define INFO_STS 1u
#define INFO_SPN 2u

#define ENTRY 9u /* id(1) length(4) offset(4) */

static int fail(const char **out_why, const char *why) {
  *out_why = why;
  return TDS_E_PROTO;
}

/* One entry of the table; offsets count from the start of the body. */
static int read_entry(const uint8_t *p,
                      size_t n,
                      const uint8_t *entry,
                      struct tds_fedauth *out,
                      const char **out_why) {
  uint64_t length = tds_u32(entry + 1);
  uint64_t offset = tds_u32(entry + 5);
  if (offset + length > n) {
    return fail(out_why, "FEDAUTHINFO points outside of itself");
  }
  if (entry[0] != INFO_STS && entry[0] != INFO_SPN) {
    return TDS_OK;
  }
  struct tds_span *to = entry[0] == INFO_STS ? &out->sts : &out->spn;
  if (length % 2 != 0) {
    return fail(out_why, "FEDAUTHINFO has a text of half characters");
  }
  if (to->p != NULL) {
    return fail(out_why, "FEDAUTHINFO says something twice");
  }
  to->p = p + offset;
  to->n = (size_t)length;
  return TDS_OK;
}

int tds_fedauth_read(const uint8_t *p,
                     size_t n,
                     struct tds_fedauth *out,
                     const char **out_why) {
  struct tds_fedauth r = {{NULL, 0}, {NULL, 0}};
  if (n < 4) {
    return fail(out_why, "FEDAUTHINFO is cut");
  }
  uint64_t count = tds_u32(p);
  if (count * ENTRY > n - 4) {
    return fail(out_why, "FEDAUTHINFO has more entries than room");
  }
  for (uint64_t i = 0; i < count; i++) {
    int rc = read_entry(p, n, p + 4 + i * ENTRY, &r, out_why);
    if (rc != TDS_OK) {
      return rc;
    }
  }
  if (r.sts.n == 0 || r.spn.n == 0) {
    return fail(out_why, "FEDAUTHINFO does not say for what and from whom");
  }
  *out = r;
  return TDS_OK;
}

/* ----------------------------------------------------------------- writing */

static int put32(struct tds_buf *buf, size_t v) {
  uint8_t four[4];
  tds_put32(four, (uint32_t)v);
  return tds_buf_add(buf, four, sizeof four);
}

/* len(4) token [nonce]. */
static int put_counted(struct tds_buf *buf,
                       const void *token,
                       size_t n,
                       const uint8_t *nonce) {
  size_t bytes = 0;
  if (n > TDS_LOGIN_RECORD_MAX) {
    return TDS_E_SPACE;
  }
  /* A byte of UTF-8 becomes at most two of UTF-16. */
  int rc = tds_buf_room(buf, 4 + 2 * n + TDS_NONCE);
  if (rc != TDS_OK) {
    return rc;
  }
  rc = tds_text_to16(token, n, buf->p + buf->n + 4, 2 * n, &bytes);
  if (rc != TDS_OK) {
    return rc;
  }
  rc = put32(buf, bytes);
  buf->n += bytes;
  return rc == TDS_OK && nonce != NULL ? tds_buf_add(buf, nonce, TDS_NONCE)
                                       : rc;
}

int tds_fedauth_put_token(struct tds_buf *buf,
                          bool echo,
                          const void *token,
                          size_t n,
                          const uint8_t *nonce) {
  uint8_t options = (uint8_t)(LIBRARY_TOKEN | (echo ? 1u : 0u));
  int rc = tds_buf_add(buf, &options, 1);
  return rc == TDS_OK ? put_counted(buf, token, n, nonce) : rc;
}

int tds_fedauth_put_wish(struct tds_buf *buf, bool echo, uint8_t workflow) {
  uint8_t two[2] = {(uint8_t)(LIBRARY_ASKED | (echo ? 1u : 0u)), workflow};
  return tds_buf_add(buf, two, sizeof two);
}

int tds_fedauth_put_message(struct tds_buf *buf,
                            const void *token,
                            size_t n,
                            const uint8_t *nonce) {
  size_t at = buf->n;
  int rc = put32(buf, 0);
  if (rc == TDS_OK) {
    rc = put_counted(buf, token, n, nonce);
  }
  if (rc == TDS_OK) {
    tds_put32(buf->p + at, (uint32_t)(buf->n - at - 4));
  }
  return rc;
}
