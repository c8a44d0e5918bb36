/* SPDX-License-Identifier: MIT */
/* CAST and CONVERT: any value to any type of the subset, with the errors that
 * SQL Server gives. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_collation.h"
#include "server_const.h"
#include "server_text.h"
#include "server_value.h"

#define PRINT_BYTES 128u

/* One conversion under way. */
struct job {
  const struct tdsd_value *in;
  const struct tdsd_type *to;
  int style;
  struct tdsd_arena *arena;
  struct tdsd_value *out;
  struct tdsd_fault *fault;
};

static int not_allowed(const struct job *job) {
  return tdsd_fault_set(
      job->fault, 529, 16,
      "Explicit conversion from data type %s to %s is not allowed.",
      tdsd_type_name(&job->in->type), tdsd_type_name(job->to));
}

static int overflow(const struct job *job) {
  return tdsd_fault_set(job->fault, 8115, 16,
                        "Arithmetic overflow error converting %s to data type "
                        "%s.",
                        tdsd_kind_name(job->in->type.kind),
                        tdsd_kind_name(job->to->kind));
}

static int failed(const struct job *job, int32_t number) {
  const char *from = tdsd_kind_name(job->in->type.kind);
  const char *to = tdsd_kind_name(job->to->kind);
  switch (number) {
  case 245:
    return tdsd_fault_set(job->fault, 245, 16,
                          "Conversion failed when converting the %s value "
                          "'%.*s' to data type %s.",
                          from, (int)(job->in->len < 200 ? job->in->len : 200),
                          job->in->bytes, to);
  case 241:
    return tdsd_fault_set(job->fault, 241, 16,
                          "Conversion failed when converting date and/or time "
                          "from character string.");
  case 8169:
    return tdsd_fault_set(job->fault, 8169, 16,
                          "Conversion failed when converting from a character "
                          "string to uniqueidentifier.");
  default:
    return tdsd_fault_set(job->fault, 8114, 16,
                          "Error converting data type %s to %s.", from, to);
  }
}

static int no_memory(const struct job *job) {
  return tdsd_fault_set(job->fault, 701, 17,
                        "There is insufficient memory for this query.");
}

/* The text without blanks around it. */
static const char *trim(const struct tdsd_value *in, size_t *len) {
  const char *text = in->bytes;
  size_t n = in->len;
  while (n > 0 && text[0] == ' ') {
    text++;
    n--;
  }
  while (n > 0 && text[n - 1] == ' ') {
    n--;
  }
  *len = n;
  return text;
}

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

/* Cuts text to the target's size, or fills it up with blanks for char(n). */
static int set_text(const struct job *job, const char *text, size_t len) {
  const struct tdsd_type *to = job->to;
  size_t keep = len;
  size_t used = 0; /* of the size: units of nvarchar, bytes of varchar */
  if (to->size != TDSD_SIZE_MAX && tdsd_kind_is_wide(to->kind)) {
    keep = tdsd_text_cut(text, len, to->size);
    used = tdsd_text_units(text, keep);
  } else if (to->size != TDSD_SIZE_MAX) {
    keep = tdsd_collation_cut(to->collation, text, len, to->size, &used);
  }
  bool fill = to->kind == TDSD_CHAR || to->kind == TDSD_NCHAR;
  size_t blanks = fill ? to->size - used : 0;
  char *copy = tdsd_arena_take(job->arena, keep + blanks + 1);
  if (copy == NULL) {
    return no_memory(job);
  }
  if (tdsd_kind_is_wide(to->kind)) {
    memcpy(copy, text, keep);
  } else {
    keep = tdsd_collation_narrow(to->collation, text, keep, copy);
  }
  memset(copy + keep, ' ', blanks);
  job->out->bytes = copy;
  job->out->len = keep + blanks;
  return 0;
}

static int hex_text(const struct job *job) {
  static const char digits[] = "0123456789ABCDEF";
  size_t n = job->in->len;
  size_t prefix = job->style == 1 ? 2 : 0;
  char *text = tdsd_arena_take(job->arena, prefix + 2 * n + 1);
  if (text == NULL) {
    return no_memory(job);
  }
  memcpy(text, "0x", prefix);
  for (size_t i = 0; i < n; i++) {
    unsigned byte = (unsigned char)job->in->bytes[i];
    text[prefix + 2 * i] = digits[byte >> 4];
    text[prefix + 2 * i + 1] = digits[byte & 15];
  }
  return set_text(job, text, prefix + 2 * n);
}

