/* SPDX-License-Identifier: MIT */
/* Dates and times: civil calendar, reading and printing. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "server_value.h"

#define TICKS_SECOND INT64_C(10000000)
#define TICKS_MINUTE (60 * TICKS_SECOND)
#define TICKS_HOUR   (60 * TICKS_MINUTE)

static bool leap(int year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static int month_days(int year, int month) {
  static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  return days[month - 1] + (month == 2 && leap(year) ? 1 : 0);
}

int32_t tdsd_days_from_civil(int year, int month, int day) {
  int y = year - 1;
  int32_t days = y * 365 + y / 4 - y / 100 + y / 400;
  for (int m = 1; m < month; m++) {
    days += month_days(year, m);
  }
  return days + day - 1;
}

void tdsd_civil_from_days(int32_t days, int *year, int *month, int *day) {
  int y = days / 366 + 1; /* never too late; walk up from there */
  while (tdsd_days_from_civil(y + 1, 1, 1) <= days) {
    y++;
  }
  int rest = days - tdsd_days_from_civil(y, 1, 1);
  int m = 1;
  while (rest >= month_days(y, m)) {
    rest -= month_days(y, m);
    m++;
  }
  *year = y;
  *month = m;
  *day = rest + 1;
}

struct cursor {
  const char *text;
  size_t len;
  size_t at;
};

static bool eat(struct cursor *in, char c) {
  if (in->at < in->len && in->text[in->at] == c) {
    in->at++;
    return true;
  }
  return false;
}

static void eat_spaces(struct cursor *in) {
  while (eat(in, ' ')) {
  }
}

/* Reads between least and most digits. */
static bool number(struct cursor *in, int least, int most, int *out) {
  int n = 0;
  int value = 0;
  while (n < most && in->at < in->len &&
         isdigit((unsigned char)in->text[in->at])) {
    value = value * 10 + (in->text[in->at++] - '0');
    n++;
  }
  *out = value;
  return n >= least;
}

/* yyyy-mm-dd, yyyy/mm/dd or yyyymmdd. */
static bool read_date(struct cursor *in, struct tdsd_value *out) {
  int year = 0;
  int month = 0;
  int day = 0;
  if (!number(in, 4, 4, &year)) {
    return false;
  }
  char mark = eat(in, '-') ? '-' : eat(in, '/') ? '/' : 0;
  int least = mark == 0 ? 2 : 1;
  if (!number(in, least, 2, &month) || (mark != 0 && !eat(in, mark)) ||
      !number(in, least, 2, &day)) {
    return false;
  }
  if (year < 1 || month < 1 || month > 12 || day < 1 ||
      day > month_days(year, month)) {
    return false;
  }
  out->days = tdsd_days_from_civil(year, month, day);
  return true;
}

/* The digits behind the seconds' point; the eighth rounds. */
static void read_fraction(struct cursor *in, int64_t *ticks) {
  int64_t unit = TICKS_SECOND / 10;
  bool first_lost = true;
  while (in->at < in->len && isdigit((unsigned char)in->text[in->at])) {
    int digit = in->text[in->at++] - '0';
    if (unit > 0) {
      *ticks += digit * unit;
      unit /= 10;
    } else if (first_lost) {
      *ticks += digit >= 5 ? 1 : 0;
      first_lost = false;
    }
  }
}

static bool read_half(struct cursor *in, int *hour) {
  eat_spaces(in);
  if (in->len - in->at < 2 ||
      toupper((unsigned char)in->text[in->at + 1]) != 'M') {
    return true;
  }
  int half = toupper((unsigned char)in->text[in->at]);
  if ((half != 'A' && half != 'P') || *hour < 1 || *hour > 12) {
    return false;
  }
  *hour = *hour % 12 + (half == 'P' ? 12 : 0);
  in->at += 2;
  return true;
}

/* hh:mm[:ss[.fffffff]] [AM|PM] */
static bool read_time(struct cursor *in, struct tdsd_value *out) {
  int hour = 0;
  int minute = 0;
  int second = 0;
  int64_t fraction = 0;
  if (!number(in, 1, 2, &hour) || !eat(in, ':') || !number(in, 1, 2, &minute)) {
    return false;
  }
  if (eat(in, ':')) {
    if (!number(in, 1, 2, &second)) {
      return false;
    }
    if (eat(in, '.')) {
      read_fraction(in, &fraction);
    }
  }
  if (!read_half(in, &hour) || hour > 23 || minute > 59 || second > 59) {
    return false;
  }
  out->ticks = hour * TICKS_HOUR + minute * TICKS_MINUTE +
               second * TICKS_SECOND + fraction;
  return true;
}

