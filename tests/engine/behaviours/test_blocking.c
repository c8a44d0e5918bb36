/* SPDX-License-Identifier: MIT */
/* F: what both pools do while a server cannot be reached. */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "presets.h"
#include "virtual_clock.h"

#define S    ((uint64_t)FIXTURE_S)
#define DOWN "fail endpoint network native 53 'nobody home'"

#define LEGACY 1u /* of preset_names */

static struct fixture f;
static weir_h pool;

static void open_as(unsigned preset, const char *script, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(
      &f, "Pool Strategy=%s;Max Pool Size=4;Mock Script Text=\"%s\";%s",
      preset_names[preset], script, settings);
}

/* An acquire, given back at once if it succeeds. */
static int try_one(void) {
  weir_h lease = 0;
  int rc = weir_acquire(pool, FIXTURE_S, &lease, &f.err);
  return rc != WEIR_OK ? rc : weir_release(lease);
}

static uint64_t connects(void) {
  return fixture_counts(&f).calls[MOCK_CONNECT];
}

static uint64_t blocked(void) {
  return fixture_stats(pool).blocked_ns;
}

/* With a connect of its own, if it may have one. */
static void fails(void) {
  uint64_t before = connects();
  cr_assert_eq(try_one(), WEIR_E_FAIL);
  cr_assert_eq(connects(), before + 1);
}

/* Without one. */
static void is_refused(void) {
  uint64_t before = connects();
  cr_assert_eq(try_one(), WEIR_E_FAIL);
  cr_assert_eq(connects(), before);
}

static void clear(void) {
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
}

/* ------------------------------------------------------------------ the pool */

Test(blocking_period,
     behaviour_092_a_failure_begins_a_period_unless_never,
     .timeout = 20) {
  static const struct {
    const char *settings;
    bool blocks;
  } cases[] = {{"", true},
               {"Pool Blocking Period=auto", true},
               {"Pool Blocking Period=always", true},
               {"Pool Blocking Period=never", false},
               {"Mock Cloud=true", false},
               {"Mock Cloud=true;Pool Blocking Period=always", true}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    EACH_PRESET(preset) {
      open_as(preset, "connect: " DOWN, cases[i].settings);
      fails();
      cr_assert_eq(blocked() != 0, cases[i].blocks, "%s: %s",
                   preset_names[preset], cases[i].settings);
      fixture_close(&f);
    }
  }
}

Test(blocking_period,
     behaviour_093_the_next_caller_is_told_the_same_without_a_connect,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fails();
    cr_assert_not_null(strstr(f.err.message, "nobody home"));
    is_refused();
    cr_assert_not_null(strstr(f.err.message, "nobody home"));
    cr_assert_eq(connects(), 1);
    fixture_close(&f);
  }
}

Test(blocking_period, behaviour_094_a_clear_ends_it, .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect 1: " DOWN, "");
    fails();
    clear();
    cr_assert_eq(blocked(), 0);
    cr_assert_eq(try_one(), WEIR_OK);
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_095_all_fail_for_5_s_though_the_server_is_well_and_not_after,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect 1: " DOWN, "");
    fails();
    for (unsigned i = 0; i < 5; i++) {
      is_refused();
      fixture_advance(&f, S);
    }
    cr_assert_eq(try_one(), WEIR_OK);
    cr_assert_eq(blocked(), 0);
    fixture_close(&f);
  }
}

/* ------------------------------------------------------- the state by itself */

Test(blocking_period,
     behaviour_096_at_first_there_is_no_period,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "", "");
    cr_assert_eq(blocked(), 0);
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_097_at_first_nothing_is_refused,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "", "");
    cr_assert_eq(try_one(), WEIR_OK);
    cr_assert_eq(connects(), 1);
    fixture_close(&f);
  }
}

Test(blocking_period, behaviour_098_a_failure_begins_one, .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fails();
    cr_assert_eq(blocked(), 5 * S);
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_099_kind_and_text_of_the_error_are_those_of_the_connect,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fails();
    struct weir_error first = f.err;
    is_refused();
    cr_assert_eq(f.err.code, first.code);
    cr_assert_eq(f.err.scope, first.scope);
    cr_assert_eq(f.err.kind, first.kind);
    cr_assert_eq(f.err.phase, first.phase);
    cr_assert_eq(f.err.native, 53);
    cr_assert_not_null(strstr(f.err.message, first.message));
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_100_each_caller_has_its_own_copy,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fails();
    is_refused();
    struct weir_error earlier = f.err;
    fixture_advance(&f, S);
    is_refused();
    cr_assert_eq(earlier.retry_after_ms, 5000);
    cr_assert_eq(f.err.retry_after_ms, 4000);
    cr_assert_not_null(strstr(earlier.message, "nobody home"));
    cr_assert_not_null(strstr(f.err.message, "nobody home"));
    fixture_close(&f);
  }
}

