/* SPDX-License-Identifier: MIT */
/* Aggregates: SUM and AVG that are exact, and the one value of a subquery. */
#include "server_sqlite_fn.h"

/* SUM and AVG of whole and exact numbers: a decimal of 38 digits, the count, and
 * the scale of the values. */
struct total {
  int64_t n;
  bool bad; /* more than 38 digits */
  bool negative;
  uint8_t scale;
  uint64_t
      low; /* of the magnitude, in halves: SQLite's memory is aligned for */
  uint64_t high; /* eight bytes only */
};

static tdsd_u128 magnitude_of(const struct total *total) {
  return (tdsd_u128)total->high << 64 | total->low;
}

static void set_magnitude(struct total *total, tdsd_u128 magnitude) {
  total->low = (uint64_t)magnitude;
  total->high = (uint64_t)(magnitude >> 64);
}

static void add_to(struct total *total, bool negative, tdsd_u128 magnitude) {
  tdsd_u128 sum = magnitude_of(total);
  if (total->negative == negative) {
    total->bad = total->bad || sum + magnitude < magnitude ||
                 sum + magnitude >= tdsd_pow10(38);
    sum += magnitude;
  } else if (magnitude > sum) {
    sum = magnitude - sum;
    total->negative = negative;
  } else {
    sum -= magnitude;
  }
  total->negative = total->negative && sum != 0;
  set_magnitude(total, sum);
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
    set_magnitude(total,
                  magnitude_of(total) *
                      tdsd_pow10((unsigned)value.type.scale - total->scale));
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
  struct tdsd_lite_env *env = lite_env_of(context);
  (void)tdsd_fault_set(&env->fault, 8115, 16,
                       "Arithmetic overflow error converting expression to "
                       "data type %s.",
                       tdsd_kind_name(kind));
  lite_fail(context);
}

static void total_result(sqlite3_context *context,
                         enum tdsd_kind kind,
                         bool average) {
  struct total none = {0};
  struct total *total = sqlite3_aggregate_context(context, 0);
  struct tdsd_lite_env *env = lite_env_of(context);
  total = total == NULL ? &none : total;
  tdsd_u128 n = (uint64_t)total->n;
  if (total->n == 0) {
    sqlite3_result_null(context);
    return;
  }
  struct tdsd_value value = {
      .type = {.kind = TDSD_DECIMAL, .precision = 38, .scale = total->scale},
      .negative = total->negative,
      .magnitude = magnitude_of(total),
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
    lite_give(context, &value);
    return;
  }
  lite_begin(env);
  struct tdsd_value out;
  if (tdsd_convert(&value, &type, 0, &env->scratch, &out, &env->fault) < 0) {
    total_overflow(context, kind);
    return;
  }
  lite_give(context, &out);
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
  struct tdsd_lite_env *env = lite_env_of(context);
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
  lite_fail(context);
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

int lite_add_aggregates(sqlite3 *db, struct tdsd_lite_env *env) {
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
  int rc = SQLITE_OK;
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
  return rc;
}