/* The bytes are taken for the characters of the target's encoding. */
static int binary_text(const struct job *job) {
  if (job->style == 1 || job->style == 2) {
    return hex_text(job);
  }
  const uint8_t *bytes = (const uint8_t *)job->in->bytes;
  size_t n = job->in->len;
  char *text = tdsd_arena_take(job->arena, 3 * n + 1);
  if (text == NULL) {
    return no_memory(job);
  }
  size_t len = tdsd_kind_is_wide(job->to->kind)
                   ? tdsd_text_from_w16(bytes, n / 2, text)
                   : tdsd_collation_decode(job->to->collation, bytes, n, text);
  return set_text(job, text, len);
}

static int to_text(const struct job *job) {
  enum tdsd_kind from = job->in->type.kind;
  if (tdsd_kind_is_text(from)) {
    return set_text(job, job->in->bytes, job->in->len);
  }
  if (tdsd_kind_is_binary(from)) {
    return binary_text(job);
  }
  char text[PRINT_BYTES];
  size_t len = tdsd_value_print(job->in, job->style, text, sizeof text);
  if (len > job->to->size) {
    if (tdsd_kind_is_integer(from) && !tdsd_kind_is_wide(job->to->kind)) {
      return set_text(job, "*", 1); /* SQL Server shows a star */
    }
    if (!tdsd_kind_is_date(from)) {
      return overflow(job);
    }
  }
  return set_text(job, text, len);
}

static int set_binary(const struct job *job, const void *bytes, size_t len) {
  size_t size = job->to->size == TDSD_SIZE_MAX ? len : job->to->size;
  size_t keep = len < size ? len : size;
  size_t room = job->to->kind == TDSD_BINARY ? size : keep;
  char *copy = tdsd_arena_take(job->arena, room + 1);
  if (copy == NULL) {
    return no_memory(job);
  }
  if (keep != 0) {
    memcpy(copy, bytes, keep);
  }
  job->out->bytes = copy;
  job->out->len = room;
  return 0;
}

