/* SPDX-License-Identifier: MIT */
/* tds_exec.h - a statement on its way: what it is called with, what comes back.
 *
 *   arguments -> types -> CHECK (text is measured, a slice a step) -> call -> SEND
 */
#ifndef TDS_EXEC_H
#define TDS_EXEC_H

#include "weir_driver.h"

#include "tds_rpc.h"
#include "tds_token.h"

struct weir_drv_conn;
struct tds_turn;

/* One parameter, with the type it will have. */
struct tds_arg {
  struct weir_drv_value value;
  struct tds_hint type;
  struct tds_span name; /* with its '@', UTF-8 */
  char given[16];       /* the name of one that has none: "@P1" */
  bool returns;
  uint64_t bytes; /* on the wire, of a text or binary value */
};

/* The statement. */
struct tds_exec {
  struct tds_span sql;
  uint64_t sql_bytes;   /* as UTF-16 */
  struct tds_buf args;  /* struct tds_arg */
  struct tds_buf types; /* the declarations, UTF-8 */
  uint64_t types_bytes; /* as UTF-16 */
  struct tds_rpc rpc;
  bool secret;  /* a value is: what holds it is wiped */
  bool prepare; /* through "weir.stmt" */
  uint32_t at;  /* what CHECK looks at: 0 the statement, then arguments */
  struct tds_measure measure;
  uint16_t *back; /* tds_codepage_back() of the collation, if it was needed */
};

/* One output value. */
struct tds_output {
  uint32_t arg; /* whose it is */
  bool seen;
  bool null;
  struct tds_type type;
  struct tds_buf value; /* the cell */
};

/* What happens to output values: they come in the server's order, with large
 * ones last, and wait here until the results are over. */
struct tds_outputs {
  struct tds_buf list;  /* struct tds_output */
  struct tds_buf value; /* the cell that is being read */
  bool null;            /* it is NULL */
  struct tds_sink sink; /* fills value */
  bool wanted;          /* whether values are looked at at all */
  uint32_t lead;        /* parameters of the call in front of the arguments */
  uint32_t front;       /* calls in front of the one that matters */
  uint8_t told;         /* 0 nothing, 1 WEIR_DRV_OUT, 2 the row */
  uint32_t copied;      /* values in the row so far ... */
  uint8_t *block;       /* ... and of the next one, a part of a block */
  uint64_t block_n;
};

/* ------------------------------------------------------ tds_args.c: parameters */

/* The arguments of the statement. */
struct tds_arg *tds_args_all(const struct weir_drv_conn *c, uint32_t *out_n);

/* Takes them over: names, types, and what can be judged without looking at long
 * values.  Returns TDS_NEXT, or as a step: a refusal. */
weir_drv_status tds_args_take(struct weir_drv_conn *c,
                              struct tds_turn *t,
                              const struct weir_drv_exec_args *a);

/* The collation of the database, and how text of a type goes over the wire. */
const uint8_t *tds_args_collation(const struct weir_drv_conn *c);
uint8_t tds_args_charset(const struct weir_drv_conn *c,
                         const struct tds_hint *type);

/* Writes the declarations.  Returns TDS_OK or TDS_E_NOMEM. */
int tds_args_declare(struct weir_drv_conn *c);

/* The declarations; p NULL: there are no parameters. */
struct tds_span tds_args_types(const struct weir_drv_conn *c);

/* Puts the values into the call.  Returns as tds_args_take. */
weir_drv_status tds_args_put(struct weir_drv_conn *c, struct tds_turn *t);

/* Refuse the statement: nothing was sent, and the session is as it was.  Return
 * WEIR_DRV_FAIL.  refuse_value: "parameter @a (int): why". */
weir_drv_status tds_exec_refuse(struct weir_drv_conn *c,
                                struct tds_turn *t,
                                int32_t kind,
                                const char *why);
weir_drv_status tds_exec_refuse_value(struct weir_drv_conn *c,
                                      struct tds_turn *t,
                                      const struct tds_arg *a,
                                      const char *why);
weir_drv_status tds_exec_no_memory(struct weir_drv_conn *c, struct tds_turn *t);

/* --------------------------------------------- tds_check.c: looking at long text */

/* Starts the step CHECK. */
void tds_check_begin(struct weir_drv_conn *c);

/* ----------------------------------------------------------------- tds_exec.c */

void tds_exec_init(struct weir_drv_conn *c);
void tds_exec_fini(struct weir_drv_conn *c);

/* Starts a statement.  prepare: through the cache of prepared ones.  Returns as
 * the driver's exec(). */
weir_drv_status tds_exec_start(struct weir_drv_conn *c,
                               const struct weir_drv_exec_args *a,
                               bool prepare,
                               struct tds_turn *t);

/* All was looked at: sets the batch or the call up to be sent.  Returns as a
 * step. */
weir_drv_status tds_exec_checked(struct weir_drv_conn *c, struct tds_turn *t);

/* The call once more, after an answer.  Returns as a step. */
weir_drv_status tds_exec_again(struct weir_drv_conn *c, struct tds_turn *t);

/* The request has left, or never will. */
void tds_exec_sent(struct weir_drv_conn *c);

/* Lets go of what belongs to the caller and of large buffers; the operation is
 * over. */
void tds_exec_end(struct weir_drv_conn *c);

/* -------------------------------------------------- tds_out.c: output values */

void tds_out_init(struct weir_drv_conn *c);
void tds_out_fini(struct weir_drv_conn *c);

/* Forgets all output values. */
void tds_out_clear(struct weir_drv_conn *c);

/* Expects a value for each argument that returns one, behind front other calls
 * and lead parameters.  Returns TDS_OK or TDS_E_NOMEM. */
int tds_out_expect(struct weir_drv_conn *c, uint32_t lead, uint32_t front);

/* Takes the RETURNVALUE that the decoder has read. */
void tds_out_take(struct weir_drv_conn *c);

/* The results are over: WEIR_DRV_OUT, then WEIR_DRV_ROWS, then TDS_NEXT; in
 * between WEIR_DRV_WAIT, or a failure.  Is to be called again until TDS_NEXT. */
weir_drv_status tds_out_give(struct weir_drv_conn *c, struct tds_turn *t);

#endif
