/* SPDX-License-Identifier: MIT */
/* compare.h - runs the plan interleaved and writes what came of it. */
#ifndef PEERS_COMPARE_H
#define PEERS_COMPARE_H

#include <stdint.h>
#include <stdio.h>

#include "fault.h"
#include "plan.h"
#include "trial.h"

/* One row of the plan with all its results. */
struct compare_row {
  const struct plan_part *part;
  struct params params;
  struct result *results; /* [pool * rounds + round] */
};

struct compare {
  const char *conninfo;
  uint32_t rounds;
  struct compare_row *rows;
  uint32_t n_rows;
};

/* Makes the rows.  Returns 0, or -1 with *fault.  Free with compare_fini. */
int compare_init(struct compare *c, struct fault *fault);
void compare_fini(struct compare *c);

/* Whether a pool takes part in a row. */
bool compare_takes_part(const struct compare_row *row, uint32_t pool);

/* Counts system calls, then runs all rounds: in each, every row with every pool,
 * in the other order every other round.  Returns 0, or -1 with *fault.  Threads:
 * the caller must be the only one. */
int compare_run(struct compare *c, struct fault *fault);

/* What a figure was over the rounds. */
struct spread {
  double median;
  double min;
  double max;
};

/* The spread of a pool's figure, and of its ratio to another pool's in the same
 * round. */
struct spread compare_figure(const struct compare *c,
                             const struct compare_row *row,
                             uint32_t pool,
                             const struct figure *figure);
struct spread compare_ratio(const struct compare *c,
                            const struct compare_row *row,
                            uint32_t pool,
                            uint32_t other,
                            const struct figure *figure);

/* Writes all results, one JSON array; and the table of ratios. */
void compare_json(const struct compare *c, FILE *to);
void compare_table(const struct compare *c, FILE *to);

#endif
