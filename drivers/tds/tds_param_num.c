/* SPDX-License-Identifier: MIT */
/* tds_param_num.c - bit, integers, money, decimals and floats.  Nothing here
 * depends on the locale. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tds_number.h"
#include "tds_param.h"

static int not_this(const struct weir_drv_value *v, struct tds_reason *why) {
  return tds_param_refuse(why, "%s is no number",
                          v->type == WEIR_DRV_T_BYTES  ? "a binary value"
                          : v->type == WEIR_DRV_T_UUID ? "a UUID"
                          : v->type == WEIR_DRV_T_TIME ? "a date or time"
                                                       : "the value");
}

/* The value as digits, in room or where it lies. */
static int digits_of(const struct weir_drv_value *v,
                     char room[TDS_NUMBER_ROOM],
                     struct tds_span *out,
                     struct tds_reason *why) {
  int n = 0;
  switch (v->type) {
  case WEIR_DRV_T_BOOL:
    n = snprintf(room, TDS_NUMBER_ROOM, "%d", v->i != 0);
    break;
  case WEIR_DRV_T_INT:
    n = snprintf(room, TDS_NUMBER_ROOM, "%lld", (long long)v->i);
    break;
  case WEIR_DRV_T_UINT:
    n = snprintf(room, TDS_NUMBER_ROOM, "%llu", (unsigned long long)v->u);
    break;
  case WEIR_DRV_T_FLOAT:
    return tds_number_print(v->f, room, out)
               ? TDS_OK
               : tds_param_refuse(why, isfinite(v->f) ? "out of range"
                                                      : "not a finite number");
  case WEIR_DRV_T_TEXT:
  case WEIR_DRV_T_DEC:
    *out = tds_param_text(v);
    return TDS_OK;
  default:
    return not_this(v, why);
  }
  out->p = (const uint8_t *)room;
  out->n = (size_t)n;
  return TDS_OK;
}

static int out_of_range(struct tds_reason *why) {
  return tds_param_refuse(why, "out of range");
}

static int number_of(const struct weir_drv_value *v,
                     unsigned scale,
                     struct tds_number *out,
                     struct tds_reason *why) {
  char room[TDS_NUMBER_ROOM];
  struct tds_span s = {NULL, 0};
  int rc = digits_of(v, room, &s, why);
  if (rc != TDS_OK) {
    return rc;
  }
  rc = tds_number_parse(s, scale, out);
  if (rc == TDS_E_PROTO) {
    return tds_param_refuse(why, "not a number");
  }
  return rc == TDS_OK ? rc : out_of_range(why);
}

static void put_bytes(uint8_t *out, uint64_t v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    out[i] = (uint8_t)(v >> (8 * i));
  }
}

/* ----------------------------------------------------------- bit, int, money */

static int whole_number(const struct weir_drv_value *v,
                        struct tds_number *out,
                        struct tds_reason *why) {
  int rc = number_of(v, 0, out, why);
  if (rc == TDS_OK && out->rounded) {
    return tds_param_refuse(why, "not a whole number");
  }
  return rc;
}

static bool spells(struct tds_span s, const char *word) {
  size_t n = strlen(word);
  for (size_t i = 0; s.n == n && i < n; i++) {
    if ((s.p[i] | 0x20) != (uint8_t)word[i]) {
      return false;
    }
  }
  return s.n == n;
}

int tds_encode_bit(const struct tds_hint *h,
                   const struct weir_drv_value *v,
                   uint8_t *out,
                   size_t *out_n,
                   struct tds_reason *why) {
  struct tds_number n;
  uint64_t m = 0;
  (void)h;
  struct tds_span text = tds_param_text(v);
  bool yes = spells(text, "true");
  *out_n = 1;
  if (yes || spells(text, "false")) {
    out[0] = yes;
    return TDS_OK;
  }
  int rc = whole_number(v, &n, why);
  if (rc != TDS_OK) {
    return rc;
  }
  if (!tds_number_narrow(&n, &m) || m > 1 || (m == 1 && n.negative)) {
    return tds_param_refuse(why, "neither 0 nor 1");
  }
  out[0] = (uint8_t)m;
  return TDS_OK;
}

int tds_encode_int(const struct tds_hint *h,
                   const struct weir_drv_value *v,
                   uint8_t *out,
                   size_t *out_n,
                   struct tds_reason *why) {
  struct tds_number n;
  uint64_t bits = 0;
  int rc = whole_number(v, &n, why);
  if (rc != TDS_OK) {
    return rc;
  }
  /* tinyint is the one without a sign. */
  bool fits = h->size > 1 ? tds_number_signed(&n, h->size, &bits)
                          : tds_number_narrow(&n, &bits) && bits <= UINT8_MAX &&
                                (bits == 0 || !n.negative);
  if (!fits) {
    return out_of_range(why);
  }
  put_bytes(out, bits, h->size);
  *out_n = h->size;
  return TDS_OK;
}

/* Ten-thousandths; the high half comes first. */
int tds_encode_money(const struct tds_hint *h,
                     const struct weir_drv_value *v,
                     uint8_t *out,
                     size_t *out_n,
                     struct tds_reason *why) {
  struct tds_number n;
  uint64_t bits = 0;
  int rc = number_of(v, 4, &n, why);
  if (rc != TDS_OK) {
    return rc;
  }
  if (!tds_number_signed(&n, h->size, &bits)) {
    return out_of_range(why);
  }
  *out_n = h->size;
  if (h->size == 4) {
    tds_put32(out, (uint32_t)bits);
    return TDS_OK;
  }
  tds_put32(out, (uint32_t)(bits >> 32));
  tds_put32(out + 4, (uint32_t)bits);
  return TDS_OK;
}

