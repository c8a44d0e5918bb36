/* SPDX-License-Identifier: MIT */
/* FROM: tables, subqueries, joins. */
#include <string.h>
#include <strings.h>

#include "server_rewrite_impl.h"

int rw_open_scope(struct rw *rw) {
  struct rw_scope *scope = tdsd_arena_take(rw->arena, sizeof *scope);
  if (scope == NULL) {
    return rw_no_memory(rw);
  }
  scope->outer = rw->scope;
  rw->scope = scope;
  return 0;
}

int rw_add_source(struct rw *rw, const struct rw_source *source) {
  struct rw_scope *scope = rw->scope;
  for (uint32_t i = 0; i < scope->n; i++) {
    if (strcasecmp(scope->sources[i].alias, source->alias) == 0) {
      return tdsd_fault_set(rw->fault, 1013, 16,
                            "The objects \"%.128s\" and \"%.128s\" in the FROM "
                            "clause have the same exposed names. Use "
                            "correlation names to distinguish them.",
                            scope->sources[i].alias, source->alias);
    }
  }
  if (scope->n == scope->room) {
    uint32_t room = scope->room == 0 ? 4 : 2 * scope->room;
    struct rw_source *sources =
        tdsd_arena_take(rw->arena, room * sizeof *sources);
    if (sources == NULL) {
      return rw_no_memory(rw);
    }
    if (scope->n != 0) {
      memcpy(sources, scope->sources, scope->n * sizeof *sources);
    }
    scope->sources = sources;
    scope->room = room;
  }
  scope->sources[scope->n++] = *source;
  return 0;
}

const char *rw_table_sql(struct rw *rw, const char *name) {
  return rw_format(rw, "%s.%s", name[0] == '#' ? "temp" : "main",
                   rw_quote(rw, name));
}

/* t, dbo.t, db.dbo.t, db..t.  Other schemas do not exist. */
int rw_table_name(struct rw *rw,
                  const char **out_name,
                  const char **out_whole) {
  const char *parts[4] = {"", "", "", ""};
  unsigned n = 0;
  struct rw_text whole = {0};
  do {
    if (n == 4) {
      return rw_bad(rw);
    }
    if (!rw_is_sign(rw, ".") && rw_name(rw, &parts[n]) < 0) {
      return -1;
    }
    rw_add(rw, &whole, n == 0 ? "" : ".");
    rw_add(rw, &whole, parts[n++]);
  } while (rw_eat_sign(rw, "."));
  *out_name = parts[n - 1];
  *out_whole = whole.bytes;
  const char *schema = n > 1 ? parts[n - 2] : "";
  bool foreign = schema[0] != 0 && strcasecmp(schema, "dbo") != 0;
  bool inner = strncasecmp(*out_name, "sqlite_", 7) == 0 ||
               strncasecmp(*out_name, "tdsd_", 5) == 0;
  if (foreign || inner || n == 4 || (*out_name)[0] == 0) {
    return tdsd_fault_set(rw->fault, 208, 16, "Invalid object name '%.128s'.",
                          whole.bytes);
  }
  return rw_ok(rw) ? 0 : -1;
}

int rw_table(struct rw *rw,
             const char **out_name,
             const struct tdsd_rw_table **out_table) {
  const char *whole = "";
  uint32_t line = rw_token(rw)->line;
  *out_table = NULL;
  if (rw_table_name(rw, out_name, &whole) < 0) {
    return -1;
  }
  if (rw->catalog == NULL) {
    return 0;
  }
  int rc = rw->catalog->find(rw->catalog->user, *out_name, rw->arena, out_table,
                             rw->fault);
  if (rc == 0) {
    rw->fault->line = line;
    return tdsd_fault_set(rw->fault, 208, 16, "Invalid object name '%.128s'.",
                          whole);
  }
  *out_name = rc < 0 ? *out_name : (*out_table)->name;
  return rc < 0 ? -1 : 0;
}

/* WITH (NOLOCK) and its kin change nothing here. */
static void skip_hints(struct rw *rw) {
  if (rw_is(rw, "with") && tdsd_lex_is_sign(rw_ahead(rw, 1), "(")) {
    rw->at = rw_behind(rw, rw->at + 1);
  } else if (rw_is_sign(rw, "(") && tdsd_lex_is(rw_ahead(rw, 1), "nolock")) {
    rw->at = rw_behind(rw, rw->at);
  }
}

static int alias(struct rw *rw, const char **io_alias) {
  static const char *const words[] = {"outer",     "apply",       "pivot",
                                      "unpivot",   "tablesample", "offset",
                                      "intersect", "except",      "window"};
  if (rw_eat(rw, "as")) {
    return rw_name(rw, io_alias);
  }
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (rw_is(rw, words[i])) {
      return 0;
    }
  }
  return rw_at_name(rw) ? rw_name(rw, io_alias) : 0;
}

