/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "sys/clock.h"
#include "trim.h"

static void note(struct weir__trim *t, uint32_t used, unsigned times) {
  for (unsigned i = 0; i < times; i++) {
    weir__trim_note(t, used, used / 2);
  }
}

Test(trim, knows_no_peak_before_a_whole_window_is_noted) {
  struct weir__trim t = {.n = 0};
  note(&t, 3, WEIR_TRIM_NOTES - 1);
  cr_assert_eq(weir__trim_peak(&t), UINT32_MAX);
  cr_assert_eq(weir__trim_packed(&t), UINT32_MAX);
  note(&t, 2, 1);
  cr_assert_eq(weir__trim_peak(&t), 3);
  cr_assert_eq(weir__trim_packed(&t), 1);
}

Test(trim, forgets_a_peak_after_exactly_one_window) {
  struct weir__trim t = {.n = 0};
  note(&t, 40, 1);
  note(&t, 5, WEIR_TRIM_NOTES - 1);
  cr_assert_eq(weir__trim_peak(&t), 40);
  note(&t, 5, 1);
  cr_assert_eq(weir__trim_peak(&t), 5);
}

Test(trim, begins_anew_after_a_reset) {
  struct weir__trim t = {.n = 0};
  note(&t, 9, 12);
  weir__trim_reset(&t);
  cr_assert_eq(weir__trim_peak(&t), UINT32_MAX);
}

Test(trim, closes_a_fifth_of_the_surplus_and_at_least_one) {
  static const struct {
    uint32_t open;
    uint32_t keep;
    uint32_t count;
  } rows[] = {
      {0, 0, 0},          {5, 5, 0},    {5, 6, 0},
      {6, 5, 1},          {9, 0, 1},    {10, 0, 2},
      {100, 0, 20},       {100, 51, 9}, {UINT32_MAX, 0, WEIR_TRIM_MAX},
      {7, UINT32_MAX, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cr_assert_eq(weir__trim_count(rows[i].open, rows[i].keep), rows[i].count,
                 "row %zu", i);
  }
}

Test(trim, notes_ten_times_in_each_idle_timeout) {
  cr_assert_eq(weir__trim_step(300 * WEIR_NS_PER_S), 30 * WEIR_NS_PER_S);
  cr_assert_eq(weir__trim_step(1), WEIR_NS_PER_MS);
}
