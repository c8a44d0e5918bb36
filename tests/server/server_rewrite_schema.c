/* SPDX-License-Identifier: MIT */
/* CREATE, DROP and ALTER TABLE, CREATE and DROP INDEX.  What SQLite's schema
 * cannot say of a column (its T-SQL type, IDENTITY, DEFAULT) and of a key (its
 * name) is written to two tables beside it, in the same transaction. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_rewrite_impl.h"

/* A table under construction. */
struct definition {
  const char *name;
  const char *schema; /* main, temp */
  struct rw_text body;
  struct rw_text catalog; /* INSERTs into the tables beside it */
  uint32_t ncolumns;
  bool has_key;
  const char *identity; /* the column, NULL without one */
  int64_t seed;
  bool key_is_identity;
  bool altering;
};

struct columns {
  const char *quoted; /* "a", "b" */
  const char *plain;  /* a,b */
  uint32_t n;
  const char *first;
};

static const char *text_of(struct rw *rw, const char *text) {
  struct tdsd_value value = {
      .type = {.kind = TDSD_NVARCHAR}, .bytes = text, .len = strlen(text)};
  return rw_literal(rw, &value);
}

static void schema_change(struct rw *rw, const char *verb, const char *table) {
  rw->out->kind = TDSD_RW_SCHEMA;
  rw->out->verb = verb;
  rw->out->table = table;
}

/* The declared type as SQLite sees it: behind ours stands a word that gives the
 * affinity in which the value is kept. */
static const char *declared(struct rw *rw, const struct tdsd_type *type) {
  char name[64];
  (void)tdsd_rw_type_print(type, name, sizeof name);
  const char *word = "TEXT";
  if (tdsd_kind_is_integer(type->kind)) {
    word = "INTEGER";
  } else if (type->kind == TDSD_REAL || type->kind == TDSD_FLOAT) {
    word = "REAL";
  } else if (tdsd_kind_is_binary(type->kind)) {
    word = "BLOB";
  }
  struct rw_expr expr = {.type = *type, .known = true};
  return rw_format(rw, "\"%s %s\"%s", name, word, rw_collate(&expr));
}

