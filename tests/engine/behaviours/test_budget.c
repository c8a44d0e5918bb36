/* SPDX-License-Identifier: MIT */
/* P: how long a wait and a connect may take.  What belongs to .NET's timer object alone
 * has no test. */
#include <stddef.h>

#include "completions.h"
#include "presets.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

static struct fixture f;
static weir_h pool;
static struct acquirer a;

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
}

static void wait_for(int64_t timeout_ns) {
  acquirer_start(&a, pool, timeout_ns);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
}

/* It ends after exactly that, late. */
static void ends_after(uint64_t ns) {
  uint64_t from = virtual_clock_now();
  fixture_advance(&f, ns - 1);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  fixture_advance(&f, 1);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_eq(a.ended, from + ns);
}

#define FULL "Max Pool Size=1;"

/* One that waits for 5 s, for which a connect then begins that hangs. */
static weir_h open_late(unsigned preset, const char *more) {
  char text[256];
  (void)snprintf(text, sizeof text,
                 FULL "Mock Script Text='connect 2: hang';%s", more);
  open_pool(preset, text);
  return fixture_acquire(&f, pool);
}

static void begin_connect(weir_h lease) {
  fixture_advance(&f, 5 * S);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
}

/* With one budget, blocking and submitted. */
Test(budget,
     behaviour_302_a_connect_gets_what_is_left_of_the_callers_time,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease =
        open_late(i, "Connect Timeout=30;Connect Timeout Scope=overall");
    wait_for(WEIR_TIMEOUT_POOL);
    begin_connect(lease);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    ends_after(25 * S);
    fixture_close(&f);
    lease = open_late(i, "Connect Timeout=30;Connect Timeout Scope=overall");
    weir_h queue = queue_of(&f, 1);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_POOL, queue, 7);
    fixture_sync(&f);
    begin_connect(lease);
    fixture_advance(&f, 25 * S - 1);
    cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
    fixture_advance(&f, 1);
    (void)take_one(&f, queue, 7, WEIR_E_TIMEOUT);
    fixture_close(&f);
  }
}

/* The switch that SqlClient has off: Connect Timeout Scope=per-phase. */
Test(budget,
     behaviour_303_per_phase_the_setting_counts_for_wait_and_connect,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = open_late(i, "Connect Timeout=30");
    wait_for(WEIR_TIMEOUT_POOL);
    ends_after(30 * S); /* the wait */
    wait_for(WEIR_TIMEOUT_POOL);
    begin_connect(lease);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    ends_after(30 * S); /* the connect, after 5 s of waiting */
    fixture_close(&f);
    lease = open_late(i, "Connect Timeout=0");
    wait_for(WEIR_TIMEOUT_POOL);
    fixture_advance(&f, 1000000 * S); /* 0 is without end */
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    PRESET_RELEASE(lease);
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    fixture_close(&f);
  }
}

Test(budget, behaviour_304_a_wait_is_over_after_its_time, .timeout = 10) {
  static const uint64_t times[] = {1, S / 1000, S, 3600 * S};
  EACH_PRESET(i) {
    open_pool(i, FULL);
    (void)fixture_acquire(&f, pool);
    for (unsigned k = 0; k < 4; k++) {
      wait_for((int64_t)times[k]);
      ends_after(times[k]);
    }
    fixture_close(&f);
  }
}

/* That of the one before has been used up. */
Test(budget, behaviour_306_each_wait_has_a_whole_time, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, FULL "Connect Timeout=30");
    (void)fixture_acquire(&f, pool);
    for (unsigned k = 0; k < 3; k++) {
      wait_for(WEIR_TIMEOUT_POOL);
      ends_after(30 * S);
    }
    fixture_close(&f);
  }
}

/* Its session is given up, and its place is there again. */
Test(budget, behaviour_307_a_late_connect_is_cut_off_in_time, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, FULL "Connect Timeout=10;Mock Script Text='connect 1: hang'");
    wait_for(WEIR_TIMEOUT_POOL);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    ends_after(10 * S);
    AWAIT_STAT(pool, empty, 1);
    AWAIT_COUNT(&f, hung, 0);
    AWAIT_COUNT(&f, conns_live, 0);
    fixture_close(&f);
  }
}

