/* SPDX-License-Identifier: MIT */
/* test_acquire.c - acquire and return: behaviours 45 to 75. */
#include <string.h>

#include "completions.h"
#include "presets.h"
#include "virtual_clock.h"

#define MOST 12u

static struct fixture f;
static weir_h pool;
static struct acquirer caller[MOST];

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
}

static void start(unsigned i, int64_t timeout_ns) {
  acquirer_start(&caller[i], pool, timeout_ns);
}

/* The i-th, behind as many who wait already. */
static void line_up(unsigned i, int64_t timeout_ns) {
  start(i, timeout_ns);
  AWAIT_STAT(pool, waiters, i + 1);
  cr_assert_eq(virtual_clock_wait_parked(i + 1), 0);
}

static int64_t session_of(weir_h lease) {
  return fixture_number(&f, lease, "session", 0);
}

static void says(const char *message, const char *what) {
  cr_assert_not_null(strstr(message, what), "%s", message);
}

Test(acquire,
     behaviour_045_owners_of_an_empty_pool_get_a_connection_each,
     .timeout = 20) {
  static const unsigned sizes[] = {1, 5, 10};
  EACH_PRESET(i) {
    for (unsigned s = 0; s < 3; s++) {
      open_pool(i, "");
      for (unsigned k = 0; k < sizes[s]; k++) {
        start(k, WEIR_TIMEOUT_POOL);
      }
      for (unsigned k = 0; k < sizes[s]; k++) {
        cr_assert_eq(acquirer_join(&caller[k]), WEIR_OK);
      }
      cr_assert_eq(preset_count(pool), sizes[s]);
      fixture_close(&f);
    }
  }
}

Test(acquire,
     behaviour_046_submitted_owners_get_a_completion_each,
     .timeout = 20) {
  static const unsigned sizes[] = {1, 5, 10};
  EACH_PRESET(i) {
    for (unsigned s = 0; s < 3; s++) {
      open_pool(i, "");
      weir_h queue = queue_of(&f, 10);
      for (unsigned k = 0; k < sizes[s]; k++) {
        (void)submit_waiting(&f, pool, WEIR_TIMEOUT_POOL, queue, 7);
      }
      for (unsigned k = 0; k < sizes[s]; k++) {
        (void)take_one(&f, queue, 7, WEIR_OK);
      }
      AWAIT_STAT(pool, connecting, 0);
      cr_assert_eq(preset_count(pool), sizes[s]);
      fixture_close(&f);
    }
  }
}

Test(acquire,
     behaviour_047_a_full_pool_ends_a_wait_at_its_time,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h lease = fixture_acquire(&f, pool);
    line_up(0, FIXTURE_S);
    uint64_t begun = virtual_clock_now();
    fixture_advance(&f, (uint64_t)FIXTURE_S);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_E_TIMEOUT);
    cr_assert_eq(caller[0].ended, begun + (uint64_t)FIXTURE_S);
    says(caller[0].err.message, "Max Pool Size");
    cr_assert_eq(preset_count(pool), 1);
    PRESET_RELEASE(lease);
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_048_a_full_pool_ends_a_submitted_wait_at_its_time,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h queue = queue_of(&f, 1);
    weir_h lease = fixture_acquire(&f, pool);
    (void)submit_waiting(&f, pool, FIXTURE_S, queue, 7);
    fixture_sync(&f);
    fixture_advance(&f, (uint64_t)FIXTURE_S);
    (void)take_one(&f, queue, 7, WEIR_E_TIMEOUT);
    says(f.err.message, "Max Pool Size");
    cr_assert_eq(preset_count(pool), 1);
    PRESET_RELEASE(lease);
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_049_a_waiter_gets_the_very_connection_that_is_returned,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h lease = fixture_acquire(&f, pool);
    int64_t session = session_of(lease);
    line_up(0, WEIR_TIMEOUT_POOL);
    PRESET_RELEASE(lease);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
    cr_assert_eq(session_of(caller[0].lease), session);
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_050_a_submitted_waiter_gets_the_very_connection,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h queue = queue_of(&f, 1);
    weir_h lease = fixture_acquire(&f, pool);
    int64_t session = session_of(lease);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_POOL, queue, 7);
    PRESET_RELEASE(lease);
    lease = take_one(&f, queue, 7, WEIR_OK).lease;
    cr_assert_eq(session_of(lease), session);
    fixture_close(&f);
  }
}

