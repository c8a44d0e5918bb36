/* SPDX-License-Identifier: MIT */
/* small.h - what the small models share: a step is a number, a mover has a line of
 * them, and each step has a text. */
#ifndef WEIR_MODEL_SMALL_H
#define WEIR_MODEL_SMALL_H

#include <stdio.h>

#include "part.h"

#define SMALL_END 0xFFu /* a mover that is done */

static inline bool small_broken(struct move *m, const char *what) {
  m->broken = what;
  return true;
}

/* Goes on at that step of the mover's. */
static inline bool small_go(uint8_t *pc, unsigned to) {
  *pc = (uint8_t)to;
  return true;
}

static inline void small_tell(char *text,
                              size_t size,
                              const char *who,
                              const char *what,
                              int alternative) {
  (void)snprintf(text, size, "%-9s %s%s", who, what,
                 alternative == 0 ? "" : " (the other way)");
}

#define SMALL_PART(id, name_, model_, runs_, mutants_)     \
  const struct part id = {                                 \
      .name = name_,                                       \
      .model = &(model_),                                  \
      .runs = (runs_),                                     \
      .n_runs = sizeof(runs_) / sizeof(runs_)[0],          \
      .mutants = (mutants_),                               \
      .n_mutants = sizeof(mutants_) / sizeof(mutants_)[0], \
  }

#endif