static int hex_value(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  int low = tolower((unsigned char)c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static int hex_binary(const struct job *job) {
  const char *text = job->in->bytes;
  size_t len = job->in->len;
  if (job->style == 1) {
    if (len < 2 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X')) {
      return failed(job, 8114);
    }
    text += 2;
    len -= 2;
  }
  uint8_t *bytes = tdsd_arena_take(job->arena, len / 2 + 1);
  if (bytes == NULL) {
    return no_memory(job);
  }
  for (size_t i = 0; i + 1 < len; i += 2) {
    int high = hex_value(text[i]);
    int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) {
      return failed(job, 8114);
    }
    bytes[i / 2] = (uint8_t)(high << 4 | low);
  }
  return len % 2 != 0 ? failed(job, 8114) : set_binary(job, bytes, len / 2);
}

static int text_binary(const struct job *job) {
  if (job->style == 1 || job->style == 2) {
    return hex_binary(job);
  }
  uint8_t *bytes = tdsd_arena_take(job->arena, 2 * job->in->len + 2);
  if (bytes == NULL) {
    return no_memory(job);
  }
  size_t len = tdsd_kind_is_wide(job->in->type.kind)
                   ? tdsd_text_to_w16(job->in->bytes, job->in->len, bytes)
                   : tdsd_collation_encode(job->in->type.collation,
                                           job->in->bytes, job->in->len, bytes);
  return set_binary(job, bytes, len);
}

/* Integers become their big-endian bytes; a shorter target keeps the low ones. */
static int integer_binary(const struct job *job) {
  static const uint8_t widths[] = {1, 1, 2, 4, 8};
  size_t width = widths[job->in->type.kind - TDSD_BIT];
  size_t size = job->to->size == TDSD_SIZE_MAX ? width : job->to->size;
  size_t room = job->to->kind == TDSD_BINARY || size < width ? size : width;
  uint8_t *bytes = tdsd_arena_take(job->arena, room + 1);
  if (bytes == NULL) {
    return no_memory(job);
  }
  for (size_t i = 0; i < room && i < width; i++) {
    bytes[room - 1 - i] = (uint8_t)((uint64_t)job->in->integer >> (8 * i));
  }
  return set_binary(job, bytes, room);
}

static int to_binary(const struct job *job) {
  enum tdsd_kind from = job->in->type.kind;
  if (tdsd_kind_is_binary(from)) {
    return set_binary(job, job->in->bytes, job->in->len);
  }
  if (tdsd_kind_is_text(from)) {
    return text_binary(job);
  }
  if (tdsd_kind_is_integer(from)) {
    return integer_binary(job);
  }
  return from == TDSD_GUID ? set_binary(job, job->in->guid, 16)
                           : not_allowed(job);
}

static int set_integer(const struct job *job, int64_t integer) {
  static const int64_t least[] = {0, 0, INT16_MIN, INT32_MIN, INT64_MIN};
  static const int64_t most[] = {1, 255, INT16_MAX, INT32_MAX, INT64_MAX};
  unsigned i = (unsigned)(job->to->kind - TDSD_BIT);
  if (job->to->kind == TDSD_BIT) {
    job->out->integer = integer != 0 ? 1 : 0;
    return 0;
  }
  if (integer >= least[i] && integer <= most[i]) {
    job->out->integer = integer;
    return 0;
  }
  if (job->to->kind <= TDSD_SMALLINT &&
      tdsd_kind_is_integer(job->in->type.kind)) {
    return tdsd_fault_set(job->fault, 220, 16,
                          "Arithmetic overflow error for data type %s, value = "
                          "%" PRId64 ".",
                          tdsd_kind_name(job->to->kind), integer);
  }
  return overflow(job);
}

/* Minus 2^63 is a bigint, plus 2^63 is none. */
static int set_magnitude(const struct job *job,
                         tdsd_u128 magnitude,
                         bool negative) {
  tdsd_u128 most = (tdsd_u128)INT64_MAX + (negative ? 1 : 0);
  if (magnitude > most) {
    return overflow(job);
  }
  uint64_t low = (uint64_t)magnitude;
  return set_integer(job, (int64_t)(negative ? 0 - low : low));
}

static int text_integer(const struct job *job) {
  size_t len = 0;
  const char *text = trim(job->in, &len);
  if (job->to->kind == TDSD_BIT && len == 4 &&
      strncasecmp(text, "true", 4) == 0) {
    return set_integer(job, 1);
  }
  if (job->to->kind == TDSD_BIT && len == 5 &&
      strncasecmp(text, "false", 5) == 0) {
    return set_integer(job, 0);
  }
  struct tdsd_value number;
  if (len == 0) {
    return set_integer(job, 0);
  }
  if (tdsd_decimal_parse(text, len, &number) < 0 ||
      memchr(text, '.', len) != NULL) {
    return failed(job, 245);
  }
  return set_magnitude(job, number.magnitude, number.negative);
}

static int real_integer(const struct job *job, double real) {
  real = trunc(real);
  if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0)) {
    return overflow(job);
  }
  return set_integer(job,
                     job->to->kind == TDSD_BIT && real > 0 ? 1 : (int64_t)real);
}

static int decimal_integer(const struct job *job) {
  const struct tdsd_value *in = job->in;
  tdsd_u128 whole = in->magnitude;
  if (job->to->kind != TDSD_BIT) {
    whole /= tdsd_pow10(in->type.scale);
  }
  return set_magnitude(job, whole, in->negative);
}

static int binary_integer(const struct job *job) {
  uint64_t integer = 0;
  for (size_t i = 0; i < job->in->len; i++) {
    integer = integer << 8 | (unsigned char)job->in->bytes[i];
  }
  enum tdsd_kind to = job->to->kind;
  if (to == TDSD_TINYINT) {
    return set_integer(job, (uint8_t)integer);
  }
  if (to == TDSD_SMALLINT) {
    return set_integer(job, (int16_t)(uint16_t)integer);
  }
  return set_integer(job, to == TDSD_INT ? (int32_t)(uint32_t)integer
                                         : (int64_t)integer);
}

static int money_integer(const struct job *job) {
  int64_t units = job->in->integer;
  int64_t half = units % 10000 / 5000; /* money rounds, others cut */
  return set_integer(job, units / 10000 + half);
}