/* (a [ASC], b DESC). */
static int key_columns(struct rw *rw, struct columns *out) {
  struct rw_text quoted = {0};
  struct rw_text plain = {0};
  if (rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  do {
    const char *name = NULL;
    if (rw_name(rw, &name) < 0) {
      return -1;
    }
    out->first = out->n++ == 0 ? name : out->first;
    rw_add(rw, &quoted, quoted.len == 0 ? "" : ", ");
    rw_add(rw, &quoted, rw_quote(rw, name));
    rw_add(rw, &plain, plain.len == 0 ? "" : ",");
    rw_add(rw, &plain, name);
    if (rw_eat(rw, "desc")) {
      rw_add(rw, &quoted, " DESC");
    } else {
      (void)rw_eat(rw, "asc");
    }
  } while (rw_eat_sign(rw, ","));
  out->quoted = quoted.bytes;
  out->plain = plain.bytes;
  return rw_need_sign(rw, ")");
}

static void clustered(struct rw *rw) {
  if (!rw_eat(rw, "clustered")) {
    (void)rw_eat(rw, "nonclustered");
  }
}

static void record_key(struct rw *rw,
                       struct definition *def,
                       char kind,
                       const char *name,
                       const char *plain) {
  rw_add(rw, &def->catalog,
         rw_format(rw, "INSERT INTO %s.tdsd_keys VALUES (%s, '%c', %s, %s);",
                   def->schema, text_of(rw, def->name), kind, text_of(rw, name),
                   text_of(rw, plain)));
}

static const char *made_up(struct rw *rw,
                           const struct definition *def,
                           const char *prefix,
                           const char *column) {
  return rw_format(rw, "%s__%s__%s", prefix, def->name, column);
}

/* PRIMARY KEY and UNIQUE, of a column or of the table. */
static int key(struct rw *rw,
               struct definition *def,
               bool primary,
               const char *name,
               const char *column,
               struct rw_text *out) {
  struct columns columns = {.plain = column, .first = column, .n = 1};
  if (primary && rw_need(rw, "key") < 0) {
    return -1;
  }
  clustered(rw);
  if (column == NULL && key_columns(rw, &columns) < 0) {
    return -1;
  }
  if (primary && def->has_key) {
    return tdsd_fault_set(
        rw->fault, 8110, 16,
        "Cannot add multiple PRIMARY KEY constraints to table "
        "'%.128s'.",
        def->name);
  }
  if (name == NULL) {
    name = made_up(rw, def, primary ? "PK" : "UQ", columns.first);
  }
  record_key(rw, def, primary ? 'P' : 'U', name, columns.plain);
  def->has_key = def->has_key || primary;
  bool identity = def->identity != NULL && columns.n == 1 &&
                  strcasecmp(def->identity, columns.first) == 0;
  if (primary && identity) {
    def->key_is_identity = true; /* the column says so itself */
    return 0;
  }
  rw_add(rw, out,
         rw_format(rw, "%sCONSTRAINT %s %s", column == NULL ? ", " : " ",
                   rw_quote(rw, name), primary ? "PRIMARY KEY" : "UNIQUE"));
  if (column == NULL) {
    rw_add(rw, out, rw_format(rw, " (%s)", columns.quoted));
  }
  return 0;
}

/* A condition over the table's columns, read with them in scope. */
static int check(struct rw *rw,
                 struct definition *def,
                 const char *name,
                 const char *column,
                 struct rw_text *out) {
  const char *condition = "";
  if (rw_need_sign(rw, "(") < 0 || rw_condition(rw, &condition) < 0 ||
      rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  if (rw->out->nparams != 0) {
    return rw_refuse(rw, "variables in CHECK");
  }
  if (name == NULL) {
    name = made_up(rw, def, "CK", column == NULL ? "table" : column);
  }
  rw_add(rw, out,
         rw_format(rw, "%sCONSTRAINT %s CHECK (%s)",
                   column == NULL ? ", " : " ", rw_quote(rw, name), condition));
  return 0;
}

static int action(struct rw *rw, struct rw_text *out) {
  while (rw_eat(rw, "on")) {
    bool update = rw_eat(rw, "update");
    if (!update && rw_need(rw, "delete") < 0) {
      return -1;
    }
    rw_add(rw, out, update ? " ON UPDATE" : " ON DELETE");
    if (rw_eat(rw, "cascade")) {
      rw_add(rw, out, " CASCADE");
    } else if (rw_eat(rw, "set")) {
      bool null = rw_eat(rw, "null");
      if (!null && rw_need(rw, "default") < 0) {
        return -1;
      }
      rw_add(rw, out, null ? " SET NULL" : " SET DEFAULT");
    } else {
      if (rw_need(rw, "no") < 0 || rw_need(rw, "action") < 0) {
        return -1;
      }
      rw_add(rw, out, " NO ACTION");
    }
  }
  return 0;
}

static int references(struct rw *rw, struct rw_text *out) {
  const char *name = NULL;
  const char *whole = NULL;
  struct columns columns = {0};
  if (rw_need(rw, "references") < 0 || rw_table_name(rw, &name, &whole) < 0) {
    return -1;
  }
  rw_add(rw, out, rw_format(rw, " REFERENCES %s", rw_quote(rw, name)));
  if (rw_is_sign(rw, "(")) {
    if (key_columns(rw, &columns) < 0) {
      return -1;
    }
    rw_add(rw, out, rw_format(rw, " (%s)", columns.quoted));
  }
  return action(rw, out);
}

static int foreign_key(struct rw *rw, const char *name, struct rw_text *out) {
  struct columns columns = {0};
  if (rw_need(rw, "key") < 0 || key_columns(rw, &columns) < 0) {
    return -1;
  }
  rw_add(rw, out, ", ");
  if (name != NULL) {
    rw_add(rw, out, rw_format(rw, "CONSTRAINT %s ", rw_quote(rw, name)));
  }
  rw_add(rw, out, rw_format(rw, "FOREIGN KEY (%s)", columns.quoted));
  return references(rw, out);
}

/* A column's properties as they are gathered. */
struct column {
  const char *name;
  struct tdsd_type type;
  bool not_null;
  bool identity;
  const char *other;
  struct rw_text rest;
};

static int identity(struct rw *rw, struct definition *def, struct column *col) {
  int64_t numbers[2] = {1, 1};
  if (def->identity != NULL) {
    return tdsd_fault_set(rw->fault, 2744, 16,
                          "Multiple identity columns specified for table "
                          "'%.128s'. Only one identity column per table is "
                          "allowed.",
                          def->name);
  }
  if (!tdsd_kind_is_integer(col->type.kind) || col->type.kind == TDSD_BIT) {
    return rw_refuse(rw, "IDENTITY on a column that is no integer");
  }
  if (rw_eat_sign(rw, "(")) {
    for (unsigned i = 0; i < 2; i++) {
      struct rw_expr number;
      if ((i == 1 && rw_need_sign(rw, ",") < 0) || rw_value(rw, &number) < 0) {
        return -1;
      }
      if (number.literal == NULL || !tdsd_kind_is_integer(number.type.kind)) {
        return rw_bad(rw);
      }
      numbers[i] = number.literal->integer;
    }
    if (rw_need_sign(rw, ")") < 0) {
      return -1;
    }
  }
  if (numbers[1] != 1) {
    return rw_refuse(rw, "IDENTITY with an increment other than 1");
  }
  def->identity = col->name;
  def->seed = numbers[0];
  col->identity = true;
  col->not_null = true;
  return 0;
}

static int default_value(struct rw *rw, struct column *col) {
  struct rw_expr value;
  struct tdsd_rw_column target = {
      .name = col->name, .type = col->type, .known = true};
  if (rw_value(rw, &value) < 0 || rw_store(rw, &value, &target, "") < 0) {
    return -1;
  }
  if (rw->out->nparams != 0) {
    return rw_refuse(rw, "variables in DEFAULT");
  }
  col->other = value.sql;
  rw_add(rw, &col->rest,
         value.literal != NULL || value.sql[0] == '\''
             ? rw_format(rw, " DEFAULT %s", value.sql)
             : rw_format(rw, " DEFAULT (%s)", value.sql));
  return 0;
}

/* What may stand behind a column's type.  Returns 1 if nothing more does. */
static int property(struct rw *rw, struct definition *def, struct column *col) {
  const char *name = NULL;
  if (rw_eat(rw, "constraint") && rw_name(rw, &name) < 0) {
    return -1;
  }
  if (rw_eat(rw, "identity")) {
    return identity(rw, def, col);
  }
  if (rw_eat(rw, "not")) {
    if (rw_is(rw, "for")) {
      return rw_refuse(rw, "NOT FOR REPLICATION");
    }
    col->not_null = true;
    return rw_need(rw, "null");
  }
  if (rw_eat(rw, "null")) {
    return 0;
  }
  if (rw_is(rw, "primary") || rw_is(rw, "unique")) {
    bool primary = rw_eat(rw, "primary");
    if (!primary) {
      rw->at++;
    }
    col->not_null = col->not_null || primary;
    return key(rw, def, primary, name, col->name, &col->rest);
  }
  if (rw_eat(rw, "default")) {
    return default_value(rw, col);
  }
  if (rw_eat(rw, "check")) {
    return check(rw, def, name, col->name, &col->rest);
  }
  if (rw_is(rw, "foreign")) {
    rw->at++;
    return rw_need(rw, "key") < 0 ? -1 : references(rw, &col->rest);
  }
  if (rw_is(rw, "references")) {
    return references(rw, &col->rest);
  }
  if (rw_eat(rw, "collate")) {
    const char *collation = NULL;
    if (rw_name(rw, &collation) < 0) {
      return -1;
    }
    size_t len = strlen(collation);
    return len > 6 && strcasecmp(collation + len - 6, "_CI_AS") == 0
               ? 0
               : rw_refuse(rw, rw_format(rw, "COLLATE %s", collation));
  }
  static const char *const refused[] = {"rowguidcol", "sparse",    "masked",
                                        "encrypted",  "generated", "index",
                                        "persisted"};
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    if (rw_is(rw, refused[i])) {
      return rw_refuse(rw, refused[i]);
    }
  }
  return name != NULL ? rw_bad(rw) : 1;
}

static int add_scope_column(struct rw *rw, const struct column *col) {
  struct tdsd_rw_column *column = tdsd_arena_take(rw->arena, sizeof *column);
  if (column == NULL) {
    return rw_no_memory(rw);
  }
  *column = (struct tdsd_rw_column){
      .name = col->name, .type = col->type, .known = true};
  struct rw_source source = {
      .alias = col->name, .columns = column, .ncolumns = 1, .bare = true};
  for (uint32_t i = 0; i < rw->scope->n; i++) {
    if (strcasecmp(rw->scope->sources[i].alias, col->name) == 0) {
      return tdsd_fault_set(rw->fault, 2705, 16,
                            "Column names in each table must be unique. Column "
                            "name '%.128s' is specified more than once.",
                            col->name);
    }
  }
  return rw_add_source(rw, &source);
}

/* Whether the column is in the table's PRIMARY KEY (a, b), which stands further
 * on: its columns take no NULL, even if they do not say so. */
static bool in_later_key(const struct rw *rw, const char *name) {
  uint32_t depth = 0;
  for (uint32_t at = rw->at; at + 2 < rw->ntokens; at++) {
    depth += tdsd_lex_is_sign(&rw->tokens[at], "(") ? 1 : 0;
    depth -= tdsd_lex_is_sign(&rw->tokens[at], ")") && depth != 0 ? 1 : 0;
    if (depth != 0 || !tdsd_lex_is(&rw->tokens[at], "primary") ||
        !tdsd_lex_is(&rw->tokens[at + 1], "key")) {
      continue;
    }
    at += 2;
    at += tdsd_lex_is(&rw->tokens[at], "clustered") ||
                  tdsd_lex_is(&rw->tokens[at], "nonclustered")
              ? 1
              : 0;
    uint32_t end =
        tdsd_lex_is_sign(&rw->tokens[at], "(") ? rw_behind(rw, at) : at;
    for (; at < end; at++) {
      const struct tdsd_token *token = &rw->tokens[at];
      if ((token->lexeme == TDSD_LEX_WORD ||
           token->lexeme == TDSD_LEX_QUOTED) &&
          token->len == strlen(name) &&
          strncasecmp(token->text, name, token->len) == 0) {
        return true;
      }
    }
  }
  return false;
}

static int column_definition(struct rw *rw, struct definition *def) {
  struct column col = {0};
  int rc = 0;
  if (rw_name(rw, &col.name) < 0) {
    return -1;
  }
  col.not_null = in_later_key(rw, col.name);
  if (rw_is(rw, "as")) {
    return rw_refuse(rw, "computed columns");
  }
  if (rw_data_type(rw, 1, &col.type) < 0 || add_scope_column(rw, &col) < 0) {
    return -1;
  }
  while (rc == 0) {
    rc = property(rw, def, &col);
  }
  if (rc < 0) {
    return -1;
  }
  rw_add(rw, &def->body, def->ncolumns == 0 || def->altering ? "" : ", ");
  rw_add(rw, &def->body, rw_quote(rw, col.name));
  if (col.identity) {
    rw_add(rw, &def->body, " INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL");
  } else {
    rw_add(rw, &def->body,
           rw_format(rw, " %s%s", declared(rw, &col.type),
                     col.not_null ? " NOT NULL" : ""));
  }
  if (col.rest.len != 0) {
    rw_add(rw, &def->body, col.rest.bytes);
  }
  rw_add(rw, &def->catalog,
         rw_format(rw,
                   "INSERT INTO %s.tdsd_columns SELECT %s, "
                   "ifnull(max(ord), 0) + 1, %s, %s, %d, %d, %s FROM "
                   "%s.tdsd_columns WHERE tbl = %s;",
                   def->schema, text_of(rw, def->name), text_of(rw, col.name),
                   rw_type(rw, &col.type), col.not_null ? 0 : 1,
                   col.identity ? 1 : 0,
                   col.other == NULL ? "NULL" : text_of(rw, col.other),
                   def->schema, text_of(rw, def->name)));
  def->ncolumns++;
  return rw_ok(rw) ? 0 : -1;
}

static int table_constraint(struct rw *rw, struct definition *def) {
  const char *name = NULL;
  if (rw_eat(rw, "constraint") && rw_name(rw, &name) < 0) {
    return -1;
  }
  if (rw_eat(rw, "primary")) {
    return key(rw, def, true, name, NULL, &def->body);
  }
  if (rw_eat(rw, "unique")) {
    return key(rw, def, false, name, NULL, &def->body);
  }
  if (rw_eat(rw, "check")) {
    return check(rw, def, name, NULL, &def->body);
  }
  return rw_eat(rw, "foreign") ? foreign_key(rw, name, &def->body) : rw_bad(rw);
}

/* SQLite counts in the rowid only, so an identity column is always its key. */
static int finish_identity(struct rw *rw, struct definition *def) {
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
                     def->schema, text_of(rw, def->name),
                     (long long)def->seed - 1));
  }
  return 0;
}

