/* SPDX-License-Identifier: MIT */
/* Connects that fail or never end, dead-locks and starvation: ways in which
 * pools fail, by number. */
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "virtual_clock.h"

#define S    ((uint64_t)FIXTURE_S)
#define MS   ((uint64_t)FIXTURE_MS)
#define DOWN "fail endpoint network 'nobody home'"

static struct fixture f;
static weir_h pool;
static struct acquirer many[10];

/* 27: two places, a server that is not there, ten callers.  Each hears of it,
 * whether each asks for itself or the first who fails tells all. */
static void ten_hear_of_it(const char *period) {
  uint64_t begun = 0;
  fixture_open_virtual(&f);
  pool = fixture_pool(&f,
                      "Max Pool Size=2;Pool Blocking Period=%s;"
                      "Mock Script Text=\"connect: delay 50ms, " DOWN "\"",
                      period);
  for (unsigned i = 0; i < 10; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 10);
  while (fixture_stats(pool).waiters != 0) {
    begun = fixture_stats(pool).connects_failed;
    AWAIT_STAT(pool, connecting, 2);
    cr_assert_eq(virtual_clock_wait_parked((unsigned)(10 - begun)), 0);
    fixture_advance(&f, 50 * MS);
    uint32_t left =
        strcmp(period, "never") == 0 ? (uint32_t)(10 - begun - 2) : 0;
    AWAIT_STAT(pool, waiters, left);
  }
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    cr_assert_not_null(strstr(many[i].err.message, "nobody home"));
  }
  AWAIT_STAT(pool, empty, 2);
  fixture_close(&f);
}

Test(scenario, scenario_027_failed_connects_wake_the_next, .timeout = 20) {
  ten_hear_of_it("never");
}

Test(scenario, scenario_027_one_failure_is_told_to_all, .timeout = 20) {
  ten_hear_of_it("always");
}

/* 28: each fifth connect hangs for ever.  It ends at the limit, and its place
 * is free again. */
Test(scenario,
     scenario_028_a_connect_without_end_costs_no_place,
     .timeout = 30) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=3;Connect Timeout=1;"
                          "Pool Blocking Period=never;"
                          "Mock Script Text=\"connect every 5: hang\"");
  for (unsigned i = 1; i <= 100; i++) {
    acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
    if (i % 5 == 0) {
      AWAIT_COUNT(&f, hung, 1);
      cr_assert_eq(virtual_clock_wait_parked(1), 0);
      fixture_advance(&f, S);
      cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
    } else {
      cr_assert_eq(acquirer_join(&many[0]), WEIR_OK, "%u: %s", i,
                   many[0].err.message);
      cr_assert_eq(weir_discard(many[0].lease), WEIR_OK);
    }
    AWAIT_STAT(pool, empty, 3);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 0);
  }
  cr_assert_eq(fixture_stats(pool).connects_failed, 20);
  cr_assert_eq(fixture_counts(&f).sessions_live, 0);
  for (unsigned i = 0; i < 3; i++) {
    (void)fixture_acquire(&f, pool);
  }
  fixture_close(&f);
}

/* 31: connects fail at once.  Attempts are spaced while somebody waits, and
 * there are none once the pool has closed. */
static uint64_t attempts(const char *settings, const char *failure) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "%s;Mock Script Text=\"connect: %s\"", settings,
                      failure);
  acquirer_start(&many[0], pool, 5 * FIXTURE_S);
  acquirer_settle(&many[0], 1);
  fixture_sync(&f);
  for (unsigned i = 0; i < 50; i++) {
    fixture_advance(&f, 100 * MS);
  }
  int rc = acquirer_join(&many[0]);
  cr_assert(rc == WEIR_E_TIMEOUT || rc == WEIR_E_FAIL);
  AWAIT_STAT(pool, connecting, 0);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  AWAIT_COUNT(&f, conns_live, 0);
  uint64_t begun = fixture_counts(&f).calls[MOCK_CONNECT];
  for (unsigned i = 0; i < 12; i++) {
    fixture_advance(&f, 5 * S);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], begun);
  fixture_close(&f);
  return begun;
}

Test(scenario, scenario_031_refused_connects_are_spaced, .timeout = 20) {
  static const char *const settings[] = {"Max Pool Size=5",
                                         "Min Pool Size=3;Max Pool Size=5"};
  static const char *const failures[] = {DOWN, "fail config auth 'no'",
                                         "fail conn network 'reset'"};
  for (unsigned i = 0; i < 2; i++) {
    for (unsigned k = 0; k < 3; k++) {
      uint64_t n = attempts(settings[i], failures[k]);
      cr_assert_geq(n, 1);
      cr_assert_leq(n, 50, "%s, %s: %u", settings[i], failures[k], (unsigned)n);
    }
  }
}

/* 32: connects that leave through a way that there is none for.  (test_nomem.c
 * has every allocation fail.) */
