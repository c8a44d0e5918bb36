/* SPDX-License-Identifier: MIT */
/* INSERT. */
#include <strings.h>

#include "server_const.h"
#include "server_rewrite_impl.h"

#define CMD_INSERT 0x00C3u

static int add_target(struct rw *rw,
                      struct rw_into *into,
                      const struct tdsd_rw_column *column) {
  for (uint32_t i = 0; i < into->ncolumns; i++) {
    if (into->columns[i] == column) {
      return tdsd_fault_set(rw->fault, 264, 16,
                            "The column name '%.128s' is specified more than "
                            "once in the SET clause or column list of an "
                            "INSERT.",
                            column->name);
    }
  }
  if (into->ncolumns == TDSD_CAP_COLUMNS) {
    return rw_bad(rw);
  }
  into->columns[into->ncolumns++] = column;
  return 0;
}

static bool may_insert_identity(const struct rw *rw, const char *table) {
  return rw->state != NULL &&
         strcasecmp(tdsd_state_get(rw->state, "identity_insert", ""), table) ==
             0;
}

/* (a, b), or all columns but the identity. */
static int target_columns(struct rw *rw,
                          const struct tdsd_rw_table *table,
                          struct rw_into *into) {
  bool listed = rw_is_sign(rw, "(") && !tdsd_lex_is(rw_ahead(rw, 1), "select");
  if (!listed) {
    for (uint32_t i = 0; table != NULL && i < table->ncolumns; i++) {
      if (!table->columns[i].identity &&
          add_target(rw, into, &table->columns[i]) < 0) {
        return -1;
      }
    }
    return 0;
  }
  rw->at++;
  do {
    const char *name = NULL;
    uint32_t line = rw_token(rw)->line;
    if (rw_name(rw, &name) < 0) {
      return -1;
    }
    const struct tdsd_rw_column *column = rw_find_column(table, name);
    if (column == NULL && rw->catalog != NULL) {
      rw->fault->line = line;
      return tdsd_fault_set(rw->fault, 207, 16, "Invalid column name '%.128s'.",
                            name);
    }
    if (column != NULL && column->identity &&
        !may_insert_identity(rw, into->table)) {
      return tdsd_fault_set(rw->fault, 544, 16,
                            "Cannot insert explicit value for identity column "
                            "in table '%.128s' when IDENTITY_INSERT is set to "
                            "OFF.",
                            into->table);
    }
    if (column != NULL && add_target(rw, into, column) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ","));
  return rw_need_sign(rw, ")");
}

static const char *column_list(struct rw *rw, const struct rw_into *into) {
  struct rw_text text = {0};
  for (uint32_t i = 0; i < into->ncolumns; i++) {
    rw_add(rw, &text, i == 0 ? "(" : ", ");
    rw_add(rw, &text, rw_quote(rw, into->columns[i]->name));
  }
  rw_add(rw, &text, into->ncolumns == 0 ? "" : ") ");
  return text.bytes;
}

int rw_insert(struct rw *rw, const char *with) {
  const struct tdsd_rw_table *table = NULL;
  struct rw_into into = {0};
  struct rw_query query = {0};
  const char *name = NULL;
  if (rw_refuse_top(rw, "INSERT TOP") < 0) {
    return -1;
  }
  (void)rw_eat(rw, "into");
  into.columns =
      tdsd_arena_take(rw->arena, TDSD_CAP_COLUMNS * sizeof *into.columns);
  if (into.columns == NULL) {
    return rw_no_memory(rw);
  }
  if (rw_table(rw, &name, &table) < 0) {
    return -1;
  }
  into.table = name;
  if (rw_is(rw, "with") && tdsd_lex_is_sign(rw_ahead(rw, 1), "(")) {
    rw->at = rw_behind(rw, rw->at + 1);
  }
  if (target_columns(rw, table, &into) < 0 || rw_refuse_output(rw) < 0) {
    return -1;
  }
  rw_changes(rw, "INSERT", CMD_INSERT, name);
  rw->out->identity = rw_takes_identity(table);
  if (rw_eat(rw, "default")) {
    rw->out->sql = rw_format(rw, "%sINSERT INTO %s DEFAULT VALUES", with,
                             rw_table_sql(rw, name));
    return rw_need(rw, "values");
  }
  if (rw_is(rw, "exec") || rw_is(rw, "execute")) {
    return rw_refuse(rw, "INSERT ... EXEC");
  }
  bool values = rw_is(rw, "values");
  int rc = rw_query(rw, &into, NULL, &query);
  if (rc < 0 && values && rw->fault->number == 120) {
    return tdsd_fault_set(rw->fault, 109, 15,
                          "There are more columns in the INSERT statement than "
                          "values specified in the VALUES clause. The number "
                          "of values in the VALUES clause must match the "
                          "number of columns specified in the INSERT "
                          "statement.");
  }
  if (rc < 0 && values && rw->fault->number == 121) {
    return tdsd_fault_set(rw->fault, 110, 15,
                          "There are fewer columns in the INSERT statement "
                          "than values specified in the VALUES clause. The "
                          "number of values in the VALUES clause must match "
                          "the number of columns specified in the INSERT "
                          "statement.");
  }
  rw->out->sql =
      rw_format(rw, "%sINSERT INTO %s %s%s", with, rw_table_sql(rw, name),
                column_list(rw, &into), query.sql);
  return rc < 0 || !rw_ok(rw) ? -1 : 0;
}