static int to_integer(const struct job *job) {
  enum tdsd_kind from = job->in->type.kind;
  if (tdsd_kind_is_integer(from)) {
    return set_integer(job, job->in->integer);
  }
  if (tdsd_kind_is_text(from)) {
    return text_integer(job);
  }
  if (tdsd_kind_is_binary(from)) {
    return binary_integer(job);
  }
  if (from == TDSD_DECIMAL) {
    return decimal_integer(job);
  }
  if (from == TDSD_MONEY || from == TDSD_SMALLMONEY) {
    return money_integer(job);
  }
  if (from == TDSD_REAL || from == TDSD_FLOAT) {
    return real_integer(job, job->in->real);
  }
  return not_allowed(job);
}

static int to_real(const struct job *job) {
  double real = 0;
  if (tdsd_kind_is_text(job->in->type.kind)) {
    size_t len = 0;
    const char *text = trim(job->in, &len);
    char copy[PRINT_BYTES];
    char *end = NULL;
    if (len >= sizeof copy) {
      return failed(job, 8114);
    }
    memcpy(copy, text, len);
    copy[len] = 0;
    real = len == 0 ? 0 : strtod(copy, &end);
    if (len != 0 && (*end != 0 || !isfinite(real))) {
      return failed(job, 8114);
    }
  } else if (tdsd_kind_is_number(job->in->type.kind)) {
    real = tdsd_value_real(job->in);
  } else {
    return not_allowed(job);
  }
  if (job->to->kind == TDSD_REAL) {
    float narrow =
        (float)real; /* rounds: a little above the most is in range */
    if (!isfinite(narrow)) {
      return overflow(job);
    }
    real = (double)narrow;
  }
  job->out->real = real;
  return 0;
}

/* Any number or text as a decimal of natural scale. */
static int natural_decimal(const struct job *job, struct tdsd_value *out) {
  if (tdsd_kind_is_text(job->in->type.kind)) {
    size_t len = 0;
    const char *text = trim(job->in, &len);
    return tdsd_decimal_parse(text, len, out) < 0 ? failed(job, 8114) : 0;
  }
  if (!tdsd_kind_is_number(job->in->type.kind)) {
    return not_allowed(job);
  }
  return tdsd_value_decimal(job->in, out) < 0 ? overflow(job) : 0;
}

static int to_decimal(const struct job *job) {
  struct tdsd_value number;
  if (natural_decimal(job, &number) < 0) {
    return -1;
  }
  if (tdsd_decimal_fit(&number, job->to) < 0) {
    return overflow(job);
  }
  job->out->magnitude = number.magnitude;
  job->out->negative = number.negative;
  return 0;
}

static int to_money(const struct job *job) {
  struct tdsd_value number;
  const struct tdsd_type four = {
      .kind = TDSD_DECIMAL, .precision = 38, .scale = 4};
  if (natural_decimal(job, &number) < 0) {
    return -1;
  }
  tdsd_u128 most =
      job->to->kind == TDSD_MONEY ? (tdsd_u128)INT64_MAX : (tdsd_u128)INT32_MAX;
  most += number.negative; /* two's complement has one more below zero */
  if (tdsd_decimal_fit(&number, &four) < 0 || number.magnitude > most) {
    return overflow(job);
  }
  uint64_t units = (uint64_t)number.magnitude;
  job->out->integer = (int64_t)(number.negative ? 0 - units : units);
  return 0;
}

/* Rounds the time of day to what the type can hold; may reach the next day. */
static void round_ticks(struct tdsd_value *out) {
  const int64_t day = INT64_C(864000000000);
  int64_t unit = 1;
  if (out->type.kind == TDSD_SMALLDATETIME) {
    unit = INT64_C(600000000);
  } else if (out->type.kind == TDSD_DATETIME) {
    int64_t thirds = (out->ticks * 3 + 50000) / 100000; /* 1/300 s */
    out->ticks = (thirds * 100000 + 1) / 3;
  } else {
    for (unsigned i = out->type.scale; i < 7; i++) {
      unit *= 10;
    }
  }
  out->ticks = (out->ticks + unit / 2) / unit * unit;
  if (out->ticks >= day) {
    out->ticks -= day;
    out->days += out->type.kind == TDSD_TIME ? 0 : 1;
  }
}

