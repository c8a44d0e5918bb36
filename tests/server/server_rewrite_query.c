/* SPDX-License-Identifier: MIT */
/* Queries: the parts of a UNION are put together once all their types are
 * known. */

#include "server_rewrite_impl.h"

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
    if (rw_select_arm(rw, arm) < 0 ||
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
    if (rw_values_arm(rw, into, arm) < 0) {
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
  if (!first->values && rw_query_tail(rw, first, &text) < 0) {
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

int rw_column_query(struct rw *rw, struct rw_query *out) {
  if (rw_query(rw, NULL, NULL, out) < 0 || rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  return out->ncolumns <= 1
             ? 0
             : tdsd_fault_set(rw->fault, 116, 16,
                              "Only one expression can be specified in the "
                              "select list when the subquery is not introduced "
                              "with EXISTS.");
}
