/* SPDX-License-Identifier: MIT */
/* Function calls of the rewriter: casts, functions that SQLite has itself, and
 * scalar functions, which server_builtin.c and server_scalar.c compute. */
#include <ctype.h>
#include <strings.h>

#include "server_rewrite_impl.h"

struct tdsd_type rw_type_of(enum tdsd_kind kind) {
  return (struct tdsd_type){.kind = kind, .nullable = true};
}

int rw_arguments(struct rw *rw, struct rw_exprs *list) {
  while (!rw_is_sign(rw, ")")) {
    struct rw_expr arg;
    if ((list->n != 0 && rw_need_sign(rw, ",") < 0) || rw_value(rw, &arg) < 0 ||
        rw_append(rw, list, &arg) < 0) {
      return -1;
    }
  }
  return rw_need_sign(rw, ")");
}

int rw_wrong_count(struct rw *rw, const char *name, unsigned least) {
  return tdsd_fault_set(rw->fault, 174, 15,
                        "The %s function requires %u argument(s).", name,
                        least);
}

int rw_need_known(struct rw *rw, const struct rw_expr *expr, const char *name) {
  return expr->known || rw->catalog == NULL
             ? 0
             : rw_refuse(rw,
                         rw_format(rw, "%s of a value whose type is not known",
                                   name));
}

/* CAST, CONVERT and their TRY forms. */

static int convert(struct rw *rw,
                   struct rw_expr *value,
                   const struct tdsd_type *type,
                   const char *style,
                   bool try,
                   struct rw_expr *out) {
  *out = (struct rw_expr){.type = *type, .known = true};
  out->type.nullable = true;
  if (value->type.untyped && value->known) {
    out->sql = "NULL";
    return 0;
  }
  out->sql = rw_format(
      rw, "tsql_%scast(%s, %s, %s%s%s)", try ? "try_" : "", value->sql,
      value->known ? rw_type(rw, &value->type) : "''", rw_type(rw, type),
      style == NULL ? "" : ", ", style == NULL ? "" : style);
  return rw_ok(rw) ? 0 : -1;
}

static int call_cast(struct rw *rw, bool try, struct rw_expr *out) {
  struct rw_expr value;
  struct tdsd_type type;
  return rw_value(rw, &value) < 0 || rw_need(rw, "as") < 0 ||
                 rw_data_type(rw, 30, &type) < 0 || rw_need_sign(rw, ")") < 0
             ? -1
             : convert(rw, &value, &type, NULL, try, out);
}

