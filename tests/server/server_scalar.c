/* SPDX-License-Identifier: MIT */
/* Scalar functions that only statements on tables use.  Lengths and places are
 * counted in 16-bit units, as nvarchar counts them. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include <openssl/rand.h>

#include "server_const.h"
#include "server_rewrite.h"
#include "server_text.h"

#define ARGS_MAX 16u

struct call {
  const struct tdsd_value *args;
  uint32_t nargs;
  const struct tdsd_context *context;
  struct tdsd_value *out; /* its type is set */
};

static int no_memory(const struct call *call) {
  return tdsd_fault_set(call->context->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

static int set_text(const struct call *call, const char *text, size_t len) {
  char *copy = tdsd_arena_copy(call->context->arena, text, len);
  if (copy == NULL) {
    return no_memory(call);
  }
  call->out->bytes = copy;
  call->out->len = len;
  return 0;
}

static int as(const struct call *call,
              uint32_t i,
              enum tdsd_kind kind,
              struct tdsd_value *out) {
  struct tdsd_type type = {.kind = kind, .size = TDSD_SIZE_MAX, .scale = 7};
  return tdsd_convert(&call->args[i], &type, 0, call->context->arena, out,
                      call->context->fault);
}

static int text_arg(const struct call *call,
                    uint32_t i,
                    struct tdsd_value *out) {
  return as(call, i, TDSD_NVARCHAR, out);
}

static int int_arg(const struct call *call, uint32_t i, int64_t *out) {
  struct tdsd_value value;
  if (as(call, i, TDSD_BIGINT, &value) < 0) {
    return -1;
  }
  *out = value.integer;
  return 0;
}

static bool any_null(const struct call *call) {
  for (uint32_t i = 0; i < call->nargs; i++) {
    if (call->args[i].is_null) {
      return true;
    }
  }
  return false;
}

/* Numbers. */

static int eval_abs(const struct call *call) {
  struct tdsd_value *out = call->out;
  if (tdsd_convert(&call->args[0], &out->type, 0, call->context->arena, out,
                   call->context->fault) < 0) {
    return -1;
  }
  if (out->integer == INT64_MIN ||
      (out->type.kind == TDSD_INT && out->integer == INT32_MIN)) {
    return tdsd_fault_set(call->context->fault, 8115, 16,
                          "Arithmetic overflow error converting expression to "
                          "data type %s.",
                          tdsd_kind_name(out->type.kind));
  }
  out->integer = out->integer < 0 ? -out->integer : out->integer;
  out->real = fabs(out->real);
  out->negative = false;
  return 0;
}

/* Rounds the magnitude of a decimal to places behind the point. */
static int round_decimal(struct tdsd_value *value, int64_t places, int mode) {
  unsigned scale = value->type.scale;
  if (places >= (int64_t)scale) {
    return 0;
  }
  int64_t drop = (int64_t)scale - places;
  if (drop > 38) {
    value->magnitude = 0;
    return 0;
  }
  tdsd_u128 unit = tdsd_pow10((unsigned)drop);
  tdsd_u128 rest = value->magnitude % unit;
  value->magnitude -= rest;
  bool up = mode == 0   ? rest >= unit - rest && rest != 0
            : mode == 1 ? rest != 0 && !value->negative
            : mode == 2 ? rest != 0 && value->negative
                        : false;
  value->magnitude += up ? unit : 0;
  return 0;
}

static double round_real(double value, int64_t places, int mode) {
  double unit = pow(10.0, (double)places);
  double scaled = value * unit;
  double rounded = mode == 0   ? round(scaled)
                   : mode == 1 ? ceil(scaled)
                   : mode == 2 ? floor(scaled)
                               : trunc(scaled);
  return isfinite(scaled) ? rounded / unit : value;
}

/* mode: 0 half away from zero, 1 up, 2 down, 3 towards zero. */
static int rounding(const struct call *call, int64_t places, int mode) {
  struct tdsd_value *out = call->out;
  struct tdsd_type type = out->type;
  struct tdsd_value value = call->args[0];
  if (type.kind == TDSD_FLOAT) {
    if (as(call, 0, TDSD_FLOAT, &value) < 0) {
      return -1;
    }
    out->real = round_real(value.real, places, mode);
    return 0;
  }
  struct tdsd_value exact;
  if (tdsd_kind_is_text(value.type.kind) ||
      tdsd_value_decimal(&value, &exact) < 0) {
    return tdsd_fault_set(call->context->fault, 8116, 16,
                          "Argument data type %s is invalid for argument 1 of "
                          "a rounding function.",
                          tdsd_kind_name(value.type.kind));
  }
  (void)round_decimal(&exact, places, mode);
  if (exact.type.precision < 38 &&
      tdsd_digits(exact.magnitude) > exact.type.precision) {
    exact.type.precision++;
  }
  return tdsd_convert(&exact, &type, 0, call->context->arena, out,
                      call->context->fault);
}

static int eval_ceiling(const struct call *call) {
  return rounding(call, 0, 1);
}

static int eval_floor(const struct call *call) {
  return rounding(call, 0, 2);
}

static int eval_round(const struct call *call) {
  int64_t places = 0;
  int64_t cut = 0;
  if (int_arg(call, 1, &places) < 0 ||
      (call->nargs == 3 && int_arg(call, 2, &cut) < 0)) {
    return -1;
  }
  return rounding(call, places, cut != 0 ? 3 : 0);
}

static int eval_sign(const struct call *call) {
  struct tdsd_value value;
  if (as(call, 0, TDSD_FLOAT, &value) < 0) {
    return -1;
  }
  double sign = value.real > 0 ? 1 : value.real < 0 ? -1 : 0;
  struct tdsd_value result = {.type = {.kind = TDSD_FLOAT}, .real = sign};
  return tdsd_convert(&result, &call->out->type, 0, call->context->arena,
                      call->out, call->context->fault);
}

static int real_result(const struct call *call, double value) {
  if (!isfinite(value)) {
    return tdsd_fault_set(call->context->fault, 3623, 16,
                          "An invalid floating point operation occurred.");
  }
  struct tdsd_value result = {.type = {.kind = TDSD_FLOAT}, .real = value};
  return tdsd_convert(&result, &call->out->type, 0, call->context->arena,
                      call->out, call->context->fault);
}

static int eval_real(const struct call *call, double (*fn)(double)) {
  struct tdsd_value value;
  return as(call, 0, TDSD_FLOAT, &value) < 0
             ? -1
             : real_result(call, fn(value.real));
}

static int eval_sqrt(const struct call *call) {
  return eval_real(call, sqrt);
}

static int eval_exp(const struct call *call) {
  return eval_real(call, exp);
}

static int eval_log(const struct call *call) {
  return eval_real(call, log);
}

static int eval_log10(const struct call *call) {
  return eval_real(call, log10);
}

static double squared(double value) {
  return value * value;
}

static int eval_square(const struct call *call) {
  return eval_real(call, squared);
}

static int eval_pi(const struct call *call) {
  return real_result(call, 3.14159265358979323846);
}

static int eval_power(const struct call *call) {
  struct tdsd_value a;
  struct tdsd_value b;
  return as(call, 0, TDSD_FLOAT, &a) < 0 || as(call, 1, TDSD_FLOAT, &b) < 0
             ? -1
             : real_result(call, pow(a.real, b.real));
}

/* Texts. */

static int invalid_length(const struct call *call, const char *name) {
  return tdsd_fault_set(call->context->fault, 537, 16,
                        "Invalid length parameter passed to the %s function.",
                        name);
}

static int eval_left(const struct call *call) {
  struct tdsd_value text;
  int64_t n = 0;
  if (text_arg(call, 0, &text) < 0 || int_arg(call, 1, &n) < 0) {
    return -1;
  }
  if (n < 0) {
    return invalid_length(call, "left");
  }
  return set_text(call, text.bytes,
                  tdsd_text_cut(text.bytes, text.len, (size_t)n));
}

static int eval_right(const struct call *call) {
  struct tdsd_value text;
  int64_t n = 0;
  if (text_arg(call, 0, &text) < 0 || int_arg(call, 1, &n) < 0) {
    return -1;
  }
  if (n < 0) {
    return invalid_length(call, "right");
  }
  size_t units = tdsd_text_units(text.bytes, text.len);
  size_t skip = (uint64_t)n < units
                    ? tdsd_text_cut(text.bytes, text.len, units - (size_t)n)
                    : 0;
  return set_text(call, text.bytes + skip, text.len - skip);
}

static int eval_substring(const struct call *call) {
  struct tdsd_value text;
  int64_t start = 0;
  int64_t n = 0;
  if (text_arg(call, 0, &text) < 0 || int_arg(call, 1, &start) < 0 ||
      int_arg(call, 2, &n) < 0) {
    return -1;
  }
  if (n < 0) {
    return invalid_length(call, "substring");
  }
  int64_t units = (int64_t)tdsd_text_units(text.bytes, text.len);
  int64_t end = start > units ? start : n > units ? units + 1 : start + n;
  start = start < 1 ? 1 : start;
  if (start > units || end <= start) {
    return set_text(call, "", 0);
  }
  size_t from = tdsd_text_cut(text.bytes, text.len, (size_t)start - 1);
  size_t to = tdsd_text_cut(text.bytes, text.len, (size_t)end - 1);
  return set_text(call, text.bytes + from, to - from);
}

/* Compares one letter without regard to the case of ASCII. */
static bool same_at(const char *a, const char *b, size_t len) {
  return strncasecmp(a, b, len) == 0;
}

static int eval_charindex(const struct call *call) {
  struct tdsd_value what;
  struct tdsd_value text;
  int64_t start = 1;
  if (text_arg(call, 0, &what) < 0 || text_arg(call, 1, &text) < 0 ||
      (call->nargs == 3 && int_arg(call, 2, &start) < 0)) {
    return -1;
  }
  size_t at =
      tdsd_text_cut(text.bytes, text.len, start < 1 ? 0 : (size_t)start - 1);
  call->out->integer = 0;
  for (; what.len != 0 && at + what.len <= text.len; at++) {
    if (same_at(text.bytes + at, what.bytes, what.len)) {
      call->out->integer = (int64_t)tdsd_text_units(text.bytes, at) + 1;
      return 0;
    }
  }
  return 0;
}

static int eval_replace(const struct call *call) {
  struct tdsd_value text;
  struct tdsd_value what;
  struct tdsd_value with;
  if (text_arg(call, 0, &text) < 0 || text_arg(call, 1, &what) < 0 ||
      text_arg(call, 2, &with) < 0) {
    return -1;
  }
  if (what.len == 0) {
    return set_text(call, text.bytes, text.len);
  }
  size_t room = text.len / what.len * with.len + text.len;
  char *to = room > TDSD_CAP_VALUE
                 ? NULL
                 : tdsd_arena_take(call->context->arena, room + 1);
  if (to == NULL) {
    return no_memory(call);
  }
  size_t n = 0;
  for (size_t at = 0; at < text.len;) {
    if (at + what.len <= text.len &&
        same_at(text.bytes + at, what.bytes, what.len)) {
      memcpy(to + n, with.bytes, with.len);
      n += with.len;
      at += what.len;
    } else {
      to[n++] = text.bytes[at++];
    }
  }
  call->out->bytes = to;
  call->out->len = n;
  return 0;
}

static int trim(const struct call *call, bool left, bool right) {
  struct tdsd_value text;
  if (text_arg(call, 0, &text) < 0) {
    return -1;
  }
  size_t from = 0;
  size_t to = text.len;
  while (left && from < to && text.bytes[from] == ' ') {
    from++;
  }
  while (right && to > from && text.bytes[to - 1] == ' ') {
    to--;
  }
  return set_text(call, text.bytes + from, to - from);
}

static int eval_ltrim(const struct call *call) {
  return trim(call, true, false);
}

static int eval_rtrim(const struct call *call) {
  return trim(call, false, true);
}

static int eval_trim(const struct call *call) {
  return trim(call, true, true);
}

static int eval_reverse(const struct call *call) {
  struct tdsd_value text;
  if (text_arg(call, 0, &text) < 0) {
    return -1;
  }
  char *to = tdsd_arena_take(call->context->arena, text.len + 1);
  if (to == NULL) {
    return no_memory(call);
  }
  size_t end = text.len;
  for (size_t at = 0; at < text.len;) {
    size_t start = at;
    (void)tdsd_text_next(text.bytes, text.len, &at);
    end -= at - start;
    memcpy(to + end, text.bytes + start, at - start);
  }
  call->out->bytes = to;
  call->out->len = text.len;
  return 0;
}

static int eval_space(const struct call *call) {
  int64_t n = 0;
  if (int_arg(call, 0, &n) < 0) {
    return -1;
  }
  if (n < 0) {
    call->out->is_null = true;
    return 0;
  }
  n = n > 8000 ? 8000 : n;
  char *to = tdsd_arena_take(call->context->arena, (size_t)n + 1);
  if (to == NULL) {
    return no_memory(call);
  }
  memset(to, ' ', (size_t)n);
  call->out->bytes = to;
  call->out->len = (size_t)n;
  return 0;
}

static int eval_stuff(const struct call *call) {
  struct tdsd_value text;
  struct tdsd_value with;
  int64_t start = 0;
  int64_t n = 0;
  if (text_arg(call, 0, &text) < 0 || int_arg(call, 1, &start) < 0 ||
      int_arg(call, 2, &n) < 0 || text_arg(call, 3, &with) < 0) {
    return -1;
  }
  int64_t units = (int64_t)tdsd_text_units(text.bytes, text.len);
  if (start < 1 || start > units || n < 0) {
    call->out->is_null = true;
    return 0;
  }
  n = n > units ? units : n;
  size_t from = tdsd_text_cut(text.bytes, text.len, (size_t)start - 1);
  size_t to = tdsd_text_cut(text.bytes, text.len, (size_t)(start - 1 + n));
  char *joined = tdsd_arena_take(call->context->arena, text.len + with.len + 1);
  if (joined == NULL) {
    return no_memory(call);
  }
  memcpy(joined, text.bytes, from);
  memcpy(joined + from, with.bytes, with.len);
  memcpy(joined + from + with.len, text.bytes + to, text.len - to);
  call->out->bytes = joined;
  call->out->len = text.len - (to - from) + with.len;
  return 0;
}

static int eval_unicode(const struct call *call) {
  struct tdsd_value text;
  size_t at = 0;
  if (text_arg(call, 0, &text) < 0) {
    return -1;
  }
  call->out->is_null = text.len == 0;
  call->out->integer =
      text.len == 0 ? 0 : (int64_t)tdsd_text_next(text.bytes, text.len, &at);
  return 0;
}

static int eval_ascii(const struct call *call) {
  struct tdsd_value text;
  uint8_t byte = 0;
  if (text_arg(call, 0, &text) < 0) {
    return -1;
  }
  size_t one = 0;
  if (text.len != 0) {
    (void)tdsd_text_next(text.bytes, text.len, &one);
    (void)tdsd_text_to_1252(text.bytes, one, &byte);
  }
  call->out->is_null = text.len == 0;
  call->out->integer = byte;
  return 0;
}

static int concat(const struct call *call, uint32_t first) {
  struct tdsd_value parts[ARGS_MAX];
  size_t len = 0;
  for (uint32_t i = 0; i < call->nargs; i++) {
    if (text_arg(call, i, &parts[i]) < 0) {
      return -1;
    }
    len += parts[i].len + parts[0].len;
  }
  char *to = tdsd_arena_take(call->context->arena, len + 1);
  if (to == NULL) {
    return no_memory(call);
  }
  size_t n = 0;
  bool some = false;
  for (uint32_t i = first; i < call->nargs; i++) {
    if (parts[i].is_null) {
      continue; /* NULL counts as nothing here */
    }
    if (first == 1 && some) {
      memcpy(to + n, parts[0].bytes, parts[0].len);
      n += parts[0].len;
    }
    memcpy(to + n, parts[i].bytes, parts[i].len);
    n += parts[i].len;
    some = true;
  }
  call->out->is_null = false;
  call->out->bytes = to;
  call->out->len = n;
  return 0;
}

static int eval_concat(const struct call *call) {
  return concat(call, 0);
}

static int eval_concat_ws(const struct call *call) {
  return concat(call, 1);
}

static int eval_quotename(const struct call *call) {
  struct tdsd_value text;
  if (text_arg(call, 0, &text) < 0) {
    return -1;
  }
  char *to = tdsd_arena_take(call->context->arena, 2 * text.len + 3);
  if (to == NULL) {
    return no_memory(call);
  }
  size_t n = 0;
  to[n++] = '[';
  for (size_t i = 0; i < text.len; i++) {
    to[n++] = text.bytes[i];
    if (text.bytes[i] == ']') {
      to[n++] = ']';
    }
  }
  to[n++] = ']';
  call->out->bytes = to;
  call->out->len = n;
  return 0;
}

static int eval_isnumeric(const struct call *call) {
  struct tdsd_fault ignored = {0};
  struct tdsd_type type = {.kind = TDSD_FLOAT};
  struct tdsd_value value;
  call->out->is_null = false;
  call->out->integer =
      !call->args[0].is_null &&
      tdsd_convert(&call->args[0], &type, 0, call->context->arena, &value,
                   &ignored) == 0;
  return 0;
}

static int eval_choose(const struct call *call) {
  int64_t n = 0;
  if (int_arg(call, 0, &n) < 0) {
    return -1;
  }
  if (call->args[0].is_null || n < 1 || n >= (int64_t)call->nargs) {
    call->out->is_null = true;
    return 0;
  }
  struct tdsd_type type = call->out->type;
  return tdsd_convert(&call->args[n], &type, 0, call->context->arena, call->out,
                      call->context->fault);
}

static int eval_newid(const struct call *call) {
  if (RAND_bytes(call->out->guid, 16) != 1) {
    return no_memory(call);
  }
  /* Version 4 and its variant, at their places in the wire's order. */
  call->out->guid[7] = (uint8_t)((call->out->guid[7] & 0x0F) | 0x40);
  call->out->guid[8] = (uint8_t)((call->out->guid[8] & 0x3F) | 0x80);
  return 0;
}

/* Dates. */

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

static int bad_part(const struct call *call, const char *function) {
  return tdsd_fault_set(call->context->fault, 155, 15,
                        "'%.32s' is not a recognized %s option.",
                        call->args[0].bytes, function);
}

static int date_arg(const struct call *call,
                    uint32_t i,
                    struct tdsd_value *out) {
  enum tdsd_kind kind = call->args[i].type.kind;
  return as(call, i,
            kind == TDSD_DATETIMEOFFSET ? TDSD_DATETIMEOFFSET : TDSD_DATETIME2,
            out);
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

static int date_overflow(const struct call *call) {
  return tdsd_fault_set(call->context->fault, 517, 16,
                        "Adding a value to a '%s' column caused an overflow.",
                        tdsd_kind_name(call->out->type.kind));
}

static int add_months(const struct call *call,
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

static int add_ticks(const struct call *call,
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

static int eval_dateadd(const struct call *call) {
  struct tdsd_value date;
  int64_t n = 0;
  enum part part = part_of(&call->args[0]);
  if (part == PART_NONE || part == PART_NANOSECOND) {
    return bad_part(call, "dateadd");
  }
  if (int_arg(call, 1, &n) < 0 || date_arg(call, 2, &date) < 0) {
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

static int eval_datediff(const struct call *call) {
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

static int eval_datepart(const struct call *call) {
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

static int eval_datename(const struct call *call) {
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
    return set_text(call, months[value - 1], strlen(months[value - 1]));
  }
  if (part == PART_WEEKDAY) {
    return set_text(call, days[value - 1], strlen(days[value - 1]));
  }
  int n = snprintf(text, sizeof text, "%lld", (long long)value);
  return set_text(call, text, n < 0 ? 0 : (size_t)n);
}

static int one_part(const struct call *call, enum part part) {
  struct tdsd_value date;
  if (date_arg(call, 0, &date) < 0) {
    return -1;
  }
  call->out->integer = part_value(&date, part);
  return 0;
}

static int eval_year(const struct call *call) {
  return one_part(call, PART_YEAR);
}

static int eval_month(const struct call *call) {
  return one_part(call, PART_MONTH);
}

static int eval_day(const struct call *call) {
  return one_part(call, PART_DAY);
}

static int eval_eomonth(const struct call *call) {
  struct tdsd_value date;
  int64_t months = 0;
  int year = 0;
  int month = 0;
  int day = 0;
  if (date_arg(call, 0, &date) < 0 ||
      (call->nargs == 2 && int_arg(call, 1, &months) < 0) ||
      add_months(call, &date, months) < 0) {
    return -1;
  }
  tdsd_civil_from_days(date.days, &year, &month, &day);
  call->out->days =
      tdsd_days_from_civil(year, month, days_in_month(year, month));
  return 0;
}

static int eval_datefromparts(const struct call *call) {
  int64_t n[3];
  for (uint32_t i = 0; i < 3; i++) {
    if (int_arg(call, i, &n[i]) < 0) {
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

/* How a result's type comes about. */
enum rule {
  RULE_FIXED, /* kind, size */
  RULE_TEXT,  /* the text type of argument 0, as long */
  RULE_LONG,  /* the same, as long as can be */
  RULE_EXACT, /* argument 0's number type; small integers become int */
  RULE_ROUND, /* as RULE_EXACT, and decimals keep their scale */
  RULE_WHOLE, /* as RULE_EXACT, and decimals lose their scale */
  RULE_DATE,  /* argument 2's date type; text becomes datetime */
  RULE_MEET,  /* the type in which arguments 1 and on meet */
};

static const struct function {
  const char *name;
  uint8_t least, most;
  enum rule rule;
  enum tdsd_kind kind;
  uint32_t size;
  bool nulls; /* it wants to see NULLs */
  int (*eval)(const struct call *call);
} functions[] = {
    {"abs", 1, 1, RULE_EXACT, TDSD_INT, 0, false, eval_abs},
    {"ascii", 1, 1, RULE_FIXED, TDSD_INT, 0, false, eval_ascii},
    {"ceiling", 1, 1, RULE_WHOLE, TDSD_INT, 0, false, eval_ceiling},
    {"charindex", 2, 3, RULE_FIXED, TDSD_INT, 0, false, eval_charindex},
    {"choose", 2, 16, RULE_MEET, TDSD_INT, 0, true, eval_choose},
    {"concat", 2, 16, RULE_FIXED, TDSD_NVARCHAR, 4000, true, eval_concat},
    {"concat_ws", 3, 16, RULE_FIXED, TDSD_NVARCHAR, 4000, true, eval_concat_ws},
    {"dateadd", 3, 3, RULE_DATE, TDSD_DATETIME, 0, false, eval_dateadd},
    {"datediff", 3, 3, RULE_FIXED, TDSD_INT, 0, false, eval_datediff},
    {"datediff_big", 3, 3, RULE_FIXED, TDSD_BIGINT, 0, false, eval_datediff},
    {"datefromparts", 3, 3, RULE_FIXED, TDSD_DATE, 0, false,
     eval_datefromparts},
    {"datename", 2, 2, RULE_FIXED, TDSD_NVARCHAR, 30, false, eval_datename},
    {"datepart", 2, 2, RULE_FIXED, TDSD_INT, 0, false, eval_datepart},
    {"day", 1, 1, RULE_FIXED, TDSD_INT, 0, false, eval_day},
    {"eomonth", 1, 2, RULE_FIXED, TDSD_DATE, 0, false, eval_eomonth},
    {"exp", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, eval_exp},
    {"floor", 1, 1, RULE_WHOLE, TDSD_INT, 0, false, eval_floor},
    {"isnumeric", 1, 1, RULE_FIXED, TDSD_INT, 0, true, eval_isnumeric},
    {"left", 2, 2, RULE_TEXT, TDSD_NVARCHAR, 0, false, eval_left},
    {"log", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, eval_log},
    {"log10", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, eval_log10},
    {"ltrim", 1, 1, RULE_TEXT, TDSD_NVARCHAR, 0, false, eval_ltrim},
    {"month", 1, 1, RULE_FIXED, TDSD_INT, 0, false, eval_month},
    {"newid", 0, 0, RULE_FIXED, TDSD_GUID, 0, false, eval_newid},
    {"pi", 0, 0, RULE_FIXED, TDSD_FLOAT, 0, false, eval_pi},
    {"power", 2, 2, RULE_ROUND, TDSD_FLOAT, 0, false, eval_power},
    {"quotename", 1, 1, RULE_FIXED, TDSD_NVARCHAR, 258, false, eval_quotename},
    {"replace", 3, 3, RULE_LONG, TDSD_NVARCHAR, 0, false, eval_replace},
    {"reverse", 1, 1, RULE_TEXT, TDSD_NVARCHAR, 0, false, eval_reverse},
    {"right", 2, 2, RULE_TEXT, TDSD_NVARCHAR, 0, false, eval_right},
    {"round", 2, 3, RULE_ROUND, TDSD_INT, 0, false, eval_round},
    {"rtrim", 1, 1, RULE_TEXT, TDSD_NVARCHAR, 0, false, eval_rtrim},
    {"sign", 1, 1, RULE_ROUND, TDSD_INT, 0, false, eval_sign},
    {"space", 1, 1, RULE_FIXED, TDSD_VARCHAR, 8000, false, eval_space},
    {"sqrt", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, eval_sqrt},
    {"square", 1, 1, RULE_FIXED, TDSD_FLOAT, 0, false, eval_square},
    {"stuff", 4, 4, RULE_LONG, TDSD_NVARCHAR, 0, false, eval_stuff},
    {"substring", 3, 3, RULE_TEXT, TDSD_NVARCHAR, 0, false, eval_substring},
    {"trim", 1, 1, RULE_TEXT, TDSD_NVARCHAR, 0, false, eval_trim},
    {"unicode", 1, 1, RULE_FIXED, TDSD_INT, 0, false, eval_unicode},
    {"year", 1, 1, RULE_FIXED, TDSD_INT, 0, false, eval_year},
};

static const struct function *find(const char *name) {
  for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
    if (strcasecmp(functions[i].name, name) == 0) {
      return &functions[i];
    }
  }
  return NULL;
}

static int bad_type(const struct function *function,
                    const struct tdsd_type *type,
                    unsigned argument,
                    struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 8116, 16,
                        "Argument data type %s is invalid for argument %u of "
                        "%s function.",
                        tdsd_kind_name(type->kind), argument, function->name);
}

static int text_type(const struct function *function,
                     const struct tdsd_type *arg,
                     struct tdsd_type *out,
                     struct tdsd_fault *fault) {
  if (tdsd_kind_is_binary(arg->kind) && !arg->untyped) {
    return bad_type(function, arg, 1, fault);
  }
  bool text = tdsd_kind_is_text(arg->kind) && !arg->untyped;
  bool wide = text && tdsd_kind_is_wide(arg->kind);
  out->kind = wide ? TDSD_NVARCHAR : TDSD_VARCHAR;
  out->size = text && function->rule == RULE_TEXT ? arg->size
              : wide                              ? 4000
                                                  : 8000;
  out->size = text && arg->size == TDSD_SIZE_MAX ? TDSD_SIZE_MAX : out->size;
  return 0;
}

static int number_type(const struct function *function,
                       const struct tdsd_type *arg,
                       struct tdsd_type *out,
                       struct tdsd_fault *fault) {
  if (arg->untyped || tdsd_kind_is_text(arg->kind) || arg->kind == TDSD_REAL) {
    out->kind = TDSD_FLOAT;
    return 0;
  }
  if (!tdsd_kind_is_number(arg->kind) || arg->kind == TDSD_BIT) {
    return bad_type(function, arg, 1, fault);
  }
  *out = *arg;
  if (arg->kind <= TDSD_INT) {
    out->kind = TDSD_INT;
  } else if (arg->kind == TDSD_SMALLMONEY) {
    out->kind = TDSD_MONEY;
  } else if (arg->kind == TDSD_DECIMAL) {
    if (function->rule == RULE_WHOLE) {
      /* One digit more: 9.9 becomes 10. */
      out->precision = arg->precision;
      out->scale = 0;
    }
  }
  return 0;
}

static int meet_type(const struct tdsd_type *args,
                     uint32_t nargs,
                     struct tdsd_type *out) {
  *out = args[1];
  for (uint32_t i = 2; i < nargs; i++) {
    *out = tdsd_type_meet(*out, args[i]);
  }
  return 0;
}

static int date_type(const struct function *function,
                     const struct tdsd_type *arg,
                     struct tdsd_type *out,
                     struct tdsd_fault *fault) {
  if (tdsd_kind_is_date(arg->kind) && !arg->untyped) {
    *out = *arg;
    return 0;
  }
  out->kind = TDSD_DATETIME;
  return arg->untyped || tdsd_kind_is_text(arg->kind) ||
                 tdsd_kind_is_integer(arg->kind)
             ? 0
             : bad_type(function, arg, 3, fault);
}

int tdsd_scalar_type(const char *name,
                     const struct tdsd_type *args,
                     uint32_t nargs,
                     struct tdsd_type *out_type,
                     struct tdsd_fault *fault) {
  const struct function *function = find(name);
  if (function == NULL) {
    return tdsd_fault_set(
        fault, 195, 15, "'%.128s' is not a recognized built-in function name.",
        name);
  }
  if (nargs < function->least || nargs > function->most) {
    return tdsd_fault_set(fault, 174, 15,
                          "The %s function requires %u argument(s).",
                          function->name, (unsigned)function->least);
  }
  struct tdsd_type type = {.kind = function->kind, .size = function->size};
  int rc = 0;
  switch (function->rule) {
  case RULE_TEXT:
  case RULE_LONG:
    rc = text_type(function, &args[0], &type, fault);
    break;
  case RULE_EXACT:
  case RULE_ROUND:
  case RULE_WHOLE:
    rc = number_type(function, &args[0], &type, fault);
    break;
  case RULE_DATE:
    rc = date_type(function, &args[2], &type, fault);
    break;
  case RULE_MEET:
    rc = meet_type(args, nargs, &type);
    break;
  case RULE_FIXED:
  default:
    break;
  }
  type.nullable = true;
  type.untyped = false;
  *out_type = type;
  return rc;
}

int tdsd_scalar_eval(const char *name,
                     const struct tdsd_value *args,
                     uint32_t nargs,
                     const struct tdsd_context *context,
                     struct tdsd_value *out) {
  const struct function *function = find(name);
  struct tdsd_type types[ARGS_MAX];
  struct tdsd_type type;
  for (uint32_t i = 0; i < nargs && i < ARGS_MAX; i++) {
    types[i] = args[i].type;
  }
  if (tdsd_scalar_type(name, types, nargs, &type, context->fault) < 0) {
    return -1;
  }
  struct call call = {args, nargs, context, out};
  *out = (struct tdsd_value){.type = type, .bytes = ""};
  if (!function->nulls && any_null(&call)) {
    out->is_null = true;
    return 0;
  }
  int rc = function->eval(&call);
  out->type = type;
  return rc;
}
