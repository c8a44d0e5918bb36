/* SPDX-License-Identifier: MIT */
/* Pool Failure=all: who fails when a connect does, and who comes after it. */
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
      &f, "Max Pool Size=4;Pool Failure=all;Mock Script Text=\"%s\";%s", script,
      settings);
}

static int acquire(void) {
  weir_h lease = 0;
  return weir_acquire(pool, FIXTURE_S, &lease, &f.err);
}

/* Fails, as the connect did, without one of its own. */
static void is_refused(uint32_t wait_ms) {
  uint64_t connects = fixture_counts(&f).calls[MOCK_CONNECT];
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "nobody home"), "%s", f.err.message);
  cr_assert_eq(f.err.scope, WEIR_SCOPE_ENDPOINT);
  cr_assert_eq(f.err.kind, WEIR_KIND_NETWORK);
  cr_assert_eq(f.err.retry_after_ms, wait_ms);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], connects);
}

static void start(unsigned n) {
  acquirers_line_up(many, 0, n, pool, WEIR_TIMEOUT_NEVER);
}

/* The one who opened is told what happened; the others also, when it will be tried
 * again. */
Test(failure_all, fails_all_who_wait_each_with_a_copy, .timeout = 10) {
  unsigned plain = 0;
  open_with("connect 1: hang, " DOWN, "Max Concurrent Connects=1");
  start(5);
  AWAIT_COUNT(&f, hung, 1);
  (void)f.mock->release_hung(f.drv, 0);
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    cr_assert_not_null(strstr(many[i].err.message, "nobody home"));
    bool told_again = many[i].err.retry_after_ms == 5000;
    cr_assert_eq(told_again,
                 strstr(many[i].err.message, "asked again in 5.0 s") != NULL);
    plain += !told_again;
  }
  cr_assert_eq(plain, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_close(&f);
}

Test(failure_all, refuses_who_comes_for_a_while, .timeout = 10) {
  open_with("connect 1: " DOWN, "");
  cr_assert_eq(fixture_stats(pool).blocked_ns, 0);
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(f.err.retry_after_ms, 0);
  cr_assert_eq(fixture_stats(pool).blocked_ns, 5 * S);
  is_refused(5000);
  fixture_advance(&f, 5 * S - 1);
  is_refused(1); /* a part of a millisecond is one */
  cr_assert_eq(fixture_stats(pool).blocked_ns, 1);
  fixture_advance(&f, 1);
  cr_assert_eq(acquire(), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).blocked_ns, 0);
  cr_assert_eq(fixture_stats(pool).down, 0);
  fixture_close(&f);
}

/* What there is goes on. */
Test(failure_all, hands_idle_ones_out_meanwhile, .timeout = 10) {
  open_with("connect 2: " DOWN, "");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  is_refused(5000);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).blocked_ns, 5 * S);
  fixture_close(&f);
}

/* Where nothing could be opened anyway, too: who waits there would wait for the
 * period. */
Test(failure_all, refuses_who_comes_to_a_full_pool, .timeout = 10) {
  open_with("connect 2: " DOWN, "");
  (void)fixture_acquire(&f, pool);
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(weir_pool_resize(pool, 0, 1, &f.err), WEIR_OK);
  is_refused(5000);
  fixture_close(&f);
}

Test(failure_all, refuses_who_submits, .timeout = 10) {
  weir_h lease = 0;
  weir_h op = 0;
  open_with("connect 1: " DOWN, "");
  weir_h queue = queue_of(&f, 4);
  (void)submit_waiting(&f, pool, FIXTURE_S, queue, 1);
  (void)take_one(&f, queue, 1, WEIR_E_FAIL);
  int rc = weir_submit_acquire(pool, FIXTURE_S, queue, 2, &lease, &op, &f.err);
  cr_assert_eq(rc, WEIR_E_FAIL, "%s", weir_status_name(rc));
  cr_assert_not_null(strstr(f.err.message, "nobody home"));
  cr_assert_eq(op, 0);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_advance(&f, 5 * S);
  (void)submit_waiting(&f, pool, FIXTURE_S, queue, 3);
  (void)take_one(&f, queue, 3, WEIR_OK);
  fixture_close(&f);
}

/* Behind its end one goes first, whoever comes; the others open when it has come
 * through. */
Test(failure_all, sends_one_first_when_it_is_over, .timeout = 10) {
  open_with("connect 1: " DOWN "; connect 2: hang", "Pool Growth=parallel");
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  fixture_sync(&f);
  fixture_advance(&f, 5 * S);
  start(3);
  AWAIT_COUNT(&f, hung, 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connecting, 1);
  (void)f.mock->release_hung(f.drv, 0);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 4);
  fixture_close(&f);
}

Test(failure_all, doubles_the_wait_when_that_one_fails, .timeout = 10) {
  open_with("connect 1-2: " DOWN, "");
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  fixture_advance(&f, 5 * S);
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(f.err.retry_after_ms, 0); /* its own */
  is_refused(10000);
  fixture_advance(&f, 10 * S);
  cr_assert_eq(acquire(), WEIR_OK);
  fixture_close(&f);
}

/* Who is handed a connection that turns out dead would need a connect like any
 * other. */
Test(failure_all, refuses_whose_connection_was_dead, .timeout = 10) {
  open_with("connect 2: " DOWN "; health: dead", "Mock Idle Watch=false");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_advance(&f, S); /* beyond Probe Window */
  is_refused(4000);
  fixture_close(&f);
}

/* Nobody fails while nothing would be opened anyway. */
Test(failure_all, refuses_nobody_in_a_pool_that_is_paused, .timeout = 10) {
  open_with("connect 1: " DOWN, "");
  cr_assert_eq(acquire(), WEIR_E_FAIL);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  start(2);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  for (unsigned i = 0; i < 2; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    cr_assert_eq(many[i].err.retry_after_ms, 5000);
  }
  fixture_close(&f);
}

/* Pool Async=dispatcher: those who are not in line yet would be told next. */
Test(failure_all, fails_those_behind_the_first_submitted, .timeout = 10) {
  open_with("connect 1: hang, " DOWN,
            "Pool Async=dispatcher;Pool Growth=serial;Max Concurrent "
            "Connects=1");
  weir_h queue = queue_of(&f, 4);
  for (uint64_t i = 1; i <= 4; i++) {
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, i);
  }
  AWAIT_COUNT(&f, hung, 1);
  (void)f.mock->release_hung(f.drv, 0);
  for (uint64_t i = 1; i <= 4; i++) {
    (void)take_one(&f, queue, i, WEIR_E_FAIL);
  }
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  fixture_close(&f);
}
