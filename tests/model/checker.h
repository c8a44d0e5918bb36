/* SPDX-License-Identifier: MIT */
/* checker.h - an explicit-state model checker.
 *
 * A model is a state of fixed size and a function that moves one of its movers
 * (threads, or what happens to them) by one step.  Every order of steps is gone
 * through, breadth first, so that the way to a broken state is as short as it can
 * be.  Of a visited state its 64-bit fingerprint, its parent and the move that led
 * to it are kept; states themselves are kept only until they have been looked
 * at.  Two states of one fingerprint would hide one of them: among 10 million
 * states the chance is below one in 300,000. */
#ifndef WEIR_MODEL_CHECKER_H
#define WEIR_MODEL_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CHECKER_STATE_MAX 512u

/* One move, as the model sees it. */
struct move {
  void *state; /* to be changed; a model's own struct */
  int mover;
  int alternative;
  const void *setup;  /* the sizes and options of this run */
  int mutant;         /* what is wrong in this run; 0: nothing */
  bool passes_time;   /* set by a move that only a clock makes */
  const char *broken; /* set by a move that must not happen: a sentence */
};

struct model {
  const char *name;
  size_t state_size; /* a multiple of 8, at most CHECKER_STATE_MAX */
  int movers;
  int alternatives; /* most that a mover has in a state */
  void (*start)(void *state, const void *setup);
  /* Makes the move.  False, with the state untouched: there is no such one. */
  bool (*make)(struct move *move);
  /* NULL, or what must never be, in any state; and in one in which nothing can
   * move any more but a clock. */
  const char *(*never)(const void *state, const void *setup);
  const char *(*at_rest)(const void *state, const void *setup);
  /* Says in words what the move will do. */
  void (*tell)(const struct move *move, char *text, size_t size);
};

struct found {
  const char *broken; /* NULL: nothing */
  bool too_many;      /* stopped at the limit of states */
  bool no_memory;
  uint32_t states;
  uint64_t moves;
  uint32_t depth; /* moves from the start to the last state seen */
  double seconds;
};

/* Goes through all states, at most limit.  With show, prints the way to what is
 * broken, one step a line, to stdout. */
void checker_run(const struct model *model,
                 const void *setup,
                 int mutant,
                 uint32_t limit,
                 bool show,
                 struct found *out);

#endif
