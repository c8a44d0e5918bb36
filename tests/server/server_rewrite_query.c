/* SPDX-License-Identifier: MIT */
/* SELECT: FROM is read before the select list, which names its columns; the
 * parts of a UNION are put together once all their types are known. */
#include <string.h>
#include <strings.h>

#include "server_const.h"
#include "server_rewrite_impl.h"

/* One SELECT without its ORDER BY. */
struct arm {
  const char *join; /* "", " UNION ALL ", ... */
  const char *distinct;
  const char *top; /* LIMIT, or NULL */
  struct rw_items items;
  const char *rest; /* FROM, WHERE, GROUP BY, HAVING */
  struct rw_scope *scope;
  struct arm *next;
  struct rw_exprs groups;
  struct rw_exprs refs; /* columns outside aggregates */
  bool grouped;         /* GROUP BY, or aggregates in the select list */
  bool assigns;
  bool values; /* a row of VALUES */
};

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

/* The select list. */

static int append_item(struct rw *rw,
                       struct rw_items *items,
                       const struct rw_item *item) {
  if (items->n == TDSD_CAP_COLUMNS) {
    return tdsd_fault_set(rw->fault, 1056, 15,
                          "The number of elements in the select list exceeds "
                          "the maximum allowed number of 4096 elements.");
  }
  if (items->n == items->room) {
    uint32_t room = items->room == 0 ? 8 : 2 * items->room;
    struct rw_item *at = tdsd_arena_take(rw->arena, room * sizeof *at);
    if (at == NULL) {
      return rw_no_memory(rw);
    }
    if (items->n != 0) {
      memcpy(at, items->at, items->n * sizeof *at);
    }
    items->at = at;
    items->room = room;
  }
  items->at[items->n++] = *item;
  return 0;
}

static int add_star(struct rw *rw,
                    struct rw_items *items,
                    const struct rw_source *source) {
  for (uint32_t i = 0; i < source->ncolumns; i++) {
    const struct tdsd_rw_column *column = &source->columns[i];
    struct rw_item item = {
        .expr = {.sql = rw_format(rw, "%s.%s", rw_quote(rw, source->alias),
                                  rw_quote(rw, column->name)),
                 .type = column->type,
                 .known = column->known,
                 .column = true},
        .name = column->name,
        .variable = -1};
    item.expr.type.nullable = item.expr.type.nullable || source->nullable;
    item.expr.name = rw_format(rw, "%s.%s", source->alias, column->name);
    item.first_ref = rw->refs.n;
    item.last_ref = rw->refs.n + 1;
    if (rw_append(rw, &rw->refs, &item.expr) < 0 ||
        append_item(rw, items, &item) < 0) {
      return -1;
    }
  }
  return 0;
}

static int star(struct rw *rw, struct rw_items *items, const char *table) {
  const struct rw_scope *scope = rw->scope;
  bool found = false;
  for (uint32_t i = 0; i < scope->n; i++) {
    if (table != NULL && strcasecmp(scope->sources[i].alias, table) != 0) {
      continue;
    }
    found = true;
    if (add_star(rw, items, &scope->sources[i]) < 0) {
      return -1;
    }
  }
  if (rw->catalog == NULL) {
    struct rw_item item = {.expr = {.sql = "*"}, .name = "", .variable = -1};
    return append_item(rw, items, &item);
  }
  if (found) {
    return 0;
  }
  return table == NULL
             ? tdsd_fault_set(rw->fault, 263, 16,
                              "Must specify table to select from.")
             : tdsd_fault_set(rw->fault, 107, 15,
                              "The column prefix '%.128s' does not match with "
                              "a table name or alias name used in the query.",
                              table);
}

