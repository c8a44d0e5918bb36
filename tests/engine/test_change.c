/* SPDX-License-Identifier: MIT */
/* Each setting that may change does so on a pool with a lease out and a caller in
 * line, and neither is lost. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;

/* A pool, one lease of it, and a caller in line. */
static weir_h pool;
static weir_h held;
static struct acquirer w;

static int change(const char *text) {
  f.err.struct_size = sizeof f.err;
  return weir_pool_reconfigure(pool, text, strlen(text), &f.err);
}

static void must_change(const char *text) {
  cr_assert_eq(change(text), WEIR_OK, "%s", f.err.message);
}

static int try_acquire(int64_t timeout_ns) {
  weir_h lease = 0;
  f.err.struct_size = sizeof f.err;
  return weir_acquire(pool, timeout_ns, &lease, &f.err);
}

static void start_waiter(void) {
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
}

/* The pool has no other connection. */
static void open_full(const char *settings) {
  fixture_open_virtual(&f);
  held = fixture_single(&f, settings, &pool);
  start_waiter();
  AWAIT_STAT(pool, waiters, 1);
}

/* One more lies idle: nobody is served for the moment. */
static void open_paused(const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2;%s", settings);
  held = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  start_waiter();
  AWAIT_STAT(pool, waiters, 1);
}

/* The caller in line is served; returns its lease. */
static weir_h served(void) {
  cr_assert_eq(acquirer_join(&w), WEIR_OK, "%s", w.err.message);
  cr_assert_eq(fixture_run(&f, w.lease, "rows 1"), WEIR_OK);
  return w.lease;
}

/* Both are as they were: the lease works, and the next in line gets it. */
static void end_full(void) {
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(held), WEIR_OK);
  (void)served();
  fixture_close(&f);
}

Test(change, max_pool_size_serves_who_waits, .timeout = 10) {
  open_full("");
  must_change("Max Pool Size=2");
  (void)served();
  cr_assert_eq(fixture_stats(pool).leased, 2);
  cr_assert_eq(fixture_stats(pool).effective_max, 2);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  must_change("Max Pool Size=1");
  cr_assert_eq(weir_release(held), WEIR_OK);
  AWAIT_STAT(pool, closed, 1);
  fixture_close(&f);
}

