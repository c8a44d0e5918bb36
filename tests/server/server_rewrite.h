/* SPDX-License-Identifier: MIT */
/* One T-SQL statement on tables becomes text that SQLite runs with the functions
 * of server_sqlite_fn.c: types are settled here by T-SQL's rules, from declared
 * columns upwards, and what cannot be right is refused by name.  Pure. */
#ifndef TDSD_SERVER_REWRITE_H
#define TDSD_SERVER_REWRITE_H

#include "server_ast.h"
#include "server_eval.h"

struct tdsd_rw_column {
  const char *name;
  struct tdsd_type type;
  bool known;        /* false: SQLite's value decides, row by row */
  bool identity;     /* IDENTITY: filled by the table itself */
  const char *other; /* SQL of the default, NULL without one */
};

struct tdsd_rw_table {
  const char *name; /* as SQLite knows it, quotes excluded */
  bool temporary;
  uint32_t ncolumns;
  struct tdsd_rw_column *columns;
};

/* Where tables are looked up.  find returns 1 with the table, 0 if there is
 * none, -1 with the fault. */
struct tdsd_rw_catalog {
  int (*find)(void *user,
              const char *name,
              struct tdsd_arena *arena,
              const struct tdsd_rw_table **out_table,
              struct tdsd_fault *fault);
  void *user;
};

enum tdsd_rw_kind {
  TDSD_RW_ROWS,    /* a result set, or SELECT @x = */
  TDSD_RW_CHANGES, /* INSERT, UPDATE, DELETE: rows are counted */
  TDSD_RW_SCHEMA,  /* CREATE, DROP, ALTER, TRUNCATE: several statements */
};

/* What a ? of the text stands for: a variable of the batch or an @@ name. */
struct tdsd_rw_param {
  bool global;
  uint32_t slot;
};

struct tdsd_rewrite {
  enum tdsd_rw_kind kind;
  uint32_t command; /* for DONE */
  const char *sql;
  const char *verb;  /* INSERT, UPDATE, DELETE, ...: for messages */
  const char *table; /* that is changed, as messages name it */
  bool identity;     /* an INSERT that takes the next identity value */
  struct tdsd_rw_column *columns; /* TDSD_RW_ROWS */
  int32_t *targets;               /* variables that get them; NULL = none */
  uint32_t ncolumns;
  struct tdsd_rw_param *params; /* of ?1, ?2, ... */
  uint32_t nparams;
};

struct tdsd_rw_input {
  const char *sql; /* one statement */
  size_t len;
  uint32_t line; /* of its first character in the batch */
  const struct tdsd_batch *batch;
  const struct tdsd_state *state;
  /* NULL: only the syntax is checked and *out is of no use. */
  const struct tdsd_rw_catalog *catalog;
};

/* Rewrites.  Returns 0, or -1 with the fault: 102 and 156 for syntax, 207, 208,
 * 209, 4104 for names, 40517 for what is not supported.
 * Owns: everything of *out lives in the arena. */
int tdsd_rewrite(const struct tdsd_rw_input *input,
                 struct tdsd_arena *arena,
                 struct tdsd_rewrite *out,
                 struct tdsd_fault *fault);

/* Finds the end of the statement that begins at sql, which needs no semicolon
 * behind it.  *out_tables tells whether it is one for SQLite: on a table, or with
 * words that the T-SQL subset lacks.
 * Returns 0, or -1 with the fault. */
int tdsd_rw_split(const char *sql,
                  size_t len,
                  struct tdsd_arena *arena,
                  size_t *out_end,
                  bool *out_tables,
                  struct tdsd_fault *fault);

/* The same for the condition of IF and WHILE and for the value of SET @x =;
 * *out_query tells whether it has a query, or words that the subset lacks. */
int tdsd_rw_split_value(const char *sql,
                        size_t len,
                        struct tdsd_arena *arena,
                        size_t *out_end,
                        bool *out_query,
                        struct tdsd_fault *fault);

/* A type as T-SQL writes it, such as decimal(18,2); and back, where words that
 * only SQLite knows are taken in its sense.  print returns its length, scan 0 or
 * -1. */
size_t tdsd_rw_type_print(const struct tdsd_type *type, char *out, size_t cap);
int tdsd_rw_type_scan(const char *text, struct tdsd_type *out_type);

/* A value that SQLite keeps as text (exact numbers, dates, GUIDs) as it keeps it,
 * with all its digits.  Returns its length. */
size_t tdsd_rw_value_print(const struct tdsd_value *value,
                           char *out,
                           size_t cap);

/* Scalar functions beside those of server_builtin.c (server_scalar.c).  type
 * returns 0, or -1 with the fault: 195 unknown, 174 wrong count, 8116 a type that
 * does not fit. */
int tdsd_scalar_type(const char *name,
                     const struct tdsd_type *args,
                     uint32_t nargs,
                     struct tdsd_type *out_type,
                     struct tdsd_fault *fault);
int tdsd_scalar_eval(const char *name,
                     const struct tdsd_value *args,
                     uint32_t nargs,
                     const struct tdsd_context *context,
                     struct tdsd_value *out);

#endif