static int item_alias(struct rw *rw, struct rw_item *item) {
  static const char *const words[] = {"except", "intersect", "offset",
                                      "into",   "window",    "within"};
  const struct tdsd_token *token = rw_token(rw);
  bool as = rw_eat(rw, "as");
  token = rw_token(rw);
  bool text =
      token->lexeme == TDSD_LEX_STRING || token->lexeme == TDSD_LEX_WIDE;
  for (size_t i = 0; i < sizeof words / sizeof words[0] && !as; i++) {
    if (rw_is(rw, words[i])) {
      return 0;
    }
  }
  if (!as && !text && !rw_at_name(rw)) {
    return 0;
  }
  item->named = true;
  if (!text) {
    return rw_name(rw, &item->name);
  }
  item->name = tdsd_arena_copy(rw->arena, token->text, token->len);
  rw->at++;
  return item->name == NULL ? rw_no_memory(rw) : 0;
}

/* name = value and @x = value. */
static int item_prefix(struct rw *rw, struct rw_item *item) {
  const struct tdsd_token *token = rw_token(rw);
  if (!tdsd_lex_is_sign(rw_ahead(rw, 1), "=")) {
    return 0;
  }
  if (token->lexeme == TDSD_LEX_VARIABLE) {
    item->variable = tdsd_batch_find(rw->batch, token->text, token->len);
    if (item->variable < 0) {
      return tdsd_fault_set(
          rw->fault, 137, 15, "Must declare the scalar variable \"%.*s\".",
          (int)(token->len < 128 ? token->len : 128), token->text);
    }
    rw->at += 2;
    return 0;
  }
  if (rw_at_name(rw)) {
    item->named = true;
    if (rw_name(rw, &item->name) < 0) {
      return -1;
    }
    rw->at++;
  }
  return 0;
}

static int one_item(struct rw *rw, struct arm *arm) {
  struct rw_item item = {.name = "", .variable = -1};
  if (rw_eat_sign(rw, "*")) {
    return star(rw, &arm->items, NULL);
  }
  if (rw_at_name(rw) && tdsd_lex_is_sign(rw_ahead(rw, 1), ".") &&
      tdsd_lex_is_sign(rw_ahead(rw, 2), "*")) {
    const char *table = NULL;
    if (rw_name(rw, &table) < 0) {
      return -1;
    }
    rw->at += 2;
    return star(rw, &arm->items, table);
  }
  if (item_prefix(rw, &item) < 0) {
    return -1;
  }
  item.first_ref = rw->refs.n;
  arm->assigns = arm->assigns || item.variable >= 0;
  if (rw_value(rw, &item.expr) < 0) {
    return -1;
  }
  if (item.expr.column && !item.named) {
    /* The name is what stands behind the last dot. */
    const struct tdsd_token *last = &rw->tokens[rw->at - 1];
    item.name = tdsd_arena_copy(rw->arena, last->text, last->len);
  }
  item.last_ref = rw->refs.n;
  if (!item.named && item_alias(rw, &item) < 0) {
    return -1;
  }
  return append_item(rw, &arm->items, &item);
}

static int items(struct rw *rw, struct arm *arm) {
  do {
    if (one_item(rw, arm) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ","));
  for (uint32_t i = 0; arm->assigns && i < arm->items.n; i++) {
    if (arm->items.at[i].variable < 0) {
      return tdsd_fault_set(rw->fault, 141, 15,
                            "A SELECT statement that assigns a value to a "
                            "variable must not be combined with data-retrieval "
                            "operations.");
    }
  }
  return 0;
}

/* The place of this SELECT's FROM, 0 without one. */
static uint32_t find_from(const struct rw *rw) {
  uint32_t depth = 0;
  for (uint32_t at = rw->at; at < rw->ntokens; at++) {
    const struct tdsd_token *token = &rw->tokens[at];
    depth += tdsd_lex_is_sign(token, "(") ? 1 : 0;
    if (tdsd_lex_is_sign(token, ")") && depth-- == 0) {
      return 0;
    }
    if (depth != 0) {
      continue;
    }
    if (tdsd_lex_is(token, "from")) {
      return at;
    }
    if (tdsd_lex_is(token, "union") || tdsd_lex_is(token, "except") ||
        tdsd_lex_is(token, "intersect") || tdsd_lex_is(token, "where") ||
        tdsd_lex_is_sign(token, ";")) {
      return 0;
    }
  }
  return 0;
}

