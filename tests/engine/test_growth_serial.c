/* SPDX-License-Identifier: MIT */
/* Pool Growth=serial: one connect at a time. */
#include <stdio.h>

#include "completions.h"
#include "gates.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

enum {
  MOST = 4
};

static struct fixture f;
static weir_h pool;
static struct acquirer many[MOST];

static void open_with(const char *script, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Pool Growth=serial;Mock Script Text=\"%s\";%s",
                      script, settings);
}

static void line_up(unsigned from, unsigned to, int64_t timeout_ns) {
  acquirers_line_up(many, from, to, pool, timeout_ns);
}

Test(growth_serial, opens_one_at_a_time, .timeout = 10) {
  open_with("connect: hang", "");
  line_up(0, MOST, WEIR_TIMEOUT_NEVER);
  for (unsigned i = 0; i < MOST; i++) {
    AWAIT_COUNT(&f, hung, 1);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).connects_begun, i + 1);
    fixture_end_connect(&f);
    AWAIT_STAT(pool, leased, i + 1);
  }
  for (unsigned i = 0; i < MOST; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  fixture_close(&f);
}

/* First come, first opened for. */
Test(growth_serial, opens_for_the_first_in_line, .timeout = 10) {
  open_with("connect: hang", "");
  line_up(0, MOST, WEIR_TIMEOUT_NEVER);
  for (unsigned i = 0; i < MOST; i++) {
    fixture_end_connect(&f);
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
    cr_assert_eq(many[i].order, i);
  }
  fixture_close(&f);
}

/* A connect that fails is an end, too. */
Test(growth_serial, opens_for_the_next_when_one_has_failed, .timeout = 10) {
  open_with("connect 1-3: hang, fail endpoint network 'no'",
            "Pool Failure=one;Pool Blocking Period=never");
  line_up(0, MOST, WEIR_TIMEOUT_NEVER);
  for (unsigned i = 0; i < 3; i++) {
    fixture_end_connect(&f);
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
  }
  cr_assert_eq(acquirer_join(&many[3]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 4);
  fixture_close(&f);
}

/* What lost its caller holds up the others until it has ended, and serves one. */
Test(growth_serial, waits_for_a_connect_that_lost_its_caller, .timeout = 10) {
  open_with("connect: hang", "");
  line_up(0, 1, FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  line_up(1, 3, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(3), 0);
  fixture_advance(&f, S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_end_connect(&f);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  fixture_end_connect(&f);
  cr_assert_eq(acquirer_join(&many[2]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_close(&f);
}

/* ... and the next begins when it has ended badly. */
Test(growth_serial, opens_when_a_lost_connect_has_failed, .timeout = 10) {
  open_with("connect 1: hang, fail endpoint network 'no'",
            "Pool Blocking Period=never");
  line_up(0, 1, FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  line_up(1, 2, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  fixture_advance(&f, S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  fixture_end_connect(&f);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  fixture_close(&f);
}

/* A connection that is idle is no reason to open another. */
Test(growth_serial, leaves_the_idle_to_those_in_line, .timeout = 10) {
  open_with("connect 3-: hang", "Pool Handoff=barging");
  gates_install();
  weir_h one = fixture_acquire(&f, pool);
  weir_h two = fixture_acquire(&f, pool);
  line_up(0, 1, WEIR_TIMEOUT_NEVER); /* opens, and hangs */
  AWAIT_COUNT(&f, hung, 1);
  line_up(1, 4, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(4), 0);
  gate_hold("waiter.try");
  cr_assert_eq(weir_release(one), WEIR_OK);
  cr_assert_eq(weir_release(two), WEIR_OK);
  cr_assert_eq(gate_wait_reached("waiter.try", 1), 0);
  (void)f.mock->release_hung(f.drv, 0);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1); /* for the third of them */
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[2]), WEIR_OK);
  (void)f.mock->release_hung(f.drv, 0);
  cr_assert_eq(acquirer_join(&many[3]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 4);
  gates_restore();
  fixture_close(&f);
}

/* The reactor opens for those who do not block, and there is one permit for all. */
Test(growth_serial, shares_its_permit_with_submitted_ones, .timeout = 10) {
  open_with("connect: hang", "");
  weir_h queue = queue_of(&f, 2);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  AWAIT_COUNT(&f, hung, 1);
  line_up(1, 2, WEIR_TIMEOUT_NEVER);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 2);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_end_connect(&f);
  (void)take_one(&f, queue, 1, WEIR_OK);
  fixture_end_connect(&f);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  fixture_end_connect(&f);
  (void)take_one(&f, queue, 2, WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  fixture_close(&f);
}

/* ------------------------------------------------------------- Min Pool Size */

/* At once, and one after the other. */
Test(growth_serial, fills_without_a_pause_one_by_one, .timeout = 10) {
  fixture_open_virtual(&f);
  virtual_clock_random(40 * (uint64_t)FIXTURE_MS);
  pool = fixture_pool(&f, "Pool Growth=serial;Min Pool Size=3;"
                          "Mock Script Text='connect: hang'");
  for (uint64_t i = 1; i <= 3; i++) {
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, i);
    fixture_end_connect(&f);
    AWAIT_STAT(pool, idle, (uint32_t)i);
  }
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  fixture_close(&f);
}

/* The fill has the permit: who comes takes what it opens. */
Test(growth_serial, takes_what_was_opened_for_the_minimum, .timeout = 10) {
  open_with("connect: hang", "Min Pool Size=1");
  AWAIT_COUNT(&f, hung, 1);
  line_up(0, 1, WEIR_TIMEOUT_NEVER);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_end_connect(&f);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  fixture_close(&f);
}

/* A connect for a caller that has gone has had the permit. */
Test(growth_serial, fills_behind_a_connect_that_lost_its_caller) {
  open_with("connect: hang", "Min Pool Size=2;Startup=lazy");
  line_up(0, 1, FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  fixture_end_connect(&f);
  AWAIT_STAT(pool, idle, 1);
  fixture_end_connect(&f);
  AWAIT_STAT(pool, idle, 2);
  fixture_close(&f);
}

Test(growth_serial, fills_at_once_after_a_clear, .timeout = 10) {
  open_with("", "Min Pool Size=2");
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  AWAIT_COUNT(&f, calls[MOCK_CONNECT], 4); /* time has not moved */
  AWAIT_STAT(pool, idle, 2);
  fixture_close(&f);
}

/* One that a caller keeps has had the permit, too. */
Test(growth_serial, fills_behind_a_connect_of_a_caller, .timeout = 10) {
  open_with("connect: hang", "Min Pool Size=3;Startup=lazy");
  line_up(0, 1, WEIR_TIMEOUT_NEVER);
  fixture_end_connect(&f);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  fixture_end_connect(&f);
  AWAIT_STAT(pool, idle, 1);
  fixture_end_connect(&f);
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(fixture_counts(&f).connects_max, 1);
  fixture_close(&f);
}
