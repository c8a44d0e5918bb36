/* SPDX-License-Identifier: MIT */
/* + - * / % : result types by T-SQL's rules, and the arithmetic itself. */
#include <math.h>
#include <string.h>

#include "server_const.h"
#include "server_eval.h"

static const char *op_name(char op) {
  switch (op) {
  case '+':
    return "add";
  case '-':
    return "subtract";
  case '*':
    return "multiply";
  case '/':
    return "divide";
  default:
    return "modulo";
  }
}

static int bad_operand(const struct tdsd_type *type,
                       char op,
                       struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 8117, 16,
                        "Operand data type %s is invalid for %s operator.",
                        tdsd_kind_name(type->kind), op_name(op));
}

static struct tdsd_type decimal_of(const struct tdsd_type *type) {
  struct tdsd_type none = {.kind = TDSD_DECIMAL, .precision = 1};
  struct tdsd_type met = tdsd_type_meet(*type, none);
  met.numeric = type->numeric;
  return met;
}

/* Precision and scale of the result, cut to 38 digits. */
static struct tdsd_type decimal_type(char op,
                                     const struct tdsd_type *left,
                                     const struct tdsd_type *right) {
  struct tdsd_type a = decimal_of(left);
  struct tdsd_type b = decimal_of(right);
  unsigned p1 = a.precision;
  unsigned s1 = a.scale;
  unsigned p2 = b.precision;
  unsigned s2 = b.scale;
  unsigned most_scale = s1 > s2 ? s1 : s2;
  unsigned most_whole = p1 - s1 > p2 - s2 ? p1 - s1 : p2 - s2;
  unsigned least_whole = p1 - s1 < p2 - s2 ? p1 - s1 : p2 - s2;
  unsigned precision = most_scale + most_whole + 1;
  unsigned scale = most_scale;
  if (op == '*') {
    precision = p1 + p2 + 1;
    scale = s1 + s2;
  } else if (op == '/') {
    scale = s1 + p2 + 1 < 6 ? 6 : s1 + p2 + 1;
    precision = p1 - s1 + s2 + scale;
  } else if (op == '%') {
    precision = least_whole + most_scale;
  }
  if (precision > 38) {
    unsigned over = precision - 38;
    unsigned floor_scale = scale < 6 ? scale : 6;
    scale = scale > over + floor_scale ? scale - over : floor_scale;
    precision = 38;
  }
  return (struct tdsd_type){.kind = TDSD_DECIMAL,
                            .precision = (uint8_t)precision,
                            .scale = (uint8_t)scale,
                            .numeric = a.numeric || b.numeric};
}

static struct tdsd_type concat_type(const struct tdsd_type *a,
                                    const struct tdsd_type *b) {
  struct tdsd_type type = tdsd_type_meet(*a, *b);
  uint64_t size = (uint64_t)a->size + b->size;
  bool max = a->size == TDSD_SIZE_MAX || b->size == TDSD_SIZE_MAX;
  uint32_t most = tdsd_kind_is_wide(type.kind) ? 4000 : 8000;
  type.size = max ? TDSD_SIZE_MAX : size > most ? most : (uint32_t)size;
  return type;
}

int tdsd_arith_type(char op,
                    const struct tdsd_type *a,
                    const struct tdsd_type *b,
                    struct tdsd_type *out_type,
                    struct tdsd_fault *fault) {
  struct tdsd_type high = tdsd_type_meet(*a, *b);
  if (high.kind <= TDSD_NVARCHAR) {
    if (op != '+') {
      return bad_operand(&high, op, fault);
    }
    high = concat_type(a, b);
  } else if (!tdsd_kind_is_number(high.kind)) {
    return bad_operand(&high, op, fault);
  } else if (high.kind == TDSD_DECIMAL) {
    /* Text beside a decimal takes the decimal's type. */
    high = decimal_type(op, tdsd_kind_is_number(a->kind) ? a : b,
                        tdsd_kind_is_number(b->kind) ? b : a);
  } else if (high.kind == TDSD_BIT) {
    high.kind = TDSD_INT;
  }
  high.nullable = true;
  *out_type = high;
  return 0;
}

static int divide_by_zero(struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 8134, 16, "Divide by zero error encountered.");
}

static int overflow(const struct tdsd_type *type, struct tdsd_fault *fault) {
  return tdsd_fault_set(fault, 8115, 16,
                        "Arithmetic overflow error converting expression to "
                        "data type %s.",
                        tdsd_kind_name(type->kind));
}

