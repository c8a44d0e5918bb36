/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "breaker.h"
#include "engine.h"
#include "fixture.h"
#include "handle.h"
#include "pool.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;

static uint64_t wakes(void) {
  const struct weir__engine *e = weir__handle_find(f.engine, WEIR_TYPE_ENGINE);
  return weir__reactor_wakes(e->reactor);
}

Test(tend, fills_a_pool_two_at_a_time, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=7;Max Pool Size=10;"
                                 "Mock Script Text=\"connect: hang\"");
  for (uint32_t ready = 0; ready < 7; ready++) {
    AWAIT_COUNT(&f, hung, ready < 6 ? 2 : 1);
    cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
    AWAIT_STAT(pool, idle, ready + 1);
  }
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).connects_max, 2);
  cr_assert_eq(fixture_stats(pool).connects_begun, 7);
  fixture_close(&f);
}

Test(tend, opens_nothing_before_the_first_acquire_when_lazy, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Min Pool Size=3;Max Pool Size=5;Startup=lazy");
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 0);
  (void)fixture_acquire(&f, pool);
  AWAIT_STAT(pool, idle, 2);
  fixture_close(&f);
}

/* Scenario 56. */
Test(tend, serves_from_a_pool_that_was_filled_to_its_maximum, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=4;Max Pool Size=4");
  weir_h lease = 0;
  AWAIT_STAT(pool, idle, 4);
  fixture_sync(&f); /* an idle one is found a moment later */
  for (unsigned i = 0; i < 4; i++) {
    cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_OK);
  }
  cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).connects_begun, 4);
  fixture_close(&f);
}

Test(tend, fills_up_again_what_was_discarded, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=4");
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
  AWAIT_STAT(pool, idle, 2);
  AWAIT_STAT(pool, empty, 2);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  fixture_close(&f);
}

/* An administrator who wants to drop the database has a second in which the
 * server has no session of the pool; clear does not wait, but its end shows. */
Test(tend, scenario_197_leaves_the_server_alone_after_a_clear, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=5;Max Pool Size=8");
  for (unsigned round = 1; round <= 3; round++) {
    AWAIT_STAT(pool, idle, 5);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).idle, 0);
    AWAIT_STAT(pool, empty, 8);
    cr_assert_eq(fixture_counts(&f).sessions_live, 0);
    fixture_sync(&f);
    fixture_advance(&f, SECOND - 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, 5 * (uint64_t)round);
    cr_assert_eq(fixture_stats(pool).empty, 8);
    fixture_advance(&f, 1);
  }
  AWAIT_STAT(pool, idle, 5);
  fixture_close(&f);
}

/* The pause is Min Pool Size's alone. */
Test(tend, opens_for_a_caller_right_after_a_clear, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=4");
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* Scenario 37: after failures it tries again, with pauses as the breaker draws its
 * own, for as long as it takes. */
Test(tend, tries_again_after_failures_with_drawn_pauses, .timeout = 10) {
  static const uint64_t bits = UINT64_C(12345678900000000); /* no first pause */
  uint64_t pause = 0;
  fixture_open_virtual(&f);
  virtual_clock_random(bits);
  weir_h pool = fixture_pool(
      &f, "Min Pool Size=1;Max Pool Size=1;Pool Blocking Period=never;"
          "Mock Script Text=\"connect 1-6: fail endpoint network 'down'\"");
  for (uint32_t i = 0; i < 6; i++) {
    pause = weir__breaker_delay(pause, bits);
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], i + 1);
    AWAIT_STAT(pool, empty, 1);
    fixture_sync(&f);
    fixture_advance(&f, pause - 1);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], i + 1,
                 "too early after failure %u", i + 1);
    fixture_advance(&f, 1);
  }
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

