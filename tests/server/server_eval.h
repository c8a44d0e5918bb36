/* SPDX-License-Identifier: MIT */
/* Types of expressions before they run, and their values when they do. */
#ifndef TDSD_SERVER_EVAL_H
#define TDSD_SERVER_EVAL_H

#include "server_ast.h"
#include "server_state.h"

struct tdsd_context {
  struct tdsd_arena *arena; /* where values live */
  const struct tdsd_batch *batch;
  const struct tdsd_state *state;
  const struct tdsd_value *row; /* of the source; NULL without one */
  uint32_t nesting;             /* @@NESTLEVEL */
  struct tdsd_fault *fault;
};

/* Sets the types of an expression and finds its columns in source (may be NULL).
 * Returns 0, or -1 with the fault: unknown column, operands that do not fit. */
int tdsd_bind(struct tdsd_expr *expr,
              const struct tdsd_source *source,
              const struct tdsd_batch *batch,
              struct tdsd_fault *fault);

/* Computes a bound expression; the value has the expression's type.
 * Returns 0, or -1 with the fault. */
int tdsd_eval(const struct tdsd_expr *expr,
              const struct tdsd_context *context,
              struct tdsd_value *out);

/* Computes a bound condition: 1 true, 0 false, 2 unknown.
 * Returns 0, or -1 with the fault. */
int tdsd_eval_condition(const struct tdsd_expr *expr,
                        const struct tdsd_context *context,
                        int *out_truth);

/* Compares two values of one type: negative, 0 or positive. */
int tdsd_value_compare(const struct tdsd_value *a, const struct tdsd_value *b);

/* Arithmetic of two values (server_arith.c); type is the result's. */
int tdsd_arith_type(char op,
                    const struct tdsd_type *a,
                    const struct tdsd_type *b,
                    struct tdsd_type *out_type,
                    struct tdsd_fault *fault);
int tdsd_arith(char op,
               const struct tdsd_type *type,
               const struct tdsd_value *a,
               const struct tdsd_value *b,
               struct tdsd_arena *arena,
               struct tdsd_value *out,
               struct tdsd_fault *fault);

/* Size of a string value in the units of its type, at least 1; TDSD_SIZE_MAX
 * beyond what the type's length can say. */
uint32_t tdsd_value_units(const struct tdsd_value *value);

/* Functions and @@ names (server_function.c, server_global.c).  find returns the index; -1 if
 * there is none, for functions with the fault (195, or 174 for a wrong count). */
int32_t tdsd_global_find(const char *name, size_t len);
struct tdsd_type tdsd_global_type(uint32_t slot);
int tdsd_global_eval(uint32_t slot,
                     const struct tdsd_context *context,
                     struct tdsd_value *out);
int32_t tdsd_function_find(const char *name,
                           uint32_t nargs,
                           struct tdsd_fault *fault);
struct tdsd_type tdsd_function_type(const struct tdsd_expr *expr);
int tdsd_function_eval(const struct tdsd_expr *expr,
                       const struct tdsd_value *args,
                       const struct tdsd_context *context,
                       struct tdsd_value *out);

#endif
