/* SPDX-License-Identifier: MIT */
/* demo_report.h - what weirctl demo has measured, and the reports of it. */
#ifndef WEIRCTL_DEMO_REPORT_H
#define WEIRCTL_DEMO_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "demo.h"
#include "term.h"

/* One thread that opens and closes, and more threads than connections. */
#define DEMO_SHAPES 2u

/* What was measured in one round, each strategy in turn. */
struct demo_round {
  struct demo_ramp ramp; /* direct, with all threads */
  /* With as many threads as legacy gets through in the time; where that is all of
   * them, [DEMO_DIRECT] is the ramp above. */
  struct demo_ramp compared[DEMO_STRATEGIES];
  struct demo_rapid rapid[DEMO_SHAPES][DEMO_STRATEGIES];
};

struct demo_report {
  uint32_t threads;
  uint32_t compared; /* threads of the ramps compared */
  struct demo_shape shapes[DEMO_SHAPES];
  uint32_t rounds;
  uint32_t n_alone;
  bool knows_server;
  uint32_t login_delay_ms;   /* the server's, as far as it was told; 0: none */
  struct demo_serial *alone; /* n_alone of them, one connection each */
  struct demo_serial serial;
  struct demo_round *round; /* rounds of them */
};

/* The most values a median is taken of. */
#define DEMO_ROUNDS_MAX 100u

/* Of a workload under a strategy over all rounds: the time that one ramp took, or one
 * acquire and release of all threads together; of one thread alone, which nothing
 * stops, the processor time, as that is not stretched by other load. */
struct demo_figure {
  double median_ns;
  double min_ns;
  double max_ns;
  double ratio;          /* of the median to direct's */
  int64_t wait_below_ns; /* of all rounds; as struct demo_rapid has it */
};

enum demo_workload {
  DEMO_RAMP,
  DEMO_RAPID, /* and DEMO_RAPID + 1: the two shapes */
  DEMO_WORKLOADS = DEMO_RAPID + DEMO_SHAPES
};

/* Sums and medians over the rounds. */
struct demo_figures {
  uint64_t connects;
  uint64_t statements;
  uint64_t rows;
  uint64_t soft;
  int64_t soft_ns;
  int64_t query_ns;
  /* Of the ramps of all strategies. */
  uint32_t sessions_max;      /* of a ramp with all threads */
  uint32_t sessions_distinct; /* fewest of a round; 0: not told */
  /* Of direct's ramps with all threads. */
  int64_t wall_ns;
  int64_t wall_min_ns;
  int64_t wall_max_ns;
  int64_t one_ns;      /* one open */
  int64_t serial_ns;   /* all one after another */
  struct demo_cpu cpu; /* of one open */
  int64_t goal_ns;
  struct demo_figure of[DEMO_WORKLOADS][DEMO_STRATEGIES];
  /* Whether opening is mostly waiting, and long enough to be judged by. */
  bool judged;
};

/* Measures: fills in what report->threads and report->rounds ask for, showing
 * progress on a terminal.  Returns EXIT_CODE_OK, or says what failed and returns the
 * code.  Owns: memory in *report until demo_report_free(), also after a failure. */
int demo_measure(const struct demo_target *target, struct demo_report *report);
void demo_report_free(struct demo_report *report);

/* The median time of one open. */
int64_t demo_report_one(const struct demo_report *report);

/* The time that the ramp should not exceed: 2.5 times one open and the
 * handshakes' processor time spread over two processors. */
int64_t demo_report_goal(int64_t one_ns, uint32_t n, int64_t cpu_ns);

void demo_figures_take(const struct demo_report *report,
                       struct demo_figures *out);

/* Times as fast as legacy, and as one after another, that direct must be.  It is
 * judged by the fastest rounds, as other load only ever adds: eleven times are usual,
 * four with ten programs for each processor. */
#define DEMO_LEAD_MIN 1.5

/* Says on standard error what is not as it must be: a pool had or opened more
 * sessions than it may, or handed one out twice; or direct's ramp is not clearly
 * ahead where it is judged.  Returns EXIT_CODE_OK or EXIT_CODE_CHECK. */
int demo_figures_check(const struct demo_report *report,
                       const struct demo_figures *figures);

/* Prints the report: for people; as one JSON object. */
void demo_report_print(FILE *to,
                       const struct term *term,
                       const struct demo_report *report,
                       const struct demo_figures *figures);
void demo_report_json(FILE *to,
                      const struct demo_report *report,
                      const struct demo_figures *figures,
                      bool passed);

#endif
