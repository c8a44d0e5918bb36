/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "sweep.h"
#include "sys/clock.h"

#define SECOND WEIR_NS_PER_S

Test(sweep, draws_one_of_twelve_equal_steps) {
  for (uint32_t drawn = 0; drawn < 40; drawn++) {
    cr_assert_eq(weir__sweep_period(false, 300 * SECOND, drawn),
                 (120 + drawn % 12 * 10) * SECOND, "drawn %u", drawn);
  }
}

Test(sweep, minds_no_idle_timeout_where_idleness_ends_nothing) {
  cr_assert_eq(weir__sweep_period(false, WEIR_NEVER, 11), 230 * SECOND);
  cr_assert_eq(weir__sweep_period(false, 1, 0), 120 * SECOND);
}

Test(sweep, comes_twice_in_an_idle_timeout_where_that_is_enforced) {
  static const uint64_t rows[][2] = {
      {300 * SECOND, 150 * SECOND},
      {5 * SECOND, 5 * SECOND / 2},
      {2 * SECOND, SECOND},
      {2 * SECOND - 1, SECOND},
      {1, SECOND},
      {UINT64_MAX - 1, UINT64_MAX / 2},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    for (uint32_t drawn = 0; drawn < 12; drawn++) {
      cr_assert_eq(weir__sweep_period(true, rows[i][0], drawn), rows[i][1],
                   "row %zu", i);
    }
  }
}

Test(sweep, never_comes_where_idleness_is_never_too_long) {
  cr_assert_eq(weir__sweep_period(true, WEIR_NEVER, 5), WEIR_NEVER);
}