static int set_date(const struct job *job, const struct tdsd_value *from) {
  struct tdsd_value *out = job->out;
  out->days = from->days;
  out->ticks = job->to->kind == TDSD_DATE ? 0 : from->ticks;
  out->offset_min = from->offset_min;
  if (job->to->kind != TDSD_DATE) {
    round_ticks(out);
  }
  int32_t least = 0;
  int32_t most = tdsd_days_from_civil(9999, 12, 31);
  if (job->to->kind == TDSD_DATETIME) {
    least = tdsd_days_from_civil(1753, 1, 1);
  } else if (job->to->kind == TDSD_SMALLDATETIME) {
    least = tdsd_days_from_civil(1900, 1, 1);
    most = least + 65535;
  }
  if (out->days < least || out->days > most) {
    return tdsd_fault_set(job->fault, 242, 16,
                          "The conversion of a %s data type to a %s data type "
                          "resulted in an out-of-range value.",
                          tdsd_kind_name(job->in->type.kind),
                          tdsd_kind_name(job->to->kind));
  }
  return 0;
}

static int to_date(const struct job *job) {
  enum tdsd_kind from = job->in->type.kind;
  struct tdsd_value value;
  if (tdsd_kind_is_date(from)) {
    value = *job->in;
    if (from == TDSD_TIME) {
      value.days = tdsd_days_from_civil(1900, 1, 1);
    }
    return set_date(job, &value);
  }
  if (tdsd_kind_is_text(from)) {
    if (tdsd_date_parse(job->in->bytes, job->in->len, &value) < 0) {
      return failed(job, 241);
    }
    return set_date(job, &value);
  }
  bool old =
      job->to->kind == TDSD_DATETIME || job->to->kind == TDSD_SMALLDATETIME;
  if (old && tdsd_kind_is_integer(from)) {
    int64_t days = job->in->integer + tdsd_days_from_civil(1900, 1, 1);
    value = (struct tdsd_value){.days = days < INT32_MIN   ? INT32_MIN
                                        : days > INT32_MAX ? INT32_MAX
                                                           : (int32_t)days};
    return set_date(job, &value);
  }
  return not_allowed(job);
}

/* The dashes and, if any, the braces stand at fixed places. */
static int text_guid(const struct job *job) {
  static const uint8_t order[16] = {3, 2, 1,  0,  5,  4,  7,  6,
                                    8, 9, 10, 11, 12, 13, 14, 15};
  size_t len = 0;
  const char *text = trim(job->in, &len);
  if (len == 38 && text[0] == '{' && text[37] == '}') {
    text++;
    len -= 2;
  }
  if (len != 36) {
    return failed(job, 8169);
  }
  size_t at = 0;
  for (unsigned i = 0; i < 16; i++) {
    bool dash = i == 4 || i == 6 || i == 8 || i == 10;
    if (dash && text[at++] != '-') {
      return failed(job, 8169);
    }
    int high = hex_value(text[at]);
    int low = hex_value(text[at + 1]);
    if (high < 0 || low < 0) {
      return failed(job, 8169);
    }
    job->out->guid[order[i]] = (uint8_t)(high << 4 | low);
    at += 2;
  }
  return 0;
}

static int to_guid(const struct job *job) {
  enum tdsd_kind from = job->in->type.kind;
  if (from == TDSD_GUID) {
    memcpy(job->out->guid, job->in->guid, 16);
    return 0;
  }
  if (tdsd_kind_is_text(from)) {
    return text_guid(job);
  }
  if (tdsd_kind_is_binary(from)) {
    size_t n = job->in->len < 16 ? job->in->len : 16;
    memcpy(job->out->guid, job->in->bytes, n);
    return 0;
  }
  return not_allowed(job);
}

/* What sql_variant holds keeps its type; large values it cannot hold. */
static int to_variant(const struct job *job) {
  const struct tdsd_type *from = &job->in->type;
  if (from->size == TDSD_SIZE_MAX || from->form != TDSD_FORM_PLAIN) {
    return tdsd_fault_set(job->fault, 206, 16,
                          "Operand type clash: %s%s is incompatible with "
                          "sql_variant",
                          tdsd_type_name(from),
                          from->form == TDSD_FORM_PLAIN ? "(max)" : "");
  }
  *job->out = *job->in;
  job->out->type.nullable = true;
  if (from->kind <= TDSD_NVARCHAR) {
    const char *copy =
        tdsd_arena_copy(job->arena, job->in->bytes, job->in->len);
    if (copy == NULL) {
      return no_memory(job);
    }
    job->out->bytes = copy;
  }
  return 0;
}

