/* SPDX-License-Identifier: MIT */
/* Scalar functions of dates. */
#include <stdio.h>
#include <string.h>

#include "server_scalar_impl.h"
#include "server_text.h"

enum part {
  PART_YEAR,
  PART_QUARTER,
  PART_MONTH,
  PART_DAYOFYEAR,
  PART_DAY,
  PART_WEEK,
  PART_WEEKDAY,
  PART_HOUR,
  PART_MINUTE,
  PART_SECOND,
  PART_MILLISECOND,
  PART_MICROSECOND,
  PART_NANOSECOND,
  PART_NONE,
};

static enum part part_of(const struct tdsd_value *word) {
  static const struct {
    const char *name;
    enum part part;
  } words[] = {{"year", PART_YEAR},
               {"yy", PART_YEAR},
               {"yyyy", PART_YEAR},
               {"quarter", PART_QUARTER},
               {"qq", PART_QUARTER},
               {"q", PART_QUARTER},
               {"month", PART_MONTH},
               {"mm", PART_MONTH},
               {"m", PART_MONTH},
               {"dayofyear", PART_DAYOFYEAR},
               {"dy", PART_DAYOFYEAR},
               {"y", PART_DAYOFYEAR},
               {"day", PART_DAY},
               {"dd", PART_DAY},
               {"d", PART_DAY},
               {"week", PART_WEEK},
               {"wk", PART_WEEK},
               {"ww", PART_WEEK},
               {"weekday", PART_WEEKDAY},
               {"dw", PART_WEEKDAY},
               {"hour", PART_HOUR},
               {"hh", PART_HOUR},
               {"minute", PART_MINUTE},
               {"mi", PART_MINUTE},
               {"n", PART_MINUTE},
               {"second", PART_SECOND},
               {"ss", PART_SECOND},
               {"s", PART_SECOND},
               {"millisecond", PART_MILLISECOND},
               {"ms", PART_MILLISECOND},
               {"microsecond", PART_MICROSECOND},
               {"mcs", PART_MICROSECOND},
               {"nanosecond", PART_NANOSECOND},
               {"ns", PART_NANOSECOND}};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (tdsd_text_same(words[i].name, word->bytes)) {
      return words[i].part;
    }
  }
  return PART_NONE;
}

static int bad_part(const struct scalar_call *call, const char *function) {
  return tdsd_fault_set(call->context->fault, 155, 15,
                        "'%.32s' is not a recognized %s option.",
                        call->args[0].bytes, function);
}

static int date_arg(const struct scalar_call *call,
                    uint32_t i,
                    struct tdsd_value *out) {
  enum tdsd_kind kind = call->args[i].type.kind;
  return scalar_as(
      call, i,
      kind == TDSD_DATETIMEOFFSET ? TDSD_DATETIMEOFFSET : TDSD_DATETIME2, out);
}

#define TICKS_A_SECOND INT64_C(10000000)
#define TICKS_A_DAY    (INT64_C(86400) * TICKS_A_SECOND)

__extension__ typedef __int128 wide_ticks;

static int64_t ticks_of(enum part part) {
  switch ((int)part) {
  case PART_WEEK:
    return 7 * TICKS_A_DAY;
  case PART_HOUR:
    return 3600 * TICKS_A_SECOND;
  case PART_MINUTE:
    return 60 * TICKS_A_SECOND;
  case PART_SECOND:
    return TICKS_A_SECOND;
  case PART_MILLISECOND:
    return 10000;
  case PART_MICROSECOND:
    return 10;
  default:
    return TICKS_A_DAY;
  }
}

static int days_in_month(int year, int month) {
  int32_t first = tdsd_days_from_civil(year, month, 1);
  int32_t next = month == 12 ? tdsd_days_from_civil(year + 1, 1, 1)
                             : tdsd_days_from_civil(year, month + 1, 1);
  return (int)(next - first);
}

static int date_overflow(const struct scalar_call *call) {
  return tdsd_fault_set(call->context->fault, 517, 16,
                        "Adding a value to a '%s' column caused an overflow.",
                        tdsd_kind_name(call->out->type.kind));
}

