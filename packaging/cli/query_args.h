/* SPDX-License-Identifier: MIT */
/* query_args.h - the command line of "weirctl query". */
#ifndef WEIRCTL_QUERY_ARGS_H
#define WEIRCTL_QUERY_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "out.h"
#include "param.h"

/* What it said. */
struct query_args {
  char *conninfo;
  const char *file;
  const char *sql;
  const char *driver_dirs;
  const struct out_format *format;
  size_t max_width;
  int64_t timeout_ns; /* negative: the connection string's */
  bool verbose;
  bool quiet;
  bool help;
  bool prepared;
  struct params params; /* --param and --out, in their order */
};

/* Reads it; what is not said is as args was before.  Returns an exit code; what
 * was wrong has been printed.  Owns: the parameters, until params_free(). */
int query_args_parse(struct query_args *args, int argc, char **argv);

#endif
