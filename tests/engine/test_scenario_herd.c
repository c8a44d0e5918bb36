/* SPDX-License-Identifier: MIT */
/* Thundering herds and login storms: ways in which pools fail, by number. */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "virtual_clock.h"

#define S  ((uint64_t)FIXTURE_S)
#define MS ((uint64_t)FIXTURE_MS)

static struct fixture f;
static weir_h pool;

enum {
  POOLS = 100,
  MINIMUM = 10,
  CALLERS = 50,
  CROWD = 1000
};

/* 38: an hour of idleness in a hundred pools costs no login, and while they are
 * filled no second has more than Connect Rate and Burst allow. */
Test(scenario, scenario_038_trimming_costs_no_login, .timeout = 60) {
  static weir_h pools[POOLS];
  fixture_open_virtual(&f);
  for (unsigned i = 0; i < POOLS; i++) {
    pools[i] = fixture_pool(&f,
                            "Database=db%u;Min Pool Size=%d;Startup=lazy;"
                            "Connection Idle Timeout=60;Connect Rate=2",
                            i, MINIMUM);
    cr_assert_eq(weir_release(fixture_acquire(&f, pools[i])), WEIR_OK);
  }
  uint64_t peak = 0;
  for (unsigned i = 0; i < 20; i++) {
    uint64_t before = fixture_counts(&f).calls[MOCK_CONNECT];
    for (unsigned k = 0; k < 20; k++) {
      fixture_advance(&f, 50 * MS);
    }
    uint64_t now = fixture_counts(&f).calls[MOCK_CONNECT];
    peak = now - before > peak ? now - before : peak;
  }
  for (unsigned i = 0; i < POOLS; i++) {
    AWAIT_STAT(pools[i], idle, MINIMUM);
  }
  cr_assert_leq(peak, 3 * POOLS); /* the rate, and a burst of one */
  for (unsigned i = 0; i < 240; i++) {
    fixture_advance(&f, 15 * S);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], POOLS * MINIMUM);
  for (unsigned i = 0; i < POOLS; i++) {
    cr_assert_eq(fixture_stats(pools[i]).idle, MINIMUM);
    cr_assert_eq(fixture_stats(pools[i]).closed, 0);
  }
  fixture_close(&f);
}

/* 38: what was above the minimum goes, and nothing is opened for it again. */
Test(scenario, scenario_038_surplus_goes_without_a_refill, .timeout = 20) {
  weir_h leases[3 * MINIMUM];
  fixture_open_virtual(&f);
  pool =
      fixture_pool(&f, "Min Pool Size=%d;Connection Idle Timeout=60", MINIMUM);
  for (unsigned i = 0; i < 3 * MINIMUM; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 3 * MINIMUM; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  for (unsigned i = 0; i < 240; i++) {
    fixture_advance(&f, 15 * S);
    cr_assert_geq(fixture_stats(pool).idle, MINIMUM);
  }
  AWAIT_STAT(pool, idle, MINIMUM);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3 * MINIMUM);
  fixture_close(&f);
}

/* 39: one that nobody needed has come back; an acquire on the empty pool opens
 * one.  One that is thrown away while others wait is replaced by one. */
Test(scenario, scenario_039_one_acquire_opens_one, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=10;Connection Lifetime=1;"
                          "Lifetime Jitter=0");
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  fixture_sync(&f);
  fixture_advance(&f, 2 * S);
  weir_h lease = fixture_acquire(&f, pool);
  fixture_sync(&f);
  fixture_advance(&f, S / 2);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(scenario, scenario_039_one_doomed_is_replaced_by_one, .timeout = 10) {
  weir_h leases[10];
  weir_h waiting[8];
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=10");
  weir_h queue = queue_of(&f, 8);
  for (unsigned i = 0; i < 10; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 8; i++) {
    waiting[i] = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, i);
  }
  (void)fixture_run(&f, leases[3], "kill");
  cr_assert_eq(weir_release(leases[3]), WEIR_OK);
  (void)take_one(&f, queue, 0, WEIR_OK);
  fixture_sync(&f);
  fixture_advance(&f, S);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).connects_begun, 11);
  cr_assert_eq(fixture_stats(pool).waiters, 7);
  cr_assert_leq(fixture_counts(&f).sessions_max, 10);
  for (unsigned i = 1; i < 8; i++) {
    cr_assert_eq(weir_op_cancel(waiting[i]), WEIR_OK);
  }
  fixture_close(&f);
}

