/* SPDX-License-Identifier: MIT */
/* A column of CREATE TABLE and of ALTER TABLE ... ADD. */
#include <string.h>
#include <strings.h>

#include "server_rewrite_schema.h"

/* A column's properties as they are gathered. */
struct column {
  const char *name;
  struct tdsd_type type;
  bool not_null;
  bool identity;
  const char *other;
  struct rw_text rest;
};

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

static int identity(struct rw *rw,
                    struct rw_definition *def,
                    struct column *col) {
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
static int property(struct rw *rw,
                    struct rw_definition *def,
                    struct column *col) {
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
    return rw_key(rw, def, primary, name, col->name, &col->rest);
  }
  if (rw_eat(rw, "default")) {
    return default_value(rw, col);
  }
  if (rw_eat(rw, "check")) {
    return rw_check(rw, def, name, col->name, &col->rest);
  }
  if (rw_is(rw, "foreign")) {
    rw->at++;
    return rw_need(rw, "key") < 0 ? -1 : rw_references(rw, &col->rest);
  }
  if (rw_is(rw, "references")) {
    return rw_references(rw, &col->rest);
  }
  if (rw_eat(rw, "collate")) {
    return rw_collation(rw);
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

int rw_scope_column(struct rw *rw, const char *name, struct tdsd_type type) {
  struct tdsd_rw_column *column = tdsd_arena_take(rw->arena, sizeof *column);
  if (column == NULL) {
    return rw_no_memory(rw);
  }
  *column = (struct tdsd_rw_column){.name = name, .type = type, .known = true};
  struct rw_source source = {
      .alias = name, .columns = column, .ncolumns = 1, .bare = true};
  for (uint32_t i = 0; i < rw->scope->n; i++) {
    if (strcasecmp(rw->scope->sources[i].alias, name) == 0) {
      return tdsd_fault_set(rw->fault, 2705, 16,
                            "Column names in each table must be unique. Column "
                            "name '%.128s' is specified more than once.",
                            name);
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

int rw_column_definition(struct rw *rw, struct rw_definition *def) {
  struct column col = {0};
  int rc = 0;
  if (rw_name(rw, &col.name) < 0) {
    return -1;
  }
  col.not_null = in_later_key(rw, col.name);
  if (rw_is(rw, "as")) {
    return rw_refuse(rw, "computed columns");
  }
  if (rw_data_type(rw, 1, &col.type) < 0 ||
      rw_scope_column(rw, col.name, col.type) < 0) {
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
                   def->schema, rw_text_of(rw, def->name),
                   rw_text_of(rw, col.name), rw_type(rw, &col.type),
                   col.not_null ? 0 : 1, col.identity ? 1 : 0,
                   col.other == NULL ? "NULL" : rw_text_of(rw, col.other),
                   def->schema, rw_text_of(rw, def->name)));
  def->ncolumns++;
  return rw_ok(rw) ? 0 : -1;
}
