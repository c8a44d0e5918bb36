/* SPDX-License-Identifier: MIT */
/* I: channel closes as many as lay idle in the middle sample of a window, the
 * longest idle first.  Connection Idle Timeout=30 is a sample each 10 s and a window
 * of three. */
#include <criterion/criterion.h>

#include "fixture.h"
#include "presets.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)
#define STEP   (10 * SECOND)
#define DAY    (86400 * SECOND)
#define MOST   10u

static struct fixture f;
static weir_h pool;
static weir_h held[MOST];

static void open_channel(const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Pool Strategy=channel;Connection Idle Timeout=30;%s",
                      settings);
}

static void acquire(unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++) {
    held[i] = fixture_acquire(&f, pool);
  }
  fixture_sync(&f); /* the reactor knows of them, and when */
}

static void release(unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++) {
    cr_assert_eq(weir_release(held[i]), WEIR_OK);
  }
}

/* n connections, all of them idle. */
static void fill(unsigned n) {
  acquire(0, n);
  release(0, n);
}

/* Also where nobody but this thread runs the loop. */
static void settle(void) {
  do {
    fixture_sync(&f);
  } while (fixture_stats(pool).closing != 0);
}

static void advance(uint64_t ns) {
  fixture_advance(&f, ns);
  settle();
}

static void samples(unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    advance(STEP);
  }
}

/* So many lie idle when the next sample is taken: of `n` connections the rest is
 * in use. */
static void sample_of(unsigned idle, unsigned n) {
  acquire(0, n);
  release(n - idle, n);
  samples(1);
  release(0, n - idle);
}

static uint32_t idle(void) {
  return fixture_stats(pool).idle;
}

static uint64_t closed(void) {
  return fixture_stats(pool).closed;
}

/* ------------------------------------------------------------ whether at all */

Test(pruning,
     behaviour_148_a_minimum_below_the_maximum_is_trimmed,
     .timeout = 10) {
  open_channel("Min Pool Size=1;Startup=lazy;Max Pool Size=2");
  fill(2);
  samples(3);
  cr_assert_eq(idle(), 1);
  fixture_close(&f);
}

Test(pruning, behaviour_149_equal_minimum_and_maximum_are_not, .timeout = 10) {
  open_channel("Min Pool Size=4;Startup=lazy;Max Pool Size=4");
  fill(4);
  samples(9);
  advance(DAY);
  cr_assert_eq(idle(), 4);
  fixture_close(&f);
}

Test(pruning, behaviour_150_connection_idle_timeout_0_is_not, .timeout = 10) {
  open_channel("Connection Idle Timeout=0;Max Pool Size=4");
  fill(4);
  samples(9);
  for (unsigned i = 0; i < 31; i++) {
    advance(DAY);
  }
  cr_assert_eq(idle(), 4);
  fixture_close(&f);
}

struct plan {
  const char *idle_s;
  unsigned interval_s;
  unsigned samples;
};

/* Intervals and windows: not a nanosecond before the last sample. */
static void check_plans(const struct plan *rows, size_t n) {
  for (size_t i = 0; i < n; i++) {
    fixture_open_virtual(&f);
    pool = fixture_pool(
        &f, "Pool Strategy=channel;Max Pool Size=4;Connection Idle Timeout=%s",
        rows[i].idle_s);
    fill(2);
    for (unsigned k = 1; k < rows[i].samples; k++) {
      advance(rows[i].interval_s * SECOND);
    }
    advance(rows[i].interval_s * SECOND - 1);
    cr_assert_eq(idle(), 2, "%s: too early", rows[i].idle_s);
    advance(1);
    cr_assert_eq(idle(), 0, "%s: too late", rows[i].idle_s);
    fixture_close(&f);
  }
}

Test(pruning, behaviour_152_the_table_of_intervals_and_samples, .timeout = 60) {
  static const struct plan rows[] = {
      {"300", 10, 30},     {"100", 10, 10},
      {"60", 10, 6},       {"15", 10, 2},
      {"5", 10, 1},        {"3000", 10, 300},
      {"6000", 20, 300},   {"10000", 34, 295},
      {"86400", 288, 300}, {"2147483647", 86400, 300},
  };
  check_plans(rows, sizeof rows / sizeof rows[0]);
}

/* Up: the interval in the last two rows, the window in all. */
Test(pruning, behaviour_163_divisions_are_rounded_up, .timeout = 60) {
  static const struct plan rows[] = {
      {"1", 10, 1},    {"11", 10, 2},     {"20", 10, 2},     {"21", 10, 3},
      {"301", 10, 31}, {"3001", 11, 273}, {"3301", 12, 276},
  };
  check_plans(rows, sizeof rows / sizeof rows[0]);
}