static int top(struct rw *rw, struct arm *arm) {
  struct rw_expr count;
  if (!rw_eat(rw, "top")) {
    return 0;
  }
  if (rw_eat_sign(rw, "(")) {
    if (rw_value(rw, &count) < 0 || rw_need_sign(rw, ")") < 0) {
      return -1;
    }
  } else {
    const struct tdsd_token *token = rw_token(rw);
    if (token->lexeme != TDSD_LEX_NUMBER ||
        memchr(token->text, '.', token->len) != NULL) {
      return rw_bad(rw);
    }
    count.sql = rw_format(rw, "%.*s", (int)token->len, token->text);
    rw->at++;
  }
  if (rw_is(rw, "percent")) {
    return rw_refuse(rw, "TOP PERCENT");
  }
  if (rw_is(rw, "with") && tdsd_lex_is(rw_ahead(rw, 1), "ties")) {
    return rw_refuse(rw, "TOP WITH TIES");
  }
  arm->top = rw_format(rw, " LIMIT %s", count.sql);
  return 0;
}

/* GROUP BY.  Columns of the select list must be among its expressions. */
static int group_by(struct rw *rw,
                    struct rw_text *rest,
                    struct rw_exprs *groups) {
  if (rw_need(rw, "by") < 0) {
    return -1;
  }
  static const char *const refused[] = {"rollup", "cube", "grouping"};
  for (size_t i = 0; i < 3; i++) {
    if (rw_is(rw, refused[i])) {
      return rw_refuse(rw, refused[i]);
    }
  }
  rw_add(rw, rest, " GROUP BY ");
  do {
    struct rw_expr item;
    if (rw_value(rw, &item) < 0 || rw_append(rw, groups, &item) < 0) {
      return -1;
    }
    rw_add(rw, rest, groups->n == 1 ? "" : ", ");
    rw_add(rw, rest, rw_sorted(rw, &item));
  } while (rw_eat_sign(rw, ","));
  return rw_is(rw, "with") ? rw_refuse(rw, "GROUP BY ... WITH") : 0;
}

/* A column that is neither grouped nor in an aggregate has no one value, which
 * SQLite would not mind. */
static int check_grouped(struct rw *rw,
                         const struct arm *arm,
                         const char *sql,
                         uint32_t first,
                         uint32_t last,
                         const char *where) {
  for (uint32_t i = first; i < last; i++) {
    const struct rw_expr *ref = &rw->refs.at[i];
    bool found = false;
    for (uint32_t g = 0; g < arm->groups.n && !found; g++) {
      const struct rw_expr *group = &arm->groups.at[g];
      found = group->column ? strcmp(group->sql, ref->sql) == 0
                            : strstr(sql, group->sql) != NULL;
    }
    if (!found && rw->catalog != NULL) {
      return tdsd_fault_set(rw->fault, where[0] == 's' ? 8120 : 8121, 16,
                            "Column '%.256s' is invalid in the %s because it "
                            "is not contained in either an aggregate function "
                            "or the GROUP BY clause.",
                            ref->name, where);
    }
  }
  return 0;
}

static int check_items(struct rw *rw, const struct arm *arm) {
  for (uint32_t i = 0; arm->grouped && i < arm->items.n; i++) {
    const struct rw_item *item = &arm->items.at[i];
    if (check_grouped(rw, arm, item->expr.sql, item->first_ref, item->last_ref,
                      "select list") < 0) {
      return -1;
    }
  }
  return 0;
}

