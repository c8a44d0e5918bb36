/* SPDX-License-Identifier: MIT */
/* CREATE, DROP and ALTER TABLE, CREATE and DROP INDEX.  What SQLite's schema
 * cannot say of a column (its T-SQL type, IDENTITY, DEFAULT) and of a key (its
 * name) is written to two tables beside it, in the same transaction. */
#include "server_rewrite_schema.h"

#include <string.h>

const char *rw_text_of(struct rw *rw, const char *text) {
  struct tdsd_value value = {
      .type = {.kind = TDSD_NVARCHAR}, .bytes = text, .len = strlen(text)};
  return rw_literal(rw, &value);
}

static void schema_change(struct rw *rw, const char *verb, const char *table) {
  rw->out->kind = TDSD_RW_SCHEMA;
  rw->out->verb = verb;
  rw->out->table = table;
}

/* SQLite counts in the rowid only, so an identity column is always its key. */
static int finish_identity(struct rw *rw, struct rw_definition *def) {
  if (def->identity == NULL) {
    return 0;
  }
  if (def->has_key && !def->key_is_identity) {
    return rw_refuse(rw, "IDENTITY beside a PRIMARY KEY on another column");
  }
  if (def->seed != 1) {
    rw_add(rw, &def->catalog,
           rw_format(rw,
                     "INSERT INTO %s.sqlite_sequence (name, seq) VALUES (%s, "
                     "%lld);",
                     def->schema, rw_text_of(rw, def->name),
                     (long long)def->seed - 1));
  }
  return 0;
}

static int create_table(struct rw *rw) {
  struct rw_definition def = {0};
  const char *whole = NULL;
  if (rw_table_name(rw, &def.name, &whole) < 0 || rw_need_sign(rw, "(") < 0 ||
      rw_open_scope(rw) < 0) {
    return -1;
  }
  def.schema = def.name[0] == '#' ? "temp" : "main";
  if (strncmp(def.name, "##", 2) == 0) {
    return rw_refuse(rw, "global temporary tables");
  }
  do {
    bool constraint = rw_is(rw, "constraint") || rw_is(rw, "primary") ||
                      rw_is(rw, "unique") || rw_is(rw, "check") ||
                      rw_is(rw, "foreign");
    if (rw_is(rw, "index") || rw_is(rw, "period")) {
      return rw_refuse(rw, "INDEX within CREATE TABLE");
    }
    if ((constraint ? rw_table_constraint(rw, &def)
                    : rw_column_definition(rw, &def)) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ",") && !rw_is_sign(rw, ")"));
  if (rw_need_sign(rw, ")") < 0 || finish_identity(rw, &def) < 0) {
    return -1;
  }
  if (rw_eat(rw, "on") && rw_need(rw, "primary") < 0) {
    return -1;
  }
  if (rw_is(rw, "with")) {
    return rw_refuse(rw, "CREATE TABLE ... WITH");
  }
  schema_change(rw, "CREATE TABLE", def.name);
  rw->out->sql =
      rw_format(rw, "CREATE TABLE %s.%s (%s);%s", def.schema,
                rw_quote(rw, def.name), def.body.bytes, def.catalog.bytes);
  return rw_ok(rw) ? 0 : -1;
}

static int create_index(struct rw *rw, bool unique) {
  const struct tdsd_rw_table *table = NULL;
  struct rw_key_columns columns = {0};
  const char *name = NULL;
  const char *on = NULL;
  rw_skip_clustered(rw);
  if (rw_need(rw, "index") < 0 || rw_name(rw, &name) < 0 ||
      rw_need(rw, "on") < 0 || rw_table(rw, &on, &table) < 0 ||
      rw_read_key_columns(rw, &columns) < 0) {
    return -1;
  }
  if (rw_eat(rw, "include")) {
    if (!rw_is_sign(rw, "(")) {
      return rw_bad(rw);
    }
    rw->at = rw_behind(rw, rw->at); /* a matter of speed only */
  }
  if (rw_is(rw, "where") || rw_is(rw, "with")) {
    return rw_refuse(rw, "CREATE INDEX ... WHERE or WITH");
  }
  schema_change(rw, "CREATE INDEX", on);
  rw->out->sql =
      rw_format(rw, "CREATE %sINDEX %s.%s ON %s (%s);", unique ? "UNIQUE " : "",
                on[0] == '#' ? "temp" : "main",
                rw_quote(rw, rw_format(rw, "%s.%s", on, name)),
                rw_quote(rw, on), columns.quoted);
  return rw_ok(rw) ? 0 : -1;
}

static int refuse_kind(struct rw *rw, const char *verb) {
  const struct tdsd_token *token = rw_token(rw);
  return token->lexeme == TDSD_LEX_WORD
             ? rw_refuse(rw, rw_format(rw, "%s %.*s", verb,
                                       (int)(token->len < 64 ? token->len : 64),
                                       token->text))
             : rw_bad(rw);
}

int rw_create(struct rw *rw) {
  if (rw_eat(rw, "table")) {
    return create_table(rw);
  }
  bool unique = rw_eat(rw, "unique");
  if (rw_is(rw, "clustered") || rw_is(rw, "nonclustered") ||
      rw_is(rw, "index")) {
    return create_index(rw, unique);
  }
  return refuse_kind(rw, "CREATE");
}

