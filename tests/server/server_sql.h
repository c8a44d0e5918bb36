/* SPDX-License-Identifier: MIT */
/* Runs a batch, a step at a time, into a reply.  It never blocks: WAITFOR and
 * long results hand control back with a word on when to go on. */
#ifndef TDSD_SERVER_SQL_H
#define TDSD_SERVER_SQL_H

#include "server_ast.h"
#include "server_reply.h"
#include "server_state.h"

enum tdsd_exec_result {
  TDSD_EXEC_DONE, /* the reply is complete */
  TDSD_EXEC_WAIT, /* call again at wake_ns */
  TDSD_EXEC_FULL, /* call again when some of the reply has been sent */
  TDSD_EXEC_KILL, /* the reply is complete and the session must end */
};

struct tdsd_exec {
  struct tdsd_arena arena;   /* of the batch */
  struct tdsd_arena scratch; /* of one operation or row */
  struct tdsd_batch batch;
  struct tdsd_fault fault;
  struct tdsd_state *state;
  struct tdsd_writer writer;
  uint32_t pc; /* next operation */
  uint64_t wake_ns;
  uint64_t step_ns; /* when the step at hand began */
  bool waiting;     /* in a WAITFOR */
  bool procedure;   /* an RPC: DONEINPROC, DONEPROC */
  bool stop;        /* the rest of the batch is not run */
  bool kill;
  bool pending; /* a DONE that waits for what follows it */
  uint32_t pending_status;
  uint32_t pending_command;
  uint64_t pending_rows;
  struct tdsd_select *part; /* of the SELECT under way; NULL = none */
  struct tdsd_select *first;
  struct tdsd_column *columns;
  uint32_t ncolumns;
  uint64_t at;    /* next row of the part's source */
  uint64_t end;   /* rows of the part's source */
  uint64_t sent;  /* rows sent of the SELECT */
  uint64_t limit; /* rows the part may still give (TOP) */
};

/* Starts a batch.  Variables may have been put into exec->batch before (RPC
 * parameters; names and values in exec->arena).  A syntax error is written as
 * the whole reply by the first step.
 * Owns: exec needs tdsd_exec_fini(); state and writer's reply outlive it. */
void tdsd_exec_begin(struct tdsd_exec *exec,
                     struct tdsd_state *state,
                     const struct tdsd_writer *writer,
                     const char *sql,
                     size_t len);

/* Runs on.  now_ns is any steady clock. */
enum tdsd_exec_result tdsd_exec_step(struct tdsd_exec *exec, uint64_t now_ns);

void tdsd_exec_fini(struct tdsd_exec *exec);

/* For the executor's own files (server_select.c). */

/* Writes the DONE that waits, with the more bit, because a token follows. */
void tdsd_exec_flush(struct tdsd_exec *exec);
void tdsd_exec_done(struct tdsd_exec *exec,
                    uint32_t status,
                    uint32_t command,
                    uint64_t rows);
/* Writes exec->fault and does what its number asks for. */
void tdsd_exec_fail(struct tdsd_exec *exec, uint32_t command);

/* The step has gone on for long enough, or its reply is large. */
bool tdsd_exec_used_up(const struct tdsd_exec *exec);

/* Starts the SELECT of an operation, and gives rows until the reply is large or
 * the rows are over (then exec->part is NULL). */
void tdsd_select_begin(struct tdsd_exec *exec, struct tdsd_select *select);
void tdsd_select_step(struct tdsd_exec *exec);

/* Gives a variable a value of its type.  Returns 0, or -1 with the fault. */
int tdsd_exec_assign(struct tdsd_exec *exec,
                     uint32_t slot,
                     const struct tdsd_value *value);

#endif
