/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "demo_report.h"
#include "exit_code.h"

#define MS     INT64_C(1000000)
#define ROUNDS 3

/* Three opens alone, two opened in turn, three rounds of four threads. */
static struct demo_serial alone[] = {
    {1, 12 * MS, {3 * MS, 1 * MS}},
    {1, 10 * MS, {3 * MS, 1 * MS}},
    {1, 11 * MS, {3 * MS, 1 * MS}},
};

static struct demo_ramp good_ramp(int64_t wall_ns) {
  return (struct demo_ramp){.threads = 4,
                            .sessions_max = 4,
                            .connects_ok = 4,
                            .connects_begun = 4,
                            .sessions_distinct = 4,
                            .wall_ns = wall_ns,
                            .cpu = {8 * MS, 8 * MS},
                            .statements = 4,
                            .rows = 8,
                            .query_ns = 2 * MS,
                            .soft = 800,
                            .soft_ns = 1 * MS};
}

/* Legacy takes four times as long as direct, channel half as long again; a rapid
 * open and close takes 400 ns, 150 ns and 100 ns. */
static struct demo_round good_round(int64_t wall_ns) {
  struct demo_round round = {.ramp = good_ramp(wall_ns)};
  static const int64_t times[] = {8, 3, 2};
  for (unsigned s = 0; s < DEMO_STRATEGIES; s++) {
    round.compared[s] = good_ramp(wall_ns * times[s] / 2);
    for (unsigned k = 0; k < DEMO_SHAPES; k++) {
      round.rapid[k][s] =
          (struct demo_rapid){.ops = 1000000,
                              .wall_ns = times[s] * 50 * MS,
                              .cpu_ns = times[s] * 25 * MS,
                              .wait_below_ns = (k == 0 ? 0 : MS)};
    }
  }
  return round;
}

static struct demo_report good_report(struct demo_round *rounds, uint32_t n) {
  return (struct demo_report){.threads = 4,
                              .compared = 4,
                              .shapes = {{1, 4}, {8, 1}},
                              .rounds = n,
                              .n_alone = 3,
                              .knows_server = true,
                              .alone = alone,
                              .serial = {2, 20 * MS, {0, 0}},
                              .round = rounds};
}

/* One in which opening is waiting, as the report judges it. */
static struct demo_report slow_report(struct demo_round *rounds,
                                      struct demo_serial *one) {
  struct demo_report report = good_report(rounds, 1);
  *one = (struct demo_serial){1, 100 * MS, {0, 0}};
  report.threads = 100;
  report.compared = 100;
  report.n_alone = 1;
  report.alone = one;
  report.serial = (struct demo_serial){100, 10000 * MS, {0, 0}};
  for (unsigned s = 0; s < DEMO_STRATEGIES; s++) {
    rounds[0].compared[s].sessions_max = 100;
    rounds[0].compared[s].sessions_distinct = 100;
  }
  rounds[0].ramp = rounds[0].compared[DEMO_DIRECT];
  return report;
}

static int verdict(const struct demo_report *report) {
  struct demo_figures figures;
  demo_figures_take(report, &figures);
  return demo_figures_check(report, &figures);
}

/* The text of a report, or its JSON.  Owns: until free(). */
/* noinline: else gcc 12 takes the text for a pointer to the variable. */
__attribute__((noinline)) static char *print(const struct demo_report *report,
                                             bool json) {
  struct demo_figures figures;
  struct term term = {.width = 80};
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  demo_figures_take(report, &figures);
  if (json) {
    demo_report_json(to, report, &figures, true);
  } else {
    demo_report_print(to, &term, report, &figures);
  }
  (void)fclose(to);
  return text;
}

static void expect_in(const char *text, const char *part) {
  cr_assert_not_null(strstr(text, part), "no \"%s\" in:\n%s", part, text);
}

Test(demo_report, sets_a_goal_by_opens_and_processors, .timeout = 5) {
  cr_assert_eq(demo_report_goal(10 * MS, 100, 2 * MS), 125 * MS);
}

Test(demo_report, tells_counts_medians_and_the_goal, .timeout = 5) {
  struct demo_round rounds[] = {good_round(30 * MS), good_round(20 * MS),
                                good_round(25 * MS)};
  struct demo_report report = good_report(rounds, ROUNDS);
  char *text = print(&report, false);
  cr_assert_eq(verdict(&report), EXIT_CODE_OK);
  expect_in(text, "connections opened     12 in 3 rounds");
  expect_in(text, "at most 4 in a pool of 4, 4 distinct at the server");
  expect_in(text, "query rows             24 from 12 statements");
  expect_in(text, "one open               11.0 ms");
  expect_in(text, "one after another      40.0 ms   4 in one pool, from the "
                  "first 2");
  expect_in(text, "all at once            25.0 ms   wall time, median of 3 "
                  "(20.0 ms to 30.0 ms)");
  expect_in(text, "to one after another 1.6 times as fast");
  /* Of processor time the smaller: the ramp's 2 ms, alone's 1 ms. */
  expect_in(text, "client 2.00 ms, server 1.00 ms per open");
  expect_in(text, "goal                   33.5 ms   2.5 x one open + 4 x "
                  "processor time / 2");
  expect_in(text, "all at once took     25.0 ms   met");
  cr_assert_null(strstr(text, "delay"));
  free(text);
}

