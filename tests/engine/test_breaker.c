/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include <criterion/criterion.h>

#include "weir.h"

#include "breaker.h"

#define S UINT64_C(1000000000)

static struct weir__breaker b;

static uint32_t begun(uint64_t now) {
  uint32_t ticket = 0;
  cr_assert(weir__breaker_begin(&b, now, &ticket));
  return ticket;
}

static bool refused(uint64_t now) {
  uint32_t ticket;
  return !weir__breaker_begin(&b, now, &ticket);
}

/* Open at `now`, to be probed at the returned time. */
static uint64_t opened(uint64_t now) {
  cr_assert(weir__breaker_bad(&b, begun(now), now, 0));
  cr_assert_eq(b.state, WEIR_BREAKER_OPEN);
  return weir__breaker_next(&b);
}

/* In the ramp at the returned time. */
static uint64_t ramping(void) {
  uint64_t at = opened(0);
  cr_assert(weir__breaker_good(&b, begun(at), at));
  cr_assert_eq(b.state, WEIR_BREAKER_RAMP);
  return at;
}

Test(breaker, lets_everything_through_while_all_is_well, .timeout = 5) {
  for (int i = 0; i < 100; i++) {
    cr_assert_not(weir__breaker_good(&b, begun(5), 6));
  }
  cr_assert_eq(b.state, WEIR_BREAKER_CLOSED);
  cr_assert_eq(weir__breaker_next(&b), UINT64_MAX);
}

Test(breaker, opens_at_the_first_failure, .timeout = 5) {
  uint64_t at = opened(7 * S);
  cr_assert_eq(at, 8 * S); /* the shortest pause: random is 0 */
  cr_assert(refused(at - 1));
}

Test(breaker, lets_exactly_one_probe_through, .timeout = 5) {
  uint64_t at = opened(0);
  (void)begun(at);
  cr_assert_eq(b.state, WEIR_BREAKER_HALF_OPEN);
  cr_assert(refused(at));
  cr_assert(refused(at + 100 * S));
  cr_assert_eq(weir__breaker_next(&b), UINT64_MAX);
}

Test(breaker, opens_again_when_the_probe_fails, .timeout = 5) {
  uint64_t at = opened(0);
  uint32_t ticket = begun(at);
  cr_assert(weir__breaker_bad(&b, ticket, at + 1, 0));
  cr_assert_eq(b.state, WEIR_BREAKER_OPEN);
  cr_assert(refused(at + 1));
}

Test(breaker, ramps_by_doubling_and_then_closes, .timeout = 5) {
  uint64_t now = ramping();
  for (uint32_t round = 1; round <= WEIR_BREAKER_RAMP_MAX; round *= 2) {
    uint32_t tickets[WEIR_BREAKER_RAMP_MAX];
    for (uint32_t i = 0; i < round; i++) {
      tickets[i] = begun(now);
    }
    cr_assert(refused(now), "one more than %u", round);
    for (uint32_t i = 0; i < round; i++) {
      cr_assert(weir__breaker_good(&b, tickets[i], now));
    }
  }
  cr_assert_eq(b.state, WEIR_BREAKER_CLOSED);
}

Test(breaker, keeps_the_ramp_full_while_it_widens, .timeout = 5) {
  uint64_t now = ramping();
  cr_assert(weir__breaker_good(&b, begun(now), now));
  uint32_t first = begun(now);
  (void)begun(now);
  cr_assert(refused(now));
  cr_assert(weir__breaker_good(&b, first, now));
  (void)begun(now);
  cr_assert(refused(now)); /* one success of two does not double */
}

Test(breaker, opens_again_in_the_ramp, .timeout = 5) {
  uint64_t now = ramping();
  cr_assert(weir__breaker_bad(&b, begun(now), now, 0));
  cr_assert_eq(b.state, WEIR_BREAKER_OPEN);
  cr_assert_eq(weir__breaker_next(&b), now + S); /* the pauses began anew */
}

Test(breaker, ends_a_ramp_that_nobody_climbs, .timeout = 5) {
  uint64_t now = ramping();
  for (int i = 0; i < 50; i++) {
    (void)begun(now + WEIR_BREAKER_RAMP_NS);
  }
  cr_assert_eq(b.state, WEIR_BREAKER_CLOSED);
}

