/* SPDX-License-Identifier: MIT */
/* Scenarios 43 to 45: what is told to callers while connects fail, and for how
 * long. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "breaker.h"
#include "completions.h"
#include "fixture.h"
#include "sys/clock.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

static struct fixture f;
static weir_h pool;
static struct acquirer many[3];

static void open_with(const char *script, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=5;Mock Script Text=\"%s\";%s", script,
                      settings);
}

static int acquire_now(void) {
  weir_h lease = 0;
  int rc = weir_acquire(pool, FIXTURE_S, &lease, &f.err);
  if (rc == WEIR_OK) {
    cr_assert_eq(weir_release(lease), WEIR_OK);
  }
  return rc;
}

static uint64_t connects(void) {
  return fixture_counts(&f).calls[MOCK_CONNECT];
}

/* -------------------------------------------------------------- scenario 43 */

#define NO_DATABASE \
  "connect 1: fail config config native 4060 severity 11 'no such database'"

static void expect_first_refusal(void) {
  cr_assert_eq(acquire_now(), WEIR_E_FAIL);
  cr_assert_eq(f.err.native, 4060);
  cr_assert_str_eq(f.err.message, "no such database");
  cr_assert_eq(connects(), 1);
}

/* It is the server's answer still, with its number, and says that it is told
 * again and when the server is asked. */
static void expect_replay(const char *says, uint32_t retry_after_ms) {
  cr_assert_eq(acquire_now(), WEIR_E_FAIL);
  cr_assert_eq(f.err.native, 4060);
  cr_assert_eq(f.err.scope, WEIR_SCOPE_CONFIG);
  cr_assert_eq(f.err.native_severity, 11);
  cr_assert_not_null(strstr(f.err.message, says), "%s", f.err.message);
  cr_assert_not_null(strstr(f.err.message, "no such database"), "%s",
                     f.err.message);
  cr_assert_eq(f.err.retry_after_ms, retry_after_ms);
  cr_assert_eq(connects(), 1);
}

Test(scenario_blocking,
     scenario_043_a_refusal_is_told_again_and_says_so,
     .timeout = 10) {
  static const char *const periods[] = {"auto", "always"};
  for (unsigned i = 0; i < 2; i++) {
    char settings[64];
    (void)snprintf(settings, sizeof settings, "Pool Blocking Period=%s",
                   periods[i]);
    open_with(NO_DATABASE, settings);
    expect_first_refusal();
    expect_replay("asked again in 1.0 s", 1000);
    fixture_advance(&f, S / 2);
    expect_replay("asked again in 0.5 s", 500);
    fixture_advance(&f, S / 2 - 1);
    expect_replay("asked again in 0.0 s", 1);
    fixture_advance(&f, 1);
    cr_assert_eq(acquire_now(), WEIR_OK, "%s", f.err.message);
    cr_assert_eq(connects(), 2);
    fixture_close(&f);
  }
}

/* Whoever is told it in a completion is told the same. */
Test(scenario_blocking,
     scenario_043_a_replay_reaches_submitted_ones,
     .timeout = 10) {
  open_with(NO_DATABASE, "");
  weir_h queue = queue_of(&f, 1);
  expect_first_refusal();
  (void)submit_waiting(&f, pool, FIXTURE_S, queue, 7);
  (void)take_one(&f, queue, 7, WEIR_E_FAIL);
  cr_assert_eq(f.err.native, 4060);
  cr_assert_not_null(strstr(f.err.message, "asked again in 1.0 s"), "%s",
                     f.err.message);
  cr_assert_eq(connects(), 1);
  fixture_close(&f);
}

Test(scenario_blocking, scenario_043_a_clear_ends_the_replay, .timeout = 10) {
  open_with(NO_DATABASE, "");
  expect_first_refusal();
  expect_replay("asked again", 1000);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(acquire_now(), WEIR_OK, "%s", f.err.message);
  fixture_close(&f);
}

