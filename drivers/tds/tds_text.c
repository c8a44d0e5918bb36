/* SPDX-License-Identifier: MIT */
/* tds_text.c - conversions that may stop at any byte of a character. */
#include "tds_text.h"

#include <string.h>

#include "tds_codepage.h"

#define REPLACEMENT 0xFFFDu

static size_t put8(uint32_t code, uint8_t *out) {
  if (code < 0x80) {
    out[0] = (uint8_t)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (uint8_t)(0xC0 | code >> 6);
    out[1] = (uint8_t)(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = (uint8_t)(0xE0 | code >> 12);
    out[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = (uint8_t)(0xF0 | code >> 18);
  out[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
  out[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
  out[3] = (uint8_t)(0x80 | (code & 0x3F));
  return 4;
}

/* ------------------------------------------------------------------ UTF-16 */

static size_t push_unit(struct tds_text *t, uint32_t unit, uint8_t *out) {
  size_t n = 0;
  if (t->mark != 0) {
    t->mark = 0;
    if (unit == 0xFEFF) {
      return 0;
    }
  }
  if (t->code != 0) {
    uint32_t high = t->code;
    t->code = 0;
    if (unit >= 0xDC00 && unit <= 0xDFFF) {
      return put8(0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00), out);
    }
    n = put8(REPLACEMENT, out);
  }
  if (unit >= 0xD800 && unit <= 0xDBFF) {
    t->code = unit;
    return n;
  }
  bool lone = unit >= 0xDC00 && unit <= 0xDFFF;
  return n + put8(lone ? REPLACEMENT : unit, out + n);
}

static size_t push_utf16(struct tds_text *t,
                         const uint8_t *in,
                         size_t n,
                         uint8_t *out) {
  size_t o = 0;
  size_t i = 0;
  if (t->odd_set && n > 0) {
    t->odd_set = 0;
    o += push_unit(t, t->odd | (uint32_t)in[0] << 8, out);
    i = 1;
  }
  for (; i + 1 < n; i += 2) {
    o += push_unit(t, tds_u16(in + i), out + o);
  }
  if (i < n) {
    t->odd = in[i];
    t->odd_set = 1;
  }
  return o;
}

/* ------------------------------------------------------------------- UTF-8 */

/* Neither too long a form, nor a surrogate, nor beyond Unicode. */
static bool is_scalar(uint32_t code, uint32_t low) {
  return code >= low && code <= 0x10FFFF && !(code >= 0xD800 && code <= 0xDFFF);
}

/* Starts a sequence with byte c; an impossible first byte becomes U+FFFD. */
static size_t start_sequence(struct tds_text *t, uint8_t c, uint8_t *out) {
  if (c < 0x80) {
    out[0] = c;
    return 1;
  }
  if (c >= 0xC2 && c <= 0xDF) {
    t->need = 1;
    t->code = c & 0x1Fu;
    t->low = 0x80;
  } else if (c >= 0xE0 && c <= 0xEF) {
    t->need = 2;
    t->code = c & 0x0Fu;
    t->low = 0x800;
  } else if (c >= 0xF0 && c <= 0xF4) {
    t->need = 3;
    t->code = c & 0x07u;
    t->low = 0x10000;
  } else {
    return put8(REPLACEMENT, out);
  }
  return 0;
}

static size_t push_utf8(struct tds_text *t,
                        const uint8_t *in,
                        size_t n,
                        uint8_t *out) {
  size_t o = 0;
  for (size_t i = 0; i < n; i++) {
    uint8_t c = in[i];
    if (t->need == 0) {
      o += start_sequence(t, c, out + o);
      continue;
    }
    if ((c & 0xC0) != 0x80) {
      t->need = 0;
      o += put8(REPLACEMENT, out + o);
      o += start_sequence(t, c, out + o);
      continue;
    }
    t->code = t->code << 6 | (c & 0x3Fu);
    t->need--;
    if (t->need == 0) {
      o += put8(is_scalar(t->code, t->low) ? t->code : REPLACEMENT, out + o);
      t->code = 0;
    }
  }
  return o;
}

uint32_t tds_text_next(struct tds_span *s) {
  struct tds_text t = {.charset = TDS_CHARSET_UTF8};
  uint8_t out[TDS_TEXT_BOUND(1)];
  if (s->n == 0) {
    return UINT32_MAX;
  }
  if (start_sequence(&t, s->p[0], out) != 0) {
    if (s->p[0] >= 0x80) {
      return UINT32_MAX;
    }
    return *tds_take(s, 1);
  }
  if (s->n < t.need + (size_t)1) {
    return UINT32_MAX;
  }
  uint32_t code = t.code;
  for (size_t i = 1; i <= t.need; i++) {
    if ((s->p[i] & 0xC0) != 0x80) {
      return UINT32_MAX;
    }
    code = code << 6 | (s->p[i] & 0x3Fu);
  }
  if (!is_scalar(code, t.low)) {
    return UINT32_MAX;
  }
  (void)tds_take(s, t.need + (size_t)1);
  return code;
}

size_t tds_text_valid(const void *s, size_t n) {
  struct tds_span in = {s, n};
  while (in.n > 0) {
    if (tds_text_next(&in) == UINT32_MAX) {
      break;
    }
  }
  return n - in.n;
}

/* -------------------------------------------------------------------- both */

static size_t push_page(uint8_t page,
                        const uint8_t *in,
                        size_t n,
                        uint8_t *out) {
  const uint16_t *high = tds_codepage_high(page);
  size_t o = 0;
  for (size_t i = 0; i < n; i++) {
    uint32_t code = in[i] < 0x80 ? in[i] : high[in[i] - 0x80];
    o += put8(code == 0 && in[i] != 0 ? REPLACEMENT : code, out + o);
  }
  return o;
}

/* A lead byte waits in odd.  With a byte that cannot follow it, it becomes one
 * U+FFFD; that byte is lost with it unless it is ASCII, so that damage does not
 * swallow a quote or a line end. */
static size_t push_pair(struct tds_text *t,
                        const struct tds_codepage_wide *w,
                        uint8_t trail,
                        uint8_t *out) {
  uint32_t code = tds_codepage_pair(w, t->odd, trail);
  t->odd_set = 0;
  if (code != 0) {
    return put8(code, out);
  }
  size_t o = put8(REPLACEMENT, out);
  return trail < 0x80 ? o + put8(trail, out + o) : o;
}

static size_t push_wide(struct tds_text *t,
                        const uint8_t *in,
                        size_t n,
                        uint8_t *out) {
  const struct tds_codepage_wide *w =
      tds_codepage_wide((uint8_t)(t->charset - TDS_CHARSET_PAGE));
  size_t o = 0;
  for (size_t i = 0; i < n; i++) {
    if (t->odd_set) {
      o += push_pair(t, w, in[i], out + o);
      continue;
    }
    uint32_t code = in[i] < 0x80 ? in[i] : w->single[in[i] - 0x80];
    if (code == TDS_CP_LEAD && in[i] >= 0x80) {
      t->odd = in[i];
      t->odd_set = 1;
      continue;
    }
    o += put8(code == 0 && in[i] != 0 ? REPLACEMENT : code, out + o);
  }
  return o;
}

size_t tds_text_push(struct tds_text *t,
                     const uint8_t *in,
                     size_t n,
                     uint8_t *out) {
  switch (t->charset) {
  case TDS_CHARSET_UTF16:
    return push_utf16(t, in, n, out);
  case TDS_CHARSET_UTF8:
    return push_utf8(t, in, n, out);
  case TDS_CHARSET_NONE:
    if (n > 0) {
      memcpy(out, in, n);
    }
    return n;
  default:
    break;
  }
  if (t->charset >= TDS_CHARSET_PAGE + TDS_CP932) {
    return push_wide(t, in, n, out);
  }
  return push_page((uint8_t)(t->charset - TDS_CHARSET_PAGE), in, n, out);
}

/* A character that is pending can add as much as a replacement. */
#define PENDING 3u

size_t tds_text_size(const struct tds_text *t, const uint8_t *in, size_t n) {
  bool wide = t->charset == TDS_CHARSET_UTF16;
  size_t units = wide ? n / 2 : n;
  size_t size = units;
  if (t->charset == TDS_CHARSET_NONE) {
    return n;
  }
  for (size_t i = 0; i < units; i++) {
    uint32_t unit = wide ? tds_u16(in + 2 * i) : in[i];
    size += unit < 0x80 ? 0 : 2;
  }
  /* Cut units are read one byte further on than the loop looked at them. */
  bool whole = t->odd_set == 0 && t->need == 0 && t->code == 0;
  return whole && !(wide && (n & 1) != 0) ? size : TDS_TEXT_BOUND(n) + PENDING;
}

size_t tds_text_finish(struct tds_text *t, uint8_t *out) {
  size_t o = 0;
  if (t->charset == TDS_CHARSET_UTF16 && t->code != 0) {
    o += put8(REPLACEMENT, out);
  }
  if (t->odd_set || t->need != 0) {
    o += put8(REPLACEMENT, out + o);
  }
  t->odd_set = 0;
  t->need = 0;
  t->code = 0;
  return o;
}

uint8_t tds_text_charset(const uint8_t collation[5]) {
  bool utf8 = (tds_u32(collation) & UINT32_C(0x04000000)) != 0;
  return utf8 ? TDS_CHARSET_UTF8
              : (uint8_t)(TDS_CHARSET_PAGE + tds_codepage_of(collation));
}

size_t tds_text_put16(uint32_t code, uint8_t out[4]) {
  if (code < 0x10000) {
    tds_put16(out, code);
    return 2;
  }
  code -= 0x10000;
  tds_put16(out, 0xD800 | code >> 10);
  tds_put16(out + 2, 0xDC00 | (code & 0x3FF));
  return 4;
}

int tds_text_to16(const void *s,
                  size_t n,
                  uint8_t *out,
                  size_t cap,
                  size_t *out_n) {
  struct tds_span in = {s, n};
  size_t o = 0;
  while (in.n > 0) {
    uint32_t code = tds_text_next(&in);
    if (code == UINT32_MAX) {
      return TDS_E_PROTO;
    }
    uint8_t unit[4];
    size_t k = tds_text_put16(code, unit);
    if (cap - o < k) {
      return TDS_E_SPACE;
    }
    memcpy(out + o, unit, k);
    o += k;
  }
  *out_n = o;
  return TDS_OK;
}

void tds_text_scramble(uint8_t *p, size_t n) {
  for (size_t i = 0; i < n; i++) {
    p[i] = (uint8_t)((uint8_t)(p[i] << 4 | p[i] >> 4) ^ 0xA5u);
  }
}