__extension__ typedef __int128 tdsd_i128;

static int integers(char op,
                    const struct tdsd_type *type,
                    int64_t a,
                    int64_t b,
                    struct tdsd_value *out,
                    struct tdsd_arena *arena,
                    struct tdsd_fault *fault) {
  tdsd_i128 wide = 0;
  switch (op) {
  case '+':
    wide = (tdsd_i128)a + b;
    break;
  case '-':
    wide = (tdsd_i128)a - b;
    break;
  case '*':
    wide = (tdsd_i128)a * b;
    break;
  default:
    if (b == 0) {
      return divide_by_zero(fault);
    }
    wide = op == '/' ? (tdsd_i128)a / b : (tdsd_i128)a % b;
    break;
  }
  if (wide > INT64_MAX || wide < INT64_MIN) {
    return overflow(type, fault);
  }
  struct tdsd_value whole = {.type = {.kind = TDSD_BIGINT},
                             .integer = (int64_t)wide};
  return tdsd_convert(&whole, type, 0, arena, out, fault) < 0
             ? overflow(type, fault)
             : 0;
}

static int reals(char op,
                 double a,
                 double b,
                 struct tdsd_value *out,
                 struct tdsd_fault *fault) {
  switch (op) {
  case '+':
    out->real = a + b;
    break;
  case '-':
    out->real = a - b;
    break;
  case '*':
    out->real = a * b;
    break;
  case '/':
    if (b == 0) {
      return divide_by_zero(fault);
    }
    out->real = a / b;
    break;
  default:
    return bad_operand(&out->type, op, fault);
  }
  if (out->type.kind == TDSD_REAL) {
    out->real = (double)(float)out->real;
  }
  return isfinite(out->real) ? 0 : overflow(&out->type, fault);
}

/* Brings a number to more decimals.  Returns false if 38 digits do not do. */
static bool raise_scale(struct tdsd_value *value, unsigned scale) {
  struct tdsd_type type = {
      .kind = TDSD_DECIMAL, .precision = 38, .scale = (uint8_t)scale};
  return tdsd_decimal_fit(value, &type) == 0;
}

static void add_signed(const struct tdsd_value *a,
                       const struct tdsd_value *b,
                       bool subtract,
                       struct tdsd_value *out) {
  bool b_negative = b->negative != subtract;
  if (a->negative == b_negative) {
    out->magnitude = a->magnitude + b->magnitude;
    out->negative = a->negative;
  } else if (a->magnitude >= b->magnitude) {
    out->magnitude = a->magnitude - b->magnitude;
    out->negative = a->negative;
  } else {
    out->magnitude = b->magnitude - a->magnitude;
    out->negative = b_negative;
  }
}

static int multiply(const struct tdsd_value *a,
                    const struct tdsd_value *b,
                    struct tdsd_value *out) {
  if (tdsd_digits(a->magnitude) + tdsd_digits(b->magnitude) > 38) {
    return -1;
  }
  out->magnitude = a->magnitude * b->magnitude;
  out->negative = a->negative != b->negative;
  out->type.scale = (uint8_t)(a->type.scale + b->type.scale);
  return 0;
}

/* The numerator gets as many zeros as fit, so that the quotient is exact to the
 * scale of the result or as near as 38 digits allow. */
static int divide(const struct tdsd_value *a,
                  const struct tdsd_value *b,
                  unsigned scale,
                  struct tdsd_value *out) {
  unsigned have = 38 - tdsd_digits(a->magnitude);
  unsigned want = scale + b->type.scale;
  want = want > a->type.scale ? want - a->type.scale : 0;
  unsigned up = want < have ? want : have;
  unsigned quotient_scale = a->type.scale + up;
  if (quotient_scale < b->type.scale) {
    return -1;
  }
  tdsd_u128 top = a->magnitude * tdsd_pow10(up);
  out->magnitude = top / b->magnitude;
  out->negative = a->negative != b->negative;
  out->type.scale = (uint8_t)(quotient_scale - b->type.scale);
  return 0;
}

