/* SPDX-License-Identifier: MIT */
/* demo_figures.c - sums, medians and verdicts of weirctl demo. */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "demo_report.h"
#include "diag.h"
#include "exit_code.h"

/* A lead is judged where one after another takes so long, and so many times what
 * all at once should take: elsewhere opening is work, not waiting, or so short that
 * other load decides.  What is the server's work must be known for that. */
#define JUDGED_NS    INT64_C(100000000)
#define JUDGED_TIMES 4

static int compare(const void *a, const void *b) {
  double left = *(const double *)a;
  double right = *(const double *)b;
  return left < right ? -1 : left > right;
}

/* Sorts values; of an even number the lower of the two in the middle, and 0 of
 * none. */
static double median(double *values, uint32_t n) {
  if (n == 0) {
    return 0;
  }
  qsort(values, n, sizeof *values, compare);
  return values[(n - 1) / 2];
}

static uint32_t rounds_of(const struct demo_report *report) {
  return report->rounds < DEMO_ROUNDS_MAX ? report->rounds : DEMO_ROUNDS_MAX;
}

int64_t demo_report_one(const struct demo_report *report) {
  double values[DEMO_ROUNDS_MAX] = {0};
  uint32_t n =
      report->n_alone < DEMO_ROUNDS_MAX ? report->n_alone : DEMO_ROUNDS_MAX;
  for (uint32_t i = 0; i < n; i++) {
    values[i] = (double)report->alone[i].wall_ns;
  }
  return (int64_t)median(values, n);
}

int64_t demo_report_goal(int64_t one_ns, uint32_t n, int64_t cpu_ns) {
  return one_ns * 5 / 2 + (int64_t)n * cpu_ns / 2;
}

/* Processor time of one open, taken once from the opens alone and once from
 * the ramps.  The first has start-up costs that a ramp pays once for all, the
 * second what the pool does beside opening; the smaller is nearer to the bare
 * handshake and makes the goal the stricter one. */
static struct demo_cpu cost_of_one(const struct demo_report *report) {
  struct demo_cpu alone = {0};
  struct demo_cpu ramp = {0};
  for (uint32_t i = 0; i < report->n_alone; i++) {
    alone.client += report->alone[i].cpu.client / report->n_alone;
    alone.server += report->alone[i].cpu.server / report->n_alone;
  }
  int64_t n = (int64_t)report->threads * report->rounds;
  for (uint32_t i = 0; i < report->rounds; i++) {
    ramp.client += report->round[i].ramp.cpu.client / n;
    ramp.server += report->round[i].ramp.cpu.server / n;
  }
  return (struct demo_cpu){
      .client = alone.client < ramp.client ? alone.client : ramp.client,
      .server = alone.server < ramp.server ? alone.server : ramp.server,
  };
}

/* What one ramp took, or one acquire and release. */
static double value_of(const struct demo_report *report,
                       uint32_t i,
                       uint32_t workload,
                       uint32_t strategy) {
  const struct demo_round *round = &report->round[i];
  if (workload == DEMO_RAMP) {
    return (double)round->compared[strategy].wall_ns;
  }
  uint32_t k = workload - DEMO_RAPID;
  const struct demo_rapid *rapid = &round->rapid[k][strategy];
  int64_t ns = report->shapes[k].threads == 1 ? rapid->cpu_ns : rapid->wall_ns;
  return rapid->ops == 0 ? 0 : (double)ns / (double)rapid->ops;
}

static int64_t wait_below(const struct demo_round *round,
                          uint32_t workload,
                          uint32_t strategy) {
  return workload == DEMO_RAMP
             ? 0
             : round->rapid[workload - DEMO_RAPID][strategy].wait_below_ns;
}

static struct demo_figure figure_of(const struct demo_report *report,
                                    uint32_t workload,
                                    uint32_t strategy) {
  double values[DEMO_ROUNDS_MAX] = {0};
  struct demo_figure figure = {0};
  uint32_t n = rounds_of(report);
  for (uint32_t i = 0; i < n; i++) {
    int64_t wait = wait_below(&report->round[i], workload, strategy);
    values[i] = value_of(report, i, workload, strategy);
    figure.wait_below_ns =
        wait > figure.wait_below_ns ? wait : figure.wait_below_ns;
  }
  figure.median_ns = median(values, n);
  figure.min_ns = values[0];
  figure.max_ns = values[n > 0 ? n - 1 : 0];
  return figure;
}

static void compare_strategies(const struct demo_report *report,
                               struct demo_figures *out) {
  for (uint32_t w = 0; w < DEMO_WORKLOADS; w++) {
    for (uint32_t s = 0; s < DEMO_STRATEGIES; s++) {
      out->of[w][s] = figure_of(report, w, s);
    }
    double base = out->of[w][DEMO_DIRECT].median_ns;
    for (uint32_t s = 0; s < DEMO_STRATEGIES; s++) {
      out->of[w][s].ratio = base > 0 ? out->of[w][s].median_ns / base : 0;
    }
  }
}