static int add_months(const struct scalar_call *call,
                      struct tdsd_value *date,
                      int64_t months) {
  int year = 0;
  int month = 0;
  int day = 0;
  tdsd_civil_from_days(date->days, &year, &month, &day);
  int64_t all = (int64_t)year * 12 + month - 1 + months;
  if (months > 120000 || months < -120000 || all < 12 || all >= 120000) {
    return date_overflow(call);
  }
  year = (int)(all / 12);
  month = (int)(all % 12) + 1;
  int most = days_in_month(year, month);
  date->days = tdsd_days_from_civil(year, month, day < most ? day : most);
  return 0;
}

static int add_ticks(const struct scalar_call *call,
                     struct tdsd_value *date,
                     int64_t n,
                     int64_t unit) {
  wide_ticks total =
      (wide_ticks)date->days * TICKS_A_DAY + date->ticks + (wide_ticks)n * unit;
  if (total < 0 || total / TICKS_A_DAY > tdsd_days_from_civil(9999, 12, 31)) {
    return date_overflow(call);
  }
  date->days = (int32_t)(total / TICKS_A_DAY);
  date->ticks = (int64_t)(total % TICKS_A_DAY);
  return 0;
}

int scalar_dateadd(const struct scalar_call *call) {
  struct tdsd_value date;
  int64_t n = 0;
  enum part part = part_of(&call->args[0]);
  if (part == PART_NONE || part == PART_NANOSECOND) {
    return bad_part(call, "dateadd");
  }
  if (scalar_int_arg(call, 1, &n) < 0 || date_arg(call, 2, &date) < 0) {
    return -1;
  }
  int rc = part == PART_YEAR      ? add_months(call, &date, 12 * n)
           : part == PART_QUARTER ? add_months(call, &date, 3 * n)
           : part == PART_MONTH   ? add_months(call, &date, n)
                                  : add_ticks(call, &date, n, ticks_of(part));
  struct tdsd_type type = call->out->type;
  return rc < 0 ? -1
                : tdsd_convert(&date, &type, 0, call->context->arena, call->out,
                               call->context->fault);
}

/* Boundaries crossed between two dates. */
static int64_t boundary(const struct tdsd_value *date, enum part part) {
  int year = 0;
  int month = 0;
  int day = 0;
  tdsd_civil_from_days(date->days, &year, &month, &day);
  switch ((int)part) {
  case PART_YEAR:
    return year;
  case PART_QUARTER:
    return (int64_t)year * 4 + (month - 1) / 3;
  case PART_MONTH:
    return (int64_t)year * 12 + month;
  case PART_WEEK:
    /* Day 0, 0001-01-01, was a Monday; weeks begin on Sunday. */
    return ((int64_t)date->days + 1) / 7;
  case PART_DAY:
  case PART_DAYOFYEAR:
  case PART_WEEKDAY:
    return date->days;
  default:
    return ((int64_t)date->days * (TICKS_A_DAY / ticks_of(part))) +
           date->ticks / ticks_of(part);
  }
}

int scalar_datediff(const struct scalar_call *call) {
  struct tdsd_value from;
  struct tdsd_value to;
  enum part part = part_of(&call->args[0]);
  if (part == PART_NONE || part == PART_NANOSECOND) {
    return bad_part(call, "datediff");
  }
  if (date_arg(call, 1, &from) < 0 || date_arg(call, 2, &to) < 0) {
    return -1;
  }
  int64_t n = boundary(&to, part) - boundary(&from, part);
  if (call->out->type.kind == TDSD_INT && (n > INT32_MAX || n < INT32_MIN)) {
    return tdsd_fault_set(call->context->fault, 535, 16,
                          "The datediff function resulted in an overflow. The "
                          "number of dateparts separating two date/time "
                          "instances is too large. Try to use datediff with a "
                          "less precise datepart.");
  }
  call->out->integer = n;
  return 0;
}

