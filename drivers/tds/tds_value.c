/* SPDX-License-Identifier: MIT */
/* tds_value.c - MS-TDS 2.2.5.5.1.  Numbers become little-endian 64-bit cells,
 * decimals and dates exact text. */
#include "tds_value.h"

#include <string.h>

#include "weir_driver.h"

#define DAYS_TO_1900 693595  /* from 0001-01-01 */
#define DAYS_MAX     3652058 /* 9999-12-31 */
#define DAY_MINUTES  1440
#define DAY_SECONDS  86400u

/* ----------------------------------------------------------------- writing */

/* Text being written into a cell; TDS_CELL_MAX always suffices. */
struct pen {
  char *p;
  size_t n;
};

static void put_char(struct pen *pen, char c) {
  pen->p[pen->n++] = c;
}

static void put_digits(struct pen *pen, uint64_t v, unsigned digits) {
  for (unsigned i = digits; i > 0; i--) {
    pen->p[pen->n + i - 1] = (char)('0' + v % 10);
    v /= 10;
  }
  pen->n += digits;
}

static int end_text(const struct pen *pen, size_t *out_n) {
  *out_n = pen->n;
  return TDS_OK;
}

static int put_int(uint8_t *out, size_t *out_n, int64_t v) {
  tds_put64(out, (uint64_t)v);
  *out_n = 8;
  return TDS_OK;
}

/* ----------------------------------------------------------------- numbers */

static int cell_int(const uint8_t *p, size_t n, uint8_t *out, size_t *out_n) {
  switch (n) {
  case 1:
    return put_int(out, out_n, p[0]);
  case 2:
    return put_int(out, out_n, (int16_t)tds_u16(p));
  case 4:
    return put_int(out, out_n, (int32_t)tds_u32(p));
  case 8:
    return put_int(out, out_n, (int64_t)tds_u64(p));
  default:
    return TDS_E_PROTO;
  }
}

static int cell_bool(const uint8_t *p, size_t n, uint8_t *out, size_t *out_n) {
  if (n != 1) {
    return TDS_E_PROTO;
  }
  out[0] = p[0] != 0;
  *out_n = 1;
  return TDS_OK;
}

static int cell_float(const uint8_t *p, size_t n, uint8_t *out, size_t *out_n) {
  double d = 0;
  if (n == 4) {
    uint32_t bits = tds_u32(p);
    float f = 0;
    memcpy(&f, &bits, sizeof f);
    d = (double)f;
  } else if (n == 8) {
    uint64_t bits = tds_u64(p);
    memcpy(&d, &bits, sizeof d);
  } else {
    return TDS_E_PROTO;
  }
  uint64_t bits = 0;
  memcpy(&bits, &d, sizeof bits);
  return put_int(out, out_n, (int64_t)bits);
}

/* Writes the digits of a number, least significant first, with its point. */
static int put_decimal(struct pen *pen,
                       bool negative,
                       const char *digits,
                       unsigned count,
                       unsigned scale) {
  bool zero = true;
  for (unsigned i = 0; i < count; i++) {
    zero = zero && digits[i] == '0';
  }
  if (negative && !zero) {
    put_char(pen, '-');
  }
  while (count > scale + 1 && digits[count - 1] == '0') {
    count--;
  }
  for (unsigned i = count; i > 0; i--) {
    if (i == scale) {
      put_char(pen, '.');
    }
    put_char(pen, digits[i - 1]);
  }
  return TDS_OK;
}

#define LIMBS        4u
#define LIMB_BASE    UINT32_C(1000000000)
#define LIMB_DIGITS  9u
#define DIGITS_ROOM  45u /* five groups of nine: above 2^128 */
#define DIGITS_LEGAL 39u /* 38, and one for a server that exceeds it */

/* Divides a number of four 32-bit limbs by 10^9.  Returns the rest. */
static uint32_t divide(uint32_t limb[LIMBS]) {
  uint64_t rest = 0;
  for (unsigned i = LIMBS; i > 0; i--) {
    uint64_t v = rest << 32 | limb[i - 1];
    limb[i - 1] = (uint32_t)(v / LIMB_BASE);
    rest = v % LIMB_BASE;
  }
  return (uint32_t)rest;
}

