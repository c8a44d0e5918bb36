/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "median.h"
#include "sys/clock.h"

#define SECOND WEIR_NS_PER_S

/* A window of so many samples; its median.  All but the last leave it open. */
static uint32_t of(const uint32_t *samples, uint32_t n) {
  uint32_t room[WEIR_MEDIAN_SAMPLES];
  struct weir__median m = {.sample = room, .plan = {.samples = n}};
  uint32_t middle = UINT32_MAX;
  for (uint32_t i = 0; i < n; i++) {
    cr_assert_eq(middle, UINT32_MAX, "told after %u of %u", i, n);
    cr_assert_eq(weir__median_note(&m, samples[i], &middle), i + 1 == n);
  }
  cr_assert_eq(m.n, 0, "the next window begins empty");
  return middle;
}

Test(median, plans_by_the_table_of_sqlclient) {
  static const struct {
    uint64_t idle_s;
    uint64_t interval_s;
    uint32_t samples;
  } rows[] = {
      {300, 10, 30},     {100, 10, 10},
      {60, 10, 6},       {15, 10, 2},
      {5, 10, 1},        {3000, 10, 300},
      {6000, 20, 300},   {10000, 34, 295},
      {86400, 288, 300}, {2147483647, 86400, 300},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir__median_plan plan = weir__median_plan(rows[i].idle_s * SECOND);
    cr_assert_eq(plan.interval_ns, rows[i].interval_s * SECOND, "row %zu", i);
    cr_assert_eq(plan.samples, rows[i].samples, "row %zu", i);
  }
}

Test(median, plans_for_a_part_of_a_second_as_for_the_whole) {
  struct weir__median_plan plan = weir__median_plan(1);
  cr_assert_eq(plan.interval_ns, 10 * SECOND);
  cr_assert_eq(plan.samples, 1);
  plan = weir__median_plan(20 * SECOND + 1);
  cr_assert_eq(plan.samples, 3);
  plan = weir__median_plan(UINT64_MAX - 1);
  cr_assert_eq(plan.interval_ns, 86400 * SECOND);
  cr_assert_eq(plan.samples, WEIR_MEDIAN_SAMPLES);
}

Test(median, is_the_lower_middle) {
  static const uint32_t index[] = {0, 0, 0, 1, 1, 2, 2};
  for (uint32_t n = 1; n <= 6; n++) {
    cr_assert_eq(weir__median_index(n), index[n], "of %u", n);
  }
  cr_assert_eq(weir__median_index(30), 14);
  cr_assert_eq(weir__median_index(300), 149);
}

Test(median, sorts_what_comes_in_any_order) {
  cr_assert_eq(of((const uint32_t[]){7}, 1), 7);
  cr_assert_eq(of((const uint32_t[]){8, 4}, 2), 4);
  cr_assert_eq(of((const uint32_t[]){2, 2, 10}, 3), 2);
  cr_assert_eq(of((const uint32_t[]){10, 2, 10}, 3), 10);
  cr_assert_eq(of((const uint32_t[]){9, 0, 7, 1, 8}, 5), 7);
  cr_assert_eq(of((const uint32_t[]){5, 4, 3, 2, 1, 0}, 6), 2);
}

Test(median, holds_a_whole_window_of_the_largest_size) {
  uint32_t samples[WEIR_MEDIAN_SAMPLES];
  for (uint32_t i = 0; i < WEIR_MEDIAN_SAMPLES; i++) {
    samples[i] = WEIR_MEDIAN_SAMPLES - 1 - i;
  }
  cr_assert_eq(of(samples, WEIR_MEDIAN_SAMPLES), 149);
}

Test(median, knows_nothing_of_the_window_before) {
  uint32_t room[3];
  uint32_t middle = 0;
  struct weir__median m = {.sample = room, .plan = {.samples = 3}};
  for (unsigned i = 0; i < 3; i++) {
    (void)weir__median_note(&m, 100, &middle);
  }
  cr_assert_eq(middle, 100);
  for (unsigned i = 0; i < 3; i++) {
    (void)weir__median_note(&m, i, &middle);
  }
  cr_assert_eq(middle, 1);
}
