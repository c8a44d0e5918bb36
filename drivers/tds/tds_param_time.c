/* SPDX-License-Identifier: MIT */
/* tds_param_time.c - dates and times: ISO 8601 text to the server's counts.
 *
 * A time alone lies on 1900-01-01 where a date is needed, and a moment without
 * an offset is UTC where one is: both as the server itself converts.  Nothing
 * that was given is dropped: a date that has a time of day other than midnight
 * is no value of "date". */
#include <string.h>

#include "tds_param.h"

#define NANOS       UINT64_C(1000000000)
#define DAY_SECONDS UINT64_C(86400)
#define DAY_NANOS   (DAY_SECONDS * NANOS)
#define DAYS_1753   639905 /* from 0001-01-01 */
#define DAYS_1900   693595
#define DAYS_MOST   3652058 /* 9999-12-31 */
#define OFFSET_MOST 840     /* minutes */

struct moment {
  bool dated;
  bool timed;
  bool placed;    /* an offset was given */
  int64_t days;   /* from 0001-01-01 */
  uint64_t nanos; /* of the day */
  int32_t offset; /* minutes east of UTC */
};

/* ------------------------------------------------------------------- reading */

static bool take(struct tds_span *s, char c) {
  if (s->n == 0 || *s->p != (uint8_t)c) {
    return false;
  }
  (void)tds_take(s, 1);
  return true;
}

/* Exactly n digits, a number up to most. */
static bool digits(struct tds_span *s,
                   unsigned n,
                   uint32_t most,
                   uint32_t *out) {
  uint32_t v = 0;
  for (; n > 0; n--) {
    if (s->n == 0 || *s->p < '0' || *s->p > '9') {
      return false;
    }
    v = v * 10 + (uint32_t)(*tds_take(s, 1) - '0');
  }
  *out = v;
  return v <= most;
}

static uint32_t month_days(uint32_t year, uint32_t month) {
  static const uint8_t days[] = {31, 28, 31, 30, 31, 30,
                                 31, 31, 30, 31, 30, 31};
  bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return days[month - 1] + (month == 2 && leap ? 1u : 0u);
}

/* Days from 0001-01-01: whole years, then whole months. */
static int64_t days_to(uint32_t year, uint32_t month, uint32_t day) {
  int64_t y = (int64_t)year - 1;
  int64_t days = y * 365 + y / 4 - y / 100 + y / 400;
  for (uint32_t m = 1; m < month; m++) {
    days += month_days(year, m);
  }
  return days + day - 1;
}

static bool take_date(struct tds_span *s, struct moment *m) {
  uint32_t year = 0;
  uint32_t month = 0;
  uint32_t day = 0;
  bool shaped = digits(s, 4, 9999, &year) && take(s, '-') &&
                digits(s, 2, 12, &month) && take(s, '-') &&
                digits(s, 2, 31, &day);
  if (!shaped || year < 1 || month < 1 || day < 1 ||
      day > month_days(year, month)) {
    return false;
  }
  m->dated = true;
  m->days = days_to(year, month, day);
  return true;
}

/* Digits behind the second; beyond nanoseconds they decide nothing. */
static bool take_fraction(struct tds_span *s, uint64_t *nanos) {
  uint64_t unit = NANOS / 10;
  size_t before = s->n;
  for (; s->n > 0 && *s->p >= '0' && *s->p <= '9'; unit /= 10) {
    *nanos += unit * (uint64_t)(*tds_take(s, 1) - '0');
  }
  return s->n < before;
}

static bool take_time(struct tds_span *s, struct moment *m) {
  uint32_t hour = 0;
  uint32_t minute = 0;
  uint32_t second = 0;
  if (!digits(s, 2, 23, &hour) || !take(s, ':') || !digits(s, 2, 59, &minute)) {
    return false;
  }
  if (take(s, ':') && !digits(s, 2, 59, &second)) {
    return false;
  }
  m->timed = true;
  m->nanos = (hour * UINT64_C(3600) + minute * UINT64_C(60) + second) * NANOS;
  return !take(s, '.') || take_fraction(s, &m->nanos);
}

static bool take_offset(struct tds_span *s, struct moment *m) {
  uint32_t hours = 0;
  uint32_t minutes = 0;
  m->placed = true;
  if (take(s, 'Z') || take(s, 'z')) {
    return true;
  }
  bool west = take(s, '-');
  if ((!west && !take(s, '+')) || !digits(s, 2, 14, &hours) || !take(s, ':') ||
      !digits(s, 2, 59, &minutes)) {
    return false;
  }
  m->offset = (int32_t)(hours * 60 + minutes);
  if (m->offset > OFFSET_MOST) {
    return false;
  }
  m->offset = west ? -m->offset : m->offset;
  return true;
}

/* date, time, or date and time with a 'T' or a blank; then an offset. */
static bool read_moment(struct tds_span s, struct moment *m) {
  memset(m, 0, sizeof *m);
  bool date = s.n > 4 && s.p[4] == '-';
  if (date && !take_date(&s, m)) {
    return false;
  }
  bool joined = date && (take(&s, 'T') || take(&s, 't') || take(&s, ' '));
  if ((!date || joined) && !take_time(&s, m)) {
    return false;
  }
  return s.n == 0 || (m->timed && take_offset(&s, m) && s.n == 0);
}

/* ------------------------------------------------------------------- writing */

static void put_le(uint8_t *out, uint64_t v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    out[i] = (uint8_t)(v >> (8 * i));
  }
}

