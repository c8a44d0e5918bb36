/* SPDX-License-Identifier: MIT */
/* Scalar functions of numbers. */
#include <math.h>

#include "server_scalar_impl.h"

int scalar_abs(const struct scalar_call *call) {
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
static int rounding(const struct scalar_call *call, int64_t places, int mode) {
  struct tdsd_value *out = call->out;
  struct tdsd_type type = out->type;
  struct tdsd_value value = call->args[0];
  if (type.kind == TDSD_FLOAT) {
    if (scalar_as(call, 0, TDSD_FLOAT, &value) < 0) {
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

int scalar_ceiling(const struct scalar_call *call) {
  return rounding(call, 0, 1);
}

int scalar_floor(const struct scalar_call *call) {
  return rounding(call, 0, 2);
}

int scalar_round(const struct scalar_call *call) {
  int64_t places = 0;
  int64_t cut = 0;
  if (scalar_int_arg(call, 1, &places) < 0 ||
      (call->nargs == 3 && scalar_int_arg(call, 2, &cut) < 0)) {
    return -1;
  }
  return rounding(call, places, cut != 0 ? 3 : 0);
}

int scalar_sign(const struct scalar_call *call) {
  struct tdsd_value value;
  if (scalar_as(call, 0, TDSD_FLOAT, &value) < 0) {
    return -1;
  }
  double sign = value.real > 0 ? 1 : value.real < 0 ? -1 : 0;
  struct tdsd_value result = {.type = {.kind = TDSD_FLOAT}, .real = sign};
  return tdsd_convert(&result, &call->out->type, 0, call->context->arena,
                      call->out, call->context->fault);
}

static int real_result(const struct scalar_call *call, double value) {
  if (!isfinite(value)) {
    return tdsd_fault_set(call->context->fault, 3623, 16,
                          "An invalid floating point operation occurred.");
  }
  struct tdsd_value result = {.type = {.kind = TDSD_FLOAT}, .real = value};
  return tdsd_convert(&result, &call->out->type, 0, call->context->arena,
                      call->out, call->context->fault);
}

static int real_of(const struct scalar_call *call, double (*fn)(double)) {
  struct tdsd_value value;
  return scalar_as(call, 0, TDSD_FLOAT, &value) < 0
             ? -1
             : real_result(call, fn(value.real));
}

int scalar_sqrt(const struct scalar_call *call) {
  return real_of(call, sqrt);
}

int scalar_exp(const struct scalar_call *call) {
  return real_of(call, exp);
}

int scalar_log(const struct scalar_call *call) {
  return real_of(call, log);
}

int scalar_log10(const struct scalar_call *call) {
  return real_of(call, log10);
}

static double squared(double value) {
  return value * value;
}

int scalar_square(const struct scalar_call *call) {
  return real_of(call, squared);
}

int scalar_pi(const struct scalar_call *call) {
  return real_result(call, 3.14159265358979323846);
}

int scalar_power(const struct scalar_call *call) {
  struct tdsd_value a;
  struct tdsd_value b;
  return scalar_as(call, 0, TDSD_FLOAT, &a) < 0 ||
                 scalar_as(call, 1, TDSD_FLOAT, &b) < 0
             ? -1
             : real_result(call, pow(a.real, b.real));
}
