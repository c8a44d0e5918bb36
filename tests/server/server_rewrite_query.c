/* SPDX-License-Identifier: MIT */
/* SELECT: FROM is read before the select list, which names its columns; the
 * parts of a UNION are put together once all their types are known. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
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
static int check_grouped(struct rw *rw,
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
    if (check_grouped(rw, arm, item->expr.sql, item->first_ref, item->last_ref,
                      "select list") < 0) {
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
        check_grouped(rw, arm, condition, first, rw->refs.n, "HAVING clause") <
            0) {
      return -1;
    }
    rw_add(rw, &rest, rw_format(rw, " HAVING %s", condition));
  }
  arm->rest = rest.bytes == NULL ? "" : rest.bytes;
  return check_items(rw, arm);
}

/* One row of VALUES.  DEFAULT stands for what the column says. */
static int values_arm(struct rw *rw,
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
static int one_arm(struct rw *rw, struct rw_arm *arm) {
  struct rw_scope *scope = tdsd_arena_take(rw->arena, sizeof *scope);
  if (scope == NULL) {
    return rw_no_memory(rw);
  }
  scope->outer = rw->scope;
  rw->scope = scope;
  arm->scope = scope;
  int rc = select_arm(rw, arm);
  rw->scope = scope->outer;
  return rc;
}

static int set_operator(struct rw *rw, const char **out_join) {
  *out_join = NULL;
  if (rw_eat(rw, "union")) {
    *out_join = rw_eat(rw, "all") ? " UNION ALL " : " UNION ";
  } else if (rw_eat(rw, "except")) {
    *out_join = " EXCEPT ";
  } else if (rw_is(rw, "intersect")) {
    *out_join = " INTERSECT ";
    rw->at++;
  }
  return 0;
}

static int count_differs(struct rw *rw) {
  return tdsd_fault_set(rw->fault, 205, 16,
                        "All queries combined using a UNION, INTERSECT or "
                        "EXCEPT operator must have an equal number of "
                        "expressions in their target lists.");
}

static int set_columns(struct rw *rw,
                       const struct rw_items *items,
                       struct rw_query *out) {
  out->ncolumns = items->n;
  out->columns =
      tdsd_arena_take(rw->arena, (items->n + 1) * sizeof *out->columns);
  if (out->columns == NULL) {
    return rw_no_memory(rw);
  }
  for (uint32_t i = 0; i < items->n; i++) {
    const struct rw_expr *expr = &items->at[i].expr;
    out->columns[i] = (struct tdsd_rw_column){
        .name = items->at[i].name, .type = expr->type, .known = expr->known};
    /* NULL alone is an int, as in SQL Server. */
    out->columns[i].type.nullable = expr->type.nullable || expr->type.untyped ||
                                    (!expr->column && expr->literal == NULL);
    out->columns[i].type.untyped = false;
  }
  return 0;
}

/* The columns of a UNION have the type in which all its parts meet. */
static int meet_arms(struct rw *rw,
                     struct rw_arm *first,
                     struct rw_query *out) {
  if (set_columns(rw, &first->items, out) < 0) {
    return -1;
  }
  for (struct rw_arm *arm = first->next; arm != NULL; arm = arm->next) {
    if (arm->items.n != first->items.n) {
      return rw->catalog == NULL ? 0 : count_differs(rw);
    }
    for (uint32_t i = 0; i < arm->items.n; i++) {
      struct tdsd_rw_column *column = &out->columns[i];
      const struct rw_expr *expr = &arm->items.at[i].expr;
      struct tdsd_type left = column->type;
      left.untyped = first->items.at[i].expr.type.untyped && arm == first->next;
      column->known = column->known && expr->known;
      column->type = tdsd_type_meet(left, expr->type);
      column->type.nullable = column->type.nullable || !expr->column;
      column->type.untyped = false;
    }
  }
  return 0;
}

static bool needs_cast(const struct rw_expr *expr, const struct tdsd_type *to) {
  const struct tdsd_type *from = &expr->type;
  return expr->known && !from->untyped &&
         (from->kind != to->kind || from->scale != to->scale);
}

static int arm_sql(struct rw *rw,
                   struct rw_arm *arm,
                   const struct rw_into *into,
                   const struct rw_query *query,
                   bool alone,
                   const char **out_sql) {
  struct rw_text text = {0};
  rw_add(rw, &text, arm->values ? "(" : "SELECT ");
  rw_add(rw, &text, arm->distinct);
  for (uint32_t i = 0; i < arm->items.n; i++) {
    struct rw_item *item = &arm->items.at[i];
    if (!alone && query->columns[i].known &&
        needs_cast(&item->expr, &query->columns[i].type) &&
        rw_cast(rw, &item->expr, &query->columns[i].type) < 0) {
      return -1;
    }
    if (into != NULL && i < into->ncolumns &&
        rw_store(rw, &item->expr, into->columns[i], into->table) < 0) {
      return -1;
    }
    rw_add(rw, &text, i == 0 ? "" : ", ");
    rw_add(rw, &text, rw_sorted(rw, &item->expr));
    if (!arm->values && item->name != NULL && item->name[0] != 0) {
      rw_add(rw, &text, " AS ");
      rw_add(rw, &text, rw_quote(rw, item->name));
    }
  }
  rw_add(rw, &text, arm->values ? ")" : arm->rest);
  *out_sql = text.bytes;
  if (arm->top != NULL && !alone) {
    *out_sql = rw_format(rw, "SELECT * FROM (%s%s)", text.bytes, arm->top);
  }
  return rw_ok(rw) ? 0 : -1;
}

static int order_by(struct rw *rw, struct rw_arm *first, struct rw_text *text) {
  struct rw_scope *scope = first->scope;
  struct rw_scope named = {.outer = scope->outer};
  struct rw_scope *before = rw->scope;
  struct rw_exprs refs = rw->refs;
  if (rw_need(rw, "by") < 0) {
    return -1;
  }
  /* A UNION's ORDER BY sees nothing but the names of its columns. */
  rw->scope = first->next == NULL ? scope : &named;
  rw->scope->aliases = &first->items;
  rw_add(rw, text, " ORDER BY ");
  rw->refs = (struct rw_exprs){0};
  do {
    struct rw_expr item;
    uint32_t ref = rw->refs.n;
    if (rw_value(rw, &item) < 0 ||
        (first->grouped && check_grouped(rw, first, item.sql, ref, rw->refs.n,
                                         "ORDER BY clause") < 0)) {
      return -1;
    }
    if (item.literal != NULL &&
        (!tdsd_kind_is_integer(item.type.kind) || item.literal->integer < 1 ||
         item.literal->integer > (int64_t)first->items.n)) {
      return tdsd_fault_set(rw->fault, 108, 15,
                            "The ORDER BY position number %lld is out of range "
                            "of the number of items in the select list.",
                            (long long)item.literal->integer);
    }
    rw_add(rw, text, item.literal != NULL ? item.sql : rw_sorted(rw, &item));
    if (rw_eat(rw, "desc")) {
      rw_add(rw, text, " DESC");
    } else {
      (void)rw_eat(rw, "asc");
    }
    rw_add(rw, text, rw_is_sign(rw, ",") ? ", " : "");
  } while (rw_eat_sign(rw, ","));
  rw->scope->aliases = NULL;
  rw->scope = before;
  rw->refs = refs;
  return 0;
}

/* OFFSET n ROWS [FETCH NEXT m ROWS ONLY]. */
static int offset(struct rw *rw, struct rw_text *text) {
  struct rw_expr skip;
  struct rw_expr count = {.sql = "-1"};
  if (rw_value(rw, &skip) < 0 ||
      (!rw_eat(rw, "rows") && rw_need(rw, "row") < 0)) {
    return -1;
  }
  if (rw_eat(rw, "fetch")) {
    if ((!rw_eat(rw, "next") && rw_need(rw, "first") < 0) ||
        rw_value(rw, &count) < 0 ||
        (!rw_eat(rw, "rows") && rw_need(rw, "row") < 0) ||
        rw_need(rw, "only") < 0) {
      return -1;
    }
  }
  rw_add(rw, text, rw_format(rw, " LIMIT %s OFFSET %s", count.sql, skip.sql));
  return 0;
}

static int tail(struct rw *rw, struct rw_arm *first, struct rw_text *text) {
  bool ordered = rw_eat(rw, "order");
  if (ordered && order_by(rw, first, text) < 0) {
    return -1;
  }
  if (ordered && rw_eat(rw, "offset")) {
    return first->top != NULL ? rw_bad(rw) : offset(rw, text);
  }
  if (first->next == NULL && first->top != NULL) {
    rw_add(rw, text, first->top);
  }
  return 0;
}

/* The recursive part of a CTE must have the types of its anchor. */
static int check_recursion(struct rw *rw,
                           const struct rw_cte *cte,
                           const struct rw_arm *arm) {
  for (uint32_t i = 0; i < cte->ncolumns && i < arm->items.n; i++) {
    const struct tdsd_type *a = &cte->columns[i].type;
    const struct tdsd_type *b = &arm->items.at[i].expr.type;
    if (cte->columns[i].known && arm->items.at[i].expr.known && !b->untyped &&
        (a->kind != b->kind ||
         (a->kind >= TDSD_DECIMAL &&
          (a->precision != b->precision || a->scale != b->scale)) ||
         (a->kind <= TDSD_NVARCHAR && a->size != b->size))) {
      return tdsd_fault_set(rw->fault, 240, 16,
                            "Types don't match between the anchor and the "
                            "recursive part in column \"%.128s\" of recursive "
                            "query \"%.128s\".",
                            cte->columns[i].name, cte->name);
    }
  }
  return 0;
}

static int define(struct rw *rw,
                  struct rw_cte *cte,
                  const struct rw_arm *first) {
  struct rw_query query = {0};
  if (set_columns(rw, &first->items, &query) < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < query.ncolumns && i < cte->nnames; i++) {
    query.columns[i].name = cte->names[i];
  }
  cte->columns = query.columns;
  cte->ncolumns = query.ncolumns;
  return 0;
}

static int parenthesised_query(struct rw *rw,
                               const struct rw_into *into,
                               struct rw_query *out) {
  rw->at++;
  if (rw_enter(rw) < 0 || rw_query(rw, into, NULL, out) < 0 ||
      rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  rw_leave(rw);
  return rw_is(rw, "union") || rw_is(rw, "except") || rw_is(rw, "intersect")
             ? rw_refuse(rw, "UNION of queries in parentheses")
             : 0;
}

static int read_arms(struct rw *rw,
                     struct rw_cte *defining,
                     struct rw_arm *arm) {
  struct rw_arm *first = arm;
  for (;;) {
    const char *join = NULL;
    if (one_arm(rw, arm) < 0 ||
        (defining != NULL &&
         (arm == first ? define(rw, defining, first)
                       : check_recursion(rw, defining, arm)) < 0) ||
        set_operator(rw, &join) < 0) {
      return -1;
    }
    if (join == NULL) {
      return 0;
    }
    if (join[1] == 'I' && arm != first && arm->join[1] != 'I') {
      /* INTERSECT binds closer in T-SQL, not in SQLite. */
      return rw_refuse(rw, "INTERSECT behind UNION or EXCEPT");
    }
    arm->next = tdsd_arena_take(rw->arena, sizeof *arm->next);
    if (arm->next == NULL) {
      return rw_no_memory(rw);
    }
    arm = arm->next;
    arm->join = join;
  }
}

static int read_values(struct rw *rw,
                       const struct rw_into *into,
                       struct rw_arm *arm) {
  struct rw_scope *scope = tdsd_arena_take(rw->arena, sizeof *scope);
  const struct rw_arm *first = arm;
  if (scope == NULL) {
    return rw_no_memory(rw);
  }
  scope->outer = rw->scope;
  for (;;) {
    arm->scope = scope;
    if (values_arm(rw, into, arm) < 0) {
      return -1;
    }
    if (arm->items.n != first->items.n) {
      return tdsd_fault_set(rw->fault, 10709, 16,
                            "The number of columns for each row in a table "
                            "value constructor must be the same.");
    }
    if (!rw_eat_sign(rw, ",")) {
      return 0;
    }
    arm->next = tdsd_arena_take(rw->arena, sizeof *arm->next);
    if (arm->next == NULL) {
      return rw_no_memory(rw);
    }
    arm = arm->next;
    arm->join = ", ";
  }
}

static int set_targets(struct rw *rw,
                       const struct rw_arm *arm,
                       struct rw_query *out) {
  if (!arm->assigns) {
    return 0;
  }
  out->targets =
      tdsd_arena_take(rw->arena, arm->items.n * sizeof *out->targets);
  if (out->targets == NULL) {
    return rw_no_memory(rw);
  }
  for (uint32_t i = 0; i < arm->items.n; i++) {
    out->targets[i] = arm->items.at[i].variable;
  }
  return 0;
}

static int check_into(struct rw *rw,
                      const struct rw_into *into,
                      const struct rw_query *query) {
  if (into == NULL || query->ncolumns == into->ncolumns ||
      rw->catalog == NULL) {
    return 0;
  }
  return query->ncolumns < into->ncolumns
             ? tdsd_fault_set(rw->fault, 120, 15,
                              "The select list for the INSERT statement "
                              "contains fewer items than the insert list. The "
                              "number of SELECT values must match the number "
                              "of INSERT columns.")
             : tdsd_fault_set(rw->fault, 121, 15,
                              "The select list for the INSERT statement "
                              "contains more items than the insert list. The "
                              "number of SELECT values must match the number "
                              "of INSERT columns.");
}

static int query_of(struct rw *rw,
                    const struct rw_into *into,
                    struct rw_cte *defining,
                    struct rw_query *out) {
  struct rw_arm *first = tdsd_arena_take(rw->arena, sizeof *first);
  struct rw_text text = {0};
  if (first == NULL) {
    return rw_no_memory(rw);
  }
  if ((rw_eat(rw, "values") ? read_values(rw, into, first)
                            : read_arms(rw, defining, first)) < 0 ||
      meet_arms(rw, first, out) < 0 || check_into(rw, into, out) < 0 ||
      set_targets(rw, first, out) < 0) {
    return -1;
  }
  for (struct rw_arm *arm = first; arm != NULL; arm = arm->next) {
    const char *sql = "";
    bool alone = arm == first && arm->next == NULL;
    if (arm_sql(rw, arm, into, out, alone, &sql) < 0) {
      return -1;
    }
    rw_add(rw, &text, arm != first ? arm->join : arm->values ? "VALUES " : "");
    rw_add(rw, &text, sql);
  }
  if (!first->values && tail(rw, first, &text) < 0) {
    return -1;
  }
  out->sql = text.bytes;
  return rw_ok(rw) ? 0 : -1;
}

int rw_query(struct rw *rw,
             const struct rw_into *into,
             struct rw_cte *defining,
             struct rw_query *out) {
  if (rw_is_sign(rw, "(")) {
    return parenthesised_query(rw, into, out);
  }
  if (rw_enter(rw) < 0 || query_of(rw, into, defining, out) < 0) {
    return -1;
  }
  rw_leave(rw);
  return 0;
}