/* xml meets only text and itself; text, ntext and image only their kind. */
static bool may_convert(const struct tdsd_type *from,
                        const struct tdsd_type *to) {
  if (from->form == TDSD_FORM_XML || to->form == TDSD_FORM_XML) {
    return from->kind <= TDSD_NVARCHAR && to->kind <= TDSD_NVARCHAR &&
           from->form != TDSD_FORM_OLD && to->form != TDSD_FORM_OLD;
  }
  if (from->form == TDSD_FORM_OLD || to->form == TDSD_FORM_OLD) {
    return (tdsd_kind_is_text(from->kind) && tdsd_kind_is_text(to->kind)) ||
           (tdsd_kind_is_binary(from->kind) && tdsd_kind_is_binary(to->kind));
  }
  return true;
}

static int dispatch(const struct job *job) {
  enum tdsd_kind to = job->to->kind;
  if (!may_convert(&job->in->type, job->to)) {
    return not_allowed(job);
  }
  if (to == TDSD_VARIANT) {
    return to_variant(job);
  }
  if (tdsd_kind_is_text(to)) {
    return to_text(job);
  }
  if (tdsd_kind_is_binary(to)) {
    return to_binary(job);
  }
  if (tdsd_kind_is_integer(to)) {
    return to_integer(job);
  }
  if (to == TDSD_DECIMAL) {
    return to_decimal(job);
  }
  if (to == TDSD_MONEY || to == TDSD_SMALLMONEY) {
    return to_money(job);
  }
  if (to == TDSD_REAL || to == TDSD_FLOAT) {
    return to_real(job);
  }
  return to == TDSD_GUID ? to_guid(job) : to_date(job);
}

static int convert_one(const struct tdsd_value *in,
                       const struct tdsd_type *to,
                       int style,
                       struct tdsd_arena *arena,
                       struct tdsd_value *out,
                       struct tdsd_fault *fault) {
  struct tdsd_value value = {.type = *to, .is_null = in->is_null};
  value.bytes = "";
  struct job job = {in, to, style, arena, &value, fault};
  if (!in->is_null && dispatch(&job) < 0) {
    return -1;
  }
  *out = value;
  return 0;
}

/* A value that repeats goes on repeating in a type without limit: its block is
 * converted, and so is the end that is no whole block. */
static int convert_block(const struct tdsd_value *in,
                         const struct tdsd_type *to,
                         struct tdsd_arena *arena,
                         struct tdsd_value *out,
                         struct tdsd_fault *fault) {
  struct tdsd_value block = *in;
  struct tdsd_value rest = *in;
  uint64_t times = in->total / in->len;
  block.total = 0;
  rest.total = 0;
  rest.len = (size_t)(in->total % in->len);
  if (convert_one(&block, to, 0, arena, &block, fault) < 0 ||
      convert_one(&rest, to, 0, arena, &rest, fault) < 0) {
    return -1;
  }
  block.total = times * block.len + rest.len;
  *out = block;
  return 0;
}

int tdsd_convert(const struct tdsd_value *in,
                 const struct tdsd_type *to,
                 int style,
                 struct tdsd_arena *arena,
                 struct tdsd_value *out,
                 struct tdsd_fault *fault) {
  struct tdsd_value flat = *in;
  bool same =
      (tdsd_kind_is_text(in->type.kind) && tdsd_kind_is_text(to->kind)) ||
      (tdsd_kind_is_binary(in->type.kind) && tdsd_kind_is_binary(to->kind));
  if (in->total == 0) {
    return convert_one(in, to, style, arena, out, fault);
  }
  if (same && to->size == TDSD_SIZE_MAX) {
    return convert_block(in, to, arena, out, fault);
  }
  return tdsd_value_flatten(&flat, arena, fault) < 0
             ? -1
             : convert_one(&flat, to, style, arena, out, fault);
}
