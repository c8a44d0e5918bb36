/* SPDX-License-Identifier: MIT */
/* ORDER BY, OFFSET and FETCH behind a query. */
#include "server_rewrite_impl.h"

void rw_direction(struct rw *rw, struct rw_text *text) {
  if (rw_eat(rw, "desc")) {
    rw_add(rw, text, " DESC");
  } else {
    (void)rw_eat(rw, "asc");
  }
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
        (first->grouped &&
         rw_check_grouped(rw, first, item.sql, ref, rw->refs.n,
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
    rw_direction(rw, text);
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

int rw_query_tail(struct rw *rw, struct rw_arm *first, struct rw_text *text) {
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
