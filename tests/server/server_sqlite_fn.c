/* SPDX-License-Identifier: MIT */
#include "server_sqlite_fn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_rewrite.h"
#include "server_text.h"

#define ARGS_MAX 16u

static struct tdsd_lite_env *env_of(sqlite3_context *context) {
  return sqlite3_user_data(context);
}

/* The statement fails with the environment's fault; SQLite only needs to know
 * that it does. */
static void fail(sqlite3_context *context) {
  sqlite3_result_error(context, "tsql", -1);
}

static void give(sqlite3_context *context, const struct tdsd_value *value) {
  char text[128];
  enum tdsd_kind kind = value->type.kind;
  if (value->is_null) {
    sqlite3_result_null(context);
  } else if (tdsd_kind_is_integer(kind)) {
    sqlite3_result_int64(context, value->integer);
  } else if (kind == TDSD_REAL || kind == TDSD_FLOAT) {
    sqlite3_result_double(context, value->real);
  } else if (tdsd_kind_is_text(kind)) {
    sqlite3_result_text64(context, value->bytes, value->len, SQLITE_TRANSIENT,
                          SQLITE_UTF8);
  } else if (tdsd_kind_is_binary(kind)) {
    sqlite3_result_blob64(context, value->len == 0 ? "" : value->bytes,
                          value->len, SQLITE_TRANSIENT);
  } else {
    size_t len = tdsd_rw_value_print(value, text, sizeof text);
    sqlite3_result_text64(context, text, len, SQLITE_TRANSIENT, SQLITE_UTF8);
  }
}

/* An argument with its type's name before or behind it. */
static int take(struct tdsd_lite_env *env,
                sqlite3_value *value,
                sqlite3_value *name,
                struct tdsd_value *out) {
  struct tdsd_type type = {0};
  const char *text = (const char *)sqlite3_value_text(name);
  bool known = text != NULL && text[0] != 0;
  if (known && tdsd_rw_type_scan(text, &type) < 0) {
    return tdsd_fault_set(&env->fault, 243, 16,
                          "Type %.64s is not a defined system type.", text);
  }
  return tdsd_lite_get(value, &type, known, &env->scratch, out, &env->fault);
}

static void begin(struct tdsd_lite_env *env) {
  tdsd_arena_fini(&env->scratch);
  env->fault.number = 0;
}

static void arith(sqlite3_context *context, char op, sqlite3_value **args) {
  struct tdsd_lite_env *env = env_of(context);
  struct tdsd_value a;
  struct tdsd_value b;
  struct tdsd_value out = {.bytes = ""};
  struct tdsd_type type;
  begin(env);
  if (take(env, args[0], args[1], &a) < 0 ||
      take(env, args[2], args[3], &b) < 0 ||
      tdsd_arith_type(op, &a.type, &b.type, &type, &env->fault) < 0) {
    fail(context);
    return;
  }
  if (a.is_null || b.is_null) {
    sqlite3_result_null(context);
    return;
  }
  if (tdsd_arith(op, &type, &a, &b, &env->scratch, &out, &env->fault) < 0) {
    fail(context);
    return;
  }
  out.type = type;
  give(context, &out);
}

static void fn_add(sqlite3_context *context, int n, sqlite3_value **args) {
  (void)n;
  arith(context, '+', args);
}

static void fn_sub(sqlite3_context *context, int n, sqlite3_value **args) {
  (void)n;
  arith(context, '-', args);
}

static void fn_mul(sqlite3_context *context, int n, sqlite3_value **args) {
  (void)n;
  arith(context, '*', args);
}

static void fn_div(sqlite3_context *context, int n, sqlite3_value **args) {
  (void)n;
  arith(context, '/', args);
}

static void fn_mod(sqlite3_context *context, int n, sqlite3_value **args) {
  (void)n;
  arith(context, '%', args);
}

