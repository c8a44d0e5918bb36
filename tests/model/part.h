/* SPDX-License-Identifier: MIT */
/* part.h - a model with what is to be run of it: sizes that must be sound, and
 * mutants that must be found out. */
#ifndef WEIR_MODEL_PART_H
#define WEIR_MODEL_PART_H

#include "checker.h"

struct part_run {
  const char *name;
  const void *setup;
  bool large; /* only with --large */
};

/* What is wrong, and a run in which it must show. */
struct part_mutant {
  int mutant;
  const char *name;
  const char *where; /* the step that it breaks */
  const char *what;
  const void *setup;
};

struct part {
  const char *name;
  const struct model *model;
  const struct part_run *runs;
  size_t n_runs;
  const struct part_mutant *mutants;
  size_t n_mutants;
};

extern const struct part part_pool;
extern const struct part part_queue;
extern const struct part part_behind;
extern const struct part part_marks;
extern const struct part part_op;
extern const struct part part_kick;
extern const struct part part_inbox;

/* Prints the map from the pool's steps to the engine, as rows of Markdown. */
void pool_print_steps(void);

#endif
