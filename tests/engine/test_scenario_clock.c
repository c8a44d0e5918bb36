/* SPDX-License-Identifier: MIT */
/* Scenarios 191 and 193: the largest times, and times that are over.  (189 is in
 * test_tend.c.) */
#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "settings.h"
#include "sys/clock.h"
#include "virtual_clock.h"

#define S    ((uint64_t)FIXTURE_S)
#define YEAR (UINT64_C(31556952) * S)
#define AGES (UINT64_C(2147483647) * S) /* the largest of most limits */

static struct fixture f;

/* -------------------------------------------------------------- scenario 191 */

/* Numbers at which arithmetic of 32 bits, or of milliseconds and microseconds in
 * them, goes wrong. */
static const char *const numbers[] = {
    "0",
    "1",
    "3600",
    "3601",
    "4294",    /* seconds: 2^32 us */
    "2147483", /* seconds: 2^31 ms */
    "4294967", /* seconds: 2^32 ms */
    "4294968",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9223372036", /* seconds: 2^63 ns */
    "9223372037",
    "18446744073", /* seconds: 2^64 ns */
    "18446744074",
    "9223372036854775807",
    "18446744073709551615",
    "18446744073709551616",
    "18446744073709551617",
};

/* As the documentation says: in its range a value is what was written, 0 may mean
 * never, and what is beyond is refused. */
static void check_time(const struct weir__setting *row, const char *number) {
  struct weir__settings s;
  struct weir_error err = {.struct_size = sizeof err};
  uint64_t ns = UINT64_MAX;
  uint64_t found = 0;
  unsigned long long n = strtoull(number, NULL, 10);
  bool fits = strlen(number) < 20 && n <= row->max / S;
  weir__settings_init(&s);
  int rc = weir__settings_set(&s, row, number, strlen(number), 1, &err);
  memcpy(&found, (const char *)&s + row->offset, sizeof found);
  if (fits) {
    bool never = n == 0 && (row->flags & WEIR_SETTING_ZERO_OFF) != 0;
    ns = never ? WEIR_NEVER : n * S;
    cr_assert_eq(rc, WEIR_OK, "%s=%s: %s", row->name, number, err.message);
    cr_assert_eq(found, ns, "%s=%s is %" PRIu64, row->name, number, found);
  } else {
    cr_assert_eq(rc, WEIR_E_ARG, "%s=%s", row->name, number);
    cr_assert_not_null(strstr(err.message, row->name), "%s", err.message);
    cr_assert_not_null(
        strstr(err.message, row->min == 0 ? "from 0 to" : ", or 0"), "%s",
        err.message);
  }
}

Test(scenario_clock,
     scenario_191_every_time_is_what_was_written,
     .timeout = 5) {
  uint32_t n = 0;
  unsigned seen = 0;
  const struct weir__setting *table = weir__settings_table(&n);
  for (uint32_t i = 0; i < n; i++) {
    if (table[i].type == WEIR_SETTING_TIME &&
        (table[i].flags & WEIR_SETTING_BUILT) != 0) {
      for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        check_time(&table[i], numbers[k]);
      }
      seen++;
    }
  }
  cr_assert_geq(seen, 7);
}

Test(scenario_clock, scenario_191_infinite_is_written_0, .timeout = 5) {
  static const char *const words[] = {"infinite", "inf", "never", "-1", ""};
  fixture_open(&f);
  for (unsigned i = 0; i < 5; i++) {
    char text[96];
    weir_h pool = 0;
    (void)snprintf(text, sizeof text, "Driver=mock;Connect Timeout=%s",
                   words[i]);
    int rc = weir_pool_open(f.engine, text, strlen(text), &pool, &f.err);
    if (words[i][0] == '\0') { /* not given */
      cr_assert_eq(rc, WEIR_OK);
    } else {
      cr_assert_eq(rc, WEIR_E_ARG, "%s", words[i]);
      cr_assert_not_null(strstr(f.err.message, "Connect Timeout"));
    }
  }
  fixture_close(&f);
}

#define LARGEST                                                       \
  "Connect Timeout=2147483647;Command Timeout=2147483647;"            \
  "Connection Lifetime=2147483647;Lifetime Jitter=0;"                 \
  "Connection Idle Timeout=2147483647;Keepalive Interval=2147483647;" \
  "Close Timeout=3600;Probe Window=3600"

/* For thirty years nothing is late, old or idle too long. */
Test(scenario_clock,
     scenario_191_the_largest_limits_end_nothing,
     .timeout = 10) {
  struct acquirer a;
  struct runner r;
  fixture_open_virtual(&f);
  weir_h busy = fixture_pool(&f, "Database=busy;Max Pool Size=1;" LARGEST);
  weir_h quiet = fixture_pool(&f, "Database=quiet;Max Pool Size=1;" LARGEST);
  weir_h lease = fixture_acquire(&f, busy);
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&a, busy, WEIR_TIMEOUT_POOL);
  AWAIT_STAT(busy, waiters, 1);
  cr_assert_eq(weir_release(fixture_acquire(&f, quiet)), WEIR_OK);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  fixture_sync(&f);
  for (unsigned i = 0; i < 30; i++) {
    fixture_advance(&f, YEAR);
  }
  cr_assert_eq(fixture_stats(busy).waiters, 1);
  cr_assert_eq(fixture_stats(busy).timeouts, 0);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 0);
  cr_assert_eq(fixture_stats(quiet).idle, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_PING], 0);
  cr_assert_eq(fixture_counts(&f).sessions_live, 2);
  /* And yet they are limits. */
  fixture_advance(&f, AGES - 30 * YEAR - 1);
  cr_assert_eq(fixture_stats(busy).waiters, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 0);
  fixture_advance(&f, 1);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_eq(a.ended, VIRTUAL_CLOCK_START + AGES);
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  AWAIT_STAT(quiet, idle, 0);
  fixture_close(&f);
}