static void fn_neg(sqlite3_context *context, int n, sqlite3_value **args) {
  struct tdsd_lite_env *env = env_of(context);
  struct tdsd_value value;
  (void)n;
  begin(env);
  if (take(env, args[0], args[1], &value) < 0) {
    fail(context);
    return;
  }
  if (value.integer == INT64_MIN) {
    (void)tdsd_fault_set(&env->fault, 8115, 16,
                         "Arithmetic overflow error converting expression to "
                         "data type bigint.");
    fail(context);
    return;
  }
  value.integer = -value.integer;
  value.real = -value.real;
  value.negative = !value.negative && value.magnitude != 0;
  give(context, &value);
}

/* value, from, to [, style]. */
static int cast(struct tdsd_lite_env *env,
                int n,
                sqlite3_value **args,
                struct tdsd_value *out) {
  struct tdsd_type to;
  struct tdsd_value value;
  const char *name = (const char *)sqlite3_value_text(args[2]);
  int style = n == 4 ? sqlite3_value_int(args[3]) : 0;
  if (name == NULL || tdsd_rw_type_scan(name, &to) < 0) {
    return tdsd_fault_set(&env->fault, 243, 16,
                          "Type %.64s is not a defined system type.",
                          name == NULL ? "" : name);
  }
  return take(env, args[0], args[1], &value) < 0
             ? -1
             : tdsd_convert(&value, &to, style, &env->scratch, out,
                            &env->fault);
}

static void fn_cast(sqlite3_context *context, int n, sqlite3_value **args) {
  struct tdsd_lite_env *env = env_of(context);
  struct tdsd_value out;
  begin(env);
  if (cast(env, n, args, &out) < 0) {
    fail(context);
    return;
  }
  give(context, &out);
}

static void fn_try_cast(sqlite3_context *context, int n, sqlite3_value **args) {
  struct tdsd_lite_env *env = env_of(context);
  struct tdsd_value out;
  begin(env);
  if (cast(env, n, args, &out) < 0) {
    env->fault.number = 0;
    sqlite3_result_null(context);
    return;
  }
  give(context, &out);
}

/* Whether a text or binary value is longer than its column. */
static bool too_long(const struct tdsd_value *value,
                     const struct tdsd_type *to) {
  if (value->is_null || to->size == TDSD_SIZE_MAX) {
    return false;
  }
  if (tdsd_kind_is_binary(to->kind)) {
    return value->len > to->size;
  }
  if (!tdsd_kind_is_text(to->kind)) {
    return false;
  }
  size_t len = value->len;
  while (len > 0 && value->bytes[len - 1] == ' ') {
    len--; /* blanks at the end are cut in silence */
  }
  return tdsd_text_units(value->bytes, len) > to->size;
}

/* value, from, to, "table.column". */
static void fn_store(sqlite3_context *context, int n, sqlite3_value **args) {
  struct tdsd_lite_env *env = env_of(context);
  struct tdsd_type to;
  struct tdsd_type wide;
  struct tdsd_value value;
  struct tdsd_value out;
  const char *name = (const char *)sqlite3_value_text(args[2]);
  const char *where = (const char *)sqlite3_value_text(args[3]);
  (void)n;
  begin(env);
  if (name == NULL || where == NULL || tdsd_rw_type_scan(name, &to) < 0 ||
      take(env, args[0], args[1], &value) < 0) {
    fail(context);
    return;
  }
  wide = to;
  if (tdsd_kind_is_text(to.kind)) {
    wide.kind = tdsd_kind_is_wide(to.kind) ? TDSD_NVARCHAR : TDSD_VARCHAR;
    wide.size = TDSD_SIZE_MAX;
  } else if (tdsd_kind_is_binary(to.kind)) {
    wide.kind = TDSD_VARBINARY;
    wide.size = TDSD_SIZE_MAX;
  }
  if (tdsd_convert(&value, &wide, 0, &env->scratch, &out, &env->fault) < 0) {
    fail(context);
    return;
  }
  if (too_long(&out, &to)) {
    const char *dot = strrchr(where, '.');
    size_t cut = tdsd_kind_is_text(to.kind)
                     ? tdsd_text_cut(out.bytes, out.len, to.size)
                     : 0;
    (void)tdsd_fault_set(
        &env->fault, 2628, 16,
        "String or binary data would be truncated in table "
        "'%.128s.dbo.%.*s', column '%.128s'. Truncated value: '%.*s'.",
        env->state.database, dot == NULL ? 0 : (int)(dot - where), where,
        dot == NULL ? where : dot + 1, (int)(cut < 256 ? cut : 256), out.bytes);
    fail(context);
    return;
  }
  if (tdsd_convert(&out, &to, 0, &env->scratch, &value, &env->fault) < 0) {
    fail(context);
    return;
  }
  give(context, &value);
}

