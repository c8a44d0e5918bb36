/* SPDX-License-Identifier: MIT */
/* Pool Growth=parallel: a connect for each who waits. */
#include <stdio.h>

#include "completions.h"
#include "gates.h"
#include "virtual_clock.h"

#define S  ((uint64_t)FIXTURE_S)
#define MS ((uint64_t)FIXTURE_MS)

enum {
  MOST = 8
};

static struct fixture f;
static weir_h pool;
static struct acquirer many[MOST];

static void open_with(const char *script, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Pool Growth=parallel;Mock Script Text=\"%s\";%s",
                      script, settings);
}

static void line_up(unsigned from, unsigned to, int64_t timeout_ns) {
  acquirers_line_up(many, from, to, pool, timeout_ns);
}

/* Though a return is foreseen: connects take 1 s and leases nothing. */
Test(growth_parallel, opens_for_each_whatever_comes_back, .timeout = 10) {
  open_with("connect 2-: hang", "");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = fixture_acquire(&f, pool);
  line_up(0, MOST, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, MOST);
  cr_assert_eq(fixture_stats(pool).connects_begun, MOST + 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), MOST);
  for (unsigned i = 0; i < MOST; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(growth_parallel, opens_no_more_than_there_is_room_for, .timeout = 10) {
  open_with("connect: hang", "Max Pool Size=3");
  line_up(0, MOST, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 3);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 3);
  AWAIT_STAT(pool, leased, 3);
  cr_assert_eq(weir_engine_shutdown(f.engine, 0, NULL), WEIR_OK);
  for (unsigned i = 0; i < MOST; i++) {
    (void)acquirer_join(&many[i]);
  }
  virtual_clock_restore();
}

Test(growth_parallel, keeps_to_max_concurrent_connects, .timeout = 10) {
  open_with("connect: hang", "Max Concurrent Connects=2");
  line_up(0, 6, WEIR_TIMEOUT_NEVER);
  for (unsigned i = 0; i < 3; i++) {
    AWAIT_COUNT(&f, hung, 2);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2 * i + 2);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 2);
    AWAIT_STAT(pool, leased, 2 * i + 2);
  }
  for (unsigned i = 0; i < 6; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  fixture_close(&f);
}

Test(growth_parallel, keeps_to_the_rate_of_connects, .timeout = 10) {
  open_with("", "Connect Rate=10;Connect Burst=2");
  for (unsigned i = 0; i < 4; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, leased, 2);
  AWAIT_STAT(pool, waiters, 2);
  for (unsigned i = 3; i <= 4; i++) {
    fixture_sync(&f);
    fixture_advance(&f, 100 * MS - 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, i - 1);
    fixture_advance(&f, 1);
    AWAIT_STAT(pool, leased, i);
  }
  for (unsigned i = 0; i < 4; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  fixture_close(&f);
}

/* One that lost its caller does not count: whoever comes opens at once. */
Test(growth_parallel, does_not_count_on_a_connect_that_lost_its_caller) {
  open_with("connect 1: hang", "Pool Handoff=queued");
  line_up(0, 1, FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  (void)fixture_acquire(&f, pool);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

/* Those who do not block: as many as there are of them, and not more. */
Test(growth_parallel, opens_as_many_as_were_submitted, .timeout = 10) {
  open_with("connect: hang", "");
  weir_h queue = queue_of(&f, MOST);
  for (uint64_t i = 1; i <= MOST; i++) {
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, i);
    AWAIT_COUNT(&f, hung, i);
  }
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, MOST);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), MOST);
  for (uint64_t i = 1; i <= MOST; i++) {
    (void)take_one(&f, queue, i, WEIR_OK);
  }
  fixture_close(&f);
}

/* In one line with those who block, who open their own. */
Test(growth_parallel, opens_for_both_kinds, .timeout = 10) {
  open_with("connect: hang", "Pool Handoff=queued");
  weir_h queue = queue_of(&f, 2);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  line_up(1, 2, WEIR_TIMEOUT_NEVER);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 2);
  AWAIT_COUNT(&f, hung, 3);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 3);
  (void)take_one(&f, queue, 1, WEIR_OK);
  (void)take_one(&f, queue, 2, WEIR_OK);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  fixture_close(&f);
}

/* Of what was opened for one that was served otherwise the next has the use. */
Test(growth_parallel, opens_none_anew_for_a_connect_that_is_free) {
  open_with("connect 2: hang", "");
  weir_h queue = queue_of(&f, 2);
  weir_h lease = fixture_acquire(&f, pool);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  (void)take_one(&f, queue, 1, WEIR_OK);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 2);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  (void)take_one(&f, queue, 2, WEIR_OK);
  fixture_close(&f);
}

/* One whose connect fails is told, though others are being opened. */
Test(growth_parallel, fails_a_submitted_one_with_its_connect, .timeout = 10) {
  struct weir_completion c = {.struct_size = sizeof c};
  open_with("connect 1: hang; connect 2: fail endpoint network 'no'",
            "Min Pool Size=1;Pool Failure=one;Pool Blocking Period=never");
  weir_h queue = queue_of(&f, 1);
  AWAIT_COUNT(&f, hung, 1);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, NULL), WEIR_OK);
  cr_assert_eq(c.status, WEIR_E_FAIL);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

/* Idle connections are for the first in line, and no more are opened than for the
 * others. */
Test(growth_parallel, leaves_the_idle_to_those_in_line, .timeout = 10) {
  open_with("connect 3-: hang",
            "Max Concurrent Connects=1;Pool Handoff=barging");
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

/* ------------------------------------------------------------- Min Pool Size */

Test(growth_parallel, fills_without_a_pause_one_by_one, .timeout = 10) {
  fixture_open_virtual(&f);
  virtual_clock_random(40 * MS);
  pool = fixture_pool(&f, "Pool Growth=parallel;Min Pool Size=2;"
                          "Mock Script Text='connect: hang'");
  for (uint64_t i = 1; i <= 2; i++) {
    AWAIT_COUNT(&f, hung, 1);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).connects_begun, i);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
    AWAIT_STAT(pool, idle, (uint32_t)i);
  }
  fixture_close(&f);
}

Test(growth_parallel, opens_beside_a_fill_that_hangs, .timeout = 10) {
  open_with("connect 1: hang", "Min Pool Size=1");
  AWAIT_COUNT(&f, hung, 1);
  (void)fixture_acquire(&f, pool);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}
