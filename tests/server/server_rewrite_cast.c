/* SPDX-License-Identifier: MIT */
/* How expressions change their types, and what makes values comparable. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server_rewrite_impl.h"
#include "server_text.h"

struct rw_expr rw_expr_of(const char *sql, struct tdsd_type type) {
  type.nullable = true;
  return (struct rw_expr){.sql = sql, .type = type, .known = true};
}

bool rw_is_text(const struct rw_expr *expr) {
  return expr->known && !expr->type.untyped &&
         tdsd_kind_is_text(expr->type.kind);
}

/* Exact numbers are kept as text. */
bool rw_is_exact(const struct tdsd_type *type) {
  return type->kind == TDSD_DECIMAL || type->kind == TDSD_MONEY ||
         type->kind == TDSD_SMALLMONEY;
}

const char *rw_collate(const struct rw_expr *expr) {
  if (!expr->known || expr->type.untyped) {
    return "";
  }
  if (rw_is_text(expr)) {
    return " COLLATE tsql_text";
  }
  if (rw_is_exact(&expr->type)) {
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
bool rw_same_shape(const struct tdsd_type *a, const struct tdsd_type *b) {
  if (tdsd_kind_is_integer(a->kind) && tdsd_kind_is_integer(b->kind)) {
    return true;
  }
  if (a->kind != b->kind) {
    return (tdsd_kind_is_text(a->kind) && tdsd_kind_is_text(b->kind)) ||
           (tdsd_kind_is_binary(a->kind) && tdsd_kind_is_binary(b->kind)) ||
           (rw_is_exact(a) && rw_is_exact(b)) ||
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
  if (rw_same_shape(&a->type, &b->type)) {
    return 0;
  }
  return (rw_same_shape(&a->type, &meet) ? 0 : rw_cast(rw, a, &meet)) < 0 ||
                 (rw_same_shape(&b->type, &meet) ? 0 : rw_cast(rw, b, &meet)) <
                     0
             ? -1
             : 0;
}

/* What may stand in parentheses behind a type: numbers, max; "" without. */
static int type_numbers(struct rw *rw, const char **out_numbers) {
  struct rw_text text = {0};
  *out_numbers = "";
  if (!rw_eat_sign(rw, "(")) {
    return 0;
  }
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
  *out_numbers = text.bytes;
  return rw_ok(rw) ? 0 : -1;
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
  if (type_numbers(rw, &numbers) < 0) {
    return -1;
  }
  if (strlen(word) + strlen(numbers) >= sizeof name) {
    return rw_bad(rw);
  }
  (void)snprintf(name, sizeof name, "%s%s", word, numbers);
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