/* ------------------------------------------------------------------ decimal */

int tds_encode_decimal(const struct tds_hint *h,
                       const struct weir_drv_value *v,
                       uint8_t *out,
                       size_t *out_n,
                       struct tds_reason *why) {
  static const struct tds_span one = {(const uint8_t *)"1", 1};
  struct tds_number n;
  struct tds_number limit;
  uint8_t info[TDS_HINT_INFO_MAX];
  static const uint8_t none[5] = {0};
  int rc = number_of(v, h->scale, &n, why);
  if (rc != TDS_OK) {
    return rc;
  }
  (void)tds_number_parse(one, h->precision, &limit);
  if (tds_number_compare(&n, &limit) >= 0) {
    return out_of_range(why);
  }
  (void)tds_hint_info(h, none, info);
  out[0] = !n.negative;
  for (size_t i = 0; i + 1 < info[1]; i++) {
    out[1 + i] = (uint8_t)(n.limb[i / 4] >> (8 * (i % 4)));
  }
  *out_n = info[1];
  return TDS_OK;
}

/* -------------------------------------------------------------------- float */

/* Room for a number without its point; longer ones are refused. */
#define FLOAT_DIGITS 800u

/* The next byte of a span that has one. */
static uint8_t take_byte(struct tds_span *s) {
  uint8_t c = s->p[0];
  s->p++;
  s->n--;
  return c;
}

/* [+-] digits [. digits] [e [+-] digits] rewritten without the point, which for
 * strtod depends on the locale.  Returns false if it is no number. */
static bool rewrite(struct tds_span s, char out[FLOAT_DIGITS + 32]) {
  size_t n = 0;
  bool negative = false;
  bool point = false;
  int64_t power = 0;
  int64_t given = 0;
  tds_number_take_sign(&s, &negative);
  out[n++] = negative ? '-' : '+';
  while (s.n > 0 && (tds_number_is_digit(*s.p) || (*s.p == '.' && !point))) {
    uint8_t c = take_byte(&s);
    if (c == '.') {
      point = true;
      continue;
    }
    if (n > FLOAT_DIGITS) {
      return false;
    }
    out[n++] = (char)c;
    power -= point;
  }
  if (n == 1) {
    return false;
  }
  if (s.n > 0 && (*s.p | 0x20) == 'e') {
    (void)tds_take(&s, 1);
    tds_number_take_sign(&s, &negative);
    bool any = false;
    for (; s.n > 0 && tds_number_is_digit(*s.p); any = true) {
      int64_t more = given * 10 + (take_byte(&s) - '0');
      given = more > 100000 ? 100000 : more;
    }
    if (!any) {
      return false;
    }
    power += negative ? -given : given;
  }
  (void)snprintf(out + n, 31, "e%lld", (long long)power);
  return s.n == 0;
}

/* A whole number that a float would not give back as it was. */
static bool keeps(const struct weir_drv_value *v, double d) {
  if (v->type == WEIR_DRV_T_INT) {
    return d < 0x1p63 && (int64_t)d == v->i;
  }
  return d < 0x1p64 && (uint64_t)d == v->u;
}

static int put_float(const struct tds_hint *h,
                     double d,
                     float f,
                     uint8_t *out,
                     size_t *out_n,
                     struct tds_reason *why) {
  uint32_t bits4 = 0;
  uint64_t bits8 = 0;
  bool narrow_form = h->size == 4;
  if (narrow_form ? !isfinite(f) : !isfinite(d)) {
    return out_of_range(why);
  }
  memcpy(&bits4, &f, sizeof bits4);
  memcpy(&bits8, &d, sizeof bits8);
  put_bytes(out, narrow_form ? bits4 : bits8, h->size);
  *out_n = h->size;
  return TDS_OK;
}

static int float_of_text(const struct tds_hint *h,
                         const struct weir_drv_value *v,
                         uint8_t *out,
                         size_t *out_n,
                         struct tds_reason *why) {
  char text[FLOAT_DIGITS + 32];
  if (!rewrite(tds_param_text(v), text)) {
    return tds_param_refuse(why, "not a number");
  }
  return put_float(h, strtod(text, NULL), strtof(text, NULL), out, out_n, why);
}

int tds_encode_float(const struct tds_hint *h,
                     const struct weir_drv_value *v,
                     uint8_t *out,
                     size_t *out_n,
                     struct tds_reason *why) {
  double d = 0;
  switch (v->type) {
  case WEIR_DRV_T_TEXT:
  case WEIR_DRV_T_DEC:
    return float_of_text(h, v, out, out_n, why);
  case WEIR_DRV_T_FLOAT:
    if (!isfinite(v->f)) {
      return tds_param_refuse(why, "not a finite number");
    }
    return put_float(h, v->f, (float)v->f, out, out_n, why);
  case WEIR_DRV_T_BOOL:
    d = v->i != 0 ? 1 : 0;
    return put_float(h, d, (float)d, out, out_n, why);
  case WEIR_DRV_T_INT:
  case WEIR_DRV_T_UINT:
    d = v->type == WEIR_DRV_T_INT ? (double)v->i : (double)v->u;
    if (!keeps(v, h->size == 4 ? (double)(float)d : d)) {
      return tds_param_refuse(why, "a whole number with more digits than the "
                                   "type keeps");
    }
    return put_float(h, d, (float)d, out, out_n, why);
  default:
    return not_this(v, why);
  }
}