/* V1 promises no order among those who block. */
Test(acquire, behaviour_051_of_two_waiters_the_first_is_served, .timeout = 10) {
  open_pool(0, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, FIXTURE_S);
  line_up(1, FIXTURE_S);
  PRESET_RELEASE(lease);
  cr_assert_eq(acquirer_join(&caller[0]), WEIR_OK);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&caller[1]), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

Test(acquire,
     behaviour_052_of_two_submitted_waiters_the_first_is_served,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h queue = queue_of(&f, 2);
    weir_h lease = fixture_acquire(&f, pool);
    (void)submit_waiting(&f, pool, FIXTURE_S, queue, 1);
    (void)submit_waiting(&f, pool, FIXTURE_S, queue, 2);
    PRESET_RELEASE(lease);
    (void)take_one(&f, queue, 1, WEIR_OK);
    fixture_sync(&f);
    fixture_advance(&f, (uint64_t)FIXTURE_S);
    (void)take_one(&f, queue, 2, WEIR_E_TIMEOUT);
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_053_a_returned_connection_is_used_again,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "");
    weir_h lease = fixture_acquire(&f, pool);
    int64_t session = session_of(lease);
    PRESET_RELEASE(lease);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(session_of(lease), session);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    fixture_close(&f);
  }
}

/* The driver's own time-out. */
#define LATE                          \
  "Max Pool Size=2;Mock Script Text=" \
  "\"connect 1: fail endpoint timeout 'no answer in time'\""

Test(acquire,
     behaviour_054_a_connect_that_times_out_is_told_to_its_caller,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, LATE);
    cr_assert_lt(weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &f.err), 0);
    says(f.err.message, "no answer in time");
    AWAIT_STAT(pool, closing, 0);
    cr_assert_eq(preset_count(pool), 0);
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_055_a_submitted_one_is_told_by_its_completion,
     .timeout = 10) {
  EACH_PRESET(i) {
    struct weir_completion c = {.struct_size = sizeof c};
    open_pool(i, LATE);
    weir_h queue = queue_of(&f, 1);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_POOL, queue, 7);
    cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, &f.err),
                 WEIR_OK);
    cr_assert_lt(c.status, 0);
    says(f.err.message, "no answer in time");
    fixture_close(&f);
  }
}

static void *use(void *unused) {
  (void)unused;
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, NULL), WEIR_OK);
  cr_assert_eq(fixture_exec(&f, lease, "SELECT 1"), WEIR_OK);
  PRESET_RELEASE(lease);
  return NULL;
}

Test(acquire,
     behaviour_056_three_times_as_many_callers_never_exceed_max,
     .timeout = 20) {
  EACH_PRESET(i) {
    pthread_t thread[MOST];
    open_pool(i, "Max Pool Size=4");
    for (unsigned k = 0; k < MOST; k++) {
      cr_assert_eq(pthread_create(&thread[k], NULL, use, NULL), 0);
    }
    for (unsigned k = 0; k < MOST; k++) {
      cr_assert_eq(pthread_join(thread[k], NULL), 0);
    }
    cr_assert_leq(preset_count(pool), 4);
    cr_assert_leq(fixture_counts(&f).sessions_max, 4);
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_057_three_times_as_many_submitted_never_exceed_max,
     .timeout = 20) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Max Pool Size=4");
    weir_h queue = queue_of(&f, MOST);
    for (unsigned k = 0; k < MOST; k++) {
      int rc = weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 7, &lease,
                                   NULL, NULL);
      cr_assert_eq(rc, WEIR_PENDING);
    }
    for (unsigned k = 0; k < MOST; k++) {
      PRESET_RELEASE(take_one(&f, queue, 7, WEIR_OK).lease);
    }
    cr_assert_leq(preset_count(pool), 4);
    cr_assert_leq(fixture_counts(&f).sessions_max, 4);
    fixture_close(&f);
  }
}

