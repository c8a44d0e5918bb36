/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include <criterion/criterion.h>

#include "limiter.h"

#define S   UINT64_C(1000000000)
#define OFF UINT32_MAX

static struct weir__limiter l;

Test(limiter, sets_no_limit_when_it_is_off, .timeout = 5) {
  for (int i = 0; i < 1000; i++) {
    cr_assert_eq(weir__limiter_next(&l, OFF, 1, 42), 42);
    weir__limiter_take(&l, OFF, 42);
  }
}

Test(limiter, lets_a_burst_through_and_then_the_rate, .timeout = 5) {
  uint64_t now = 100 * S;
  for (int i = 0; i < 5; i++) {
    cr_assert_eq(weir__limiter_next(&l, 10, 5, now), now);
    weir__limiter_take(&l, 10, now);
  }
  for (int i = 0; i < 20; i++) {
    cr_assert_eq(weir__limiter_next(&l, 10, 5, now), now + S / 10);
    now += S / 10;
    weir__limiter_take(&l, 10, now);
  }
}

Test(limiter, never_exceeds_rate_times_window_and_burst, .timeout = 5) {
  static const uint32_t rates[] = {1, 3, 7, 1000, 1000000};
  for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++) {
    l = (struct weir__limiter){0};
    uint32_t taken = 0;
    uint64_t now = 0;
    while ((now = weir__limiter_next(&l, rates[r], 4, now)) < S) {
      weir__limiter_take(&l, rates[r], now);
      taken++;
    }
    cr_expect_leq(taken, rates[r] + 4);
    cr_expect_geq(taken, rates[r]);
  }
}

Test(limiter, saves_no_more_than_a_burst, .timeout = 5) {
  uint64_t now = 1000 * S;
  weir__limiter_take(&l, 10, 0);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(weir__limiter_next(&l, 10, 2, now), now);
    weir__limiter_take(&l, 10, now);
  }
  cr_assert_gt(weir__limiter_next(&l, 10, 2, now), now);
}

Test(limiter, takes_a_token_back, .timeout = 5) {
  weir__limiter_take(&l, 10, S);
  cr_assert_eq(weir__limiter_next(&l, 10, 1, S), S + S / 10);
  weir__limiter_give(&l, 10);
  cr_assert_eq(weir__limiter_next(&l, 10, 1, S), S);
}

Test(limiter, follows_a_rate_that_changes, .timeout = 5) {
  weir__limiter_take(&l, 1, 0);
  cr_assert_eq(weir__limiter_next(&l, 1, 1, 0), S);
  cr_assert_eq(weir__limiter_next(&l, OFF, 1, 0), 0);
  cr_assert_eq(weir__limiter_next(&l, 1, 2, 0), 0); /* a larger burst */
}
