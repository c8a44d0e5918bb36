/* SPDX-License-Identifier: MIT */
/* Failed connects and lost connections, by class and Pool Blocking Period. */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "sys/clock.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

static struct fixture f;
static weir_h pool;
static struct acquirer many[10];

static void open_with(const char *script, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=5;Mock Script Text=\"%s\";%s", script,
                      settings);
}

static int fails(const char *says) {
  weir_h lease = 0;
  int rc = weir_acquire(pool, FIXTURE_S, &lease, &f.err);
  cr_assert_neq(rc, WEIR_OK);
  cr_assert_not_null(strstr(f.err.message, says), "%s", f.err.message);
  return rc;
}

/* ------------------------------------------------------------- unreachable */

#define DOWN "fail endpoint network 'nobody home'"

/* auto: the caller whose connect failed keeps its place, and is served by the
 * first success. */
Test(failure, leaves_waiters_in_line_while_the_server_is_down, .timeout = 10) {
  open_with("connect 1-2: " DOWN, "");
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, breaker, WEIR_BREAKER_OPEN);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  fixture_sync(&f);
  fixture_advance(&f, S - 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_advance(&f, 1);
  AWAIT_COUNT(&f, calls[MOCK_CONNECT], 2); /* one probe for both */
  AWAIT_STAT(pool, breaker, WEIR_BREAKER_OPEN);
  fixture_sync(&f);
  fixture_advance(&f, S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 4);
  fixture_close(&f);
}

Test(failure, tells_the_last_error_when_the_time_is_over, .timeout = 10) {
  open_with("connect: " DOWN, "");
  acquirer_start(&many[0], pool, FIXTURE_S / 2);
  AWAIT_STAT(pool, breaker, WEIR_BREAKER_OPEN);
  AWAIT_STAT(pool, connecting, 0);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, S / 2);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(many[0].err.message, "nobody home"));
  fixture_close(&f);
}

/* always: the error at once, and WEIR_E_DOWN while the breaker is open. */
Test(failure, fails_fast_if_told_to, .timeout = 10) {
  open_with("connect 1: " DOWN, "Pool Blocking Period=always");
  cr_assert_eq(fails("nobody home"), WEIR_E_FAIL);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(fails("nobody home"), WEIR_E_DOWN);
    cr_assert_eq(f.err.kind, WEIR_KIND_NETWORK);
    cr_assert_eq(f.err.retry_after_ms, 1000);
  }
  cr_assert_eq(fixture_stats(pool).down, 3);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_advance(&f, S);
  (void)fixture_acquire(&f, pool);
  fixture_close(&f);
}

Test(failure, fails_all_who_wait_if_told_to, .timeout = 10) {
  open_with("connect: hang, " DOWN,
            "Pool Blocking Period=always;Max Concurrent Connects=1");
  for (unsigned i = 0; i < 10; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 10);
  AWAIT_COUNT(&f, hung, 1);
  (void)f.mock->release_hung(f.drv, 0);
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    cr_assert_not_null(strstr(many[i].err.message, "nobody home"));
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_close(&f);
}

/* never: each its own error, no breaker. */
Test(failure, asks_no_breaker_if_told_so, .timeout = 10) {
  open_with("connect 1-3: " DOWN, "Pool Blocking Period=never");
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(fails("nobody home"), WEIR_E_FAIL);
    cr_assert_eq(fixture_stats(pool).breaker, WEIR_BREAKER_CLOSED);
  }
  (void)fixture_acquire(&f, pool);
  fixture_close(&f);
}

/* Nobody needs anything: nothing is tried, however long it is down. */
Test(failure, probes_for_nobody, .timeout = 10) {
  open_with("connect: " DOWN, "Pool Blocking Period=always");
  cr_assert_eq(fails("nobody home"), WEIR_E_FAIL);
  fixture_sync(&f);
  fixture_advance(&f, 100 * S);
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_close(&f);
}

/* ---------------------------------------------------------------- permanent */

#define WRONG "fail config auth 'wrong password'"

Test(failure, fails_all_who_wait_for_good, .timeout = 10) {
  open_with("connect: hang, " WRONG, "Max Concurrent Connects=1");
  for (unsigned i = 0; i < 10; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 10);
  AWAIT_COUNT(&f, hung, 1);
  (void)f.mock->release_hung(f.drv, 0);
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    cr_assert_eq(many[i].err.kind, WEIR_KIND_AUTH);
    cr_assert_not_null(strstr(many[i].err.message, "wrong password"));
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  cr_assert_eq(fixture_stats(pool).breaker, WEIR_BREAKER_CLOSED);
  fixture_close(&f);
}