static void key_says(const char *what) {
  char key[512];
  cr_assert_eq(weir_pool_key(pool, key, sizeof key, NULL), WEIR_OK);
  says(key, what);
}

Test(acquire, behaviour_058_a_pool_tells_its_driver, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "");
    key_says("mock");
    key_says(preset_names[i]);
    fixture_close(&f);
  }
}

Test(acquire, behaviour_059_a_new_pool_counts_0, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "");
    cr_assert_eq(preset_count(pool), 0);
    cr_assert_eq(fixture_stats(pool).acquired, 0);
    fixture_close(&f);
  }
}

/* As a pool has whose connect has failed. */
static bool tells_an_error(void) {
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
  return strstr(f.err.message, "the last connect failed") != NULL;
}

Test(acquire, behaviour_060_a_new_pool_has_no_error_to_tell, .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "Pool Blocking Period=never;Mock Script Text="
                 "\"connect 1: fail endpoint network 'nobody home'\"");
    cr_assert_eq(fixture_stats(pool).connects_failed, 0);
    cr_assert_not(tells_an_error(), "%s", f.err.message);
    cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
    cr_assert(tells_an_error(), "%s", f.err.message);
    fixture_close(&f);
  }
}

Test(acquire, behaviour_061_pools_have_numbers_of_their_own, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Database=a");
    weir_h other =
        fixture_pool(&f, "Pool Strategy=%s;Database=b", preset_names[i]);
    cr_assert_gt(pool, 0);
    cr_assert_gt(other, 0);
    cr_assert_neq(other, pool);
    fixture_close(&f);
  }
}

Test(acquire, behaviour_062_a_pool_tells_who_logs_in, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "User ID=annabel");
    key_says("annabel");
    fixture_close(&f);
  }
}

Test(acquire, behaviour_063_a_new_pool_is_open, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "");
    cr_assert_eq(fixture_stats(pool).state, WEIR_POOL_OPEN);
    (void)fixture_acquire(&f, pool);
    fixture_close(&f);
  }
}

Test(acquire, behaviour_064_one_key_is_one_pool, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=7;Database=a");
    cr_assert_eq(fixture_pool(&f,
                              "database='a';MAXPOOLSIZE=7;"
                              "Pool Strategy=%s",
                              preset_names[i]),
                 pool);
    fixture_close(&f);
  }
}

Test(acquire, behaviour_065_a_pool_tells_its_options, .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=77;Min Pool Size=3;Startup=lazy;"
                 "Load Balance Timeout=1234");
    struct weir_pool_stats s = fixture_stats(pool);
    cr_assert_eq(s.max_size, 77);
    cr_assert_eq(s.min_size, 3);
    key_says("77");
    key_says("1234");
    fixture_close(&f);
  }
}

/* Returned when it is older than the option says; 0 says nothing. */
static bool lives(unsigned preset, const char *option) {
  open_pool(preset, option);
  weir_h lease = fixture_acquire(&f, pool);
  int64_t session = session_of(lease);
  fixture_advance(&f, UINT64_C(61) * (uint64_t)FIXTURE_S);
  PRESET_RELEASE(lease);
  AWAIT_STAT(pool, reserved, 0);
  AWAIT_STAT(pool, closing, 0);
  lease = fixture_acquire(&f, pool);
  bool same = session_of(lease) == session;
  fixture_close(&f);
  return same;
}

Test(acquire,
     behaviour_067_the_life_of_connections_is_what_the_option_says,
     .timeout = 10) {
  EACH_PRESET(i) {
    cr_assert_not(lives(i, "Load Balance Timeout=60"));
    cr_assert(lives(i, "Load Balance Timeout=62"));
    cr_assert(lives(i, "Load Balance Timeout=0"));
  }
}

Test(acquire,
     behaviour_068_a_pool_of_either_preset_is_open_from_the_start,
     .timeout = 10) {
  fixture_open_virtual(&f);
  EACH_PRESET(i) {
    weir_h h = fixture_pool(&f, "Pool Strategy=%s", preset_names[i]);
    cr_assert_eq(fixture_stats(h).state, WEIR_POOL_OPEN);
  }
  fixture_close(&f);
}