static int64_t part_value(const struct tdsd_value *date, enum part part) {
  int year = 0;
  int month = 0;
  int day = 0;
  tdsd_civil_from_days(date->days, &year, &month, &day);
  int32_t new_year = tdsd_days_from_civil(year, 1, 1);
  switch ((int)part) {
  case PART_YEAR:
    return year;
  case PART_QUARTER:
    return (month - 1) / 3 + 1;
  case PART_MONTH:
    return month;
  case PART_DAY:
    return day;
  case PART_DAYOFYEAR:
    return date->days - new_year + 1;
  case PART_WEEK:
    return ((int64_t)date->days + 1) / 7 - ((int64_t)new_year + 1) / 7 + 1;
  case PART_WEEKDAY:
    return ((int64_t)date->days + 1) % 7 + 1;
  case PART_HOUR:
    return date->ticks / (3600 * TICKS_A_SECOND);
  case PART_MINUTE:
    return date->ticks / (60 * TICKS_A_SECOND) % 60;
  case PART_SECOND:
    return date->ticks / TICKS_A_SECOND % 60;
  case PART_MILLISECOND:
    return date->ticks / 10000 % 1000;
  case PART_MICROSECOND:
    return date->ticks / 10 % 1000000;
  default:
    return date->ticks % TICKS_A_SECOND * 100;
  }
}

int scalar_datepart(const struct scalar_call *call) {
  struct tdsd_value date;
  enum part part = part_of(&call->args[0]);
  if (part == PART_NONE) {
    return bad_part(call, "datepart");
  }
  if (date_arg(call, 1, &date) < 0) {
    return -1;
  }
  call->out->integer = part_value(&date, part);
  return 0;
}

int scalar_datename(const struct scalar_call *call) {
  static const char *const months[] = {
      "January", "February", "March",     "April",   "May",      "June",
      "July",    "August",   "September", "October", "November", "December"};
  static const char *const days[] = {"Sunday",    "Monday",   "Tuesday",
                                     "Wednesday", "Thursday", "Friday",
                                     "Saturday"};
  struct tdsd_value date;
  char text[32];
  enum part part = part_of(&call->args[0]);
  if (part == PART_NONE) {
    return bad_part(call, "datename");
  }
  if (date_arg(call, 1, &date) < 0) {
    return -1;
  }
  int64_t value = part_value(&date, part);
  if (part == PART_MONTH) {
    return scalar_set_text(call, months[value - 1], strlen(months[value - 1]));
  }
  if (part == PART_WEEKDAY) {
    return scalar_set_text(call, days[value - 1], strlen(days[value - 1]));
  }
  int n = snprintf(text, sizeof text, "%lld", (long long)value);
  return scalar_set_text(call, text, n < 0 ? 0 : (size_t)n);
}

static int one_part(const struct scalar_call *call, enum part part) {
  struct tdsd_value date;
  if (date_arg(call, 0, &date) < 0) {
    return -1;
  }
  call->out->integer = part_value(&date, part);
  return 0;
}

int scalar_year(const struct scalar_call *call) {
  return one_part(call, PART_YEAR);
}

int scalar_month(const struct scalar_call *call) {
  return one_part(call, PART_MONTH);
}

int scalar_day(const struct scalar_call *call) {
  return one_part(call, PART_DAY);
}

int scalar_eomonth(const struct scalar_call *call) {
  struct tdsd_value date;
  int64_t months = 0;
  int year = 0;
  int month = 0;
  int day = 0;
  if (date_arg(call, 0, &date) < 0 ||
      (call->nargs == 2 && scalar_int_arg(call, 1, &months) < 0) ||
      add_months(call, &date, months) < 0) {
    return -1;
  }
  tdsd_civil_from_days(date.days, &year, &month, &day);
  call->out->days =
      tdsd_days_from_civil(year, month, days_in_month(year, month));
  return 0;
}

int scalar_datefromparts(const struct scalar_call *call) {
  int64_t n[3];
  for (uint32_t i = 0; i < 3; i++) {
    if (scalar_int_arg(call, i, &n[i]) < 0) {
      return -1;
    }
  }
  if (n[0] < 1 || n[0] > 9999 || n[1] < 1 || n[1] > 12 || n[2] < 1 ||
      n[2] > days_in_month((int)n[0], (int)n[1])) {
    return tdsd_fault_set(call->context->fault, 289, 16,
                          "Cannot construct data type date, some of the "
                          "arguments have values which are not valid.");
  }
  call->out->days = tdsd_days_from_civil((int)n[0], (int)n[1], (int)n[2]);
  return 0;
}
