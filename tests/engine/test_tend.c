/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "engine.h"
#include "fixture.h"
#include "handle.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;

static uint64_t wakes(void) {
  const struct weir__engine *e = weir__handle_find(f.engine, WEIR_TYPE_ENGINE);
  return weir__reactor_wakes(e->reactor);
}

Test(tend, fills_a_pool_two_at_a_time, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=7;Max Pool Size=10;"
                                 "Mock Script Text=\"connect: hang\"");
  for (uint32_t ready = 0; ready < 7; ready++) {
    AWAIT_COUNT(&f, hung, ready < 6 ? 2 : 1);
    cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
    AWAIT_STAT(pool, idle, ready + 1);
  }
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).connects_max, 2);
  cr_assert_eq(fixture_stats(pool).connects_begun, 7);
  fixture_close(&f);
}

Test(tend, opens_nothing_before_the_first_acquire_when_lazy, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Min Pool Size=3;Max Pool Size=5;Startup=lazy");
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 0);
  (void)fixture_acquire(&f, pool);
  AWAIT_STAT(pool, idle, 2);
  fixture_close(&f);
}

/* Scenario 56. */
Test(tend, serves_from_a_pool_that_was_filled_to_its_maximum, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=4;Max Pool Size=4");
  weir_h lease = 0;
  AWAIT_STAT(pool, idle, 4);
  for (unsigned i = 0; i < 4; i++) {
    cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_OK);
  }
  cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).connects_begun, 4);
  fixture_close(&f);
}

Test(tend, fills_up_again_what_was_discarded, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=4");
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
  AWAIT_STAT(pool, idle, 2);
  AWAIT_STAT(pool, empty, 2);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  fixture_close(&f);
}

/* An administrator who wants to drop the database has a second in which the
 * server has no session of the pool; clear does not wait, but its end shows. */
Test(tend, scenario_197_leaves_the_server_alone_after_a_clear, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=5;Max Pool Size=8");
  for (unsigned round = 1; round <= 3; round++) {
    AWAIT_STAT(pool, idle, 5);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).idle, 0);
    AWAIT_STAT(pool, empty, 8);
    cr_assert_eq(fixture_counts(&f).sessions_live, 0);
    fixture_sync(&f);
    fixture_advance(&f, SECOND - 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, 5 * (uint64_t)round);
    cr_assert_eq(fixture_stats(pool).empty, 8);
    fixture_advance(&f, 1);
  }
  AWAIT_STAT(pool, idle, 5);
  fixture_close(&f);
}

/* The pause is Min Pool Size's alone. */
Test(tend, opens_for_a_caller_right_after_a_clear, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=4");
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* Scenario 37: after failures it tries again, with growing pauses, for as long
 * as it takes. */
Test(tend, tries_again_after_failures_with_growing_pauses, .timeout = 10) {
  static const uint64_t pauses_s[] = {1, 2, 4, 8, 10, 10};
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Min Pool Size=1;Max Pool Size=1;"
          "Mock Script Text=\"connect 1-6: fail endpoint network 'down'\"");
  for (uint32_t i = 0; i < 6; i++) {
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], i + 1);
    AWAIT_STAT(pool, empty, 1);
    fixture_sync(&f);
    fixture_advance(&f, pauses_s[i] * SECOND - 1);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], i + 1,
                 "too early after failure %u", i + 1);
    fixture_advance(&f, 1);
  }
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

Test(tend,
     retires_what_lies_idle_too_long_but_not_below_the_minimum,
     .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=6;"
                                 "Connection Idle Timeout=60");
  weir_h leases[5];
  AWAIT_STAT(pool, idle, 2);
  for (unsigned i = 0; i < 5; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  fixture_advance(&f, 10 * SECOND);
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  fixture_sync(&f);
  for (unsigned i = 0; i < 5; i++) {
    fixture_advance(&f, 10 * SECOND);
    cr_assert_eq(fixture_stats(pool).idle, 5, "after %u s", 10 * (i + 1));
  }
  for (unsigned i = 0; i < 7; i++) {
    fixture_advance(&f, 10 * SECOND);
  }
  AWAIT_STAT(pool, empty, 4);
  cr_assert_eq(fixture_stats(pool).idle, 2);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 5);
  fixture_advance(&f, 3600 * SECOND);
  cr_assert_eq(fixture_stats(pool).idle, 2);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 5);
  fixture_close(&f);
}

/* Also those of the minimum grow old, and are replaced. */
Test(tend, retires_what_has_lived_its_time, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Min Pool Size=1;Max Pool Size=2;Connection Lifetime=100");
  AWAIT_STAT(pool, idle, 1);
  weir_h lease = fixture_acquire(&f, pool);
  weir_h other = fixture_acquire(&f, pool);
  int64_t first = fixture_number(&f, lease, "session", 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_sync(&f);
  fixture_advance(&f, 101 * SECOND);
  /* One idle, one leased: the leased one goes when it comes back. */
  AWAIT_COUNT(&f, conns_live, 1);
  cr_assert_eq(weir_release(other), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  AWAIT_STAT(pool, empty, 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_gt(fixture_number(&f, lease, "session", 0), first);
  fixture_close(&f);
}

/* Scenario 53: trimming does not move the limit. */
Test(tend, keeps_the_maximum_through_a_hundred_trims, .timeout = 30) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=5;Connection Idle Timeout=1");
  weir_h leases[5];
  for (unsigned round = 0; round < 100; round++) {
    for (unsigned i = 0; i < 5; i++) {
      leases[i] = fixture_acquire(&f, pool);
    }
    cr_assert_eq(weir_acquire(pool, 0, &leases[0], NULL), WEIR_E_TIMEOUT);
    for (unsigned i = 0; i < 5; i++) {
      cr_assert_eq(weir_release(leases[i]), WEIR_OK);
    }
    fixture_sync(&f);
    fixture_advance(&f, SECOND);
    fixture_advance(&f, SECOND);
    AWAIT_STAT(pool, empty, 5);
  }
  cr_assert_eq(fixture_counts(&f).sessions_max, 5);
  fixture_close(&f);
}

/* P13. */
Test(tend, lets_an_idle_engine_sleep, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Min Pool Size=2;Max Pool Size=4;Connection Idle Timeout=0");
  AWAIT_STAT(pool, idle, 2);
  fixture_sync(&f);
  uint64_t before = wakes();
  for (unsigned i = 0; i < 1000; i++) {
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  }
  cr_assert_eq(wakes(), before);
  fixture_close(&f);
}