/* 42: fifty callers, connects of 2 s, so many at once: rounds of 2 s each. */
static void open_fifty(unsigned at_once) {
  unsigned rounds = (CALLERS + at_once - 1) / at_once;
  fixture_open_virtual(&f);
  pool = fixture_pool(&f,
                      "Max Pool Size=50;Max Concurrent Connects=%u;"
                      "Mock Connect Delay=2s",
                      at_once);
  weir_h queue = queue_of(&f, CALLERS);
  for (unsigned i = 0; i < CALLERS; i++) {
    (void)submit_waiting(&f, pool, 30 * FIXTURE_S, queue, i);
  }
  for (unsigned i = 1; i <= rounds; i++) {
    uint32_t open = i * at_once < CALLERS ? i * at_once : CALLERS;
    AWAIT_STAT(pool, connecting, open - (i - 1) * at_once);
    fixture_sync(&f);
    fixture_advance(&f, 2 * S);
    AWAIT_STAT(pool, leased, open);
  }
  for (unsigned i = 0; i < CALLERS; i++) {
    struct weir_completion c = {.struct_size = sizeof c};
    cr_assert_eq(weir_queue_take(queue, 0, &c, NULL), WEIR_OK);
    cr_assert_eq(c.status, WEIR_OK);
  }
  cr_assert_eq(fixture_counts(&f).connects_max, at_once);
  fixture_close(&f);
}

Test(scenario, scenario_042_connects_are_opened_side_by_side, .timeout = 20) {
  open_fifty(50);
}

Test(scenario, scenario_042_as_many_at_once_as_allowed, .timeout = 20) {
  open_fifty(8);
}

/* 42: a server that does not answer: a thousand callers hear of it together,
 * not one after the other. */
Test(scenario, scenario_042_a_thousand_fail_together, .timeout = 20) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=50;Connect Timeout=3;"
                          "Mock Script Text=\"connect: hang\"");
  weir_h queue = queue_of(&f, CROWD);
  for (unsigned i = 0; i < CROWD; i++) {
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_POOL, queue, i);
  }
  AWAIT_COUNT(&f, hung, CALLERS);
  fixture_sync(&f);
  fixture_advance(&f, 3 * S);
  for (unsigned i = 0; i < CROWD; i++) {
    struct weir_completion c = {.struct_size = sizeof c};
    cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, NULL), WEIR_OK);
    cr_assert_eq(c.status, WEIR_E_TIMEOUT);
  }
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  AWAIT_STAT(pool, empty, CALLERS);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], CALLERS);
  fixture_close(&f);
}

/* Blocking callers of a server that refuses: one failure is told to all. */
Test(scenario, scenario_042_one_failure_is_told_to_all, .timeout = 20) {
  static struct acquirer many[CALLERS];
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=4;Pool Blocking Period=always;"
                          "Mock Script Text=\"connect: delay 2s, fail endpoint "
                          "network 'nobody home'\"");
  for (unsigned i = 0; i < CALLERS; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, CALLERS);
  AWAIT_STAT(pool, connecting, 4);
  cr_assert_eq(virtual_clock_wait_parked(CALLERS), 0);
  uint64_t start = virtual_clock_now();
  fixture_advance(&f, 2 * S);
  for (unsigned i = 0; i < CALLERS; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    cr_assert_eq(many[i].ended, start + 2 * S);
  }
  fixture_close(&f);
}
