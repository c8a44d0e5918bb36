/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "virtual_clock.h"

static struct fixture f;

/* A thread that drains. */
struct drainer {
  pthread_t thread;
  weir_h pool;
  int64_t grace_ns;
  int rc;
  struct weir_error err;
};

static void *run_drainer(void *arg) {
  struct drainer *d = arg;
  d->err.struct_size = sizeof d->err;
  d->rc = weir_pool_drain(d->pool, d->grace_ns, &d->err);
  return NULL;
}

static void await_state(weir_h pool, uint32_t state) {
  AWAIT_STAT(pool, state, state);
}

static void drainer_start(struct drainer *d, weir_h pool, int64_t grace_ns) {
  *d = (struct drainer){.pool = pool, .grace_ns = grace_ns};
  cr_assert_eq(pthread_create(&d->thread, NULL, run_drainer, d), 0);
  await_state(pool, WEIR_POOL_DRAINING);
}

static int drainer_join(struct drainer *d) {
  cr_assert_eq(pthread_join(d->thread, NULL), 0);
  return d->rc;
}

static int drain(weir_h pool, int64_t grace_ns) {
  f.err.struct_size = sizeof f.err;
  return weir_pool_drain(pool, grace_ns, &f.err);
}

static int try_acquire(weir_h pool, int64_t timeout_ns) {
  weir_h lease = 0;
  f.err.struct_size = sizeof f.err;
  return weir_acquire(pool, timeout_ns, &lease, &f.err);
}

/* ------------------------------------------------------------------- pause */

Test(pause, queues_who_comes_and_serves_them_in_order, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  weir_h lease = fixture_single(&f, "", &pool);
  struct acquirer w[3];
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).state, WEIR_POOL_PAUSED);
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&w[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, i + 1);
  }
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).state, WEIR_POOL_OPEN);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&w[i]), WEIR_OK);
    cr_assert_eq(w[i].order, i);
    cr_assert_eq(weir_release(w[i].lease), WEIR_OK);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

Test(pause, lets_time_outs_run_on, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = 0;
  struct acquirer w;
  cr_assert_eq(weir_release(fixture_single(&f, "", &pool)), WEIR_OK);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  acquirer_start(&w, pool, 5 * FIXTURE_S);
  AWAIT_STAT(pool, waiters, 1);
  uint64_t end = virtual_clock_now() + 5 * (uint64_t)FIXTURE_S;
  virtual_clock_wait_parked(1);
  fixture_advance(&f, 5 * (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&w), WEIR_E_TIMEOUT);
  cr_assert_eq(w.ended, end);
  cr_assert_not_null(strstr(w.err.message, "the pool is paused"), "%s",
                     w.err.message);
  fixture_close(&f);
}

Test(pause, refuses_those_who_do_not_wait, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  cr_assert_eq(weir_release(fixture_single(&f, "", &pool)), WEIR_OK);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  cr_assert_eq(try_acquire(pool, 0), WEIR_E_TIMEOUT);
  cr_assert_str_eq(f.err.message,
                   "the pool is paused, and a time-out of 0 does not wait for "
                   "weir_pool_resume()");
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(try_acquire(pool, 0), WEIR_OK);
  fixture_close(&f);
}

Test(pause, keeps_what_comes_back_from_who_waits, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct acquirer w;
  weir_h lease = fixture_single(&f, "", &pool);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER); /* in line before the pause */
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  fixture_close(&f);
}

Test(pause, opens_nothing, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=4");
  struct acquirer w;
  AWAIT_STAT(pool, idle, 2);
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  AWAIT_STAT(pool, empty, 3);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  AWAIT_STAT(pool, connects_begun, 3); /* Min Pool Size again */
  fixture_close(&f);
}

/* A connect that ends in the pause is nobody's; the caller that drove it stands in
 * line before those who came after it. */