static int rest_of(struct rw *rw, struct arm *arm, const char *from) {
  struct rw_text rest = {0};
  const char *condition = "";
  bool aggregates = rw->aggregates;
  rw_add(rw, &rest, from);
  if (rw_eat(rw, "where")) {
    rw->aggregates = false;
    if (rw_condition(rw, &condition) < 0) {
      return -1;
    }
    if (rw->aggregates) {
      return tdsd_fault_set(rw->fault, 147, 15,
                            "An aggregate may not appear in the WHERE clause "
                            "unless it is in a subquery contained in a HAVING "
                            "clause or a select list, and the column being "
                            "aggregated is an outer reference.");
    }
    rw->aggregates = aggregates;
    rw_add(rw, &rest, rw_format(rw, " WHERE %s", condition));
  }
  bool grouped = rw_eat(rw, "group");
  if (grouped && group_by(rw, &rest, &arm->groups) < 0) {
    return -1;
  }
  arm->grouped = grouped || aggregates;
  uint32_t first = rw->refs.n;
  if (rw_eat(rw, "having")) {
    if (!grouped) {
      return rw_refuse(rw, "HAVING without GROUP BY");
    }
    if (rw_condition(rw, &condition) < 0 ||
        check_grouped(rw, arm, condition, first, rw->refs.n, "HAVING clause") <
            0) {
      return -1;
    }
    rw_add(rw, &rest, rw_format(rw, " HAVING %s", condition));
  }
  arm->rest = rest.bytes == NULL ? "" : rest.bytes;
  return check_items(rw, arm);
}

/* One row of VALUES.  DEFAULT stands for what the column says. */
static int values_arm(struct rw *rw,
                      const struct rw_into *into,
                      struct arm *arm) {
  if (rw_need_sign(rw, "(") < 0) {
    return -1;
  }
  do {
    uint32_t n = arm->items.n;
    struct rw_item item = {.name = rw_format(rw, "column%u", n + 1),
                           .variable = -1};
    if (into != NULL && rw_eat(rw, "default")) {
      const char *other = n < into->ncolumns ? into->columns[n]->other : NULL;
      item.expr = (struct rw_expr){
          .sql = other == NULL ? "NULL" : rw_format(rw, "(%s)", other),
          .type = {.kind = TDSD_INT, .untyped = true},
          .known = true};
    } else if (rw_value(rw, &item.expr) < 0) {
      return -1;
    }
    if (append_item(rw, &arm->items, &item) < 0) {
      return -1;
    }
  } while (rw_eat_sign(rw, ","));
  arm->distinct = "";
  arm->rest = "";
  arm->values = true;
  return rw_need_sign(rw, ")");
}

static int select_arm(struct rw *rw, struct arm *arm) {
  const char *from = "";
  struct rw outside = *rw;
  rw->aggregates = false;
  rw->inside = false;
  rw->refs = (struct rw_exprs){0};
  arm->distinct = "";
  if (rw_need(rw, "select") < 0) {
    return -1;
  }
  if (rw_eat(rw, "distinct")) {
    arm->distinct = "DISTINCT ";
  } else {
    (void)rw_eat(rw, "all");
  }
  if (top(rw, arm) < 0) {
    return -1;
  }
  uint32_t list = rw->at;
  uint32_t place = find_from(rw);
  uint32_t behind = 0;
  if (place != 0) {
    const char *sources = "";
    rw->at = place + 1;
    if (rw_from(rw, &sources) < 0) {
      return -1;
    }
    from = rw_format(rw, " FROM %s", sources);
    behind = rw->at;
    rw->at = list;
  }
  if (items(rw, arm) < 0) {
    return -1;
  }
  if (rw_is(rw, "into")) {
    return rw_refuse(rw, "SELECT INTO");
  }
  if (place != 0) {
    if (rw->at != place) {
      return rw_bad(rw);
    }
    rw->at = behind;
  }
  if (rest_of(rw, arm, from) < 0) {
    return -1;
  }
  arm->refs = rw->refs;
  rw->aggregates = outside.aggregates;
  rw->inside = outside.inside;
  rw->refs = outside.refs;
  return 0;
}

