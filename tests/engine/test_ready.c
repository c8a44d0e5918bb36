/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "virtual_clock.h"

static struct fixture f;

/* A thread that waits until a pool is ready. */
struct waiter {
  pthread_t thread;
  weir_h pool;
  int64_t timeout_ns;
  int rc;
  uint32_t idle; /* when it came back */
  struct weir_error err;
};

static void *run_waiter(void *arg) {
  struct waiter *w = arg;
  w->err.struct_size = sizeof w->err;
  w->rc = weir_pool_wait_ready(w->pool, w->timeout_ns, &w->err);
  w->idle = w->rc == WEIR_OK ? fixture_stats(w->pool).idle : 0;
  return NULL;
}

static void waiter_start(struct waiter *w, weir_h pool, int64_t timeout_ns) {
  *w = (struct waiter){.pool = pool, .timeout_ns = timeout_ns};
  cr_assert_eq(pthread_create(&w->thread, NULL, run_waiter, w), 0);
}

static int waiter_join(struct waiter *w) {
  cr_assert_eq(pthread_join(w->thread, NULL), 0);
  return w->rc;
}

static int wait_ready(weir_h pool, int64_t timeout_ns) {
  f.err.struct_size = sizeof f.err;
  return weir_pool_wait_ready(pool, timeout_ns, &f.err);
}

/* weir_pool_open() of a mock pool. */
static int open_pool(const char *settings, weir_h *out_pool) {
  char text[512];
  int n =
      snprintf(text, sizeof text, "Driver=mock;Mock Strict=true;%s", settings);
  f.err.struct_size = sizeof f.err;
  return weir_pool_open(f.engine, text, (uint64_t)n, out_pool, &f.err);
}

/* One connect that takes too long is one that failed; there is time for another. */
Test(ready, goes_on_after_a_connect_that_was_late, .timeout = 10) {
  struct waiter w;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Connect Timeout=3;Pool Failure=one;"
                                 "Pool Blocking Period=never;"
                                 "Mock Script Text='connect 1: hang'");
  waiter_start(&w, pool, 60 * FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 3 * (uint64_t)FIXTURE_S);
  AWAIT_STAT(pool, connects_failed, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(waiter_join(&w), WEIR_OK, "%s", w.err.message);
  fixture_close(&f);
}

Test(ready, opens_one_where_no_minimum_is_set, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=5");
  cr_assert_eq(wait_ready(pool, 5 * FIXTURE_S), WEIR_OK, "%s", f.err.message);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(wait_ready(pool, 0), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

Test(ready, waits_for_the_whole_minimum, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=3;Max Pool Size=5;"
                                 "Mock Script Text=\"connect: hang\"");
  struct waiter w;
  waiter_start(&w, pool, WEIR_TIMEOUT_NEVER);
  for (uint32_t i = 0; i < 3; i++) { /* its own and two of the reactor's */
    AWAIT_COUNT(&f, hung, 3 - i);
    AWAIT_STAT(pool, idle, i);
    cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
  }
  cr_assert_eq(waiter_join(&w), WEIR_OK);
  cr_assert_eq(w.idle, 3);
  fixture_close(&f);
}

Test(ready, leased_ones_are_open_too, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  (void)fixture_single(&f, "", &pool);
  cr_assert_eq(wait_ready(pool, 0), WEIR_OK);
  fixture_close(&f);
}

Test(ready, fills_a_lazy_pool, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Min Pool Size=3;Max Pool Size=3;Startup=lazy");
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 0);
  cr_assert_eq(wait_ready(pool, 5 * FIXTURE_S), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 3);
  fixture_close(&f);
}

Test(ready, says_at_once_what_no_other_attempt_can_mend, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=2;Mock Script Text="
                       "\"connect: fail config auth 'wrong password'\"");
  cr_assert_eq(wait_ready(pool, WEIR_TIMEOUT_NEVER), WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "wrong password"));
  cr_assert_eq(f.err.kind, WEIR_KIND_AUTH);
  fixture_close(&f);
}

/* The first one comes up, a later one is refused for good. */
Test(ready, says_what_stops_the_rest, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(
      &f, "Min Pool Size=3;Max Pool Size=3;Startup=lazy;Mock Script Text="
          "\"connect 2-: fail config auth 'account locked'\"");
  cr_assert_eq(wait_ready(pool, WEIR_TIMEOUT_NEVER), WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "account locked"));
  fixture_close(&f);
}

/* The same, and it was so before anybody waited: nothing is tried any more. */
Test(ready, says_what_has_stopped_the_rest_before, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Min Pool Size=2;Max Pool Size=3;Mock Script Text="
                       "\"connect 2-: fail config auth 'account locked'\"");
  AWAIT_STAT(pool, connects_failed, 1);
  AWAIT_STAT(pool, closing, 0);
  cr_assert_eq(wait_ready(pool, WEIR_TIMEOUT_NEVER), WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "account locked"));
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_close(&f);
}

