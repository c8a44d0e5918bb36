/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "retire.h"

static unsigned take_all(struct weir__retire *r,
                         uint64_t now,
                         uint64_t tick,
                         uint32_t places) {
  unsigned n = 0;
  while (n < 1000 && weir__retire_take(r, now, tick, places)) {
    n++;
  }
  return n;
}

Test(retire, gives_a_tenth_of_the_places_in_each_tick_and_at_least_one) {
  static const struct {
    uint32_t places;
    unsigned permits;
  } rows[] = {{1, 1}, {9, 1}, {19, 1}, {20, 2}, {100, 10}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct weir__retire r = {.word = 0};
    for (uint64_t tick = 1; tick < 4; tick++) {
      cr_assert_eq(take_all(&r, tick * 100, 100, rows[i].places),
                   rows[i].permits, "row %zu", i);
      cr_assert_not(
          weir__retire_take(&r, tick * 100 + 99, 100, rows[i].places));
    }
  }
}

Test(retire, says_when_the_next_tick_begins) {
  cr_assert_eq(weir__retire_next(100, 100), 200);
  cr_assert_eq(weir__retire_next(199, 100), 200);
}

Test(retire, has_a_tick_for_each_span) {
  cr_assert_eq(weir__retire_tick(60 * WEIR_NS_PER_S), WEIR_NS_PER_S);
  cr_assert_eq(weir__retire_tick(UINT64_C(86400) * WEIR_NS_PER_S),
               WEIR_RETIRE_TICK_MAX_NS);
  cr_assert_eq(weir__retire_tick(1), WEIR_RETIRE_TICK_MIN_NS);
}
