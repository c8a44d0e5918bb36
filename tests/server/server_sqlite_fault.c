/* SPDX-License-Identifier: MIT */
/* SQLite's errors as SQL Server would tell them. */
#include <stdio.h>
#include <string.h>

#include "server_sqlite_impl.h"

#define NAME_BYTES 256u

/* What stands behind ": " in SQLite's message. */
static const char *subject(const char *message) {
  const char *colon = strstr(message, ": ");
  return colon == NULL ? "" : colon + 2;
}

static void copy_part(const char *text, size_t len, char *out) {
  len = len < NAME_BYTES - 1 ? len : NAME_BYTES - 1;
  memcpy(out, text, len);
  out[len] = 0;
}

/* "t.a, t.b" becomes the table and "a,b". */
static void split_columns(const char *text, char *table, char *columns) {
  size_t n = 0;
  const char *dot = strchr(text, '.');
  copy_part(text, dot == NULL ? 0 : (size_t)(dot - text), table);
  size_t skip = strlen(table) + 1;
  for (const char *at = text; *at != 0 && n + 1 < NAME_BYTES;) {
    at += strlen(at) >= skip ? skip : strlen(at);
    while (*at != 0 && strncmp(at, ", ", 2) != 0 && n + 2 < NAME_BYTES) {
      columns[n++] = *at++;
    }
    if (*at == ',') {
      at += 2;
      columns[n++] = ',';
    }
  }
  columns[n] = 0;
}

/* The key on these columns: 'P', 'U', or 0 for an index. */
static char find_key(struct lite_session *session,
                     const char *table,
                     const char *columns,
                     char *name) {
  sqlite3_stmt *stmt = NULL;
  char kind = 0;
  const char *sql = table[0] == '#'
                        ? "SELECT kind, name FROM temp.tdsd_keys WHERE tbl = "
                          "?1 AND columns = ?2"
                        : "SELECT kind, name FROM main.tdsd_keys WHERE tbl = "
                          "?1 AND columns = ?2";
  if (sqlite3_prepare_v2(session->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
      sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
      sqlite3_bind_text(stmt, 2, columns, -1, SQLITE_STATIC) == SQLITE_OK &&
      sqlite3_step(stmt) == SQLITE_ROW) {
    kind = (char)sqlite3_column_text(stmt, 0)[0];
    (void)snprintf(name, NAME_BYTES, "%s", sqlite3_column_text(stmt, 1));
  }
  (void)sqlite3_finalize(stmt);
  return kind;
}

/* The name of the unique index on these columns; ours begin with their table's
 * name and a dot. */
static void index_name(struct lite_session *session,
                       const char *table,
                       const char *columns,
                       char *name) {
  static const char sql[] =
      "SELECT l.name FROM pragma_index_list(?1) AS l WHERE l.\"unique\" AND "
      "(SELECT group_concat(i.name, ',') FROM (SELECT name FROM "
      "pragma_index_info(l.name) ORDER BY seqno) AS i) = ?2 COLLATE NOCASE";
  sqlite3_stmt *stmt = NULL;
  (void)snprintf(name, NAME_BYTES, "%.200s", columns);
  if (sqlite3_prepare_v2(session->db, sql, -1, &stmt, NULL) == SQLITE_OK &&
      sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC) == SQLITE_OK &&
      sqlite3_bind_text(stmt, 2, columns, -1, SQLITE_STATIC) == SQLITE_OK &&
      sqlite3_step(stmt) == SQLITE_ROW) {
    const char *found = (const char *)sqlite3_column_text(stmt, 0);
    size_t own = strlen(table);
    bool ours = strncmp(found, table, own) == 0 && found[own] == '.';
    (void)snprintf(name, NAME_BYTES, "%.255s", found + (ours ? own + 1 : 0));
  }
  (void)sqlite3_finalize(stmt);
}

static void duplicate(struct lite_session *session, const char *message) {
  char text[2 * NAME_BYTES];
  char table[NAME_BYTES];
  char columns[NAME_BYTES];
  char name[NAME_BYTES] = "";
  struct tdsd_fault *fault = &session->task.fault;
  /* A copy, because the search below overwrites SQLite's message. */
  (void)snprintf(text, sizeof text, "%s", subject(message));
  split_columns(text, table, columns);
  char kind = find_key(session, table, columns, name);
  if (kind == 0) {
    index_name(session, table, columns, name);
    (void)tdsd_fault_set(fault, 2601, 14,
                         "Cannot insert duplicate key row in object "
                         "'dbo.%.128s' with unique index '%.128s'.",
                         table, name);
    return;
  }
  (void)tdsd_fault_set(fault, 2627, 14,
                       "Violation of %s constraint '%.128s'. Cannot insert "
                       "duplicate key in object 'dbo.%.128s'.",
                       kind == 'P' ? "PRIMARY KEY" : "UNIQUE KEY", name, table);
}

static void not_null(struct lite_session *session, const char *message) {
  char table[NAME_BYTES];
  char columns[NAME_BYTES];
  split_columns(subject(message), table, columns);
  (void)tdsd_fault_set(&session->task.fault, 515, 16,
                       "Cannot insert the value NULL into column '%.128s', "
                       "table '%.128s.dbo.%.128s'; column does not allow "
                       "nulls. %s fails.",
                       columns, session->env.state.database, table,
                       session->task.rewritten.verb);
  session->task.fault.state = 2;
}