Test(pause, puts_a_caller_that_was_opening_in_its_place, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=1;Mock Script Text=\"connect 1: hang\"");
  struct acquirer w[2];
  acquirer_start(&w[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  acquirer_start(&w[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
  AWAIT_STAT(pool, idle, 1);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&w[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_release(w[0].lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&w[1]), WEIR_OK);
  fixture_close(&f);
}

Test(pause, lets_leases_go_on, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  weir_h lease = fixture_single(&f, "", &pool);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(pause, does_not_keep_an_engine_from_its_end, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  struct acquirer w;
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_E_CLOSED);
  cr_assert_str_eq(w.err.message, "the pool is closed; open it again");
  cr_assert_eq(weir_pool_pause(pool), WEIR_E_HANDLE);
  cr_assert_eq(weir_pool_resume(pool), WEIR_E_HANDLE);
  fixture_close(&f);
}

/* ------------------------------------------------------------------- drain */

Test(drain, ends_when_the_last_lease_is_back, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=3");
  weir_h leases[2] = {fixture_acquire(&f, pool), fixture_acquire(&f, pool)};
  struct drainer d;
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  drainer_start(&d, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, empty, 1); /* the idle one */
  cr_assert_eq(try_acquire(pool, FIXTURE_S), WEIR_E_CLOSED);
  cr_assert_str_eq(f.err.message,
                   "the pool is draining; weir_pool_resume() has it take "
                   "callers again");
  for (unsigned i = 0; i < 2; i++) {
    cr_assert_eq(fixture_run(&f, leases[i], "rows 1"), WEIR_OK);
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  cr_assert_eq(drainer_join(&d), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).empty, 3);
  cr_assert_eq(try_acquire(pool, 0), WEIR_E_CLOSED);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  (void)fixture_acquire(&f, pool);
  fixture_close(&f);
}

Test(drain, of_an_idle_pool_needs_no_grace, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=4;Max Pool Size=4");
  AWAIT_STAT(pool, idle, 4);
  cr_assert_eq(drain(pool, 0), WEIR_OK, "%s", f.err.message);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).empty, 4);
  cr_assert_eq(fixture_stats(pool).connects_begun, 4); /* no refill */
  cr_assert_eq(drain(pool, 0), WEIR_OK);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  AWAIT_STAT(pool, idle, 4);
  fixture_close(&f);
}

Test(drain, serves_those_in_line_first, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct acquirer w[2];
  struct drainer d;
  weir_h lease = fixture_single(&f, "", &pool);
  for (unsigned i = 0; i < 2; i++) {
    acquirer_start(&w[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, i + 1);
  }
  drainer_start(&d, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  for (unsigned i = 0; i < 2; i++) {
    cr_assert_eq(acquirer_join(&w[i]), WEIR_OK);
    cr_assert_eq(fixture_run(&f, w[i].lease, "rows 1"), WEIR_OK);
    cr_assert_eq(weir_release(w[i].lease), WEIR_OK);
  }
  cr_assert_eq(drainer_join(&d), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

/* Forty of them: more than are woken at a time. */
Test(drain, tells_those_in_line_when_nothing_can_come_back, .timeout = 20) {
  enum {
    N = 40
  };
  fixture_open(&f);
  weir_h pool = 0;
  static struct acquirer w[N];
  struct drainer d;
  weir_h lease = fixture_single(&f, "", &pool);
  for (unsigned i = 0; i < N; i++) {
    acquirer_start(&w[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, N);
  drainer_start(&d, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  for (unsigned i = 0; i < N; i++) {
    cr_assert_eq(acquirer_join(&w[i]), WEIR_E_CLOSED);
  }
  cr_assert_eq(drainer_join(&d), WEIR_OK);
  fixture_close(&f);
}

Test(drain, takes_away_what_is_left_after_the_grace, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=3");
  struct drainer d;
  struct acquirer w;
  struct runner r;
  weir_h leases[3];
  for (unsigned i = 0; i < 3; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  runner_start(&r, &f, leases[0], "hang");
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  drainer_start(&d, pool, 5 * FIXTURE_S);
  cr_assert_eq(weir_discard(leases[2]), WEIR_OK); /* in time */
  AWAIT_STAT(pool, empty, 1);
  virtual_clock_wait_parked(2);
  fixture_advance(&f, 5 * (uint64_t)FIXTURE_S);
  cr_assert_eq(runner_join(&r), WEIR_E_CLOSED);
  cr_assert_eq(acquirer_join(&w), WEIR_E_CLOSED);
  cr_assert_eq(drainer_join(&d), WEIR_E_TIMEOUT);
  cr_assert_str_eq(d.err.message,
                   "the grace passed: 2 leases were taken away and 1 waiters "
                   "refused; 0 sessions are still closing");
  cr_assert_eq(weir_release(leases[0]), WEIR_E_HANDLE);
  cr_assert_eq(weir_release(leases[1]), WEIR_E_HANDLE);
  cr_assert_eq(fixture_stats(pool).empty, 3);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  fixture_close(&f);
}

Test(drain, ends_connects_after_the_grace, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=2;Min Pool Size=1;Mock Script Text=\"connect: hang\"");
  struct drainer d;
  struct acquirer w;
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  drainer_start(&d, pool, FIXTURE_S);
  virtual_clock_wait_parked(1);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&w), WEIR_E_CLOSED);
  cr_assert_eq(drainer_join(&d), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).empty, 2);
  fixture_close(&f);
}

Test(drain, is_called_off_by_a_resume, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct drainer d;
  weir_h lease = fixture_single(&f, "", &pool);
  drainer_start(&d, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(drainer_join(&d), WEIR_E_CANCELLED);
  cr_assert_str_eq(d.err.message, "the pool was resumed before it was empty");
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

Test(drain, ends_when_the_pool_is_closed, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct drainer d;
  weir_h lease = fixture_single(&f, "", &pool);
  drainer_start(&d, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  cr_assert_eq(drainer_join(&d), WEIR_E_CLOSED);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(drain, does_not_hold_up_a_shutdown, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct drainer d;
  (void)fixture_single(&f, "", &pool);
  drainer_start(&d, pool, WEIR_TIMEOUT_NEVER);
  fixture_close(&f);
  cr_assert_eq(drainer_join(&d), WEIR_E_CLOSED);
}

Test(drain, ends_a_pause, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct acquirer w;
  struct drainer d;
  cr_assert_eq(weir_release(fixture_single(&f, "", &pool)), WEIR_OK);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  drainer_start(&d, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK); /* no pause while it drains */
  cr_assert_eq(fixture_stats(pool).state, WEIR_POOL_DRAINING);
  cr_assert_eq(weir_release(w.lease), WEIR_OK);
  cr_assert_eq(drainer_join(&d), WEIR_OK);
  fixture_close(&f);
}

Test(drain, twice_at_once_is_one, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct drainer d[2];
  weir_h lease = fixture_single(&f, "", &pool);
  drainer_start(&d[0], pool, WEIR_TIMEOUT_NEVER);
  drainer_start(&d[1], pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(drainer_join(&d[0]), WEIR_OK);
  cr_assert_eq(drainer_join(&d[1]), WEIR_OK);
  fixture_close(&f);
}

Test(drain, refuses_a_grace_below_zero, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  cr_assert_eq(drain(pool, -1), WEIR_E_ARG);
  cr_assert_str_eq(f.err.message,
                   "grace_ns is negative; 0 or more, or WEIR_TIMEOUT_NEVER");
  cr_assert_eq(drain(pool + 1, 0), WEIR_E_HANDLE);
  fixture_close(&f);
}

/* ------------------------------------------------------------------ resize */

static void check_sum(weir_h pool) {
  struct weir_pool_stats s = fixture_stats(pool);
  uint32_t taken = s.connecting + s.idle + s.leased + s.reserved + s.closing;
  cr_assert_eq(s.empty, s.effective_max > taken ? s.effective_max - taken : 0);
}

static void resize(weir_h pool, uint32_t min, uint32_t max) {
  f.err.struct_size = sizeof f.err;
  cr_assert_eq(weir_pool_resize(pool, min, max, &f.err), WEIR_OK, "%s",
               f.err.message);
  check_sum(pool);
}

Test(resize,
     closes_idle_ones_at_once_and_leased_ones_on_return,
     .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=6");
  weir_h leases[6];
  for (unsigned i = 0; i < 6; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  cr_assert_eq(weir_release(leases[0]), WEIR_OK);
  resize(pool, 0, 3);
  AWAIT_STAT(pool, closed, 1); /* the idle one */
  cr_assert_eq(fixture_stats(pool).leased, 5);
  cr_assert_eq(fixture_stats(pool).max_size, 3);
  cr_assert_eq(fixture_stats(pool).effective_max, 3);
  for (unsigned i = 1; i < 6; i++) {
    cr_assert_eq(fixture_run(&f, leases[i], "rows 1"), WEIR_OK);
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
    check_sum(pool);
  }
  AWAIT_STAT(pool, closed, 3);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).idle, 3);
  cr_assert_eq(fixture_stats(pool).closed, 3);
  fixture_close(&f);
}

Test(resize, keeps_a_waiter_until_there_is_room, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h leases[2] = {fixture_acquire(&f, pool), fixture_acquire(&f, pool)};
  struct acquirer w;
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  resize(pool, 0, 1);
  cr_assert_eq(weir_release(leases[0]), WEIR_OK); /* one too many */
  AWAIT_STAT(pool, closed, 1);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_release(leases[1]), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).sessions_max, 2);
  fixture_close(&f);
}

Test(resize, serves_who_waits_when_it_grows, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct acquirer w[3];
  (void)fixture_single(&f, "", &pool);
  for (unsigned i = 0; i < 3; i++) {
    acquirer_start(&w[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 3);
  resize(pool, 0, 4);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(acquirer_join(&w[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_stats(pool).leased, 4);
  fixture_close(&f);
}

Test(resize, grows_far_beyond_what_the_pool_was_opened_with, .timeout = 20) {
  enum {
    N = 1000
  };
  static weir_h leases[N];
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  for (uint32_t max = 1; max <= N; max = max * 3 + 1) {
    resize(pool, 0, max);
    for (uint32_t i = 0; i < max; i++) {
      leases[i] = fixture_acquire(&f, pool);
    }
    cr_assert_eq(try_acquire(pool, 0), WEIR_E_TIMEOUT);
    for (uint32_t i = 0; i < max; i++) {
      cr_assert_eq(weir_release(leases[i]), WEIR_OK);
    }
    cr_assert_eq(fixture_stats(pool).idle, max);
  }
  resize(pool, 0, 2);
  AWAIT_STAT(pool, empty, 0);
  AWAIT_STAT(pool, idle, 2);
  AWAIT_STAT(pool, closing, 0);
  fixture_close(&f);
}

Test(resize, fills_up_to_a_larger_minimum, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  resize(pool, 3, 5);
  AWAIT_STAT(pool, idle, 3);
  cr_assert_eq(fixture_stats(pool).min_size, 3);
  fixture_close(&f);
}

Test(resize, while_it_is_paused_serves_nobody_yet, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = 0;
  struct acquirer w;
  (void)fixture_single(&f, "", &pool);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  resize(pool, 0, 2);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  fixture_close(&f);
}

Test(resize, refuses_what_is_out_of_range, .timeout = 10) {
  static const uint32_t rows[][2] = {
      {0, 0}, {2, 1}, {0, 131073}, {131073, 131073}, {0, UINT32_MAX}};
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=7;Min Pool Size=0");
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    f.err.struct_size = sizeof f.err;
    cr_assert_eq(weir_pool_resize(pool, rows[i][0], rows[i][1], &f.err),
                 WEIR_E_ARG);
    cr_assert_not_null(strstr(f.err.message, "must be 1 to 131072"));
  }
  cr_assert_eq(fixture_stats(pool).max_size, 7);
  cr_assert_eq(weir_pool_resize(pool + 1, 0, 1, NULL), WEIR_E_HANDLE);
  fixture_close(&f);
}
