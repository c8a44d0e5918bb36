/* SPDX-License-Identifier: MIT */
/* test_limiter.c - a limit on connects at once: behaviours 130 to 134. */
#include "completions.h"
#include "presets.h"

static struct fixture f;
static weir_h pool;

static uint64_t begun(void) {
  return fixture_stats(pool).connects_begun;
}

Test(limiter, behaviour_130_with_a_permit_a_connect_begins, .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "Max Concurrent Connects=1");
    PRESET_RELEASE(fixture_acquire(&f, pool));
    cr_assert_eq(begun(), 1);
    cr_assert_eq(fixture_stats(pool).connecting, 0);
    fixture_close(&f);
  }
}

Test(limiter,
     behaviour_131_one_permit_serves_two_connects_in_turn,
     .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "Max Concurrent Connects=1");
    (void)fixture_acquire(&f, pool);
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(fixture_stats(pool).connects_ok, 2);
    fixture_close(&f);
  }
}

static void open_hanging(unsigned preset, unsigned which) {
  char more[128];
  (void)snprintf(more, sizeof more,
                 "Max Concurrent Connects=1;Mock Script Text='connect %u: "
                 "hang'",
                 which);
  pool = preset_open(&f, preset, more);
}

Test(limiter,
     behaviour_132_who_was_denied_opens_when_the_permit_is_back,
     .timeout = 10) {
  EACH_PRESET(i) {
    struct acquirer a[2];
    open_hanging(i, 1);
    weir_h queue = queue_of(&f, 1);
    acquirer_start(&a[0], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, 1);
    acquirer_start(&a[1], pool, WEIR_TIMEOUT_NEVER);
    acquirer_settle(&a[1], 2);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    fixture_sync(&f);
    cr_assert_eq(begun(), 1);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
    cr_assert_eq(acquirer_join(&a[0]), WEIR_OK);
    cr_assert_eq(acquirer_join(&a[1]), WEIR_OK);
    (void)take_one(&f, queue, 7, WEIR_OK);
    cr_assert_eq(begun(), 3);
    cr_assert_eq(weir_queue_close(queue), WEIR_OK);
    fixture_close(&f);
  }
}

Test(limiter,
     behaviour_133_who_was_denied_takes_what_comes_back,
     .timeout = 10) {
  EACH_PRESET(i) {
    struct acquirer a[2];
    open_hanging(i, 2);
    weir_h held = fixture_acquire(&f, pool);
    acquirer_start(&a[0], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, 1);
    acquirer_start(&a[1], pool, WEIR_TIMEOUT_NEVER);
    acquirer_settle(&a[1], 2);
    PRESET_RELEASE(held);
    cr_assert_eq(acquirer_join(&a[1]), WEIR_OK);
    cr_assert_eq(fixture_number(&f, a[1].lease, "session", 0), 1);
    cr_assert_eq(begun(), 2);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
    cr_assert_eq(acquirer_join(&a[0]), WEIR_OK);
    cr_assert_eq(begun(), 2);
    fixture_close(&f);
  }
}

Test(limiter, behaviour_134_failures_give_their_permits_back, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    pool = preset_open(&f, i,
                       "Max Concurrent Connects=1;Pool Blocking Period=never;"
                       "Mock Script Text=\"connect 1-4: fail endpoint network "
                       "'no'\"");
    for (unsigned k = 0; k < 4; k++) {
      cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &f.err),
                   WEIR_E_FAIL);
    }
    PRESET_RELEASE(fixture_acquire(&f, pool));
    cr_assert_eq(begun(), 5);
    fixture_close(&f);
  }
}