static int decimals(char op,
                    const struct tdsd_type *type,
                    const struct tdsd_value *left,
                    const struct tdsd_value *right,
                    struct tdsd_value *out,
                    struct tdsd_fault *fault) {
  struct tdsd_value a;
  struct tdsd_value b;
  struct tdsd_value result = {.type = {.kind = TDSD_DECIMAL}};
  if (tdsd_value_decimal(left, &a) < 0 || tdsd_value_decimal(right, &b) < 0) {
    return overflow(type, fault);
  }
  if ((op == '/' || op == '%') && b.magnitude == 0) {
    return divide_by_zero(fault);
  }
  int rc = 0;
  if (op == '*') {
    rc = multiply(&a, &b, &result);
  } else if (op == '/') {
    rc = divide(&a, &b, type->scale, &result);
  } else {
    unsigned scale = a.type.scale > b.type.scale ? a.type.scale : b.type.scale;
    if (!raise_scale(&a, scale) || !raise_scale(&b, scale)) {
      return overflow(type, fault);
    }
    result.type.scale = (uint8_t)scale;
    if (op == '%') {
      result.magnitude = a.magnitude % b.magnitude;
      result.negative = a.negative;
    } else {
      add_signed(&a, &b, op == '-', &result);
    }
  }
  if (rc < 0 || tdsd_decimal_fit(&result, type) < 0) {
    return overflow(type, fault);
  }
  out->magnitude = result.magnitude;
  out->negative = result.negative;
  return 0;
}

static int concat(const struct tdsd_type *type,
                  const struct tdsd_value *a,
                  const struct tdsd_value *b,
                  struct tdsd_arena *arena,
                  struct tdsd_value *out,
                  struct tdsd_fault *fault) {
  struct tdsd_value joined = {.type = *type};
  if (a->len + b->len > TDSD_CAP_VALUE) {
    return tdsd_fault_set(fault, 701, 17,
                          "There is insufficient memory for this query.");
  }
  char *bytes = tdsd_arena_take(arena, a->len + b->len + 1);
  if (bytes == NULL) {
    return tdsd_fault_set(fault, 701, 17,
                          "There is insufficient memory for this query.");
  }
  if (a->len != 0) {
    memcpy(bytes, a->bytes, a->len);
  }
  if (b->len != 0) {
    memcpy(bytes + a->len, b->bytes, b->len);
  }
  joined.bytes = bytes;
  joined.len = a->len + b->len;
  return tdsd_convert(&joined, type, 0, arena, out, fault);
}

/* Money is reckoned as decimal of four places and turned back. */
static int money(char op,
                 const struct tdsd_type *type,
                 const struct tdsd_value *a,
                 const struct tdsd_value *b,
                 struct tdsd_arena *arena,
                 struct tdsd_value *out,
                 struct tdsd_fault *fault) {
  struct tdsd_type wide = {.kind = TDSD_DECIMAL, .precision = 38, .scale = 4};
  struct tdsd_value result = {.type = wide};
  return decimals(op, &wide, a, b, &result, fault) < 0
             ? -1
             : tdsd_convert(&result, type, 0, arena, out, fault);
}

int tdsd_arith(char op,
               const struct tdsd_type *type,
               const struct tdsd_value *a,
               const struct tdsd_value *b,
               struct tdsd_arena *arena,
               struct tdsd_value *out,
               struct tdsd_fault *fault) {
  *out = (struct tdsd_value){.type = *type, .bytes = ""};
  out->is_null = a->is_null || b->is_null;
  if (out->is_null) {
    return 0;
  }
  if (type->kind <= TDSD_NVARCHAR) {
    return concat(type, a, b, arena, out, fault);
  }
  /* Text beside a number becomes a number first. */
  struct tdsd_value x = *a;
  struct tdsd_value y = *b;
  bool x_text = !tdsd_kind_is_number(a->type.kind);
  bool y_text = !tdsd_kind_is_number(b->type.kind);
  if ((x_text && tdsd_convert(a, type, 0, arena, &x, fault) < 0) ||
      (y_text && tdsd_convert(b, type, 0, arena, &y, fault) < 0)) {
    return -1;
  }
  if (type->kind == TDSD_DECIMAL) {
    return decimals(op, type, &x, &y, out, fault);
  }
  if (type->kind == TDSD_MONEY || type->kind == TDSD_SMALLMONEY) {
    return money(op, type, &x, &y, arena, out, fault);
  }
  if (type->kind == TDSD_REAL || type->kind == TDSD_FLOAT) {
    return reals(op, tdsd_value_real(&x), tdsd_value_real(&y), out, fault);
  }
  return integers(op, type, x.integer, y.integer, out, arena, fault);
}
