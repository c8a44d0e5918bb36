/* SPDX-License-Identifier: MIT */
/* tds_param_text.c - text and binary values: how long they are on the wire, and
 * what stands around them. */
#include <string.h>

#include "tds_codepage.h"
#include "tds_limits.h"
#include "tds_param.h"
#include "tds_text.h"

/* The byte of a page for a character above ASCII; 0: it has none. */
static uint8_t page_byte(uint8_t page, uint32_t code) {
  const uint16_t *high = tds_codepage_high(page);
  if (code <= 0xFF && high[code - 0x80] == code) {
    return (uint8_t)code; /* where Latin-1 lies as it is */
  }
  for (unsigned i = 0; i < 128; i++) {
    if (high[i] == code) {
      return (uint8_t)(0x80 + i);
    }
  }
  return 0;
}

static size_t wide_bytes(const uint16_t *back, uint32_t code, uint8_t out[4]) {
  uint16_t bytes = code < TDS_CODEPAGE_BACK && back != NULL ? back[code] : 0;
  if (bytes > 0xFF) {
    out[0] = (uint8_t)(bytes >> 8);
    out[1] = (uint8_t)bytes;
    return 2;
  }
  out[0] = (uint8_t)bytes;
  return bytes != 0;
}

size_t tds_param_char(uint8_t charset,
                      const uint16_t *back,
                      uint32_t code,
                      uint8_t out[4]) {
  if (charset == TDS_CHARSET_UTF16) {
    return tds_text_put16(code, out);
  }
  if (code < 0x80) {
    out[0] = (uint8_t)code;
    return 1;
  }
  if (charset >= TDS_CHARSET_PAGE + TDS_CP932) {
    return wide_bytes(back, code, out);
  }
  out[0] = page_byte((uint8_t)(charset - TDS_CHARSET_PAGE), code);
  return out[0] != 0;
}

/* ------------------------------------------------------------------ measuring */

/* Leading bytes that are ASCII. */
static size_t ascii(const uint8_t *p, size_t n) {
  size_t i = 0;
  uint64_t eight = 0;
  for (; n - i >= sizeof eight; i += sizeof eight) {
    memcpy(&eight, p + i, sizeof eight);
    if ((eight & UINT64_C(0x8080808080808080)) != 0) {
      break;
    }
  }
  while (i < n && p[i] < 0x80) {
    i++;
  }
  return i;
}

static int measure_char(struct tds_measure *m) {
  uint8_t out[4];
  size_t before = m->left.n;
  uint32_t code = tds_text_next(&m->left);
  if (code == UINT32_MAX) {
    return TDS_E_PROTO;
  }
  size_t n = m->charset == TDS_CHARSET_UTF8
                 ? before - m->left.n
                 : tds_param_char(m->charset, m->back, code, out);
  m->bytes += n;
  m->lacking = n == 0 ? code : 0;
  return n == 0 ? TDS_E_UNSUPPORTED : TDS_OK;
}

int tds_measure_more(struct tds_measure *m, size_t most) {
  if (m->charset == TDS_CHARSET_NONE) {
    m->bytes += m->left.n;
    m->left.n = 0;
    return TDS_OK;
  }
  size_t stop = m->left.n > most ? m->left.n - most : 0;
  while (m->left.n > stop) {
    size_t n = ascii(m->left.p, m->left.n - stop);
    (void)tds_take(&m->left, n);
    m->bytes += m->charset == TDS_CHARSET_UTF16 ? 2 * n : n;
    if (m->left.n > stop) {
      int rc = measure_char(m);
      if (rc != TDS_OK) {
        return rc;
      }
    }
  }
  return m->left.n > 0 ? TDS_MORE : TDS_OK;
}

/* -------------------------------------------------------------------- writing */

/* Characters that are ASCII go two bytes at a time. */
static size_t put_ascii(struct tds_text_out *o, uint8_t *body, size_t cap) {
  size_t n = ascii(o->text.p, o->text.n < cap / 2 ? o->text.n : cap / 2);
  for (size_t i = 0; i < n; i++) {
    body[2 * i] = o->text.p[i];
    body[2 * i + 1] = 0;
  }
  (void)tds_take(&o->text, n);
  return 2 * n;
}

/* A character, and even a unit of it, may be cut by the end of body. */
size_t tds_text_out_put(struct tds_text_out *o, uint8_t *body, size_t cap) {
  bool wide = o->charset <= TDS_CHARSET_UTF16;
  uint8_t charset = wide ? TDS_CHARSET_UTF16 : o->charset;
  size_t n = 0;
  while (n < cap) {
    if (o->carry_n == 0) {
      n += wide ? put_ascii(o, body + n, cap - n) : 0;
      if (o->text.n == 0 || n == cap) {
        break;
      }
      o->carry_n = (uint8_t)tds_param_char(charset, o->back,
                                           tds_text_next(&o->text), o->carry);
    }
    size_t k = o->carry_n < cap - n ? o->carry_n : cap - n;
    memcpy(body + n, o->carry, k);
    n += k;
    o->carry_n = (uint8_t)(o->carry_n - k);
    memmove(o->carry, o->carry + k, o->carry_n);
  }
  return n;
}

bool tds_text_out_over(const struct tds_text_out *o) {
  return o->text.n == 0 && o->carry_n == 0;
}

/* -------------------------------------------------------------------- lengths */

int tds_param_fits(const struct tds_hint *h,
                   uint64_t bytes,
                   struct tds_reason *why) {
  bool wide = h->wide;
  if (h->frame != TDS_LONG_SHORT) {
    return bytes <= TDS_VALUE_MAX
               ? TDS_OK
               : tds_param_refuse(why, "longer than the server's 2 GiB");
  }
  uint64_t have = wide ? bytes / 2 : bytes;
  if (have <= h->length) {
    return TDS_OK;
  }
  return tds_param_refuse(
      why, "too long: %llu %s in a type of %u", (unsigned long long)have,
      wide ? "characters (UTF-16 units)" : "bytes", h->length);
}

/* The one chunk of a PLP value holds at most 2^32-1 bytes, which is more than
 * tds_param_fits() lets through. */
size_t tds_param_lead(const struct tds_hint *h,
                      bool null,
                      uint64_t bytes,
                      uint8_t out[12]) {
  switch (h->frame) {
  case TDS_LONG_SHORT:
    tds_put16(out, null ? 0xFFFF : (uint32_t)bytes);
    return 2;
  case TDS_LONG_IMAGE:
    tds_put32(out, null ? UINT32_MAX : (uint32_t)bytes);
    return 4;
  default:
    tds_put64(out, null ? UINT64_MAX : bytes);
    if (null || bytes == 0) {
      return 8;
    }
    tds_put32(out + 8, (uint32_t)bytes);
    return 12;
  }
}

size_t tds_param_tail(const struct tds_hint *h, bool null, uint8_t out[4]) {
  if (h->frame != TDS_LONG_PLP || null) {
    return 0;
  }
  tds_put32(out, 0); /* the chunk that ends the value */
  return 4;
}