Test(ready, tries_again_where_that_may_help, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=2;Mock Script Text="
                       "\"connect 1-2: fail conn network 'refused'\"");
  struct waiter w;
  waiter_start(&w, pool, WEIR_TIMEOUT_NEVER);
  for (unsigned attempt = 1; attempt <= 2; attempt++) {
    AWAIT_STAT(pool, connects_failed, attempt);
    AWAIT_STAT(pool, empty, 2);
    virtual_clock_wait_parked(1);
    while (fixture_stats(pool).connects_begun == attempt) {
      fixture_advance(&f, 100 * (uint64_t)FIXTURE_MS);
    }
  }
  cr_assert_eq(waiter_join(&w), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

Test(ready, ends_at_its_time_out_with_the_last_error, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2;Mock Script Text="
                                 "\"connect: fail conn network 'refused'\"");
  struct waiter w;
  uint64_t end = virtual_clock_now() + 3 * (uint64_t)FIXTURE_S;
  waiter_start(&w, pool, 3 * FIXTURE_S);
  while (virtual_clock_now() < end) {
    AWAIT_STAT(pool, connecting, 0);
    virtual_clock_wait_parked(1);
    fixture_advance(&f, 100 * (uint64_t)FIXTURE_MS);
  }
  cr_assert_eq(waiter_join(&w), WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(w.err.message, "0 of 1 connections are open"), "%s",
                     w.err.message);
  cr_assert_not_null(strstr(w.err.message, "refused"), "%s", w.err.message);
  fixture_close(&f);
}

Test(ready, waits_for_the_end_of_a_pause, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  struct waiter w;
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  waiter_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(waiter_join(&w), WEIR_OK);
  fixture_close(&f);
}

Test(ready, never_comes_of_a_pool_that_ends, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=2;"
                                 "Mock Script Text=\"connect: hang\"");
  struct waiter w;
  waiter_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  cr_assert_eq(waiter_join(&w), WEIR_E_CLOSED);
  cr_assert_eq(wait_ready(pool, 0), WEIR_E_HANDLE);
  fixture_close(&f);
}

Test(ready, refuses_a_time_out_below_zero, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  cr_assert_eq(wait_ready(pool, -1), WEIR_E_ARG);
  cr_assert_str_eq(f.err.message,
                   "timeout_ns is negative; 0 or more, or WEIR_TIMEOUT_NEVER");
  fixture_close(&f);
}

/* ----------------------------------------------------------------- Startup */

Test(startup, background_fills_while_nobody_asks, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  cr_assert_eq(open_pool("Min Pool Size=4;Startup=background", &pool), WEIR_OK);
  AWAIT_STAT(pool, idle, 4);
  fixture_close(&f);
}

Test(startup, require_comes_back_with_the_minimum, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  cr_assert_eq(open_pool("Min Pool Size=4;Startup=require", &pool), WEIR_OK,
               "%s", f.err.message);
  cr_assert_eq(fixture_stats(pool).idle, 4);
  fixture_close(&f);
}

Test(startup, require_fails_with_any_connect, .timeout = 10) {
  static const char *const rules[] = {"connect 1", "connect 2", "connect 4"};
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    char settings[256];
    weir_h pool = 0;
    fixture_open(&f);
    (void)snprintf(settings, sizeof settings,
                   "Min Pool Size=4;Startup=require;Mock Script Text=\"%s: "
                   "fail conn network 'refused'\"",
                   rules[i]);
    cr_assert_eq(open_pool(settings, &pool), WEIR_E_FAIL);
    cr_assert_not_null(strstr(f.err.message, "refused"), "%s", f.err.message);
    cr_assert_eq(pool, 0);
    fixture_close(&f);
  }
}

static void *open_required(void *arg) {
  weir_h pool = 0;
  *(int *)arg = open_pool("Startup=require;Connect Timeout=2;Mock Script "
                          "Text=\"connect: hang\"",
                          &pool);
  return NULL;
}

Test(startup, require_ends_within_connect_timeout, .timeout = 10) {
  pthread_t thread;
  int rc = WEIR_OK;
  fixture_open_virtual(&f);
  cr_assert_eq(pthread_create(&thread, NULL, open_required, &rc), 0);
  AWAIT_COUNT(&f, hung, 1);
  virtual_clock_wait_parked(1);
  fixture_advance(&f, 2 * (uint64_t)FIXTURE_S);
  cr_assert_eq(pthread_join(thread, NULL), 0);
  cr_assert_eq(rc, WEIR_E_TIMEOUT);
  fixture_close(&f);
}

Test(startup, lazy_opens_nothing_whatever_happens, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  cr_assert_eq(open_pool("Min Pool Size=2;Startup=lazy", &pool), WEIR_OK);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(weir_pool_resize(pool, 3, 5, NULL), WEIR_OK);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 0);
  (void)fixture_acquire(&f, pool);
  fixture_close(&f);
}

/* Nothing stays open, so one that has been open is all that can be asked for. */
Test(ready, is_proven_by_a_connection_that_is_not_kept, .timeout = 10) {
  static const char *const settings[] = {
      "Startup=require;Pooling=false",
      "Startup=require;Pooling=false;Min Pool Size=3",
      "Startup=require;Max Uses=1"};
  fixture_open_virtual(&f);
  for (unsigned i = 0; i < 3; i++) {
    weir_h pool = 0;
    cr_assert_eq(open_pool(settings[i], &pool), WEIR_OK, "%s", f.err.message);
    cr_assert_eq(fixture_stats(pool).connects_ok, 1);
  }
  fixture_close(&f);
}
