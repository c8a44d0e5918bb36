/* SPDX-License-Identifier: MIT */
/* CASE, whose results meet in one type. */
#include "server_rewrite_impl.h"

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

int rw_case(struct rw *rw, struct rw_expr *out) {
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
