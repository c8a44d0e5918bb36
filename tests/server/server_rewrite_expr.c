/* SPDX-License-Identifier: MIT */
/* Expressions and conditions of the rewriter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_rewrite_impl.h"
#include "server_text.h"

static struct rw_expr expr_of(const char *sql, struct tdsd_type type) {
  type.nullable = true;
  return (struct rw_expr){.sql = sql, .type = type, .known = true};
}

static bool is_text(const struct rw_expr *expr) {
  return expr->known && !expr->type.untyped &&
         tdsd_kind_is_text(expr->type.kind);
}

/* Exact numbers are kept as text. */
static bool is_exact(const struct tdsd_type *type) {
  return type->kind == TDSD_DECIMAL || type->kind == TDSD_MONEY ||
         type->kind == TDSD_SMALLMONEY;
}

const char *rw_collate(const struct rw_expr *expr) {
  if (!expr->known || expr->type.untyped) {
    return "";
  }
  if (is_text(expr)) {
    return " COLLATE tsql_text";
  }
  if (is_exact(&expr->type)) {
    return " COLLATE tsql_number";
  }
  if (expr->type.kind == TDSD_DATETIMEOFFSET) {
    return " COLLATE tsql_instant";
  }
  return expr->type.kind == TDSD_GUID ? " COLLATE tsql_guid" : "";
}

const char *rw_sorted(struct rw *rw, const struct rw_expr *expr) {
  return expr->column ? expr->sql
                      : rw_format(rw, "%s%s", expr->sql, rw_collate(expr));
}

/* Values of both types look the same to SQLite. */
static bool same_shape(const struct tdsd_type *a, const struct tdsd_type *b) {
  if (tdsd_kind_is_integer(a->kind) && tdsd_kind_is_integer(b->kind)) {
    return true;
  }
  if (a->kind != b->kind) {
    return (tdsd_kind_is_text(a->kind) && tdsd_kind_is_text(b->kind)) ||
           (tdsd_kind_is_binary(a->kind) && tdsd_kind_is_binary(b->kind)) ||
           (is_exact(a) && is_exact(b)) ||
           (a->kind >= TDSD_REAL && a->kind <= TDSD_FLOAT &&
            b->kind >= TDSD_REAL && b->kind <= TDSD_FLOAT);
  }
  return !tdsd_kind_is_date(a->kind) || a->scale == b->scale;
}

static bool same_type(const struct tdsd_type *a, const struct tdsd_type *b) {
  return a->kind == b->kind && a->precision == b->precision &&
         a->scale == b->scale && a->size == b->size && !a->untyped;
}

/* A literal that becomes another type does so now, unless that fails: then the
 * error comes when the statement runs, as everywhere. */
static bool cast_literal(struct rw *rw,
                         struct rw_expr *expr,
                         const struct tdsd_type *to) {
  struct tdsd_fault ignored = {0};
  if (expr->literal == NULL) {
    return false;
  }
  struct tdsd_value *value = tdsd_arena_take(rw->arena, sizeof *value);
  if (value == NULL ||
      tdsd_convert(expr->literal, to, 0, rw->arena, value, &ignored) < 0) {
    return false;
  }
  expr->literal = value;
  expr->sql = rw_literal(rw, value);
  return true;
}

int rw_cast(struct rw *rw, struct rw_expr *expr, const struct tdsd_type *to) {
  bool nullable = expr->type.nullable;
  if (!expr->known) {
    expr->sql =
        rw_format(rw, "tsql_cast(%s, '', %s)", expr->sql, rw_type(rw, to));
  } else if (!expr->type.untyped && !same_type(&expr->type, to) &&
             !cast_literal(rw, expr, to)) {
    expr->sql = rw_format(rw, "tsql_cast(%s, %s, %s)", expr->sql,
                          rw_type(rw, &expr->type), rw_type(rw, to));
    expr->literal = NULL;
  }
  expr->column = expr->column && same_type(&expr->type, to);
  expr->known = true;
  expr->type = *to;
  expr->type.untyped = false;
  expr->type.nullable = nullable;
  return rw_ok(rw) ? 0 : -1;
}

