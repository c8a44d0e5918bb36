/* SPDX-License-Identifier: MIT */
/* What the files of CREATE, DROP and ALTER share.  Every function that returns
 * int returns 0, or -1 with the fault. */
#ifndef TDSD_SERVER_REWRITE_SCHEMA_H
#define TDSD_SERVER_REWRITE_SCHEMA_H

#include "server_rewrite_impl.h"

/* A table under construction. */
struct rw_definition {
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

/* A list of columns, as of a key. */
struct rw_key_columns {
  const char *quoted; /* "a", "b" */
  const char *plain;  /* a,b */
  uint32_t n;
  const char *first;
};

/* A text as a literal of SQLite. */
const char *rw_text_of(struct rw *rw, const char *text);

/* (a [ASC], b DESC). */
int rw_read_key_columns(struct rw *rw, struct rw_key_columns *out);
/* Moves past CLUSTERED or NONCLUSTERED, which mean nothing here. */
void rw_skip_clustered(struct rw *rw);

/* Constraints.  name is NULL if it is to be made up; column is NULL for one of
 * the table; out takes the SQL. */
int rw_key(struct rw *rw,
           struct rw_definition *def,
           bool primary,
           const char *name,
           const char *column,
           struct rw_text *out);
/* A condition over the table's columns, read with them in scope. */
int rw_check(struct rw *rw,
             struct rw_definition *def,
             const char *name,
             const char *column,
             struct rw_text *out);
int rw_references(struct rw *rw, struct rw_text *out);
/* One constraint of the table, with its name if it has one. */
int rw_table_constraint(struct rw *rw, struct rw_definition *def);

/* One column with its type and properties, into def and into scope. */
int rw_column_definition(struct rw *rw, struct rw_definition *def);
/* A column that constraints may name: error 2705 if there is one already. */
int rw_scope_column(struct rw *rw, const char *name, struct tdsd_type type);

#endif
