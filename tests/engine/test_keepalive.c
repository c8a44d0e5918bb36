/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "fixture.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;

static uint64_t pings(void) {
  return fixture_counts(&f).calls[MOCK_PING];
}

static void advance_by(uint64_t step, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    fixture_advance(&f, step);
  }
}

/* Scenario 85: all of them, each in its time, one at a time; and an acquire does
 * not wait for it. */
Test(keepalive, scenario_85_pings_each_once_in_its_interval, .timeout = 60) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=20;Max Pool Size=20;"
                                 "Keepalive Interval=30;"
                                 "Mock Script Text='ping: delay 1s'");
  AWAIT_STAT(pool, idle, 20);
  fixture_sync(&f);
  for (unsigned i = 0; i < 600; i++) {
    fixture_advance(&f, SECOND);
    cr_assert_leq(fixture_stats(pool).reserved, 1);
    weir_h lease = 0;
    if (i % 50 == 0) {
      cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_OK);
      cr_assert_eq(weir_release(lease), WEIR_OK);
    }
  }
  cr_assert_geq(pings(), UINT64_C(340)); /* 20 of them, 17 times */
  cr_assert_leq(pings(), UINT64_C(440));
  cr_assert_eq(fixture_stats(pool).connects_begun, 20);
  fixture_close(&f);
}

/* Also where surplus is looked for far more seldom than anything is pinged. */
Test(keepalive, pings_all_that_are_due_at_once, .timeout = 10) {
  weir_h leases[4];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=4;Keepalive Interval=10;"
                                 "Connection Idle Timeout=10000");
  for (unsigned i = 0; i < 4; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 4; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  fixture_sync(&f);
  fixture_advance(&f, 12 * SECOND);
  AWAIT_COUNT(&f, calls[MOCK_PING], 4);
  fixture_close(&f);
}

Test(keepalive, is_off_by_default, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=2");
  AWAIT_STAT(pool, idle, 2);
  fixture_sync(&f);
  advance_by(600 * SECOND, 10);
  cr_assert_eq(pings(), 0);
  fixture_close(&f);
}

/* The interval less or more a tenth: never sooner, never later. */
Test(keepalive, keeps_to_its_interval, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=1;"
                                 "Keepalive Interval=100");
  AWAIT_STAT(pool, idle, 1);
  fixture_sync(&f);
  for (uint64_t i = 1; i <= 5; i++) {
    fixture_advance(&f, 89 * SECOND);
    cr_assert_eq(pings(), i - 1);
    advance_by(SECOND, 22);
    AWAIT_COUNT(&f, calls[MOCK_PING], i);
    AWAIT_STAT(pool, idle, 1);
    fixture_sync(&f);
    /* From here on the next interval counts from a ping at some second of the
     * 22; start it afresh by a use. */
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  }
  fixture_close(&f);
}

/* Scenario 78: what dies in silence is found before somebody needs it. */
Test(keepalive, scenario_78_replaces_what_has_died_in_silence, .timeout = 30) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=5;Max Pool Size=5;"
                                 "Mock Idle Watch=false;"
                                 "Keepalive Interval=60;"
                                 "Mock Script Text='ping 1-3: fail conn "
                                 "network'");
  AWAIT_STAT(pool, idle, 5);
  fixture_sync(&f);
  advance_by(SECOND, 75);
  AWAIT_STAT(pool, idle, 5);
  AWAIT_COUNT(&f, calls[MOCK_CONNECT], 8);
  fixture_close(&f);
}

/* A ping that is never answered ends, and the connection with it. */
Test(keepalive, gives_a_ping_five_seconds, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=1;"
                                 "Keepalive Interval=60;"
                                 "Mock Script Text='ping 1: hang'");
  AWAIT_STAT(pool, idle, 1);
  fixture_sync(&f);
  fixture_advance(&f, 70 * SECOND);
  AWAIT_COUNT(&f, hung, 1);
  fixture_sync(&f);
  fixture_advance(&f, 5 * SECOND - 1);
  cr_assert_eq(fixture_stats(pool).reserved, 1);
  fixture_advance(&f, 1);
  AWAIT_COUNT(&f, calls[MOCK_CONNECT], 2);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

/* None begins while somebody waits, and one that runs ends in the waiter's
 * hands. */
Test(keepalive, gives_the_connection_to_who_waits, .timeout = 10) {
  struct acquirer a;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=1;"
                                 "Keepalive Interval=60;"
                                 "Mock Script Text='ping 1: hang'");
  AWAIT_STAT(pool, idle, 1);
  fixture_sync(&f);
  fixture_advance(&f, 70 * SECOND);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&a, pool, 60 * FIXTURE_S);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  cr_assert_eq(weir_release(a.lease), WEIR_OK);
  fixture_close(&f);
}

/* A ping is no use: idleness goes on. */
Test(keepalive, does_not_keep_a_surplus_connection_open, .timeout = 30) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Keepalive Interval=10;"
                                 "Connection Idle Timeout=60");
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  fixture_sync(&f);
  advance_by(SECOND, 62);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_geq(pings(), 4);
  fixture_close(&f);
}

/* Drivers without a ping: a reset with a round trip, or one look. */
Test(keepalive, does_what_the_driver_can, .timeout = 10) {
  static const uint64_t without[] = {0, WEIR_DRV_CAP_RESET_EAGER};
  static const enum mock_call call[] = {MOCK_RESET, MOCK_HEALTH};
  for (unsigned i = 0; i < 2; i++) {
    fixture_open_virtual(&f);
    fixture_take_ping(&f);
    fixture_take_caps(&f, without[i]);
    weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=1;"
                                   "Keepalive Interval=60");
    AWAIT_STAT(pool, idle, 1);
    fixture_sync(&f);
    uint64_t before = fixture_counts(&f).calls[call[i]];
    fixture_advance(&f, 70 * SECOND);
    AWAIT_COUNT(&f, calls[call[i]], before + 1);
    AWAIT_STAT(pool, idle, 1);
    cr_assert_eq(pings(), 0);
    fixture_close(&f);
  }
}

/* Nobody gets a connection, and they are to live on all the same. */
Test(keepalive, goes_on_while_the_pool_is_paused, .timeout = 10) {
  struct acquirer w;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=1;"
                                 "Keepalive Interval=10");
  AWAIT_STAT(pool, idle, 1);
  fixture_sync(&f);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  for (unsigned i = 0; i < 60; i++) {
    fixture_advance(&f, SECOND);
    fixture_sync(&f);
  }
  cr_assert_geq(pings(), 5);
  cr_assert_leq(pings(), 7);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  fixture_close(&f);
}
