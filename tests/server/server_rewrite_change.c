/* SPDX-License-Identifier: MIT */
/* UPDATE, DELETE and TRUNCATE TABLE. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_rewrite_impl.h"

#define CMD_DELETE 0x00C4u
#define CMD_UPDATE 0x00C5u

void rw_changes(struct rw *rw,
                const char *verb,
                uint32_t command,
                const char *table) {
  rw->out->kind = TDSD_RW_CHANGES;
  rw->out->verb = verb;
  rw->out->command = command;
  rw->out->table = table;
}

int rw_refuse_top(struct rw *rw, const char *what) {
  return rw_is(rw, "top") ? rw_refuse(rw, what) : 0;
}

int rw_refuse_output(struct rw *rw) {
  return rw_is(rw, "output") ? rw_refuse(rw, "OUTPUT") : 0;
}

bool rw_takes_identity(const struct tdsd_rw_table *table) {
  bool identity = false;
  for (uint32_t i = 0; table != NULL && i < table->ncolumns; i++) {
    identity = identity || table->columns[i].identity;
  }
  return identity;
}

const struct tdsd_rw_column *rw_find_column(const struct tdsd_rw_table *table,
                                            const char *name) {
  for (uint32_t i = 0; table != NULL && i < table->ncolumns; i++) {
    if (strcasecmp(table->columns[i].name, name) == 0) {
      return &table->columns[i];
    }
  }
  return NULL;
}

/* SET a = 1, t.b = b + 1, c += 1. */
static int assignment(struct rw *rw,
                      const struct tdsd_rw_table *table,
                      const char *name,
                      struct rw_text *text) {
  static const char *const compound[] = {"+", "-", "*", "/",
                                         "%", "&", "|", "^"};
  const char *column_name = NULL;
  struct rw_expr value;
  if (rw_token(rw)->lexeme == TDSD_LEX_VARIABLE) {
    return rw_refuse(rw, "UPDATE ... SET @variable");
  }
  uint32_t line = rw_token(rw)->line;
  do {
    if (rw_name(rw, &column_name) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, "."));
  const struct tdsd_rw_column *column = rw_find_column(table, column_name);
  rw->fault->line = line;
  if (column == NULL && rw->catalog != NULL) {
    return tdsd_fault_set(rw->fault, 207, 16, "Invalid column name '%.128s'.",
                          column_name);
  }
  if (column != NULL && column->identity) {
    return tdsd_fault_set(rw->fault, 8102, 16,
                          "Cannot update identity column '%.128s'.",
                          column_name);
  }
  for (size_t i = 0; i < sizeof compound / sizeof compound[0]; i++) {
    if (rw_is_sign(rw, compound[i])) {
      return rw_refuse(rw, rw_format(rw, "%s= in SET", compound[i]));
    }
  }
  if (rw_need_sign(rw, "=") < 0) {
    return -1;
  }
  if (rw_eat(rw, "default")) {
    value = (struct rw_expr){.sql = column == NULL || column->other == NULL
                                        ? "NULL"
                                        : column->other};
  } else if (rw_value(rw, &value) < 0 ||
             (column != NULL && rw_store(rw, &value, column, name) < 0)) {
    return -1;
  }
  rw_add(rw, text,
         rw_format(rw, "%s = %s", rw_quote(rw, column_name), value.sql));
  return rw_ok(rw) ? 0 : -1;
}

/* The place of FROM behind SET, 0 without one. */
static uint32_t find_from(const struct rw *rw) {
  uint32_t depth = 0;
  for (uint32_t at = rw->at; at < rw->ntokens; at++) {
    depth += tdsd_lex_is_sign(&rw->tokens[at], "(") ? 1 : 0;
    depth -= tdsd_lex_is_sign(&rw->tokens[at], ")") && depth != 0 ? 1 : 0;
    if (depth == 0 && tdsd_lex_is(&rw->tokens[at], "from")) {
      return at;
    }
  }
  return 0;
}

