/* SPDX-License-Identifier: MIT */
/* test_warm_up.c - Min Pool Size is filled, one connection at a time: behaviours 135
 * to 147. */
#include <string.h>

#include "presets.h"

#define S       ((uint64_t)FIXTURE_S)
#define CHANNEL 0u /* of preset_names */

static struct fixture f;
static weir_h pool;

static uint64_t begun(void) {
  return fixture_stats(pool).connects_begun;
}

/* In steps, so that what is due comes at its time. */
static void pass(uint64_t seconds) {
  for (uint64_t i = 0; i < 5 * seconds; i++) {
    fixture_advance(&f, S / 5);
  }
}

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
}

Test(warm_up, behaviour_135_a_minimum_of_0_opens_nothing, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=0");
    pass(10);
    cr_assert_eq(begun(), 0);
    fixture_close(&f);
  }
}

Test(warm_up, behaviour_136_the_minimum_is_opened_exactly, .timeout = 20) {
  static const uint32_t minima[] = {1, 3, 10};
  EACH_PRESET(i) {
    for (unsigned k = 0; k < 3; k++) {
      char more[32];
      (void)snprintf(more, sizeof more, "Min Pool Size=%u", minima[k]);
      open_pool(i, more);
      pass(5);
      cr_assert_eq(fixture_stats(pool).idle, minima[k]);
      cr_assert_eq(begun(), minima[k]);
      cr_assert_eq(fixture_counts(&f).connects_max, 1);
      fixture_close(&f);
    }
  }
}

/* legacy opens one at a time, whoever it is for. */
Test(warm_up,
     behaviour_137_a_caller_is_served_while_the_fill_hangs,
     .timeout = 10) {
  open_pool(CHANNEL, "Min Pool Size=1;Mock Script Text='connect 1: hang'");
  pass(1);
  AWAIT_COUNT(&f, hung, 1);
  (void)fixture_acquire(&f, pool);
  cr_assert_eq(begun(), 2);
  fixture_close(&f);
}

Test(warm_up,
     behaviour_138_with_one_permit_the_minimum_is_still_reached,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=3;Max Concurrent Connects=1");
    pass(5);
    cr_assert_eq(fixture_stats(pool).idle, 3);
    cr_assert_eq(begun(), 3);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_139_a_caller_waits_for_the_permit_of_the_fill,
     .timeout = 10) {
  EACH_PRESET(i) {
    struct acquirer a;
    open_pool(i, "Min Pool Size=2;Max Concurrent Connects=1;"
                 "Mock Script Text='connect 1: hang'");
    pass(1);
    AWAIT_COUNT(&f, hung, 1);
    acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
    acquirer_settle(&a, 1);
    cr_assert_eq(begun(), 1);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    pass(2);
    cr_assert_eq(preset_count(pool), 2);
    fixture_close(&f);
  }
}

#define DOWN "Mock Script Text=\"connect: fail endpoint network 'nobody'\""

Test(warm_up,
     behaviour_140_when_a_connect_fails_the_fill_stops,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=3;" DOWN);
    pass(3);
    cr_assert_eq(begun(), 1);
    cr_assert_eq(preset_count(pool), 0);
    fixture_close(&f);
  }
}

Test(warm_up, behaviour_141_and_the_next_caller_fails_at_once, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Min Pool Size=3;" DOWN);
    pass(1);
    cr_assert_neq(weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &f.err),
                  WEIR_OK);
    cr_assert_not_null(strstr(f.err.message, "nobody"), "%s", f.err.message);
    cr_assert_eq(begun(), 1);
    fixture_close(&f);
  }
}

Test(warm_up, behaviour_142_in_a_period_the_fill_opens_nothing, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Min Pool Size=3;" DOWN);
    cr_assert_neq(weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &f.err),
                  WEIR_OK);
    uint64_t before = begun();
    pass(4);
    cr_assert_eq(begun(), before);
    fixture_close(&f);
  }
}

Test(warm_up, behaviour_143_a_shutdown_ends_the_fill, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=3;Mock Script Text='connect 1: hang'");
    pass(1);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, conns_live, 0);
    pass(2);
    cr_assert_eq(fixture_counts(&f).conns_live, 0);
    fixture_close(&f);
  }
}

Test(warm_up, behaviour_144_what_is_thrown_away_is_filled_up, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=1");
    pass(1);
    cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
    pass(2);
    cr_assert_eq(fixture_stats(pool).idle, 1);
    cr_assert_eq(begun(), 2);
    fixture_close(&f);
  }
}

Test(warm_up, behaviour_145_a_clear_is_followed_by_a_fill, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=2");
    pass(2);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    pass(5);
    cr_assert_eq(fixture_stats(pool).idle, 2);
    cr_assert_eq(begun(), 4);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_146_what_goes_above_the_minimum_is_not_filled,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=1");
    pass(1);
    weir_h one = fixture_acquire(&f, pool);
    weir_h other = fixture_acquire(&f, pool);
    cr_assert_eq(weir_discard(other), WEIR_OK);
    pass(3);
    cr_assert_eq(preset_count(pool), 1);
    cr_assert_eq(begun(), 2);
    PRESET_RELEASE(one);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_147_an_expired_one_is_replaced_by_exactly_one,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=1;Idle Expiry=enforced;Connection Idle "
                 "Timeout=3");
    pass(1);
    cr_assert_eq(begun(), 1);
    pass(5);
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
    PRESET_RELEASE(lease);
    pass(1);
    cr_assert_eq(begun(), 2);
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}
