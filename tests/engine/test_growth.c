/* SPDX-License-Identifier: MIT */
/* Growth of a pool: who gets a connect, and when, in virtual time. */
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "sys/clock.h"
#include "virtual_clock.h"

#define MS ((uint64_t)FIXTURE_MS)

enum {
  SPIKE = 50,
  READY = 5
};

static struct fixture f;
static weir_h pool;
static struct acquirer many[SPIKE];

/* A pool with five idle connections that took 150 ms each, whose leases lasted
 * for hold_ns. */
static void open_known(uint64_t hold_ns, const char *settings) {
  weir_h leases[READY];
  struct acquirer first[READY];
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=100;Mock Connect Delay=150ms;%s",
                      settings);
  for (unsigned i = 0; i < READY; i++) {
    acquirer_start(&first[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, connecting, READY);
  cr_assert_eq(virtual_clock_wait_parked(READY), 0);
  fixture_advance(&f, 150 * MS);
  for (unsigned i = 0; i < READY; i++) {
    cr_assert_eq(acquirer_join(&first[i]), WEIR_OK);
    leases[i] = first[i].lease;
  }
  fixture_advance(&f, hold_ns);
  for (unsigned i = 0; i < READY; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.idle, READY);
  cr_assert_eq(s.connect_ns, 150 * MS);
  cr_assert_eq(s.hold_ns, hold_ns);
}

/* Fifty requests at once: five are served, the others wait. */
static void begin_spike(void) {
  for (unsigned i = 0; i < SPIKE; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, leased, READY);
  AWAIT_STAT(pool, waiters, SPIKE - READY);
}

/* One that has been served and not been seen yet; waits for it. */
static struct acquirer *next_served(bool *joined) {
  for (unsigned i = 0;; i = (i + 1) % SPIKE) {
    if (!joined[i] && __atomic_load_n(&many[i].lease, __ATOMIC_ACQUIRE) != 0) {
      joined[i] = true;
      return &many[i];
    }
    (void)sched_yield();
  }
}

/* Each of those served holds its connection for hold_ns, until all have been. */
static void end_spike(uint64_t hold_ns) {
  bool joined[SPIKE] = {false};
  for (unsigned left = SPIKE; left != 0; left -= READY) {
    weir_h leases[READY];
    AWAIT_STAT(pool, leased, READY);
    for (unsigned i = 0; i < READY; i++) {
      struct acquirer *a = next_served(joined);
      cr_assert_eq(acquirer_join(a), WEIR_OK);
      leases[i] = a->lease;
    }
    fixture_advance(&f, hold_ns);
    for (unsigned i = 0; i < READY; i++) {
      cr_assert_eq(weir_release(leases[i]), WEIR_OK);
    }
  }
}

/* The spike of 5 idle connections, 50 requests of 2 ms and connects of 150 ms. */
Test(growth, opens_nothing_for_a_spike_of_short_requests, .timeout = 20) {
  open_known(2 * MS, "");
  uint64_t start = virtual_clock_now();
  begin_spike();
  end_spike(2 * MS);
  cr_assert_eq(fixture_stats(pool).connects_begun, READY);
  cr_assert_leq(virtual_clock_now() - start, 150 * MS);
  fixture_close(&f);
}

/* With 40 ms the last in line would wait 360 ms: as many are opened as would wait
 * longer than a connect takes, and no more. */
Test(growth, opens_for_a_spike_of_long_requests, .timeout = 20) {
  open_known(40 * MS, "");
  begin_spike();
  AWAIT_STAT(pool, connecting, SPIKE - READY - 18);
  cr_assert_eq(virtual_clock_wait_parked(SPIKE - READY), 0);
  fixture_advance(&f, 150 * MS);
  AWAIT_STAT(pool, leased, SPIKE - 18);
  cr_assert_eq(fixture_stats(pool).connects_begun, SPIKE - 18);
  weir_engine_shutdown(f.engine, 0, NULL);
  for (unsigned i = 0; i < SPIKE; i++) {
    (void)acquirer_join(&many[i]);
  }
  virtual_clock_restore();
}

/* Nothing comes back although it was forecast: the head believes it for as long
 * as a connect takes, and no longer. */
Test(growth, lets_the_head_open_when_a_forecast_fails, .timeout = 10) {
  open_known(2 * MS, "");
  weir_h leases[READY];
  for (unsigned i = 0; i < READY; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  fixture_sync(&f);
  fixture_advance(&f, 150 * MS);
  cr_assert_eq(fixture_stats(pool).connecting, 0);
  fixture_advance(&f, 1);
  AWAIT_STAT(pool, connecting, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 150 * MS);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  for (unsigned i = 0; i < READY; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  fixture_close(&f);
}

Test(growth, opens_for_all_at_once_without_history, .timeout = 20) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Mock Script Text=\"connect: hang\"");
  for (unsigned i = 0; i < SPIKE; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_COUNT(&f, hung, SPIKE);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), SPIKE);
  for (unsigned i = 0; i < SPIKE; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  fixture_close(&f);
}

/* Connect Rate and Connect Burst: two at once, then ten a second. */
Test(growth, keeps_the_rate_of_connects, .timeout = 20) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Connect Rate=10;Connect Burst=2");
  for (unsigned i = 0; i < 6; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 4);
  AWAIT_STAT(pool, leased, 2);
  for (unsigned i = 3; i <= 6; i++) {
    fixture_sync(&f);
    fixture_advance(&f, 100 * MS - 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, i - 1);
    fixture_advance(&f, 1);
    AWAIT_STAT(pool, leased, i);
  }
  for (unsigned i = 0; i < 6; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  fixture_close(&f);
}

static void change(const char *text) {
  cr_assert_eq(weir_pool_reconfigure(pool, text, strlen(text), &f.err), WEIR_OK,
               "%s", f.err.message);
}

/* Two who wait for a token that comes in ten seconds. */
static void wait_for_tokens(void) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Connect Rate=1;Connect Burst=1");
  (void)fixture_acquire(&f, pool);
  for (unsigned i = 0; i < 2; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 2);
  fixture_sync(&f);
}

static void end_with_both(void) {
  for (unsigned i = 0; i < 2; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  fixture_close(&f);
}

Test(growth, follows_a_rate_that_is_changed, .timeout = 10) {
  wait_for_tokens();
  change("Connect Rate=0");
  end_with_both(); /* time has not moved */
}

Test(growth, follows_a_burst_that_is_changed, .timeout = 10) {
  wait_for_tokens();
  change("Connect Burst=3");
  end_with_both();
}

/* Warm-up begins after a pause of its own, never more than two at once. */
Test(growth, begins_to_fill_after_a_drawn_pause, .timeout = 10) {
  fixture_open_virtual(&f);
  virtual_clock_random(40 * MS);
  pool = fixture_pool(&f, "Min Pool Size=3;Mock Connect Delay=1s");
  fixture_sync(&f);
  fixture_advance(&f, 40 * MS - 1);
  cr_assert_eq(fixture_stats(pool).connects_begun, 0);
  fixture_advance(&f, 1);
  AWAIT_STAT(pool, connecting, 2);
  fixture_advance(&f, 1000 * MS);
  AWAIT_STAT(pool, idle, 2);
  fixture_close(&f);
}
