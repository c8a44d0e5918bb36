/* SPDX-License-Identifier: MIT */
/* What is known of tables: from the tables beside the schema, or, where another
 * program made the table, from the types that it declared. */
#include <string.h>
#include <strings.h>

#include "server_sqlite_impl.h"

int lite_catalog_make(sqlite3 *db) {
  return sqlite3_exec(
      db,
      "CREATE TABLE IF NOT EXISTS tdsd_columns (tbl TEXT COLLATE NOCASE, "
      "ord INTEGER, name TEXT, type TEXT, nullable INTEGER, identity INTEGER, "
      "other TEXT, PRIMARY KEY (tbl, ord));"
      "CREATE TABLE IF NOT EXISTS tdsd_keys (tbl TEXT COLLATE NOCASE, "
      "kind TEXT, name TEXT, columns TEXT COLLATE NOCASE);",
      NULL, NULL, NULL);
}

struct reader {
  struct lite_session *session;
  struct tdsd_arena *arena;
  struct tdsd_rw_table *table;
  uint32_t room;
};

static const char *text_at(const struct reader *reader,
                           sqlite3_stmt *stmt,
                           int column) {
  const char *text = (const char *)sqlite3_column_text(stmt, column);
  return text == NULL ? NULL
                      : tdsd_arena_copy(reader->arena, text, strlen(text));
}

static struct tdsd_rw_column *add_column(struct reader *reader) {
  struct tdsd_rw_table *table = reader->table;
  if (table->ncolumns == reader->room) {
    uint32_t room = reader->room == 0 ? 16 : 2 * reader->room;
    struct tdsd_rw_column *columns =
        tdsd_arena_take(reader->arena, room * sizeof *columns);
    if (columns == NULL) {
      return NULL;
    }
    if (table->ncolumns != 0) {
      memcpy(columns, table->columns, table->ncolumns * sizeof *columns);
    }
    table->columns = columns;
    reader->room = room;
  }
  return &table->columns[table->ncolumns++];
}

/* One statement on the schema with the table's name as its parameter; row is
 * called for each row.  Returns 0, or -1 with the fault. */
static int for_each(struct reader *reader,
                    const char *sql,
                    const char *name,
                    int (*row)(struct reader *reader, sqlite3_stmt *stmt)) {
  sqlite3_stmt *stmt = NULL;
  int rc = sqlite3_prepare_v2(reader->session->db, sql, -1, &stmt, NULL);
  if (rc == SQLITE_OK) {
    rc = sqlite3_bind_text(stmt, 1, name, -1, SQLITE_STATIC);
  }
  while (rc == SQLITE_OK && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
    rc = row(reader, stmt) < 0 ? SQLITE_NOMEM : SQLITE_OK;
  }
  (void)sqlite3_finalize(stmt);
  if (rc != SQLITE_DONE) {
    lite_fault(reader->session, rc);
    return -1;
  }
  return 0;
}

static int name_row(struct reader *reader, sqlite3_stmt *stmt) {
  reader->table = tdsd_arena_take(reader->arena, sizeof *reader->table);
  if (reader->table == NULL) {
    return -1;
  }
  reader->table->name = text_at(reader, stmt, 0);
  return reader->table->name == NULL ? -1 : 0;
}

/* A column with what both kinds of tables tell of it: name, type, two flags,
 * DEFAULT.  Returns NULL without memory. */
static struct tdsd_rw_column *read_column(struct reader *reader,
                                          sqlite3_stmt *stmt) {
  struct tdsd_rw_column *column = add_column(reader);
  const char *type = (const char *)sqlite3_column_text(stmt, 1);
  if (column == NULL) {
    return NULL;
  }
  *column = (struct tdsd_rw_column){.name = text_at(reader, stmt, 0),
                                    .other = text_at(reader, stmt, 4)};
  column->known = type != NULL && tdsd_rw_type_scan(type, &column->type) == 0;
  return column->name == NULL ? NULL : column;
}

/* name, type, nullable, identity, other */
static int own_row(struct reader *reader, sqlite3_stmt *stmt) {
  struct tdsd_rw_column *column = read_column(reader, stmt);
  if (column == NULL) {
    return -1;
  }
  column->type.nullable = sqlite3_column_int(stmt, 2) != 0;
  column->identity = sqlite3_column_int(stmt, 3) != 0;
  return 0;
}

/* name, type, notnull, pk, dflt_value */
static int foreign_row(struct reader *reader, sqlite3_stmt *stmt) {
  struct tdsd_rw_column *column = read_column(reader, stmt);
  if (column == NULL) {
    return -1;
  }
  column->type.nullable =
      sqlite3_column_int(stmt, 2) == 0 && sqlite3_column_int(stmt, 3) == 0;
  return 0;
}

int lite_catalog_find(void *user,
                      const char *name,
                      struct tdsd_arena *arena,
                      const struct tdsd_rw_table **out_table,
                      struct tdsd_fault *fault) {
  struct reader reader = {.session = user, .arena = arena};
  bool temporary = name[0] == '#';
  int rc = for_each(&reader,
                    temporary ? "SELECT name FROM temp.sqlite_schema WHERE "
                                "type = 'table' AND name = ?1 COLLATE NOCASE"
                              : "SELECT name FROM main.sqlite_schema WHERE "
                                "type IN ('table', 'view') AND name = ?1 "
                                "COLLATE NOCASE",
                    name, name_row);
  if (rc == 0 && reader.table == NULL) {
    return 0;
  }
  if (rc == 0) {
    reader.table->temporary = temporary;
    rc = for_each(&reader,
                  temporary ? "SELECT name, type, nullable, identity, other "
                              "FROM temp.tdsd_columns WHERE tbl = ?1 ORDER BY "
                              "ord"
                            : "SELECT name, type, nullable, identity, other "
                              "FROM main.tdsd_columns WHERE tbl = ?1 ORDER BY "
                              "ord",
                  name, own_row);
  }
  if (rc == 0 && reader.table->ncolumns == 0) {
    rc = for_each(&reader,
                  "SELECT name, type, \"notnull\", pk, dflt_value FROM "
                  "pragma_table_info(?1) ORDER BY cid",
                  name, foreign_row);
  }
  if (rc < 0) {
    *fault = reader.session->task.fault;
    return -1;
  }
  *out_table = reader.table;
  return 1;
}
