/* SPDX-License-Identifier: MIT */
/* Values as text, in the styles of CONVERT. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_value.h"

static size_t print_guid(const uint8_t *g, char *out, size_t cap) {
  int n = snprintf(out, cap,
                   "%02X%02X%02X%02X-%02X%02X-%02X%02X-%02X%02X-"
                   "%02X%02X%02X%02X%02X%02X",
                   g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6], g[8], g[9],
                   g[10], g[11], g[12], g[13], g[14], g[15]);
  return n < 0 ? 0 : (size_t)n;
}

static size_t print_decimal(const struct tdsd_value *value, char *out) {
  char digits[48];
  size_t n = 0;
  tdsd_u128 rest = value->magnitude;
  unsigned scale = value->type.scale;
  while (rest != 0 || n <= scale) {
    digits[n++] = (char)('0' + (int)(rest % 10));
    rest /= 10;
  }
  size_t len = 0;
  if (value->negative) {
    out[len++] = '-';
  }
  while (n > 0) {
    if (n == scale) {
      out[len++] = '.';
    }
    out[len++] = digits[--n];
  }
  out[len] = 0;
  return len;
}

/* Style 0 shows six digits and three of the exponent. */
static size_t print_real(double real, char *out, size_t cap) {
  char plain[64];
  int n = 0;
  (void)snprintf(plain, sizeof plain, "%.6g", real);
  const char *e = strchr(plain, 'e');
  if (e != NULL) {
    n = snprintf(out, cap, "%.*s%c%03d", (int)(e - plain + 1), plain, e[1],
                 abs((int)strtol(e + 1, NULL, 10)));
  } else {
    n = snprintf(out, cap, "%s", plain);
  }
  return n < 0 ? 0 : (size_t)n;
}

static size_t print_money(int64_t units, char *out, size_t cap) {
  uint64_t size = units < 0 ? (uint64_t)(-(units + 1)) + 1 : (uint64_t)units;
  uint64_t cents = (size + 50) / 100;
  int n = snprintf(out, cap, "%s%" PRIu64 ".%02" PRIu64, units < 0 ? "-" : "",
                   cents / 100, cents % 100);
  return n < 0 ? 0 : (size_t)n;
}

size_t tdsd_value_print(const struct tdsd_value *value,
                        int style,
                        char *out,
                        size_t cap) {
  enum tdsd_kind kind = value->type.kind;
  if (tdsd_kind_is_date(kind)) {
    return tdsd_date_print(value, style, out, cap);
  }
  if (kind == TDSD_GUID) {
    return print_guid(value->guid, out, cap);
  }
  if (kind == TDSD_DECIMAL) {
    return print_decimal(value, out);
  }
  if (kind == TDSD_REAL || kind == TDSD_FLOAT) {
    return print_real(value->real, out, cap);
  }
  if (kind == TDSD_MONEY || kind == TDSD_SMALLMONEY) {
    return print_money(value->integer, out, cap);
  }
  int n = snprintf(out, cap, "%" PRId64, value->integer);
  return n < 0 ? 0 : (size_t)n;
}