static void add_round(struct demo_figures *sum, const struct demo_ramp *ramp) {
  sum->connects += ramp->connects_ok;
  sum->statements += ramp->statements;
  sum->rows += ramp->rows;
  sum->soft += ramp->soft;
  sum->soft_ns += ramp->soft_ns;
  if (ramp->sessions_max > sum->sessions_max) {
    sum->sessions_max = ramp->sessions_max;
  }
  if (ramp->sessions_distinct < sum->sessions_distinct) {
    sum->sessions_distinct = ramp->sessions_distinct;
  }
}

static void add_up(const struct demo_report *report, struct demo_figures *out) {
  double walls[DEMO_ROUNDS_MAX] = {0};
  double queries[DEMO_ROUNDS_MAX] = {0};
  uint32_t n = rounds_of(report);
  out->sessions_distinct = UINT32_MAX;
  for (uint32_t i = 0; i < n; i++) {
    add_round(out, &report->round[i].ramp);
    walls[i] = (double)report->round[i].ramp.wall_ns;
    queries[i] = (double)report->round[i].ramp.query_ns;
  }
  out->wall_ns = (int64_t)median(walls, n);
  out->wall_min_ns = (int64_t)walls[0];
  out->wall_max_ns = (int64_t)walls[n > 0 ? n - 1 : 0];
  out->query_ns = (int64_t)median(queries, n);
}

static bool is_judged(const struct demo_report *report,
                      const struct demo_figures *figures) {
  int64_t serial = figures->one_ns * report->compared;
  int64_t goal = demo_report_goal(figures->one_ns, report->compared,
                                  figures->cpu.client + figures->cpu.server);
  return report->knows_server && serial >= JUDGED_NS &&
         serial >= goal * JUDGED_TIMES;
}

void demo_figures_take(const struct demo_report *report,
                       struct demo_figures *out) {
  struct demo_figures figures = {0};
  add_up(report, &figures);
  compare_strategies(report, &figures);
  figures.one_ns = demo_report_one(report);
  /* Estimated where only some were opened. */
  figures.serial_ns =
      report->serial.wall_ns * report->threads / report->serial.opened;
  figures.cpu = cost_of_one(report);
  figures.goal_ns = demo_report_goal(figures.one_ns, report->threads,
                                     figures.cpu.client + figures.cpu.server);
  figures.judged = is_judged(report, &figures);
  *out = figures;
}

/* ---------------------------------------------------------------- verdicts */

/* A pool of N never has, nor opens, N + 1 sessions, nor gives one to two. */
static bool check_ramp(const struct demo_ramp *ramp,
                       uint32_t strategy,
                       uint32_t n) {
  const char *name = demo_strategy_name((enum demo_strategy)strategy);
  bool good = true;
  if (ramp->sessions_max > n || ramp->connects_begun > n) {
    diag_line(
        "check failed: %s: a pool of %u had %u sessions and began %" PRIu64
        " connects",
        name, n, ramp->sessions_max, ramp->connects_begun);
    good = false;
  }
  if (ramp->sessions_distinct > 0 && ramp->sessions_distinct != n) {
    diag_line("check failed: %s: %u leases held at once were of %u sessions",
              name, n, ramp->sessions_distinct);
    good = false;
  }
  return good;
}

/* The first bad ramp is told, as one fault makes many of them. */
static bool check_sessions(const struct demo_report *report) {
  for (uint32_t i = 0; i < report->rounds; i++) {
    const struct demo_round *round = &report->round[i];
    bool good = check_ramp(&round->ramp, DEMO_DIRECT, report->threads);
    for (uint32_t s = 0; s < DEMO_STRATEGIES && good; s++) {
      good = check_ramp(&round->compared[s], s, report->compared);
    }
    if (!good) {
      return false;
    }
  }
  return true;
}

static bool check_lead(double lead, const char *than) {
  if (lead < DEMO_LEAD_MIN) {
    diag_line(
        "check failed: direct opened the connections %.2f times as fast as "
        "%s; %.1f times is the least",
        lead, than, DEMO_LEAD_MIN);
  }
  return lead >= DEMO_LEAD_MIN;
}

int demo_figures_check(const struct demo_report *report,
                       const struct demo_figures *figures) {
  bool good = check_sessions(report);
  if (figures->judged) {
    const struct demo_figure *of = figures->of[DEMO_RAMP];
    double fastest =
        (double)(figures->wall_min_ns > 0 ? figures->wall_min_ns : 1);
    double compared = of[DEMO_DIRECT].min_ns > 0 ? of[DEMO_DIRECT].min_ns : 1;
    good = check_lead(of[DEMO_LEGACY].min_ns / compared, "legacy") && good;
    good =
        check_lead((double)figures->serial_ns / fastest, "one after another") &&
        good;
  }
  return good ? EXIT_CODE_OK : EXIT_CODE_CHECK;
}