Test(scenario, scenario_032_a_faulty_driver_costs_no_place, .timeout = 20) {
  static const char *const ways[] = {
      "connect tells outputs", "connect tells columns", "connect tells rows",
      "connect not usable"};
  for (unsigned i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    fixture_open(&f);
    pool = fixture_rogue_pool(&f, "%s;Pool Blocking Period=never", ways[i]);
    for (unsigned k = 0; k < 3; k++) {
      acquirer_start(&many[k], pool, 5 * FIXTURE_S);
    }
    for (unsigned k = 0; k < 3; k++) {
      int rc = acquirer_join(&many[k]);
      cr_assert_eq(rc, WEIR_E_FAIL, "%s: %s", ways[i], many[k].err.message);
    }
    AWAIT_STAT(pool, empty, 1);
    cr_assert_eq(fixture_stats(pool).waiters, 0);
    cr_assert_eq(fixture_stats(pool).connects_failed, 3);
    fixture_close(&f);
  }
}

/* The same where the driver is at fault without breaking its contract: the
 * place goes to the next in line. */
Test(scenario, scenario_032_a_failed_allocation_costs_no_place, .timeout = 10) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Max Pool Size=1;Pool Blocking Period=never;"
                          "Mock Script Text=\"connect 1-3: hang, "
                          "fail conn resource 'out of memory'\"");
  for (unsigned i = 0; i < 4; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, i + 1);
    AWAIT_COUNT(&f, hung, 1);
  }
  for (unsigned i = 0; i < 3; i++) {
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
  }
  cr_assert_eq(acquirer_join(&many[3]), WEIR_OK);
  fixture_close(&f);
}

/* 36: there are no callbacks in this interface.  What a program does in the
 * middle of a connect is answer a request for a credential, on a thread of its
 * own: it may call anything, and holds up nobody but that connect. */
Test(scenario, scenario_036_a_program_may_call_back, .timeout = 10) {
  struct weir_credential_request r = {.struct_size = sizeof r};
  weir_h credential = 0;
  weir_h lease = 0;
  fixture_open(&f);
  cr_assert_eq(weir_credential_open(f.engine, &credential, &f.err), WEIR_OK);
  pool = fixture_pool(
      &f, "Max Pool Size=2;Mock Bearer=true;Credential=%" PRIu64, credential);
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_credential_next(credential, 5 * FIXTURE_S, &r, &f.err),
               WEIR_OK);
  cr_assert_eq(weir_credential_answer(r.request, "t", 1, 0, NULL), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_credential_next(credential, 5 * FIXTURE_S, &r, &f.err),
               WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connecting, 1);
  cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_E_TIMEOUT);
  /* The other borrower works on. */
  cr_assert_eq(fixture_run(&f, many[0].lease, "count 1"), WEIR_OK);
  cr_assert_eq(weir_credential_answer(r.request, "t", 1, 0, NULL), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(weir_release(many[1].lease), WEIR_OK);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(weir_release(many[0].lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 2);
  cr_assert_eq(weir_credential_close(credential), WEIR_OK);
  fixture_close(&f);
}

/* 37: an outage of any length, with the longest pauses that are drawn.  Callers
 * come one after the other, each for 12 s, until n attempts have failed; the
 * pool goes on trying for each. */
static void outlive(unsigned n) {
  fixture_open_virtual(&f);
  virtual_clock_random(UINT64_MAX);
  pool = fixture_pool(
      &f, "Max Pool Size=3;Mock Script Text=\"connect 1-%u: " DOWN "\"", n);
  while (fixture_stats(pool).connects_failed < n) {
    uint64_t before = fixture_stats(pool).connects_failed;
    acquirer_start(&many[0], pool, 12 * FIXTURE_S);
    AWAIT_STAT(pool, waiters, 1);
    for (unsigned i = 0; i < 2; i++) {
      fixture_sync(&f);
      AWAIT_STAT(pool, connecting, 0);
      fixture_advance(&f, i == 0 ? 10 * S : 2 * S);
    }
    (void)acquirer_join(&many[0]);
    AWAIT_STAT(pool, connecting, 0);
    cr_assert_gt(fixture_stats(pool).connects_begun, before);
  }
}

/* Callers go on after the end of the outage. */
Test(scenario, scenario_037_recovers_within_a_pause, .timeout = 60) {
  static const unsigned failures[] = {6, 60, 600};
  for (unsigned i = 0; i < 3; i++) {
    outlive(failures[i]);
    acquirer_start(&many[0], pool, 12 * FIXTURE_S);
    acquirer_settle(&many[0], 1);
    fixture_sync(&f);
    fixture_advance(&f, 10 * S);
    cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
    fixture_close(&f);
  }
}

/* Nobody asks for a day, and nothing is tried: the first is served. */
Test(scenario, scenario_037_recovers_after_a_day_of_silence, .timeout = 20) {
  outlive(20);
  uint64_t begun = fixture_stats(pool).connects_begun;
  for (unsigned i = 0; i < 24; i++) {
    fixture_advance(&f, 3600 * S);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, begun);
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  fixture_close(&f);
}