/* Z, +hh:mm or -hh:mm */
static bool read_offset(struct cursor *in, struct tdsd_value *out) {
  int hours = 0;
  int minutes = 0;
  eat_spaces(in);
  if (in->at == in->len || eat(in, 'Z')) {
    return true;
  }
  bool west = eat(in, '-');
  if (!west && !eat(in, '+')) {
    return false;
  }
  if (!number(in, 2, 2, &hours) || !eat(in, ':') ||
      !number(in, 2, 2, &minutes) || minutes > 59 ||
      hours * 60 + minutes > 840) {
    return false;
  }
  out->offset_min = (west ? -1 : 1) * (hours * 60 + minutes);
  return true;
}

int tdsd_date_parse(const char *text, size_t len, struct tdsd_value *out) {
  struct cursor in = {text, len, 0};
  struct tdsd_value value = {.type = {.kind = TDSD_DATETIMEOFFSET, .scale = 7}};
  while (in.len > 0 && in.text[in.len - 1] == ' ') {
    in.len--;
  }
  eat_spaces(&in);
  value.days = tdsd_days_from_civil(1900, 1, 1);
  if (in.at == in.len) {
    *out = value; /* an empty string is 1900-01-01 */
    return 0;
  }
  struct cursor only_time = in;
  if (read_time(&only_time, &value)) {
    in = only_time;
  } else {
    if (!read_date(&in, &value)) {
      return -1;
    }
    bool more = eat(&in, 'T') || in.at < in.len;
    eat_spaces(&in);
    if (more && !read_time(&in, &value)) {
      return -1;
    }
  }
  if (!read_offset(&in, &value) || in.at != in.len) {
    return -1;
  }
  *out = value;
  return 0;
}

/* Milliseconds and beyond, as many digits as the type has. */
static size_t print_fraction(const struct tdsd_value *value,
                             char *out,
                             size_t cap) {
  unsigned digits = value->type.kind == TDSD_DATETIME ? 3
                    : value->type.kind == TDSD_SMALLDATETIME
                        ? 0
                        : value->type.scale;
  if (digits == 0) {
    return 0;
  }
  int64_t fraction = value->ticks % TICKS_SECOND;
  if (value->type.kind == TDSD_DATETIME) {
    fraction += 5000; /* 3.333 ms steps are shown to the nearest ms */
  }
  for (unsigned i = digits; i < 7; i++) {
    fraction /= 10;
  }
  int n = snprintf(out, cap, ".%0*d", (int)digits, (int)fraction);
  return n < 0 ? 0 : (size_t)n;
}

static size_t print_time(const struct tdsd_value *value,
                         bool fraction,
                         char *out,
                         size_t cap) {
  int64_t seconds = value->ticks / TICKS_SECOND;
  int n = snprintf(out, cap, "%02d:%02d:%02d", (int)(seconds / 3600),
                   (int)(seconds / 60 % 60), (int)(seconds % 60));
  size_t len = n < 0 ? 0 : (size_t)n;
  return fraction ? len + print_fraction(value, out + len, cap - len) : len;
}

/* Style 0 of datetime and smalldatetime: Jan  1 1900 12:00AM. */
static size_t print_old(const struct tdsd_value *value, char *out, size_t cap) {
  static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
  int year = 0;
  int month = 0;
  int day = 0;
  tdsd_civil_from_days(value->days, &year, &month, &day);
  int minutes = (int)(value->ticks / TICKS_MINUTE);
  int hour = minutes / 60 % 12 == 0 ? 12 : minutes / 60 % 12;
  int n = snprintf(out, cap, "%.3s %2d %d %2d:%02d%s", months + 3 * (month - 1),
                   day, year, hour, minutes % 60, minutes >= 720 ? "PM" : "AM");
  return n < 0 ? 0 : (size_t)n;
}

static size_t print_offset(const struct tdsd_value *value,
                           char *out,
                           size_t cap) {
  int offset = value->offset_min;
  int size = offset < 0 ? -offset : offset;
  int n = snprintf(out, cap, " %c%02d:%02d", offset < 0 ? '-' : '+', size / 60,
                   size % 60);
  return n < 0 ? 0 : (size_t)n;
}

size_t tdsd_date_print(const struct tdsd_value *value,
                       int style,
                       char *out,
                       size_t cap) {
  enum tdsd_kind kind = value->type.kind;
  bool old = kind == TDSD_DATETIME || kind == TDSD_SMALLDATETIME;
  if (old && style == 0) {
    return print_old(value, out, cap);
  }
  size_t len = 0;
  if (kind != TDSD_TIME) {
    int year = 0;
    int month = 0;
    int day = 0;
    tdsd_civil_from_days(value->days, &year, &month, &day);
    int n = snprintf(out, cap, "%04d-%02d-%02d", year, month, day);
    len = n < 0 ? 0 : (size_t)n;
  }
  if (kind == TDSD_DATE) {
    return len;
  }
  if (kind != TDSD_TIME) {
    out[len++] = style == 126 ? 'T' : ' ';
  }
  len += print_time(value, style != 120, out + len, cap - len);
  if (kind == TDSD_DATETIMEOFFSET) {
    len += print_offset(value, out + len, cap - len);
  }
  return len;
}
