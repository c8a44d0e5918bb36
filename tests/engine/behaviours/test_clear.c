/* SPDX-License-Identifier: MIT */
/* D: a clear of a pool that goes on. */
#include <stddef.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "presets.h"
#include "virtual_clock.h"

static struct fixture f;
static weir_h pool;

static void open_as(unsigned preset, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Pool Strategy=%s;Max Pool Size=8;%s",
                      preset_names[preset], settings);
}

static void clear(void) {
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
}

/* Connections that there are, being closed or not. */
static uint32_t size(void) {
  struct weir_pool_stats s = fixture_stats(pool);
  return s.connecting + s.idle + s.leased + s.reserved + s.closing;
}

/* All that is to be closed has gone, and n are left. */
static void settles_at(uint32_t n) {
  AWAIT_STAT(pool, closing, 0);
  cr_assert_eq(size(), n);
  AWAIT_COUNT(&f, sessions_live, n);
}

Test(clear, behaviour_076_clearing_an_empty_pool_does_nothing, .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "");
    clear();
    settles_at(0);
    cr_assert_eq(fixture_stats(pool).closed, 0);
    fixture_close(&f);
  }
}

Test(clear,
     behaviour_077_idle_connections_are_closed_by_a_clear,
     .timeout = 20) {
  EACH_PRESET(preset) {
    weir_h leases[3];
    open_as(preset, "");
    preset_acquire(&f, pool, leases, 3);
    preset_release(leases, 3);
    clear();
    cr_assert_eq(fixture_stats(pool).idle, 0);
    settles_at(0);
    cr_assert_eq(fixture_stats(pool).closed, 3);
    fixture_close(&f);
  }
}

Test(clear,
     behaviour_078_one_in_use_survives_a_clear_and_still_counts,
     .timeout = 20) {
  EACH_PRESET(preset) {
    weir_h lease;
    open_as(preset, "");
    preset_acquire(&f, pool, &lease, 1);
    clear();
    fixture_sync(&f);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).leased, 1);
    settles_at(1);
    preset_release(&lease, 1);
    fixture_close(&f);
  }
}

Test(clear,
     behaviour_079_one_that_was_in_use_is_closed_when_it_comes_back,
     .timeout = 20) {
  EACH_PRESET(preset) {
    weir_h lease;
    open_as(preset, "");
    preset_acquire(&f, pool, &lease, 1);
    clear();
    preset_release(&lease, 1);
    cr_assert_eq(fixture_stats(pool).idle, 0);
    settles_at(0);
    fixture_close(&f);
  }
}

Test(clear,
     behaviour_080_idle_ones_go_now_and_those_in_use_later,
     .timeout = 20) {
  EACH_PRESET(preset) {
    weir_h leases[4];
    open_as(preset, "");
    preset_acquire(&f, pool, leases, 4);
    preset_release(leases, 2);
    clear();
    settles_at(2);
    preset_release(leases + 2, 2);
    settles_at(0);
    fixture_close(&f);
  }
}

Test(clear,
     behaviour_081_what_opens_after_a_clear_is_kept_and_used_again,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    clear();
    settles_at(0);
    cr_assert_eq(fixture_stats(pool).generation, 1);
    for (unsigned i = 0; i < 3; i++) {
      lease = fixture_acquire(&f, pool);
      cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
      cr_assert_eq(weir_release(lease), WEIR_OK);
    }
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    fixture_close(&f);
  }
}

Test(clear, behaviour_082_three_clears_are_three_generations, .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "");
    for (unsigned i = 0; i < 3; i++) {
      clear();
    }
    struct weir_pool_stats s = fixture_stats(pool);
    cr_assert_eq(s.generation, 3);
    cr_assert_eq(s.state, WEIR_POOL_OPEN);
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).idle, 1);
    fixture_close(&f);
  }
}

Test(clear, behaviour_083_a_clear_ends_the_blocking_period, .timeout = 20) {
  EACH_PRESET(preset) {
    weir_h lease = 0;
    open_as(preset,
            "Mock Script Text=\"connect 1: fail endpoint network 'down'\"");
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
    cr_assert_neq(fixture_stats(pool).blocked_ns, 0);
    clear();
    cr_assert_eq(fixture_stats(pool).blocked_ns, 0);
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    fixture_close(&f);
  }
}
