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

void tds_exec_init(struct weir_drv_conn *c);
void tds_exec_fini(struct weir_drv_conn *c);

/* The arguments of the statement. */
struct tds_arg *tds_exec_args(const struct weir_drv_conn *c, uint32_t *out_n);

/* Starts a statement.  prepare: through the cache of prepared ones.  Returns as
 * the driver's exec(). */
weir_drv_status tds_exec_start(struct weir_drv_conn *c,
                               const struct weir_drv_exec_args *a,
                               bool prepare,
                               struct tds_turn *t);

/* Builds the call of what was checked, and sets it up to be sent.  Returns as a
 * step. */
weir_drv_status tds_exec_call(struct weir_drv_conn *c, struct tds_turn *t);

/* The same once more, after an answer.  Returns as a step. */
weir_drv_status tds_exec_again(struct weir_drv_conn *c, struct tds_turn *t);

/* The collation of the database: of char, varchar and text. */
const uint8_t *tds_exec_collation(const struct weir_drv_conn *c);

/* The declarations of the parameters; p NULL: there are none. */
struct tds_span tds_exec_types(const struct weir_drv_conn *c);

/* The request has left, or never will. */
void tds_exec_sent(struct weir_drv_conn *c);

/* Lets go of what belongs to the caller and of large buffers; the operation is
 * over. */
void tds_exec_end(struct weir_drv_conn *c);

/* Forgets all output values; lead and front as above. */
void tds_out_clear(struct weir_drv_conn *c);

/* Expects a value for each argument that returns one, behind front other calls.
 * Returns TDS_OK or TDS_E_NOMEM. */
int tds_out_expect(struct weir_drv_conn *c, uint32_t lead, uint32_t front);

/* Takes the RETURNVALUE that the decoder has read. */
void tds_out_take(struct weir_drv_conn *c);

/* The results are over: WEIR_DRV_OUT, then WEIR_DRV_ROWS, then TDS_NEXT; in
 * between WEIR_DRV_WAIT, or a failure.  Is to be called again until TDS_NEXT. */
weir_drv_status tds_out_give(struct weir_drv_conn *c, struct tds_turn *t);

#endif