/* ----------------------------------------------------------------- the timer
 *
 * An engine without a thread of its own tells when it has to run next. */

static void open_foreign(const char *settings) {
  fixture_open_foreign_virtual(&f);
  pool = fixture_pool(&f, "Pool Strategy=channel;Connection Idle Timeout=30;%s",
                      settings);
}

static int64_t due(void) {
  int64_t ns = 0;
  settle();
  do {
    cr_assert_eq(weir_engine_turn(f.engine, &ns, NULL), WEIR_OK);
  } while (ns == 0);
  return ns;
}

Test(pruning, behaviour_151_a_new_pool_s_timer_is_off, .timeout = 10) {
  open_foreign("");
  cr_assert_eq(due(), WEIR_TIMEOUT_NEVER);
  fixture_close(&f);
}

Test(pruning,
     behaviour_153_growth_above_the_minimum_begins_sampling,
     .timeout = 10) {
  open_foreign("Min Pool Size=1;Startup=lazy");
  acquire(0, 2);
  cr_assert_eq(due(), (int64_t)STEP);
  fixture_close(&f);
}

Test(pruning, behaviour_154_at_the_minimum_it_is_off, .timeout = 10) {
  open_foreign("Min Pool Size=2;Startup=lazy");
  acquire(0, 1);
  AWAIT_STAT(pool, connecting, 0);
  acquire(1, 2);
  cr_assert_eq(due(), WEIR_TIMEOUT_NEVER);
  fixture_close(&f);
}

Test(pruning,
     behaviour_155_back_at_the_minimum_it_ends_and_forgets_its_samples,
     .timeout = 10) {
  open_foreign("Min Pool Size=1;Startup=lazy");
  acquire(0, 3);
  release(0, 2);
  samples(2);
  acquire(0, 2);
  cr_assert_eq(weir_discard(held[0]), WEIR_OK);
  cr_assert_eq(weir_discard(held[1]), WEIR_OK);
  cr_assert_eq(due(), WEIR_TIMEOUT_NEVER);
  acquire(0, 2);
  release(0, 3);
  samples(2);
  cr_assert_eq(idle(), 3, "samples of before have counted");
  samples(1);
  cr_assert_eq(idle(), 1);
  fixture_close(&f);
}

Test(pruning, behaviour_160_a_shutdown_ends_sampling, .timeout = 10) {
  open_foreign("");
  acquire(0, 2);
  release(0, 1);
  cr_assert_eq(due(), (int64_t)STEP);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  int64_t ns = 0;
  do {
    fixture_sync(&f);
    cr_assert_eq(weir_engine_turn(f.engine, &ns, NULL), WEIR_OK);
  } while (ns == 0 || fixture_counts(&f).sessions_live != 1);
  cr_assert_eq(ns, WEIR_TIMEOUT_NEVER, "%lld", (long long)ns);
  fixture_advance(&f, DAY);
  cr_assert_eq(fixture_counts(&f).sessions_live, 1);
  cr_assert_eq(weir_release(held[1]), WEIR_OK);
  fixture_close(&f);
}

Test(pruning,
     behaviour_161_a_shutdown_of_a_pool_that_does_not_sample_is_well,
     .timeout = 10) {
  static const char *const kinds[] = {
      "Min Pool Size=2;Startup=lazy;Max Pool Size=2",
      "Connection Idle Timeout=0"};
  for (unsigned i = 0; i < 2; i++) {
    open_channel(kinds[i]);
    fill(2);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, sessions_live, 0);
    fixture_advance(&f, DAY);
    fixture_close(&f);
  }
}

Test(pruning, behaviour_162_shutting_down_again_is_well, .timeout = 10) {
  open_channel("");
  fill(2);
  samples(2);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(weir_pool_close(pool), WEIR_E_HANDLE);
  }
  AWAIT_COUNT(&f, sessions_live, 0);
  fixture_advance(&f, DAY);
  fixture_close(&f);
}

/* The window would be full one step later. */
Test(pruning, behaviour_170_after_a_shutdown_no_sample_counts, .timeout = 10) {
  struct weir_counters c = {.struct_size = sizeof c};
  open_channel("");
  fill(5);
  acquire(0, 2);
  samples(2);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  AWAIT_COUNT(&f, sessions_live, 2);
  for (unsigned i = 0; i < 9; i++) {
    fixture_advance(&f, STEP);
  }
  cr_assert_eq(weir_engine_counters(f.engine, &c), WEIR_OK);
  cr_assert_eq(c.hard_disconnects, 3);
  cr_assert_eq(fixture_run(&f, held[0], "rows 1"), WEIR_OK);
  release(0, 2);
  AWAIT_COUNT(&f, sessions_live, 0);
  fixture_close(&f);
}

