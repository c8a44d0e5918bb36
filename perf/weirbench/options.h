/* SPDX-License-Identifier: MIT */
/* options.h - weirbench's command line. */
#ifndef WEIRBENCH_OPTIONS_H
#define WEIRBENCH_OPTIONS_H

#include <stdbool.h>

#include "param.h"
#include "workload.h"

struct options {
  enum {
    VERB_HELP,
    VERB_VERSION,
    VERB_LIST,
    VERB_RUN
  } verb;
  const struct workload *workload;
  struct param_sets sets;
  const char *strategy; /* NULL: as the connection string says */
  const char *conninfo;
  bool quick;
  bool json;
};

extern const char options_help[];

/* Reads the command line.  Returns 0, or -1 with *fault. */
int options_read(int argc,
                 char **argv,
                 struct options *out,
                 struct fault *fault);

#endif
