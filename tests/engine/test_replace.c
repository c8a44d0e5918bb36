/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "virtual_clock.h"

static struct fixture f;
static weir_h pool;

/* The lease of a second user, on a connection whose lazy reset is yet to come. */
static weir_h second_user(const char *settings) {
  weir_h lease = fixture_single(&f, settings, &pool);
  cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  return fixture_acquire(&f, pool);
}

/* The user sees nothing of it; the server never has two sessions of the pool. */
Test(replace, a_lazy_reset_that_fails_gets_another_connection, .timeout = 10) {
  fixture_open(&f);
  weir_h lease = second_user("Mock Script Text='reset 1: fail conn network'");
  cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
  cr_assert_eq(fixture_run(&f, lease, "rows 3"), WEIR_OK);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.connects_begun, 2);
  cr_assert_eq(s.connects_ok, 2);
  cr_assert_eq(s.closed, 1);
  cr_assert_eq(s.leased, 1);
  cr_assert_eq(fixture_counts(&f).sessions_max, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

/* One that died unseen is found by its first request, too. */
Test(replace,
     a_dead_connection_is_replaced_before_anything_was_sent,
     .timeout = 10) {
  fixture_open(&f);
  weir_h lease = second_user("Probe Window=1 h;Mock Idle Watch=false");
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* Scenario 73: nothing is ever sent twice that may have been executed. */
Test(replace,
     scenario_73_nothing_that_may_have_run_is_sent_again,
     .timeout = 10) {
  static const char *const scripts[] = {
      "reset 1: fail conn network maybe",
      "exec 2: die",
      "exec 2: rows 1x1, die",
  };
  for (unsigned i = 0; i < 3; i++) {
    char settings[128];
    fixture_open(&f);
    (void)snprintf(settings, sizeof settings, "Mock Script Text='%s'",
                   scripts[i]);
    weir_h lease = second_user(settings);
    cr_assert_eq(fixture_run(&f, lease, "count 1"), WEIR_E_FAIL, "%s",
                 scripts[i]);
    cr_assert_neq(f.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 0);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    fixture_close(&f);
  }
}

/* Only the first statement of a lease carries the reset. */
Test(replace, a_later_statement_fails_as_it_does, .timeout = 10) {
  fixture_open(&f);
  weir_h lease = second_user("Mock Script Text='exec 3: fail conn network'");
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* It is tried once, and the reason is the connect's. */
Test(replace, fails_with_the_reason_of_the_connect, .timeout = 10) {
  fixture_open(&f);
  weir_h lease =
      second_user("Mock Script Text=\"reset 1: fail conn network;"
                  "connect 2: fail endpoint network 'nobody listens'\"");
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "nobody listens"));
  cr_assert_eq(f.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 0);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_E_FAIL);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  cr_assert_eq(fixture_stats(pool).connects_failed, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* P5: the statement's limit holds for all of it. */
Test(replace, keeps_to_the_limit_of_the_statement, .timeout = 10) {
  struct runner r;
  fixture_open_virtual(&f);
  weir_h lease = second_user("Command Timeout=3;"
                             "Mock Script Text='reset 1: fail conn network;"
                             "connect 2: hang'");
  runner_start(&r, &f, lease, "rows 1");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_advance(3 * (uint64_t)FIXTURE_S);
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  cr_assert_eq(r.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

Test(replace, can_be_cancelled, .timeout = 10) {
  struct runner r;
  fixture_open(&f);
  weir_h lease = second_user("Mock Script Text='reset 1: fail conn network;"
                             "connect 2: hang'");
  runner_start(&r, &f, lease, "rows 1");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  cr_assert_eq(runner_join(&r), WEIR_E_CANCELLED);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* The new one begins its own life. */
Test(replace, runs_session_init_on_the_new_connection, .timeout = 10) {
  fixture_open(&f);
  /* With it the reset is used up before the next user comes. */
  weir_h lease = second_user("Session Init='set abc';"
                             "Mock Script Text='reset 1: fail conn network'");
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* Nobody's thread waits: the reactor opens the other one. */
Test(replace, serves_a_submitted_statement, .timeout = 10) {
  struct weir_completion c = {.struct_size = sizeof c};
  weir_h queue = 0;
  fixture_open(&f);
  weir_h lease = second_user("Mock Script Text='reset 1: fail conn network;"
                             "connect 2: delay 5ms'");
  cr_assert_eq(weir_queue_open(f.engine, 4, &queue, &f.err), WEIR_OK);
  cr_assert_eq(
      weir_submit_exec(lease, "rows 1", 6, NULL, queue, 9, NULL, &f.err),
      WEIR_PENDING);
  cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, &f.err), WEIR_OK);
  cr_assert_eq(c.user, 9);
  cr_assert_eq(c.status, WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  fixture_close(&f);
}

/* The second user's first statement, which finds its connection dead. */
static void run_second(weir_h lease, int expected) {
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), expected, "%s", f.err.message);
  cr_assert_eq(weir_release(lease), WEIR_OK);
}

/* While the server is known to be down the connection ends as it is. */
Test(replace, asks_the_breaker, .timeout = 10) {
  fixture_open(&f);
  weir_h lease = second_user("Pool Blocking Period=always;"
                             "Mock Script Text='reset: fail conn network'");
  weir_h sibling =
      fixture_pool(&f, "Pool Blocking Period=always;Database=b;"
                       "Mock Script Text='connect: fail endpoint network'");
  weir_h none = 0;
  cr_assert_eq(weir_acquire(sibling, FIXTURE_S, &none, &f.err), WEIR_E_FAIL);
  cr_assert_eq(fixture_stats(pool).breaker, WEIR_BREAKER_OPEN);
  run_second(lease, WEIR_E_FAIL);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

Test(replace, tells_the_breaker, .timeout = 10) {
  fixture_open(&f);
  weir_h lease = second_user("Mock Script Text='reset: fail conn network; "
                             "connect 2: fail endpoint network'");
  run_second(lease, WEIR_E_FAIL);
  cr_assert_eq(fixture_stats(pool).breaker, WEIR_BREAKER_OPEN);
  fixture_close(&f);
}

/* Its statement's time says nothing of the server. */
Test(replace, tells_nothing_when_its_statement_is_late, .timeout = 10) {
  struct runner r;
  fixture_open_virtual(&f);
  weir_h lease = second_user("Command Timeout=3;Max Pool Size=2;"
                             "Endpoint Max Connections=2;"
                             "Mock Script Text='reset 1: fail conn network;"
                             "connect 2: hang'");
  runner_start(&r, &f, lease, "rows 1");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_advance(3 * (uint64_t)FIXTURE_S);
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).effective_max, 2);
  cr_assert_eq(fixture_stats(pool).breaker, WEIR_BREAKER_CLOSED);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* A password that was changed: each connection that dies meanwhile would be one
 * more log-in that is refused, and accounts get locked. */
Test(replace, tries_a_wrong_password_once, .timeout = 10) {
  weir_h lease[8];
  fixture_open(&f);
  pool = fixture_pool(&f, "Max Pool Size=8;Mock Script Text=\"connect 9-: "
                          "fail config auth 'wrong password'; "
                          "reset: fail conn network\"");
  for (unsigned i = 0; i < 8; i++) {
    lease[i] = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease[i], "set mine"), WEIR_OK);
  }
  for (unsigned i = 0; i < 8; i++) {
    cr_assert_eq(weir_release(lease[i]), WEIR_OK);
  }
  for (unsigned i = 0; i < 8; i++) {
    lease[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 8; i++) {
    cr_assert_eq(fixture_run(&f, lease[i], "rows 1"), WEIR_E_FAIL);
    cr_assert_eq(weir_release(lease[i]), WEIR_OK);
  }
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.connects_begun, 9);
  cr_assert_eq(s.connects_failed, 1);
  fixture_close(&f);
}
