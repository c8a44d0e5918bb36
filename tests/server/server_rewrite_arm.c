/* SPDX-License-Identifier: MIT */
/* One SELECT or one row of VALUES, without ORDER BY: FROM is read before the
 * select list, which names its columns. */
#include <string.h>

#include "server_rewrite_impl.h"

/* The place of this SELECT's FROM, 0 without one. */
static uint32_t find_from(const struct rw *rw) {
  uint32_t depth = 0;
  for (uint32_t at = rw->at; at < rw->ntokens; at++) {
    const struct tdsd_token *token = &rw->tokens[at];
    depth += tdsd_lex_is_sign(token, "(") ? 1 : 0;
    if (tdsd_lex_is_sign(token, ")") && depth-- == 0) {
      return 0;
    }
    if (depth != 0) {
      continue;
    }
    if (tdsd_lex_is(token, "from")) {
      return at;
    }
    if (tdsd_lex_is(token, "union") || tdsd_lex_is(token, "except") ||
        tdsd_lex_is(token, "intersect") || tdsd_lex_is(token, "where") ||
        tdsd_lex_is_sign(token, ";")) {
      return 0;
    }
  }
  return 0;
}

static int top(struct rw *rw, struct rw_arm *arm) {
  struct rw_expr count;
  if (!rw_eat(rw, "top")) {
    return 0;
  }
  if (rw_eat_sign(rw, "(")) {
    if (rw_value(rw, &count) < 0 || rw_need_sign(rw, ")") < 0) {
      return -1;
    }
  } else {
    const struct tdsd_token *token = rw_token(rw);
    if (token->lexeme != TDSD_LEX_NUMBER ||
        memchr(token->text, '.', token->len) != NULL) {
      return rw_bad(rw);
    }
    count.sql = rw_format(rw, "%.*s", (int)token->len, token->text);
    rw->at++;
  }
  if (rw_is(rw, "percent")) {
    return rw_refuse(rw, "TOP PERCENT");
  }
  if (rw_is(rw, "with") && tdsd_lex_is(rw_ahead(rw, 1), "ties")) {
    return rw_refuse(rw, "TOP WITH TIES");
  }
  arm->top = rw_format(rw, " LIMIT %s", count.sql);
  return 0;
}

/* GROUP BY.  Columns of the select list must be among its expressions. */
static int group_by(struct rw *rw,
                    struct rw_text *rest,
                    struct rw_exprs *groups) {
  if (rw_need(rw, "by") < 0) {
    return -1;
  }
  static const char *const refused[] = {"rollup", "cube", "grouping"};
  for (size_t i = 0; i < 3; i++) {
    if (rw_is(rw, refused[i])) {
      return rw_refuse(rw, refused[i]);
    }
  }
  rw_add(rw, rest, " GROUP BY ");
  do {
    struct rw_expr item;
    if (rw_value(rw, &item) < 0 || rw_append(rw, groups, &item) < 0) {
      return -1;
    }
    rw_add(rw, rest, groups->n == 1 ? "" : ", ");
    rw_add(rw, rest, rw_sorted(rw, &item));
  } while (rw_eat_sign(rw, ","));
  return rw_is(rw, "with") ? rw_refuse(rw, "GROUP BY ... WITH") : 0;
}

/* A column that is neither grouped nor in an aggregate has no one value, which
 * SQLite would not mind. */
int rw_check_grouped(struct rw *rw,
                     const struct rw_arm *arm,
                     const char *sql,
                     uint32_t first,
                     uint32_t last,
                     const char *where) {
  for (uint32_t i = first; i < last; i++) {
    const struct rw_expr *ref = &rw->refs.at[i];
    bool found = false;
    for (uint32_t g = 0; g < arm->groups.n && !found; g++) {
      const struct rw_expr *group = &arm->groups.at[g];
      found = group->column ? strcmp(group->sql, ref->sql) == 0
                            : strstr(sql, group->sql) != NULL;
    }
    if (!found && rw->catalog != NULL) {
      return tdsd_fault_set(rw->fault, where[0] == 's' ? 8120 : 8121, 16,
                            "Column '%.256s' is invalid in the %s because it "
                            "is not contained in either an aggregate function "
                            "or the GROUP BY clause.",
                            ref->name, where);
    }
  }
  return 0;
}

static int check_items(struct rw *rw, const struct rw_arm *arm) {
  for (uint32_t i = 0; arm->grouped && i < arm->items.n; i++) {
    const struct rw_item *item = &arm->items.at[i];
    if (rw_check_grouped(rw, arm, item->expr.sql, item->first_ref,
                         item->last_ref, "select list") < 0) {
      return -1;
    }
  }
  return 0;
}

