/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "param.h"
#include "workload.h"

static struct param_sets sets;
static struct fault fault;

Test(param, takes_a_value_by_name, .timeout = 5) {
  cr_assert_eq(param_set(&sets, "hold_us=100", &fault), 0);
  cr_assert(sets.set[PARAM_HOLD_US]);
  cr_assert_eq(sets.v[PARAM_HOLD_US], 100u);
}

/* Each is refused with what it should have been. */
static const struct {
  const char *text;
  const char *says;
} refused[] = {
    {"speed=1", "connections, threads, max_pool, depth, ops, hold_us, "
                "hold_us_max, waves, min_workers"},
    {"thread=1", "there is no parameter"},
    {"threadss=1", "there is no parameter"},
    {"=1", "there is no parameter"},
    {"threads", "name=value"},
    {"threads=", "not a number"},
    {"threads=0", "from 1 to 4096"},
    {"threads=4097", "from 1 to 4096"},
    {"threads=-1", "not a number"},
    {"threads=1x", "not a number"},
    {"threads= 1", "not a number"},
    {"ops=99999999999999999999", "not a number"},
};

Test(param, refuses_all_else, .timeout = 5) {
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    struct fault said = {.set = false};
    cr_expect_eq(param_set(&sets, refused[i].text, &said), -1, "%s",
                 refused[i].text);
    cr_expect(said.usage);
    cr_expect_not_null(strstr(said.text, refused[i].says), "%s: %s",
                       refused[i].text, said.text);
  }
}

Test(workload, is_found_by_its_whole_name, .timeout = 5) {
  cr_assert_not_null(workload_find("rapid_fire"));
  cr_assert_null(workload_find("rapid"));
  cr_assert_null(workload_find(""));
}

Test(workload, has_a_row_for_each_combination, .timeout = 5) {
  struct params rows[64];
  cr_assert_eq(workload_rows(&workload_rapid_fire, &sets, rows, 64, &fault), 4);
  cr_assert_eq(rows[0].v[PARAM_THREADS], 10u);
  cr_assert_eq(rows[0].v[PARAM_MAX_POOL], 50u);
  cr_assert_eq(rows[1].v[PARAM_MAX_POOL], 100u);
  cr_assert_eq(rows[3].v[PARAM_THREADS], 50u);
  cr_assert(rows[3].used[PARAM_OPS]);
  cr_assert_not(rows[3].used[PARAM_DEPTH]);
}

Test(workload, has_one_row_less_for_what_is_set, .timeout = 5) {
  struct params rows[64];
  cr_assert_eq(param_set(&sets, "threads=3", &fault), 0);
  cr_assert_eq(workload_rows(&workload_rapid_fire, &sets, rows, 64, &fault), 2);
  cr_assert_eq(rows[1].v[PARAM_THREADS], 3u);
}

Test(workload, refuses_what_it_does_not_have, .timeout = 5) {
  struct params rows[64];
  cr_assert_eq(param_set(&sets, "waves=3", &fault), 0);
  cr_assert_eq(workload_rows(&workload_rapid_fire, &sets, rows, 64, &fault), 0);
  cr_assert(fault.usage);
  cr_assert_not_null(strstr(fault.text, "threads, max_pool, ops, hold_us"));
}

Test(workload, of_a_thread_each_counts_threads_as_connections, .timeout = 5) {
  struct params rows[64];
  cr_assert_eq(param_set(&sets, "threads=7", &fault), 0);
  cr_assert_eq(
      workload_rows(&workload_cold_start_ramp, &sets, rows, 64, &fault), 1);
  cr_assert_eq(rows[0].v[PARAM_CONNECTIONS], 7u);
  cr_assert_eq(rows[0].v[PARAM_THREADS], 7u);
}

Test(workload, refuses_two_numbers_for_one_thing, .timeout = 5) {
  struct params rows[64];
  cr_assert_eq(param_set(&sets, "threads=7", &fault), 0);
  cr_assert_eq(param_set(&sets, "connections=8", &fault), 0);
  cr_assert_eq(
      workload_rows(&workload_cold_start_ramp, &sets, rows, 64, &fault), 0);
}
