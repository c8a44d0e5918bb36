/* SPDX-License-Identifier: MIT */
/* Expressions of the rewriter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_rewrite_impl.h"
#include "server_text.h"

/* Literals. */

static int take_literal(struct rw *rw,
                        const struct tdsd_value *value,
                        struct rw_expr *out) {
  struct tdsd_value *copy = tdsd_arena_take(rw->arena, sizeof *copy);
  if (copy == NULL) {
    return rw_no_memory(rw);
  }
  *copy = *value;
  rw->at++;
  *out = (struct rw_expr){.sql = rw_literal(rw, copy),
                          .type = copy->type,
                          .known = true,
                          .literal = copy};
  return rw_ok(rw) ? 0 : -1;
}

static int text_literal(struct rw *rw, struct rw_expr *out) {
  const struct tdsd_token *token = rw_token(rw);
  struct tdsd_value value = {
      .type = {.kind = TDSD_NVARCHAR}, .bytes = token->text, .len = token->len};
  if (token->lexeme == TDSD_LEX_STRING) {
    char *narrow = tdsd_arena_take(rw->arena, token->len + 1);
    if (narrow == NULL) {
      return rw_no_memory(rw);
    }
    value.type.kind = TDSD_VARCHAR;
    value.bytes = narrow;
    value.len = tdsd_text_narrow(token->text, token->len, narrow);
  }
  value.type.size = tdsd_value_units(&value);
  return take_literal(rw, &value, out);
}

static int hex_digit(int c) {
  return c <= '9' ? c - '0' : (c | 32) - 'a' + 10;
}

static int binary_literal(struct rw *rw, struct rw_expr *out) {
  const struct tdsd_token *token = rw_token(rw);
  size_t digits = token->len - 2;
  size_t half = digits % 2; /* an odd number has a zero in front */
  char *bytes = tdsd_arena_take(rw->arena, digits / 2 + 2);
  if (bytes == NULL) {
    return rw_no_memory(rw);
  }
  for (size_t i = 0; i < digits; i++) {
    size_t at = (i + half) / 2;
    bytes[at] =
        (char)((unsigned char)bytes[at] << 4 | hex_digit(token->text[2 + i]));
  }
  struct tdsd_value value = {.type = {.kind = TDSD_VARBINARY},
                             .bytes = bytes,
                             .len = (digits + 1) / 2};
  value.type.size = value.len == 0     ? 1
                    : value.len > 8000 ? TDSD_SIZE_MAX
                                       : (uint32_t)value.len;
  return take_literal(rw, &value, out);
}

static int number_literal(struct rw *rw, struct rw_expr *out) {
  const struct tdsd_token *token = rw_token(rw);
  struct tdsd_value value = {0};
  if (token->lexeme == TDSD_LEX_FLOAT) {
    value = (struct tdsd_value){.type = {.kind = TDSD_FLOAT},
                                .real = strtod(token->text, NULL)};
    if (!isfinite(value.real)) {
      return tdsd_fault_set(rw->fault, 168, 15,
                            "The floating point value '%.64s' is out of the "
                            "range of computer representation.",
                            token->text);
    }
    return take_literal(rw, &value, out);
  }
  bool money = token->lexeme == TDSD_LEX_MONEY;
  if (tdsd_decimal_parse(token->text + (money ? 1 : 0),
                         token->len - (money ? 1 : 0), &value) < 0) {
    return tdsd_fault_set(rw->fault, 1007, 15,
                          "The number '%.*s' is out of the range for numeric "
                          "representation (maximum precision 38).",
                          (int)(token->len < 128 ? token->len : 128),
                          token->text);
  }
  if (money) {
    struct tdsd_type type = {.kind = TDSD_MONEY};
    if (tdsd_convert(&value, &type, 0, rw->arena, &value, rw->fault) < 0) {
      return -1;
    }
  } else if (memchr(token->text, '.', token->len) == NULL &&
             value.magnitude <= INT32_MAX) {
    value = (struct tdsd_value){.type = {.kind = TDSD_INT},
                                .integer = (int64_t)value.magnitude};
  } else {
    value.type.numeric = true;
  }
  value.type.nullable = false;
  return take_literal(rw, &value, out);
}

/* Names. */

