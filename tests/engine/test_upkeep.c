/* SPDX-License-Identifier: MIT */
/* Who leaves a pool by Pool Trim=sweep and median, by Idle Expiry and by age when a
 * connection changes hands.  Peak is in test_tend.c; what SqlClient's own pools show
 * is in behaviours/. */
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "failing_alloc.h"
#include "fixture.h"
#include "handle.h"
#include "pool.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)
#define MOST   600u
/* What is drawn from no random bits. */
#define PERIOD (120 * SECOND)

static struct fixture f;
static weir_h pool;
static weir_h held[MOST];

static void grow_to(unsigned n) {
  for (unsigned i = 0; i < n; i++) {
    held[i] = fixture_acquire(&f, pool);
  }
  fixture_sync(&f); /* which has set its timer by now */
}

/* Those of [from, to), each at a time of its own. */
static void give_back(unsigned from, unsigned to) {
  for (unsigned i = from; i < to; i++) {
    cr_assert_eq(weir_release(held[i]), WEIR_OK);
    virtual_clock_advance(1);
  }
  fixture_sync(&f);
}

static void open_with(const char *settings, unsigned n) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "%s", settings);
  grow_to(n);
  give_back(0, n);
}

/* Until nothing is pinged or closing any more. */
static void settle(void) {
  fixture_sync(&f);
  AWAIT_STAT(pool, reserved, 0);
  AWAIT_STAT(pool, closing, 0);
}

static void advance(uint64_t ns) {
  fixture_advance(&f, ns);
  settle();
}

static void change(const char *text) {
  f.err.struct_size = sizeof f.err;
  cr_assert_eq(weir_pool_reconfigure(pool, text, strlen(text), &f.err), WEIR_OK,
               "%s", f.err.message);
  fixture_sync(&f);
}

/* When the reactor looks at the pool's places again; UINT64_MAX: when it is told
 * to. */
static uint64_t next_look(void) {
  const struct weir__pool *p = weir__handle_find(pool, WEIR_TYPE_POOL);
  fixture_sync(&f);
  return p->review_at;
}

static uint32_t idle(void) {
  return fixture_stats(pool).idle;
}

static int64_t session_of(weir_h lease) {
  return fixture_number(&f, lease, "session", 0);
}

/* Takes one, says which it is, and gives it back. */
static int64_t use_one(void) {
  weir_h lease = fixture_acquire(&f, pool);
  int64_t session = session_of(lease);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_sync(&f);
  return session;
}

/* ------------------------------------------------------------------- sweep */

#define SWEEP "Pool Trim=sweep;Idle Expiry=sqlclient;Max Pool Size=600;"

Test(sweep, closes_what_was_not_used_since_the_one_before, .timeout = 10) {
  open_with(SWEEP "Pool Idle Order=affinity", 6);
  advance(PERIOD - 6);
  cr_assert_eq(idle(), 6, "none is old at the first");
  (void)use_one(); /* right after it: of the next generation */
  advance(PERIOD - 1);
  cr_assert_eq(idle(), 6);
  advance(1);
  cr_assert_eq(idle(), 1, "the one that was used is young");
  advance(PERIOD);
  cr_assert_eq(idle(), 0);
  fixture_close(&f);
}

Test(sweep, stops_at_the_minimum_with_the_youngest_left, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, SWEEP "Min Pool Size=2;Startup=lazy");
  grow_to(5);
  int64_t last[2] = {session_of(held[3]), session_of(held[1])};
  static const unsigned order[] = {0, 4, 2, 3, 1};
  for (unsigned i = 0; i < 5; i++) {
    give_back(order[i], order[i] + 1);
  }
  advance(PERIOD);
  advance(PERIOD);
  cr_assert_eq(idle(), 2);
  for (unsigned i = 0; i < 2; i++) {
    held[i] = fixture_acquire(&f, pool);
    int64_t session = session_of(held[i]);
    cr_assert(session == last[0] || session == last[1], "kept the older one");
  }
  fixture_close(&f);
}

/* A pool of SqlClient's size is closed in one turn; one of another is not left half
 * done. */
Test(sweep, closes_more_than_one_look_can, .timeout = 30) {
  open_with(SWEEP "Min Pool Size=3;Startup=lazy", MOST);
  advance(PERIOD);
  fixture_advance(&f, PERIOD);
  AWAIT_STAT(pool, idle, 3);
  settle();
  cr_assert_eq(idle(), 3);
  fixture_close(&f);
}

