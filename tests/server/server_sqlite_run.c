/* SPDX-License-Identifier: MIT */
/* What a worker does: rewrite, prepare, step, and write tokens. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_sqlite_impl.h"

/* Instructions of SQLite's machine between two looks at the cancel flag. */
#define PROGRESS_OPS 2000

static int progress(void *context) {
  struct lite_session *session = context;
  /* Relaxed: only whether it is set matters. */
  return atomic_load_explicit(&session->cancel, memory_order_relaxed) ? 1 : 0;
}

/* The serving thread looks at db to interrupt it. */
static void set_handle(struct lite_session *session, sqlite3 *db) {
  (void)pthread_mutex_lock(&session->lite->mu);
  session->db = db;
  (void)pthread_mutex_unlock(&session->lite->mu);
}

int lite_handle_open(struct lite_session *session, struct tdsd_fault *fault) {
  sqlite3 *db = NULL;
  int rc = sqlite3_open_v2(
      session->lite->path, &db,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
  set_handle(session, db);
  if (rc == SQLITE_OK) {
    sqlite3_progress_handler(session->db, PROGRESS_OPS, progress, session);
    (void)sqlite3_extended_result_codes(session->db, 1);
    rc = tdsd_lite_functions(session->db, &session->env);
  }
  if (rc == SQLITE_OK) {
    /* A test server's data need not outlive a power cut. */
    rc = sqlite3_exec(session->db,
                      "PRAGMA temp_store = MEMORY; PRAGMA foreign_keys = ON; "
                      "PRAGMA synchronous = OFF;"
                      "CREATE TEMP TABLE tdsd_columns (tbl TEXT COLLATE "
                      "NOCASE, ord INTEGER, name TEXT, type TEXT, nullable "
                      "INTEGER, identity INTEGER, other TEXT, PRIMARY KEY "
                      "(tbl, ord)); CREATE TEMP TABLE tdsd_keys (tbl TEXT "
                      "COLLATE NOCASE, kind TEXT, name TEXT, columns TEXT "
                      "COLLATE NOCASE);",
                      NULL, NULL, NULL);
  }
  if ((rc & 0xFF) == SQLITE_BUSY) {
    session->task.outcome = LITE_BUSY;
    lite_handle_close(session);
    return -1;
  }
  if (rc != SQLITE_OK) {
    (void)tdsd_fault_set(
        fault, 5120, 16, "Unable to open the database: %.256s.",
        session->db == NULL ? "no memory" : sqlite3_errmsg(session->db));
    lite_handle_close(session);
    return -1;
  }
  return 0;
}

void lite_statement_drop(struct lite_session *session) {
  (void)sqlite3_finalize(session->stmt);
  session->stmt = NULL;
}

void lite_roll_back(struct lite_session *session) {
  if (session->db != NULL && sqlite3_get_autocommit(session->db) == 0) {
    (void)sqlite3_exec(session->db, "ROLLBACK", NULL, NULL, NULL);
  }
}

/* Temporary tables, one after the other, because each drop changes the list. */
void lite_drop_temps(struct lite_session *session) {
  static const char list[] =
      "SELECT format('DROP TABLE temp.\"%w\"; DELETE FROM temp.tdsd_columns; "
      "DELETE FROM temp.tdsd_keys', name) FROM temp.sqlite_schema WHERE type = "
      "'table' AND name LIKE '#%' LIMIT 1";
  bool more = session->db != NULL;
  lite_statement_drop(session);
  while (more) {
    sqlite3_stmt *stmt = NULL;
    char *sql = NULL;
    if (sqlite3_prepare_v2(session->db, list, -1, &stmt, NULL) == SQLITE_OK &&
        sqlite3_step(stmt) == SQLITE_ROW) {
      sql = strdup((const char *)sqlite3_column_text(stmt, 0));
    }
    (void)sqlite3_finalize(stmt);
    more = sql != NULL &&
           sqlite3_exec(session->db, sql, NULL, NULL, NULL) == SQLITE_OK;
    free(sql);
  }
}

void lite_handle_close(struct lite_session *session) {
  sqlite3 *db = session->db;
  lite_statement_drop(session);
  set_handle(session, NULL);
  (void)sqlite3_close(db);
}

/* Takes what has to run first: BEGIN, SAVEPOINT and their like. */
static char *take_pending(struct lite_session *session) {
  (void)pthread_mutex_lock(&session->lite->mu);
  char *pending = session->pending;
  session->pending = NULL;
  (void)pthread_mutex_unlock(&session->lite->mu);
  return pending;
}

static int catch_up(struct lite_session *session) {
  char *pending = take_pending(session);
  int rc = SQLITE_OK;
  if (pending != NULL) {
    rc = sqlite3_exec(session->db, pending, NULL, NULL, NULL);
    free(pending);
  }
  return rc;
}

static void failed(struct lite_session *session, int code) {
  struct lite_task *task = &session->task;
  bool in_tran = sqlite3_get_autocommit(session->db) == 0;
  task->outcome = LITE_FAILED;
  if ((code & 0xFF) == SQLITE_BUSY && code != SQLITE_BUSY_SNAPSHOT &&
      session->env.fault.number == 0) {
    task->outcome = LITE_BUSY;
    lite_statement_drop(session);
    return;
  }
  if (code == SQLITE_BUSY_SNAPSHOT && in_tran) {
    lite_statement_drop(session);
    lite_roll_back(session);
    task->rolled_back = true;
    (void)tdsd_fault_set(&task->fault, 1205, 13,
                         "Transaction (Process ID %u) was deadlocked on lock "
                         "resources with another process and has been chosen "
                         "as the deadlock victim. Rerun the transaction.",
                         (unsigned)session->env.state.spid);
    task->fault.state = 45;
    task->fault.line = task->line;
    return;
  }
  lite_fault(session, code);
  lite_statement_drop(session);
}

static int bind_params(struct lite_session *session) {
  const struct tdsd_rewrite *rewritten = &session->task.rewritten;
  struct tdsd_context context = {.arena = &session->task.made,
                                 .batch = &session->task.batch,
                                 .state = &session->env.state,
                                 .fault = &session->env.fault};
  for (uint32_t i = 0; i < rewritten->nparams; i++) {
    struct tdsd_value value;
    if (!rewritten->params[i].global) {
      value = session->task.batch.variables[rewritten->params[i].slot].value;
    } else if (tdsd_global_eval(rewritten->params[i].slot, &context, &value) <
               0) {
      return SQLITE_ERROR;
    }
    int rc = tdsd_lite_bind(session->stmt, (int)i + 1, &value);
    if (rc != SQLITE_OK) {
      return rc;
    }
  }
  return SQLITE_OK;
}

/* CREATE and its like are several statements: all or none. */
static void run_schema(struct lite_session *session) {
  struct lite_task *task = &session->task;
  int rc =
      sqlite3_exec(session->db, "SAVEPOINT \"tdsd schema\"", NULL, NULL, NULL);
  if (rc == SQLITE_OK) {
    rc = sqlite3_exec(session->db, task->rewritten.sql, NULL, NULL, NULL);
  }
  if (rc == SQLITE_OK) {
    rc = sqlite3_exec(session->db, "RELEASE \"tdsd schema\"", NULL, NULL, NULL);
  }
  if (rc == SQLITE_OK) {
    task->outcome = LITE_OVER;
    return;
  }
  rc = sqlite3_extended_errcode(session->db);
  failed(session, rc);
  if (!task->rolled_back) {
    (void)sqlite3_exec(session->db,
                       "ROLLBACK TO \"tdsd schema\"; RELEASE \"tdsd schema\"",
                       NULL, NULL, NULL);
  }
}

static void run_changes(struct lite_session *session) {
  struct lite_task *task = &session->task;
  int rc = SQLITE_ROW;
  while (rc == SQLITE_ROW) {
    rc = sqlite3_step(session->stmt);
  }
  if (rc != SQLITE_DONE) {
    failed(session, rc);
    return;
  }
  task->rows = (uint64_t)sqlite3_changes64(session->db);
  task->identity_taken = task->rewritten.identity && task->rows != 0;
  task->identity = sqlite3_last_insert_rowid(session->db);
  lite_statement_drop(session);
  task->outcome = LITE_OVER;
}

/* A column whose type nobody declared has the type of its first value. */
static void guess_type(sqlite3_value *value, struct tdsd_type *out) {
  *out = (struct tdsd_type){.kind = TDSD_NVARCHAR, .size = 4000};
  int64_t integer = sqlite3_value_int64(value);
  switch (sqlite3_value_type(value)) {
  case SQLITE_INTEGER:
    out->kind =
        integer >= INT32_MIN && integer <= INT32_MAX ? TDSD_INT : TDSD_BIGINT;
    break;
  case SQLITE_FLOAT:
    out->kind = TDSD_FLOAT;
    break;
  case SQLITE_BLOB:
    out->kind = TDSD_VARBINARY;
    out->size = TDSD_SIZE_MAX;
    break;
  case SQLITE_TEXT:
    out->size = TDSD_SIZE_MAX;
    break;
  default:
    break;
  }
  out->nullable = true;
}

/* Settles the columns once the first row, or their lack, is known. */
static int make_columns(struct lite_session *session, bool row) {
  struct lite_task *task = &session->task;
  const struct tdsd_rewrite *rewritten = &task->rewritten;
  uint32_t n = rewritten->ncolumns;
  session->columns =
      tdsd_arena_take(&task->made, (n + 1) * sizeof *session->columns);
  task->values = tdsd_arena_take(&task->made, (n + 1) * sizeof *task->values);
  if (session->columns == NULL || task->values == NULL) {
    return -1;
  }
  for (uint32_t i = 0; i < n; i++) {
    const struct tdsd_rw_column *column = &rewritten->columns[i];
    session->columns[i].name = column->name;
    session->columns[i].type = column->type;
    if (!column->known) {
      sqlite3_value *value =
          row ? sqlite3_column_value(session->stmt, (int)i) : NULL;
      session->columns[i].type = (struct tdsd_type){
          .kind = TDSD_NVARCHAR, .size = 4000, .nullable = true};
      if (value != NULL) {
        guess_type(value, &session->columns[i].type);
      }
    }
    /* The sizes of texts and the scales of floats are of no use to the wire. */
    if (session->columns[i].type.kind <= TDSD_NVARCHAR &&
        session->columns[i].type.size == 0) {
      session->columns[i].type.size = 1;
    }
  }
  if (rewritten->targets == NULL) {
    struct tdsd_writer writer = {.reply = &task->tokens,
                                 .version = task->version};
    tdsd_write_columns(&writer, session->columns, n);
  }
  return 0;
}

static int write_one(struct lite_session *session) {
  struct lite_task *task = &session->task;
  const struct tdsd_rewrite *rewritten = &task->rewritten;
  struct tdsd_arena *arena =
      rewritten->targets != NULL ? &task->made : &session->env.scratch;
  struct tdsd_writer writer = {.reply = &task->tokens,
                               .version = task->version};
  tdsd_arena_fini(&session->env.scratch);
  for (uint32_t i = 0; i < rewritten->ncolumns; i++) {
    struct tdsd_value *value = &task->values[i];
    if (tdsd_lite_get(sqlite3_column_value(session->stmt, (int)i),
                      &session->columns[i].type, true, arena, value,
                      &session->env.fault) < 0) {
      return -1;
    }
    if (value->is_null && !session->columns[i].type.nullable) {
      return tdsd_fault_set(&session->env.fault, 50000, 16,
                            "tdsd: column '%.128s' was declared NOT NULL and "
                            "has a NULL.",
                            session->columns[i].name);
    }
    if (rewritten->targets != NULL && !value->is_null && value->len != 0 &&
        (value->bytes = tdsd_arena_copy(arena, value->bytes, value->len)) ==
            NULL) {
      return tdsd_fault_set(&session->env.fault, 701, 17,
                            "There is insufficient memory for this query.");
    }
  }
  if (rewritten->targets == NULL) {
    tdsd_write_row(&writer, session->columns, task->values,
                   rewritten->ncolumns);
  }
  return 0;
}

/* Steps until the chunk is full or the rows are over. */
static void run_rows(struct lite_session *session) {
  struct lite_task *task = &session->task;
  for (;;) {
    int rc = sqlite3_step(session->stmt);
    bool row = rc == SQLITE_ROW;
    if (!row && rc != SQLITE_DONE) {
      failed(session, rc);
      return;
    }
    if (session->columns == NULL && make_columns(session, row) < 0) {
      failed(session, SQLITE_NOMEM);
      return;
    }
    if (!row) {
      lite_statement_drop(session);
      task->outcome = LITE_OVER;
      return;
    }
    if (write_one(session) < 0) {
      failed(session, SQLITE_ERROR);
      return;
    }
    task->rows++;
    if (session->row_limit != 0 && task->rows == session->row_limit) {
      lite_statement_drop(session);
      task->outcome = LITE_OVER;
      return;
    }
    if (tdsd_buf_len(&task->tokens) >= TDSD_LITE_CHUNK) {
      task->outcome = LITE_CHUNK;
      return;
    }
  }
}

static int rewrite(struct lite_session *session) {
  struct lite_task *task = &session->task;
  const struct tdsd_rw_catalog catalog = {lite_catalog_find, session};
  const struct tdsd_rw_input input = {.sql = task->sql,
                                      .len = task->len,
                                      .line = task->line,
                                      .batch = &task->batch,
                                      .state = &session->env.state,
                                      .catalog = &catalog};
  if (tdsd_rewrite(&input, &task->made, &task->rewritten, &task->fault) < 0) {
    return -1;
  }
  if (task->slot >= 0) {
    task->rewritten.targets = &task->slot;
  }
  return 0;
}

/* SET ROWCOUNT n holds for what is sent; what is changed cannot be cut. */
static int take_row_limit(struct lite_session *session) {
  const char *text = tdsd_state_get(&session->env.state, "rowcount", "0");
  session->row_limit = strtoul(text, NULL, 10);
  if (session->row_limit == 0 ||
      session->task.rewritten.kind != TDSD_RW_CHANGES) {
    return 0;
  }
  session->task.fault.line = session->task.line;
  return tdsd_fault_set(&session->task.fault, 40517, 16,
                        "Keyword or statement option 'SET ROWCOUNT with %s' is "
                        "not supported in this version of SQL Server.",
                        session->task.rewritten.verb);
}

static void run(struct lite_session *session) {
  struct lite_task *task = &session->task;
  tdsd_arena_fini(&task->made);
  session->columns = NULL;
  session->env.fault.number = 0;
  task->rows = 0;
  task->terminated = false;
  task->rolled_back = false;
  task->identity_taken = false;
  memset(&task->rewritten, 0, sizeof task->rewritten);
  task->outcome = LITE_FAILED;
  task->fault.number = 0;
  task->fault.line = task->line;
  if (session->db == NULL && lite_handle_open(session, &task->fault) < 0) {
    return;
  }
  int rc = catch_up(session);
  if (rc != SQLITE_OK) {
    failed(session, rc);
    return;
  }
  if (rewrite(session) < 0 || take_row_limit(session) < 0) {
    return;
  }
  if (task->rewritten.kind == TDSD_RW_SCHEMA) {
    run_schema(session);
    return;
  }
  rc = sqlite3_prepare_v2(session->db, task->rewritten.sql, -1, &session->stmt,
                          NULL);
  if (rc == SQLITE_OK) {
    rc = bind_params(session);
  }
  if (rc != SQLITE_OK) {
    failed(session, rc);
  } else if (task->rewritten.kind == TDSD_RW_CHANGES) {
    run_changes(session);
  } else {
    run_rows(session);
  }
}

static void commit(struct lite_session *session) {
  struct lite_task *task = &session->task;
  char *pending = take_pending(session);
  bool open = session->db != NULL && sqlite3_get_autocommit(session->db) == 0;
  task->outcome = LITE_OVER;
  task->fault.number = 0;
  int rc = open && pending != NULL
               ? sqlite3_exec(session->db, pending, NULL, NULL, NULL)
               : SQLITE_OK;
  free(pending);
  if (open && rc == SQLITE_OK) {
    rc = sqlite3_exec(session->db, "COMMIT", NULL, NULL, NULL);
  }
  if (rc != SQLITE_OK) {
    failed(session, rc);
    lite_roll_back(session);
  }
}

void lite_task_do(struct lite_session *session) {
  switch (session->task.ask) {
  case LITE_RUN:
    run(session);
    break;
  case LITE_MORE:
    run_rows(session);
    break;
  case LITE_COMMIT:
    commit(session);
    break;
  case LITE_NOTHING:
  default:
    break;
  }
}
