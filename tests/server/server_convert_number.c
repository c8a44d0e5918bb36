/* SPDX-License-Identifier: MIT */
/* CAST and CONVERT to numbers. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_convert_impl.h"

#define NUMBER_BYTES 128u /* of text that is read as a float */

static int set_integer(const struct tdsd_convert *job, int64_t integer) {
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
  return tdsd_convert_overflow(job);
}

/* Minus 2^63 is a bigint, plus 2^63 is none. */
static int set_magnitude(const struct tdsd_convert *job,
                         tdsd_u128 magnitude,
                         bool negative) {
  tdsd_u128 most = (tdsd_u128)INT64_MAX + (negative ? 1 : 0);
  if (magnitude > most) {
    return tdsd_convert_overflow(job);
  }
  uint64_t low = (uint64_t)magnitude;
  return set_integer(job, (int64_t)(negative ? 0 - low : low));
}

static int text_integer(const struct tdsd_convert *job) {
  size_t len = 0;
  const char *text = tdsd_convert_trim(job->in, &len);
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
    return tdsd_convert_failed(job, 245);
  }
  return set_magnitude(job, number.magnitude, number.negative);
}

static int real_integer(const struct tdsd_convert *job, double real) {
  real = trunc(real);
  if (!(real >= -9223372036854775808.0 && real < 9223372036854775808.0)) {
    return tdsd_convert_overflow(job);
  }
  return set_integer(job,
                     job->to->kind == TDSD_BIT && real > 0 ? 1 : (int64_t)real);
}

static int decimal_integer(const struct tdsd_convert *job) {
  const struct tdsd_value *in = job->in;
  tdsd_u128 whole = in->magnitude;
  if (job->to->kind != TDSD_BIT) {
    whole /= tdsd_pow10(in->type.scale);
  }
  return set_magnitude(job, whole, in->negative);
}

static int binary_integer(const struct tdsd_convert *job) {
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

static int money_integer(const struct tdsd_convert *job) {
  int64_t units = job->in->integer;
  int64_t half = units % 10000 / 5000; /* money rounds, others cut */
  return set_integer(job, units / 10000 + half);
}

int tdsd_convert_integer(const struct tdsd_convert *job) {
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
  return tdsd_convert_not_allowed(job);
}

int tdsd_convert_real(const struct tdsd_convert *job) {
  double real = 0;
  if (tdsd_kind_is_text(job->in->type.kind)) {
    size_t len = 0;
    const char *text = tdsd_convert_trim(job->in, &len);
    char copy[NUMBER_BYTES];
    char *end = NULL;
    if (len >= sizeof copy) {
      return tdsd_convert_failed(job, 8114);
    }
    memcpy(copy, text, len);
    copy[len] = 0;
    real = len == 0 ? 0 : strtod(copy, &end);
    if (len != 0 && (*end != 0 || !isfinite(real))) {
      return tdsd_convert_failed(job, 8114);
    }
  } else if (tdsd_kind_is_number(job->in->type.kind)) {
    real = tdsd_value_real(job->in);
  } else {
    return tdsd_convert_not_allowed(job);
  }
  if (job->to->kind == TDSD_REAL) {
    float narrow =
        (float)real; /* rounds: a little above the most is in range */
    if (!isfinite(narrow)) {
      return tdsd_convert_overflow(job);
    }
    real = (double)narrow;
  }
  job->out->real = real;
  return 0;
}

/* Any number or text as a decimal of natural scale. */
static int natural_decimal(const struct tdsd_convert *job,
                           struct tdsd_value *out) {
  if (tdsd_kind_is_text(job->in->type.kind)) {
    size_t len = 0;
    const char *text = tdsd_convert_trim(job->in, &len);
    return tdsd_decimal_parse(text, len, out) < 0
               ? tdsd_convert_failed(job, 8114)
               : 0;
  }
  if (!tdsd_kind_is_number(job->in->type.kind)) {
    return tdsd_convert_not_allowed(job);
  }
  return tdsd_value_decimal(job->in, out) < 0 ? tdsd_convert_overflow(job) : 0;
}

int tdsd_convert_decimal(const struct tdsd_convert *job) {
  struct tdsd_value number;
  if (natural_decimal(job, &number) < 0) {
    return -1;
  }
  if (tdsd_decimal_fit(&number, job->to) < 0) {
    return tdsd_convert_overflow(job);
  }
  job->out->magnitude = number.magnitude;
  job->out->negative = number.negative;
  return 0;
}

int tdsd_convert_money(const struct tdsd_convert *job) {
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
    return tdsd_convert_overflow(job);
  }
  uint64_t units = (uint64_t)number.magnitude;
  job->out->integer = (int64_t)(number.negative ? 0 - units : units);
  return 0;
}