/* name, then type and value of each argument. */
static void fn_call(sqlite3_context *context, int n, sqlite3_value **args) {
  struct tdsd_lite_env *env = env_of(context);
  struct tdsd_value values[ARGS_MAX];
  struct tdsd_expr exprs[ARGS_MAX];
  struct tdsd_expr *pointers[ARGS_MAX];
  struct tdsd_value out = {.bytes = ""};
  struct tdsd_fault builtin = {0};
  const char *name = (const char *)sqlite3_value_text(args[0]);
  uint32_t nargs = (uint32_t)(n - 1) / 2;
  struct tdsd_context server = {
      .arena = &env->scratch, .state = &env->state, .fault = &env->fault};
  begin(env);
  memset(exprs, 0, sizeof exprs);
  for (uint32_t i = 0; i < nargs && i < ARGS_MAX; i++) {
    if (take(env, args[2 + 2 * i], args[1 + 2 * i], &values[i]) < 0) {
      fail(context);
      return;
    }
    exprs[i].type = values[i].type;
    pointers[i] = &exprs[i];
  }
  int32_t slot = name == NULL ? -1 : tdsd_function_find(name, nargs, &builtin);
  int rc = 0;
  if (slot >= 0) {
    struct tdsd_expr call = {.kind = TDSD_EXPR_CALL,
                             .slot = (uint32_t)slot,
                             .nargs = nargs,
                             .args = pointers};
    call.type = tdsd_function_type(&call);
    rc = tdsd_function_eval(&call, values, &server, &out);
  } else {
    rc = tdsd_scalar_eval(name == NULL ? "" : name, values, nargs, &server,
                          &out);
  }
  if (rc < 0) {
    fail(context);
    return;
  }
  give(context, &out);
}

/* LIKE. */

/* A letter without its case: ASCII, Latin-1, Greek and Cyrillic. */
static uint32_t fold(uint32_t c) {
  if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) ||
      (c >= 0x391 && c <= 0x3A9) || (c >= 0x410 && c <= 0x42F)) {
    return c + 32;
  }
  if (c >= 0x400 && c <= 0x40F) {
    return c + 80;
  }
  if (c >= 0x100 && c <= 0x137) {
    return c | 1;
  }
  return c;
}

struct pattern {
  const char *text;
  size_t len;
  uint32_t escape; /* 0 = none */
};

/* Whether c is in the set behind [; *at moves behind its ]. */
static bool in_set(const struct pattern *pattern, size_t *at, uint32_t c) {
  bool not = *at < pattern->len && pattern->text[*at] == '^';
  bool found = false;
  *at += not ? 1 : 0;
  while (*at < pattern->len && pattern->text[*at] != ']') {
    uint32_t low = fold(tdsd_text_next(pattern->text, pattern->len, at));
    uint32_t high = low;
    if (*at + 1 < pattern->len && pattern->text[*at] == '-' &&
        pattern->text[*at + 1] != ']') {
      ++*at;
      high = fold(tdsd_text_next(pattern->text, pattern->len, at));
    }
    found = found || (c >= low && c <= high);
  }
  *at += *at < pattern->len ? 1 : 0;
  return found != not ;
}

/* One unit of the pattern against one letter; *at moves behind the unit. */
static bool one_unit(const struct pattern *pattern, size_t *at, uint32_t c) {
  uint32_t unit = tdsd_text_next(pattern->text, pattern->len, at);
  if (pattern->escape != 0 && unit == pattern->escape && *at < pattern->len) {
    return fold(tdsd_text_next(pattern->text, pattern->len, at)) == fold(c);
  }
  if (unit == '_') {
    return true;
  }
  if (unit == '[') {
    return in_set(pattern, at, fold(c));
  }
  return fold(unit) == fold(c);
}