/* V1 wakes all, V2 one, who then hears of it. */
Test(blocking_period, behaviour_101_who_waits_is_woken_by_it, .timeout = 20) {
  EACH_PRESET(preset) {
    struct acquirer a[4];
    bool all = preset == LEGACY;
    open_as(preset, "connect 1: hang, " DOWN, "Max Concurrent Connects=1");
    for (unsigned i = 0; i < 4; i++) {
      acquirer_start(&a[i], pool, WEIR_TIMEOUT_NEVER);
      AWAIT_STAT(pool, waiters, i + 1);
    }
    AWAIT_COUNT(&f, hung, 1);
    (void)f.mock->release_hung(f.drv, 0);
    for (unsigned i = 0; i < (all ? 4 : 2); i++) {
      cr_assert_eq(acquirer_join(&a[i]), WEIR_E_FAIL);
      cr_assert_not_null(strstr(a[i].err.message, "nobody home"));
    }
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).waiters, all ? 0 : 2);
    fixture_advance(&f, 5 * S);
    for (unsigned i = all ? 4 : 2; i < 4; i++) {
      cr_assert_eq(acquirer_join(&a[i]), WEIR_OK);
    }
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_102_a_second_failure_replaces_the_error,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset,
            "connect 1: fail endpoint network 'first'; "
            "connect 2: fail endpoint network 'second'",
            "");
    fails();
    is_refused();
    cr_assert_not_null(strstr(f.err.message, "first"));
    fixture_advance(&f, 5 * S);
    fails();
    is_refused();
    cr_assert_not_null(strstr(f.err.message, "second"));
    cr_assert_null(strstr(f.err.message, "first"));
    fixture_close(&f);
  }
}

Test(blocking_period, behaviour_103_a_clear_removes_the_error, .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fails();
    clear();
    cr_assert_eq(blocked(), 0);
    fails();
    cr_assert_eq(f.err.retry_after_ms, 0); /* its own */
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_104_after_a_clear_nothing_is_refused,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect 1: " DOWN, "");
    fails();
    is_refused();
    clear();
    for (unsigned i = 0; i < 4; i++) {
      (void)fixture_acquire(&f, pool);
    }
    cr_assert_eq(connects(), 5);
    fixture_close(&f);
  }
}

/* Who waits for a place afterwards is not failed with an error of before. */
Test(blocking_period,
     behaviour_105_after_a_clear_nobody_is_woken_by_the_error,
     .timeout = 20) {
  EACH_PRESET(preset) {
    struct acquirer a;
    open_as(preset, "connect 1: " DOWN, "Max Pool Size=1");
    fails();
    clear();
    weir_h lease = fixture_acquire(&f, pool);
    acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, 1);
    fixture_sync(&f);
    fixture_advance(&f, 60 * S);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    fixture_close(&f);
  }
}

Test(blocking_period, behaviour_106_two_clears_are_as_one, .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect 1: " DOWN, "");
    clear();
    fails();
    clear();
    clear();
    cr_assert_eq(blocked(), 0);
    cr_assert_eq(try_one(), WEIR_OK);
    fixture_close(&f);
  }
}

/* ------------------------------------------------------------------ its length */

/* Fails n times in a row, with the whole period between. */
static void fail_in_turn(unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    fails();
    fixture_advance(&f, blocked());
  }
}