/* What an UPDATE or DELETE is about. */
struct target {
  const char *name; /* of the table */
  const struct tdsd_rw_table *table;
  const char *link; /* alias in FROM that is the table; NULL = none */
  const char *from; /* rewritten, "" without */
};

/* The target's name may be an alias of FROM: it is looked for there first. */
static int find_target(struct rw *rw,
                       const char *name,
                       uint32_t place,
                       struct target *out) {
  for (uint32_t i = 0; place != 0 && i < rw->scope->n; i++) {
    const struct rw_source *source = &rw->scope->sources[i];
    bool same = strcasecmp(source->alias, name) == 0 ||
                (source->table != NULL && strcasecmp(source->table, name) == 0);
    if (same && source->table != NULL) {
      out->name = source->table;
      out->link = source->alias;
    }
  }
  if (rw->catalog == NULL) {
    return 0;
  }
  int rc = rw->catalog->find(rw->catalog->user, out->name, rw->arena,
                             &out->table, rw->fault);
  if (rc == 0) {
    return tdsd_fault_set(rw->fault, 208, 16, "Invalid object name '%.128s'.",
                          out->name);
  }
  out->name = rc < 0 ? out->name : out->table->name;
  return rc < 0 ? -1 : 0;
}

static int add_own_source(struct rw *rw, const struct target *target) {
  struct rw_source source = {
      .alias = target->name,
      .table = target->name,
      .columns = target->table == NULL ? NULL : target->table->columns,
      .ncolumns = target->table == NULL ? 0 : target->table->ncolumns,
      .open = target->table == NULL};
  return rw_add_source(rw, &source);
}

/* Reads FROM ahead of SET or WHERE, so that names can be found. */
static int read_from(struct rw *rw,
                     const char *name,
                     uint32_t place,
                     uint32_t *out_behind,
                     struct target *out) {
  uint32_t here = rw->at;
  out->name = name;
  out->from = "";
  *out_behind = here;
  if (place != 0) {
    rw->at = place + 1;
    if (rw_from(rw, &out->from) < 0) {
      return -1;
    }
    *out_behind = rw->at;
    rw->at = here;
  }
  if (find_target(rw, name, place, out) < 0) {
    return -1;
  }
  return out->link == NULL ? add_own_source(rw, out) : 0;
}

static int where(struct rw *rw, const char **out_sql) {
  *out_sql = "";
  if (rw_eat(rw, "where")) {
    if (rw_is(rw, "current")) {
      return rw_refuse(rw, "WHERE CURRENT OF");
    }
    return rw_condition(rw, out_sql);
  }
  return 0;
}

static const char *and_words(const char *a, const char *b) {
  return a[0] != 0 && b[0] != 0 ? " AND " : "";
}

int rw_update(struct rw *rw, const char *with) {
  struct target target = {0};
  struct rw_text set = {0};
  const char *name = NULL;
  const char *whole = NULL;
  const char *condition = "";
  uint32_t behind = 0;
  if (rw_refuse_top(rw, "UPDATE TOP") < 0 ||
      rw_table_name(rw, &name, &whole) < 0) {
    return -1;
  }
  if (rw_is(rw, "with") && tdsd_lex_is_sign(rw_ahead(rw, 1), "(")) {
    rw->at = rw_behind(rw, rw->at + 1);
  }
  if (rw_open_scope(rw) < 0) {
    return -1;
  }
  uint32_t place = find_from(rw);
  rw->target = name;
  if (rw_need(rw, "set") < 0 ||
      read_from(rw, name, place, &behind, &target) < 0) {
    return -1;
  }
  rw->target = NULL;
  do {
    rw_add(rw, &set, set.len == 0 ? "" : ", ");
    if (assignment(rw, target.table, target.name, &set) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ","));
  if (rw_refuse_output(rw) < 0) {
    return -1;
  }
  if (place != 0) {
    if (rw->at != place) {
      return rw_bad(rw);
    }
    rw->at = behind;
  }
  if (where(rw, &condition) < 0) {
    return -1;
  }
  rw_changes(rw, "UPDATE", CMD_UPDATE, target.name);
  const char *link =
      target.link == NULL
          ? ""
          : rw_format(rw, "\"tdsd target\".rowid = %s.\"tdsd row\"",
                      rw_quote(rw, target.link));
  rw->out->sql = rw_format(
      rw, "%sUPDATE %s AS %s SET %s%s%s%s%s%s%s", with,
      rw_table_sql(rw, target.name),
      target.link == NULL ? rw_quote(rw, target.name) : "\"tdsd target\"",
      set.bytes, target.from[0] != 0 ? " FROM " : "", target.from,
      condition[0] != 0 || link[0] != 0 ? " WHERE " : "", link,
      and_words(link, condition),
      condition[0] != 0 ? rw_format(rw, "(%s)", condition) : "");
  return rw_ok(rw) ? 0 : -1;
}