static int drop_one(struct rw *rw, bool maybe, struct rw_text *text) {
  const struct tdsd_rw_table *table = NULL;
  const char *name = NULL;
  if (rw_table(rw, &name, &table) < 0) {
    if (rw->fault->number != 208) {
      return -1;
    }
    if (maybe) {
      rw->fault->number = 0;
      return 0;
    }
    return tdsd_fault_set(rw->fault, 3701, 11,
                          "Cannot drop the table '%.128s', because it does not "
                          "exist or you do not have permission.",
                          name);
  }
  const char *schema = name[0] == '#' ? "temp" : "main";
  const char *literal = rw_text_of(rw, name);
  rw_add(rw, text,
         rw_format(rw,
                   "DROP TABLE %s.%s;DELETE FROM %s.tdsd_columns WHERE tbl = "
                   "%s;DELETE FROM %s.tdsd_keys WHERE tbl = %s;",
                   schema, rw_quote(rw, name), schema, literal, schema,
                   literal));
  return 0;
}

static int drop_index(struct rw *rw, bool maybe) {
  const struct tdsd_rw_table *table = NULL;
  const char *name = NULL;
  const char *on = NULL;
  if (rw_name(rw, &name) < 0 || rw_need(rw, "on") < 0 ||
      rw_table(rw, &on, &table) < 0) {
    return -1;
  }
  schema_change(rw, "DROP INDEX", on);
  rw->out->sql = rw_format(rw, "DROP INDEX %s%s.%s;", maybe ? "IF EXISTS " : "",
                           on[0] == '#' ? "temp" : "main",
                           rw_quote(rw, rw_format(rw, "%s.%s", on, name)));
  return rw_ok(rw) ? 0 : -1;
}

static bool if_exists(struct rw *rw) {
  if (rw_is(rw, "if") && tdsd_lex_is(rw_ahead(rw, 1), "exists")) {
    rw->at += 2;
    return true;
  }
  return false;
}

int rw_drop(struct rw *rw) {
  struct rw_text text = {0};
  if (rw_eat(rw, "index")) {
    return drop_index(rw, if_exists(rw));
  }
  if (!rw_eat(rw, "table")) {
    return refuse_kind(rw, "DROP");
  }
  bool maybe = if_exists(rw);
  do {
    if (drop_one(rw, maybe, &text) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ","));
  schema_change(rw, "DROP TABLE", "");
  rw->out->sql = text.bytes == NULL ? "" : text.bytes;
  return rw_ok(rw) ? 0 : -1;
}

static int add_columns(struct rw *rw,
                       const struct tdsd_rw_table *table,
                       struct rw_definition *def) {
  struct rw_text text = {0};
  if (rw_is(rw, "constraint") || rw_is(rw, "primary") || rw_is(rw, "check") ||
      rw_is(rw, "unique") || rw_is(rw, "foreign") || rw_is(rw, "default")) {
    return rw_refuse(rw, "ALTER TABLE ... ADD CONSTRAINT");
  }
  for (uint32_t i = 0; table != NULL && i < table->ncolumns; i++) {
    if (rw_scope_column(rw, table->columns[i].name, table->columns[i].type) <
        0) {
      return -1;
    }
  }
  def->has_key = true; /* SQLite adds no key to a table that is there */
  do {
    def->body = (struct rw_text){0};
    if (rw_column_definition(rw, def) < 0) {
      return rw->fault->number == 8110
                 ? rw_refuse(rw, "ALTER TABLE ... ADD ... PRIMARY KEY")
                 : -1;
    }
    if (def->identity != NULL) {
      return rw_refuse(rw, "ALTER TABLE ... ADD ... IDENTITY");
    }
    rw_add(rw, &text,
           rw_format(rw, "ALTER TABLE %s.%s ADD COLUMN %s;", def->schema,
                     rw_quote(rw, def->name), def->body.bytes));
  } while (rw_eat_sign(rw, ","));
  rw->out->sql = rw_format(rw, "%s%s", text.bytes, def->catalog.bytes);
  return 0;
}

static int drop_column(struct rw *rw, const struct rw_definition *def) {
  const char *name = NULL;
  if (rw_name(rw, &name) < 0) {
    return -1;
  }
  rw->out->sql = rw_format(
      rw,
      "ALTER TABLE %s.%s DROP COLUMN %s;DELETE FROM %s.tdsd_columns WHERE "
      "tbl = %s AND name = %s COLLATE NOCASE;",
      def->schema, rw_quote(rw, def->name), rw_quote(rw, name), def->schema,
      rw_text_of(rw, def->name), rw_text_of(rw, name));
  return 0;
}

int rw_alter(struct rw *rw) {
  const struct tdsd_rw_table *table = NULL;
  struct rw_definition def = {.altering = true};
  if (!rw_eat(rw, "table")) {
    return refuse_kind(rw, "ALTER");
  }
  if (rw_table(rw, &def.name, &table) < 0 || rw_open_scope(rw) < 0) {
    return -1;
  }
  def.schema = def.name[0] == '#' ? "temp" : "main";
  schema_change(rw, "ALTER TABLE", def.name);
  if (rw_eat(rw, "add")) {
    return add_columns(rw, table, &def);
  }
  if (rw_eat(rw, "drop") && rw_eat(rw, "column")) {
    return drop_column(rw, &def);
  }
  return refuse_kind(rw, "ALTER TABLE ...");
}
