/* SPDX-License-Identifier: MIT */
#include "demo_report.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>

#include "diag.h"
#include "duration.h"
#include "exit_code.h"

/* The most values a median is taken of: rounds. */
#define MEDIAN_MAX 100

static int compare_ns(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a;
  int64_t right = *(const int64_t *)b;
  return left < right ? -1 : left > right;
}

/* Sorts values; of an even number the lower of the two in the middle, and 0 of
 * none. */
static int64_t median(int64_t *values, uint32_t n) {
  if (n == 0) {
    return 0;
  }
  qsort(values, n, sizeof *values, compare_ns);
  return values[(n - 1) / 2];
}

int64_t demo_report_one(const struct demo_report *report) {
  int64_t values[MEDIAN_MAX] = {0};
  uint32_t n = report->n_alone < MEDIAN_MAX ? report->n_alone : MEDIAN_MAX;
  for (uint32_t i = 0; i < n; i++) {
    values[i] = report->alone[i].wall_ns;
  }
  return median(values, n);
}

int64_t demo_report_goal(int64_t one_ns, uint32_t n, int64_t cpu_ns) {
  return one_ns * 5 / 2 + (int64_t)n * cpu_ns / 2;
}

/* Processor time of one open, taken once from the opens alone and once from
 * the ramps.  The first has start-up costs that a ramp pays once for all, the
 * second what the pool does beside opening; the smaller is nearer to the bare
 * handshake and makes the goal the stricter one. */
struct cost {
  int64_t client_ns;
  int64_t server_ns;
};

static struct cost cost_of_one(const struct demo_report *report) {
  struct demo_cpu alone = {0};
  struct demo_cpu ramp = {0};
  for (uint32_t i = 0; i < report->n_alone; i++) {
    alone.client += report->alone[i].cpu.client / report->n_alone;
    alone.server += report->alone[i].cpu.server / report->n_alone;
  }
  int64_t n = (int64_t)report->threads * report->rounds;
  for (uint32_t i = 0; i < report->rounds; i++) {
    ramp.client += report->ramps[i].cpu.client / n;
    ramp.server += report->ramps[i].cpu.server / n;
  }
  return (struct cost){
      .client_ns = alone.client < ramp.client ? alone.client : ramp.client,
      .server_ns = alone.server < ramp.server ? alone.server : ramp.server,
  };
}

/* Sums and medians over the rounds. */
struct total {
  uint64_t connects;
  uint64_t statements;
  uint64_t rows;
  uint64_t soft;
  uint32_t sessions_max;
  uint32_t sessions_distinct; /* fewest of a round */
  uint64_t begun_max;         /* most connects begun in a round */
  int64_t wall_ns;
  int64_t wall_min_ns;
  int64_t wall_max_ns;
  int64_t query_ns;
  int64_t soft_ns;
};

static void add_round(struct total *total, const struct demo_ramp *ramp) {
  total->connects += ramp->connects_ok;
  total->statements += ramp->statements;
  total->rows += ramp->rows;
  total->soft += ramp->soft;
  total->soft_ns += ramp->soft_ns;
  if (ramp->sessions_max > total->sessions_max) {
    total->sessions_max = ramp->sessions_max;
  }
  if (ramp->sessions_distinct < total->sessions_distinct) {
    total->sessions_distinct = ramp->sessions_distinct;
  }
  if (ramp->connects_begun > total->begun_max) {
    total->begun_max = ramp->connects_begun;
  }
}

static struct total add_up(const struct demo_report *report) {
  struct total total = {.sessions_distinct = UINT32_MAX};
  int64_t walls[MEDIAN_MAX] = {0};
  int64_t queries[MEDIAN_MAX] = {0};
  uint32_t n = report->rounds < MEDIAN_MAX ? report->rounds : MEDIAN_MAX;
  for (uint32_t i = 0; i < n; i++) {
    add_round(&total, &report->ramps[i]);
    walls[i] = report->ramps[i].wall_ns;
    queries[i] = report->ramps[i].query_ns;
  }
  total.wall_ns = median(walls, n);
  total.wall_min_ns = walls[0];
  total.wall_max_ns = walls[n > 0 ? n - 1 : 0];
  total.query_ns = median(queries, n);
  return total;
}

static double ratio(int64_t a, int64_t b) {
  return (double)a / (double)(b > 0 ? b : 1);
}

