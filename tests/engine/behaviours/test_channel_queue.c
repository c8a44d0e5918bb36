/* SPDX-License-Identifier: MIT */
/* test_channel_queue.c - idle connections and those who wait for one: behaviours 27 to
 * 44. */
#include "completions.h"
#include "presets.h"
#include "virtual_clock.h"

#define MANY 12u

static struct fixture f;
static weir_h pool;

static void open_pool(unsigned preset, const char *more) {
  pool = preset_open(&f, preset, more);
}

/* A pool with that many idle connections and none in use. */
static void open_idle(unsigned preset, const char *more, unsigned n) {
  weir_h lease[8];
  open_pool(preset, more);
  for (unsigned i = 0; i < n; i++) {
    lease[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < n; i++) {
    PRESET_RELEASE(lease[i]);
  }
}

static uint32_t idle(void) {
  return fixture_stats(pool).idle;
}

Test(channel_queue,
     behaviour_027_a_returned_connection_counts_as_idle,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(idle(), 0);
    PRESET_RELEASE(lease);
    cr_assert_eq(idle(), 1);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_029_three_returned_are_three_idle,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_idle(i, "", 3);
    cr_assert_eq(idle(), 3);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_030_one_that_is_taken_counts_as_idle_no_more,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_idle(i, "", 3);
    (void)fixture_acquire(&f, pool);
    cr_assert_eq(idle(), 2);
    cr_assert_eq(fixture_stats(pool).connects_begun, 3);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_032_nothing_is_taken_from_a_pool_without_idle,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_pool(i, "");
    cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_E_TIMEOUT);
    cr_assert_eq(lease, 0);
    cr_assert_eq(idle(), 0);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_033_a_submitted_acquire_takes_an_idle_one,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_idle(i, "", 2);
    weir_h queue = queue_of(&f, 1);
    cr_assert_eq(weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 7, &lease,
                                     NULL, NULL),
                 WEIR_OK);
    cr_assert_eq(idle(), 1);
    cr_assert_eq(fixture_stats(pool).leased, 1);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_035_a_submitted_acquire_waits_and_gets_what_is_returned,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h queue = queue_of(&f, 1);
    weir_h lease = fixture_acquire(&f, pool);
    int64_t session = fixture_number(&f, lease, "session", 0);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
    PRESET_RELEASE(lease);
    lease = take_one(&f, queue, 7, WEIR_OK).lease;
    cr_assert_eq(fixture_number(&f, lease, "session", 0), session);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_036_a_cancelled_wait_ends_as_cancelled,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h queue = queue_of(&f, 1);
    weir_h lease = fixture_acquire(&f, pool);
    weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    cr_assert_eq(weir_op_cancel(op), WEIR_OK);
    (void)take_one(&f, queue, 7, WEIR_E_CANCELLED);
    PRESET_RELEASE(lease);
    cr_assert_eq(idle(), 1); /* nothing went to the one who left */
    fixture_close(&f);
  }
}

static void close_pool(void) {
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
}

Test(channel_queue,
     behaviour_037_the_first_end_of_the_line_is_told,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_idle(i, "", 2);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, sessions_live, 0);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_038_the_second_is_told_that_it_is_over,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_idle(i, "", 2);
    weir_h lease = fixture_acquire(&f, pool);
    close_pool();
    cr_assert_eq(weir_pool_close(pool), WEIR_E_HANDLE);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    PRESET_RELEASE(lease);
    fixture_close(&f);
  }
}

/* It was its own before the end; only then is it closed. */
Test(channel_queue,
     behaviour_040_what_was_given_before_the_end_can_still_be_taken,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=1");
    weir_h queue = queue_of(&f, 1);
    weir_h lease = fixture_acquire(&f, pool);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    PRESET_RELEASE(lease); /* which posts it */
    close_pool();
    lease = take_one(&f, queue, 7, WEIR_OK).lease;
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
    PRESET_RELEASE(lease);
    AWAIT_COUNT(&f, sessions_live, 0);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_039_what_comes_back_after_the_end_is_not_kept,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_pool(i, "Max Pool Size=2");
    weir_h lease = fixture_acquire(&f, pool);
    close_pool();
    PRESET_RELEASE(lease);
    AWAIT_COUNT(&f, sessions_live, 0);
    AWAIT_COUNT(&f, conns_live, 0);
    fixture_close(&f);
  }
}