static int cell_decimal(const struct tds_type *t,
                        const uint8_t *p,
                        size_t n,
                        struct pen *pen) {
  uint32_t limb[LIMBS] = {0};
  char digits[DIGITS_ROOM];
  if (n != 5 && n != 9 && n != 13 && n != 17) {
    return TDS_E_PROTO;
  }
  for (size_t i = 0; i < (n - 1) / 4; i++) {
    limb[i] = tds_u32(p + 1 + 4 * i);
  }
  for (unsigned i = 0; i < DIGITS_ROOM; i += LIMB_DIGITS) {
    uint32_t group = divide(limb);
    for (unsigned k = 0; k < LIMB_DIGITS; k++) {
      digits[i + k] = (char)('0' + group % 10);
      group /= 10;
    }
  }
  return put_decimal(pen, p[0] == 0, digits, DIGITS_LEGAL, t->scale);
}

/* Money is an integer in ten-thousandths; the high half comes first. */
static int cell_money(const uint8_t *p, size_t n, struct pen *pen) {
  int64_t v = 0;
  if (n == 8) {
    v = (int64_t)((uint64_t)tds_u32(p) << 32 | tds_u32(p + 4));
  } else if (n == 4) {
    v = (int32_t)tds_u32(p);
  } else {
    return TDS_E_PROTO;
  }
  uint64_t m = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
  char digits[20];
  for (unsigned i = 0; i < sizeof digits; i++) {
    digits[i] = (char)('0' + m % 10);
    m /= 10;
  }
  return put_decimal(pen, v < 0, digits, sizeof digits, 4);
}

/* ------------------------------------------------------------------- dates */

/* Days since 0001-01-01 to a date of the proleptic Gregorian calendar, by
 * counting in 400-year eras that start on March 1. */
static int put_date(struct pen *pen, int64_t days) {
  if (days < 0 || days > DAYS_MAX) {
    return TDS_E_PROTO;
  }
  uint32_t z = (uint32_t)days + 306; /* since 0000-03-01 */
  uint32_t era = z / 146097;
  uint32_t doe = z % 146097;
  uint32_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
  uint32_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  uint32_t mp = (5 * doy + 2) / 153;
  uint32_t month = mp < 10 ? mp + 3 : mp - 9;
  put_digits(pen, yoe + era * 400 + (month <= 2 ? 1 : 0), 4);
  put_char(pen, '-');
  put_digits(pen, month, 2);
  put_char(pen, '-');
  put_digits(pen, doy - (153 * mp + 2) / 5 + 1, 2);
  return TDS_OK;
}

/* ticks of 10^-scale s since midnight. */
static int put_time(struct pen *pen, uint64_t ticks, unsigned scale) {
  uint64_t per_second = 1;
  for (unsigned i = 0; i < scale; i++) {
    per_second *= 10;
  }
  uint64_t seconds = ticks / per_second;
  if (seconds >= DAY_SECONDS) {
    return TDS_E_PROTO;
  }
  put_digits(pen, seconds / 3600, 2);
  put_char(pen, ':');
  put_digits(pen, seconds / 60 % 60, 2);
  put_char(pen, ':');
  put_digits(pen, seconds % 60, 2);
  if (scale > 0) {
    put_char(pen, '.');
    put_digits(pen, ticks % per_second, scale);
  }
  return TDS_OK;
}

static int put_moment(struct pen *pen,
                      int64_t days,
                      uint64_t ticks,
                      unsigned scale) {
  int rc = put_date(pen, days);
  if (rc != TDS_OK) {
    return rc;
  }
  put_char(pen, 'T');
  return put_time(pen, ticks, scale);
}

static uint64_t read_le(const uint8_t *p, size_t n) {
  uint64_t v = 0;
  for (size_t i = n; i > 0; i--) {
    v = v << 8 | p[i - 1];
  }
  return v;
}

/* datetime: 1/300 s, shown in ms as the server rounds them. */
static int cell_datetime(const uint8_t *p, size_t n, struct pen *pen) {
  if (n == 4) {
    uint64_t minutes = tds_u16(p + 2);
    if (minutes >= DAY_MINUTES) {
      return TDS_E_PROTO;
    }
    return put_moment(pen, (int64_t)tds_u16(p) + DAYS_TO_1900, minutes * 60, 0);
  }
  if (n != 8) {
    return TDS_E_PROTO;
  }
  int64_t days = (int64_t)(int32_t)tds_u32(p) + DAYS_TO_1900;
  uint64_t ticks = tds_u32(p + 4);
  return put_moment(pen, days, (ticks * 10 + 1) / 3, 3);
}

