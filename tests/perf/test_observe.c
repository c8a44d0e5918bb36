/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "observe.h"

#define STAMP(asked_, got_, from, to, slept_)                             \
  {                                                                       \
    .asked = (asked_), .got = (got_), .asked_ns = (from), .got_ns = (to), \
    .slept = (slept_)                                                     \
  }

Test(observe, sees_nothing_in_nothing, .timeout = 5) {
  struct stamp none;
  struct observation seen;
  observe(&none, 0, &seen);
  cr_assert_eq(seen.overtakes, 0u);
  cr_assert_eq(seen.waiters_max, 0u);
  cr_assert_eq(seen.wait.count, 0u);
}

Test(observe, counts_only_waits_of_those_that_slept, .timeout = 5) {
  struct stamp s[] = {STAMP(0, 0, 10, 1000, false), STAMP(1, 1, 10, 60, true)};
  struct observation seen;
  observe(s, 2, &seen);
  cr_assert_eq(seen.wait.count, 1u);
  cr_assert_eq(seen.wait.max, 50u);
}

Test(observe, sees_no_overtaking_in_order, .timeout = 5) {
  struct stamp s[] = {STAMP(0, 0, 0, 10, true), STAMP(1, 1, 1, 11, true),
                      STAMP(2, 2, 2, 12, true)};
  struct observation seen;
  observe(s, 3, &seen);
  cr_assert_eq(seen.overtakes, 0u);
}

Test(observe, counts_each_that_overtook_a_sleeper, .timeout = 5) {
  struct stamp s[] = {STAMP(0, 3, 0, 40, true), STAMP(1, 0, 1, 2, false),
                      STAMP(2, 1, 3, 4, false), STAMP(3, 2, 5, 30, true)};
  struct observation seen;
  observe(s, 4, &seen);
  cr_assert_eq(seen.overtakes, 3u);
}

Test(observe, does_not_count_overtaking_one_that_did_not_sleep, .timeout = 5) {
  struct stamp s[] = {STAMP(0, 1, 0, 40, false), STAMP(1, 0, 1, 2, false)};
  struct observation seen;
  observe(s, 2, &seen);
  cr_assert_eq(seen.overtakes, 0u);
}

Test(observe, finds_the_most_that_slept_at_once, .timeout = 5) {
  struct stamp s[] = {STAMP(0, 0, 0, 10, true), STAMP(1, 1, 5, 20, true),
                      STAMP(2, 2, 10, 30, true), STAMP(3, 3, 15, 18, false),
                      STAMP(4, 4, 16, 40, true)};
  struct observation seen;
  observe(s, 5, &seen);
  cr_assert_eq(seen.waiters_max, 3u);
}
