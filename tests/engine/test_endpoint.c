/* SPDX-License-Identifier: MIT */
/* What pools of one server share: breaker and budget. */
#include <stddef.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "sys/clock.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

static struct fixture f;
static struct acquirer w[3];

#define TWO "Endpoint Max Connections=2;Mock Server=s;"

Test(endpoint, limits_all_its_pools_together, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h a = fixture_pool(&f, TWO "Database=a");
  weir_h b = fixture_pool(&f, TWO "Database=b");
  weir_h other = fixture_pool(&f, "Mock Server=t");
  weir_h la = fixture_acquire(&f, a);
  (void)fixture_acquire(&f, b);
  acquirer_start(&w[0], b, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(b, waiters, 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(b).effective_max, 1);
  cr_assert_eq(fixture_stats(b).empty, 0); /* one of one is there */
  (void)fixture_acquire(&f, other);        /* another server's */
  cr_assert_eq(fixture_counts(&f).sessions_live, 3);
  cr_assert_eq(weir_discard(la), WEIR_OK); /* the unit goes to whoever waits */
  fixture_sync(&f);
  fixture_advance(&f, S); /* Close Timeout */
  cr_assert_eq(acquirer_join(&w[0]), WEIR_OK);
  cr_assert_leq(fixture_counts(&f).sessions_max, 3);
  fixture_close(&f);
}

Test(endpoint, follows_a_limit_that_is_raised, .timeout = 10) {
  static const char more[] = "Endpoint Max Connections=3";
  fixture_open_virtual(&f);
  weir_h a = fixture_pool(&f, TWO);
  (void)fixture_acquire(&f, a);
  (void)fixture_acquire(&f, a);
  acquirer_start(&w[0], a, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(a, waiters, 1);
  fixture_sync(&f);
  cr_assert_eq(weir_pool_reconfigure(a, more, sizeof more - 1, &f.err),
               WEIR_OK);
  cr_assert_eq(acquirer_join(&w[0]), WEIR_OK);
  fixture_close(&f);
}

/* A sibling's connection that has been idle for 5 s gives way. */
Test(endpoint, evicts_what_a_sibling_does_not_use, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h a = fixture_pool(&f, TWO "Database=a");
  weir_h b = fixture_pool(&f, TWO "Database=b");
  weir_h la = fixture_acquire(&f, a);
  (void)fixture_acquire(&f, a);
  cr_assert_eq(weir_release(la), WEIR_OK);
  acquirer_start(&w[0], b, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(b, waiters, 1);
  fixture_sync(&f);
  for (unsigned i = 0; i < 4; i++) {
    fixture_advance(&f, S);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(a).idle, 1);
  }
  for (unsigned i = 0; i < 3 && fixture_stats(b).leased == 0; i++) {
    fixture_advance(&f, S);
    fixture_sync(&f);
    fixture_sync(&f);
  }
  cr_assert_eq(acquirer_join(&w[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(a).leased, 1);
  cr_assert_eq(fixture_counts(&f).sessions_max, 2);
  fixture_close(&f);
}

/* P1: the last sessions of a closed pool count for the one after it. */
Test(endpoint, counts_the_last_sessions_of_a_closed_pool, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h a = fixture_pool(&f, TWO);
  weir_h la = fixture_acquire(&f, a);
  (void)fixture_acquire(&f, a);
  cr_assert_eq(weir_pool_close(a), WEIR_OK);
  a = fixture_pool(&f, TWO);
  acquirer_start(&w[0], a, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(a, waiters, 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(a).connecting, 0);
  cr_assert_eq(weir_release(la), WEIR_OK);
  fixture_sync(&f);
  fixture_advance(&f, S);
  cr_assert_eq(acquirer_join(&w[0]), WEIR_OK);
  cr_assert_leq(fixture_counts(&f).sessions_max, 2);
  fixture_close(&f);
}

/* One pool learns that the server is down; the other need not try. */
Test(endpoint, shares_what_it_knows_of_the_server, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h a = fixture_pool(&f, "Pool Blocking Period=always;Mock Script Text="
                              "\"connect: fail endpoint network 'gone'\"");
  weir_h b = fixture_pool(&f, "Pool Blocking Period=always;Database=b");
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(a, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
  cr_assert_eq(weir_acquire(b, FIXTURE_S, &lease, &f.err), WEIR_E_DOWN);
  cr_assert_eq(fixture_stats(b).breaker, WEIR_BREAKER_OPEN);
  fixture_advance(&f, S);
  lease = fixture_acquire(&f, b); /* the probe */
  cr_assert_eq(fixture_stats(a).breaker, WEIR_BREAKER_RAMP);
  fixture_close(&f);
}

/* A change of state reaches the waiters of every pool at once. */
Test(endpoint, wakes_the_waiters_of_all_pools, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h a = fixture_pool(&f, "Mock Script Text=\"connect 1: fail endpoint "
                              "network 'gone'\"");
  weir_h b = fixture_pool(&f, "Database=b");
  acquirer_start(&w[0], a, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(a, breaker, WEIR_BREAKER_OPEN);
  AWAIT_STAT(a, connecting, 0);
  acquirer_start(&w[1], b, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(b, waiters, 1);
  fixture_sync(&f);
  fixture_advance(&f, S);
  cr_assert_eq(acquirer_join(&w[0]), WEIR_OK);
  cr_assert_eq(acquirer_join(&w[1]), WEIR_OK);
  fixture_close(&f);
}

/* Units that are kept for a pool are nobody else's: one that cannot use them has
 * none. */
static int pause_it(weir_h pool) {
  return weir_pool_pause(pool);
}

static int close_it(weir_h pool) {
  return weir_pool_close(pool);
}

static int drain_it(weir_h pool) {
  return weir_pool_drain(pool, 0, NULL);
}

static void let_go_by(int (*stop)(weir_h pool)) {
  fixture_open_virtual(&f);
  weir_h a = fixture_pool(&f, TWO "Database=a");
  weir_h b = fixture_pool(&f, TWO "Database=b");
  weir_h la = fixture_acquire(&f, a);
  (void)fixture_acquire(&f, a);
  acquirer_start(&w[0], b, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(b, waiters, 1);
  fixture_sync(&f);
  (void)stop(b);
  cr_assert_eq(weir_discard(la), WEIR_OK);
  fixture_sync(&f);
  fixture_advance(&f, S); /* Close Timeout */
  fixture_sync(&f);
  acquirer_start(&w[1], a, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(acquirer_join(&w[1]), WEIR_OK);
  (void)weir_pool_close(b);
  cr_assert_eq(acquirer_join(&w[0]), WEIR_E_CLOSED);
  fixture_close(&f);
}

Test(endpoint, keeps_nothing_for_a_pool_that_is_paused, .timeout = 10) {
  let_go_by(pause_it);
}

Test(endpoint, keeps_nothing_for_a_pool_that_drains, .timeout = 10) {
  let_go_by(drain_it);
}

Test(endpoint, keeps_nothing_for_a_pool_that_is_closed, .timeout = 10) {
  let_go_by(close_it);
}

/* The same for one that was told to be smaller, although somebody waits there. */
Test(endpoint, keeps_nothing_for_a_pool_that_may_not_grow, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h a = fixture_pool(&f, "Endpoint Max Connections=3;Database=a");
  weir_h b = fixture_pool(&f, "Endpoint Max Connections=3;Database=b");
  weir_h la = fixture_acquire(&f, a);
  (void)fixture_acquire(&f, a);
  weir_h lb = fixture_acquire(&f, b);
  acquirer_start(&w[0], b, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(b, waiters, 1);
  cr_assert_eq(weir_pool_resize(b, 0, 1, &f.err), WEIR_OK);
  cr_assert_eq(weir_discard(la), WEIR_OK);
  fixture_sync(&f);
  fixture_advance(&f, S); /* Close Timeout */
  fixture_sync(&f);
  acquirer_start(&w[1], a, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(acquirer_join(&w[1]), WEIR_OK);
  cr_assert_eq(weir_release(lb), WEIR_OK);
  cr_assert_eq(acquirer_join(&w[0]), WEIR_OK);
  fixture_close(&f);
}
