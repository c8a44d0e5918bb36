/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include <criterion/criterion.h>

#include "blocking.h"

#define S UINT64_C(1000000000)

static struct weir__blocking b;

static bool allows(uint64_t now) {
  uint64_t at;
  return weir__blocking_allows(&b, now, &at);
}

/* When to ask again, of one that is refused. */
static uint64_t refused(uint64_t now) {
  uint64_t at = 0;
  cr_assert_not(weir__blocking_allows(&b, now, &at));
  return at;
}

/* A connect that begins and fails at `now`.  Returns when its period ends. */
static uint64_t failed(uint64_t now) {
  cr_assert(allows(now));
  weir__blocking_begun(&b, now);
  cr_assert(weir__blocking_failed(&b, now, now));
  return b.until;
}

Test(blocking, lets_everything_through_while_all_is_well, .timeout = 5) {
  for (uint64_t now = 0; now < 100; now++) {
    cr_assert(allows(now));
    weir__blocking_begun(&b, now);
  }
  cr_assert_not(weir__blocking_holds(&b, 0));
  cr_assert_eq(weir__blocking_left(&b, 0), 0);
}

Test(blocking, refuses_for_five_seconds_exactly, .timeout = 5) {
  cr_assert_eq(failed(10), 10 + 5 * S);
  cr_assert_eq(refused(10), 10 + 5 * S);
  cr_assert_eq(weir__blocking_left(&b, 10), 5 * S);
  cr_assert_eq(refused(9 + 5 * S), 10 + 5 * S);
  cr_assert_eq(weir__blocking_left(&b, 9 + 5 * S), 1);
  cr_assert_not(weir__blocking_holds(&b, 10 + 5 * S));
  cr_assert(allows(10 + 5 * S));
}

Test(blocking, doubles_from_period_to_period_up_to_a_minute, .timeout = 5) {
  static const uint64_t spans[] = {5, 10, 20, 40, 60, 60, 60};
  uint64_t now = 1;
  for (unsigned i = 0; i < sizeof spans / sizeof spans[0]; i++) {
    uint64_t until = failed(now);
    cr_assert_eq(until - now, spans[i] * S, "period %u", i);
    now = until;
  }
}

/* SqlClient doubles at each failure, so that five that began together block for
 * a minute. */
Test(blocking, counts_connects_that_failed_together_once, .timeout = 5) {
  uint64_t until = failed(S);
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_not(weir__blocking_failed(&b, S, S + i));
  }
  cr_assert_eq(b.until, until);
  cr_assert_eq(failed(until) - until, 10 * S);
}

/* One that hung through the whole period is of the outage that is known. */
Test(blocking, is_not_prolonged_by_what_began_before, .timeout = 5) {
  uint64_t until = failed(S);
  cr_assert_not(weir__blocking_failed(&b, 0, until + S));
  cr_assert(allows(until + S));
  weir__blocking_begun(&b, until + S);
  cr_assert_not(weir__blocking_failed(&b, 0, until + 2 * S));
  cr_assert_eq(refused(until + 2 * S), UINT64_MAX); /* the probe is not over */
  cr_assert(weir__blocking_failed(&b, until + S, until + 3 * S));
  cr_assert_eq(weir__blocking_left(&b, until + 3 * S), 10 * S);
}

Test(blocking, sends_one_probe_at_a_time, .timeout = 5) {
  uint64_t until = failed(0);
  weir__blocking_begun(&b, until);
  cr_assert_eq(refused(until), UINT64_MAX);
  cr_assert_eq(refused(until + 100 * S), UINT64_MAX);
  weir__blocking_dropped(&b, 0); /* another one */
  cr_assert_eq(refused(until), UINT64_MAX);
  weir__blocking_dropped(&b, until);
  cr_assert(allows(until));
}

Test(blocking, begins_anew_after_a_success, .timeout = 5) {
  uint64_t until = failed(failed(failed(0)));
  weir__blocking_begun(&b, until);
  weir__blocking_reset(&b);
  cr_assert(allows(until));
  weir__blocking_begun(&b, until);
  cr_assert(allows(until)); /* no longer one at a time */
  cr_assert_eq(failed(until) - until, 5 * S);
}

/* What ends a period belongs to that period: there is no timer that could be an
 * older one's. */
Test(blocking, ends_no_period_but_its_own, .timeout = 5) {
  uint64_t first = failed(0);
  weir__blocking_reset(&b);
  uint64_t second = failed(first - 1);
  cr_assert(weir__blocking_holds(&b, first));
  cr_assert_eq(second, first - 1 + 5 * S);
  weir__blocking_dropped(&b, 0);
  cr_assert(weir__blocking_holds(&b, second - 1));
}

Test(blocking, stays_below_the_end_of_time, .timeout = 5) {
  cr_assert_eq(failed(UINT64_MAX - 1), UINT64_MAX);
  cr_assert_eq(weir__blocking_left(&b, UINT64_MAX - 1), 1);
}