Test(blocking_period,
     behaviour_107_a_clear_begins_again_at_5_s,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fails();
    clear();
    fails();
    cr_assert_eq(blocked(), 5 * S);
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_108_the_first_wait_is_5_s_exactly,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fails();
    fixture_advance(&f, 5 * S - 1);
    is_refused();
    fixture_advance(&f, 1);
    fails();
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_109_the_waits_are_5_10_20_40_60_s,
     .timeout = 20) {
  static const uint64_t waits[] = {5, 10, 20, 40, 60, 60, 60};
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
      fails();
      cr_assert_eq(blocked(), waits[i] * S, "wait %zu", i);
      fixture_advance(&f, waits[i] * S - 1);
      is_refused();
      fixture_advance(&f, 1);
    }
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_110_the_end_of_a_period_does_not_shorten_the_next,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fails();
    fixture_advance(&f, 3600 * S); /* however long nobody comes */
    fails();
    cr_assert_eq(blocked(), 10 * S);
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_111_a_clear_after_grown_waits_begins_again_at_5_s,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect: " DOWN, "");
    fail_in_turn(4);
    clear();
    fails();
    cr_assert_eq(blocked(), 5 * S);
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_112_the_end_of_the_period_lets_the_next_one_try,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect 1: " DOWN, "");
    fails();
    fixture_advance(&f, 5 * S);
    cr_assert_eq(blocked(), 0);
    cr_assert_eq(try_one(), WEIR_OK);
    cr_assert_eq(connects(), 2);
    fixture_close(&f);
  }
}

Test(blocking_period,
     behaviour_113_it_ends_not_a_millisecond_early,
     .timeout = 20) {
  EACH_PRESET(preset) {
    open_as(preset, "connect 1: " DOWN, "");
    fails();
    fixture_advance(&f, 5 * S - (uint64_t)FIXTURE_MS);
    is_refused();
    cr_assert_eq(f.err.retry_after_ms, 1);
    fixture_close(&f);
  }
}

/* --------------------------------------------------------------------- legacy */

Test(blocking_period,
     behaviour_123_a_failing_connect_begins_a_period_after_one_attempt,
     .timeout = 20) {
  open_as(LEGACY, "connect: " DOWN, "");
  cr_assert_eq(try_one(), WEIR_E_FAIL);
  cr_assert_eq(blocked(), 5 * S);
  cr_assert_eq(connects(), 1);
  fixture_close(&f);
}

Test(blocking_period,
     behaviour_124_copies_are_told_without_a_second_attempt,
     .timeout = 20) {
  struct acquirer a[3];
  open_as(LEGACY, "connect: " DOWN, "");
  fails();
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&a[i], pool, WEIR_TIMEOUT_NEVER);
  }
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&a[i]), WEIR_E_FAIL);
    cr_assert_not_null(strstr(a[i].err.message, "nobody home"));
  }
  cr_assert_eq(connects(), 1);
  fixture_close(&f);
}

Test(blocking_period,
     behaviour_125_never_is_an_attempt_and_an_error_for_each,
     .timeout = 20) {
  open_as(LEGACY,
          "connect 1: fail endpoint network 'first'; "
          "connect 2: fail endpoint network 'second'",
          "Pool Blocking Period=never");
  fails();
  cr_assert_str_eq(f.err.message, "first");
  fails();
  cr_assert_str_eq(f.err.message, "second");
  cr_assert_eq(connects(), 2);
  fixture_close(&f);
}

Test(blocking_period, behaviour_126_a_success_leaves_no_error, .timeout = 20) {
  open_as(LEGACY, "", "");
  cr_assert_eq(try_one(), WEIR_OK);
  cr_assert_eq(blocked(), 0);
  fixture_close(&f);
}

Test(blocking_period,
     behaviour_127_after_the_period_it_is_tried_again_and_recovers,
     .timeout = 20) {
  open_as(LEGACY, "connect 1: " DOWN, "");
  fails();
  is_refused();
  fixture_advance(&f, 5 * S);
  cr_assert_eq(try_one(), WEIR_OK);
  cr_assert_eq(try_one(), WEIR_OK);
  cr_assert_eq(connects(), 2);
  fixture_close(&f);
}

Test(blocking_period,
     behaviour_128_a_success_brings_the_wait_back_to_5_s,
     .timeout = 20) {
  open_as(LEGACY, "connect 1-3: " DOWN "; connect 5: " DOWN, "");
  fail_in_turn(3);
  weir_h lease = fixture_acquire(&f, pool);
  fails();
  cr_assert_eq(blocked(), 5 * S);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(blocking_period,
     behaviour_129_the_end_of_a_period_alone_goes_on_doubling,
     .timeout = 20) {
  open_as(LEGACY, "connect: " DOWN, "");
  fail_in_turn(2);
  fails();
  cr_assert_eq(blocked(), 20 * S);
  fixture_close(&f);
}