static int delete_joined(struct rw *rw,
                         const char *with,
                         const struct target *target,
                         const char *condition) {
  if (target->link == NULL) {
    return rw_refuse(rw, "DELETE ... FROM without the table in FROM");
  }
  rw->out->sql = rw_format(
      rw, "%sDELETE FROM %s WHERE rowid IN (SELECT %s.rowid FROM %s%s%s)", with,
      rw_table_sql(rw, target->name), rw_quote(rw, target->link), target->from,
      condition[0] != 0 ? " WHERE " : "", condition);
  return rw_ok(rw) ? 0 : -1;
}

int rw_delete(struct rw *rw, const char *with) {
  struct target target = {0};
  const char *name = NULL;
  const char *whole = NULL;
  const char *condition = "";
  uint32_t behind = 0;
  if (rw_refuse_top(rw, "DELETE TOP") < 0) {
    return -1;
  }
  (void)rw_eat(rw, "from");
  uint32_t line = rw_token(rw)->line;
  if (rw_table_name(rw, &name, &whole) < 0) {
    return -1;
  }
  if (rw_is(rw, "with") && tdsd_lex_is_sign(rw_ahead(rw, 1), "(")) {
    rw->at = rw_behind(rw, rw->at + 1);
  }
  if (rw_refuse_output(rw) < 0) {
    return -1;
  }
  if (rw_open_scope(rw) < 0) {
    return -1;
  }
  uint32_t place = rw_is(rw, "from") ? rw->at : 0;
  rw->fault->line = line;
  if (read_from(rw, name, place, &behind, &target) < 0) {
    return -1;
  }
  rw->at = behind;
  if (where(rw, &condition) < 0) {
    return -1;
  }
  rw_changes(rw, "DELETE", CMD_DELETE, target.name);
  if (place != 0) {
    return delete_joined(rw, with, &target, condition);
  }
  rw->out->sql = rw_format(
      rw, "%sDELETE FROM %s AS %s%s%s", with, rw_table_sql(rw, target.name),
      rw_quote(rw, target.name), condition[0] != 0 ? " WHERE " : "", condition);
  return rw_ok(rw) ? 0 : -1;
}

int rw_truncate(struct rw *rw) {
  const struct tdsd_rw_table *table = NULL;
  const char *name = NULL;
  if (rw_need(rw, "table") < 0 || rw_table(rw, &name, &table) < 0) {
    return -1;
  }
  rw->out->kind = TDSD_RW_SCHEMA;
  rw->out->verb = "TRUNCATE TABLE";
  rw->out->table = name;
  rw->out->sql = rw_format(rw, "DELETE FROM %s;", rw_table_sql(rw, name));
  if (rw_takes_identity(table)) {
    struct tdsd_value text = {
        .type = {.kind = TDSD_NVARCHAR}, .bytes = name, .len = strlen(name)};
    rw->out->sql = rw_format(
        rw, "%sDELETE FROM %s.sqlite_sequence WHERE name = %s;", rw->out->sql,
        name[0] == '#' ? "temp" : "main", rw_literal(rw, &text));
  }
  return rw_ok(rw) ? 0 : -1;
}