/* Accounts get locked: one attempt a second, and none without a caller. */
Test(failure, tries_once_a_second_after_a_wrong_password, .timeout = 10) {
  open_with("connect 1-2: " WRONG, "Min Pool Size=1");
  AWAIT_STAT(pool, connects_failed, 1);
  fixture_sync(&f);
  fixture_advance(&f, 60 * S);
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  cr_assert_eq(fixture_stats(pool).blocked_ns, 0);
  cr_assert_eq(fails("wrong password"), WEIR_E_FAIL);
  cr_assert_eq(fixture_stats(pool).blocked_ns, S);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 2);
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(fails("wrong password"), WEIR_E_FAIL);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 2);
  fixture_advance(&f, S);
  (void)fixture_acquire(&f, pool);
  fixture_close(&f);
}

/* Who changes settings may have mended it; who changes the size has not. */
Test(failure, tries_at_once_after_a_change_of_settings, .timeout = 10) {
  open_with("connect 1: " WRONG, "");
  cr_assert_eq(fails("wrong password"), WEIR_E_FAIL);
  cr_assert_eq(weir_pool_resize(pool, 0, 3, &f.err), WEIR_OK);
  cr_assert_eq(fails("wrong password"), WEIR_E_FAIL);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  cr_assert_eq(weir_pool_reconfigure(pool, "Connect Timeout=9", 17, &f.err),
               WEIR_OK);
  (void)fixture_acquire(&f, pool);
  fixture_close(&f);
}

/* --------------------------------------------------------------- overloaded */

Test(failure, lowers_the_maximum_when_the_server_has_enough, .timeout = 10) {
  open_with("connect 3: fail endpoint throttled 'too many'", "");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, connects_failed, 1);
  AWAIT_STAT(pool, connecting, 0);
  fixture_sync(&f);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.effective_max, 2);
  cr_assert_eq(s.leased, 2); /* what there is stays */
  cr_assert_eq(s.breaker, WEIR_BREAKER_CLOSED);
  cr_assert_eq(s.waiters, 1);
  fixture_advance(&f, S - 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 3);
  fixture_advance(&f, 1); /* a quiet interval: one more */
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).effective_max, 3);
  cr_assert_eq(weir_release(a), WEIR_OK);
  cr_assert_eq(weir_release(b), WEIR_OK);
  fixture_close(&f);
}

/* --------------------------------------------------------------- wrong role */

#define ROLE "fail conn failover 'read only'"

Test(failure, clears_once_when_the_server_changes_its_role, .timeout = 10) {
  open_with("exec 1-2: " ROLE, "");
  weir_h leases[3];
  for (unsigned i = 0; i < 3; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  cr_assert_eq(weir_release(leases[2]), WEIR_OK);
  for (unsigned i = 0; i < 2; i++) {
    cr_assert_neq(fixture_run(&f, leases[i], "x"), WEIR_OK);
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  fixture_sync(&f);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.generation, 1);
  cr_assert_eq(s.idle, 0);
  fixture_close(&f);
}

Test(failure, clears_nothing_if_told_not_to, .timeout = 10) {
  open_with("exec 1: " ROLE, "Clear On Failover=false");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  cr_assert_neq(fixture_run(&f, a, "x"), WEIR_OK);
  cr_assert_eq(weir_release(a), WEIR_OK);
  cr_assert_eq(weir_release(b), WEIR_OK);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).generation, 0);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

/* --------------------------------------------------------------------- lost */

/* Three lost within a second: the next connect goes first and alone. */
Test(failure, sends_one_first_after_several_are_lost, .timeout = 10) {
  open_with("exec: die; connect 4-: hang", "");
  weir_h leases[3];
  for (unsigned i = 0; i < 3; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_neq(fixture_run(&f, leases[i], "x"), WEIR_OK);
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  AWAIT_STAT(pool, empty, 5);
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 3);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(fixture_stats(pool).breaker, WEIR_BREAKER_RAMP);
  cr_assert_eq(fixture_stats(pool).connecting, 1);
  (void)f.mock->release_hung(f.drv, 0);
  AWAIT_COUNT(&f, hung, 2); /* then two */
  (void)f.mock->release_hung(f.drv, 0);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  fixture_close(&f);
}
