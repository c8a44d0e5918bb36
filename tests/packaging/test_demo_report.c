/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "demo_report.h"
#include "exit_code.h"

#define MS INT64_C(1000000)

/* Three opens alone, two opened in turn, two rounds of four threads. */
static struct demo_serial alone[] = {
    {1, 12 * MS, {3 * MS, 1 * MS}},
    {1, 10 * MS, {3 * MS, 1 * MS}},
    {1, 11 * MS, {3 * MS, 1 * MS}},
};

static struct demo_ramp good_round(int64_t wall_ns) {
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

/* The text of a report and its exit code.  Owns: until free(). */
static char *print_rounds(struct demo_ramp *ramps, uint32_t n, int *out_code) {
  struct demo_report report = {.threads = 4,
                               .rounds = n,
                               .n_alone = 3,
                               .knows_server = true,
                               .alone = alone,
                               .serial = {2, 20 * MS, {0, 0}},
                               .ramps = ramps};
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  *out_code = demo_report_print(to, &report);
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
  struct demo_ramp ramps[] = {good_round(30 * MS), good_round(20 * MS),
                              good_round(25 * MS)};
  int code = -1;
  char *text = print_rounds(ramps, 3, &code);
  cr_assert_eq(code, EXIT_CODE_OK);
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

Test(demo_report, does_not_fail_for_slowness, .timeout = 5) {
  struct demo_ramp ramps[] = {good_round(90 * MS)};
  int code = -1;
  char *text = print_rounds(ramps, 1, &code);
  cr_assert_eq(code, EXIT_CODE_OK);
  expect_in(text, "in 1 round,");
  expect_in(text, "90.0 ms   missed (other load on the machine counts)");
  free(text);
}

Test(demo_report, fails_for_one_session_too_many, .timeout = 5) {
  struct demo_ramp ramps[] = {good_round(20 * MS)};
  int code = -1;
  ramps[0].sessions_max = 5;
  free(print_rounds(ramps, 1, &code));
  cr_assert_eq(code, EXIT_CODE_CHECK);
}

Test(demo_report, fails_for_a_session_held_twice, .timeout = 5) {
  struct demo_ramp ramps[] = {good_round(20 * MS)};
  int code = -1;
  ramps[0].sessions_distinct = 3;
  free(print_rounds(ramps, 1, &code));
  cr_assert_eq(code, EXIT_CODE_CHECK);
}