/* The usual walk with one place to come back to: the last %. */
static bool matches(const struct pattern *pattern,
                    const char *text,
                    size_t len) {
  size_t p = 0;
  size_t t = 0;
  size_t back_p = SIZE_MAX;
  size_t back_t = 0;
  while (t < len || p < pattern->len) {
    bool percent =
        p < pattern->len && pattern->text[p] == '%' && pattern->escape != '%';
    if (percent) {
      back_p = ++p;
      back_t = t;
      continue;
    }
    if (t < len && p < pattern->len) {
      size_t next_p = p;
      size_t next_t = t;
      uint32_t c = tdsd_text_next(text, len, &next_t);
      if (one_unit(pattern, &next_p, c)) {
        p = next_p;
        t = next_t;
        continue;
      }
    }
    if (back_p == SIZE_MAX || back_t >= len) {
      return false;
    }
    (void)tdsd_text_next(text, len, &back_t);
    p = back_p;
    t = back_t;
  }
  return true;
}

static void fn_like(sqlite3_context *context, int n, sqlite3_value **args) {
  (void)n;
  for (int i = 0; i < 3; i++) {
    if (sqlite3_value_type(args[i]) == SQLITE_NULL) {
      sqlite3_result_null(context);
      return;
    }
  }
  const char *text = (const char *)sqlite3_value_text(args[0]);
  size_t len = (size_t)sqlite3_value_bytes(args[0]);
  struct pattern pattern = {(const char *)sqlite3_value_text(args[1]),
                            (size_t)sqlite3_value_bytes(args[1]), 0};
  const char *escape = (const char *)sqlite3_value_text(args[2]);
  size_t at = 0;
  if (text == NULL || pattern.text == NULL || escape == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (escape[0] != 0) {
    pattern.escape = tdsd_text_next(escape, strlen(escape), &at);
  }
  sqlite3_result_int(context, matches(&pattern, text, len));
}

/* Aggregates. */

/* SUM and AVG of whole and exact numbers: a decimal of 38 digits, the count, and
 * the scale of the values. */
struct total {
  int64_t n;
  bool bad; /* more than 38 digits */
  bool negative;
  uint8_t scale;
  tdsd_u128 magnitude;
};

static void add_to(struct total *total, bool negative, tdsd_u128 magnitude) {
  if (total->negative == negative) {
    total->bad = total->bad || total->magnitude + magnitude < magnitude ||
                 total->magnitude + magnitude >= tdsd_pow10(38);
    total->magnitude += magnitude;
  } else if (magnitude > total->magnitude) {
    total->magnitude = magnitude - total->magnitude;
    total->negative = negative;
  } else {
    total->magnitude -= magnitude;
  }
  total->negative = total->negative && total->magnitude != 0;
}

static void total_add(sqlite3_context *context,
                      sqlite3_value *arg,
                      bool inverse) {
  struct total *total = sqlite3_aggregate_context(context, sizeof *total);
  struct tdsd_value value = {0};
  if (total == NULL || sqlite3_value_type(arg) == SQLITE_NULL) {
    return;
  }
  const char *text = (const char *)sqlite3_value_text(arg);
  if (text == NULL ||
      tdsd_decimal_parse(text, (size_t)sqlite3_value_bytes(arg), &value) < 0) {
    total->bad = true;
    return;
  }
  if (value.type.scale > total->scale) {
    total->magnitude *= tdsd_pow10((unsigned)value.type.scale - total->scale);
    total->scale = value.type.scale;
  }
  value.magnitude *= tdsd_pow10((unsigned)total->scale - value.type.scale);
  add_to(total, value.negative != inverse, value.magnitude);
  total->n += inverse ? -1 : 1;
}

static void total_step(sqlite3_context *context, int n, sqlite3_value **args) {
  (void)n;
  total_add(context, args[0], false);
}

static void total_inverse(sqlite3_context *context,
                          int n,
                          sqlite3_value **args) {
  (void)n;
  total_add(context, args[0], true);
}

static void total_overflow(sqlite3_context *context, enum tdsd_kind kind) {
  struct tdsd_lite_env *env = env_of(context);
  (void)tdsd_fault_set(&env->fault, 8115, 16,
                       "Arithmetic overflow error converting expression to "
                       "data type %s.",
                       tdsd_kind_name(kind));
  fail(context);
}

static void total_result(sqlite3_context *context,
                         enum tdsd_kind kind,
                         bool average) {
  struct total none = {0};
  struct total *total = sqlite3_aggregate_context(context, 0);
  struct tdsd_lite_env *env = env_of(context);
  total = total == NULL ? &none : total;
  tdsd_u128 n = (uint64_t)total->n;
  if (total->n == 0) {
    sqlite3_result_null(context);
    return;
  }
  struct tdsd_value value = {
      .type = {.kind = TDSD_DECIMAL, .precision = 38, .scale = total->scale},
      .negative = total->negative,
      .magnitude = total->magnitude,
      .bytes = ""};
  if (total->bad) {
    total_overflow(context, kind);
    return;
  }
  if (average && kind == TDSD_DECIMAL) {
    /* At least six places, the rest cut. */
    unsigned scale = value.type.scale < 6 ? 6 : value.type.scale;
    unsigned more = scale - value.type.scale;
    tdsd_u128 whole = value.magnitude / n;
    tdsd_u128 rest = value.magnitude % n;
    value.magnitude = whole * tdsd_pow10(more) + rest * tdsd_pow10(more) / n;
    value.type.scale = (uint8_t)scale;
  } else if (average) {
    value.magnitude /= n;
  }
  value.negative = value.negative && value.magnitude != 0;
  struct tdsd_type type = {.kind = kind};
  if (kind == TDSD_DECIMAL) {
    give(context, &value);
    return;
  }
  begin(env);
  struct tdsd_value out;
  if (tdsd_convert(&value, &type, 0, &env->scratch, &out, &env->fault) < 0) {
    total_overflow(context, kind);
    return;
  }
  give(context, &out);
}

static void sum_int(sqlite3_context *context) {
  total_result(context, TDSD_INT, false);
}

static void sum_bigint(sqlite3_context *context) {
  total_result(context, TDSD_BIGINT, false);
}

static void sum_money(sqlite3_context *context) {
  total_result(context, TDSD_MONEY, false);
}

static void sum_decimal(sqlite3_context *context) {
  total_result(context, TDSD_DECIMAL, false);
}

static void avg_int(sqlite3_context *context) {
  total_result(context, TDSD_INT, true);
}

static void avg_bigint(sqlite3_context *context) {
  total_result(context, TDSD_BIGINT, true);
}

static void avg_money(sqlite3_context *context) {
  total_result(context, TDSD_MONEY, true);
}

static void avg_decimal(sqlite3_context *context) {
  total_result(context, TDSD_DECIMAL, true);
}

/* SUM and AVG of floats. */
struct real_total {
  int64_t n;
  double sum;
};

static void real_step(sqlite3_context *context, int n, sqlite3_value **args) {
  struct real_total *total = sqlite3_aggregate_context(context, sizeof *total);
  (void)n;
  if (total != NULL && sqlite3_value_type(args[0]) != SQLITE_NULL) {
    total->n++;
    total->sum += sqlite3_value_double(args[0]);
  }
}

static void real_inverse(sqlite3_context *context,
                         int n,
                         sqlite3_value **args) {
  struct real_total *total = sqlite3_aggregate_context(context, sizeof *total);
  (void)n;
  if (total != NULL && sqlite3_value_type(args[0]) != SQLITE_NULL) {
    total->n--;
    total->sum -= sqlite3_value_double(args[0]);
  }
}

static void real_result(sqlite3_context *context, bool average) {
  const struct real_total *total = sqlite3_aggregate_context(context, 0);
  if (total == NULL || total->n == 0) {
    sqlite3_result_null(context);
  } else {
    sqlite3_result_double(context,
                          average ? total->sum / (double)total->n : total->sum);
  }
}

static void sum_float(sqlite3_context *context) {
  real_result(context, false);
}

static void avg_float(sqlite3_context *context) {
  real_result(context, true);
}

/* The value of a subquery that may have one row only. */
struct only {
  int64_t n;
  sqlite3_value *value;
};

static void only_step(sqlite3_context *context, int n, sqlite3_value **args) {
  struct only *only = sqlite3_aggregate_context(context, sizeof *only);
  struct tdsd_lite_env *env = env_of(context);
  (void)n;
  if (only == NULL) {
    return;
  }
  if (only->n++ == 0) {
    only->value = sqlite3_value_dup(args[0]);
    return;
  }
  (void)tdsd_fault_set(&env->fault, 512, 16,
                       "Subquery returned more than 1 value. This is not "
                       "permitted when the subquery follows =, !=, <, <= , >, "
                       ">= or when the subquery is used as an expression.");
  fail(context);
}

static void only_final(sqlite3_context *context) {
  struct only *only = sqlite3_aggregate_context(context, 0);
  if (only == NULL || only->value == NULL) {
    sqlite3_result_null(context);
    return;
  }
  sqlite3_result_value(context, only->value);
  sqlite3_value_free(only->value);
  only->value = NULL;
}

/* Collations. */

/* T-SQL's comparison of texts: no case, no blanks at the end. */
static int compare_texts(void *user,
                         int na,
                         const void *a,
                         int nb,
                         const void *b) {
  const char *left = a;
  const char *right = b;
  size_t nleft = (size_t)na;
  size_t nright = (size_t)nb;
  size_t i = 0;
  size_t j = 0;
  (void)user;
  while (nleft > 0 && left[nleft - 1] == ' ') {
    nleft--;
  }
  while (nright > 0 && right[nright - 1] == ' ') {
    nright--;
  }
  while (i < nleft && j < nright) {
    uint32_t c = fold(tdsd_text_next(left, nleft, &i));
    uint32_t d = fold(tdsd_text_next(right, nright, &j));
    if (c != d) {
      return c < d ? -1 : 1;
    }
  }
  return i < nleft ? 1 : j < nright ? -1 : 0;
}

static int compare_numbers(void *user,
                           int na,
                           const void *a,
                           int nb,
                           const void *b) {
  struct tdsd_value left = {0};
  struct tdsd_value right = {0};
  (void)user;
  int bad_left = tdsd_decimal_parse(a, (size_t)na, &left);
  int bad_right = tdsd_decimal_parse(b, (size_t)nb, &right);
  if (bad_left < 0 || bad_right < 0) {
    return bad_left != bad_right ? (bad_left < 0 ? -1 : 1)
                                 : compare_texts(NULL, na, a, nb, b);
  }
  if (left.magnitude == 0 && right.magnitude == 0) {
    return 0;
  }
  if (left.negative != right.negative) {
    return left.negative ? -1 : 1;
  }
  /* Whole parts first, then what stands behind the point, so that nothing
   * outgrows 38 digits. */
  tdsd_u128 unit_left = tdsd_pow10(left.type.scale);
  tdsd_u128 unit_right = tdsd_pow10(right.type.scale);
  tdsd_u128 x = left.magnitude / unit_left;
  tdsd_u128 y = right.magnitude / unit_right;
  if (x == y) {
    x = left.magnitude % unit_left * tdsd_pow10(38u - left.type.scale);
    y = right.magnitude % unit_right * tdsd_pow10(38u - right.type.scale);
  }
  int order = x < y ? -1 : x > y ? 1 : 0;
  return left.negative ? -order : order;
}

static int compare_instants(void *user,
                            int na,
                            const void *a,
                            int nb,
                            const void *b) {
  struct tdsd_value left;
  struct tdsd_value right;
  (void)user;
  if (tdsd_date_parse(a, (size_t)na, &left) < 0 ||
      tdsd_date_parse(b, (size_t)nb, &right) < 0) {
    return compare_texts(NULL, na, a, nb, b);
  }
  const int64_t day = INT64_C(864000000000);
  const int64_t minute = INT64_C(600000000);
  int64_t x = left.days * day + left.ticks - left.offset_min * minute;
  int64_t y = right.days * day + right.ticks - right.offset_min * minute;
  return x < y ? -1 : x > y ? 1 : 0;
}

/* SQL Server looks at the last group of a GUID first. */
static int compare_guids(void *user,
                         int na,
                         const void *a,
                         int nb,
                         const void *b) {
  static const uint8_t groups[][2] = {
      {24, 12}, {19, 4}, {14, 4}, {9, 4}, {0, 8}};
  (void)user;
  if (na != 36 || nb != 36) {
    return compare_texts(NULL, na, a, nb, b);
  }
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    int order = strncasecmp((const char *)a + groups[i][0],
                            (const char *)b + groups[i][0], groups[i][1]);
    if (order != 0) {
      return order;
    }
  }
  return 0;
}