/* An arm with a scope of its own. */
static int one_arm(struct rw *rw, struct arm *arm) {
  struct rw_scope *scope = tdsd_arena_take(rw->arena, sizeof *scope);
  if (scope == NULL) {
    return rw_no_memory(rw);
  }
  scope->outer = rw->scope;
  rw->scope = scope;
  arm->scope = scope;
  int rc = select_arm(rw, arm);
  rw->scope = scope->outer;
  return rc;
}

static int set_operator(struct rw *rw, const char **out_join) {
  *out_join = NULL;
  if (rw_eat(rw, "union")) {
    *out_join = rw_eat(rw, "all") ? " UNION ALL " : " UNION ";
  } else if (rw_eat(rw, "except")) {
    *out_join = " EXCEPT ";
  } else if (rw_is(rw, "intersect")) {
    *out_join = " INTERSECT ";
    rw->at++;
  }
  return 0;
}

static int count_differs(struct rw *rw) {
  return tdsd_fault_set(rw->fault, 205, 16,
                        "All queries combined using a UNION, INTERSECT or "
                        "EXCEPT operator must have an equal number of "
                        "expressions in their target lists.");
}

static int set_columns(struct rw *rw,
                       const struct rw_items *items,
                       struct rw_query *out) {
  out->ncolumns = items->n;
  out->columns =
      tdsd_arena_take(rw->arena, (items->n + 1) * sizeof *out->columns);
  if (out->columns == NULL) {
    return rw_no_memory(rw);
  }
  for (uint32_t i = 0; i < items->n; i++) {
    const struct rw_expr *expr = &items->at[i].expr;
    out->columns[i] = (struct tdsd_rw_column){
        .name = items->at[i].name, .type = expr->type, .known = expr->known};
    /* NULL alone is an int, as in SQL Server. */
    out->columns[i].type.nullable = expr->type.nullable || expr->type.untyped ||
                                    (!expr->column && expr->literal == NULL);
    out->columns[i].type.untyped = false;
  }
  return 0;
}

/* The columns of a UNION have the type in which all its parts meet. */
static int meet_arms(struct rw *rw, struct arm *first, struct rw_query *out) {
  if (set_columns(rw, &first->items, out) < 0) {
    return -1;
  }
  for (struct arm *arm = first->next; arm != NULL; arm = arm->next) {
    if (arm->items.n != first->items.n) {
      return rw->catalog == NULL ? 0 : count_differs(rw);
    }
    for (uint32_t i = 0; i < arm->items.n; i++) {
      struct tdsd_rw_column *column = &out->columns[i];
      const struct rw_expr *expr = &arm->items.at[i].expr;
      struct tdsd_type left = column->type;
      left.untyped = first->items.at[i].expr.type.untyped && arm == first->next;
      column->known = column->known && expr->known;
      column->type = tdsd_type_meet(left, expr->type);
      column->type.nullable = column->type.nullable || !expr->column;
      column->type.untyped = false;
    }
  }
  return 0;
}

static bool needs_cast(const struct rw_expr *expr, const struct tdsd_type *to) {
  const struct tdsd_type *from = &expr->type;
  return expr->known && !from->untyped &&
         (from->kind != to->kind || from->scale != to->scale);
}

static int arm_sql(struct rw *rw,
                   struct arm *arm,
                   const struct rw_into *into,
                   const struct rw_query *query,
                   bool alone,
                   const char **out_sql) {
  struct rw_text text = {0};
  rw_add(rw, &text, arm->values ? "(" : "SELECT ");
  rw_add(rw, &text, arm->distinct);
  for (uint32_t i = 0; i < arm->items.n; i++) {
    struct rw_item *item = &arm->items.at[i];
    if (!alone && query->columns[i].known &&
        needs_cast(&item->expr, &query->columns[i].type) &&
        rw_cast(rw, &item->expr, &query->columns[i].type) < 0) {
      return -1;
    }
    if (into != NULL && i < into->ncolumns &&
        rw_store(rw, &item->expr, into->columns[i], into->table) < 0) {
      return -1;
    }
    rw_add(rw, &text, i == 0 ? "" : ", ");
    rw_add(rw, &text, rw_sorted(rw, &item->expr));
    if (!arm->values && item->name != NULL && item->name[0] != 0) {
      rw_add(rw, &text, " AS ");
      rw_add(rw, &text, rw_quote(rw, item->name));
    }
  }
  rw_add(rw, &text, arm->values ? ")" : arm->rest);
  *out_sql = text.bytes;
  if (arm->top != NULL && !alone) {
    *out_sql = rw_format(rw, "SELECT * FROM (%s%s)", text.bytes, arm->top);
  }
  return rw_ok(rw) ? 0 : -1;
}

