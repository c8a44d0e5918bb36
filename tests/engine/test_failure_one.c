/* SPDX-License-Identifier: MIT */
/* Pool Failure=one: who fails when a connect does, and what becomes of the others. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "virtual_clock.h"

#define S    ((uint64_t)FIXTURE_S)
#define DOWN "fail endpoint network 'nobody home'"

static struct fixture f;
static weir_h pool;
static struct acquirer many[8];

static void open_with(const char *script, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(
      &f, "Max Pool Size=4;Pool Failure=one;Mock Script Text=\"%s\";%s", script,
      settings);
}

static int acquire(void) {
  weir_h lease = 0;
  return weir_acquire(pool, FIXTURE_S, &lease, &f.err);
}

static void start(unsigned n) {
  acquirers_line_up(many, 0, n, pool, WEIR_TIMEOUT_NEVER);
}

/* n wait behind one that opens; its connect fails. */
static void fail_the_first_of(unsigned n) {
  start(n);
  AWAIT_COUNT(&f, hung, 1);
  (void)f.mock->release_hung(f.drv, 0);
}

#define ONE_OPENS "Max Concurrent Connects=1;"

Test(failure_one, fails_its_caller_and_the_first_in_line, .timeout = 10) {
  open_with("connect 1: hang, " DOWN, ONE_OPENS);
  fail_the_first_of(4);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_FAIL);
  cr_assert_eq(many[0].err.retry_after_ms, 0);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_E_FAIL);
  cr_assert_eq(many[1].err.retry_after_ms, 5000);
  cr_assert_not_null(strstr(many[1].err.message, "nobody home"));
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  cr_assert_eq(fixture_stats(pool).connecting, 0);
  /* At the end of the period they are looked at: nobody sleeps through it. */
  fixture_advance(&f, 5 * S - 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_advance(&f, 1);
  for (unsigned i = 2; i < 4; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 3);
  fixture_close(&f);
}

/* Those who stay are served by what comes back, first come, first served. */
Test(failure_one, serves_the_others_from_what_comes_back, .timeout = 10) {
  open_with("connect 2: hang, " DOWN, ONE_OPENS "Pool Handoff=queued");
  weir_h lease = fixture_acquire(&f, pool);
  fail_the_first_of(4);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_FAIL);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_E_FAIL);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[2]), WEIR_OK);
  cr_assert_eq(weir_release(many[2].lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[3]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).blocked_ns, 5 * S);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 2);
  fixture_close(&f);
}

/* Who comes meanwhile does not stay, whoever does. */
Test(failure_one, refuses_who_comes_behind_those_in_line, .timeout = 10) {
  open_with("connect 1: hang, " DOWN, ONE_OPENS);
  fail_the_first_of(3);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_FAIL);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_E_FAIL);
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(f.err.retry_after_ms, 5000);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  fixture_sync(&f);
  fixture_advance(&f, 5 * S);
  cr_assert_eq(acquirer_join(&many[2]), WEIR_OK);
  fixture_close(&f);
}

/* One goes first; those who stand behind it are not told to try one after the
 * other, each for a minute. */
Test(failure_one, fails_one_more_with_each_probe, .timeout = 10) {
  open_with("connect 1-2: hang, " DOWN, ONE_OPENS);
  fail_the_first_of(6);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_FAIL);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_E_FAIL);
  fixture_sync(&f);
  fixture_advance(&f, 5 * S);
  AWAIT_COUNT(&f, hung, 1);
  (void)f.mock->release_hung(f.drv, 0);
  cr_assert_eq(acquirer_join(&many[2]), WEIR_E_FAIL);
  cr_assert_eq(acquirer_join(&many[3]), WEIR_E_FAIL);
  cr_assert_eq(many[3].err.retry_after_ms, 10000);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  fixture_advance(&f, 10 * S);
  cr_assert_eq(acquirer_join(&many[4]), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[5]), WEIR_OK);
  fixture_close(&f);
}

/* Each opens its own: nobody is parked whom another's failure could concern. */
Test(failure_one, leaves_those_alone_who_open_their_own, .timeout = 10) {
  open_with("connect 1: hang, " DOWN "; connect 2-4: hang",
            "Pool Growth=parallel");
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, i + 1);
  }
  (void)f.mock->release_hung(f.drv, 1);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_FAIL);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  (void)f.mock->release_hung(f.drv, 0);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[2]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).blocked_ns, 0); /* the others succeeded */
  fixture_close(&f);
}

/* The same for those whose connects the reactor makes. */
Test(failure_one, fails_submitted_ones_as_others, .timeout = 10) {
  open_with("connect 1: hang, " DOWN, ONE_OPENS);
  weir_h queue = queue_of(&f, 4);
  for (uint64_t i = 1; i <= 4; i++) {
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, i);
  }
  AWAIT_COUNT(&f, hung, 1);
  (void)f.mock->release_hung(f.drv, 0);
  (void)take_one(&f, queue, 1, WEIR_E_FAIL);
  (void)take_one(&f, queue, 2, WEIR_E_FAIL);
  fixture_sync(&f);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_advance(&f, 5 * S);
  (void)take_one(&f, queue, 3, WEIR_OK);
  (void)take_one(&f, queue, 4, WEIR_OK);
  fixture_close(&f);
}

/* A period that is not over when the time is. */
Test(failure_one, tells_the_period_to_who_runs_out_of_time, .timeout = 10) {
  open_with("connect 1: hang, " DOWN, ONE_OPENS);
  start(2);
  acquirer_start(&many[2], pool, FIXTURE_S);
  AWAIT_STAT(pool, waiters, 3);
  AWAIT_COUNT(&f, hung, 1);
  (void)f.mock->release_hung(f.drv, 0);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_FAIL);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_E_FAIL);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, S);
  cr_assert_eq(acquirer_join(&many[2]), WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(many[2].err.message, "none begins for 4.00 s"),
                     "%s", many[2].err.message);
  cr_assert_not_null(strstr(many[2].err.message, "nobody home"));
  fixture_close(&f);
}

Test(failure_one, stays_in_line_over_a_pause, .timeout = 10) {
  open_with("connect 1: " DOWN, "");
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  start(2);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  fixture_advance(&f, 5 * S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  fixture_close(&f);
}
