/* SPDX-License-Identifier: MIT */
/* What the files of the rewriter share.  Every function returns 0, or -1 with
 * the fault, unless it says otherwise. */
#ifndef TDSD_SERVER_REWRITE_IMPL_H
#define TDSD_SERVER_REWRITE_IMPL_H

#include "server_lex.h"
#include "server_parse.h"
#include "server_rewrite.h"

/* Text under construction, in the arena. */
struct rw_text {
  char *bytes;
  size_t len;
  size_t room;
};

/* An expression that has been rewritten. */
struct rw_expr {
  const char *sql;
  struct tdsd_type type;
  bool known;
  bool column;                      /* nothing but a column */
  const struct tdsd_value *literal; /* nothing but a literal */
  const char *name;                 /* of a column, as messages have it */
};

struct rw_exprs {
  struct rw_expr *at;
  uint32_t n;
  uint32_t room;
};

/* A table, CTE or subquery in FROM. */
struct rw_source {
  const char *alias;
  const char *table; /* its own name, if it has one */
  const struct tdsd_rw_column *columns;
  uint32_t ncolumns;
  bool nullable; /* on the outer side of a join */
  bool open;     /* nothing is known of it */
  bool bare;     /* its column stands without the alias, as in CHECK */
};

struct rw_scope {
  struct rw_source *sources;
  uint32_t n;
  uint32_t room;
  struct rw_scope *outer;
  const struct rw_items *aliases; /* those of ORDER BY */
};

struct rw_cte {
  const char *name;
  const char **names; /* of its columns, where a list follows its name */
  uint32_t nnames;
  struct tdsd_rw_column *columns;
  uint32_t ncolumns;
  struct rw_cte *next;
};

struct rw_item {
  struct rw_expr expr;
  const char *name;
  bool named;
  int32_t variable;   /* SELECT @x =, or -1 */
  uint32_t first_ref; /* its columns outside aggregates, in rw->refs */
  uint32_t last_ref;
};

struct rw_items {
  struct rw_item *at;
  uint32_t n;
  uint32_t room;
};

struct rw {
  const struct tdsd_token *tokens; /* the last is TDSD_LEX_END */
  uint32_t ntokens;
  uint32_t at;
  uint32_t depth;
  uint32_t subqueries; /* numbers the names made up */
  struct tdsd_arena *arena;
  struct tdsd_fault *fault;
  const struct tdsd_rw_catalog *catalog; /* NULL: syntax only */
  const struct tdsd_batch *batch;
  const struct tdsd_state *state;
  struct rw_scope *scope;
  struct rw_cte *ctes;
  const char *target;   /* of an UPDATE, while its FROM is read */
  bool aggregates;      /* one has been seen in the query at hand */
  bool inside;          /* within an aggregate */
  struct rw_exprs refs; /* columns outside aggregates */
  struct tdsd_rewrite *out;
  uint32_t params_room;
};

/* Tokens. */
const struct tdsd_token *rw_token(const struct rw *rw);
const struct tdsd_token *rw_ahead(const struct rw *rw, uint32_t n);
bool rw_is(const struct rw *rw, const char *word);
bool rw_is_sign(const struct rw *rw, const char *sign);
/* Moves past the word or sign if it is there. */
bool rw_eat(struct rw *rw, const char *word);
bool rw_eat_sign(struct rw *rw, const char *sign);
int rw_need(struct rw *rw, const char *word);
int rw_need_sign(struct rw *rw, const char *sign);
/* A name, bare or quoted. */
int rw_name(struct rw *rw, const char **out_name);
bool rw_at_name(const struct rw *rw);
/* ASC or DESC, if there is one. */
void rw_direction(struct rw *rw, struct rw_text *text);
/* The place behind the parenthesis that closes the one at at. */
uint32_t rw_behind(const struct rw *rw, uint32_t at);
int rw_enter(struct rw *rw);
void rw_leave(struct rw *rw);

/* Faults. */
int rw_bad(struct rw *rw);
int rw_no_memory(struct rw *rw);
int rw_refuse(struct rw *rw, const char *construct);

