/* SPDX-License-Identifier: MIT */
/* param.h - parameters of a statement, read from the command line. */
#ifndef WEIRCTL_PARAM_H
#define WEIRCTL_PARAM_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#define PARAMS_MAX 1000u

/* All zero is none. */
struct params {
  struct weir_param *at;
  uint32_t n;
};

/* Reads "NAME[:TYPE][=VALUE]" and appends it.  Without =VALUE it is NULL; TYPE, of
 * the server's, says how VALUE is read.  Returns NULL, or what is wrong, with
 * nothing appended.  Texts of the parameter stay where they are in text, which
 * must outlive it. */
const char *params_add(struct params *params, const char *text, bool out);

/* Wipes and frees what was decoded. */
void params_free(struct params *params);

#endif