Test(breaker, opens_once_for_all_that_fail_together, .timeout = 5) {
  uint32_t tickets[20];
  for (int i = 0; i < 20; i++) {
    tickets[i] = begun(0);
  }
  cr_assert(weir__breaker_bad(&b, tickets[0], S, UINT64_MAX));
  struct weir__breaker before = b;
  for (int i = 1; i < 20; i++) {
    cr_assert_not(weir__breaker_bad(&b, tickets[i], 2 * S, UINT64_MAX));
  }
  cr_assert_eq(b.until, before.until);
  cr_assert_eq(b.delay_ns, before.delay_ns);
}

Test(breaker, ignores_results_of_connects_begun_before_a_change, .timeout = 5) {
  uint32_t good = begun(0);
  uint32_t bad = begun(0);
  uint64_t at = opened(0);
  cr_assert_not(weir__breaker_good(&b, good, 1));
  cr_assert_eq(b.state, WEIR_BREAKER_OPEN);
  uint32_t probe = begun(at);
  cr_assert_not(weir__breaker_bad(&b, bad, at, 0));
  cr_assert_eq(b.state, WEIR_BREAKER_HALF_OPEN);
  cr_assert(weir__breaker_good(&b, probe, at));
  uint32_t climber = begun(at);
  cr_assert_not(weir__breaker_bad(&b, bad, at, 0));
  cr_assert_not(weir__breaker_drop(&b, bad, at));
  cr_assert_eq(b.state, WEIR_BREAKER_RAMP);
  cr_assert(refused(at));
  cr_assert(weir__breaker_good(&b, climber, at));
}

Test(breaker, gives_a_dropped_probe_to_the_next_one, .timeout = 5) {
  uint64_t at = opened(0);
  cr_assert(weir__breaker_drop(&b, begun(at), at));
  cr_assert_eq(b.state, WEIR_BREAKER_OPEN);
  (void)begun(at);
  cr_assert_eq(b.state, WEIR_BREAKER_HALF_OPEN);
}

Test(breaker, gives_a_dropped_place_in_the_ramp_back, .timeout = 5) {
  uint64_t now = ramping();
  cr_assert(weir__breaker_drop(&b, begun(now), now));
  (void)begun(now);
}

Test(breaker, draws_its_pauses_between_one_and_ten_seconds, .timeout = 5) {
  static const uint64_t draws[] = {0, 1, UINT64_MAX, 123456789123456789u};
  for (size_t d = 0; d < sizeof draws / sizeof draws[0]; d++) {
    b = (struct weir__breaker){0};
    uint64_t now = 0;
    uint64_t last = S;
    for (int i = 0; i < 40; i++) {
      cr_assert(weir__breaker_bad(&b, begun(now), now, draws[d] + (uint64_t)i));
      uint64_t pause = weir__breaker_next(&b) - now;
      cr_assert_geq(pause, S);
      cr_assert_leq(pause, 10 * S);
      cr_assert_leq(pause, 3 * last); /* decorrelated, from the last one */
      last = pause;
      now = weir__breaker_next(&b);
    }
  }
}

Test(breaker, sends_one_first_once_connections_are_lost, .timeout = 5) {
  uint32_t old = begun(0);
  cr_assert(weir__breaker_suspect(&b, S));
  cr_assert_not(weir__breaker_suspect(&b, S));
  uint32_t first = begun(S);
  cr_assert(refused(S));
  cr_assert_not(weir__breaker_bad(&b, old, S, 0));
  cr_assert(weir__breaker_good(&b, first, S));
  (void)begun(S);
  (void)begun(S);
  cr_assert(refused(S));
}

Test(breaker, is_not_suspicious_of_one_that_is_open, .timeout = 5) {
  uint64_t at = opened(0);
  cr_assert_not(weir__breaker_suspect(&b, 1));
  cr_assert_eq(weir__breaker_next(&b), at);
}

Test(breaker, forgets_all_when_it_is_reset, .timeout = 5) {
  uint32_t old = begun(0);
  (void)opened(0);
  weir__breaker_reset(&b);
  uint32_t fresh = begun(0);
  cr_assert_not(weir__breaker_bad(&b, old, 0, 0));
  cr_assert(weir__breaker_bad(&b, fresh, 0, 0));
}

Test(breaker, never_counts_past_the_end_of_time, .timeout = 5) {
  cr_assert(weir__breaker_bad(&b, begun(UINT64_MAX - 1), UINT64_MAX - 1, 0));
  cr_assert_eq(weir__breaker_next(&b), UINT64_MAX);
}
