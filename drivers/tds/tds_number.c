/* SPDX-License-Identifier: MIT */
/* tds_number.c - digits to magnitudes, and doubles to digits.  Nothing here
 * depends on the locale. */
#include "tds_number.h"

#include <math.h>
#include <string.h>

/* n = n * 10 + digit.  Returns false if it does not fit. */
static bool push_digit(struct tds_number *n, uint32_t digit) {
  uint64_t carry = digit;
  for (size_t i = 0; i < TDS_NUMBER_LIMBS; i++) {
    carry += (uint64_t)n->limb[i] * 10;
    n->limb[i] = (uint32_t)carry;
    carry >>= 32;
  }
  return carry == 0;
}

static bool add_one(struct tds_number *n) {
  for (size_t i = 0; i < TDS_NUMBER_LIMBS; i++) {
    n->limb[i]++;
    if (n->limb[i] != 0) {
      return true;
    }
  }
  return false;
}

int tds_number_compare(const struct tds_number *a, const struct tds_number *b) {
  for (size_t i = TDS_NUMBER_LIMBS; i > 0; i--) {
    if (a->limb[i - 1] != b->limb[i - 1]) {
      return a->limb[i - 1] < b->limb[i - 1] ? -1 : 1;
    }
  }
  return 0;
}

bool tds_number_is_digit(uint8_t c) {
  return c >= '0' && c <= '9';
}

void tds_number_take_sign(struct tds_span *s, bool *out_negative) {
  *out_negative = s->n > 0 && *s->p == '-';
  if (s->n > 0 && (*s->p == '-' || *s->p == '+')) {
    (void)tds_take(s, 1);
  }
}

/* Digits behind the point: scale of them count, the next one rounds. */
static bool take_fraction(struct tds_span *s,
                          unsigned scale,
                          struct tds_number *n) {
  bool up = false;
  bool fits = true;
  unsigned k = 0;
  for (; s->n > 0 && tds_number_is_digit(*s->p); k++) {
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

int tds_number_parse(struct tds_span s,
                     unsigned scale,
                     struct tds_number *out) {
  bool any = false;
  bool fits = true;
  memset(out, 0, sizeof *out);
  tds_number_take_sign(&s, &out->negative);
  for (; s.n > 0 && tds_number_is_digit(*s.p); any = true) {
    fits = push_digit(out, (uint32_t)(*tds_take(&s, 1) - '0')) && fits;
  }
  if (s.n > 0 && *s.p == '.') {
    (void)tds_take(&s, 1);
    any = any || (s.n > 0 && tds_number_is_digit(*s.p));
  }
  fits = take_fraction(&s, scale, out) && fits;
  if (!any || s.n > 0) {
    return TDS_E_PROTO;
  }
  return fits ? TDS_OK : TDS_E_SPACE;
}

/* ------------------------------------------------------------------ doubles */

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

bool tds_number_print(double d,
                      char room[TDS_NUMBER_ROOM],
                      struct tds_span *out) {
  uint32_t fixed[BEHIND + BEFORE] = {0};
  char whole[BEFORE * 10];
  size_t n = 0;
  size_t k = 0;
  if (!(d > -DIGITS_38 && d < DIGITS_38)) {
    return false;
  }
  split_double(d, fixed);
  room[n++] = signbit(d) ? '-' : '+';
  while (k < sizeof whole) {
    whole[k++] = (char)('0' + take_last_digit(fixed + BEHIND, BEFORE));
  }
  while (k > 0) {
    room[n++] = whole[--k];
  }
  room[n++] = '.';
  for (k = 0; k < KEPT; k++) {
    room[n++] = (char)('0' + take_first_digit(fixed, BEHIND));
  }
  for (k = 0; k < BEHIND && fixed[k] == 0; k++) {
  }
  room[n++] = k < BEHIND ? '1' : '0';
  out->p = (const uint8_t *)room;
  out->n = n;
  return true;
}

bool tds_number_narrow(const struct tds_number *n, uint64_t *out) {
  *out = (uint64_t)n->limb[1] << 32 | n->limb[0];
  return n->limb[2] == 0 && n->limb[3] == 0;
}

bool tds_number_signed(const struct tds_number *n, size_t size, uint64_t *out) {
  uint64_t m = 0;
  uint64_t most = (UINT64_C(1) << (8 * size - 1)) - (n->negative ? 0 : 1);
  if (!tds_number_narrow(n, &m) || m > most) {
    return false;
  }
  *out = n->negative ? 0 - m : m;
  return true;
}