int tdsd_lite_functions(sqlite3 *db, struct tdsd_lite_env *env) {
  static const struct {
    const char *name;
    int nargs;
    bool fixed;
    void (*call)(sqlite3_context *, int, sqlite3_value **);
  } scalars[] = {{"tsql_add", 4, true, fn_add},
                 {"tsql_sub", 4, true, fn_sub},
                 {"tsql_mul", 4, true, fn_mul},
                 {"tsql_div", 4, true, fn_div},
                 {"tsql_mod", 4, true, fn_mod},
                 {"tsql_neg", 2, true, fn_neg},
                 {"tsql_cast", 3, true, fn_cast},
                 {"tsql_cast", 4, true, fn_cast},
                 {"tsql_try_cast", 3, true, fn_try_cast},
                 {"tsql_try_cast", 4, true, fn_try_cast},
                 {"tsql_store", 4, true, fn_store},
                 {"tsql_like", 3, true, fn_like},
                 {"tsql_once", 1, true, fn_call},
                 {"tsql_call", -1, false, fn_call}};
  static const struct {
    const char *name;
    void (*step)(sqlite3_context *, int, sqlite3_value **);
    void (*inverse)(sqlite3_context *, int, sqlite3_value **);
    void (*result)(sqlite3_context *);
  } aggregates[] = {
      {"tsql_sum_int", total_step, total_inverse, sum_int},
      {"tsql_sum_bigint", total_step, total_inverse, sum_bigint},
      {"tsql_sum_money", total_step, total_inverse, sum_money},
      {"tsql_sum_decimal", total_step, total_inverse, sum_decimal},
      {"tsql_sum_float", real_step, real_inverse, sum_float},
      {"tsql_avg_int", total_step, total_inverse, avg_int},
      {"tsql_avg_bigint", total_step, total_inverse, avg_bigint},
      {"tsql_avg_money", total_step, total_inverse, avg_money},
      {"tsql_avg_decimal", total_step, total_inverse, avg_decimal},
      {"tsql_avg_float", real_step, real_inverse, avg_float}};
  static const struct {
    const char *name;
    int (*compare)(void *, int, const void *, int, const void *);
  } collations[] = {{"tsql_text", compare_texts},
                    {"tsql_number", compare_numbers},
                    {"tsql_instant", compare_instants},
                    {"tsql_guid", compare_guids}};
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof scalars / sizeof scalars[0] && rc == 0; i++) {
    rc = sqlite3_create_function_v2(
        db, scalars[i].name, scalars[i].nargs,
        SQLITE_UTF8 | (scalars[i].fixed ? SQLITE_DETERMINISTIC : 0), env,
        scalars[i].call, NULL, NULL, NULL);
  }
  for (size_t i = 0; i < sizeof aggregates / sizeof aggregates[0] && rc == 0;
       i++) {
    rc = sqlite3_create_window_function(
        db, aggregates[i].name, 1, SQLITE_UTF8, env, aggregates[i].step,
        aggregates[i].result, aggregates[i].result, aggregates[i].inverse,
        NULL);
  }
  if (rc == SQLITE_OK) {
    rc = sqlite3_create_function_v2(db, "tsql_only", 1, SQLITE_UTF8, env, NULL,
                                    only_step, only_final, NULL);
  }
  for (size_t i = 0; i < sizeof collations / sizeof collations[0] && rc == 0;
       i++) {
    rc = sqlite3_create_collation_v2(db, collations[i].name, SQLITE_UTF8, NULL,
                                     collations[i].compare, NULL);
  }
  return rc;
}
