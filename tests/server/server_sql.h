/* SPDX-License-Identifier: MIT */
/* The T-SQL subset: runs a text, a step at a time, into the stream.  It never
 * blocks: WAITFOR and long results hand control back with a word on when to go
 * on.  It is the answerer of last resort (server_answer.h).
 *
 * server_sql.c is the machine, server_statement.c and server_object.c hold
 * statements, server_raise.c messages and errors, server_exec.c EXEC,
 * server_select.c SELECT. */
#ifndef TDSD_SERVER_SQL_H
#define TDSD_SERVER_SQL_H

#include "server_answer.h"
#include "server_ast.h"
#include "server_flow.h"
#include "server_proc.h"

struct tdsd_context;

/* CATCH blocks within one another. */
#define TDSD_CATCHES_MAX 16u

struct tdsd_exec {
  struct tdsd_answer *answer; /* what is answered */
  struct tdsd_state *state;   /* the answer's, at hand */
  struct tdsd_stream *stream;
  struct tdsd_arena arena;   /* of the text */
  struct tdsd_arena scratch; /* of one operation or row */
  struct tdsd_batch batch;
  struct tdsd_fault fault;
  const struct tdsd_op *op; /* the one at hand */
  uint32_t pc;              /* the next */
  uint64_t wake_ns;
  uint64_t step_ns; /* when the step at hand began */
  bool waiting;     /* in a WAITFOR */
  bool thrown;      /* fault comes from THROW */
  bool stop;        /* the rest of the text is not run */
  bool raised;      /* fault is for the asking text's CATCH */
  bool kill;
  bool parked;     /* the operation is tried again when somebody wakes us */
  bool terminated; /* fault ended a change of rows */
  /* What each CATCH that is open has caught, and what was caught outside. */
  struct tdsd_fault *caught[TDSD_CATCHES_MAX];
  const struct tdsd_fault *caught_outside;
  struct tdsd_answer nested; /* of the EXEC at hand */
  struct tdsd_invoke invoke; /* its procedure; name NULL for EXEC (...) */
  struct tdsd_select *part;  /* of the SELECT under way; NULL = none */
  struct tdsd_select *first;
  struct tdsd_column *columns;
  uint32_t ncolumns;
  uint64_t at;           /* next row of the part's source */
  uint64_t end;          /* rows of the part's source */
  uint64_t sent;         /* rows sent of the SELECT */
  uint64_t limit;        /* rows the part may still give (TOP) */
  bool described;        /* its COLMETADATA has been written */
  struct tdsd_flow flow; /* a large row of it under way */
};

/* For the executor's own files. */

/* Writes exec->fault, or hands it to its CATCH, and does what its number asks
 * for. */
void tdsd_exec_fail(struct tdsd_exec *exec, uint32_t command);

/* The step has gone on for long enough, or its reply is large. */
bool tdsd_exec_used_up(const struct tdsd_exec *exec);

/* A context over the scratch arena, which is emptied before each operation. */
struct tdsd_context tdsd_exec_context(struct tdsd_exec *exec);

/* Evaluate an expression outside of a SELECT: as it is, as text (NULL becomes
 * an empty string), as int.  Return 0, or -1 with the fault. */
int tdsd_exec_eval(struct tdsd_exec *exec,
                   struct tdsd_expr *expr,
                   struct tdsd_value *out);
int tdsd_exec_eval_text(struct tdsd_exec *exec,
                        struct tdsd_expr *expr,
                        struct tdsd_value *out);
int tdsd_exec_eval_int(struct tdsd_exec *exec,
                       struct tdsd_expr *expr,
                       int64_t *out);

/* Gives a variable a value of its type.  Returns 0, or -1 with the fault. */
int tdsd_exec_assign(struct tdsd_exec *exec,
                     uint32_t slot,
                     const struct tdsd_value *value);

/* Starts the SELECT of an operation, and gives rows until the reply is large or
 * the rows are over (then exec->part is NULL). */
void tdsd_select_begin(struct tdsd_exec *exec, struct tdsd_select *select);
void tdsd_select_step(struct tdsd_exec *exec);

/* Run one operation of their kind.  Return 0, or -1 with the fault. */
int tdsd_exec_print(struct tdsd_exec *exec, const struct tdsd_op *op);
int tdsd_exec_raiserror(struct tdsd_exec *exec, const struct tdsd_op *op);
int tdsd_exec_throw(struct tdsd_exec *exec, const struct tdsd_op *op);
int tdsd_exec_statement(struct tdsd_exec *exec,
                        const struct tdsd_op *op,
                        uint64_t now_ns);

int tdsd_exec_object(struct tdsd_exec *exec, const struct tdsd_op *op);

/* Makes a #temporary table of these columns ("a int, b bit"). */
int tdsd_exec_create(struct tdsd_exec *exec,
                     const char *name,
                     const char *columns);

/* Reads the columns of a table into names and types of a source. */
int tdsd_exec_read_columns(struct tdsd_exec *exec,
                           const char *text,
                           struct tdsd_source *source);

/* EXEC: begins, or answers at once; then exec->nested is under way (its by is
 * not NULL) until tdsd_exec_return() is told how it ended. */
int tdsd_exec_call(struct tdsd_exec *exec, const struct tdsd_op *op);
/* The same for a statement on tables. */
void tdsd_exec_tables(struct tdsd_exec *exec, const struct tdsd_op *op);
int tdsd_exec_return(struct tdsd_exec *exec, enum tdsd_answer_result result);

#endif