/* Counts of 10^-scale s in the day, rounded; a full day is the next midnight. */
static uint64_t round_ticks(struct moment *m, unsigned scale) {
  uint64_t unit = NANOS;
  for (unsigned i = 0; i < scale; i++) {
    unit /= 10;
  }
  uint64_t ticks = (m->nanos + unit / 2) / unit;
  if (ticks == DAY_NANOS / unit) {
    m->days++;
    return 0;
  }
  return ticks;
}

static size_t tick_bytes(unsigned scale) {
  return scale <= 2 ? 3 : scale <= 4 ? 4 : 5;
}

static int out_of_range(struct tds_reason *why) {
  return tds_param_refuse(why, "out of range");
}

static int put_date(const struct moment *m,
                    uint8_t *out,
                    size_t *out_n,
                    struct tds_reason *why) {
  if (!m->dated) {
    return tds_param_refuse(why, "a time without a date");
  }
  if (m->placed || m->nanos != 0) {
    return tds_param_refuse(why, "the type keeps neither a time of day nor an "
                                 "offset");
  }
  put_le(out, (uint64_t)m->days, 3);
  *out_n = 3;
  return TDS_OK;
}

static int put_time(const struct tds_hint *h,
                    struct moment *m,
                    uint8_t *out,
                    size_t *out_n,
                    struct tds_reason *why) {
  if (m->dated || m->placed) {
    return tds_param_refuse(why, "the type keeps neither a date nor an offset");
  }
  uint64_t ticks = round_ticks(m, h->scale);
  if (m->days != 0) {
    return out_of_range(why); /* rounded up to midnight */
  }
  *out_n = tick_bytes(h->scale);
  put_le(out, ticks, *out_n);
  return TDS_OK;
}

static int put_moment(const struct tds_hint *h,
                      struct moment *m,
                      uint8_t *out,
                      size_t *out_n,
                      struct tds_reason *why) {
  size_t n = tick_bytes(h->scale);
  uint64_t ticks = round_ticks(m, h->scale);
  if (m->days < 0 || m->days > DAYS_MOST) {
    return out_of_range(why);
  }
  put_le(out, ticks, n);
  put_le(out + n, (uint64_t)m->days, 3);
  *out_n = n + 3;
  return TDS_OK;
}

/* The wire has UTC; the offset is kept beside it. */
static int put_offset(const struct tds_hint *h,
                      struct moment *m,
                      uint8_t *out,
                      size_t *out_n,
                      struct tds_reason *why) {
  int64_t utc = (int64_t)m->nanos - (int64_t)m->offset * 60 * (int64_t)NANOS;
  if (utc < 0) {
    utc += (int64_t)DAY_NANOS;
    m->days--;
  } else if (utc >= (int64_t)DAY_NANOS) {
    utc -= (int64_t)DAY_NANOS;
    m->days++;
  }
  m->nanos = (uint64_t)utc;
  int rc = put_moment(h, m, out, out_n, why);
  if (rc == TDS_OK) {
    tds_put16(out + *out_n, (uint16_t)(int16_t)m->offset);
    *out_n += 2;
  }
  return rc;
}

/* datetime: 1/300 s.  smalldatetime: minutes; half of one counts as a whole. */
static int put_datetime(const struct tds_hint *h,
                        struct moment *m,
                        uint8_t *out,
                        size_t *out_n,
                        struct tds_reason *why) {
  bool small = h->size == 4;
  uint64_t ticks = small ? (m->nanos + 30 * NANOS) / (60 * NANOS)
                         : (m->nanos * 3 + NANOS / 200) / (NANOS / 100);
  uint64_t day = small ? DAY_SECONDS / 60 : DAY_SECONDS * 300;
  if (ticks == day) {
    ticks = 0;
    m->days++;
  }
  int64_t first = small ? DAYS_1900 : DAYS_1753;
  int64_t last = small ? DAYS_1900 + UINT16_MAX : DAYS_MOST;
  if (m->days < first || m->days > last) {
    return out_of_range(why);
  }
  int64_t days = m->days - DAYS_1900;
  *out_n = h->size;
  put_le(out, (uint64_t)days, h->size / 2);
  put_le(out + h->size / 2, ticks, h->size / 2);
  return TDS_OK;
}

int tds_encode_time(const struct tds_hint *h,
                    const struct weir_drv_value *v,
                    uint8_t *out,
                    size_t *out_n,
                    struct tds_reason *why) {
  struct moment m;
  if (v->type != WEIR_DRV_T_TIME && v->type != WEIR_DRV_T_TEXT) {
    return tds_param_refuse(why, "the value is no date or time");
  }
  if (!read_moment(tds_param_text(v), &m)) {
    return tds_param_refuse(why, "not a date or time as ISO 8601 has them");
  }
  if (h->kind == TDS_KIND_DATE) {
    return put_date(&m, out, out_n, why);
  }
  if (h->kind == TDS_KIND_TIME) {
    return put_time(h, &m, out, out_n, why);
  }
  m.days = m.dated ? m.days : DAYS_1900;
  if (h->kind == TDS_KIND_OFFSET) {
    return put_offset(h, &m, out, out_n, why);
  }
  if (m.placed) {
    return tds_param_refuse(why, "the type keeps no offset");
  }
  return h->kind == TDS_KIND_DATETIME ? put_datetime(h, &m, out, out_n, why)
                                      : put_moment(h, &m, out, out_n, why);
}
