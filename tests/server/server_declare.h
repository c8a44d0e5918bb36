/* SPDX-License-Identifier: MIT */
/* Declarations of parameters, "@a int, @b nvarchar(50) OUTPUT", and the values
 * of a call bound to them. */
#ifndef TDSD_SERVER_DECLARE_H
#define TDSD_SERVER_DECLARE_H

#include "server_value.h"

/* Arguments bound to declared parameters. */
struct tdsd_binding {
  struct tdsd_variable *params; /* as declared, with the arguments' values */
  uint32_t nparams;
  uint32_t *sources; /* for each param: its argument */
};

/* Parses the declarations and gives each parameter the argument of its name, or
 * the one without a name at its place, converted to the declared type.
 * text names the whole for messages.
 * Returns 0, or -1 with the fault: syntax, an argument too many (8144), unknown
 * (8145), missing (8178), OUTPUT only on one side (8162), a value that does not
 * convert.
 * Owns: all memory is the arena's. */
int tdsd_declare_bind(const char *declared,
                      size_t len,
                      const struct tdsd_variable *args,
                      uint32_t nargs,
                      const char *text,
                      struct tdsd_arena *arena,
                      struct tdsd_binding *out_binding,
                      struct tdsd_fault *fault);

#endif