static int create_table(struct rw *rw) {
  struct rw_scope scope = {0};
  struct definition def = {0};
  const char *whole = NULL;
  if (rw_table_name(rw, &def.name, &whole) < 0 || rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  def.schema = def.name[0] == '#' ? "temp" : "main";
  rw->scope = &scope;
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
    if ((constraint ? table_constraint(rw, &def)
                    : column_definition(rw, &def)) < 0) {
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
  struct columns columns = {0};
  const char *name = NULL;
  const char *on = NULL;
  clustered(rw);
  if (rw_need(rw, "index") < 0 || rw_name(rw, &name) < 0 ||
      rw_need(rw, "on") < 0 || rw_table(rw, &on, &table) < 0 ||
      key_columns(rw, &columns) < 0) {
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
  const char *literal = text_of(rw, name);
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
                       struct definition *def) {
  struct rw_text text = {0};
  if (rw_is(rw, "constraint") || rw_is(rw, "primary") || rw_is(rw, "check") ||
      rw_is(rw, "unique") || rw_is(rw, "foreign") || rw_is(rw, "default")) {
    return rw_refuse(rw, "ALTER TABLE ... ADD CONSTRAINT");
  }
  for (uint32_t i = 0; table != NULL && i < table->ncolumns; i++) {
    struct column known = {.name = table->columns[i].name,
                           .type = table->columns[i].type};
    if (add_scope_column(rw, &known) < 0) {
      return -1;
    }
  }
  def->has_key = true; /* SQLite adds no key to a table that is there */
  do {
    def->body = (struct rw_text){0};
    if (column_definition(rw, def) < 0) {
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

static int drop_column(struct rw *rw, const struct definition *def) {
  const char *name = NULL;
  if (rw_name(rw, &name) < 0) {
    return -1;
  }
  rw->out->sql = rw_format(
      rw,
      "ALTER TABLE %s.%s DROP COLUMN %s;DELETE FROM %s.tdsd_columns WHERE "
      "tbl = %s AND name = %s COLLATE NOCASE;",
      def->schema, rw_quote(rw, def->name), rw_quote(rw, name), def->schema,
      text_of(rw, def->name), text_of(rw, name));
  return 0;
}

int rw_alter(struct rw *rw) {
  const struct tdsd_rw_table *table = NULL;
  struct rw_scope scope = {0};
  struct definition def = {.altering = true};
  if (!rw_eat(rw, "table")) {
    return refuse_kind(rw, "ALTER");
  }
  if (rw_table(rw, &def.name, &table) < 0) {
    return -1;
  }
  rw->scope = &scope;
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