/* ------------------------------------------------------------------ how many */

Test(pruning,
     behaviour_156_a_window_not_yet_full_closes_nothing,
     .timeout = 10) {
  open_channel("");
  fill(6);
  samples(2);
  advance(STEP - 1);
  cr_assert_eq(idle(), 6);
  fixture_close(&f);
}

Test(pruning, behaviour_157_never_below_the_minimum, .timeout = 10) {
  open_channel("Min Pool Size=5;Startup=lazy;Max Pool Size=10");
  fill(10);
  samples(3);
  cr_assert_eq(idle(), 5);
  samples(30);
  cr_assert_eq(idle(), 5);
  fixture_close(&f);
}

Test(pruning, behaviour_159_those_in_use_are_left_alone, .timeout = 10) {
  open_channel("");
  acquire(0, 6);
  release(4, 6);
  samples(3);
  cr_assert_eq(idle(), 0);
  cr_assert_eq(fixture_stats(pool).leased, 4);
  for (unsigned i = 0; i < 4; i++) {
    cr_assert_eq(fixture_run(&f, held[i], "rows 1"), WEIR_OK);
  }
  samples(6);
  cr_assert_eq(fixture_stats(pool).leased, 4);
  fixture_close(&f);
}

Test(pruning,
     behaviour_164_all_idle_and_no_minimum_the_pool_empties,
     .timeout = 10) {
  open_channel("");
  fill(10);
  samples(3);
  cr_assert_eq(idle(), 0);
  AWAIT_COUNT(&f, sessions_live, 0);
  fixture_close(&f);
}

Test(pruning,
     behaviour_165_the_median_counts_not_the_last_sample,
     .timeout = 10) {
  open_channel("");
  sample_of(2, 10);
  sample_of(2, 10);
  sample_of(10, 10);
  cr_assert_eq(closed(), 2);
  fixture_close(&f);
}

Test(pruning,
     behaviour_166_an_even_number_takes_the_lower_of_the_middle_two,
     .timeout = 10) {
  open_channel("Connection Idle Timeout=20");
  sample_of(4, 8);
  sample_of(8, 8);
  cr_assert_eq(closed(), 4);
  fixture_close(&f);
}

Test(pruning, behaviour_167_the_next_window_begins_anew, .timeout = 10) {
  open_channel("");
  for (unsigned i = 0; i < 3; i++) {
    sample_of(6, 10);
  }
  cr_assert_eq(closed(), 6);
  for (unsigned i = 0; i < 3; i++) {
    sample_of(1, 4);
  }
  cr_assert_eq(closed(), 7);
  fixture_close(&f);
}

Test(pruning, behaviour_168_one_low_sample_changes_nothing, .timeout = 10) {
  open_channel("");
  sample_of(2, 10);
  sample_of(10, 10);
  sample_of(10, 10);
  cr_assert_eq(closed(), 10);
  fixture_close(&f);
}

Test(pruning,
     behaviour_169_trimmed_to_the_minimum_and_grown_again_it_is_trimmed_again,
     .timeout = 10) {
  open_channel("Min Pool Size=2;Startup=lazy");
  for (unsigned round = 0; round < 3; round++) {
    fill(8);
    samples(2);
    cr_assert_eq(idle(), 8);
    samples(1);
    cr_assert_eq(idle(), 2);
  }
  fixture_close(&f);
}

/* Those that came back first: the head of the line of idle ones. */
Test(pruning,
     behaviour_171_exactly_as_many_as_the_median_says_are_closed,
     .timeout = 10) {
  for (unsigned k = 0; k <= 5; k++) {
    int64_t session[5] = {0};
    open_channel("");
    acquire(0, 5);
    for (unsigned i = 0; i < 5; i++) {
      session[i] = fixture_number(&f, held[i], "session", 0);
    }
    for (unsigned i = 0; i < 5; i++) {
      if (i == k) {
        samples(2); /* k lie idle in two samples of three */
      }
      cr_assert_eq(weir_release(held[i]), WEIR_OK);
    }
    samples(k < 5 ? 1 : 3);
    cr_assert_eq(closed(), k);
    cr_assert_eq(idle(), 5 - k);
    for (unsigned i = k; i < 5; i++) {
      weir_h lease = fixture_acquire(&f, pool);
      bool left = false;
      for (unsigned n = k; n < 5; n++) {
        left = left || session[n] == fixture_number(&f, lease, "session", 0);
      }
      cr_assert(left, "one of the first %u has stayed", k);
    }
    fixture_close(&f);
  }
}