static const struct rw_cte *find_cte(const struct rw *rw, const char *name) {
  for (const struct rw_cte *cte = rw->ctes; cte != NULL; cte = cte->next) {
    if (strcasecmp(cte->name, name) == 0) {
      return cte;
    }
  }
  return NULL;
}

/* (a, b) behind an alias: the columns get new names. */
static int column_names(struct rw *rw,
                        struct tdsd_rw_column *columns,
                        uint32_t n,
                        const char **out_sql) {
  struct rw_text text = {0};
  uint32_t i = 0;
  do {
    const char *name = NULL;
    if (rw_name(rw, &name) < 0) {
      return -1;
    }
    if (i < n) {
      columns[i].name = name;
    }
    rw_add(rw, &text, i == 0 ? "(" : ", ");
    rw_add(rw, &text, rw_quote(rw, name));
    i++;
  } while (rw_eat_sign(rw, ","));
  rw_add(rw, &text, ")");
  *out_sql = text.bytes;
  if (n != 0 && i != n) {
    return tdsd_fault_set(rw->fault, i > n ? 8159 : 8158, 16,
                          "The list of column names has %s columns than the "
                          "query behind it.",
                          i > n ? "more" : "fewer");
  }
  return rw_need_sign(rw, ")");
}

/* (SELECT ...) AS t [(a, b)] and (VALUES (...)) AS t (a, b). */
static int derived(struct rw *rw, const char **out_sql) {
  struct rw_query query = {0};
  struct rw_source source = {.alias = ""};
  struct rw_scope *scope = rw->scope;
  const char *names = NULL;
  uint32_t line = rw_token(rw)->line;
  rw->scope = scope->outer; /* no LATERAL */
  int rc = rw_query(rw, NULL, NULL, &query);
  rw->scope = scope;
  if (rc < 0 || rw_need_sign(rw, ")") < 0 || alias(rw, &source.alias) < 0) {
    return -1;
  }
  if (source.alias[0] == 0) {
    return rw_bad(rw); /* T-SQL wants a name */
  }
  if (rw_eat_sign(rw, "(") &&
      column_names(rw, query.columns, query.ncolumns, &names) < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < query.ncolumns; i++) {
    if (query.columns[i].name[0] == 0 && rw->catalog != NULL) {
      rw->fault->line = line;
      return tdsd_fault_set(rw->fault, 8155, 16,
                            "No column name was specified for column %u of "
                            "'%.128s'.",
                            i + 1, source.alias);
    }
  }
  source.columns = query.columns;
  source.ncolumns = query.ncolumns;
  source.open = rw->catalog == NULL;
  *out_sql =
      names == NULL
          ? rw_format(rw, "(%s) AS %s", query.sql, rw_quote(rw, source.alias))
          : rw_format(rw, "(WITH q%s AS (%s) SELECT * FROM q) AS %s", names,
                      query.sql, rw_quote(rw, source.alias));
  return rw_add_source(rw, &source);
}

/* dbo.rows(n): the subset's generator of numbers. */
static int generator(struct rw *rw, const char **out_sql) {
  static const struct tdsd_rw_column n = {
      .name = "n", .type = {.kind = TDSD_INT}, .known = true};
  struct rw_source source = {.alias = "rows", .columns = &n, .ncolumns = 1};
  struct rw_expr count;
  if (rw_value(rw, &count) < 0 || rw_need_sign(rw, ")") < 0 ||
      alias(rw, &source.alias) < 0) {
    return -1;
  }
  *out_sql = rw_format(rw,
                       "(WITH RECURSIVE r(n) AS (SELECT 1 WHERE %s >= 1 UNION "
                       "ALL SELECT n + 1 FROM r WHERE n < %s) SELECT n FROM r) "
                       "AS %s",
                       count.sql, count.sql, rw_quote(rw, source.alias));
  return rw_add_source(rw, &source);
}

static bool at_rows(const struct rw *rw) {
  return tdsd_lex_is(rw_token(rw), "dbo") &&
         tdsd_lex_is(rw_ahead(rw, 2), "rows") &&
         tdsd_lex_is_sign(rw_ahead(rw, 3), "(");
}

