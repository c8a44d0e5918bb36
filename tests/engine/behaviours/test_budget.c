/* SPDX-License-Identifier: MIT */
/* test_budget.c - how long a wait and a connect may take: behaviours 302 to 325. */
#include <stdbool.h>

#include "completions.h"
#include "presets.h"
#include "sys/clock.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

static struct fixture f;
static weir_h pool;
static struct acquirer a;
static uint64_t since;

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
  since = weir__clock_now();
}

/* The caller is back, that many seconds after the pool was opened. */
static void expect_end(int rc, uint64_t seconds) {
  int got = acquirer_join(&a);
  cr_assert_eq(got, rc, "%s: %s", weir_status_name(got), a.err.message);
  cr_assert_eq(a.ended - since, seconds * S);
}

static void start_connect(int64_t timeout_ns) {
  acquirer_start(&a, pool, timeout_ns);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
}

#define HANG(n) "Mock Script Text='connect " n ": hang';"

Test(budget, behaviour_302_a_connect_gets_what_is_left, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1;Connect Timeout=30;Connect Timeout "
                 "Scope=overall;" HANG("2"));
    weir_h held = fixture_acquire(&f, pool);
    acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
    acquirer_settle(&a, 1);
    fixture_advance(&f, 5 * S);
    cr_assert_eq(weir_discard(held), WEIR_OK);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    fixture_advance(&f, 24 * S);
    cr_assert_eq(a.back, 0);
    fixture_advance(&f, 1 * S);
    expect_end(WEIR_E_TIMEOUT, 30);
    fixture_close(&f);
  }
}

/* In line: the setting, and 0 is endless. */
static void check_wait(unsigned preset, const char *setting, uint64_t seconds) {
  char more[64];
  (void)snprintf(more, sizeof more, "Max Pool Size=1;Connect Timeout=%s",
                 setting);
  open_pool(preset, more);
  weir_h held = fixture_acquire(&f, pool);
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  acquirer_settle(&a, 1);
  fixture_advance(&f, seconds != 0 ? seconds * S : 100000 * S);
  if (seconds == 0) {
    cr_assert_eq(a.back, 0);
    PRESET_RELEASE(held);
  }
  expect_end(seconds == 0 ? WEIR_OK : WEIR_E_TIMEOUT,
             seconds != 0 ? seconds : 100000);
  fixture_close(&f);
}

Test(budget, behaviour_303_a_wait_is_what_the_setting_says, .timeout = 10) {
  EACH_PRESET(i) {
    check_wait(i, "3", 3);
    check_wait(i, "0", 0);
  }
}

Test(budget, behaviour_308_a_wait_that_is_over_ends_at_once, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Max Pool Size=1");
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
    cr_assert_eq(weir__clock_now(), since);
    fixture_close(&f);
  }
}

Test(budget, behaviour_309_a_wait_without_end_does_not_end, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1;Connect Timeout=3");
    weir_h held = fixture_acquire(&f, pool);
    acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
    acquirer_settle(&a, 1);
    fixture_advance(&f, 100000 * S);
    cr_assert_eq(a.back, 0);
    PRESET_RELEASE(held);
    expect_end(WEIR_OK, 100000);
    fixture_close(&f);
  }
}

Test(budget, behaviour_311_a_time_out_of_0_opens_nothing, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "");
    cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
    cr_assert_eq(fixture_stats(pool).connects_begun, 0);
    PRESET_RELEASE(fixture_acquire(&f, pool));
    cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_OK);
    fixture_close(&f);
  }
}

Test(budget,
     behaviour_314_a_connect_is_no_longer_than_its_callers_wait,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Connect Timeout=30;Connect Timeout Scope=overall;" HANG("1"));
    start_connect(3 * FIXTURE_S);
    fixture_advance(&f, 3 * S);
    expect_end(WEIR_E_TIMEOUT, 3);
    fixture_close(&f);
  }
}

Test(budget, behaviour_315_a_shorter_limit_is_kept, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Connect Timeout=5;" HANG("1"));
    acquirer_start(&a, pool, 20 * FIXTURE_S);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    fixture_advance(&f, 5 * S);
    int rc = acquirer_join(&a);
    cr_assert_neq(rc, WEIR_OK);
    cr_assert_eq(a.ended - since, 5 * S);
    fixture_close(&f);
  }
}

Test(budget,
     behaviour_316_nothing_is_begun_when_nothing_is_left,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "");
    weir_h queue = queue_of(&f, 1);
    struct weir_completion c = {.struct_size = sizeof c};
    int rc = weir_submit_acquire(pool, 0, queue, 1, &lease, NULL, &f.err);
    if (rc == WEIR_PENDING) {
      cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, &f.err),
                   WEIR_OK);
      rc = c.status;
    }
    cr_assert_eq(rc, WEIR_E_TIMEOUT);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).connects_begun, 0);
    cr_assert_eq(weir_queue_close(queue), WEIR_OK);
    fixture_close(&f);
  }
}

Test(budget,
     behaviour_317_an_endless_wait_leaves_a_connect_its_limit,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Connect Timeout=0;" HANG("1"));
    start_connect(WEIR_TIMEOUT_NEVER);
    fixture_advance(&f, 15 * S);
    int rc = acquirer_join(&a);
    cr_assert_neq(rc, WEIR_OK);
    cr_assert_eq(a.ended - since, 15 * S);
    fixture_close(&f);
  }
}
