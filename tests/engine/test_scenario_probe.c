/* SPDX-License-Identifier: MIT */
/* Scenario 84: what it costs to know that a connection lives.  (85 is in
 * test_keepalive.c, 81 and 82 need a wire: check_silence.c.) */
#include <stddef.h>

#include <criterion/criterion.h>

#include "fixture.h"

#define S ((uint64_t)FIXTURE_S)

static struct fixture f;

static void use(weir_h pool, unsigned times) {
  for (unsigned i = 0; i < times; i++) {
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  }
}

/* Round trips: what a ping, a reset or a statement would be. */
static uint64_t round_trips(void) {
  struct mock_counts c = fixture_counts(&f);
  return c.calls[MOCK_PING] + c.calls[MOCK_RESET] + c.calls[MOCK_EXEC];
}

/* A thousand uses at full speed look once at most.  After two seconds of idleness
 * the driver is asked once what its socket says; that is no round trip, whatever
 * one would take. */
Test(scenario_probe, scenario_084_a_use_pays_for_no_probe, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Mock Idle Watch=false;"
                                 "Mock Script Text='ping: delay 5ms'");
  use(pool, 1);
  uint64_t before = fixture_counts(&f).calls[MOCK_HEALTH];
  use(pool, 1000);
  cr_assert_leq(fixture_counts(&f).calls[MOCK_HEALTH] - before, 1);
  for (unsigned i = 0; i < 3; i++) {
    fixture_sync(&f);
    fixture_advance(&f, 2 * S);
    before = fixture_counts(&f).calls[MOCK_HEALTH];
    use(pool, 100);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH] - before, 1);
  }
  cr_assert_eq(round_trips(), 0);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

/* With a descriptor to watch not even that: the connection is known to live. */
Test(scenario_probe, scenario_084_a_watched_one_needs_no_look, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Probe Window=1 h");
  use(pool, 1);
  fixture_sync(&f);
  for (unsigned i = 0; i < 100; i++) {
    fixture_advance(&f, 2 * S);
    use(pool, 10);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], 0);
  cr_assert_eq(round_trips(), 0);
  fixture_close(&f);
}