Test(tend,
     retires_what_lies_idle_too_long_but_not_below_the_minimum,
     .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=6;"
                                 "Connection Idle Timeout=60");
  weir_h leases[5];
  AWAIT_STAT(pool, idle, 2);
  for (unsigned i = 0; i < 5; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  fixture_advance(&f, 10 * SECOND);
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  fixture_sync(&f);
  for (unsigned i = 0; i < 5; i++) {
    fixture_advance(&f, 10 * SECOND);
    cr_assert_eq(fixture_stats(pool).idle, 5, "after %u s", 10 * (i + 1));
  }
  for (unsigned i = 0; i < 7; i++) {
    fixture_advance(&f, 10 * SECOND);
  }
  AWAIT_STAT(pool, empty, 4);
  cr_assert_eq(fixture_stats(pool).idle, 2);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 5);
  fixture_advance(&f, 3600 * SECOND);
  cr_assert_eq(fixture_stats(pool).idle, 2);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 5);
  fixture_close(&f);
}

/* Also those of the minimum grow old, and are replaced. */
Test(tend, retires_what_has_lived_its_time, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Min Pool Size=1;Max Pool Size=2;Connection Lifetime=100");
  AWAIT_STAT(pool, idle, 1);
  weir_h lease = fixture_acquire(&f, pool);
  weir_h other = fixture_acquire(&f, pool);
  int64_t first = fixture_number(&f, lease, "session", 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_sync(&f);
  fixture_advance(&f, 101 * SECOND);
  /* One idle, one leased: the leased one goes when it comes back. */
  AWAIT_COUNT(&f, conns_live, 1);
  cr_assert_eq(weir_release(other), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  AWAIT_STAT(pool, empty, 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_gt(fixture_number(&f, lease, "session", 0), first);
  fixture_close(&f);
}

/* Scenario 53: trimming does not move the limit. */
Test(tend, keeps_the_maximum_through_a_hundred_trims, .timeout = 30) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=5;Connection Idle Timeout=1");
  weir_h leases[5];
  for (unsigned round = 0; round < 50; round++) {
    for (unsigned i = 0; i < 5; i++) {
      leases[i] = fixture_acquire(&f, pool);
    }
    cr_assert_eq(weir_acquire(pool, 0, &leases[0], NULL), WEIR_E_TIMEOUT);
    for (unsigned i = 0; i < 5; i++) {
      cr_assert_eq(weir_release(leases[i]), WEIR_OK);
    }
    fixture_sync(&f);
    for (unsigned i = 0; i < 20; i++) {
      fixture_advance(&f, SECOND / 10);
    }
    AWAIT_STAT(pool, empty, 5);
  }
  cr_assert_eq(fixture_counts(&f).sessions_max, 5);
  fixture_close(&f);
}

static void acquire_all(weir_h pool, weir_h *leases, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
}

static void release_all(const weir_h *leases, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
}

static void advance_by(uint64_t step, unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    fixture_advance(&f, step);
  }
}

/* Scenarios 63 and 65: whatever the minimum, a pool comes down to it, and not
 * below. */
Test(tend, scenario_63_comes_down_to_any_minimum, .timeout = 30) {
  static const unsigned mins[] = {0, 1, 2, 29, 30};
  weir_h leases[30];
  for (unsigned i = 0; i < 5; i++) {
    fixture_open_virtual(&f);
    weir_h pool = fixture_pool(&f,
                               "Min Pool Size=%u;Max Pool Size=30;"
                               "Connection Idle Timeout=10",
                               mins[i]);
    AWAIT_STAT(pool, idle, mins[i]);
    acquire_all(pool, leases, 30);
    release_all(leases, 30);
    fixture_sync(&f);
    advance_by(SECOND / 10, 200);
    AWAIT_STAT(pool, empty, 30 - mins[i]);
    cr_assert_eq(fixture_stats(pool).idle, mins[i]);
    cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 30);
    fixture_close(&f);
  }
}

/* Scenario 64: what a burst needs again and again is not trimmed, though no look
 * at the pool ever falls into a burst. */