Test(change, min_pool_size_is_filled, .timeout = 10) {
  open_full("");
  must_change("Min Pool Size=3;Max Pool Size=4");
  (void)served();
  AWAIT_STAT(pool, connecting, 0);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(fixture_stats(pool).min_size, 3);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(change, connect_timeout_is_that_of_later_acquires, .timeout = 10) {
  struct acquirer later;
  open_full("Connect Timeout=60");
  must_change("Connect Timeout=2");
  uint64_t end = virtual_clock_now() + 2 * SECOND;
  acquirer_start(&later, pool, WEIR_TIMEOUT_POOL);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  fixture_advance(&f, 2 * SECOND);
  cr_assert_eq(acquirer_join(&later), WEIR_E_TIMEOUT);
  cr_assert_eq(later.ended, end);
  end_full();
}

Test(change, command_timeout_is_that_of_later_statements, .timeout = 10) {
  struct runner r;
  open_full("");
  must_change("Command Timeout=3");
  runner_start(&r, &f, held, "hang");
  AWAIT_COUNT(&f, hung, 1);
  uint64_t end = virtual_clock_now() + 3 * SECOND;
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  fixture_advance(&f, 3 * SECOND);
  while (virtual_clock_now() < end + 3 * SECOND) {
    fixture_advance(&f, SECOND); /* the cancellation's own time */
  }
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  (void)weir_release(held);
  (void)served();
  fixture_close(&f);
}

/* An end that a connection has been given stays. */
Test(change, connection_lifetime_is_that_of_later_connections, .timeout = 10) {
  open_full("Lifetime Jitter=0");
  must_change("Connection Lifetime=10");
  fixture_advance(&f, 20 * SECOND);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(held), WEIR_OK); /* the old one: handed over */
  cr_assert_eq(weir_discard(served()), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_advance(&f, 10 * SECOND);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* 1 in 10^32 that it does not show. */
Test(change, lifetime_jitter_is_that_of_later_connections, .timeout = 10) {
  enum {
    N = 16
  };
  weir_h leases[N];
  open_full("Connection Lifetime=100;Lifetime Jitter=0");
  must_change("Lifetime Jitter=100;Max Pool Size=20");
  weir_h lease = served();
  for (unsigned i = 0; i < N; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < N; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  fixture_advance(&f, 99 * SECOND);
  fixture_sync(&f);
  cr_assert_gt(fixture_stats(pool).closed, 0);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(held), WEIR_OK);
  (void)weir_release(lease);
  fixture_close(&f);
}

/* Nothing idle is closed while anybody is in line, so there is nobody at first. */
Test(change, connection_idle_timeout_moves_the_timer, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2");
  held = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  must_change("Connection Idle Timeout=5");
  fixture_sync(&f);
  fixture_advance(&f, 5 * SECOND);
  AWAIT_STAT(pool, closed, 1);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  start_waiter();
  (void)served();
  fixture_close(&f);
}

Test(change, max_uses_ends_what_has_been_used_enough, .timeout = 10) {
  open_full("");
  must_change("Max Uses=1");
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(held), WEIR_OK);
  cr_assert_eq(fixture_number(&f, served(), "session", 0), 2);
  fixture_close(&f);
}

/* A caller in line has what closes cut off at once, so there is none here. */
Test(change, close_timeout_is_that_of_later_closes, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2;Close Timeout=600;"
                          "Mock Script Text=\"logout: hang\"");
  held = fixture_acquire(&f, pool);
  weir_h other = fixture_acquire(&f, pool);
  must_change("Close Timeout=3");
  cr_assert_eq(weir_discard(other), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  fixture_sync(&f);
  fixture_advance(&f, 2 * SECOND);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  fixture_advance(&f, 2 * SECOND);
  AWAIT_STAT(pool, closing, 0);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(change, max_waiters_is_for_those_who_come, .timeout = 10) {
  struct acquirer more;
  open_full("");
  must_change("Max Waiters=1");
  cr_assert_eq(try_acquire(WEIR_TIMEOUT_NEVER), WEIR_E_OVERLOADED);
  must_change("Max Waiters=2");
  acquirer_start(&more, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  must_change("Max Waiters=1"); /* who is in line stays there */
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  cr_assert_eq(weir_release(held), WEIR_OK);
  cr_assert_eq(weir_release(served()), WEIR_OK);
  cr_assert_eq(acquirer_join(&more), WEIR_OK);
  fixture_close(&f);
}

Test(change, probe_window_has_idle_ones_looked_at, .timeout = 10) {
  open_paused("Mock Script Text=\"health: dead\"");
  must_change("Probe Window=0");
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(fixture_number(&f, served(), "session", 0), 3);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(change, max_concurrent_connects_lets_more_begin, .timeout = 10) {
  struct acquirer a[3];
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=5;Max Concurrent Connects=1;"
                          "Mock Script Text=\"connect 2-: hang\"");
  held = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&a[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 3);
  AWAIT_COUNT(&f, hung, 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).hung, 1);
  must_change("Max Concurrent Connects=3");
  AWAIT_COUNT(&f, hung, 3);
  cr_assert_eq(f.mock->release_hung(f.drv, 3), 3);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&a[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(change, min_idle_is_filled, .timeout = 10) {
  open_full("");
  must_change("Min Idle=2;Max Pool Size=5");
  (void)served();
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

/* One that anybody waits for is not pinged but given away, so nobody does at
 * first. */
Test(change, keepalive_interval_moves_the_timer, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2;Min Pool Size=2");
  AWAIT_STAT(pool, idle, 2);
  held = fixture_acquire(&f, pool);
  must_change("Keepalive Interval=10");
  fixture_sync(&f);
  for (unsigned i = 0; i < 11; i++) {
    fixture_advance(&f, SECOND);
  }
  AWAIT_COUNT(&f, calls[MOCK_PING], 1);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  start_waiter();
  (void)served();
  fixture_close(&f);
}

/* One connect a second until the change. */
static void hold_back(const char *settings, const char *text) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=5;%s", settings);
  held = fixture_acquire(&f, pool);
  start_waiter();
  AWAIT_STAT(pool, waiters, 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  must_change(text);
  (void)served();
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(change, connect_rate_lets_those_who_wait_open, .timeout = 10) {
  hold_back("Connect Rate=1;Connect Burst=1", "Connect Rate=");
}

/* Tokens are saved while nobody needs them: so nobody waits at first. */
Test(change, connect_burst_lets_more_begin_at_once, .timeout = 10) {
  struct acquirer a[3];
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=5;Connect Rate=1;Connect Burst=1");
  held = fixture_acquire(&f, pool);
  must_change("Connect Burst=3");
  fixture_advance(&f, 10 * SECOND);
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&a[i], pool, WEIR_TIMEOUT_NEVER);
  }
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&a[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 4);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(change, endpoint_max_connections_serves_who_waits, .timeout = 10) {
  hold_back("Endpoint Max Connections=1", "Endpoint Max Connections=2");
}

/* -------------------------------------------------------------- all or none */

static void check_refused(const char *text, int code, const char *message) {
  cr_assert_eq(change(text), code, "%s: %s", text, f.err.message);
  cr_assert_not_null(strstr(f.err.message, message), "%s: %s", text,
                     f.err.message);
}

Test(change, is_all_or_none, .timeout = 10) {
  open_full("Max Waiters=5");
  check_refused("Max Waiters=1;Max Pool Size=0", WEIR_E_ARG,
                "\"Max Pool Size\" must be a whole number from 1 to 131072");
  check_refused("Max Waiters=1;Min Pool Size=2", WEIR_E_ARG,
                "\"Min Pool Size\" must not exceed \"Max Pool Size\"");
  check_refused("Max Waiters=1;Pooling=false", WEIR_E_ARG,
                "changes, byte 15: \"Pooling\" cannot change while a pool "
                "runs");
  check_refused("Max Waiters=1;Mock Server=other", WEIR_E_ARG,
                "\"Mock Server\" cannot change while a pool runs");
  check_refused("Max Waiters=1;Server=other", WEIR_E_ARG,
                "\"Mock Server\" cannot change while a pool runs");
  check_refused("Max Waiters=1;Max Waitres=2", WEIR_E_ARG,
                "did you mean \"Max Waiters\"?");
  check_refused("Max Waiters=1;Lease Timeout=2", WEIR_E_UNSUPPORTED,
                "\"Lease Timeout\" is not built yet");
  check_refused("Max Waiters=1;Driver=tds", WEIR_E_ARG, "\"Driver\"");
  check_refused("Max Waiters", WEIR_E_ARG, "connection string");
  struct acquirer second;
  acquirer_start(&second, pool, WEIR_TIMEOUT_NEVER); /* 5 may wait */
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(weir_release(held), WEIR_OK);
  cr_assert_eq(weir_release(served()), WEIR_OK);
  cr_assert_eq(acquirer_join(&second), WEIR_OK);
  fixture_close(&f);
}

Test(change, shows_no_value, .timeout = 10) {
  open_full("");
  cr_assert_eq(change("Password=tops3cret"), WEIR_E_ARG);
  cr_assert_null(strstr(f.err.message, "tops3cret"));
  cr_assert_eq(change("Max Waiters=tops3cret"), WEIR_E_ARG);
  cr_assert_null(strstr(f.err.message, "tops3cret"));
  end_full();
}

Test(change,
     reads_names_and_values_as_a_connection_string_does,
     .timeout = 10) {
  open_full("");
  must_change("");
  must_change(" ; ");
  must_change("maximum pool size=9;MaxPoolSize='1'");
  cr_assert_eq(fixture_stats(pool).max_size, 1);
  must_change("Max Pool Size=");
  cr_assert_eq(fixture_stats(pool).max_size, 100); /* the default */
  (void)served();
  cr_assert_eq(weir_pool_reconfigure(pool, NULL, 3, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_pool_reconfigure(pool, NULL, 0, &f.err), WEIR_OK);
  fixture_close(&f);
}

/* Whether the idle connection is looked at once it has been idle for so long: it
 * is dead, so another is opened. */
static bool is_looked_at_after(uint64_t ns) {
  uint64_t before = fixture_stats(pool).connects_begun;
  fixture_advance(&f, ns);
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  return fixture_stats(pool).connects_begun != before;
}

/* An empty value is the default of the pool's own strategy. */
Test(change, an_empty_value_is_the_default_of_the_strategy, .timeout = 10) {
  static const char *const strategies[] = {"legacy", "channel", "direct"};
  for (unsigned i = 0; i < 3; i++) {
    bool direct = i == 2;
    fixture_open_virtual(&f);
    pool = fixture_pool(&f,
                        "Pool Strategy=%s;Probe Window=1 h;Mock Idle "
                        "Watch=false;Mock Script Text='health: dead'",
                        strategies[i]);
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    cr_assert_not(is_looked_at_after(SECOND), "%s", strategies[i]);
    must_change("Probe Window=");
    cr_assert_not(is_looked_at_after(3 * SECOND / 1000), "%s", strategies[i]);
    cr_assert_eq(is_looked_at_after(20 * SECOND / 1000), !direct, "%s",
                 strategies[i]);
    cr_assert(is_looked_at_after(SECOND), "%s", strategies[i]);
    fixture_close(&f);
  }
}

Test(change, leaves_the_key_as_it_was, .timeout = 10) {
  static const char text[] = "Driver=mock;Max Pool Size=3;Mock Strict=true";
  char before[256];
  char after[256];
  weir_h again = 0;
  fixture_open(&f);
  cr_assert_eq(weir_pool_open(f.engine, text, strlen(text), &pool, NULL),
               WEIR_OK);
  cr_assert_eq(weir_pool_key(pool, before, sizeof before, NULL), WEIR_OK);
  must_change("Max Pool Size=7");
  cr_assert_eq(weir_pool_key(pool, after, sizeof after, NULL), WEIR_OK);
  cr_assert_str_eq(before, after);
  cr_assert_eq(weir_pool_open(f.engine, text, strlen(text), &again, NULL),
               WEIR_OK);
  cr_assert_eq(again, pool);
  cr_assert_eq(fixture_stats(pool).max_size, 7);
  fixture_close(&f);
}

/* Blocks that nobody reads any more are freed: there is room for any number, one
 * after the other; and a caller in line holds up no more than 1,024. */
Test(change, is_refused_while_too_many_are_still_read, .timeout = 20) {
  char text[64];
  int rc = WEIR_OK;
  open_full("");
  unsigned n = 0;
  for (; rc == WEIR_OK && n < 2000; n++) {
    (void)snprintf(text, sizeof text, "Max Waiters=%u", n + 5);
    rc = change(text);
  }
  cr_assert_eq(rc, WEIR_E_SPACE);
  cr_assert_geq(n, 1024);
  cr_assert_not_null(strstr(f.err.message, "try again later"));
  cr_assert_eq(weir_release(held), WEIR_OK);
  (void)served();
  (void)change("Max Waiters=3"); /* has the reactor look */
  for (unsigned i = 0; i < 3; i++) {
    fixture_sync(&f);
    must_change("Max Waiters=3");
  }
  fixture_close(&f);
}

Test(change, of_a_closed_pool_is_refused, .timeout = 10) {
  open_full("");
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_E_CLOSED);
  cr_assert_eq(change("Max Waiters=3"), WEIR_E_HANDLE);
  cr_assert_eq(weir_release(held), WEIR_OK);
  fixture_close(&f);
}