/* datetimeoffset carries UTC and the offset; its text is local time. */
static int put_offset(struct pen *pen,
                      int64_t days,
                      uint64_t ticks,
                      const struct tds_type *t,
                      int32_t minutes) {
  if (minutes < -840 || minutes > 840) {
    return TDS_E_PROTO;
  }
  uint64_t second = 1;
  for (unsigned i = 0; i < t->scale; i++) {
    second *= 10;
  }
  int64_t day = (int64_t)(second * DAY_SECONDS);
  int64_t local = (int64_t)ticks + (int64_t)minutes * 60 * (int64_t)second;
  if ((int64_t)ticks >= day) {
    return TDS_E_PROTO;
  }
  if (local < 0) {
    local += day;
    days--;
  } else if (local >= day) {
    local -= day;
    days++;
  }
  int rc = put_moment(pen, days, (uint64_t)local, t->scale);
  unsigned distance = (unsigned)(minutes < 0 ? -minutes : minutes);
  put_char(pen, minutes < 0 ? '-' : '+');
  put_digits(pen, distance / 60, 2);
  put_char(pen, ':');
  put_digits(pen, distance % 60, 2);
  return rc;
}

static int cell_time(const struct tds_type *t,
                     const uint8_t *p,
                     size_t n,
                     struct pen *pen) {
  if (t->rule->code == 0x3D || t->rule->code == 0x3A || t->rule->code == 0x6F) {
    return cell_datetime(p, n, pen);
  }
  if (n != t->max) {
    return TDS_E_PROTO;
  }
  switch (t->rule->code) {
  case 0x28:
    return put_date(pen, (int64_t)read_le(p, 3));
  case 0x29:
    return put_time(pen, read_le(p, n), t->scale);
  case 0x2A:
    return put_moment(pen, (int64_t)read_le(p + n - 3, 3), read_le(p, n - 3),
                      t->scale);
  default:
    return put_offset(pen, (int64_t)read_le(p + n - 5, 3), read_le(p, n - 5), t,
                      (int16_t)tds_u16(p + n - 2));
  }
}

/* ------------------------------------------------------------------- other */

/* The first three groups are little-endian on the wire. */
static int cell_uuid(const uint8_t *p, size_t n, uint8_t *out, size_t *out_n) {
  static const uint8_t order[16] = {3, 2, 1,  0,  5,  4,  7,  6,
                                    8, 9, 10, 11, 12, 13, 14, 15};
  if (n != 16) {
    return TDS_E_PROTO;
  }
  for (unsigned i = 0; i < 16; i++) {
    out[i] = p[order[i]];
  }
  *out_n = 16;
  return TDS_OK;
}

static bool is_money(uint8_t code) {
  return code == 0x3C || code == 0x7A || code == 0x6E;
}

int tds_value_cell(const struct tds_type *t,
                   const uint8_t *p,
                   size_t n,
                   uint8_t out[TDS_CELL_MAX],
                   size_t *out_n) {
  struct pen pen = {(char *)out, 0};
  int rc = TDS_E_PROTO;
  switch (t->rule->cell) {
  case WEIR_DRV_T_INT:
    return cell_int(p, n, out, out_n);
  case WEIR_DRV_T_BOOL:
    return cell_bool(p, n, out, out_n);
  case WEIR_DRV_T_FLOAT:
    return cell_float(p, n, out, out_n);
  case WEIR_DRV_T_UUID:
    return cell_uuid(p, n, out, out_n);
  case WEIR_DRV_T_DEC:
    rc = is_money(t->rule->code) ? cell_money(p, n, &pen)
                                 : cell_decimal(t, p, n, &pen);
    break;
  case WEIR_DRV_T_TIME:
    rc = cell_time(t, p, n, &pen);
    break;
  default:
    break;
  }
  return rc == TDS_OK ? end_text(&pen, out_n) : rc;
}

const char *tds_value_type_name(const struct tds_type *t) {
  switch (t->rule->code) {
  case 0x26:
    return t->max == 1   ? "tinyint"
           : t->max == 2 ? "smallint"
           : t->max == 4 ? "int"
                         : "bigint";
  case 0x6D:
    return t->max == 4 ? "real" : "float";
  case 0x6E:
    return t->max == 4 ? "smallmoney" : "money";
  case 0x6F:
    return t->max == 4 ? "smalldatetime" : "datetime";
  default:
    return t->rule->name;
  }
}