static int variable(struct rw *rw, struct rw_expr *out) {
  const struct tdsd_token *token = rw_token(rw);
  int len = (int)(token->len < 128 ? token->len : 128);
  const char *sql = "";
  if (token->len > 2 && token->text[1] == '@') {
    int32_t slot = tdsd_global_find(token->text, token->len);
    if (slot < 0) {
      return rw_bad(rw);
    }
    rw->at++;
    if (rw_param(rw, true, (uint32_t)slot, &sql) < 0) {
      return -1;
    }
    *out = rw_expr_of(sql, tdsd_global_type((uint32_t)slot));
    return 0;
  }
  int32_t slot = tdsd_batch_find(rw->batch, token->text, token->len);
  if (slot < 0) {
    rw->fault->line = token->line;
    return tdsd_fault_set(rw->fault, 137, 15,
                          "Must declare the scalar variable \"%.*s\".", len,
                          token->text);
  }
  rw->at++;
  if (rw_param(rw, false, (uint32_t)slot, &sql) < 0) {
    return -1;
  }
  *out = rw_expr_of(sql, rw->batch->variables[slot].value.type);
  return 0;
}

struct found {
  const struct rw_source *source;
  const struct tdsd_rw_column *column;
  bool open;
  uint32_t n;
};

static void search(const struct rw_scope *scope,
                   const char *table,
                   const char *name,
                   struct found *found) {
  for (uint32_t i = 0; i < scope->n; i++) {
    const struct rw_source *source = &scope->sources[i];
    if (table != NULL && strcasecmp(table, source->alias) != 0) {
      continue;
    }
    found->open = found->open || source->open;
    for (uint32_t c = 0; c < source->ncolumns; c++) {
      if (strcasecmp(source->columns[c].name, name) == 0) {
        found->source = source;
        found->column = &source->columns[c];
        found->n++;
      }
    }
  }
}

static int unbound(struct rw *rw, const char *table, const char *name) {
  return table == NULL
             ? tdsd_fault_set(rw->fault, 207, 16,
                              "Invalid column name '%.128s'.", name)
             : tdsd_fault_set(rw->fault, 4104, 16,
                              "The multi-part identifier \"%.128s.%.128s\" "
                              "could not be bound.",
                              table, name);
}

static bool has_source(const struct rw *rw, const char *table) {
  for (const struct rw_scope *scope = rw->scope; scope != NULL;
       scope = scope->outer) {
    for (uint32_t i = 0; i < scope->n; i++) {
      if (strcasecmp(scope->sources[i].alias, table) == 0) {
        return true;
      }
    }
  }
  return false;
}

/* An alias of the select list, which ORDER BY may name. */
static bool find_alias(struct rw *rw, const char *name, struct rw_expr *out) {
  const struct rw_items *items = rw->scope == NULL ? NULL : rw->scope->aliases;
  for (uint32_t i = 0; items != NULL && i < items->n; i++) {
    bool named = items->at[i].named || rw->scope->n == 0;
    if (named && items->at[i].name != NULL &&
        strcasecmp(items->at[i].name, name) == 0) {
      *out = items->at[i].expr;
      out->sql = rw_quote(rw, name);
      out->column = true;
      out->literal = NULL;
      return true;
    }
  }
  return false;
}

static int column(struct rw *rw,
                  const char *table,
                  const char *name,
                  uint32_t line,
                  struct rw_expr *out) {
  struct found found = {0};
  const struct rw_scope *scope = rw->scope;
  if (table == NULL && find_alias(rw, name, out)) {
    return 0;
  }
  for (; scope != NULL && found.n == 0 && !found.open; scope = scope->outer) {
    search(scope, table, name, &found);
  }
  rw->fault->line = line;
  if (found.n > 1) {
    return tdsd_fault_set(rw->fault, 209, 16, "Ambiguous column name '%.128s'.",
                          name);
  }
  if (found.n == 0) {
    if (rw->catalog != NULL && !found.open) {
      return unbound(rw, table != NULL && has_source(rw, table) ? NULL : table,
                     name);
    }
    *out = (struct rw_expr){
        .sql = table == NULL ? rw_quote(rw, name)
                             : rw_format(rw, "%s.%s", rw_quote(rw, table),
                                         rw_quote(rw, name)),
        .column = true};
    return 0;
  }
  *out = (struct rw_expr){
      .sql = found.source->bare
                 ? rw_quote(rw, found.column->name)
                 : rw_format(rw, "%s.%s", rw_quote(rw, found.source->alias),
                             rw_quote(rw, found.column->name)),
      .type = found.column->type,
      .known = found.column->known,
      .column = true};
  out->type.nullable = out->type.nullable || found.source->nullable;
  out->name = rw_format(rw, "%s.%s", found.source->alias, found.column->name);
  return !rw->inside && rw_append(rw, &rw->refs, out) < 0 ? -1
         : rw_ok(rw)                                      ? 0
                                                          : -1;
}

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
  return column(rw, table, name, line, out);
}

/* CASE. */

struct branches {
  struct rw_exprs when; /* sql only */
  struct rw_exprs then; /* the last is ELSE, if any */
  bool otherwise;
};

