/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

static struct fixture f;

static void check_sum(weir_h pool) {
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.max_size, s.empty + s.connecting + s.idle + s.leased +
                               s.reserved + s.parked + s.stasis + s.closing);
  cr_assert_eq(s.acquired - s.released, s.leased);
}

/* Scenario 49: idle ones now, leased ones when they come back. */
Test(pool, closes_idle_ones_at_once_and_leased_ones_on_return, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=5");
  weir_h leases[5];
  for (unsigned i = 0; i < 5; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  cr_assert_eq(weir_release(leases[3]), WEIR_OK);
  cr_assert_eq(weir_release(leases[4]), WEIR_OK);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 0);
  AWAIT_STAT(pool, empty, 2);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(fixture_run(&f, leases[i], "rows 1"), WEIR_OK);
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
    AWAIT_STAT(pool, empty, 3 + i);
    check_sum(pool);
  }
  leases[0] = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 6);
  cr_assert_eq(weir_release(leases[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

/* Scenario 47: a connect of before the clear is closed when it is done; its
 * caller is served by another, in its place. */
Test(pool, serves_the_caller_of_a_cleared_connect_with_another, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=1;Mock Script Text=\"connect 1: hang\"");
  struct acquirer w[2];
  acquirer_start(&w[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&w[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&w[0]), WEIR_OK);
  cr_assert_eq(fixture_number(&f, w[0].lease, "session", 0), 2);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_release(w[0].lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&w[1]), WEIR_OK);
  cr_assert_eq(fixture_number(&f, w[1].lease, "session", 0), 2);
  cr_assert_eq(fixture_counts(&f).sessions_max, 1);
  fixture_close(&f);
}

/* The same with a second place free: its caller opens there at once. */
Test(pool,
     serves_the_caller_of_a_cleared_connect_in_another_place,
     .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=2;Mock Script Text=\"connect 1: hang\"");
  struct acquirer w;
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(fixture_number(&f, w.lease, "session", 0), 2);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

Test(pool, closes_a_cleared_connect_that_nobody_waits_for, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Mock Connect Delay=5s");
  struct acquirer w;
  acquirer_start(&w, pool, FIXTURE_S);
  AWAIT_STAT(pool, connecting, 1);
  AWAIT_COUNT(&f, connects_running, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&w), WEIR_E_TIMEOUT);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  fixture_sync(&f);
  fixture_advance(&f, 5 * (uint64_t)FIXTURE_S);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(fixture_stats(pool).connects_ok, 1);
  fixture_close(&f);
}

Test(pool, keeps_waiters_in_their_place_through_a_clear, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  struct acquirer w[3];
  weir_h lease = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&w[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, i + 1);
  }
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 3);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(weir_release(lease), WEIR_OK);
    cr_assert_eq(acquirer_join(&w[i]), WEIR_OK);
    lease = w[i].lease;
    cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
  }
  fixture_close(&f);
}

/* A clear sweeps while a release of the old generation is about to make its slot
 * idle: it may not stay there. */
Test(pool, sweeps_what_becomes_idle_during_a_clear, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  for (unsigned i = 0; i < 200; i++) {
    weir_h lease = fixture_acquire(&f, pool);
    struct acquirer w;
    acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    cr_assert_eq(acquirer_join(&w), WEIR_OK);
    cr_assert_eq(weir_release(w.lease), WEIR_OK);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).idle, 0);
  }
  AWAIT_STAT(pool, empty, 2);
  fixture_close(&f);
}

/* The generation has 16 bits; the 65,537th clear looks like the first. */
Test(pool, is_cleared_more_often_than_a_generation_counts, .timeout = 30) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h lease = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < 65536; i++) {
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  }
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 2);
  fixture_close(&f);
}

/* P8, while things are going on. */
Test(pool, has_counts_that_add_up, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=9;Mock Script Text=\"connect 3: hang\"");
  struct acquirer w;
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  check_sum(pool);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.leased, 2);
  cr_assert_eq(s.connecting, 1);
  cr_assert_eq(s.empty, 6);
  cr_assert_eq(s.waiters, 1);
  cr_assert_eq(weir_release(a), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(weir_discard(b), WEIR_OK);
  (void)f.mock->release_hung(f.drv, 0);
  AWAIT_STAT(pool, idle, 1);
  AWAIT_STAT(pool, closing, 0);
  check_sum(pool);
  s = fixture_stats(pool);
  cr_assert_eq(s.connects_begun, 3);
  cr_assert_eq(s.connects_ok, 3);
  cr_assert_eq(s.closed, 1);
  cr_assert_eq(s.acquired, 3);
  fixture_close(&f);
}

/* Pooling=false: each acquire opens and each release closes. */
Test(pool, keeps_nothing_when_pooling_is_off, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Pooling=false;Max Pool Size=3");
  for (unsigned i = 1; i <= 3; i++) {
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], i);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_COUNT(&f, conns_live, 0);
  }
  fixture_close(&f);
}