/* Text: NULL and "" where there is no memory, with the fault set; callers check
 * the fault once at the end (rw_ok()). */
const char *rw_format(struct rw *rw, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
const char *rw_quote(struct rw *rw, const char *name);
void rw_add(struct rw *rw, struct rw_text *text, const char *more);
bool rw_ok(const struct rw *rw);
const char *rw_type(struct rw *rw, const struct tdsd_type *type);
const char *rw_literal(struct rw *rw, const struct tdsd_value *value);

/* Lists. */
int rw_append(struct rw *rw, struct rw_exprs *list, const struct rw_expr *expr);
int rw_param(struct rw *rw, bool global, uint32_t slot, const char **out_sql);

/* Expressions (server_rewrite_expr.c, _literal.c, _name.c, _case.c, _cast.c,
 * _condition.c). */
int rw_value(struct rw *rw, struct rw_expr *out);
int rw_condition(struct rw *rw, const char **out_sql);
/* The literal at hand. */
int rw_text_literal(struct rw *rw, struct rw_expr *out);
int rw_binary_literal(struct rw *rw, struct rw_expr *out);
int rw_number_literal(struct rw *rw, struct rw_expr *out);
/* Moves past one token, which stands for the value. */
int rw_take_literal(struct rw *rw,
                    const struct tdsd_value *value,
                    struct rw_expr *out);
/* @x or @@x at hand. */
int rw_variable(struct rw *rw, struct rw_expr *out);
/* The column name of table, which may be NULL, as line names it: errors 207,
 * 209 and 4104. */
int rw_column(struct rw *rw,
              const char *table,
              const char *name,
              uint32_t line,
              struct rw_expr *out);
/* Behind CASE. */
int rw_case(struct rw *rw, struct rw_expr *out);
int rw_data_type(struct rw *rw, uint32_t size, struct tdsd_type *out_type);
/* A nullable expression of a type that is known. */
struct rw_expr rw_expr_of(const char *sql, struct tdsd_type type);
bool rw_is_text(const struct rw_expr *expr);
/* Decimals and money, which are kept as text. */
bool rw_is_exact(const struct tdsd_type *type);
/* Whether values of both types look the same to SQLite. */
bool rw_same_shape(const struct tdsd_type *a, const struct tdsd_type *b);
/* Gives an expression a type, with tsql_cast where its own differs. */
int rw_cast(struct rw *rw, struct rw_expr *expr, const struct tdsd_type *to);
/* As an assignment does: what does not fit is an error, not cut. */
int rw_store(struct rw *rw,
             struct rw_expr *expr,
             const struct tdsd_rw_column *column,
             const char *table);
/* Makes two expressions comparable. */
int rw_align(struct rw *rw, struct rw_expr *a, struct rw_expr *b);
/* Behind COLLATE: refuses what does not compare as the databases here do. */
int rw_collation(struct rw *rw);
/* " COLLATE x" for values of the type, or "". */
const char *rw_collate(const struct rw_expr *expr);
/* The expression with its collation, for places that compare. */
const char *rw_sorted(struct rw *rw, const struct rw_expr *expr);

/* Calls (server_rewrite_call.c, _aggregate.c), behind the name and, but for
 * rw_call(), the parenthesis. */
int rw_call(struct rw *rw, const char *name, struct rw_expr *out);
bool rw_is_aggregate(const char *name);
int rw_aggregate(struct rw *rw, const char *name, struct rw_expr *out);
/* Window functions that are no aggregates.  Returns 1 if name is none. */
int rw_window(struct rw *rw, const char *name, struct rw_expr *out);
/* The arguments up to the parenthesis that closes the call. */
int rw_arguments(struct rw *rw, struct rw_exprs *list);
int rw_wrong_count(struct rw *rw, const char *name, unsigned least);
/* Refuses a call of name with a value whose type is not known. */
int rw_need_known(struct rw *rw, const struct rw_expr *expr, const char *name);
struct tdsd_type rw_type_of(enum tdsd_kind kind);

/* Where the rows of a query go. */
struct rw_into {
  const char *table;
  const struct tdsd_rw_column **columns;
  uint32_t ncolumns;
};

/* One SELECT without its ORDER BY. */
struct rw_arm {
  const char *join; /* "", " UNION ALL ", ... */
  const char *distinct;
  const char *top; /* LIMIT, or NULL */
  struct rw_items items;
  const char *rest; /* FROM, WHERE, GROUP BY, HAVING */
  struct rw_scope *scope;
  struct rw_arm *next;
  struct rw_exprs groups;
  struct rw_exprs refs; /* columns outside aggregates */
  bool grouped;         /* GROUP BY, or aggregates in the select list */
  bool assigns;
  bool values; /* a row of VALUES */
};

/* Arms (server_rewrite_arm.c): a SELECT, with a scope of its own, and a row of
 * VALUES. */
int rw_select_arm(struct rw *rw, struct rw_arm *arm);
int rw_values_arm(struct rw *rw,
                  const struct rw_into *into,
                  struct rw_arm *arm);
/* Errors 8120 and 8121 for the columns from rw->refs[first] to before [last]
 * that arm does not group by. */
int rw_check_grouped(struct rw *rw,
                     const struct rw_arm *arm,
                     const char *sql,
                     uint32_t first,
                     uint32_t last,
                     const char *where);
/* What stands behind the last arm: ORDER BY, OFFSET, the first one's TOP. */
int rw_query_tail(struct rw *rw, struct rw_arm *first, struct rw_text *text);

/* The select list (server_rewrite_items.c). */
int rw_read_items(struct rw *rw, struct rw_arm *arm);
int rw_append_item(struct rw *rw,
                   struct rw_items *items,
                   const struct rw_item *item);

/* Queries (server_rewrite_query.c, _order.c, _from.c, _cte.c).  into: columns
 * that the rows go into, or NULL.  defining: the CTE that the query defines, or
 * NULL. */
struct rw_query {
  const char *sql;
  struct tdsd_rw_column *columns;
  uint32_t ncolumns;
  int32_t *targets;
};
int rw_query(struct rw *rw,
             const struct rw_into *into,
             struct rw_cte *defining,
             struct rw_query *out);
/* A query as a value, and the parenthesis behind it: error 116 if it has more
 * than one column; none are known without a catalog. */
int rw_column_query(struct rw *rw, struct rw_query *out);
/* WITH a AS (...), ...; *out_sql is "" without it. */
int rw_with(struct rw *rw, const char **out_sql);
/* Behind FROM: joins and commas; their sources go into rw->scope. */
int rw_from(struct rw *rw, const char **out_sql);
/* Looks a table up: error 208 if there is none. */
int rw_table(struct rw *rw,
             const char **out_name,
             const struct tdsd_rw_table **out_table);
int rw_table_name(struct rw *rw, const char **out_name, const char **out_whole);
/* The table's name as SQL: "t" or temp."#t". */
const char *rw_table_sql(struct rw *rw, const char *name);
/* An empty scope within the one at hand, in the arena. */
int rw_open_scope(struct rw *rw);
int rw_add_source(struct rw *rw, const struct rw_source *source);

/* What INSERT, UPDATE and DELETE share (server_rewrite_change.c): the kind of the
 * statement, the refusal of TOP and OUTPUT, whether the table has an identity column, a
 * column by its name or NULL. */
void rw_changes(struct rw *rw,
                const char *verb,
                uint32_t command,
                const char *table);
int rw_refuse_top(struct rw *rw, const char *what);
int rw_refuse_output(struct rw *rw);
bool rw_takes_identity(const struct tdsd_rw_table *table);
const struct tdsd_rw_column *rw_find_column(const struct tdsd_rw_table *table,
                                            const char *name);

/* Statements. */
int rw_insert(struct rw *rw, const char *with);
int rw_update(struct rw *rw, const char *with);
int rw_delete(struct rw *rw, const char *with);
int rw_truncate(struct rw *rw);
int rw_create(struct rw *rw);
int rw_drop(struct rw *rw);
int rw_alter(struct rw *rw);

#endif
