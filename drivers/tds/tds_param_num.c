/* SPDX-License-Identifier: MIT */
/* tds_param_num.c - numbers: every value becomes digits first, so that one
 * parser knows all ranges.  Nothing here depends on the locale. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tds_param.h"

/* The longest text that is made here: a double in digits. */
#define NUMBER_ROOM 128u

/* ------------------------------------------------------------------- parser */

#define LIMBS 4u

/* A magnitude of up to 128 bits, least significant limb first. */
struct number {
  uint32_t limb[LIMBS];
  bool negative;
  bool rounded; /* digits that are not zero were dropped */
};

/* n = n * 10 + digit.  Returns false if it does not fit. */
static bool push_digit(struct number *n, uint32_t digit) {
  uint64_t carry = digit;
  for (size_t i = 0; i < LIMBS; i++) {
    carry += (uint64_t)n->limb[i] * 10;
    n->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return carry == 0;
}

static bool add_one(struct number *n) {
  for (size_t i = 0; i < LIMBS; i++) {
    n->limb[i]++;
    if (n->limb[i] != 0) {
      return true;
    }
  }
  return false;
}

static int compare(const struct number *a, const struct number *b) {
  for (size_t i = LIMBS; i > 0; i--) {
    if (a->limb[i - 1] != b->limb[i - 1]) {
      return a->limb[i - 1] < b->limb[i - 1] ? -1 : 1;
    }
  }
  return 0;
}

static bool is_digit(uint8_t c) {
  return c >= '0' && c <= '9';
}

static void take_sign(struct tds_span *s, bool *out_negative) {
  *out_negative = s->n > 0 && *s->p == '-';
  if (s->n > 0 && (*s->p == '-' || *s->p == '+')) {
    (void)tds_take(s, 1);
  }
}

/* Digits behind the point: scale of them count, the next one rounds. */
static bool take_fraction(struct tds_span *s,
                          unsigned scale,
                          struct number *n) {
  bool up = false;
  bool fits = true;
  unsigned k = 0;
  for (; s->n > 0 && is_digit(*s->p); k++) {
    uint32_t digit = (uint32_t)(*tds_take(s, 1) - '0');
    if (k < scale) {
      fits = push_digit(n, digit) && fits;
      continue;
    }
    up = k == scale ? digit >= 5 : up;
    n->rounded = n->rounded || digit != 0;
  }
  for (; k < scale; k++) {
    fits = push_digit(n, 0) && fits;
  }
  return fits && (!up || add_one(n));
}

/* [+-] digits [. digits], at least one digit, times 10^scale.
 * Returns TDS_OK, TDS_E_PROTO (no number), TDS_E_SPACE (too large). */
static int parse(struct tds_span s, unsigned scale, struct number *out) {
  bool any = false;
  bool fits = true;
  memset(out, 0, sizeof *out);
  take_sign(&s, &out->negative);
  for (; s.n > 0 && is_digit(*s.p); any = true) {
    fits = push_digit(out, (uint32_t)(*tds_take(&s, 1) - '0')) && fits;
  }
  if (s.n > 0 && *s.p == '.') {
    (void)tds_take(&s, 1);
    any = any || (s.n > 0 && is_digit(*s.p));
  }
  fits = take_fraction(&s, scale, out) && fits;
  if (!any || s.n > 0) {
    return TDS_E_PROTO;
  }
  return fits ? TDS_OK : TDS_E_SPACE;
}

/* ------------------------------------------------------------- any to digits */

/* A double as a fixed-point number: 1088 bits behind the point hold the smallest
 * one exactly, 160 before it all that are not out of range anyway. */
#define BEHIND    34u
#define BEFORE    5u
#define BIAS      1075 /* bit 0 of a mantissa weighs 2^(power - BIAS) */
#define DIGITS_38 1e39
#define KEPT      45u /* digits behind the point; more only say "not zero" */

static void split_double(double d, uint32_t fixed[BEHIND + BEFORE]) {
  uint64_t bits = 0;
  memcpy(&bits, &d, sizeof bits);
  uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
  uint32_t power = (uint32_t)(bits >> 52) & 0x7FF;
  if (power == 0) {
    power = 1;
  } else {
    mantissa |= UINT64_C(1) << 52;
  }
  uint32_t at = BEHIND * 32 + power - BIAS;
  for (uint32_t i = 0; i < 53; i++, at++) {
    fixed[at / 32] |= (uint32_t)(mantissa >> i & 1) << (at % 32);
  }
}

/* n limbs divided by ten.  Returns the rest. */
static uint32_t take_last_digit(uint32_t *limb, size_t n) {
  uint64_t rest = 0;
  for (size_t i = n; i > 0; i--) {
    rest = rest << 32 | limb[i - 1];
    limb[i - 1] = (uint32_t)(rest / 10);
    rest %= 10;
  }
  return (uint32_t)rest;
}

/* n limbs behind the point times ten.  Returns what comes before it. */
static uint32_t take_first_digit(uint32_t *limb, size_t n) {
  uint64_t carry = 0;
  for (size_t i = 0; i < n; i++) {
    carry += (uint64_t)limb[i] * 10;
    limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return (uint32_t)carry;
}

/* The value of a double in digits, exact to where any type ends. */
static int print_double(double d,
                        char out[NUMBER_ROOM],
                        struct tds_span *s,
                        struct tds_reason *why) {
  uint32_t fixed[BEHIND + BEFORE] = {0};
  char whole[BEFORE * 10];
  size_t n = 0;
  size_t k = 0;
  if (!(d > -DIGITS_38 && d < DIGITS_38)) {
    return tds_param_refuse(why, isfinite(d) ? "out of range"
                                             : "not a finite number");
  }
  split_double(d, fixed);
  out[n++] = signbit(d) ? '-' : '+';
  while (k < sizeof whole) {
    whole[k++] = (char)('0' + take_last_digit(fixed + BEHIND, BEFORE));
  }
  while (k > 0) {
    out[n++] = whole[--k];
  }
  out[n++] = '.';
  for (k = 0; k < KEPT; k++) {
    out[n++] = (char)('0' + take_first_digit(fixed, BEHIND));
  }
  for (k = 0; k < BEHIND && fixed[k] == 0; k++) {
  }
  out[n++] = k < BEHIND ? '1' : '0';
  s->p = (const uint8_t *)out;
  s->n = n;
  return TDS_OK;
}

static int not_this(const struct weir_drv_value *v, struct tds_reason *why) {
  return tds_param_refuse(why, "%s is no number",
                          v->type == WEIR_DRV_T_BYTES  ? "a binary value"
                          : v->type == WEIR_DRV_T_UUID ? "a UUID"
                          : v->type == WEIR_DRV_T_TIME ? "a date or time"
                                                       : "the value");
}

/* The value as digits, in room or where it lies. */
static int digits_of(const struct weir_drv_value *v,
                     char room[NUMBER_ROOM],
                     struct tds_span *out,
                     struct tds_reason *why) {
  int n = 0;
  switch (v->type) {
  case WEIR_DRV_T_BOOL:
    n = snprintf(room, NUMBER_ROOM, "%d", v->i != 0);
    break;
  case WEIR_DRV_T_INT:
    n = snprintf(room, NUMBER_ROOM, "%lld", (long long)v->i);
    break;
  case WEIR_DRV_T_UINT:
    n = snprintf(room, NUMBER_ROOM, "%llu", (unsigned long long)v->u);
    break;
  case WEIR_DRV_T_FLOAT:
    return print_double(v->f, room, out, why);
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
                     struct number *out,
                     struct tds_reason *why) {
  char room[NUMBER_ROOM];
  struct tds_span s = {NULL, 0};
  int rc = digits_of(v, room, &s, why);
  if (rc != TDS_OK) {
    return rc;
  }
  rc = parse(s, scale, out);
  if (rc == TDS_E_PROTO) {
    return tds_param_refuse(why, "not a number");
  }
  return rc == TDS_OK ? rc : out_of_range(why);
}

/* The magnitude as 64 bits.  Returns false if it has more. */
static bool narrow(const struct number *n, uint64_t *out) {
  *out = (uint64_t)n->limb[1] << 32 | n->limb[0];
  return n->limb[2] == 0 && n->limb[3] == 0;
}

/* Two's complement of so many bytes.  Returns false if it does not fit. */
static bool to_signed(const struct number *n, size_t size, uint64_t *out) {
  uint64_t m = 0;
  uint64_t most = (UINT64_C(1) << (8 * size - 1)) - (n->negative ? 0 : 1);
  if (!narrow(n, &m) || m > most) {
    return false;
  }
  *out = n->negative ? 0 - m : m;
  return true;
}

static void put_bytes(uint8_t *out, uint64_t v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    out[i] = (uint8_t)(v >> (8 * i));
  }
}

/* ----------------------------------------------------------- bit, int, money */

static int whole_number(const struct weir_drv_value *v,
                        struct number *out,
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
  struct number n;
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
  if (!narrow(&n, &m) || m > 1 || (m == 1 && n.negative)) {
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
  struct number n;
  uint64_t bits = 0;
  int rc = whole_number(v, &n, why);
  if (rc != TDS_OK) {
    return rc;
  }
  /* tinyint is the one without a sign. */
  bool fits = h->size > 1 ? to_signed(&n, h->size, &bits)
                          : narrow(&n, &bits) && bits <= UINT8_MAX &&
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
  struct number n;
  uint64_t bits = 0;
  int rc = number_of(v, 4, &n, why);
  if (rc != TDS_OK) {
    return rc;
  }
  if (!to_signed(&n, h->size, &bits)) {
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
  struct number n;
  struct number limit;
  uint8_t info[TDS_HINT_INFO_MAX];
  static const uint8_t none[5] = {0};
  int rc = number_of(v, h->scale, &n, why);
  if (rc != TDS_OK) {
    return rc;
  }
  (void)parse(one, h->precision, &limit);
  if (compare(&n, &limit) >= 0) {
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

/* [+-] digits [. digits] [e [+-] digits] rewritten without the point, which for
 * strtod depends on the locale.  Returns false if it is no number. */
static bool rewrite(struct tds_span s, char out[FLOAT_DIGITS + 32]) {
  size_t n = 0;
  bool negative = false;
  bool point = false;
  int64_t power = 0;
  int64_t given = 0;
  take_sign(&s, &negative);
  out[n++] = negative ? '-' : '+';
  while (s.n > 0 && (is_digit(*s.p) || (*s.p == '.' && !point))) {
    uint8_t c = *tds_take(&s, 1);
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
    take_sign(&s, &negative);
    bool any = false;
    for (; s.n > 0 && is_digit(*s.p); any = true) {
      int64_t more = given * 10 + (*tds_take(&s, 1) - '0');
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