/* The handle is stale; whoever still comes by another way is told so, too. */
Test(channel_queue,
     behaviour_041_an_acquire_after_the_end_is_told_so,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h lease = 0;
    open_idle(i, "", 1);
    weir_h queue = queue_of(&f, 1);
    cr_assert_eq(weir_pool_drain(pool, 0, NULL), WEIR_OK);
    cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, NULL),
                 WEIR_E_CLOSED);
    cr_assert_eq(weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 7, &lease,
                                     NULL, NULL),
                 WEIR_E_CLOSED);
    close_pool();
    cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, NULL),
                 WEIR_E_HANDLE);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_042_who_waits_when_the_end_comes_is_told_so,
     .timeout = 10) {
  EACH_PRESET(i) {
    struct acquirer waiter;
    open_pool(i, "Max Pool Size=1");
    weir_h queue = queue_of(&f, 1);
    weir_h lease = fixture_acquire(&f, pool);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    acquirer_start(&waiter, pool, WEIR_TIMEOUT_NEVER);
    acquirer_settle(&waiter, 2);
    close_pool();
    cr_assert_eq(acquirer_join(&waiter), WEIR_E_CLOSED);
    (void)take_one(&f, queue, 7, WEIR_E_CLOSED);
    PRESET_RELEASE(lease);
    fixture_close(&f);
  }
}

Test(channel_queue,
     behaviour_043_mixed_uses_leave_the_count_of_idle_ones_exact,
     .timeout = 10) {
  EACH_PRESET(i) {
    open_idle(i, "Max Pool Size=3", 3);
    weir_h a = fixture_acquire(&f, pool);
    weir_h b = fixture_acquire(&f, pool);
    cr_assert_eq(idle(), 1);
    PRESET_RELEASE(a);
    cr_assert_eq(idle(), 2);
    cr_assert_eq(weir_discard(b), WEIR_OK);
    cr_assert_eq(idle(), 2);
    a = fixture_acquire(&f, pool);
    b = fixture_acquire(&f, pool);
    cr_assert_eq(idle(), 0);
    PRESET_RELEASE(b);
    PRESET_RELEASE(a);
    cr_assert_eq(idle(), 2);
    cr_assert_eq(preset_count(pool), 2);
    fixture_close(&f);
  }
}

static void *take_and_return(void *unused) {
  (void)unused;
  for (unsigned i = 0; i < 200; i++) {
    weir_h lease = 0;
    cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, NULL), WEIR_OK);
    PRESET_RELEASE(lease);
  }
  return NULL;
}

Test(channel_queue,
     behaviour_044_threads_that_take_and_return_leave_all_idle,
     .timeout = 30) {
  EACH_PRESET(i) {
    pthread_t thread[MANY];
    open_pool(i, "Max Pool Size=4");
    for (unsigned k = 0; k < MANY; k++) {
      cr_assert_eq(pthread_create(&thread[k], NULL, take_and_return, NULL), 0);
    }
    for (unsigned k = 0; k < MANY; k++) {
      cr_assert_eq(pthread_join(thread[k], NULL), 0);
    }
    fixture_sync(&f);
    AWAIT_STAT(pool, connecting, 0);
    cr_assert_eq(fixture_stats(pool).leased, 0);
    cr_assert_eq(fixture_stats(pool).waiters, 0);
    cr_assert_eq(idle(), preset_count(pool));
    cr_assert_eq(fixture_stats(pool).acquired, UINT64_C(200) * MANY);
    fixture_close(&f);
  }
}
