/* SPDX-License-Identifier: MIT */
/* Aggregates and window functions of the rewriter. */
#include <string.h>
#include <strings.h>

#include "server_rewrite_impl.h"

/* OVER (PARTITION BY ... ORDER BY ... ROWS ...). */

static int sort_list(struct rw *rw, struct rw_text *text, bool directions) {
  do {
    struct rw_expr item;
    if (rw_value(rw, &item) < 0) {
      return -1;
    }
    rw_add(rw, text, rw_sorted(rw, &item));
    if (directions) {
      rw_direction(rw, text);
    }
    rw_add(rw, text, rw_is_sign(rw, ",") ? ", " : "");
  } while (rw_eat_sign(rw, ","));
  return 0;
}

/* ROWS and RANGE are the same in both languages: the words are copied. */
static int frame(struct rw *rw, struct rw_text *text) {
  static const char *const words[] = {"rows",      "range",     "between",
                                      "unbounded", "and",       "current",
                                      "row",       "preceding", "following"};
  while (!rw_is_sign(rw, ")")) {
    const struct tdsd_token *token = rw_token(rw);
    bool known = token->lexeme == TDSD_LEX_NUMBER;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && !known; i++) {
      known = rw_is(rw, words[i]);
    }
    if (!known) {
      return rw_bad(rw);
    }
    rw_add(rw, text, rw_format(rw, " %.*s", (int)token->len, token->text));
    rw->at++;
  }
  return 0;
}

