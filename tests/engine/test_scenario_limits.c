/* SPDX-License-Identifier: MIT */
/* Scenarios 52, 53, 57 and 61: how many connections a pool has. */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "virtual_clock.h"

#define MS ((uint64_t)FIXTURE_MS)
#define S  ((uint64_t)FIXTURE_S)

static struct fixture f;
static struct acquirer many[50];

/* -------------------------------------------------------------- scenario 52 */

/* A session is given up every 50 ms, and the server needs 2 s to end each.  A
 * place is not free before that, so there are never more than ten. */
Test(scenario_limits,
     scenario_052_a_place_is_taken_until_its_session_has_ended,
     .timeout = 60) {
  uint64_t done = 0;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=10;Close Timeout=3;"
                                 "Mock Script Text=\"logout: delay 2s\"");
  for (unsigned tick = 0; tick < 200; tick++) {
    if (fixture_stats(pool).closing < 10) { /* who waits would cut one off */
      weir_h lease = fixture_acquire(&f, pool);
      cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
      cr_assert_eq(weir_discard(lease), WEIR_OK);
      done++;
    }
    AWAIT_COUNT(&f, calls[MOCK_LOGOUT], done);
    cr_assert_eq(fixture_stats(pool).closing, fixture_counts(&f).sessions_live);
    fixture_advance(&f, 50 * MS);
  }
  cr_assert_geq(done, 45); /* ten each 2 s: none is lost either */
  cr_assert_leq(done, 50);
  cr_assert_eq(fixture_counts(&f).sessions_max, 10);
  fixture_close(&f);
}

/* A statement that ran out of time, and whose server does not answer: its place is
 * its own for the whole grace. */
Test(scenario_limits,
     scenario_052_a_cancelled_statement_keeps_its_place,
     .timeout = 10) {
  struct runner r;
  struct acquirer next;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Command Timeout=3;"
                                 "Mock Script Text=\"cancel: hang\"");
  weir_h lease = fixture_acquire(&f, pool);
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&next, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  fixture_advance(&f, 3 * S);
  AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
  fixture_sync(&f);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  fixture_advance(&f, 2 * S - 1);
  cr_assert_eq(fixture_stats(pool).leased, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_advance(&f, 1);
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&next), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).sessions_max, 1);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 53 */

