/* SPDX-License-Identifier: MIT */
/* Conditions of the rewriter. */
#include <string.h>

#include "server_rewrite_impl.h"

static int in_query(struct rw *rw,
                    struct rw_expr *left,
                    const char *negation,
                    const char **out_sql) {
  struct rw_query query = {0};
  if (rw_column_query(rw, &query) < 0) {
    return -1;
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
  *out_sql = rw_format(rw, "%s%s %sIN (%s)", left->sql, rw_collate(left),
                       negation, right);
  return 0;
}

static int in_list(struct rw *rw,
                   struct rw_expr *left,
                   const char *negation,
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
  if (known && !rw_same_shape(&left->type, &meet) &&
      rw_cast(rw, left, &meet) < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < list.n; i++) {
    if (known && !rw_same_shape(&list.at[i].type, &meet) &&
        rw_cast(rw, &list.at[i], &meet) < 0) {
      return -1;
    }
    rw_add(rw, &text, i == 0 ? "" : ", ");
    rw_add(rw, &text, list.at[i].sql);
  }
  *out_sql = rw_format(rw, "%s%s %sIN (%s)", left->sql, rw_collate(left),
                       negation, text.bytes);
  return rw_ok(rw) ? 0 : -1;
}

static int in(struct rw *rw,
              struct rw_expr *left,
              const char *negation,
              const char **out_sql) {
  if (rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  return rw_is(rw, "select") ? in_query(rw, left, negation, out_sql)
                             : in_list(rw, left, negation, out_sql);
}

static int between(struct rw *rw,
                   struct rw_expr *left,
                   const char *negation,
                   const char **out_sql) {
  struct rw_expr low;
  struct rw_expr high;
  struct rw_expr again = *left;
  if (rw_value(rw, &low) < 0 || rw_need(rw, "and") < 0 ||
      rw_value(rw, &high) < 0 || rw_align(rw, left, &low) < 0 ||
      rw_align(rw, &again, &high) < 0) {
    return -1;
  }
  *out_sql = rw_format(rw, "%s(%s%s >= %s AND %s%s <= %s)", negation, left->sql,
                       rw_collate(left), low.sql, again.sql, rw_collate(&again),
                       high.sql);
  return rw_ok(rw) ? 0 : -1;
}

static int as_text(struct rw *rw, struct rw_expr *expr) {
  struct tdsd_type text = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX};
  return rw_is_text(expr) || expr->type.untyped || !expr->known
             ? 0
             : rw_cast(rw, expr, &text);
}

static int like(struct rw *rw,
                struct rw_expr *left,
                const char *negation,
                const char **out_sql) {
  struct rw_expr pattern;
  struct rw_expr escape = {.sql = "''"};
  if (rw_value(rw, &pattern) < 0 ||
      (rw_eat(rw, "escape") && rw_value(rw, &escape) < 0) ||
      as_text(rw, left) < 0 || as_text(rw, &pattern) < 0) {
    return -1;
  }
  *out_sql = rw_format(rw, "%stsql_like(%s, %s, %s)", negation, left->sql,
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
    const char *null = rw_eat(rw, "not") ? "NOT NULL" : "NULL";
    *out_sql = rw_format(rw, "%s IS %s", left.sql, null);
    return rw_need(rw, "null");
  }
  const char *negation = rw_eat(rw, "not") ? "NOT " : "";
  if (rw_eat(rw, "in")) {
    return in(rw, &left, negation, out_sql);
  }
  if (rw_eat(rw, "between")) {
    return between(rw, &left, negation, out_sql);
  }
  if (rw_eat(rw, "like")) {
    return like(rw, &left, negation, out_sql);
  }
  return negation[0] != 0 ? rw_bad(rw) : compare(rw, &left, out_sql);
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