/* Whether every value of one type is one of the other, as it stands. */
static bool always_fits(const struct tdsd_type *from,
                        const struct tdsd_type *to) {
  if (tdsd_kind_is_integer(from->kind) && tdsd_kind_is_integer(to->kind)) {
    return from->kind <= to->kind && to->kind != TDSD_BIT;
  }
  return same_type(from, to);
}

/* Whether nothing of a literal is cut. */
static bool literal_fits(const struct tdsd_value *value,
                         const struct tdsd_type *to) {
  if (!tdsd_kind_is_text(to->kind) && !tdsd_kind_is_binary(to->kind)) {
    return true;
  }
  bool text =
      tdsd_kind_is_text(to->kind) && tdsd_kind_is_text(value->type.kind);
  bool binary =
      tdsd_kind_is_binary(to->kind) && tdsd_kind_is_binary(value->type.kind);
  size_t len = text ? tdsd_text_units(value->bytes, value->len) : value->len;
  return (text || binary) && (to->size == TDSD_SIZE_MAX || len <= to->size);
}

int rw_store(struct rw *rw,
             struct rw_expr *expr,
             const struct tdsd_rw_column *column,
             const char *table) {
  if (rw->catalog == NULL || !column->known || expr->type.untyped ||
      (expr->known && always_fits(&expr->type, &column->type))) {
    return 0;
  }
  bool fits = expr->literal != NULL &&
              literal_fits(expr->literal, &column->type) &&
              cast_literal(rw, expr, &column->type);
  if (!fits) {
    struct tdsd_value text = {.type = {.kind = TDSD_NVARCHAR}};
    text.bytes = rw_format(rw, "%s.%s", table, column->name);
    text.len = strlen(text.bytes);
    expr->sql = rw_format(rw, "tsql_store(%s, %s, %s, %s)", expr->sql,
                          expr->known ? rw_type(rw, &expr->type) : "''",
                          rw_type(rw, &column->type), rw_literal(rw, &text));
  }
  bool nullable = expr->type.nullable;
  expr->type = column->type;
  expr->type.nullable = nullable;
  expr->known = true;
  expr->literal = NULL;
  expr->column = false;
  return rw_ok(rw) ? 0 : -1;
}

int rw_align(struct rw *rw, struct rw_expr *a, struct rw_expr *b) {
  if (!a->known || !b->known || a->type.untyped || b->type.untyped) {
    return 0;
  }
  struct tdsd_type meet = tdsd_type_meet(a->type, b->type);
  if (same_shape(&a->type, &b->type)) {
    return 0;
  }
  return (same_shape(&a->type, &meet) ? 0 : rw_cast(rw, a, &meet)) < 0 ||
                 (same_shape(&b->type, &meet) ? 0 : rw_cast(rw, b, &meet)) < 0
             ? -1
             : 0;
}