static void burst(weir_h pool, unsigned n) {
  weir_h leases[5];
  for (unsigned i = 0; i < n; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < n; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
}

static void idle_for(uint64_t step, unsigned n) {
  fixture_sync(&f);
  for (unsigned i = 0; i < n; i++) {
    fixture_advance(&f, step);
  }
}

/* A hundred bursts, each trimmed to nothing, and then fifty callers. */
Test(scenario_limits,
     scenario_053_trimming_gives_no_permits_away,
     .timeout = 60) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=5;Connection Idle Timeout=1");
  for (unsigned round = 0; round < 100; round++) {
    burst(pool, 5);
    idle_for(S / 5, 10);
    AWAIT_STAT(pool, empty, 5);
  }
  for (unsigned i = 0; i < 50; i++) {
    acquirer_start(&many[i], pool, FIXTURE_S);
  }
  AWAIT_STAT(pool, leased, 5);
  AWAIT_STAT(pool, waiters, 45);
  cr_assert_eq(virtual_clock_wait_parked(45), 0);
  cr_assert_eq(fixture_counts(&f).sessions_live, 5);
  fixture_advance(&f, S);
  unsigned served = 0;
  for (unsigned i = 0; i < 50; i++) {
    int rc = acquirer_join(&many[i]);
    cr_assert(rc == WEIR_OK || rc == WEIR_E_TIMEOUT, "%s", many[i].err.message);
    served += rc == WEIR_OK;
  }
  cr_assert_eq(served, 5);
  cr_assert_eq(fixture_counts(&f).sessions_max, 5);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 57 */

/* What is no pair of sizes is refused with the name of what is wrong, before
 * anything is opened; what is one makes a pool that serves. */
static const struct {
  const char *min;
  const char *max;
  const char *says; /* NULL: it is fine */
} sizes[] = {
    {"0", "1", NULL},
    {"1", "1", NULL},
    {"2", "5", NULL},
    {"0", "131072", NULL},
    {"5", "2", "\"Min Pool Size\" must not exceed \"Max Pool Size\""},
    {"101", "", "\"Min Pool Size\" must not exceed \"Max Pool Size\""},
    {"0", "0", "\"Max Pool Size\""},
    {"1", "131073", "\"Max Pool Size\""},
    {"1", "2147483647", "\"Max Pool Size\""},
    {"1", "2147483648", "\"Max Pool Size\""},
    {"1", "4294967297", "\"Max Pool Size\""},
    {"1", "18446744073709551617", "\"Max Pool Size\""},
    {"-1", "10", "\"Min Pool Size\""},
    {"1", "-10", "\"Max Pool Size\""},
    {"4294967296", "10", "\"Min Pool Size\""},
    {"many", "10", "\"Min Pool Size\""},
    {"1", "ten", "\"Max Pool Size\""},
    {"1.5", "10", "\"Min Pool Size\""},
    {"1 0", "10", "\"Min Pool Size\""},
    {"0x1", "10", "\"Min Pool Size\""},
    {"", "10", NULL},
};

static void check_sizes(size_t i) {
  char text[160];
  weir_h pool = 0;
  weir_h lease = 0;
  (void)snprintf(text, sizeof text,
                 "Driver=mock;Mock Strict=true;Database=d%zu;"
                 "Min Pool Size=%s;Max Pool Size=%s",
                 i, sizes[i].min, sizes[i].max);
  int rc = weir_pool_open(f.engine, text, strlen(text), &pool, &f.err);
  if (sizes[i].says == NULL) {
    cr_assert_eq(rc, WEIR_OK, "%s: %s", text, f.err.message);
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_OK);
    cr_assert_eq(weir_release(lease), WEIR_OK);
  } else {
    cr_assert_eq(rc, WEIR_E_ARG, "%s", text);
    cr_assert_eq(f.err.phase, WEIR_PHASE_PARSE);
    cr_assert_not_null(strstr(f.err.message, sizes[i].says), "%s: %s", text,
                       f.err.message);
  }
}

Test(scenario_limits,
     scenario_057_sizes_that_cannot_be_are_refused,
     .timeout = 10) {
  fixture_open(&f);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    check_sizes(i);
  }
  fixture_close(&f);
}

/* A pool that is open is as careful. */
Test(scenario_limits, scenario_057_sizes_are_refused_later_too, .timeout = 10) {
  static const struct {
    uint32_t min;
    uint32_t max;
  } bad[] = {{5, 2}, {0, 0}, {1, 131073}, {UINT32_MAX, UINT32_MAX}};
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=3");
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    cr_assert_eq(weir_pool_resize(pool, bad[i].min, bad[i].max, &f.err),
                 WEIR_E_ARG, "%u, %u", bad[i].min, bad[i].max);
    cr_assert_neq(f.err.message[0], '\0');
  }
  cr_assert_eq(fixture_stats(pool).max_size, 3);
  cr_assert_eq(fixture_stats(pool).min_size, 0);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 61 */

/* Nothing is opened for a minimum of none; what waits is reason enough. */
Test(scenario_limits,
     scenario_061_who_waits_gets_a_connection_for_a_dead_one,
     .timeout = 10) {
  struct acquirer a[6];
  weir_h held[2];
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=0;Max Pool Size=2");
  held[0] = fixture_acquire(&f, pool);
  held[1] = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < 6; i++) {
    acquirer_start(&a[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, i + 1);
  }
  for (unsigned i = 0; i < 6; i++) {
    cr_assert_neq(fixture_run(&f, held[i % 2], "kill"), WEIR_OK);
    cr_assert_eq(weir_release(held[i % 2]), WEIR_OK);
    cr_assert_eq(acquirer_join(&a[i]), WEIR_OK, "%u: %s", i, a[i].err.message);
    held[i % 2] = a[i].lease;
  }
  cr_assert_eq(fixture_counts(&f).sessions_max, 2);
  cr_assert_eq(fixture_stats(pool).connects_begun, 8);
  fixture_close(&f);
}