static void check(struct lite_session *session, const char *message) {
  (void)tdsd_fault_set(&session->task.fault, 547, 16,
                       "The %s statement conflicted with the CHECK constraint "
                       "\"%.128s\". The conflict occurred in database "
                       "\"%.128s\", table \"dbo.%.128s\".",
                       session->task.rewritten.verb, subject(message),
                       session->env.state.database,
                       session->task.rewritten.table);
  session->task.fault.state = 0;
}

static void foreign_key(struct lite_session *session) {
  const char *verb = session->task.rewritten.verb;
  (void)tdsd_fault_set(
      &session->task.fault, 547, 16,
      "The %s statement conflicted with %s constraint of "
      "table \"dbo.%.128s\". The conflict occurred in database "
      "\"%.128s\".",
      verb, strcmp(verb, "DELETE") == 0 ? "a REFERENCE" : "a FOREIGN KEY",
      session->task.rewritten.table, session->env.state.database);
  session->task.fault.state = 0;
}

static void constraint(struct lite_session *session, int code) {
  const char *message = sqlite3_errmsg(session->db);
  session->task.terminated = true;
  switch (code) {
  case SQLITE_CONSTRAINT_UNIQUE:
  case SQLITE_CONSTRAINT_PRIMARYKEY:
  case SQLITE_CONSTRAINT_ROWID:
    duplicate(session, message);
    break;
  case SQLITE_CONSTRAINT_NOTNULL:
    not_null(session, message);
    break;
  case SQLITE_CONSTRAINT_CHECK:
    check(session, message);
    break;
  case SQLITE_CONSTRAINT_FOREIGNKEY:
    foreign_key(session);
    break;
  default:
    (void)tdsd_fault_set(&session->task.fault, 547, 16,
                         "The statement conflicted with a constraint: %.512s.",
                         message);
    break;
  }
}

/* What the rewriter lets through and SQLite does not know. */
static void plain(struct lite_session *session) {
  struct tdsd_fault *fault = &session->task.fault;
  const char *message = sqlite3_errmsg(session->db);
  const char *name = subject(message);
  if (strncmp(message, "no such table: ", 15) == 0) {
    name = strncmp(name, "main.", 5) == 0 || strncmp(name, "temp.", 5) == 0
               ? name + 5
               : name;
    (void)tdsd_fault_set(fault, 208, 16, "Invalid object name '%.128s'.", name);
  } else if (strncmp(message, "no such column: ", 16) == 0) {
    (void)tdsd_fault_set(fault, 207, 16, "Invalid column name '%.128s'.", name);
  } else if (strncmp(message, "ambiguous column name: ", 23) == 0) {
    (void)tdsd_fault_set(fault, 209, 16, "Ambiguous column name '%.128s'.",
                         name);
  } else if (strstr(message, "already exists") != NULL &&
             strncmp(message, "table ", 6) == 0) {
    (void)tdsd_fault_set(fault, 2714, 16,
                         "There is already an object named '%.128s' in the "
                         "database.",
                         session->task.rewritten.table);
    fault->state = 6;
  } else if (strncmp(message, "duplicate column name: ", 23) == 0) {
    (void)tdsd_fault_set(fault, 2705, 16,
                         "Column names in each table must be unique. Column "
                         "name '%.128s' in table '%.128s' is specified more "
                         "than once.",
                         name, session->task.rewritten.table);
  } else {
    (void)tdsd_fault_set(fault, 102, 15,
                         "tdsd does not know this T-SQL: SQLite says \"%.700s\""
                         ".",
                         message);
  }
}

void lite_fault(struct lite_session *session, int code) {
  struct tdsd_fault *fault = &session->task.fault;
  struct tdsd_fault *own = &session->env.fault;
  fault->line = session->task.line;
  if (own->number != 0) {
    uint32_t line = fault->line;
    *fault = *own;
    fault->line = line;
    own->number = 0;
    session->task.terminated =
        session->task.rewritten.kind == TDSD_RW_CHANGES && fault->number != 195;
    return;
  }
  switch (code & 0xFF) {
  case SQLITE_CONSTRAINT:
    constraint(session, code);
    break;
  case SQLITE_NOMEM:
    (void)tdsd_fault_set(fault, 701, 17,
                         "There is insufficient memory for this query.");
    break;
  case SQLITE_FULL:
    (void)tdsd_fault_set(fault, 1105, 17,
                         "Could not allocate space in database '%.128s' "
                         "because the disk is full.",
                         session->env.state.database);
    break;
  case SQLITE_TOOBIG:
    (void)tdsd_fault_set(fault, 511, 16,
                         "A value or row is larger than SQLite can keep.");
    break;
  case SQLITE_READONLY:
    (void)tdsd_fault_set(fault, 3906, 16,
                         "Failed to update database \"%.128s\" because the "
                         "database is read-only.",
                         session->env.state.database);
    break;
  case SQLITE_INTERRUPT:
    (void)tdsd_fault_set(fault, 3617, 11, "The statement was cancelled.");
    break;
  case SQLITE_ERROR:
    plain(session);
    break;
  default:
    (void)tdsd_fault_set(
        fault, 824, 20, "SQLite failed with code %d: %.512s.", code,
        session->db == NULL ? "no handle" : sqlite3_errmsg(session->db));
    break;
  }
}
