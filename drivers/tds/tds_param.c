/* SPDX-License-Identifier: MIT */
/* tds_param.c - which type a value gets, and which values a type takes. */
#include "tds_param.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tds_text.h"

#define UNITS_MOST    4000u /* of a short nvarchar */
#define DIGITS_MOST   38u   /* of a decimal */
#define UINT64_DIGITS 20u
#define DATE_TEXT     10u /* YYYY-MM-DD */

int tds_param_refuse(struct tds_reason *why, const char *format, ...) {
  va_list args;
  va_start(args, format);
  /* The analyzer of clang 14 does not see what va_start did.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  (void)vsnprintf(why->text, sizeof why->text, format, args);
  va_end(args);
  return TDS_E_PROTO;
}

static bool is_blank(uint8_t c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_text(const struct weir_drv_value *v) {
  return v->type == WEIR_DRV_T_TEXT || v->type == WEIR_DRV_T_DEC ||
         v->type == WEIR_DRV_T_TIME;
}

struct tds_span tds_param_text(const struct weir_drv_value *v) {
  struct tds_span s = {v->p, (size_t)v->n};
  if (!is_text(v) || s.p == NULL) {
    s.n = 0;
  }
  while (s.n > 0 && is_blank(*s.p)) {
    (void)tds_take(&s, 1);
  }
  while (s.n > 0 && is_blank(s.p[s.n - 1])) {
    s.n--;
  }
  return s;
}

/* ------------------------------------------------------------ without a hint */

/* Whether a text has more than so many UTF-16 units.  Looks at no more of it
 * than that takes; what is not UTF-8 is found later. */
static bool is_longer(const struct weir_drv_value *v, uint32_t units) {
  struct tds_measure m = {{v->p, (size_t)v->n}, TDS_CHARSET_UTF16, NULL, 0, 0};
  if (v->n <= units) {
    return false;
  }
  if (v->n > (uint64_t)units * 3) {
    return true;
  }
  (void)tds_measure_more(&m, m.left.n);
  return m.bytes > (uint64_t)units * 2;
}

void tds_param_close(struct tds_hint *h,
                     const struct weir_drv_value *v,
                     bool returns) {
  if (!h->open) {
    return;
  }
  uint32_t most = h->wide ? UNITS_MOST : TDS_SHORT_BYTES;
  bool null = v->type == WEIR_DRV_T_NULL;
  bool longer = !null && (h->wide ? is_longer(v, most) : v->n > most);
  if (returns || longer) {
    tds_hint_set_max(h);
  } else {
    tds_hint_set_length(h, most);
  }
}

/* The digits behind the point; the type has as many. */
static int guess_decimal(const struct weir_drv_value *v,
                         struct tds_hint *h,
                         struct tds_reason *why) {
  struct tds_span s = tds_param_text(v);
  size_t scale = 0;
  for (size_t i = 0; i < s.n; i++) {
    if (s.p[i] == '.') {
      scale = s.n - i - 1;
      break;
    }
  }
  if (scale > DIGITS_MOST) {
    return tds_param_refuse(why, "more than 38 digits");
  }
  *h = tds_hint_of(TDS_HINT_DECIMAL);
  h->precision = DIGITS_MOST;
  h->scale = (uint8_t)scale;
  return TDS_OK;
}

/* By its form: a date, a time, a moment, a moment with an offset.  What is none
 * of them is found when it is read. */
static enum tds_hint_name guess_time(const struct weir_drv_value *v) {
  struct tds_span s = tds_param_text(v);
  bool dated = s.n > 4 && s.p[4] == '-';
  if (!dated) {
    return TDS_HINT_TIME;
  }
  if (s.n <= DATE_TEXT) {
    return TDS_HINT_DATE;
  }
  for (size_t i = DATE_TEXT; i < s.n; i++) {
    if (s.p[i] == '+' || s.p[i] == '-' || (s.p[i] | 0x20) == 'z') {
      return TDS_HINT_OFFSET;
    }
  }
  return TDS_HINT_DATETIME2;
}

static struct tds_hint guess_uint(const struct weir_drv_value *v) {
  struct tds_hint h = tds_hint_of(TDS_HINT_BIGINT);
  if (v->u > INT64_MAX) {
    h = tds_hint_of(TDS_HINT_DECIMAL);
    h.precision = UINT64_DIGITS;
  }
  return h;
}

int tds_param_guess(const struct weir_drv_value *v,
                    bool returns,
                    struct tds_hint *out,
                    struct tds_reason *why) {
  switch (v->type) {
  case WEIR_DRV_T_BOOL:
    *out = tds_hint_of(TDS_HINT_BIT);
    break;
  case WEIR_DRV_T_INT:
    *out = tds_hint_of(TDS_HINT_BIGINT);
    break;
  case WEIR_DRV_T_UINT:
    *out = guess_uint(v);
    break;
  case WEIR_DRV_T_FLOAT:
    *out = tds_hint_of(TDS_HINT_FLOAT);
    break;
  case WEIR_DRV_T_NULL:
  case WEIR_DRV_T_TEXT:
    *out = tds_hint_of(TDS_HINT_NVARCHAR);
    break;
  case WEIR_DRV_T_BYTES:
    *out = tds_hint_of(TDS_HINT_VARBINARY);
    break;
  case WEIR_DRV_T_DEC:
    return guess_decimal(v, out, why);
  case WEIR_DRV_T_TIME:
    *out = tds_hint_of(guess_time(v));
    break;
  case WEIR_DRV_T_UUID:
    *out = tds_hint_of(TDS_HINT_UUID);
    break;
  default:
    return tds_param_refuse(why, "a value of the unknown type %d", v->type);
  }
  tds_param_close(out, v, returns);
  return TDS_OK;
}

/* ------------------------------------------------------------------- scalars */

static int hex_digit(uint8_t c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* 8-4-4-4-12 digits, with or without braces. */
static bool read_uuid(struct tds_span s, uint8_t out[16]) {
  size_t n = 0;
  if (s.n == 38 && s.p[0] == '{' && s.p[37] == '}') {
    s.p++;
    s.n -= 2;
  }
  if (s.n != 36) {
    return false;
  }
  for (size_t i = 0; i < 36;) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (s.p[i++] != '-') {
        return false;
      }
      continue;
    }
    int high = hex_digit(s.p[i]);
    int low = hex_digit(s.p[i + 1]);
    if (high < 0 || low < 0) {
      return false;
    }
    out[n++] = (uint8_t)(high << 4 | low);
    i += 2;
  }
  return true;
}

