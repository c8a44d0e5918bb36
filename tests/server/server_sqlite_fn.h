/* SPDX-License-Identifier: MIT */
/* What the rewriter's text needs of SQLite: functions that compute by T-SQL's
 * rules with the server's own types, and collations for texts, exact numbers,
 * instants and GUIDs. */
#ifndef TDSD_SERVER_SQLITE_FN_H
#define TDSD_SERVER_SQLITE_FN_H

#include <sqlite3.h>

#include "server_eval.h"

/* What the functions of one handle see. */
struct tdsd_lite_env {
  struct tdsd_state state;   /* a copy of the session's */
  struct tdsd_fault fault;   /* number != 0: why the statement failed */
  struct tdsd_arena scratch; /* of one call */
};

/* Adds functions and collations to a handle.  Returns an SQLite code. */
int tdsd_lite_functions(sqlite3 *db, struct tdsd_lite_env *env);

/* A column or argument as a value of a type; known false: what it is by itself.
 * Returns 0, or -1 with the fault. */
int tdsd_lite_get(sqlite3_value *value,
                  const struct tdsd_type *type,
                  bool known,
                  struct tdsd_arena *arena,
                  struct tdsd_value *out,
                  struct tdsd_fault *fault);

/* Binds a value to parameter index.  Returns an SQLite code. */
int tdsd_lite_bind(sqlite3_stmt *stmt,
                   int index,
                   const struct tdsd_value *value);

/* For the files of the functions. */

struct tdsd_lite_env *lite_env_of(sqlite3_context *context);
/* Before a call: nothing has failed, the scratch memory is empty. */
void lite_begin(struct tdsd_lite_env *env);
/* The statement fails with the environment's fault; SQLite only needs to know
 * that it does. */
void lite_fail(sqlite3_context *context);
void lite_give(sqlite3_context *context, const struct tdsd_value *value);
/* A letter without its case: ASCII, Latin, Greek and Cyrillic. */
uint32_t lite_fold(uint32_t c);
/* value LIKE pattern ESCAPE escape. */
void lite_fn_like(sqlite3_context *context, int n, sqlite3_value **args);
int lite_add_aggregates(sqlite3 *db, struct tdsd_lite_env *env);
int lite_add_collations(sqlite3 *db);

#endif