static int over(struct rw *rw, struct rw_expr *out) {
  struct rw_text text = {0};
  if (!rw_is_sign(rw, "(")) {
    return rw_refuse(rw, "OVER with a window's name");
  }
  rw->at++;
  rw_add(rw, &text, out->sql);
  rw_add(rw, &text, " OVER (");
  if (rw_eat(rw, "partition")) {
    rw_add(rw, &text, "PARTITION BY ");
    if (rw_need(rw, "by") < 0 || sort_list(rw, &text, false) < 0) {
      return -1;
    }
  }
  if (rw_eat(rw, "order")) {
    rw_add(rw, &text, " ORDER BY ");
    if (rw_need(rw, "by") < 0 || sort_list(rw, &text, true) < 0) {
      return -1;
    }
  }
  if (frame(rw, &text) < 0 || rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  rw_add(rw, &text, ")");
  out->sql = text.bytes;
  return rw_ok(rw) ? 0 : -1;
}

/* Aggregates. */

static const char *sum_name(const struct tdsd_type *type) {
  switch ((int)type->kind) {
  case TDSD_TINYINT:
  case TDSD_SMALLINT:
  case TDSD_INT:
    return "int";
  case TDSD_BIGINT:
    return "bigint";
  case TDSD_REAL:
  case TDSD_FLOAT:
    return "float";
  case TDSD_SMALLMONEY:
  case TDSD_MONEY:
    return "money";
  case TDSD_DECIMAL:
    return "decimal";
  default:
    return NULL;
  }
}

static struct tdsd_type sum_type(const struct tdsd_type *in, bool average) {
  struct tdsd_type type = rw_type_of(in->kind);
  if (in->kind >= TDSD_TINYINT && in->kind <= TDSD_INT) {
    type.kind = TDSD_INT;
  } else if (in->kind == TDSD_REAL) {
    type.kind = TDSD_FLOAT;
  } else if (in->kind == TDSD_SMALLMONEY) {
    type.kind = TDSD_MONEY;
  } else if (in->kind == TDSD_DECIMAL) {
    type.precision = 38;
    type.scale = average && in->scale < 6 ? 6 : in->scale;
    type.numeric = in->numeric;
  }
  return type;
}

static int sum(struct rw *rw,
               const char *name,
               const char *distinct,
               const struct rw_expr *arg,
               struct rw_expr *out) {
  bool average = name[0] == 'a' || name[0] == 'A';
  if (rw_need_known(rw, arg, name) < 0) {
    return -1;
  }
  const char *kind = arg->known ? sum_name(&arg->type) : "int";
  if (kind == NULL) {
    return tdsd_fault_set(
        rw->fault, 8117, 16, "Operand data type %s is invalid for %s operator.",
        tdsd_kind_name(arg->type.kind), average ? "avg" : "sum");
  }
  *out = (struct rw_expr){.sql = rw_format(rw, "tsql_%s_%s(%s%s)",
                                           average ? "avg" : "sum", kind,
                                           distinct, arg->sql),
                          .type = sum_type(&arg->type, average),
                          .known = arg->known};
  return 0;
}

static int extreme(struct rw *rw,
                   const char *name,
                   const struct rw_expr *arg,
                   struct rw_expr *out) {
  if (arg->known && arg->type.kind == TDSD_BIT) {
    return tdsd_fault_set(rw->fault, 8117, 16,
                          "Operand data type bit is invalid for %s operator.",
                          name);
  }
  *out = *arg;
  out->sql =
      rw_format(rw, "%s(%s)", strcasecmp(name, "min") == 0 ? "min" : "max",
                rw_sorted(rw, arg));
  out->column = false;
  out->literal = NULL;
  out->type.nullable = true;
  return 0;
}

static int string_agg(struct rw *rw, struct rw_expr *arg, struct rw_expr *out) {
  struct rw_expr separator;
  struct tdsd_type type = {.kind = TDSD_NVARCHAR, .size = 4000};
  if (rw_need_sign(rw, ",") < 0 || rw_value(rw, &separator) < 0 ||
      rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  if (rw_is(rw, "within")) {
    return rw_refuse(rw, "WITHIN GROUP");
  }
  if (!arg->known || !tdsd_kind_is_text(arg->type.kind)) {
    if (rw_cast(rw, arg, &type) < 0) {
      return -1;
    }
  } else {
    type.kind =
        tdsd_kind_is_wide(arg->type.kind) ? TDSD_NVARCHAR : TDSD_VARCHAR;
    type.size = arg->type.size == TDSD_SIZE_MAX ? TDSD_SIZE_MAX
                : type.kind == TDSD_NVARCHAR    ? 4000
                                                : 8000;
  }
  type.nullable = true;
  *out = (struct rw_expr){
      .sql = rw_format(rw, "group_concat(%s, %s)", arg->sql, separator.sql),
      .type = type,
      .known = true};
  return 0;
}

static int aggregate_of(struct rw *rw, const char *name, struct rw_expr *out) {
  struct rw_expr arg = {.sql = "*"};
  bool count = strncasecmp(name, "count", 5) == 0;
  const char *distinct = rw_eat(rw, "distinct") ? "DISTINCT " : "";
  (void)rw_eat(rw, "all");
  if (count && rw_eat_sign(rw, "*")) {
    arg.column = true;
  } else if (rw_value(rw, &arg) < 0) {
    return -1;
  }
  if (strcasecmp(name, "string_agg") == 0) {
    return distinct[0] != 0 ? rw_bad(rw) : string_agg(rw, &arg, out);
  }
  if (rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  if (count) {
    *out = (struct rw_expr){
        .sql = rw_format(rw, "count(%s%s)", distinct,
                         distinct[0] != 0 ? rw_sorted(rw, &arg) : arg.sql),
        .type = rw_type_of(name[5] == 0 ? TDSD_INT : TDSD_BIGINT),
        .known = true};
    return 0;
  }
  return strcasecmp(name, "sum") == 0 || strcasecmp(name, "avg") == 0
             ? sum(rw, name, distinct, &arg, out)
             : extreme(rw, name, &arg, out);
}

bool rw_is_aggregate(const char *name) {
  static const char *const names[] = {"count", "count_big", "sum",       "avg",
                                      "min",   "max",       "string_agg"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (strcasecmp(names[i], name) == 0) {
      return true;
    }
  }
  return false;
}

int rw_aggregate(struct rw *rw, const char *name, struct rw_expr *out) {
  bool inside = rw->inside;
  rw->inside = true;
  int rc = aggregate_of(rw, name, out);
  rw->inside = inside;
  if (rc < 0 || !rw_eat(rw, "over")) {
    rw->aggregates = true;
    return rc;
  }
  return over(rw, out);
}

/* Window functions that are no aggregates. */
int rw_window(struct rw *rw, const char *name, struct rw_expr *out) {
  static const struct {
    const char *name;
    unsigned least, most;
    bool value; /* of its first argument's type, else bigint */
  } known[] = {{"row_number", 0, 0, false}, {"rank", 0, 0, false},
               {"dense_rank", 0, 0, false}, {"ntile", 1, 1, false},
               {"lag", 1, 3, true},         {"lead", 1, 3, true},
               {"first_value", 1, 1, true}, {"last_value", 1, 1, true}};
  struct rw_exprs args = {0};
  struct rw_text text = {0};
  size_t i = 0;
  while (i < sizeof known / sizeof known[0] &&
         strcasecmp(known[i].name, name) != 0) {
    i++;
  }
  if (i == sizeof known / sizeof known[0]) {
    return 1;
  }
  if (rw_arguments(rw, &args) < 0) {
    return -1;
  }
  if (args.n < known[i].least || args.n > known[i].most) {
    return rw_wrong_count(rw, known[i].name, known[i].least);
  }
  if (args.n == 3 && args.at[0].known &&
      rw_cast(rw, &args.at[2], &args.at[0].type) < 0) {
    return -1;
  }
  rw_add(rw, &text, rw_format(rw, "%s(", known[i].name));
  for (uint32_t a = 0; a < args.n; a++) {
    rw_add(rw, &text, a == 0 ? "" : ", ");
    rw_add(rw, &text, args.at[a].sql);
  }
  rw_add(rw, &text, ")");
  *out = (struct rw_expr){
      .sql = text.bytes, .type = rw_type_of(TDSD_BIGINT), .known = true};
  if (known[i].value) {
    out->type = args.at[0].type;
    out->known = args.at[0].known;
    out->type.nullable = true;
  }
  return rw_need(rw, "over") < 0 ? -1 : over(rw, out);
}