/* The time-out of one call has no range: it ends when it says, or never. */
Test(scenario_clock, scenario_191_the_longest_wait_is_long, .timeout = 10) {
  static const int64_t spans[] = {1, INT64_C(4294967296000), INT64_MAX - 1,
                                  INT64_MAX};
  struct acquirer a[4];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < 4; i++) {
    acquirer_start(&a[i], pool, spans[i]);
    AWAIT_STAT(pool, waiters, i + 1);
  }
  cr_assert_eq(virtual_clock_wait_parked(4), 0);
  fixture_advance(&f, 1);
  cr_assert_eq(acquirer_join(&a[0]), WEIR_E_TIMEOUT);
  fixture_advance(&f, UINT64_C(4294967295999));
  cr_assert_eq(acquirer_join(&a[1]), WEIR_E_TIMEOUT);
  cr_assert_eq(a[1].ended, VIRTUAL_CLOCK_START + UINT64_C(4294967296000));
  fixture_advance(&f, 200 * YEAR);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  fixture_advance(&f, (uint64_t)INT64_MAX - 200 * YEAR);
  cr_assert_eq(acquirer_join(&a[2]), WEIR_E_TIMEOUT);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&a[3]), WEIR_OK);
  fixture_close(&f);
}

/* And the shortest is short, not none. */
Test(scenario_clock, scenario_191_the_shortest_limits_hold, .timeout = 10) {
  struct acquirer a;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connect Timeout=1ns;"
                                 "Connection Idle Timeout=1ns;Probe Window=1ns;"
                                 "Connection Lifetime=1ns;Close Timeout=1ns;"
                                 "Mock Connect Delay=1ms");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  AWAIT_COUNT(&f, connects_running, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 1);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_eq(a.ended, VIRTUAL_CLOCK_START + 1);
  fixture_sync(&f);
  fixture_advance(&f, S);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* -------------------------------------------------------------- scenario 193 */

static struct weir_error refusal(weir_h pool) {
  struct weir_error err = {.struct_size = sizeof err};
  weir_h lease = 0;
  cr_assert_neq(weir_acquire(pool, FIXTURE_S, &lease, &err), WEIR_OK);
  return err;
}

/* How long the server is left alone, told just before, at, and after its end:
 * what is over is 0, and the next user asks the server. */
Test(scenario_clock, scenario_193_what_is_over_is_0, .timeout = 10) {
  struct acquirer a;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2;Pool Blocking Period=always;"
                                 "Mock Script Text=\"connect 1: fail endpoint "
                                 "network 'down'; connect 2: hang\"");
  (void)refusal(pool);
  cr_assert_eq(refusal(pool).retry_after_ms, 1000);
  fixture_advance(&f, S - 1);
  cr_assert_eq(refusal(pool).retry_after_ms, 1);
  fixture_advance(&f, 1);
  acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  for (unsigned i = 0; i < 3; i++) {
    struct weir_error err = refusal(pool);
    cr_assert_eq(err.code, WEIR_E_DOWN);
    cr_assert_eq(err.retry_after_ms, 0);
    cr_assert_not_null(strstr(err.message, "tried now"), "%s", err.message);
    fixture_advance(&f, 4 * S);
  }
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  fixture_close(&f);
}

/* The same long after, with nobody there at the end itself. */
Test(scenario_clock, scenario_193_what_is_long_over_is_over, .timeout = 10) {
  static const char *const scripts[] = {"fail endpoint network 'down'",
                                        "fail config auth 'wrong'"};
  for (unsigned i = 0; i < 2; i++) {
    weir_h lease = 0;
    fixture_open_virtual(&f);
    weir_h pool = fixture_pool(&f,
                               "Max Pool Size=2;Pool Blocking Period=always;"
                               "Mock Script Text=\"connect 1: %s\"",
                               scripts[i]);
    (void)refusal(pool);
    fixture_advance(&f, YEAR);
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_OK, "%s",
                 f.err.message);
    fixture_close(&f);
  }
}

/* A loop that looks late is told that something is due, not when it was. */
Test(scenario_clock, scenario_193_a_late_turn_is_due_now, .timeout = 10) {
  int64_t due = -1;
  fixture_open_foreign_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2;Connection Idle Timeout=60");
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  for (unsigned i = 0; i < 40; i++) {
    virtual_clock_advance(i % 4 == 0 ? 0 : i * S);
    cr_assert_eq(weir_engine_turn(f.engine, &due, &f.err), WEIR_OK);
    cr_assert(due == WEIR_TIMEOUT_NEVER || (due >= 0 && due <= 60 * FIXTURE_S),
              "%" PRId64, due);
  }
  cr_assert_eq(fixture_stats(pool).empty, 2);
  cr_assert_eq(fixture_stats(pool).oldest_wait_ns, 0);
  fixture_close(&f);
}
