/* SPDX-License-Identifier: MIT */
/* The procedures that exist: those that run a text (sp_executesql, the prepared
 * ones) and some that clients call around their work.  RPC and EXEC both come
 * here. */
#ifndef TDSD_SERVER_PROC_H
#define TDSD_SERVER_PROC_H

#include "server_answer.h"

struct tdsd_invoke {
  /* Set by the caller. */
  const char *name;           /* the last part, without database or schema */
  struct tdsd_variable *args; /* their OUTPUT values are changed in place */
  uint32_t nargs;
  struct tdsd_arena *arena;
  struct tdsd_state *state;
  struct tdsd_stream *stream; /* results go there */

  /* Set by begin: the text to be answered with these parameters; NULL if the
   * procedure has already done its work. */
  const char *sql;
  size_t len;
  struct tdsd_variable *params;
  uint32_t nparams;
  uint32_t *sources; /* for each parameter: its argument */
  int32_t status;    /* what the procedure returns */
};

/* Calls a procedure.  Returns 0, or -1 with the fault: 2812 if there is none of
 * that name, 8179 for a handle that does not exist, ... */
int tdsd_invoke_begin(struct tdsd_invoke *invoke, struct tdsd_fault *fault);

/* The text has been answered: output values go from params to args. */
void tdsd_invoke_end(struct tdsd_invoke *invoke);

/* For the files of procedures. */

/* The argument of that name, else the one without a name at that place; NULL if
 * there is none or it is DEFAULT. */
struct tdsd_variable *tdsd_invoke_arg(const struct tdsd_invoke *invoke,
                                      uint32_t place,
                                      const char *name);

/* An argument as text.  Returns 0 with *out_text, NULL for a null or an argument
 * that is missing; -1 with the fault. */
int tdsd_invoke_text(const struct tdsd_invoke *invoke,
                     uint32_t place,
                     const char *name,
                     const char **out_text,
                     size_t *out_len,
                     struct tdsd_fault *fault);

/* Columns from their texts: "n NAME" nvarchar, "v NAME" varchar, "s NAME"
 * smallint, "i NAME" int. */
void tdsd_invoke_columns(const char *const *columns,
                         size_t n,
                         struct tdsd_column *out);

/* A result of such columns without rows. */
void tdsd_invoke_empty_result(const struct tdsd_invoke *invoke,
                              const char *const *columns,
                              size_t n);

/* Procedures that are not about texts (server_proc_misc.c).  Returns 0; -1 with
 * the fault; 1 if there is none of that name. */
int tdsd_invoke_misc(struct tdsd_invoke *invoke, struct tdsd_fault *fault);

/* sp_datatype_info: what types there are (server_proc_datatype.c).  Returns 0. */
int tdsd_invoke_datatype_info(struct tdsd_invoke *invoke,
                              struct tdsd_fault *fault);

#endif