static int call_convert(struct rw *rw, bool try, struct rw_expr *out) {
  struct rw_expr value;
  struct rw_expr style = {0};
  struct tdsd_type type;
  if (rw_data_type(rw, 30, &type) < 0 || rw_need_sign(rw, ",") < 0 ||
      rw_value(rw, &value) < 0 ||
      (rw_eat_sign(rw, ",") && rw_value(rw, &style) < 0) ||
      rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  return convert(rw, &value, &type, style.sql, try, out);
}

/* Functions that SQLite has in a form of its own, because all arguments need not
 * be computed. */

static int call_iif(struct rw *rw, struct rw_expr *out) {
  const char *when = "";
  struct rw_expr a;
  struct rw_expr b;
  if (rw_condition(rw, &when) < 0 || rw_need_sign(rw, ",") < 0 ||
      rw_value(rw, &a) < 0 || rw_need_sign(rw, ",") < 0 ||
      rw_value(rw, &b) < 0 || rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  bool known = a.known && b.known;
  struct tdsd_type meet = tdsd_type_meet(a.type, b.type);
  if (known && (rw_cast(rw, &a, &meet) < 0 || rw_cast(rw, &b, &meet) < 0)) {
    return -1;
  }
  *out = (struct rw_expr){.sql = rw_format(rw,
                                           "CASE WHEN %s THEN %s ELSE %s "
                                           "END",
                                           when, a.sql, b.sql),
                          .type = meet,
                          .known = known};
  out->type.nullable = true;
  return 0;
}

static int call_isnull(struct rw *rw, struct rw_expr *out) {
  struct rw_exprs args = {0};
  if (rw_arguments(rw, &args) < 0) {
    return -1;
  }
  if (args.n != 2) {
    return rw_wrong_count(rw, "isnull", 2);
  }
  struct rw_expr *a = &args.at[0];
  struct rw_expr *b = &args.at[1];
  *out = a->type.untyped ? *b : *a;
  if (a->known && !a->type.untyped && rw_cast(rw, b, &a->type) < 0) {
    return -1;
  }
  out->sql = rw_format(rw, "ifnull(%s, %s)", a->sql, b->sql);
  out->type.nullable = a->type.nullable && b->type.nullable;
  out->column = false;
  out->literal = NULL;
  return 0;
}

static int call_coalesce(struct rw *rw, struct rw_expr *out) {
  struct rw_exprs args = {0};
  struct rw_text text = {0};
  struct tdsd_type meet = {0};
  bool known = true;
  if (rw_arguments(rw, &args) < 0) {
    return -1;
  }
  if (args.n < 2) {
    return rw_wrong_count(rw, "coalesce", 2);
  }
  for (uint32_t i = 0; i < args.n; i++) {
    known = known && args.at[i].known;
    meet = i == 0 ? args.at[i].type : tdsd_type_meet(meet, args.at[i].type);
  }
  for (uint32_t i = 0; i < args.n; i++) {
    if (known && rw_cast(rw, &args.at[i], &meet) < 0) {
      return -1;
    }
    rw_add(rw, &text, i == 0 ? "coalesce(" : ", ");
    rw_add(rw, &text, args.at[i].sql);
  }
  rw_add(rw, &text, ")");
  *out = (struct rw_expr){.sql = text.bytes, .type = meet, .known = known};
  out->type.nullable = true;
  return 0;
}

static int call_nullif(struct rw *rw, struct rw_expr *out) {
  struct rw_exprs args = {0};
  if (rw_arguments(rw, &args) < 0) {
    return -1;
  }
  if (args.n != 2) {
    return rw_wrong_count(rw, "nullif", 2);
  }
  *out = args.at[0];
  struct rw_expr left = args.at[0];
  if (rw_align(rw, &left, &args.at[1]) < 0) {
    return -1;
  }
  out->sql = rw_format(rw, "CASE WHEN %s%s = %s THEN NULL ELSE %s END",
                       left.sql, rw_collate(&left), args.at[1].sql, out->sql);
  out->type.nullable = true;
  out->column = false;
  out->literal = NULL;
  return 0;
}

/* Everything else is computed by the server's own functions. */

static int scalar_type(struct rw *rw,
                       const char *name,
                       const struct tdsd_type *types,
                       uint32_t n,
                       struct tdsd_type *out) {
  struct tdsd_fault builtin = {0};
  int32_t slot = tdsd_function_find(name, n, &builtin);
  if (slot < 0) {
    return builtin.number == 195
               ? tdsd_scalar_type(name, types, n, out, rw->fault)
               : tdsd_fault_set(rw->fault, builtin.number, builtin.class, "%s",
                                builtin.text);
  }
  struct tdsd_expr args[16] = {{0}};
  struct tdsd_expr *pointers[16];
  for (uint32_t i = 0; i < n && i < 16; i++) {
    args[i].type = types[i];
    pointers[i] = &args[i];
  }
  struct tdsd_expr call = {.kind = TDSD_EXPR_CALL,
                           .slot = (uint32_t)slot,
                           .nargs = n,
                           .args = pointers};
  *out = tdsd_function_type(&call);
  return 0;
}

/* DATEADD(day, ...): the first argument is a word, given on as text. */
static bool takes_part(const char *name) {
  return strcasecmp(name, "dateadd") == 0 ||
         strcasecmp(name, "datediff") == 0 ||
         strcasecmp(name, "datediff_big") == 0 ||
         strcasecmp(name, "datepart") == 0 || strcasecmp(name, "datename") == 0;
}

static int date_part(struct rw *rw, struct rw_exprs *list) {
  const struct tdsd_token *token = rw_token(rw);
  if (token->lexeme != TDSD_LEX_WORD || token->len > 16) {
    return rw_bad(rw);
  }
  struct rw_expr word = {
      .sql = rw_format(rw, "'%.*s'", (int)token->len, token->text),
      .type = {.kind = TDSD_VARCHAR, .size = 16},
      .known = true};
  rw->at++;
  if (rw_append(rw, list, &word) < 0) {
    return -1;
  }
  return rw_need_sign(rw, ",");
}

static int scalar_args(struct rw *rw, const char *name, struct rw_exprs *args) {
  struct rw_exprs rest = {0};
  if ((takes_part(name) && date_part(rw, args) < 0) ||
      rw_arguments(rw, &rest) < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < rest.n; i++) {
    if (rw_append(rw, args, &rest.at[i]) < 0) {
      return -1;
    }
  }
  return args->n <= 16 ? 0 : rw_wrong_count(rw, name, 16);
}

static int scalar(struct rw *rw, const char *name, struct rw_expr *out) {
  struct rw_exprs args = {0};
  struct rw_text text = {0};
  struct tdsd_type types[16] = {{0}};
  uint32_t line = rw_token(rw)->line;
  /* What the worker cannot see of the session. */
  static const char *const missing[] = {
      "session_context", "context_info",  "object_id",
      "error_line",      "error_message", "error_number",
      "error_severity",  "error_state",   "error_procedure"};
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
    if (strcasecmp(missing[i], name) == 0) {
      return rw_refuse(rw, rw_format(rw, "%s in a statement on tables", name));
    }
  }
  if (scalar_args(rw, name, &args) < 0) {
    return -1;
  }
  /* The time of day is that of the whole statement. */
  bool once = args.n == 0 && strcasecmp(name, "newid") != 0;
  rw_add(rw, &text, once ? "tsql_once('" : "tsql_call('");
  for (const char *c = name; *c != 0; c++) {
    rw_add(rw, &text, rw_format(rw, "%c", tolower((unsigned char)*c)));
  }
  rw_add(rw, &text, "'");
  for (uint32_t i = 0; i < args.n; i++) {
    types[i] = args.at[i].type;
    if (rw_need_known(rw, &args.at[i], name) < 0) {
      return -1;
    }
    rw_add(rw, &text,
           rw_format(rw, ", %s, %s", rw_type(rw, &types[i]), args.at[i].sql));
  }
  rw_add(rw, &text, ")");
  *out = (struct rw_expr){.sql = text.bytes, .known = rw->catalog != NULL};
  rw->fault->line = line;
  int rc = scalar_type(rw, name, types, args.n, &out->type);
  int32_t number = rw->fault->number;
  if (rw->catalog == NULL && number != 195 && number != 174) {
    rw->fault->number = 0; /* the types are not known yet */
    rc = 0;
  }
  return rc < 0 || !rw_ok(rw) ? -1 : 0;
}

int rw_call(struct rw *rw, const char *name, struct rw_expr *out) {
  static const struct {
    const char *name;
    int (*call)(struct rw *rw, struct rw_expr *out);
  } special[] = {{"iif", call_iif},
                 {"isnull", call_isnull},
                 {"coalesce", call_coalesce},
                 {"nullif", call_nullif}};
  if (rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  bool try = strncasecmp(name, "try_", 4) == 0;
  const char *base = try ? name + 4 : name;
  if (strcasecmp(base, "cast") == 0) {
    return call_cast(rw, try, out);
  }
  if (strcasecmp(base, "convert") == 0) {
    return call_convert(rw, try, out);
  }
  for (size_t i = 0; i < sizeof special / sizeof special[0]; i++) {
    if (strcasecmp(special[i].name, name) == 0) {
      return special[i].call(rw, out) < 0 || !rw_ok(rw) ? -1 : 0;
    }
  }
  if (rw_is_aggregate(name)) {
    return rw_aggregate(rw, name, out) < 0 || !rw_ok(rw) ? -1 : 0;
  }
  int rc = rw_window(rw, name, out);
  return rc <= 0 ? rc : scalar(rw, name, out);
}