static int case_when(struct rw *rw,
                     const struct rw_expr *subject,
                     const char **out_sql) {
  struct rw_expr value;
  if (subject == NULL) {
    return rw_condition(rw, out_sql);
  }
  struct rw_expr left = *subject;
  if (rw_value(rw, &value) < 0 || rw_align(rw, &left, &value) < 0) {
    return -1;
  }
  *out_sql = rw_format(rw, "%s%s = %s", left.sql, rw_collate(&left), value.sql);
  return 0;
}

static int case_branches(struct rw *rw,
                         const struct rw_expr *subject,
                         struct branches *out) {
  while (rw_eat(rw, "when")) {
    struct rw_expr when = {0};
    struct rw_expr then = {0};
    if (case_when(rw, subject, &when.sql) < 0 || rw_need(rw, "then") < 0 ||
        rw_value(rw, &then) < 0 || rw_append(rw, &out->when, &when) < 0 ||
        rw_append(rw, &out->then, &then) < 0) {
      return -1;
    }
  }
  if (out->when.n == 0) {
    return rw_bad(rw);
  }
  if (rw_eat(rw, "else")) {
    struct rw_expr other = {0};
    out->otherwise = true;
    if (rw_value(rw, &other) < 0 || rw_append(rw, &out->then, &other) < 0) {
      return -1;
    }
  }
  return rw_need(rw, "end");
}

/* The type in which a list of results meets.  Returns false if one is unknown. */
static bool meet_all(const struct rw_exprs *list, struct tdsd_type *out) {
  for (uint32_t i = 0; i < list->n; i++) {
    if (!list->at[i].known) {
      return false;
    }
    *out = i == 0 ? list->at[i].type : tdsd_type_meet(*out, list->at[i].type);
  }
  return list->n != 0;
}

static int cast_all(struct rw *rw,
                    struct rw_exprs *list,
                    const struct tdsd_type *to) {
  for (uint32_t i = 0; i < list->n; i++) {
    struct rw_expr *expr = &list->at[i];
    if (!(rw_same_shape(&expr->type, to) && !rw_is_exact(to)) &&
        rw_cast(rw, expr, to) < 0) {
      return -1;
    }
  }
  return 0;
}

static int case_expr(struct rw *rw, struct rw_expr *out) {
  struct branches branches = {0};
  struct rw_expr subject;
  struct rw_text text = {0};
  bool simple = !rw_is(rw, "when");
  if ((simple && rw_value(rw, &subject) < 0) ||
      case_branches(rw, simple ? &subject : NULL, &branches) < 0) {
    return -1;
  }
  *out = (struct rw_expr){0};
  out->known = meet_all(&branches.then, &out->type);
  if (out->known && cast_all(rw, &branches.then, &out->type) < 0) {
    return -1;
  }
  out->type.nullable = true;
  rw_add(rw, &text, "CASE");
  for (uint32_t i = 0; i < branches.when.n; i++) {
    rw_add(rw, &text,
           rw_format(rw, " WHEN %s THEN %s", branches.when.at[i].sql,
                     branches.then.at[i].sql));
  }
  if (branches.otherwise) {
    rw_add(rw, &text,
           rw_format(rw, " ELSE %s", branches.then.at[branches.when.n].sql));
  }
  rw_add(rw, &text, " END");
  out->sql = text.bytes;
  return rw_ok(rw) ? 0 : -1;
}

/* (SELECT ...) as one value. */
static int scalar_query(struct rw *rw, struct rw_expr *out) {
  struct rw_query query = {0};
  if (rw_query(rw, NULL, NULL, &query) < 0 || rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  if (query.ncolumns > 1) {
    return tdsd_fault_set(rw->fault, 116, 16,
                          "Only one expression can be specified in the select "
                          "list when the subquery is not introduced with "
                          "EXISTS.");
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
    return text_literal(rw, out);
  case TDSD_LEX_BINARY:
    return binary_literal(rw, out);
  case TDSD_LEX_NUMBER:
  case TDSD_LEX_FLOAT:
  case TDSD_LEX_MONEY:
    return number_literal(rw, out);
  case TDSD_LEX_VARIABLE:
    return variable(rw, out);
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
  return rw_eat(rw, "case") ? case_expr(rw, out) : named(rw, out);
}

static int collate(struct rw *rw, struct rw_expr *out) {
  const char *name = NULL;
  if (rw_name(rw, &name) < 0) {
    return -1;
  }
  size_t len = strlen(name);
  if (strcasecmp(name, "database_default") != 0 &&
      !(len > 6 && strcasecmp(name + len - 6, "_CI_AS") == 0)) {
    return rw_refuse(rw, rw_format(rw, "COLLATE %s", name));
  }
  out->column = false;
  return 0;
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
    rw->at--; /* take_literal() passes over a token */
    return take_literal(rw, &value, out);
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
