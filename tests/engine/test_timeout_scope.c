/* SPDX-License-Identifier: MIT */
/* Connect Timeout Scope: one budget for wait and connect, or one for each. */
#include <stdio.h>
#include <string.h>

#include "completions.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

static struct fixture f;
static weir_h pool;
static struct acquirer a;

static void open_with(const char *script, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f,
                      "Connect Timeout Scope=per-phase;Connect Timeout=10;"
                      "Mock Script Text=\"%s\";%s",
                      script, settings);
}

/* A caller that waits for 4 s and then opens a connection, which hangs. */
static void open_late(const char *settings, int64_t timeout_ns) {
  open_with("connect 2: hang", settings);
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(&a, pool, timeout_ns);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 4 * S);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
}

Test(timeout_scope, gives_a_connect_a_whole_time_of_its_own, .timeout = 10) {
  open_late("Max Pool Size=1", WEIR_TIMEOUT_POOL);
  fixture_advance(&f, 10 * S - 1);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  fixture_close(&f);
}

Test(timeout_scope, says_which_time_was_over, .timeout = 10) {
  open_late("Max Pool Size=1", WEIR_TIMEOUT_POOL);
  uint64_t begun = virtual_clock_now();
  fixture_advance(&f, 10 * S);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_eq(a.ended, begun + 10 * S);
  cr_assert_not_null(
      strstr(a.err.message,
             "timed out after 14.00 s while opening a connection, in phase "
             "connect, which had 10.00 s of its own after 4.00 s in line"),
      "%s", a.err.message);
  cr_assert_eq(a.err.phase, WEIR_PHASE_CONNECT);
  fixture_close(&f);
}

/* One budget, which is what it is told beside. */
Test(timeout_scope, overall_is_one_budget_for_both, .timeout = 10) {
  open_late("Max Pool Size=1;Connect Timeout Scope=overall", WEIR_TIMEOUT_POOL);
  fixture_advance(&f, 6 * S);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_null(strstr(a.err.message, "of its own"), "%s", a.err.message);
  fixture_close(&f);
}

/* A call's own time bounds its wait; a connect takes what the setting says. */
Test(timeout_scope, a_time_of_the_call_is_that_of_its_wait, .timeout = 10) {
  open_late("Max Pool Size=1", 5 * FIXTURE_S);
  fixture_advance(&f, 9 * S);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  fixture_close(&f);
}

Test(timeout_scope, a_wait_without_a_connect_ends_at_its_time, .timeout = 10) {
  open_with("", "Max Pool Size=1");
  (void)fixture_acquire(&f, pool);
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 10 * S);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(a.err.message, "waiting for a connection"), "%s",
                     a.err.message);
  cr_assert_eq(a.err.phase, WEIR_PHASE_QUEUE);
  fixture_close(&f);
}

/* Who opens is served by a return, where Pool Handoff says so, though its wait would
 * be over. */
