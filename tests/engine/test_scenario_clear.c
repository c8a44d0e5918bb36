/* SPDX-License-Identifier: MIT */
/* Scenarios 47 and 50: what a clear, or a new pool of the same name, finds on its
 * way.  (49 is in test_pool.c.) */
#include <stddef.h>
#include <stdint.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "virtual_clock.h"

#define MS ((uint64_t)FIXTURE_MS)

static struct fixture f;

/* -------------------------------------------------------------- scenario 47 */

/* A connect of 200 ms, a clear in its middle: whoever opens it by itself does not
 * get it, and opens another. */
Test(scenario_clear,
     scenario_047_a_connect_of_before_the_clear_serves_nobody,
     .timeout = 10) {
  struct acquirer w;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2;Mock Connect Delay=200ms");
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, connects_running, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 100 * MS);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  fixture_advance(&f, 100 * MS);
  AWAIT_COUNT(&f, calls[MOCK_CONNECT], 2);
  AWAIT_COUNT(&f, connects_running, 1);
  AWAIT_STAT(pool, closing, 0);
  cr_assert_eq(fixture_stats(pool).leased, 0);
  cr_assert_eq(fixture_stats(pool).idle, 0);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 200 * MS);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(w.ended, VIRTUAL_CLOCK_START + 400 * MS);
  cr_assert_eq(fixture_number(&f, w.lease, "session", 0), 2);
  cr_assert_eq(weir_release(w.lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(fixture_counts(&f).sessions_live, 1);
  fixture_close(&f);
}

/* The same where the reactor opens, for Min Pool Size: what comes of it later is
 * of the new generation only. */
Test(scenario_clear,
     scenario_047_a_connect_for_the_minimum_is_closed_too,
     .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=2;"
                                 "Mock Connect Delay=200ms");
  AWAIT_COUNT(&f, connects_running, 1);
  fixture_sync(&f);
  fixture_advance(&f, 100 * MS);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  fixture_advance(&f, 100 * MS);
  AWAIT_STAT(pool, empty, 2);
  cr_assert_eq(fixture_counts(&f).sessions_live, 0);
  cr_assert_eq(fixture_stats(pool).connects_ok, 1);
  fixture_advance(&f, 1000 * MS); /* after a clear the server is left alone */
  fixture_advance(&f, 200 * MS);
  AWAIT_STAT(pool, idle, 1);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 50 */

static weir_h open_same(void) {
  return fixture_pool(&f, "Database=k;Max Pool Size=2");
}

/* A lease comes back to the pool that gave it, whoever has its key by now. */
Test(scenario_clear,
     scenario_050_an_old_lease_does_not_enter_the_successor,
     .timeout = 10) {
  fixture_open(&f);
  weir_h first = open_same();
  weir_h lease = fixture_acquire(&f, first);
  cr_assert_eq(weir_pool_close(first), WEIR_OK);
  weir_h second = open_same();
  cr_assert_neq(second, first);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, sessions_live, 0);
  fixture_sync(&f);
  struct weir_pool_stats s = fixture_stats(second);
  cr_assert_eq(s.empty, 2);
  cr_assert_eq(s.released, 0);
  cr_assert_eq(s.connects_begun, 0);
  weir_h other = fixture_acquire(&f, second);
  cr_assert_eq(fixture_number(&f, other, "session", 0), 2);
  cr_assert_eq(weir_release(lease), WEIR_E_HANDLE);
  cr_assert_eq(fixture_stats(second).leased, 1);
  cr_assert_eq(weir_release(other), WEIR_OK);
  fixture_close(&f);
}

/* ... also when the successor is waiting for a connection just then. */
Test(scenario_clear,
     scenario_050_an_old_lease_serves_no_waiter_of_the_successor,
     .timeout = 10) {
  struct acquirer w;
  fixture_open(&f);
  weir_h first = fixture_pool(&f, "Max Pool Size=1;Database=k");
  weir_h lease = fixture_acquire(&f, first);
  cr_assert_eq(weir_pool_close(first), WEIR_OK);
  weir_h second = fixture_pool(&f, "Max Pool Size=1;Database=k");
  weir_h held = fixture_acquire(&f, second);
  acquirer_start(&w, second, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(second, waiters, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, sessions_live, 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(second).waiters, 1);
  cr_assert_eq(weir_release(held), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(fixture_number(&f, w.lease, "session", 0), 2);
  fixture_close(&f);
}