/* The first three groups are little-endian on the wire. */
static int encode_uuid(const struct tds_hint *h,
                       const struct weir_drv_value *v,
                       uint8_t *out,
                       size_t *out_n,
                       struct tds_reason *why) {
  static const uint8_t order[16] = {3, 2, 1,  0,  5,  4,  7,  6,
                                    8, 9, 10, 11, 12, 13, 14, 15};
  uint8_t bytes[16] = {0};
  (void)h;
  if (v->type == WEIR_DRV_T_UUID && v->n == sizeof bytes && v->p != NULL) {
    memcpy(bytes, v->p, sizeof bytes);
  } else if (v->type != WEIR_DRV_T_TEXT ||
             !read_uuid(tds_param_text(v), bytes)) {
    return tds_param_refuse(why, "not a UUID");
  }
  for (size_t i = 0; i < sizeof bytes; i++) {
    out[i] = bytes[order[i]];
  }
  *out_n = sizeof bytes;
  return TDS_OK;
}

static tds_encode_fn *encoder(uint8_t kind) {
  switch (kind) {
  case TDS_KIND_BIT:
    return tds_encode_bit;
  case TDS_KIND_INT:
    return tds_encode_int;
  case TDS_KIND_FLOAT:
    return tds_encode_float;
  case TDS_KIND_DECIMAL:
    return tds_encode_decimal;
  case TDS_KIND_MONEY:
    return tds_encode_money;
  case TDS_KIND_UUID:
    return encode_uuid;
  default:
    return tds_encode_time;
  }
}

int tds_param_scalar(const struct tds_hint *h,
                     const struct weir_drv_value *v,
                     uint8_t out[TDS_SCALAR_MAX],
                     size_t *out_n,
                     struct tds_reason *why) {
  size_t n = 0;
  if (v->type != WEIR_DRV_T_NULL) {
    int rc = encoder(h->kind)(h, v, out + 1, &n, why);
    if (rc != TDS_OK) {
      return rc;
    }
  }
  out[0] = (uint8_t)n;
  *out_n = n + 1;
  return TDS_OK;
}

/* -------------------------------------------------------------- long values */

int tds_param_check(const struct tds_hint *h,
                    const struct weir_drv_value *v,
                    struct tds_reason *why) {
  if (v->type == WEIR_DRV_T_NULL) {
    return TDS_OK;
  }
  bool bytes = h->kind == TDS_KIND_BYTES;
  if (bytes ? v->type != WEIR_DRV_T_BYTES : !is_text(v)) {
    return tds_param_refuse(why, bytes ? "the value is not binary"
                                       : "the value is no text");
  }
  return v->p == NULL && v->n > 0
             ? tds_param_refuse(why, "the value has a length and no bytes")
             : TDS_OK;
}