static int order_by(struct rw *rw, struct arm *first, struct rw_text *text) {
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
        (first->grouped && check_grouped(rw, first, item.sql, ref, rw->refs.n,
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
    if (rw_eat(rw, "desc")) {
      rw_add(rw, text, " DESC");
    } else {
      (void)rw_eat(rw, "asc");
    }
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

static int tail(struct rw *rw, struct arm *first, struct rw_text *text) {
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

/* The recursive part of a CTE must have the types of its anchor. */
static int check_recursion(struct rw *rw,
                           const struct rw_cte *cte,
                           const struct arm *arm) {
  for (uint32_t i = 0; i < cte->ncolumns && i < arm->items.n; i++) {
    const struct tdsd_type *a = &cte->columns[i].type;
    const struct tdsd_type *b = &arm->items.at[i].expr.type;
    if (cte->columns[i].known && arm->items.at[i].expr.known && !b->untyped &&
        (a->kind != b->kind ||
         (a->kind >= TDSD_DECIMAL &&
          (a->precision != b->precision || a->scale != b->scale)) ||
         (a->kind <= TDSD_NVARCHAR && a->size != b->size))) {
      return tdsd_fault_set(rw->fault, 240, 16,
                            "Types don't match between the anchor and the "
                            "recursive part in column \"%.128s\" of recursive "
                            "query \"%.128s\".",
                            cte->columns[i].name, cte->name);
    }
  }
  return 0;
}

static int define(struct rw *rw, struct rw_cte *cte, const struct arm *first) {
  struct rw_query query = {0};
  if (set_columns(rw, &first->items, &query) < 0) {
    return -1;
  }
  for (uint32_t i = 0; i < query.ncolumns && i < cte->nnames; i++) {
    query.columns[i].name = cte->names[i];
  }
  cte->columns = query.columns;
  cte->ncolumns = query.ncolumns;
  return 0;
}

static int parenthesised_query(struct rw *rw,
                               const struct rw_into *into,
                               struct rw_query *out) {
  rw->at++;
  if (rw_enter(rw) < 0 || rw_query(rw, into, NULL, out) < 0 ||
      rw_need_sign(rw, ")") < 0) {
    return -1;
  }
  rw_leave(rw);
  return rw_is(rw, "union") || rw_is(rw, "except") || rw_is(rw, "intersect")
             ? rw_refuse(rw, "UNION of queries in parentheses")
             : 0;
}

static int read_arms(struct rw *rw, struct rw_cte *defining, struct arm *arm) {
  struct arm *first = arm;
  for (;;) {
    const char *join = NULL;
    if (one_arm(rw, arm) < 0 ||
        (defining != NULL &&
         (arm == first ? define(rw, defining, first)
                       : check_recursion(rw, defining, arm)) < 0) ||
        set_operator(rw, &join) < 0) {
      return -1;
    }
    if (join == NULL) {
      return 0;
    }
    if (join[1] == 'I' && arm != first && arm->join[1] != 'I') {
      /* INTERSECT binds closer in T-SQL, not in SQLite. */
      return rw_refuse(rw, "INTERSECT behind UNION or EXCEPT");
    }
    arm->next = tdsd_arena_take(rw->arena, sizeof *arm->next);
    if (arm->next == NULL) {
      return rw_no_memory(rw);
    }
    arm = arm->next;
    arm->join = join;
  }
}

static int read_values(struct rw *rw,
                       const struct rw_into *into,
                       struct arm *arm) {
  struct rw_scope *scope = tdsd_arena_take(rw->arena, sizeof *scope);
  const struct arm *first = arm;
  if (scope == NULL) {
    return rw_no_memory(rw);
  }
  scope->outer = rw->scope;
  for (;;) {
    arm->scope = scope;
    if (values_arm(rw, into, arm) < 0) {
      return -1;
    }
    if (arm->items.n != first->items.n) {
      return tdsd_fault_set(rw->fault, 10709, 16,
                            "The number of columns for each row in a table "
                            "value constructor must be the same.");
    }
    if (!rw_eat_sign(rw, ",")) {
      return 0;
    }
    arm->next = tdsd_arena_take(rw->arena, sizeof *arm->next);
    if (arm->next == NULL) {
      return rw_no_memory(rw);
    }
    arm = arm->next;
    arm->join = ", ";
  }
}

static int set_targets(struct rw *rw,
                       const struct arm *arm,
                       struct rw_query *out) {
  if (!arm->assigns) {
    return 0;
  }
  out->targets =
      tdsd_arena_take(rw->arena, arm->items.n * sizeof *out->targets);
  if (out->targets == NULL) {
    return rw_no_memory(rw);
  }
  for (uint32_t i = 0; i < arm->items.n; i++) {
    out->targets[i] = arm->items.at[i].variable;
  }
  return 0;
}

static int check_into(struct rw *rw,
                      const struct rw_into *into,
                      const struct rw_query *query) {
  if (into == NULL || query->ncolumns == into->ncolumns ||
      rw->catalog == NULL) {
    return 0;
  }
  return query->ncolumns < into->ncolumns
             ? tdsd_fault_set(rw->fault, 120, 15,
                              "The select list for the INSERT statement "
                              "contains fewer items than the insert list. The "
                              "number of SELECT values must match the number "
                              "of INSERT columns.")
             : tdsd_fault_set(rw->fault, 121, 15,
                              "The select list for the INSERT statement "
                              "contains more items than the insert list. The "
                              "number of SELECT values must match the number "
                              "of INSERT columns.");
}

static int query_of(struct rw *rw,
                    const struct rw_into *into,
                    struct rw_cte *defining,
                    struct rw_query *out) {
  struct arm *first = tdsd_arena_take(rw->arena, sizeof *first);
  struct rw_text text = {0};
  if (first == NULL) {
    return rw_no_memory(rw);
  }
  if ((rw_eat(rw, "values") ? read_values(rw, into, first)
                            : read_arms(rw, defining, first)) < 0 ||
      meet_arms(rw, first, out) < 0 || check_into(rw, into, out) < 0 ||
      set_targets(rw, first, out) < 0) {
    return -1;
  }
  for (struct arm *arm = first; arm != NULL; arm = arm->next) {
    const char *sql = "";
    bool alone = arm == first && arm->next == NULL;
    if (arm_sql(rw, arm, into, out, alone, &sql) < 0) {
      return -1;
    }
    rw_add(rw, &text, arm != first ? arm->join : arm->values ? "VALUES " : "");
    rw_add(rw, &text, sql);
  }
  if (!first->values && tail(rw, first, &text) < 0) {
    return -1;
  }
  out->sql = text.bytes;
  return rw_ok(rw) ? 0 : -1;
}

int rw_query(struct rw *rw,
             const struct rw_into *into,
             struct rw_cte *defining,
             struct rw_query *out) {
  if (rw_is_sign(rw, "(")) {
    return parenthesised_query(rw, into, out);
  }
  if (rw_enter(rw) < 0 || query_of(rw, into, defining, out) < 0) {
    return -1;
  }
  rw_leave(rw);
  return 0;
}

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
