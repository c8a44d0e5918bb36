/* SPDX-License-Identifier: MIT */
/* Expressions of the rewriter. */
#include <string.h>
#include <strings.h>

#include "server_rewrite_impl.h"

/* Keywords that are functions, too. */
static bool starts_call(const struct rw *rw) {
  static const char *const words[] = {
      "coalesce", "nullif", "left", "right", "convert", "try_convert", "user"};
  bool known = rw_at_name(rw);
  for (size_t i = 0; i < sizeof words / sizeof words[0] && !known; i++) {
    known = rw_is(rw, words[i]);
  }
  return known && tdsd_lex_is_sign(rw_ahead(rw, 1), "(");
}

/* a, t.a, dbo.t.a, db.dbo.t.a: the last two parts count. */
static int named(struct rw *rw, struct rw_expr *out) {
  uint32_t line = rw_token(rw)->line;
  const char *name = NULL;
  const char *table = NULL;
  if (starts_call(rw)) {
    const struct tdsd_token *token = rw_token(rw);
    name = tdsd_arena_copy(rw->arena, token->text, token->len);
    if (name == NULL) {
      return rw_no_memory(rw);
    }
    rw->at++;
    return rw_call(rw, name, out);
  }
  if (rw_is(rw, "current_timestamp")) {
    rw->at++;
    *out = rw_expr_of("tsql_once('getdate')",
                      (struct tdsd_type){.kind = TDSD_DATETIME});
    return 0;
  }
  if (rw_name(rw, &name) < 0) {
    return -1;
  }
  while (rw_eat_sign(rw, ".")) {
    table = name;
    if (rw_name(rw, &name) < 0) {
      return -1;
    }
    if (rw_is_sign(rw, "(")) {
      return rw_refuse(rw, rw_format(rw, "%s.%s()", table, name));
    }
  }
  return rw_column(rw, table, name, line, out);
}

/* (SELECT ...) as one value. */
static int scalar_query(struct rw *rw, struct rw_expr *out) {
  struct rw_query query = {0};
  if (rw_column_query(rw, &query) < 0) {
    return -1;
  }
  *out = (struct rw_expr){.sql = rw_format(rw, "(%s)", query.sql)};
  if (query.ncolumns == 1) {
    out->known = query.columns[0].known;
    out->type = query.columns[0].type;
    /* More than one row is an error, which SQLite would not notice. */
    out->sql = rw_format(rw, "(WITH q(v) AS (%s) SELECT tsql_only(v) FROM q)",
                         query.sql);
  }
  out->type.nullable = true;
  return rw_ok(rw) ? 0 : -1;
}