Test(demo_report, compares_strategies_by_ratios_of_medians, .timeout = 5) {
  struct demo_round rounds[] = {good_round(30 * MS), good_round(20 * MS),
                                good_round(25 * MS)};
  struct demo_report report = good_report(rounds, ROUNDS);
  struct demo_figures f;
  demo_figures_take(&report, &f);
  for (unsigned w = 0; w < DEMO_WORKLOADS; w++) {
    cr_assert_float_eq(f.of[w][DEMO_LEGACY].ratio, 4.0, 1e-9);
    cr_assert_float_eq(f.of[w][DEMO_CHANNEL].ratio, 1.5, 1e-9);
    cr_assert_float_eq(f.of[w][DEMO_DIRECT].ratio, 1.0, 1e-9);
  }
  /* The processor time of one thread, but the time of several. */
  cr_assert_float_eq(f.of[DEMO_RAPID][DEMO_LEGACY].median_ns, 200, 1e-9);
  cr_assert_float_eq(f.of[DEMO_RAPID + 1][DEMO_LEGACY].median_ns, 400, 1e-9);
  cr_assert_eq(f.of[DEMO_RAPID][DEMO_LEGACY].wait_below_ns, 0);
  cr_assert_eq(f.of[DEMO_RAPID + 1][DEMO_LEGACY].wait_below_ns, MS);
}

Test(demo_report, charts_each_strategy_and_says_why, .timeout = 5) {
  struct demo_round rounds[] = {good_round(30 * MS)};
  struct demo_report report = good_report(rounds, 1);
  char *text = print(&report, false);
  expect_in(text, "Cold ramp: 4 threads open 4 connections");
  expect_in(text, "1 thread on 4 open connections; processor time "
                  "of one\n");
  expect_in(text, "8 threads on 1 open connection, so that somebody always");
  expect_in(text, "4.00 x    120 ms\n");
  expect_in(text, "1.50 x    150 ns, waits below 1.00 ms\n");
  expect_in(text, "  legacy   opens one connection at a time");
  expect_in(text, "  channel  has each caller open for itself");
  expect_in(text, "  direct   opens one more");
  free(text);
}

Test(demo_report, is_one_line_of_json, .timeout = 5) {
  struct demo_round rounds[] = {good_round(30 * MS)};
  struct demo_report report = good_report(rounds, 1);
  char *text = print(&report, true);
  cr_assert_eq(strchr(text, '\n') - text, (long)strlen(text) - 1);
  expect_in(text, "{\"threads\":4,\"rounds\":1,\"connections_opened\":4,");
  expect_in(text, "\"cpu_of_one_open_ns\":{\"client\":2000000,\"server\":");
  expect_in(text,
            "\"workload\":\"cold_ramp\",\"threads\":4,"
            "\"connections\":4,\"time\":\"wall\",\"strategies\":[{\"strategy\":"
            "\"legacy\",\"median_ns\":120000000.0,");
  expect_in(text, "\"ratio_to_direct\":1.5000,\"wait_below_ns\":1000000}");
  expect_in(text, "\"lead_judged\":false,\"passed\":true}");
  free(text);
}

Test(demo_report, does_not_fail_for_slowness, .timeout = 5) {
  struct demo_round rounds[] = {good_round(90 * MS)};
  struct demo_report report = good_report(rounds, 1);
  char *text = print(&report, false);
  cr_assert_eq(verdict(&report), EXIT_CODE_OK);
  expect_in(text, "in 1 round,");
  expect_in(text, "90.0 ms   missed (other load on the machine counts)");
  free(text);
}

Test(demo_report,
     fails_for_one_session_too_many_of_any_strategy,
     .timeout = 5) {
  for (unsigned s = 0; s < DEMO_STRATEGIES; s++) {
    struct demo_round rounds[] = {good_round(20 * MS)};
    struct demo_report report = good_report(rounds, 1);
    cr_assert_eq(verdict(&report), EXIT_CODE_OK);
    rounds[0].compared[s].sessions_max = 5;
    cr_assert_eq(verdict(&report), EXIT_CODE_CHECK);
  }
}

Test(demo_report, fails_for_a_session_held_twice, .timeout = 5) {
  struct demo_round rounds[] = {good_round(20 * MS)};
  struct demo_report report = good_report(rounds, 1);
  rounds[0].ramp.sessions_distinct = 3;
  cr_assert_eq(verdict(&report), EXIT_CODE_CHECK);
}

Test(demo_report, fails_where_direct_is_not_clearly_ahead, .timeout = 5) {
  static const struct {
    int64_t legacy_ms;
    int64_t serial_ms;
    int code;
  } rows[] = {{4000, 4000, EXIT_CODE_OK},
              {1501, 1501, EXIT_CODE_OK},
              {1499, 4000, EXIT_CODE_CHECK},
              {4000, 1499, EXIT_CODE_CHECK}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct demo_serial one;
    struct demo_round rounds[] = {good_round(1000 * MS)};
    struct demo_report report = slow_report(rounds, &one);
    rounds[0].compared[DEMO_LEGACY].wall_ns = rows[i].legacy_ms * MS;
    report.serial.wall_ns = rows[i].serial_ms * MS;
    cr_assert_eq(verdict(&report), rows[i].code, "row %zu", i);
  }
}

Test(demo_report, does_not_judge_opens_that_are_work_or_short, .timeout = 5) {
  struct demo_serial one;
  struct demo_round rounds[] = {good_round(1000 * MS)};
  struct demo_report report = slow_report(rounds, &one);
  rounds[0].compared[DEMO_LEGACY].wall_ns = 500 * MS;
  cr_assert_eq(verdict(&report), EXIT_CODE_CHECK);
  report.knows_server = false; /* its work may be all there is */
  cr_assert_eq(verdict(&report), EXIT_CODE_OK);
  report.knows_server = true;
  one.cpu.client = 100 * MS; /* no waiting: two processors are twice as fast */
  rounds[0].ramp.cpu.client = 10000 * MS;
  cr_assert_eq(verdict(&report), EXIT_CODE_OK);
  one = (struct demo_serial){1, MS / 2, {0, 0}};
  cr_assert_eq(verdict(&report), EXIT_CODE_OK);
}
