/* SPDX-License-Identifier: MIT */
/* WITH. */
#include "server_rewrite_impl.h"

/* The list of names is read before the query, because the recursive part of the
 * query uses them. */
static int cte_names(struct rw *rw, struct rw_cte *cte, const char **out_sql) {
  uint32_t room = rw_behind(rw, rw->at) - rw->at;
  struct rw_text text = {0};
  cte->names = tdsd_arena_take(rw->arena, room * sizeof *cte->names);
  if (cte->names == NULL) {
    return rw_no_memory(rw);
  }
  rw->at++;
  do {
    if (rw_name(rw, &cte->names[cte->nnames]) < 0) {
      return -1;
    }
    rw_add(rw, &text, cte->nnames == 0 ? "(" : ", ");
    rw_add(rw, &text, rw_quote(rw, cte->names[cte->nnames++]));
  } while (rw_eat_sign(rw, ","));
  rw_add(rw, &text, ")");
  *out_sql = text.bytes;
  return rw_need_sign(rw, ")");
}

/* name [(a, b)] AS (query). */
static int one_cte(struct rw *rw, struct rw_text *text) {
  struct rw_cte *cte = tdsd_arena_take(rw->arena, sizeof *cte);
  struct rw_query query = {0};
  const char *names = "";
  if (cte == NULL) {
    return rw_no_memory(rw);
  }
  if (rw_name(rw, &cte->name) < 0 ||
      (rw_is_sign(rw, "(") && cte_names(rw, cte, &names) < 0) ||
      rw_need(rw, "as") < 0 || rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  cte->next = rw->ctes;
  rw->ctes = cte;
  if (rw_query(rw, NULL, cte, &query) < 0) {
    return -1;
  }
  if (cte->nnames != 0 && query.ncolumns != cte->nnames &&
      rw->catalog != NULL) {
    return tdsd_fault_set(
        rw->fault, query.ncolumns > cte->nnames ? 8158 : 8159, 16,
        "'%.128s' has %s columns than were specified in "
        "the column list.",
        cte->name, query.ncolumns > cte->nnames ? "more" : "fewer");
  }
  for (uint32_t i = 0; i < query.ncolumns && i < cte->nnames; i++) {
    query.columns[i].name = cte->names[i];
  }
  cte->columns = query.columns;
  cte->ncolumns = query.ncolumns;
  rw_add(
      rw, text,
      rw_format(rw, "%s%s AS (%s)", rw_quote(rw, cte->name), names, query.sql));
  return rw_need_sign(rw, ")");
}

int rw_with(struct rw *rw, const char **out_sql) {
  struct rw_text text = {0};
  if (!rw_eat(rw, "with")) {
    return 0;
  }
  rw_add(rw, &text, "WITH RECURSIVE ");
  do {
    if (one_cte(rw, &text) < 0) {
      return -1;
    }
    rw_add(rw, &text, rw_is_sign(rw, ",") ? ", " : " ");
  } while (rw_eat_sign(rw, ","));
  *out_sql = text.bytes;
  return rw_ok(rw) ? 0 : -1;
}