Test(scenario_blocking,
     scenario_043_nothing_is_told_again_if_told_so,
     .timeout = 10) {
  open_with(NO_DATABASE, "Pool Blocking Period=never");
  expect_first_refusal();
  cr_assert_eq(acquire_now(), WEIR_OK, "%s", f.err.message);
  cr_assert_eq(connects(), 2);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 44 */

#define TICK     (S / 20)
#define EACH     5 /* acquires in a tick: 100 in a second */
#define REFUSALS 60

static const uint64_t bits = UINT64_C(12345678900000000000);

/* Callers come and are refused until a connect is begun; when that was. */
static uint64_t next_attempt(void) {
  uint64_t before = connects();
  for (;;) {
    for (unsigned i = 0; i < EACH; i++) {
      int rc = acquire_now();
      if (connects() != before) {
        return weir__clock_now();
      }
      cr_assert_eq(rc, WEIR_E_DOWN, "%s", f.err.message);
      cr_assert_leq(f.err.retry_after_ms, 10000);
    }
    fixture_advance(&f, TICK);
  }
}

/* SqlClient's 5, 10, 20, 40, 60 s belong to its presets; under direct it is the
 * breaker's pauses of 1 to 10 s, drawn anew each time.  One attempt at the end of
 * each however many callers there are, so the server is found again within 10 s of
 * its return; and the next outage begins with a first pause again. */
Test(scenario_blocking,
     scenario_044_a_blocking_period_stays_short,
     .timeout = 60) {
  uint64_t pause = 0;
  weir_h lease = 0;
  fixture_open_virtual(&f);
  virtual_clock_random(bits);
  pool = fixture_pool(&f,
                      "Max Pool Size=5;Pool Blocking Period=always;Mock Script "
                      "Text=\"connect 1-%d: fail endpoint network 'down'; "
                      "connect %d: fail endpoint network 'down again'\"",
                      REFUSALS, REFUSALS + 2);
  uint64_t begun = next_attempt();
  uint64_t last = begun;
  for (unsigned i = 1; i < REFUSALS; i++) {
    pause = weir__breaker_delay(pause, bits);
    uint64_t at = next_attempt();
    cr_assert_leq(pause, 10 * S);
    cr_assert_geq(at - last, pause, "attempt %u is early", i);
    cr_assert_lt(at - last, pause + TICK, "attempt %u is late", i);
    last = at;
  }
  cr_assert_gt(last - begun, 300 * S); /* five minutes */
  cr_assert_gt(pause, 5 * S);          /* and the pauses had grown */
  cr_assert_leq(next_attempt() - last, 10 * S + TICK);
  cr_assert_eq(fixture_stats(pool).breaker, WEIR_BREAKER_RAMP);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(connects(), REFUSALS + 1);
  cr_assert_eq(acquire_now(), WEIR_E_FAIL);
  cr_assert_eq(fixture_stats(pool).breaker, WEIR_BREAKER_OPEN);
  last = weir__clock_now();
  uint64_t at = next_attempt();
  cr_assert_geq(at - last, weir__breaker_delay(0, bits));
  cr_assert_lt(at - last, weir__breaker_delay(0, bits) + TICK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 45 */

static void wait_three(void) {
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&many[i], pool, 60 * FIXTURE_S);
  }
  AWAIT_STAT(pool, waiters, 3);
  AWAIT_COUNT(&f, hung, 1);
}

Test(scenario_blocking,
     scenario_045_waiters_are_told_that_the_database_is_gone,
     .timeout = 10) {
  open_with("connect: hang, fail config config native 4060 'it was dropped'",
            "Max Concurrent Connects=1");
  wait_three();
  (void)f.mock->release_hung(f.drv, 0);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    cr_assert_eq(many[i].err.native, 4060);
    cr_assert_not_null(strstr(many[i].err.message, "it was dropped"));
    cr_assert_eq(many[i].ended, VIRTUAL_CLOCK_START); /* at once */
  }
  cr_assert_eq(connects(), 1);
  fixture_close(&f);
}

/* What may mend by itself is tried again until somebody is served. */
Test(scenario_blocking,
     scenario_045_waiters_wait_for_what_may_mend,
     .timeout = 10) {
  open_with("connect 1: hang, fail endpoint network 'not now'; connect 2-4: "
            "fail endpoint network 'not now'",
            "Max Concurrent Connects=1");
  wait_three();
  (void)f.mock->release_hung(f.drv, 0);
  for (unsigned i = 1; i <= 4; i++) {
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], i);
    AWAIT_STAT(pool, connecting, 0);
    cr_assert_eq(fixture_stats(pool).waiters, 3);
    fixture_sync(&f);
    fixture_advance(&f, S);
  }
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
    cr_assert_eq(many[i].ended, VIRTUAL_CLOCK_START + 4 * S);
  }
  fixture_close(&f);
}