Test(budget, behaviour_308_a_wait_that_is_over_ends_at_once, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, FULL);
    weir_h queue = queue_of(&f, 1);
    weir_h held = fixture_acquire(&f, pool);
    cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
    cr_assert_eq(weir_submit_acquire(pool, 0, queue, 7, &lease, NULL, &f.err),
                 WEIR_E_TIMEOUT);
    cr_assert_eq(fixture_stats(pool).waiters, 0);
    PRESET_RELEASE(held);
    fixture_close(&f);
  }
}

Test(budget, behaviour_309_a_wait_without_end_does_not_end, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, FULL);
    weir_h lease = fixture_acquire(&f, pool);
    wait_for(WEIR_TIMEOUT_NEVER);
    fixture_advance(&f, 1000000 * S);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    PRESET_RELEASE(lease);
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    fixture_close(&f);
  }
}

Test(budget,
     behaviour_311_a_time_out_of_0_takes_what_is_there_and_opens_nothing,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "");
    cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
    cr_assert_eq(fixture_stats(pool).connects_begun, 0);
    PRESET_RELEASE(fixture_acquire(&f, pool));
    cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    fixture_close(&f);
  }
}

Test(budget,
     behaviour_314_with_one_budget_no_connect_outlasts_its_callers_wait,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Connect Timeout=30;Connect Timeout Scope=overall;"
                 "Mock Script Text='connect: hang'");
    wait_for(3 * FIXTURE_S);
    AWAIT_COUNT(&f, hung, 1);
    ends_after(3 * S);
    fixture_close(&f);
  }
}

Test(budget, behaviour_315_a_shorter_limit_is_kept, .timeout = 10) {
  static const char *const scopes[] = {"overall", "per-phase"};
  EACH_PRESET(i) {
    for (unsigned k = 0; k < 2; k++) {
      char more[128];
      (void)snprintf(more, sizeof more,
                     "Connect Timeout=10;Connect Timeout Scope=%s;"
                     "Mock Script Text='connect: hang'",
                     scopes[k]);
      open_pool(i, more);
      wait_for(60 * FIXTURE_S);
      AWAIT_COUNT(&f, hung, 1);
      ends_after(10 * S);
      fixture_close(&f);
    }
  }
}

Test(budget,
     behaviour_316_nothing_is_begun_when_nothing_is_left,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, FULL);
    weir_h lease = fixture_acquire(&f, pool);
    wait_for(FIXTURE_S);
    ends_after(S);
    cr_assert_eq(weir_discard(lease), WEIR_OK);
    AWAIT_STAT(pool, closing, 0);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    fixture_close(&f);
  }
}

Test(budget,
     behaviour_317_an_endless_wait_leaves_a_connect_its_own_limit,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Connect Timeout=10;Mock Script Text='connect: hang'");
    wait_for(WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, 1);
    ends_after(10 * S);
    fixture_close(&f);
  }
}

/* Also where Connect Timeout=0 is without end. */
Test(budget,
     behaviour_318_a_time_of_0_is_over_now_and_not_endless,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, FULL "Connect Timeout=0");
    weir_h queue = queue_of(&f, 1);
    weir_h held = fixture_acquire(&f, pool);
    cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
    cr_assert_eq(weir_submit_acquire(pool, 0, queue, 7, &lease, NULL, &f.err),
                 WEIR_E_TIMEOUT);
    PRESET_RELEASE(held);
    fixture_close(&f);
  }
}

Test(budget, behaviour_325_huge_times_do_not_overflow, .timeout = 10) {
  static const int64_t huge[] = {INT64_MAX - 1, INT64_C(2147483647) * FIXTURE_S,
                                 WEIR_TIMEOUT_POOL};
  EACH_PRESET(i) {
    open_pool(i, FULL "Connect Timeout=2147483647");
    fixture_advance(&f, 1000 * S);
    for (unsigned k = 0; k < 3; k++) {
      weir_h held = fixture_acquire(&f, pool);
      wait_for(huge[k]);
      fixture_advance(&f, 1000000 * S);
      cr_assert_eq(fixture_stats(pool).waiters, 1);
      PRESET_RELEASE(held);
      cr_assert_eq(acquirer_join(&a), WEIR_OK);
      PRESET_RELEASE(a.lease);
    }
    fixture_close(&f);
  }
}