Test(tend, scenario_64_keeps_what_bursts_need, .timeout = 30) {
  weir_h leases[5];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=8;Connection Idle Timeout=10");
  for (unsigned i = 0; i < 150; i++) {
    acquire_all(pool, leases, 5);
    fixture_advance(&f, SECOND / 20);
    release_all(leases, 5);
    fixture_advance(&f, SECOND - SECOND / 20);
    advance_by(SECOND, 3);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 5);
  cr_assert_eq(fixture_stats(pool).idle, 5);
  fixture_close(&f);
}

/* Surplus that is used in turn never grows idle: only the pool's use shows it.
 * One connection of eight is needed at a time. */
Test(tend, trims_what_is_used_in_turn_but_not_needed, .timeout = 30) {
  weir_h leases[8];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=8;Connection Idle Timeout=10;"
                                 "Idle Expiry=sqlclient");
  acquire_all(pool, leases, 8);
  release_all(leases, 8);
  fixture_sync(&f);
  for (unsigned i = 0; i < 400; i++) {
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    fixture_advance(&f, SECOND / 10);
  }
  AWAIT_STAT(pool, empty, 7);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 8);
  fixture_close(&f);
}

/* The pace: at most a fifth of the surplus with each note, and at least one. */
Test(tend, trims_a_fifth_of_the_surplus_at_a_time, .timeout = 30) {
  weir_h leases[40];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=40;Connection Idle Timeout=100;"
                                 "Idle Expiry=sqlclient");
  acquire_all(pool, leases, 40);
  release_all(leases, 40);
  fixture_sync(&f);
  uint32_t before = fixture_stats(pool).idle;
  cr_assert_eq(before, 40);
  for (unsigned i = 0; i < 60; i++) {
    fixture_advance(&f, 10 * SECOND);
    uint32_t idle = fixture_stats(pool).idle;
    uint32_t most = before / 5 == 0 ? 1 : before / 5;
    cr_assert_leq(before - idle, most, "%u of %u went at once", before - idle,
                  before);
    cr_assert(i >= 9 || idle == 40, "trimmed before a window was over");
    before = idle;
  }
  cr_assert_eq(before, 0);
  fixture_close(&f);
}

/* What is promised for idleness does not hold under Idle Expiry=sqlclient. */
Test(tend,
     idle_expiry_decides_whether_idleness_ends_a_connection,
     .timeout = 10) {
  static const char *const kinds[] = {"enforced", "sqlclient"};
  for (unsigned i = 0; i < 2; i++) {
    fixture_open_virtual(&f);
    /* Never a whole window of notes: nothing is trimmed. */
    weir_h pool = fixture_pool(&f,
                               "Max Pool Size=2;Connection Idle Timeout=10;"
                               "Idle Expiry=%s",
                               kinds[i]);
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
    fixture_sync(&f);
    fixture_advance(&f, 11 * SECOND);
    AWAIT_STAT(pool, idle, i);
    fixture_close(&f);
  }
}

/* Scenario 67: fifty born together do not end together. */
Test(tend, scenario_67_spreads_the_end_of_those_born_together, .timeout = 30) {
  weir_h leases[50];
  uint64_t closed = 0;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=50;Max Pool Size=50;"
                                 "Connection Lifetime=30 min;"
                                 "Lifetime Jitter=0");
  AWAIT_STAT(pool, idle, 50);
  acquire_all(pool, leases, 50);
  release_all(leases, 50);
  fixture_sync(&f);
  for (unsigned s = 0; s < 50 * 60; s += 30) {
    advance_by(10 * SECOND, 3);
    AWAIT_STAT(pool, idle, 50);
    uint64_t now = fixture_stats(pool).closed;
    cr_assert_leq(now - closed, 5, "%llu in 30 s",
                  (unsigned long long)(now - closed));
    closed = now;
  }
  cr_assert_geq(closed, 50);
  fixture_close(&f);
}

