/* SPDX-License-Identifier: MIT */
/* G: a limit on connects that are under way at once.  SqlClient's pools have a limiter
 * that nobody gives them; ours is Max Concurrent Connects. */
#include <stddef.h>

#include "completions.h"
#include "presets.h"
#include "virtual_clock.h"

#define ONE "Max Pool Size=8;Max Concurrent Connects=1;"

static struct fixture f;
static weir_h pool;
static struct acquirer caller[4];

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
}

static void line_up(unsigned i) {
  acquirer_start(&caller[i], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, i + 1);
}

static uint64_t begun(void) {
  fixture_sync(&f);
  return fixture_stats(pool).connects_begun;
}

Test(limiter,
     behaviour_130_with_a_permit_a_connect_begins_at_once,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, ONE);
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(fixture_stats(pool).connecting, 0);
    (void)fixture_acquire(&f, pool); /* the permit came back */
    cr_assert_eq(begun(), 2);
    fixture_close(&f);
  }
}

Test(limiter, behaviour_131_one_permit_serves_two_connects, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, ONE "Mock Script Text='connect: hang'");
    line_up(0);
    line_up(1);
    cr_assert_eq(begun(), 1);
    fixture_end_connect(&f);
    fixture_end_connect(&f);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    cr_assert_eq(acquirer_join(&caller[1]), WEIR_OK);
    cr_assert_eq(begun(), 2);
    cr_assert_eq(fixture_counts(&f).connects_max, 1);
    fixture_close(&f);
  }
}

Test(limiter,
     behaviour_132_who_was_denied_opens_when_the_permit_is_back,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, ONE "Mock Script Text='connect: hang'");
    weir_h queue = queue_of(&f, 1);
    line_up(0);
    AWAIT_COUNT(&f, hung, 1);
    line_up(1);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    cr_assert_eq(begun(), 1);
    fixture_end_connect(&f);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    fixture_end_connect(&f);
    cr_assert_eq(acquirer_join(&caller[1]), WEIR_OK);
    fixture_end_connect(&f);
    (void)take_one(&f, queue, 7, WEIR_OK);
    cr_assert_eq(begun(), 3); /* each its own */
    fixture_close(&f);
  }
}

Test(limiter,
     behaviour_133_who_was_denied_takes_what_comes_back_instead,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, ONE "Mock Script Text='connect 2: hang'");
    weir_h lease = fixture_acquire(&f, pool);
    int64_t session = fixture_number(&f, lease, "session", 0);
    line_up(0);
    AWAIT_COUNT(&f, hung, 1);
    line_up(1);
    PRESET_RELEASE(lease);
    cr_assert_eq(acquirer_join(&caller[1]), WEIR_OK);
    cr_assert_eq(fixture_number(&f, caller[1].lease, "session", 0), session);
    cr_assert_eq(begun(), 2);
    fixture_end_connect(&f);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    fixture_close(&f);
  }
}

/* As many at once as before, which is one in legacy. */
Test(limiter, behaviour_134_failures_give_their_permits_back, .timeout = 10) {
  static const uint32_t at_once[PRESETS] = {4, 1};
  EACH_PRESET(i) {
    open_pool(i, "Max Concurrent Connects=4;Pool Blocking Period=never;"
                 "Mock Script Text=\"connect 1-12: fail endpoint network "
                 "'no'; connect: hang\"");
    for (unsigned k = 0; k < 12; k++) {
      weir_h lease = 0;
      cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, &f.err),
                   WEIR_E_FAIL);
    }
    for (unsigned k = 0; k < 4; k++) {
      line_up(k);
    }
    AWAIT_COUNT(&f, hung, at_once[i]);
    for (unsigned k = 0; k < 4; k += at_once[i]) {
      AWAIT_COUNT(&f, hung, at_once[i]);
      cr_assert_eq(f.mock->release_hung(f.drv, 0), at_once[i]);
    }
    for (unsigned k = 0; k < 4; k++) {
      cr_assert_eq(acquirer_join(&caller[k]), WEIR_OK);
    }
    fixture_close(&f);
  }
}