/* Types in text, with the subset's own parser. */
int rw_data_type(struct rw *rw, uint32_t size, struct tdsd_type *out_type) {
  static const char *const missing[] = {
      "text",        "ntext",     "image",     "xml",
      "sql_variant", "geometry",  "geography", "hierarchyid",
      "rowversion",  "timestamp", "json",      "vector"};
  char name[192];
  const struct tdsd_token *token = rw_token(rw);
  const char *word = NULL;
  if (!rw_at_name(rw)) {
    return rw_bad(rw);
  }
  (void)rw_name(rw, &word);
  if (strcasecmp(word, "sys") == 0 && rw_eat_sign(rw, ".")) {
    token = rw_token(rw);
    if (rw_name(rw, &word) < 0) {
      return -1;
    }
  }
  for (size_t i = 0; i < sizeof missing / sizeof missing[0]; i++) {
    if (strcasecmp(missing[i], word) == 0) {
      return rw_refuse(rw, missing[i]);
    }
  }
  static const char *const pairs[][2] = {{"sysname", "nvarchar(128)"},
                                         {"integer", "int"},
                                         {"dec", "decimal"},
                                         {"character", "char"}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    word = strcasecmp(pairs[i][0], word) == 0 ? pairs[i][1] : word;
  }
  const char *numbers = "";
  if (rw_eat_sign(rw, "(")) {
    struct rw_text text = {0};
    rw_add(rw, &text, "(");
    while (!rw_is_sign(rw, ")")) {
      const struct tdsd_token *part = rw_token(rw);
      if (part->lexeme != TDSD_LEX_NUMBER && !rw_is(rw, "max") &&
          !rw_is_sign(rw, ",")) {
        return rw_bad(rw);
      }
      rw_add(rw, &text, rw_format(rw, "%.*s", (int)part->len, part->text));
      rw->at++;
    }
    rw->at++;
    rw_add(rw, &text, ")");
    numbers = text.bytes;
  }
  if (!rw_ok(rw) || strlen(word) + strlen(numbers) >= sizeof name) {
    return rw_bad(rw);
  }
  strcpy(name, word);
  strcat(name, numbers);
  if (tdsd_rw_type_scan(name, out_type) < 0) {
    rw->fault->line = token->line;
    return tdsd_fault_set(rw->fault, 243, 16,
                          "Type %.128s is not a defined system type.", word);
  }
  if (out_type->kind == TDSD_FLOAT && numbers[0] != 0 &&
      strtoul(numbers + 1, NULL, 10) <= 24) {
    out_type->kind = TDSD_REAL;
  }
  if (out_type->kind <= TDSD_NVARCHAR && numbers[0] == 0 &&
      strchr(name, '(') == NULL) {
    out_type->size = size;
  }
  return 0;
}

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
    *out = expr_of(sql, tdsd_global_type((uint32_t)slot));
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
  *out = expr_of(sql, rw->batch->variables[slot].value.type);
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
    *out = expr_of("tsql_once('getdate')",
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
    if (!(same_shape(&expr->type, to) && !is_exact(to)) &&
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
  *out = expr_of(
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
    *out =
        expr_of(out->type.kind == TDSD_BIT ? rw_format(rw, "(1 - %s)", out->sql)
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
  *a = expr_of(rw_format(rw, "(%s || %s)", a->sql, b->sql), type);
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
  *a = expr_of(op == '^' ? rw_format(rw, "((%s | %s) - (%s & %s))", a->sql,
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
  if (op == '+' && is_text(a) && is_text(b)) {
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
  *a = expr_of(rw_format(rw, "tsql_%s(%s, %s, %s, %s)", name, a->sql,
                         rw_type(rw, &a->type), b->sql, rw_type(rw, &b->type)),
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

/* Conditions. */

static int in_query(struct rw *rw,
                    struct rw_expr *left,
                    const char * not,
                    const char **out_sql) {
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
  const char *right = query.sql;
  if (query.ncolumns == 1) {
    struct rw_expr inner = {.sql = "v",
                            .type = query.columns[0].type,
                            .known = query.columns[0].known};
    if (rw_align(rw, left, &inner) < 0) {
      return -1;
    }
    if (strcmp(inner.sql, "v") != 0) {
      right =
          rw_format(rw, "WITH c(v) AS (%s) SELECT %s FROM c", right, inner.sql);
    }
  }
  *out_sql =
      rw_format(rw, "%s%s %sIN (%s)", left->sql, rw_collate(left), not, right);
  return 0;
}

static int in_list(struct rw *rw,
                   struct rw_expr *left,
                   const char * not,
                   const char **out_sql) {
  struct rw_exprs list = {0};
  struct rw_text text = {0};
  struct tdsd_type meet = left->type;
  bool known = left->known;
  do {
    struct rw_expr item;
    if (rw_value(rw, &item) < 0 || rw_append(rw, &list, &item) < 0) {
      return -1;
    }
    known = known && item.known;
    meet = tdsd_type_meet(meet, item.type);
  } while (rw_eat_sign(rw, ","));
  if (rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  if (known && !same_shape(&left->type, &meet) &&
      rw_cast(rw, left, &meet) < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < list.n; i++) {
    if (known && !same_shape(&list.at[i].type, &meet) &&
        rw_cast(rw, &list.at[i], &meet) < 0) {
      return -1;
    }
    rw_add(rw, &text, i == 0 ? "" : ", ");
    rw_add(rw, &text, list.at[i].sql);
  }
  *out_sql = rw_format(rw, "%s%s %sIN (%s)", left->sql, rw_collate(left), not,
                       text.bytes);
  return rw_ok(rw) ? 0 : -1;
}

static int in(struct rw *rw,
              struct rw_expr *left,
              const char * not,
              const char **out_sql) {
  if (rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  return rw_is(rw, "select") ? in_query(rw, left, not, out_sql)
                             : in_list(rw, left, not, out_sql);
}

static int between(struct rw *rw,
                   struct rw_expr *left,
                   const char * not,
                   const char **out_sql) {
  struct rw_expr low;
  struct rw_expr high;
  struct rw_expr again = *left;
  if (rw_value(rw, &low) < 0 || rw_need(rw, "and") < 0 ||
      rw_value(rw, &high) < 0 || rw_align(rw, left, &low) < 0 ||
      rw_align(rw, &again, &high) < 0) {
    return -1;
  }
  *out_sql = rw_format(rw, "%s(%s%s >= %s AND %s%s <= %s)", not, left->sql,
                       rw_collate(left), low.sql, again.sql, rw_collate(&again),
                       high.sql);
  return rw_ok(rw) ? 0 : -1;
}

static int as_text(struct rw *rw, struct rw_expr *expr) {
  struct tdsd_type text = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX};
  return is_text(expr) || expr->type.untyped || !expr->known
             ? 0
             : rw_cast(rw, expr, &text);
}

static int like(struct rw *rw,
                struct rw_expr *left,
                const char * not,
                const char **out_sql) {
  struct rw_expr pattern;
  struct rw_expr escape = {.sql = "''"};
  if (rw_value(rw, &pattern) < 0 ||
      (rw_eat(rw, "escape") && rw_value(rw, &escape) < 0) ||
      as_text(rw, left) < 0 || as_text(rw, &pattern) < 0) {
    return -1;
  }
  *out_sql = rw_format(rw, "%stsql_like(%s, %s, %s)", not, left->sql,
                       pattern.sql, escape.sql);
  return rw_ok(rw) ? 0 : -1;
}

static int compare(struct rw *rw, struct rw_expr *left, const char **out_sql) {
  static const char *const signs[][2] = {
      {"=", "="}, {"<>", "<>"}, {"!=", "<>"}, {"<=", "<="}, {">=", ">="},
      {"<", "<"}, {">", ">"},   {"!<", ">="}, {"!>", "<="}};
  struct rw_expr right;
  for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
    if (!rw_eat_sign(rw, signs[i][0])) {
      continue;
    }
    static const char *const quantifiers[] = {"all", "any", "some"};
    for (size_t q = 0; q < 3; q++) {
      if (rw_is(rw, quantifiers[q])) {
        return rw_refuse(rw,
                         rw_format(rw, "%s %s", signs[i][0], quantifiers[q]));
      }
    }
    if (rw_value(rw, &right) < 0 || rw_align(rw, left, &right) < 0) {
      return -1;
    }
    const char *how = left->type.untyped || !left->known ? rw_collate(&right)
                                                         : rw_collate(left);
    *out_sql =
        rw_format(rw, "%s%s %s %s", left->sql, how, signs[i][1], right.sql);
    return rw_ok(rw) ? 0 : -1;
  }
  return rw_bad(rw);
}

static int predicate(struct rw *rw, const char **out_sql) {
  struct rw_expr left;
  if (rw_value(rw, &left) < 0) {
    return -1;
  }
  if (rw_eat(rw, "is")) {
    bool not = rw_eat(rw, "not");
    *out_sql = rw_format(rw, "%s IS %sNULL", left.sql, not ? "NOT " : "");
    return rw_need(rw, "null");
  }
  const char *not = rw_eat(rw, "not") ? "NOT " : "";
  if (rw_eat(rw, "in")) {
    return in(rw, &left, not, out_sql);
  }
  if (rw_eat(rw, "between")) {
    return between(rw, &left, not, out_sql);
  }
  if (rw_eat(rw, "like")) {
    return like(rw, &left, not, out_sql);
  }
  return not [0] != 0 ? rw_bad(rw) : compare(rw, &left, out_sql);
}

static int exists(struct rw *rw, const char **out_sql) {
  struct rw_query query = {0};
  if (rw_need_sign(rw, "(") < 0 || rw_query(rw, NULL, NULL, &query) < 0 ||
      rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  *out_sql = rw_format(rw, "EXISTS (%s)", query.sql);
  return rw_ok(rw) ? 0 : -1;
}

/* A parenthesis holds a condition unless an operator on values follows it. */
static bool opens_condition(const struct rw *rw) {
  static const char *const words[] = {"is",  "in",   "between",
                                      "not", "like", "collate"};
  if (!rw_is_sign(rw, "(") || tdsd_lex_is(rw_ahead(rw, 1), "select")) {
    return false;
  }
  const struct tdsd_token *behind = &rw->tokens[rw_behind(rw, rw->at)];
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (tdsd_lex_is(behind, words[i])) {
      return false;
    }
  }
  return behind->lexeme != TDSD_LEX_SIGN || tdsd_lex_is_sign(behind, ")") ||
         tdsd_lex_is_sign(behind, ",") || tdsd_lex_is_sign(behind, ";");
}

static int negation(struct rw *rw, const char **out_sql) {
  const char *inner = "";
  if (rw_eat(rw, "not")) {
    if (rw_enter(rw) < 0 || negation(rw, &inner) < 0) {
      return -1;
    }
    rw_leave(rw);
    *out_sql = rw_format(rw, "NOT (%s)", inner);
    return rw_ok(rw) ? 0 : -1;
  }
  if (rw_eat(rw, "exists")) {
    return exists(rw, out_sql);
  }
  if (opens_condition(rw)) {
    rw->at++;
    if (rw_condition(rw, &inner) < 0 || rw_need_sign(rw, ")") < 0) {
      return -1;
    }
    *out_sql = rw_format(rw, "(%s)", inner);
    return rw_ok(rw) ? 0 : -1;
  }
  return predicate(rw, out_sql);
}

static int conjunction(struct rw *rw, const char **out_sql) {
  struct rw_text text = {0};
  const char *part = "";
  if (negation(rw, &part) < 0) {
    return -1;
  }
  rw_add(rw, &text, part);
  while (rw_eat(rw, "and")) {
    if (negation(rw, &part) < 0) {
      return -1;
    }
    rw_add(rw, &text, " AND ");
    rw_add(rw, &text, part);
  }
  *out_sql = text.bytes;
  return rw_ok(rw) ? 0 : -1;
}

int rw_condition(struct rw *rw, const char **out_sql) {
  struct rw_text text = {0};
  const char *part = "";
  if (rw_enter(rw) < 0 || conjunction(rw, &part) < 0) {
    return -1;
  }
  rw_add(rw, &text, part);
  while (rw_eat(rw, "or")) {
    if (conjunction(rw, &part) < 0) {
      return -1;
    }
    rw_add(rw, &text, " OR ");
    rw_add(rw, &text, part);
  }
  *out_sql = text.bytes;
  rw_leave(rw);
  return rw_ok(rw) ? 0 : -1;
}