/* Scenario 68: a connection that is never seen idle ends when it comes back. */
Test(tend, scenario_68_retires_a_busy_one_when_it_comes_back, .timeout = 30) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connection Lifetime=10;"
                                 "Connection Idle Timeout=0;"
                                 "Lifetime Jitter=0");
  weir_h lease = fixture_acquire(&f, pool);
  advance_by(SECOND, 9);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = fixture_acquire(&f, pool);
  advance_by(SECOND, 2);
  cr_assert_eq(fixture_stats(pool).closed, 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* Below Max Pool Size the next one is there before the old one goes. */
Test(tend, opens_the_replacement_first_if_there_is_room, .timeout = 10) {
  static const unsigned max[] = {2, 1};
  static const unsigned most[] = {2, 1};
  for (unsigned i = 0; i < 2; i++) {
    fixture_open_virtual(&f);
    weir_h pool = fixture_pool(&f,
                               "Min Pool Size=1;Max Pool Size=%u;"
                               "Connection Lifetime=60;Lifetime Jitter=0",
                               max[i]);
    AWAIT_STAT(pool, idle, 1);
    fixture_sync(&f);
    advance_by(SECOND, 70);
    AWAIT_COUNT(&f, calls[MOCK_CONNECT], 2);
    AWAIT_COUNT(&f, conns_live, 1);
    AWAIT_STAT(pool, idle, 1);
    cr_assert_eq(fixture_counts(&f).sessions_max, most[i]);
    fixture_close(&f);
  }
}

/* Scenario 189: the wall clock is nobody's business here. */
Test(tend, scenario_189_a_jump_of_the_wall_clock_ends_nothing, .timeout = 10) {
  static const int64_t jumps_ms[] = {-3600000, 3600000, 315360000000};
  weir_h leases[4];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=4;"
                                 "Connection Lifetime=10 min");
  AWAIT_STAT(pool, idle, 2);
  acquire_all(pool, leases, 4);
  release_all(leases, 4);
  for (unsigned i = 0; i < 3; i++) {
    virtual_clock_jump_wall(jumps_ms[i]);
    fixture_advance(&f, SECOND);
  }
  cr_assert_eq(fixture_stats(pool).idle, 4);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 4);
  fixture_close(&f);
}

/* ... and a gap of a quarter of an hour is one wave of probes at most. */
Test(tend, scenario_189_a_gap_in_time_is_one_wave_of_pings, .timeout = 10) {
  weir_h leases[4];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=4;Max Pool Size=4;"
                                 "Keepalive Interval=60");
  AWAIT_STAT(pool, idle, 4);
  fixture_sync(&f);
  fixture_advance(&f, 900 * SECOND);
  for (unsigned i = 0; i < 20; i++) {
    fixture_sync(&f);
  }
  AWAIT_COUNT(&f, calls[MOCK_PING], 4);
  advance_by(SECOND, 30);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_PING], 4);
  acquire_all(pool, leases, 4);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 4);
  cr_assert_leq(fixture_counts(&f).calls[MOCK_HEALTH], 4);
  fixture_close(&f);
}

/* Scenario 60. */
Test(tend, scenario_59_keeps_min_idle_ready, .timeout = 10) {
  weir_h leases[10];
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Idle=2;Max Pool Size=10");
  AWAIT_STAT(pool, idle, 2);
  acquire_all(pool, leases, 2);
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(weir_discard(leases[0]), WEIR_OK);
  cr_assert_eq(weir_discard(leases[1]), WEIR_OK);
  AWAIT_STAT(pool, empty, 8);
  cr_assert_eq(fixture_stats(pool).idle, 2);
  for (unsigned i = 0; i < 10; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  /* Never beyond Max Pool Size. */
  cr_assert_eq(fixture_counts(&f).sessions_max, 10);
  fixture_close(&f);
}

/* What was opened for Min Idle goes to the caller who opens, and what he opens is
 * idle in its stead. */
Test(tend, min_idle_counts_a_connect_that_lost_its_caller, .timeout = 20) {
  struct acquirer a;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=6;Mock Script Text='connect 2: delay 20ms; "
          "connect 3-: delay 10ms'");
  weir_h held = fixture_acquire(&f, pool);
  acquirer_start(&a, pool, 60 * FIXTURE_S);
  AWAIT_COUNT(&f, calls[MOCK_CONNECT], 2);
  cr_assert_eq(weir_pool_reconfigure(pool, "Min Idle=2", 10, &f.err), WEIR_OK);
  AWAIT_COUNT(&f, calls[MOCK_CONNECT], 4);
  fixture_sync(&f);
  fixture_advance(&f, 10 * FIXTURE_MS);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  for (unsigned i = 0; i < 4; i++) {
    fixture_advance(&f, 10 * FIXTURE_MS);
  }
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(fixture_stats(pool).connects_begun, 4);
  cr_assert_eq(weir_release(a.lease), WEIR_OK);
  cr_assert_eq(weir_release(held), WEIR_OK);
  fixture_close(&f);
}

