/* SPDX-License-Identifier: MIT */
/* Exact numbers: reading, rounding, and the ways between number types. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server_value.h"

int tdsd_decimal_parse(const char *text, size_t len, struct tdsd_value *out) {
  struct tdsd_value value = {.type = {.kind = TDSD_DECIMAL, .numeric = true}};
  size_t at = 0;
  unsigned digits = 0;
  unsigned scale = 0;
  bool point = false;
  bool any = false;
  if (at < len && (text[at] == '-' || text[at] == '+')) {
    value.negative = text[at++] == '-';
  }
  for (; at < len; at++) {
    if (text[at] == '.' && !point) {
      point = true;
      continue;
    }
    if (!isdigit((unsigned char)text[at]) || digits == 38) {
      return -1;
    }
    any = true;
    value.magnitude = value.magnitude * 10 + (unsigned)(text[at] - '0');
    digits += digits != 0 || text[at] != '0' || point ? 1 : 0;
    scale += point ? 1 : 0;
  }
  if (!any) {
    return -1;
  }
  value.type.precision = (uint8_t)(digits == 0 ? 1 : digits);
  value.type.scale = (uint8_t)scale;
  value.negative = value.negative && value.magnitude != 0;
  *out = value;
  return 0;
}

int tdsd_decimal_fit(struct tdsd_value *value, const struct tdsd_type *to) {
  tdsd_u128 magnitude = value->magnitude;
  if (to->scale < value->type.scale) {
    tdsd_u128 unit = tdsd_pow10((unsigned)(value->type.scale - to->scale));
    magnitude = magnitude / unit + (magnitude % unit >= (unit + 1) / 2 ? 1 : 0);
  } else {
    unsigned up = (unsigned)(to->scale - value->type.scale);
    if (magnitude != 0 && tdsd_digits(magnitude) + up > 38) {
      return -1;
    }
    magnitude *= tdsd_pow10(up);
  }
  if (magnitude != 0 && tdsd_digits(magnitude) > to->precision) {
    return -1;
  }
  value->magnitude = magnitude;
  value->negative = value->negative && magnitude != 0;
  value->type = *to;
  return 0;
}

static double decimal_real(const struct tdsd_value *value) {
  double real =
      (double)value->magnitude / (double)tdsd_pow10(value->type.scale);
  return value->negative ? -real : real;
}

double tdsd_value_real(const struct tdsd_value *value) {
  enum tdsd_kind kind = value->type.kind;
  if (kind == TDSD_REAL || kind == TDSD_FLOAT) {
    return value->real;
  }
  if (kind == TDSD_DECIMAL) {
    return decimal_real(value);
  }
  if (kind == TDSD_MONEY || kind == TDSD_SMALLMONEY) {
    return (double)value->integer / 10000.0;
  }
  return (double)value->integer;
}

/* Through text: 17 significant digits are what a double holds. */
static int real_decimal(double real, struct tdsd_value *out) {
  char text[400];
  if (!isfinite(real) || fabs(real) >= 1e38) {
    return -1;
  }
  int decimals = fabs(real) < 1 ? 37 : 16 - (int)floor(log10(fabs(real)));
  if (decimals < 0 || decimals > 37) {
    decimals = decimals < 0 ? 0 : 37;
  }
  int n = snprintf(text, sizeof text, "%.*f", decimals, real);
  if (n < 0 || (size_t)n >= sizeof text) {
    return -1;
  }
  return tdsd_decimal_parse(text, (size_t)n, out);
}

int tdsd_value_decimal(const struct tdsd_value *in, struct tdsd_value *out) {
  struct tdsd_value value = {.type = {.kind = TDSD_DECIMAL}};
  if (in->type.kind == TDSD_DECIMAL) {
    *out = *in;
    return 0;
  }
  if (in->type.kind == TDSD_REAL || in->type.kind == TDSD_FLOAT) {
    return real_decimal(in->real, out);
  }
  value.negative = in->integer < 0;
  value.magnitude = value.negative ? (tdsd_u128)(-(in->integer + 1)) + 1
                                   : (tdsd_u128)in->integer;
  bool money = in->type.kind == TDSD_MONEY || in->type.kind == TDSD_SMALLMONEY;
  value.type.scale = money ? 4 : 0;
  value.type.precision = 19;
  *out = value;
  return 0;
}