Test(sweep, has_a_period_drawn_once_for_a_pool, .timeout = 10) {
  fixture_open_virtual(&f);
  virtual_clock_random(7);
  pool = fixture_pool(&f, SWEEP);
  for (unsigned round = 0; round < 3; round++) {
    grow_to(2);
    give_back(0, 2);
    virtual_clock_random(round);
    advance(190 * SECOND - 2);
    advance(190 * SECOND - 1);
    cr_assert_eq(idle(), 2, "round %u", round);
    advance(1);
    cr_assert_eq(idle(), 0, "round %u", round);
  }
  fixture_close(&f);
}

/* The preset's own period, and those in use stay through any number of sweeps. */
Test(sweep, of_legacy_comes_at_each_of_its_twelve_periods, .timeout = 30) {
  for (uint64_t drawn = 0; drawn < 12; drawn++) {
    uint64_t period = (120 + drawn * 10) * SECOND;
    fixture_open_virtual(&f);
    virtual_clock_random(drawn);
    pool = fixture_pool(&f, "Pool Strategy=legacy");
    grow_to(4);
    virtual_clock_advance(SECOND);
    give_back(0, 2);
    advance(period - SECOND - 2);
    cr_assert_eq(idle(), 2, "closed by the first");
    advance(period - 1);
    cr_assert_eq(idle(), 2, "closed too early");
    advance(1);
    cr_assert_eq(idle(), 0, "not closed by the second");
    for (unsigned i = 0; i < 6; i++) {
      advance(period);
    }
    cr_assert_eq(fixture_run(&f, held[2], "rows 1"), WEIR_OK);
    cr_assert_eq(fixture_run(&f, held[3], "rows 1"), WEIR_OK);
    fixture_close(&f);
  }
}

Test(sweep, comes_twice_in_an_idle_timeout_that_is_enforced, .timeout = 10) {
  open_with("Pool Trim=sweep;Connection Idle Timeout=100;Max Pool Size=4", 4);
  advance(50 * SECOND - 4);
  cr_assert_eq(idle(), 4);
  advance(50 * SECOND - 1);
  cr_assert_eq(idle(), 4);
  advance(1);
  cr_assert_eq(idle(), 0);
  fixture_close(&f);
}

Test(sweep, follows_an_idle_timeout_that_is_changed, .timeout = 10) {
  open_with("Pool Trim=sweep;Connection Idle Timeout=0;Max Pool Size=4", 4);
  advance(86400 * SECOND);
  cr_assert_eq(idle(), 4, "none without a time-out");
  change("Connection Idle Timeout=900000");
  uint64_t began = virtual_clock_now();
  cr_assert_eq(next_look(), began + 450000 * SECOND);
  advance(SECOND);
  change("Connection Idle Timeout=300000");
  cr_assert_eq(next_look(), began + 150000 * SECOND);
  advance(200000 * SECOND);
  cr_assert_eq(idle(), 4, "the first closes nothing");
  fixture_close(&f);
}

Test(sweep, follows_a_minimum_that_is_changed, .timeout = 10) {
  open_with(SWEEP "Min Pool Size=4;Startup=lazy", 4);
  cr_assert_eq(next_look(), UINT64_MAX, "nothing can be due");
  change("Min Pool Size=1");
  advance(PERIOD);
  advance(PERIOD);
  cr_assert_eq(idle(), 1);
  cr_assert_eq(next_look(), UINT64_MAX, "nothing can be due");
  fixture_close(&f);
}

/* ------------------------------------------------------------------ median */

#define MEDIAN                                              \
  "Pool Trim=median;Idle Expiry=sqlclient;Connection Idle " \
  "Timeout=30;Max Pool Size=600;"
#define STEP (10 * SECOND)

static void window(void) {
  for (unsigned i = 0; i < 3; i++) {
    advance(STEP);
  }
}

Test(median, closes_those_that_have_been_idle_longest, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, MEDIAN);
  grow_to(5);
  int64_t youngest = session_of(held[4]);
  give_back(0, 3); /* three lie idle in two samples of three */
  advance(STEP - 3);
  advance(STEP);
  give_back(3, 5);
  advance(STEP - 2);
  cr_assert_eq(idle(), 2);
  cr_assert_eq(fixture_stats(pool).closed, 3);
  int64_t left[2] = {use_one(), 0};
  held[0] = fixture_acquire(&f, pool);
  left[0] = session_of(held[0]);
  held[1] = fixture_acquire(&f, pool);
  left[1] = session_of(held[1]);
  cr_assert(left[0] == youngest || left[1] == youngest);
  fixture_close(&f);
}