Test(tend, min_idle_survives_idleness, .timeout = 20) {
  weir_h leases[6];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Min Idle=2;Max Pool Size=6;"
                                 "Connection Idle Timeout=10");
  AWAIT_STAT(pool, idle, 2);
  acquire_all(pool, leases, 4);
  AWAIT_STAT(pool, idle, 2);
  release_all(leases, 4);
  fixture_sync(&f);
  advance_by(SECOND / 2, 80);
  AWAIT_STAT(pool, idle, 2);
  cr_assert_eq(fixture_stats(pool).connects_begun, 6);
  fixture_close(&f);
}

static void change(weir_h pool, const char *text) {
  cr_assert_eq(weir_pool_reconfigure(pool, text, strlen(text), &f.err), WEIR_OK,
               "%s", f.err.message);
}

/* Those that may change act on connections that are idle already. */
Test(tend, acts_on_settings_that_change, .timeout = 10) {
  weir_h leases[4];
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=6;Connection Idle Timeout=0");
  acquire_all(pool, leases, 4);
  release_all(leases, 4);
  fixture_sync(&f);
  advance_by(100 * SECOND, 10);
  cr_assert_eq(fixture_stats(pool).idle, 4);
  change(pool, "Min Idle=5");
  AWAIT_STAT(pool, idle, 5);
  change(pool, "Keepalive Interval=10");
  AWAIT_COUNT(&f, calls[MOCK_PING], 4);
  change(pool, "Keepalive Interval=0;Min Idle=1;Connection Idle Timeout=60");
  advance_by(SECOND, 66);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

/* P13: with nothing open, and with nothing that could be surplus. */
Test(tend, sets_no_timer_for_a_pool_with_nothing_to_trim, .timeout = 10) {
  static const unsigned mins[] = {0, 2};
  for (unsigned i = 0; i < 2; i++) {
    fixture_open_virtual(&f);
    weir_h h = fixture_pool(&f, "Min Pool Size=%u;Max Pool Size=4", mins[i]);
    const struct weir__pool *pool = weir__handle_find(h, WEIR_TYPE_POOL);
    weir_h leases[3];
    AWAIT_STAT(h, idle, mins[i]);
    fixture_sync(&f);
    cr_assert_not(weir__timer_set(&pool->tend_timer));
    acquire_all(h, leases, 3);
    fixture_sync(&f);
    cr_assert(weir__timer_set(&pool->tend_timer));
    release_all(leases, 3);
    advance_by(10 * SECOND, 70);
    AWAIT_STAT(h, empty, 4 - mins[i]);
    fixture_sync(&f);
    cr_assert_not(weir__timer_set(&pool->tend_timer));
    fixture_close(&f);
  }
}

/* P13. */
Test(tend, lets_an_idle_engine_sleep, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Min Pool Size=2;Max Pool Size=4;Connection Idle Timeout=0");
  AWAIT_STAT(pool, idle, 2);
  fixture_sync(&f);
  uint64_t before = wakes();
  for (unsigned i = 0; i < 1000; i++) {
    cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  }
  cr_assert_eq(wakes(), before);
  fixture_close(&f);
}