static int table_source(struct rw *rw, const char **out_sql) {
  struct rw_source source = {0};
  const struct tdsd_rw_table *table = NULL;
  const struct rw_cte *cte = NULL;
  const char *name = NULL;
  const struct tdsd_token *token = rw_token(rw);
  if (at_rows(rw)) {
    rw->at += 4;
    return generator(rw, out_sql);
  }
  if (rw_at_name(rw) && !tdsd_lex_is_sign(rw_ahead(rw, 1), ".")) {
    name = tdsd_arena_copy(rw->arena, token->text, token->len);
    cte = name == NULL ? NULL : find_cte(rw, name);
  }
  if (cte != NULL) {
    rw->at++;
    source = (struct rw_source){.columns = cte->columns,
                                .ncolumns = cte->ncolumns,
                                .open = rw->catalog == NULL};
    *out_sql = rw_quote(rw, cte->name);
  } else {
    if (rw_table(rw, &name, &table) < 0) {
      return -1;
    }
    source.columns = table == NULL ? NULL : table->columns;
    source.ncolumns = table == NULL ? 0 : table->ncolumns;
    source.open = table == NULL;
    *out_sql = rw_table_sql(rw, name);
  }
  if (rw_is_sign(rw, "(") && !tdsd_lex_is(rw_ahead(rw, 1), "nolock")) {
    return rw_refuse(rw, rw_format(rw, "%s()", name));
  }
  source.table = name;
  source.alias = name;
  if (alias(rw, &source.alias) < 0) {
    return -1;
  }
  skip_hints(rw);
  bool target = rw->target != NULL && cte == NULL &&
                (strcasecmp(source.alias, rw->target) == 0 ||
                 strcasecmp(name, rw->target) == 0);
  if (target) {
    /* SQLite shows no rowid of tables joined in UPDATE's FROM. */
    *out_sql =
        rw_format(rw, "(SELECT rowid AS \"tdsd row\", * FROM %s)", *out_sql);
  }
  *out_sql = rw_format(rw, "%s AS %s", *out_sql, rw_quote(rw, source.alias));
  return rw_add_source(rw, &source);
}

static int source_item(struct rw *rw, const char **out_sql) {
  if (!rw_eat_sign(rw, "(")) {
    return table_source(rw, out_sql);
  }
  if (rw_is(rw, "select") || rw_is(rw, "values") || rw_is_sign(rw, "(")) {
    return derived(rw, out_sql);
  }
  /* A join in parentheses. */
  const char *inner = "";
  if (rw_enter(rw) < 0 || rw_from(rw, &inner) < 0 ||
      rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  rw_leave(rw);
  *out_sql = rw_format(rw, "(%s)", inner);
  return 0;
}

/* The words of a join, NULL if there is none. */
static int join_words(struct rw *rw, const char **out_words) {
  static const char *const sides[] = {"left", "right", "full"};
  *out_words = NULL;
  for (size_t i = 0; i < 3; i++) {
    if (rw_eat(rw, sides[i])) {
      (void)rw_eat(rw, "outer");
      *out_words = i == 0   ? " LEFT JOIN "
                   : i == 1 ? " RIGHT JOIN "
                            : " FULL JOIN ";
      return rw_need(rw, "join");
    }
  }
  if ((rw_is(rw, "cross") || rw_is(rw, "outer")) &&
      tdsd_lex_is(rw_ahead(rw, 1), "apply")) {
    return rw_refuse(rw, rw_is(rw, "cross") ? "CROSS APPLY" : "OUTER APPLY");
  }
  if (rw_eat(rw, "cross")) {
    *out_words = " CROSS JOIN ";
    return rw_need(rw, "join");
  }
  bool inner = rw_eat(rw, "inner");
  if (rw_eat(rw, "join")) {
    *out_words = " JOIN ";
    return 0;
  }
  if (rw_is(rw, "pivot") || rw_is(rw, "unpivot") || rw_is(rw, "tablesample")) {
    const struct tdsd_token *token = rw_token(rw);
    return rw_refuse(rw, rw_format(rw, "%.*s", (int)token->len, token->text));
  }
  return inner ? rw_bad(rw) : 0;
}

static void make_nullable(struct rw_scope *scope, uint32_t from, uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    scope->sources[i].nullable = true;
  }
}

/* One item with the joins behind it. */
static int joined(struct rw *rw, struct rw_text *text) {
  const char *part = "";
  const char *words = NULL;
  uint32_t first = rw->scope->n;
  if (source_item(rw, &part) < 0) {
    return -1;
  }
  rw_add(rw, text, part);
  for (;;) {
    if (join_words(rw, &words) < 0) {
      return -1;
    }
    if (words == NULL) {
      return 0;
    }
    uint32_t before = rw->scope->n;
    if (source_item(rw, &part) < 0) {
      return -1;
    }
    rw_add(rw, text, words);
    rw_add(rw, text, part);
    if (words[1] == 'L' || words[1] == 'F') {
      make_nullable(rw->scope, before, rw->scope->n);
    }
    if (words[1] == 'R' || words[1] == 'F') {
      make_nullable(rw->scope, first, before);
    }
    if (words[1] == 'C') {
      continue;
    }
    const char *on = "";
    if (rw_need(rw, "on") < 0 || rw_condition(rw, &on) < 0) {
      return -1;
    }
    rw_add(rw, text, " ON ");
    rw_add(rw, text, on);
  }
}

int rw_from(struct rw *rw, const char **out_sql) {
  struct rw_text text = {0};
  do {
    rw_add(rw, &text, text.len == 0 ? "" : ", ");
    if (joined(rw, &text) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ","));
  *out_sql = text.bytes;
  return rw_ok(rw) ? 0 : -1;
}