Test(median, closes_more_than_one_look_can, .timeout = 30) {
  open_with(MEDIAN "Min Pool Size=3;Startup=lazy", MOST);
  window();
  AWAIT_STAT(pool, idle, 3);
  settle();
  cr_assert_eq(idle(), 3);
  fixture_close(&f);
}

Test(median, begins_anew_when_the_pool_was_at_its_minimum, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, MEDIAN "Min Pool Size=1;Startup=lazy");
  grow_to(2);
  give_back(0, 1);
  advance(STEP);
  advance(STEP);
  cr_assert_eq(weir_discard(held[1]), WEIR_OK);
  /* At once: nobody needs to have looked in between. */
  held[0] = fixture_acquire(&f, pool);
  held[1] = fixture_acquire(&f, pool);
  settle();
  give_back(0, 2);
  advance(STEP);
  advance(STEP);
  cr_assert_eq(idle(), 2, "the two samples of before do not count");
  advance(STEP);
  cr_assert_eq(idle(), 1);
  fixture_close(&f);
}

Test(median, sets_no_timer_at_the_minimum, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, MEDIAN "Min Pool Size=1;Startup=lazy");
  grow_to(1);
  fixture_sync(&f);
  cr_assert_eq(next_look(), UINT64_MAX);
  held[1] = fixture_acquire(&f, pool);
  fixture_sync(&f);
  cr_assert_eq(next_look(), virtual_clock_now() + STEP);
  cr_assert_eq(weir_discard(held[1]), WEIR_OK);
  settle();
  cr_assert_eq(next_look(), UINT64_MAX);
  fixture_close(&f);
}

/* An interval or a window of another length has no use for the samples of before. */
Test(median, follows_an_idle_timeout_that_is_changed, .timeout = 10) {
  open_with(MEDIAN, 4);
  advance(STEP);
  advance(STEP);
  change("Connection Idle Timeout=20");
  advance(STEP);
  cr_assert_eq(idle(), 4);
  advance(STEP);
  cr_assert_eq(idle(), 0);
  grow_to(4);
  give_back(0, 4);
  change("Connection Idle Timeout=0");
  cr_assert_eq(next_look(), UINT64_MAX);
  advance(86400 * SECOND);
  cr_assert_eq(idle(), 4);
  change("Connection Idle Timeout=6000");
  advance(20 * SECOND);
  change("Connection Idle Timeout=10");
  advance(STEP);
  cr_assert_eq(idle(), 0);
  fixture_close(&f);
}

Test(median, follows_sizes_that_are_changed, .timeout = 10) {
  open_with(MEDIAN "Max Pool Size=4", 4);
  change("Min Pool Size=4");
  cr_assert_eq(next_look(), UINT64_MAX);
  change("Min Pool Size=2");
  window();
  cr_assert_eq(idle(), 2);
  fixture_close(&f);
}

/* A sample that there is no memory for is one less. */
Test(median, begins_later_without_memory, .timeout = 10) {
  fixture_open_virtual(&f);
  failing_alloc_install();
  pool = fixture_pool(&f, MEDIAN);
  grow_to(4);
  give_back(0, 4);
  failing_alloc_from(1);
  advance(STEP);
  cr_assert_eq(failing_alloc_failed(), 1);
  failing_alloc_at(0);
  window();
  cr_assert_eq(idle(), 0);
  fixture_close(&f);
  failing_alloc_restore();
}

/* ------------------------------------------------------------- idle expiry */

static const char *const trims[] = {"peak", "sweep", "median"};
static const char *const orders[] = {"affinity", "lifo", "fifo"};

/* Min Pool Size keeps it from upkeep: the hand-out alone decides. */
Test(idle_expiry, ends_at_the_hand_out_what_has_lain_too_long, .timeout = 10) {
  for (unsigned i = 0; i < 3; i++) {
    fixture_open_virtual(&f);
    pool = fixture_pool(&f,
                        "Min Pool Size=1;Startup=lazy;Pool Trim=%s;"
                        "Pool Idle Order=%s;Connection Idle Timeout=60",
                        trims[i], orders[i]);
    int64_t first = use_one();
    advance(60 * SECOND);
    cr_assert_eq(use_one(), first, "not longer than the time-out");
    advance(60 * SECOND + 1);
    cr_assert_neq(use_one(), first, "%s", trims[i]);
    settle();
    cr_assert_eq(fixture_stats(pool).idle, 1);
    cr_assert_eq(fixture_stats(pool).closed, 1);
    fixture_close(&f);
  }
}