Test(timeout_scope, who_opens_is_handed_what_comes_back, .timeout = 10) {
  open_with("connect 2: hang", "Pool Handoff=direct");
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(&a, pool, 5 * FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 6 * S);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

/* ------------------------------------------------------------------ submitted */

static weir_h submit_late(const char *settings, int64_t timeout_ns) {
  open_with("connect 2: hang", settings);
  weir_h queue = queue_of(&f, 2);
  weir_h lease = fixture_acquire(&f, pool);
  (void)submit_waiting(&f, pool, timeout_ns, queue, 1);
  fixture_sync(&f);
  fixture_advance(&f, 4 * S);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  return queue;
}

Test(timeout_scope, waits_for_the_connect_of_a_submitted_one, .timeout = 10) {
  weir_h queue = submit_late("Max Pool Size=1", 5 * FIXTURE_S);
  fixture_advance(&f, 10 * S - 1);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  (void)take_one(&f, queue, 1, WEIR_OK);
  fixture_close(&f);
}

Test(timeout_scope, tells_a_submitted_one_how_its_connect_ended) {
  struct weir_completion c = {.struct_size = sizeof c};
  weir_h queue = submit_late("Max Pool Size=1;Pool Failure=one", 5 * FIXTURE_S);
  fixture_advance(&f, 10 * S);
  cr_assert_eq(weir_queue_take(queue, 0, &c, &f.err), WEIR_OK);
  cr_assert_eq(c.status, WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(f.err.message, "the connect timed out after 10.00 "
                                           "s, in phase connect"),
                     "%s", f.err.message);
  cr_assert_eq(f.err.phase, WEIR_PHASE_CONNECT);
  fixture_close(&f);
}

/* The one behind it has no connect, and its own time. */
Test(timeout_scope, prolongs_no_wait_without_a_connect, .timeout = 10) {
  weir_h queue = submit_late("Max Pool Size=1", 5 * FIXTURE_S);
  (void)submit_waiting(&f, pool, FIXTURE_S, queue, 2);
  fixture_sync(&f);
  fixture_advance(&f, S);
  (void)take_one(&f, queue, 2, WEIR_E_TIMEOUT);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  (void)take_one(&f, queue, 1, WEIR_OK);
  fixture_close(&f);
}

/* Once: a connect that was given to another does not make a wait endless. */
Test(timeout_scope, prolongs_a_wait_once, .timeout = 10) {
  open_with("connect 1-: hang", "Max Pool Size=2;Pool Failure=breaker;");
  weir_h queue = queue_of(&f, 1);
  (void)submit_waiting(&f, pool, FIXTURE_S, queue, 1);
  AWAIT_COUNT(&f, hung, 1);
  fixture_advance(&f, 9 * S);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_COUNT(&f, hung, 1); /* another */
  fixture_advance(&f, S);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_advance(&f, 1);
  (void)take_one(&f, queue, 1, WEIR_E_TIMEOUT);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

/* ------------------------------------------ a wait that is over is over once */

/* A caller whose connect hangs and is no use when its wait is over, twice as long
 * as that already: no other connect begins for it. */
static void open_in_vain(const char *settings) {
  open_with("connect 1-2: hang, fail endpoint network 'nobody home'", settings);
  acquirer_start(&a, pool, 4 * FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 6 * S);
}

Test(timeout_scope, opens_no_second_one_when_the_first_failed, .timeout = 10) {
  open_in_vain("Pool Failure=breaker");
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, connects_failed, 1);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(a.err.message, "nobody home"), "%s", a.err.message);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  cr_assert_eq(fixture_stats(pool).timeouts, 1);
  fixture_close(&f);
}

Test(timeout_scope, opens_no_second_one_when_it_was_cleared, .timeout = 10) {
  open_with("connect 1-2: hang", "");
  acquirer_start(&a, pool, 4 * FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 6 * S);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  cr_assert_eq(fixture_stats(pool).timeouts, 1);
  fixture_close(&f);
}

static struct {
  pthread_t thread;
  int rc;
  uint64_t ended;
} ready;

static void *wait_ready(void *unused) {
  ready.rc = weir_pool_wait_ready(pool, 4 * FIXTURE_S, NULL);
  ready.ended = virtual_clock_now();
  return unused;
}

/* That has one time, whatever a connect may take. */
Test(timeout_scope, is_not_that_of_who_waits_until_it_is_ready, .timeout = 10) {
  open_with("connect 1: hang", "");
  uint64_t begun = virtual_clock_now();
  cr_assert_eq(pthread_create(&ready.thread, NULL, wait_ready, NULL), 0);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 4 * S);
  cr_assert_eq(pthread_join(ready.thread, NULL), 0);
  cr_assert_eq(ready.rc, WEIR_E_TIMEOUT);
  cr_assert_eq(ready.ended, begun + 4 * S);
  fixture_close(&f);
}
