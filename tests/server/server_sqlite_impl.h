/* SPDX-License-Identifier: MIT */
/* What the files of the SQLite answerer share. */
#ifndef TDSD_SERVER_SQLITE_IMPL_H
#define TDSD_SERVER_SQLITE_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "server_rewrite.h"
#include "server_sqlite.h"
#include "server_sqlite_fn.h"

enum lite_ask {
  LITE_NOTHING,
  LITE_RUN,    /* a statement */
  LITE_MORE,   /* the next chunk of its rows */
  LITE_COMMIT, /* the transaction */
};

enum lite_outcome {
  LITE_OVER,   /* all is done and counted */
  LITE_CHUNK,  /* tokens, and more to come */
  LITE_FAILED, /* fault */
  LITE_BUSY,   /* another session writes: ask again later */
};

/* Where an answer stands. */
enum lite_phase {
  LITE_START, /* nothing is asked */
  LITE_ASKED, /* a worker has it */
  LITE_PAUSE, /* rows wait for their reader */
  LITE_RETRY, /* another session's lock is waited for */
};

/* What is asked and what came of it.  It belongs to the worker from the asking to
 * the coming back, else to the serving thread. */
struct lite_task {
  enum lite_ask ask;
  struct tdsd_arena arena; /* of the statement */
  const char *sql;
  size_t len;
  uint32_t line;
  int32_t slot;            /* answer->slot, or -1 */
  uint32_t version;        /* of the client's protocol */
  struct tdsd_batch batch; /* copies of the variables the statement names */
  struct tdsd_arena made;  /* by the worker */
  struct tdsd_rewrite rewritten;
  enum lite_outcome outcome;
  struct tdsd_buf tokens;
  uint64_t rows;
  struct tdsd_value *values; /* of SELECT @x = */
  bool identity_taken;
  int64_t identity;
  bool terminated;  /* the fault ended a change: message 3621 follows */
  bool rolled_back; /* the whole transaction is gone (1205) */
  struct tdsd_fault fault;
};

struct lite_session {
  struct tdsd_lite *lite;
  struct tdsd_state *state;        /* only for tdsd_lite_ready() */
  struct lite_session *next;       /* in the queue */
  struct lite_session *next_ready; /* among those that are ready */

  /* The worker's while busy, else nobody's. */
  sqlite3 *db; /* NULL until the first statement */
  sqlite3_stmt *stmt;
  struct tdsd_lite_env env;
  uint64_t row_limit;          /* SET ROWCOUNT; 0 = none */
  struct tdsd_column *columns; /* of the rows under way; in task.made */

  struct lite_task task;

  /* Guarded by lite->mu. */
  bool busy;       /* queued or with a worker */
  bool working;    /* with a worker: db may be interrupted */
  bool wanted;     /* the serving thread waits for the task */
  bool wait_idle;  /* ... or for the worker to leave */
  bool finish;     /* drop the statement */
  bool rollback;   /* roll back */
  bool drop_temps; /* drop the temporary tables */
  bool reopen;     /* close the handle: temporary tables go with it */
  bool closed;     /* free everything */
  bool asked;      /* the task is for the worker */
  bool ready;      /* among those that are ready */
  char *pending;   /* to run before the next statement; NULL = nothing */
  _Atomic bool cancel;

  /* The serving thread's. */
  enum lite_phase phase;
  bool touched;        /* a statement has been asked for since BEGIN */
  bool committing;     /* LITE_COMMIT has been asked for */
  uint64_t waits_from; /* since when another session's lock is waited for */
};

struct tdsd_lite {
  char *path;
  sqlite3 *keeper; /* open as long as the server: nobody is the last to close,
                      who would put the log away while others open */
  bool temporary;
  int fd; /* an eventfd */
  pthread_mutex_t mu;
  pthread_cond_t work;               /* something is in the queue, or quit */
  pthread_cond_t changed;            /* a worker or a session has ended */
  struct lite_session *first, *last; /* the queue */
  struct lite_session *done;         /* those that are ready */
  pthread_t threads[TDSD_LITE_WORKERS];
  uint32_t workers;
  uint32_t idle;
  uint32_t sessions;
  bool quit;
};

/* Puts the session in the queue; lite->mu is held. */
void lite_queue(struct lite_session *session);

/* On the serving thread (server_sqlite.c). */
void lite_lock(struct lite_session *session);
void lite_unlock(struct lite_session *session);
/* Asks a worker.  The task is the serving thread's until then. */
void lite_ask(struct lite_session *session, enum lite_ask what);
/* Whether the task has come back. */
bool lite_is_back(struct lite_session *session);
/* Whether the worker has left the session; if not, it will tell. */
bool lite_is_idle(struct lite_session *session);
/* Writes error 701.  Returns -1. */
int lite_no_memory(struct tdsd_fault *fault);

/* What the answerer does with transactions (server_sqlite_tran.c); see
 * server_answer.h. */
int lite_transact(void *own,
                  enum tdsd_tran_verb verb,
                  const char *name,
                  struct tdsd_fault *fault);
bool lite_committing(void *own);

/* Starts a session of the database; frees one that no worker has. */
struct lite_session *lite_session_new(struct tdsd_lite *lite,
                                      struct tdsd_state *state);
void lite_session_free(struct lite_session *session);

/* Opens a handle with everything statements need.
 * Returns 0, or -1 with the fault. */
int lite_handle_open(struct lite_session *session, struct tdsd_fault *fault);
void lite_handle_close(struct lite_session *session);

/* On the worker (server_sqlite_run.c): does what the task asks. */
void lite_task_do(struct lite_session *session);
void lite_statement_drop(struct lite_session *session);
void lite_roll_back(struct lite_session *session);
void lite_drop_temps(struct lite_session *session);

/* The rewriter's view of the schema (server_sqlite_catalog.c). */
int lite_catalog_find(void *session,
                      const char *name,
                      struct tdsd_arena *arena,
                      const struct tdsd_rw_table **out_table,
                      struct tdsd_fault *fault);

/* Makes the tables beside the schema. */
int lite_catalog_make(sqlite3 *db);

/* What SQLite's last error is to the client (server_sqlite_fault.c). */
void lite_fault(struct lite_session *session, int code);

#endif
