/* SPDX-License-Identifier: MIT */
/* H: how Min Pool Size is filled, one connect after the other. */
#include <stddef.h>
#include <string.h>

#include "completions.h"
#include "presets.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)
#define DOWN \
  "Mock Script Text=\"connect: fail endpoint network 'nobody home'\";"

static struct fixture f;
static weir_h pool;

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
}

static uint64_t begun(void) {
  fixture_sync(&f);
  return fixture_stats(pool).connects_begun;
}

Test(warm_up, behaviour_135_a_minimum_of_0_opens_nothing, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=0");
    fixture_sync(&f);
    fixture_advance(&f, 600 * S);
    cr_assert_eq(begun(), 0);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_136_a_minimum_opens_exactly_so_many_all_idle,
     .timeout = 20) {
  static const uint32_t sizes[] = {1, 3, 10};
  EACH_PRESET(i) {
    for (unsigned k = 0; k < 3; k++) {
      char more[32];
      (void)snprintf(more, sizeof more, "Min Pool Size=%u", sizes[k]);
      open_pool(i, more);
      AWAIT_STAT(pool, idle, sizes[k]);
      cr_assert_eq(begun(), sizes[k]);
      cr_assert_eq(fixture_counts(&f).connects_max, 1);
      fixture_close(&f);
    }
  }
}

/* V2; in V1 whoever comes waits for the one connect that is under way: 139. */
Test(warm_up,
     behaviour_137_a_caller_is_served_while_the_fill_hangs,
     .timeout = 10) {
  open_pool(0, "Min Pool Size=2;Mock Script Text='connect 1: hang'");
  AWAIT_COUNT(&f, hung, 1);
  (void)fixture_acquire(&f, pool);
  cr_assert_eq(begun(), 2);
  fixture_end_connect(&f);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(begun(), 2);
  fixture_close(&f);
}

Test(warm_up,
     behaviour_138_with_one_permit_the_minimum_is_reached,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=3;Max Concurrent Connects=1;"
                 "Mock Script Text='connect: hang'");
    for (uint32_t k = 1; k <= 3; k++) {
      fixture_end_connect(&f);
      AWAIT_STAT(pool, idle, k);
    }
    cr_assert_eq(begun(), 3);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_139_a_caller_waits_for_the_fills_permit_and_both_end,
     .timeout = 10) {
  EACH_PRESET(i) {
    struct acquirer a;
    open_pool(i, "Min Pool Size=2;Max Concurrent Connects=1;"
                 "Mock Script Text='connect: hang'");
    AWAIT_COUNT(&f, hung, 1);
    acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, 1);
    cr_assert_eq(begun(), 1);
    fixture_end_connect(&f);
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    fixture_end_connect(&f);
    AWAIT_STAT(pool, connecting, 0);
    cr_assert_eq(preset_count(pool), 2);
    cr_assert_eq(begun(), 2);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_140_when_all_connects_fail_the_fill_tries_once,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=3;" DOWN);
    AWAIT_STAT(pool, connects_failed, 1);
    fixture_sync(&f); /* and it has been judged */
    AWAIT_STAT(pool, closing, 0);
    cr_assert_eq(begun(), 1);
    cr_assert_eq(preset_count(pool), 0);
    cr_assert_eq(fixture_stats(pool).blocked_ns, 5 * S);
    fixture_close(&f);
  }
}

Test(warm_up, behaviour_141_and_the_next_caller_fails_at_once, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Min Pool Size=3;" DOWN);
    AWAIT_STAT(pool, connects_failed, 1);
    fixture_sync(&f); /* and it has been judged */
    cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, &f.err),
                 WEIR_E_FAIL);
    cr_assert_not_null(strstr(f.err.message, "nobody home"));
    cr_assert_eq(begun(), 1);
    fixture_close(&f);
  }
}

/* A caller's failure began it; one permit, that the fill is not beside its connect. */
Test(warm_up, behaviour_142_in_a_period_the_fill_opens_nothing, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Min Pool Size=2;Startup=lazy;Max Concurrent Connects=1;"
                 "Mock Script Text=\"connect 1: fail endpoint network "
                 "'nobody home'\"");
    cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, &f.err),
                 WEIR_E_FAIL);
    cr_assert_eq(begun(), 1);
    fixture_advance(&f, 2 * S);
    cr_assert_eq(begun(), 1);
    cr_assert_eq(fixture_stats(pool).blocked_ns, 3 * S);
    fixture_close(&f);
  }
}

Test(warm_up, behaviour_143_a_shutdown_ends_the_fill, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=3;Mock Script Text='connect: hang'");
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, sessions_live, 0);
    fixture_sync(&f);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_144_what_is_thrown_away_below_the_minimum_is_filled_up,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=1");
    AWAIT_STAT(pool, idle, 1);
    cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], 2);
    AWAIT_STAT(pool, idle, 1);
    cr_assert_eq(begun(), 2);
    fixture_close(&f);
  }
}

/* At once: time stands still here. */
Test(warm_up, behaviour_145_a_clear_is_followed_by_a_fill, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=2");
    AWAIT_STAT(pool, idle, 2);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], 4);
    AWAIT_STAT(pool, idle, 2);
    cr_assert_eq(begun(), 4);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_146_what_goes_above_the_minimum_is_not_filled,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=1");
    AWAIT_STAT(pool, idle, 1);
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
    AWAIT_COUNT(&f, sessions_live, 1);
    cr_assert_eq(begun(), 2);
    fixture_close(&f);
  }
}

Test(warm_up,
     behaviour_147_an_expired_one_is_replaced_by_exactly_one,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Min Pool Size=1;Idle Expiry=enforced;"
                 "Connection Idle Timeout=60");
    AWAIT_STAT(pool, idle, 1);
    weir_h lease = fixture_acquire(&f, pool);
    int64_t session = fixture_number(&f, lease, "session", 0);
    PRESET_RELEASE(lease);
    AWAIT_STAT(pool, idle, 1);
    fixture_sync(&f);
    virtual_clock_advance(61 * S);
    lease = fixture_acquire(&f, pool);
    cr_assert_neq(fixture_number(&f, lease, "session", 0), session);
    AWAIT_STAT(pool, closing, 0);
    cr_assert_eq(begun(), 2);
    cr_assert_eq(preset_count(pool), 1);
    fixture_close(&f);
  }
}