static int parenthesised(struct rw *rw, struct rw_expr *out) {
  if (rw_is(rw, "select") || rw_is(rw, "with")) {
    return scalar_query(rw, out);
  }
  if (rw_value(rw, out) < 0 || rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  if (!out->column && out->literal == NULL) {
    out->sql = rw_format(rw, "(%s)", out->sql);
  }
  return rw_ok(rw) ? 0 : -1;
}

static int primary(struct rw *rw, struct rw_expr *out) {
  switch (rw_token(rw)->lexeme) {
  case TDSD_LEX_STRING:
  case TDSD_LEX_WIDE:
    return rw_text_literal(rw, out);
  case TDSD_LEX_BINARY:
    return rw_binary_literal(rw, out);
  case TDSD_LEX_NUMBER:
  case TDSD_LEX_FLOAT:
  case TDSD_LEX_MONEY:
    return rw_number_literal(rw, out);
  case TDSD_LEX_VARIABLE:
    return rw_variable(rw, out);
  case TDSD_LEX_SIGN:
    return rw_eat_sign(rw, "(") ? parenthesised(rw, out) : rw_bad(rw);
  case TDSD_LEX_WORD:
  case TDSD_LEX_QUOTED:
  case TDSD_LEX_END:
  default:
    break;
  }
  if (rw_eat(rw, "null")) {
    *out = (struct rw_expr){
        .sql = "NULL",
        .type = {.kind = TDSD_INT, .untyped = true, .nullable = true},
        .known = true};
    return 0;
  }
  return rw_eat(rw, "case") ? rw_case(rw, out) : named(rw, out);
}

int rw_collation(struct rw *rw) {
  const char *name = NULL;
  if (rw_name(rw, &name) < 0) {
    return -1;
  }
  size_t len = strlen(name);
  return strcasecmp(name, "database_default") == 0 ||
                 (len > 6 && strcasecmp(name + len - 6, "_CI_AS") == 0)
             ? 0
             : rw_refuse(rw, rw_format(rw, "COLLATE %s", name));
}

static int collate(struct rw *rw, struct rw_expr *out) {
  out->column = false;
  return rw_collation(rw);
}

/* Only the syntax matters as long as types are not known. */
static int unknown_result(struct rw_expr *out) {
  *out = (struct rw_expr){.sql = out->sql};
  return 0;
}

static int negate(struct rw *rw, struct rw_expr *out) {
  if (rw->catalog == NULL && out->literal == NULL) {
    return unknown_result(out);
  }
  if (!out->known) {
    return rw_refuse(rw, "- on a value whose type is not known");
  }
  if (!tdsd_kind_is_number(out->type.kind) || out->type.kind == TDSD_BIT) {
    return tdsd_fault_set(rw->fault, 8117, 16,
                          "Operand data type %s is invalid for minus operator.",
                          tdsd_kind_name(out->type.kind));
  }
  if (out->literal != NULL) {
    struct tdsd_value value = *out->literal;
    value.integer = -value.integer;
    value.real = -value.real;
    value.negative = !value.negative && value.magnitude != 0;
    rw->at--; /* rw_take_literal() passes over a token */
    return rw_take_literal(rw, &value, out);
  }
  struct tdsd_type type = out->type;
  *out = rw_expr_of(
      rw_format(rw, "tsql_neg(%s, %s)", out->sql, rw_type(rw, &type)), type);
  return rw_ok(rw) ? 0 : -1;
}

static int unary(struct rw *rw, struct rw_expr *out) {
  bool minus = rw_eat_sign(rw, "-");
  bool plus = !minus && rw_eat_sign(rw, "+");
  bool tilde = !minus && !plus && rw_eat_sign(rw, "~");
  if (!minus && !plus && !tilde) {
    if (primary(rw, out) < 0) {
      return -1;
    }
    return rw_eat(rw, "collate") ? collate(rw, out) : 0;
  }
  if (rw_enter(rw) < 0 || unary(rw, out) < 0) {
    return -1;
  }
  rw_leave(rw);
  if (tilde && rw->catalog == NULL) {
    return unknown_result(out);
  }
  if (tilde) {
    if (!out->known || !tdsd_kind_is_integer(out->type.kind)) {
      return tdsd_fault_set(rw->fault, 8117, 16,
                            "Operand data type %s is invalid for '~' operator.",
                            tdsd_kind_name(out->type.kind));
    }
    *out = rw_expr_of(out->type.kind == TDSD_BIT
                          ? rw_format(rw, "(1 - %s)", out->sql)
                          : rw_format(rw, "(~%s)", out->sql),
                      out->type);
    return rw_ok(rw) ? 0 : -1;
  }
  return minus ? negate(rw, out) : 0;
}

/* Both sides are text: T-SQL's plus is concatenation. */
static int concat(struct rw *rw, struct rw_expr *a, const struct rw_expr *b) {
  struct tdsd_type type = {0};
  if (tdsd_arith_type('+', &a->type, &b->type, &type, rw->fault) < 0) {
    return -1;
  }
  *a = rw_expr_of(rw_format(rw, "(%s || %s)", a->sql, b->sql), type);
  return 0;
}

static int bitwise(struct rw *rw,
                   char op,
                   struct rw_expr *a,
                   const struct rw_expr *b) {
  struct tdsd_type type = tdsd_type_meet(a->type, b->type);
  if (!tdsd_kind_is_integer(type.kind)) {
    return tdsd_fault_set(rw->fault, 402, 16,
                          "The data types %s and %s are incompatible in the "
                          "'%c' operator.",
                          tdsd_kind_name(a->type.kind),
                          tdsd_kind_name(b->type.kind), op);
  }
  *a = rw_expr_of(op == '^' ? rw_format(rw, "((%s | %s) - (%s & %s))", a->sql,
                                        b->sql, a->sql, b->sql)
                            : rw_format(rw, "(%s %c %s)", a->sql, op, b->sql),
                  type);
  return 0;
}

static int combine(struct rw *rw,
                   char op,
                   struct rw_expr *a,
                   const struct rw_expr *b) {
  struct tdsd_type type = {0};
  if (rw->catalog == NULL) {
    a->sql = rw_format(rw, "(%s %c %s)", a->sql, op, b->sql);
    a->known = false;
    a->column = false;
    a->literal = NULL;
    return 0;
  }
  if (!a->known || !b->known) {
    return rw_refuse(
        rw, rw_format(rw, "%c on a value whose type is not known", op));
  }
  if (op == '+' && rw_is_text(a) && rw_is_text(b)) {
    return concat(rw, a, b);
  }
  if (strchr("&|^", op) != NULL) {
    return bitwise(rw, op, a, b);
  }
  if (tdsd_arith_type(op, &a->type, &b->type, &type, rw->fault) < 0) {
    return -1;
  }
  static const char *const names[] = {"add", "sub", "mul", "div", "mod"};
  const char *name = names[strchr("+-*/%", op) - "+-*/%"];
  *a = rw_expr_of(rw_format(rw, "tsql_%s(%s, %s, %s, %s)", name, a->sql,
                            rw_type(rw, &a->type), b->sql,
                            rw_type(rw, &b->type)),
                  type);
  return rw_ok(rw) ? 0 : -1;
}

static int chain(struct rw *rw,
                 const char *ops,
                 int (*lower)(struct rw *rw, struct rw_expr *out),
                 struct rw_expr *out) {
  if (lower(rw, out) < 0) {
    return -1;
  }
  for (;;) {
    const struct tdsd_token *token = rw_token(rw);
    if (token->lexeme != TDSD_LEX_SIGN || token->len != 1 ||
        strchr(ops, token->text[0]) == NULL) {
      return 0;
    }
    struct rw_expr right;
    char op = token->text[0];
    rw->at++;
    if (lower(rw, &right) < 0 || combine(rw, op, out, &right) < 0) {
      return -1;
    }
  }
}

static int product(struct rw *rw, struct rw_expr *out) {
  return chain(rw, "*/%", unary, out);
}

int rw_value(struct rw *rw, struct rw_expr *out) {
  if (rw_enter(rw) < 0 || chain(rw, "+-&|^", product, out) < 0) {
    return -1;
  }
  rw_leave(rw);
  return 0;
}
