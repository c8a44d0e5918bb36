/* SPDX-License-Identifier: MIT */
/* options.h - weirbench's command line. */
#ifndef WEIRBENCH_OPTIONS_H
#define WEIRBENCH_OPTIONS_H

#include <stdbool.h>

#include "param.h"
#include "trial.h"
#include "workload.h"

/* They run side by side; one may be named twice, to see the noise. */
#define STRATEGIES_MAX TRIALS_TOGETHER

struct options {
  enum {
    VERB_HELP,
    VERB_VERSION,
    VERB_LIST,
    VERB_RUN
  } verb;
  const struct workload *workload;
  struct param_sets sets;
  /* Each row runs with each of them; none: as the connection string says. */
  const char *strategies[STRATEGIES_MAX];
  uint32_t n_strategies;
  const char *conninfo;
  bool quick;
  bool json;
};

extern const char options_help[];

/* What "--strategy all" stands for; *out_n gets their number. */
const char *const *options_strategies(uint32_t *out_n);

/* Reads the command line.  Returns 0, or -1 with *fault. */
int options_read(int argc,
                 char **argv,
                 struct options *out,
                 struct fault *fault);

#endif