static int rest_of(struct rw *rw, struct rw_arm *arm, const char *from) {
  struct rw_text rest = {0};
  const char *condition = "";
  bool aggregates = rw->aggregates;
  rw_add(rw, &rest, from);
  if (rw_eat(rw, "where")) {
    rw->aggregates = false;
    if (rw_condition(rw, &condition) < 0) {
      return -1;
    }
    if (rw->aggregates) {
      return tdsd_fault_set(rw->fault, 147, 15,
                            "An aggregate may not appear in the WHERE clause "
                            "unless it is in a subquery contained in a HAVING "
                            "clause or a select list, and the column being "
                            "aggregated is an outer reference.");
    }
    rw->aggregates = aggregates;
    rw_add(rw, &rest, rw_format(rw, " WHERE %s", condition));
  }
  bool grouped = rw_eat(rw, "group");
  if (grouped && group_by(rw, &rest, &arm->groups) < 0) {
    return -1;
  }
  arm->grouped = grouped || aggregates;
  uint32_t first = rw->refs.n;
  if (rw_eat(rw, "having")) {
    if (!grouped) {
      return rw_refuse(rw, "HAVING without GROUP BY");
    }
    if (rw_condition(rw, &condition) < 0 ||
        rw_check_grouped(rw, arm, condition, first, rw->refs.n,
                         "HAVING clause") < 0) {
      return -1;
    }
    rw_add(rw, &rest, rw_format(rw, " HAVING %s", condition));
  }
  arm->rest = rest.bytes == NULL ? "" : rest.bytes;
  return check_items(rw, arm);
}

/* One row of VALUES.  DEFAULT stands for what the column says. */
int rw_values_arm(struct rw *rw,
                  const struct rw_into *into,
                  struct rw_arm *arm) {
  if (rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  do {
    uint32_t n = arm->items.n;
    struct rw_item item = {.name = rw_format(rw, "column%u", n + 1),
                           .variable = -1};
    if (into != NULL && rw_eat(rw, "default")) {
      const char *other = n < into->ncolumns ? into->columns[n]->other : NULL;
      item.expr = (struct rw_expr){
          .sql = other == NULL ? "NULL" : rw_format(rw, "(%s)", other),
          .type = {.kind = TDSD_INT, .untyped = true},
          .known = true};
    } else if (rw_value(rw, &item.expr) < 0) {
      return -1;
    }
    if (rw_append_item(rw, &arm->items, &item) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ","));
  arm->distinct = "";
  arm->rest = "";
  arm->values = true;
  return rw_need_sign(rw, ")");
}

static int select_arm(struct rw *rw, struct rw_arm *arm) {
  const char *from = "";
  struct rw outside = *rw;
  rw->aggregates = false;
  rw->inside = false;
  rw->refs = (struct rw_exprs){0};
  arm->distinct = "";
  if (rw_need(rw, "select") < 0) {
    return -1;
  }
  if (rw_eat(rw, "distinct")) {
    arm->distinct = "DISTINCT ";
  } else {
    (void)rw_eat(rw, "all");
  }
  if (top(rw, arm) < 0) {
    return -1;
  }
  uint32_t list = rw->at;
  uint32_t place = find_from(rw);
  uint32_t behind = 0;
  if (place != 0) {
    const char *sources = "";
    rw->at = place + 1;
    if (rw_from(rw, &sources) < 0) {
      return -1;
    }
    from = rw_format(rw, " FROM %s", sources);
    behind = rw->at;
    rw->at = list;
  }
  if (rw_read_items(rw, arm) < 0) {
    return -1;
  }
  if (rw_is(rw, "into")) {
    return rw_refuse(rw, "SELECT INTO");
  }
  if (place != 0) {
    if (rw->at != place) {
      return rw_bad(rw);
    }
    rw->at = behind;
  }
  if (rest_of(rw, arm, from) < 0) {
    return -1;
  }
  arm->refs = rw->refs;
  rw->aggregates = outside.aggregates;
  rw->inside = outside.inside;
  rw->refs = outside.refs;
  return 0;
}

/* An arm with a scope of its own. */
int rw_select_arm(struct rw *rw, struct rw_arm *arm) {
  if (rw_open_scope(rw) < 0) {
    return -1;
  }
  arm->scope = rw->scope;
  int rc = select_arm(rw, arm);
  rw->scope = arm->scope->outer;
  return rc;
}