Test(acquire,
     behaviour_070_the_short_wait_ends_and_the_long_one_is_served,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h lease = fixture_acquire(&f, pool);
    int64_t session = session_of(lease);
    line_up(0, FIXTURE_S);
    line_up(1, 10 * FIXTURE_S);
    fixture_advance(&f, (uint64_t)FIXTURE_S);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_E_TIMEOUT);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    PRESET_RELEASE(lease);
    cr_assert_eq(acquirer_join(&caller[1]), WEIR_OK);
    cr_assert_eq(session_of(caller[1].lease), session);
    fixture_close(&f);
  }
}

/* 5 s in line, and 25 s for the connect that begins then. */
Test(acquire,
     behaviour_071_a_connect_gets_what_is_left_of_its_callers_time,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1;Connect Timeout=30;Connect Timeout "
                 "Scope=overall;Mock Script Text='connect 2: hang'");
    weir_h lease = fixture_acquire(&f, pool);
    line_up(0, WEIR_TIMEOUT_POOL);
    uint64_t begun = virtual_clock_now();
    fixture_advance(&f, UINT64_C(5) * (uint64_t)FIXTURE_S);
    cr_assert_eq(weir_discard(lease), WEIR_OK);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    fixture_advance(&f, UINT64_C(25) * (uint64_t)FIXTURE_S - 1);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    fixture_advance(&f, 1);
    cr_assert_eq(acquirer_join(&caller[0]), WEIR_E_TIMEOUT);
    cr_assert_eq(caller[0].ended - begun, UINT64_C(30) * (uint64_t)FIXTURE_S);
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_072_a_maximum_of_0_is_refused_large_and_small_work,
     .timeout = 10) {
  static const char *const good[] = {"1", "2", "131072"};
  EACH_PRESET(i) {
    for (unsigned k = 0; k < 3; k++) {
      char more[64];
      (void)snprintf(more, sizeof more, "Max Pool Size=%s", good[k]);
      open_pool(i, more);
      PRESET_RELEASE(fixture_acquire(&f, pool));
      fixture_close(&f);
    }
    char text[128];
    weir_h h = 0;
    fixture_open_virtual(&f);
    int n = snprintf(text, sizeof text,
                     "Driver=mock;Pool Strategy=%s;Max Pool Size=0",
                     preset_names[i]);
    cr_assert_eq(weir_pool_open(f.engine, text, (uint64_t)n, &h, &f.err),
                 WEIR_E_ARG);
    fixture_close(&f);
  }
}

/* At once: nothing is posted to the queue, and no thread of the engine takes part,
 * for which there is none here that runs. */
Test(acquire,
     behaviour_073_an_idle_connection_serves_a_submitted_acquire_inline,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    fixture_open_foreign_virtual(&f);
    pool = fixture_pool(&f, "Pool Strategy=%s", preset_names[i]);
    weir_h queue = queue_of(&f, 1);
    PRESET_RELEASE(fixture_acquire(&f, pool));
    cr_assert_eq(weir_submit_acquire(pool, WEIR_TIMEOUT_POOL, queue, 7, &lease,
                                     NULL, NULL),
                 WEIR_OK);
    cr_assert_neq(lease, 0);
    cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_074_an_idle_connection_serves_a_blocking_acquire_inline,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "");
    PRESET_RELEASE(fixture_acquire(&f, pool));
    /* No time to wait for anything or anybody. */
    cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).wait_count, 1); /* the first's */
    fixture_close(&f);
  }
}

Test(acquire,
     behaviour_075_a_held_load_grows_the_pool_to_exactly_its_callers,
     .timeout = 20) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=50");
    for (unsigned k = 0; k < 7; k++) {
      start(k, WEIR_TIMEOUT_NEVER);
    }
    for (unsigned k = 0; k < 7; k++) {
      cr_assert_eq(acquirer_join(&caller[k]), WEIR_OK);
    }
    cr_assert_eq(preset_count(pool), 7);
    cr_assert_eq(fixture_stats(pool).connects_begun, 7);
    fixture_close(&f);
  }
}
