/* SPDX-License-Identifier: MIT */
#include "server_sqlite_fn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_rewrite.h"
#include "server_text.h"

#define ARGS_MAX 16u

struct tdsd_lite_env *lite_env_of(sqlite3_context *context) {
  return sqlite3_user_data(context);
}

/* The statement fails with the environment's fault; SQLite only needs to know
 * that it does. */
void lite_fail(sqlite3_context *context) {
  sqlite3_result_error(context, "tsql", -1);
}

void lite_give(sqlite3_context *context, const struct tdsd_value *value) {
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

void lite_begin(struct tdsd_lite_env *env) {
  tdsd_arena_fini(&env->scratch);
  env->fault.number = 0;
}

static void arith(sqlite3_context *context, char op, sqlite3_value **args) {
  struct tdsd_lite_env *env = lite_env_of(context);
  struct tdsd_value a;
  struct tdsd_value b;
  struct tdsd_value out = {.bytes = ""};
  struct tdsd_type type;
  lite_begin(env);
  if (take(env, args[0], args[1], &a) < 0 ||
      take(env, args[2], args[3], &b) < 0 ||
      tdsd_arith_type(op, &a.type, &b.type, &type, &env->fault) < 0) {
    lite_fail(context);
    return;
  }
  if (a.is_null || b.is_null) {
    sqlite3_result_null(context);
    return;
  }
  if (tdsd_arith(op, &type, &a, &b, &env->scratch, &out, &env->fault) < 0) {
    lite_fail(context);
    return;
  }
  out.type = type;
  lite_give(context, &out);
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
  struct tdsd_lite_env *env = lite_env_of(context);
  struct tdsd_value value;
  (void)n;
  lite_begin(env);
  if (take(env, args[0], args[1], &value) < 0) {
    lite_fail(context);
    return;
  }
  if (value.integer == INT64_MIN) {
    (void)tdsd_fault_set(&env->fault, 8115, 16,
                         "Arithmetic overflow error converting expression to "
                         "data type bigint.");
    lite_fail(context);
    return;
  }
  value.integer = -value.integer;
  value.real = -value.real;
  value.negative = !value.negative && value.magnitude != 0;
  lite_give(context, &value);
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
  struct tdsd_lite_env *env = lite_env_of(context);
  struct tdsd_value out;
  lite_begin(env);
  if (cast(env, n, args, &out) < 0) {
    lite_fail(context);
    return;
  }
  lite_give(context, &out);
}

static void fn_try_cast(sqlite3_context *context, int n, sqlite3_value **args) {
  struct tdsd_lite_env *env = lite_env_of(context);
  struct tdsd_value out;
  lite_begin(env);
  if (cast(env, n, args, &out) < 0) {
    env->fault.number = 0;
    sqlite3_result_null(context);
    return;
  }
  lite_give(context, &out);
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
  struct tdsd_lite_env *env = lite_env_of(context);
  struct tdsd_type to;
  struct tdsd_type wide;
  struct tdsd_value value;
  struct tdsd_value out;
  const char *name = (const char *)sqlite3_value_text(args[2]);
  const char *where = (const char *)sqlite3_value_text(args[3]);
  (void)n;
  lite_begin(env);
  if (name == NULL || where == NULL || tdsd_rw_type_scan(name, &to) < 0 ||
      take(env, args[0], args[1], &value) < 0) {
    lite_fail(context);
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
    lite_fail(context);
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
    lite_fail(context);
    return;
  }
  if (tdsd_convert(&out, &to, 0, &env->scratch, &value, &env->fault) < 0) {
    lite_fail(context);
    return;
  }
  lite_give(context, &value);
}

/* name, then type and value of each argument. */
static void fn_call(sqlite3_context *context, int n, sqlite3_value **args) {
  struct tdsd_lite_env *env = lite_env_of(context);
  struct tdsd_value values[ARGS_MAX];
  struct tdsd_expr exprs[ARGS_MAX];
  struct tdsd_expr *pointers[ARGS_MAX];
  struct tdsd_value out = {.bytes = ""};
  struct tdsd_fault builtin = {0};
  const char *name = (const char *)sqlite3_value_text(args[0]);
  uint32_t nargs = (uint32_t)(n - 1) / 2;
  struct tdsd_context server = {
      .arena = &env->scratch, .state = &env->state, .fault = &env->fault};
  lite_begin(env);
  memset(exprs, 0, sizeof exprs);
  for (uint32_t i = 0; i < nargs && i < ARGS_MAX; i++) {
    if (take(env, args[2 + 2 * i], args[1 + 2 * i], &values[i]) < 0) {
      lite_fail(context);
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
    lite_fail(context);
    return;
  }
  lite_give(context, &out);
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
                 {"tsql_like", 3, true, lite_fn_like},
                 {"tsql_once", 1, true, fn_call},
                 {"tsql_call", -1, false, fn_call}};
  int rc = SQLITE_OK;
  for (size_t i = 0; i < sizeof scalars / sizeof scalars[0] && rc == 0; i++) {
    rc = sqlite3_create_function_v2(
        db, scalars[i].name, scalars[i].nargs,
        SQLITE_UTF8 | (scalars[i].fixed ? SQLITE_DETERMINISTIC : 0), env,
        scalars[i].call, NULL, NULL, NULL);
  }
  rc = rc == SQLITE_OK ? lite_add_aggregates(db, env) : rc;
  return rc == SQLITE_OK ? lite_add_collations(db) : rc;
}