static void print_counts(FILE *to,
                         const struct demo_report *report,
                         const struct total *total) {
  (void)fprintf(to,
                "Weir demo: %u threads ask a cold pool for a connection each, "
                "at once\n\n",
                report->threads);
  (void)fprintf(to,
                "  connections opened     %" PRIu64 " in %u round%s, each in a "
                "new engine\n",
                total->connects, report->rounds,
                report->rounds == 1 ? "" : "s");
  (void)fprintf(to, "  sessions               at most %u in a pool of %u",
                total->sessions_max, report->threads);
  if (total->sessions_distinct > 0) {
    (void)fprintf(to, ", %u distinct at the server", total->sessions_distinct);
  }
  (void)fprintf(to,
                "\n  query rows             %" PRIu64 " from %" PRIu64
                " statements\n\n",
                total->rows, total->statements);
}

/* The serial time for all threads, estimated if only some were opened. */
static int64_t serial_ns(const struct demo_report *report) {
  return report->serial.wall_ns * report->threads / report->serial.opened;
}

static void print_times(FILE *to,
                        const struct demo_report *report,
                        const struct total *total) {
  char a[32];
  char b[32];
  int64_t one = demo_report_one(report);
  int64_t serial = serial_ns(report);
  (void)fprintf(to,
                "  one open               %-8s  median of %u, each in a "
                "new engine\n",
                duration_text(one, a), report->n_alone);
  if (report->login_delay_ms > 0) {
    (void)fprintf(to, "%35sincl. the server's %u ms login delay\n", "",
                  report->login_delay_ms);
  }
  (void)fprintf(to, "  one after another      %-8s  ",
                duration_text(serial, a));
  if (report->serial.opened == report->threads) {
    (void)fprintf(to, "all %u in one pool, measured whole\n", report->threads);
  } else {
    (void)fprintf(to, "%u in one pool, from the first %u\n", report->threads,
                  report->serial.opened);
  }
  (void)fprintf(to, "  all at once            %-8s  ",
                duration_text(total->wall_ns, a));
  (void)fprintf(to, "wall time, median of %u (%s to %s)\n", report->rounds,
                duration_text(total->wall_min_ns, a),
                duration_text(total->wall_max_ns, b));
  (void)fprintf(to, "    to one after another %.1f times as fast\n",
                ratio(serial, total->wall_ns));
  (void)fprintf(to, "    to one open          %.1f times as long\n",
                ratio(total->wall_ns, one));
  (void)fprintf(to,
                "  all statements         %-8s  running and giving back, "
                "median of %u\n",
                duration_text(total->query_ns, a), report->rounds);
  if (total->soft > 0) {
    (void)fprintf(to,
                  "  soft connects          %-8s  on average, %" PRIu64
                  " by %u threads\n",
                  duration_text(total->soft_ns / (int64_t)total->soft, a),
                  total->soft, report->threads);
  }
}

static void print_goal(FILE *to,
                       const struct demo_report *report,
                       const struct total *total) {
  char a[32];
  struct cost cost = cost_of_one(report);
  int64_t one = demo_report_one(report);
  int64_t goal =
      demo_report_goal(one, report->threads, cost.client_ns + cost.server_ns);
  (void)fprintf(to, "\n  processor time         client %s",
                duration_text(cost.client_ns, a));
  if (report->knows_server) {
    (void)fprintf(to, ", server %s", duration_text(cost.server_ns, a));
  }
  (void)fprintf(to, " per open%s\n",
                report->knows_server ? ""
                                     : " (--server-pid adds the server's)");
  (void)fprintf(
      to,
      "  goal                   %-8s  2.5 x one open + %u x processor "
      "time / 2\n",
      duration_text(goal, a), report->threads);
  (void)fprintf(to, "    all at once took     %-8s  %s\n",
                duration_text(total->wall_ns, a),
                total->wall_ns <= goal
                    ? "met"
                    : "missed (other load on the machine counts)");
}

/* A pool of N never has, nor opens, N + 1 sessions. */
static int check_sessions(const struct demo_report *report,
                          const struct total *total) {
  int code = EXIT_CODE_OK;
  if (total->sessions_max > report->threads ||
      total->begun_max > report->threads) {
    diag_line("check failed: a pool of %u had %u sessions and began %" PRIu64
              " connects",
              report->threads, total->sessions_max, total->begun_max);
    code = EXIT_CODE_CHECK;
  }
  if (total->sessions_distinct > 0 &&
      total->sessions_distinct != report->threads) {
    diag_line("check failed: %u leases held at once were of %u sessions",
              report->threads, total->sessions_distinct);
    code = EXIT_CODE_CHECK;
  }
  return code;
}

int demo_report_print(FILE *to, const struct demo_report *report) {
  struct total total = add_up(report);
  print_counts(to, report, &total);
  print_times(to, report, &total);
  print_goal(to, report, &total);
  return check_sessions(report, &total);
}