Test(idle_expiry, ends_nothing_under_sqlclient, .timeout = 10) {
  for (unsigned i = 0; i < 3; i++) {
    fixture_open_virtual(&f);
    pool = fixture_pool(&f,
                        "Min Pool Size=1;Startup=lazy;Pool Trim=%s;"
                        "Idle Expiry=sqlclient;Connection Idle Timeout=60",
                        trims[i]);
    int64_t first = use_one();
    advance(86400 * SECOND);
    cr_assert_eq(use_one(), first);
    fixture_close(&f);
  }
}

Test(idle_expiry, minds_no_lease_however_long, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Min Pool Size=1;Startup=lazy;"
                          "Connection Idle Timeout=60");
  grow_to(1);
  int64_t first = session_of(held[0]);
  advance(3600 * SECOND);
  give_back(0, 1);
  cr_assert_eq(use_one(), first);
  fixture_close(&f);
}

/* A window that is longer would let it through. */
Test(idle_expiry, is_asked_for_inside_probe_window, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Min Pool Size=1;Startup=lazy;Probe Window=600;"
                          "Connection Idle Timeout=60");
  int64_t first = use_one();
  advance(60 * SECOND - 1);
  uint64_t looks = fixture_counts(&f).calls[MOCK_HEALTH];
  cr_assert_eq(use_one(), first);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], looks);
  advance(60 * SECOND + 1);
  cr_assert_neq(use_one(), first);
  change("Connection Idle Timeout=0");
  first = use_one();
  advance(599 * SECOND);
  cr_assert_eq(use_one(), first);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], looks);
  fixture_close(&f);
}

/* Of several that are stale none is given out, and none of them counts as lost. */
Test(idle_expiry, passes_by_all_that_are_stale, .timeout = 10) {
  open_with("Min Pool Size=5;Startup=lazy;Connection Idle Timeout=60", 5);
  advance(61 * SECOND);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(session_of(lease), 6);
  settle();
  cr_assert_eq(fixture_stats(pool).closed, 5);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], 0);
  fixture_close(&f);
}

Test(idle_expiry, holds_for_submitted_acquires, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=1;Min Pool Size=1;Startup=lazy;"
                          "Connection Idle Timeout=60");
  weir_h queue = queue_of(&f, 4);
  (void)use_one();
  advance(61 * SECOND);
  (void)submit_waiting(&f, pool, 60 * FIXTURE_S, queue, 1);
  struct weir_completion c = take_one(&f, queue, 1, WEIR_OK);
  cr_assert_eq(session_of(c.lease), 2);
  fixture_close(&f);
}

/* What answers from time to time has not lain in silence. */
Test(idle_expiry, counts_from_the_last_ping, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Min Pool Size=1;Startup=lazy;"
                          "Connection Idle Timeout=60;Keepalive Interval=20");
  int64_t first = use_one();
  for (unsigned i = 0; i < 300; i++) {
    advance(SECOND);
  }
  cr_assert_eq(use_one(), first);
  fixture_close(&f);
}

/* --------------------------------------------------------------------- age */

/* Where Pool Trim does not ration it, each one goes when it is touched. */
Test(age,
     is_asked_of_each_at_the_return_under_sweep_and_median,
     .timeout = 10) {
  static const unsigned closed[] = {2, 20, 20}; /* peak: a tenth of 24 places */
  for (unsigned i = 0; i < 3; i++) {
    fixture_open_virtual(&f);
    pool = fixture_pool(&f,
                        "Pool Trim=%s;Connection Lifetime=60;"
                        "Lifetime Jitter=0;Connection Idle Timeout=0",
                        trims[i]);
    grow_to(20);
    fixture_advance(&f, 60 * SECOND);
    for (unsigned k = 0; k < 20; k++) {
      cr_assert_eq(weir_release(held[k]), WEIR_OK);
    }
    settle();
    cr_assert_eq(fixture_stats(pool).closed, closed[i], "%s", trims[i]);
    fixture_close(&f);
  }
}

Test(age, is_asked_at_the_hand_out, .timeout = 10) {
  for (unsigned i = 0; i < 3; i++) {
    fixture_open_virtual(&f);
    pool = fixture_pool(&f,
                        "Min Pool Size=1;Startup=lazy;Max Pool Size=1;"
                        "Pool Trim=%s;Connection Lifetime=60;"
                        "Lifetime Jitter=0",
                        trims[i]);
    int64_t first = use_one();
    advance(59 * SECOND);
    cr_assert_eq(use_one(), first);
    cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
    virtual_clock_advance(SECOND);
    cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
    cr_assert_neq(use_one(), first);
    fixture_close(&f);
  }
}
