/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "engine.h"
#include "fixture.h"
#include "gates.h"
#include "handle.h"
#include "virtual_clock.h"

#define S FIXTURE_S

static struct fixture f;
static weir_h pool;
static weir_h queue;
static weir_h held; /* the pool's one lease */

/* A pool of one connection that is leased, and a queue. */
static void start_busy(const char *settings, uint32_t capacity) {
  held = fixture_single(&f, settings, &pool);
  queue = queue_of(&f, capacity);
}

static weir_h wait_for(int64_t timeout_ns, uint64_t user) {
  return submit_waiting(&f, pool, timeout_ns, queue, user);
}

static void give_back(void) {
  cr_assert_eq(weir_release(held), WEIR_OK);
}

/* The lease comes, and nothing else does. */
static void take_lease(uint64_t user) {
  held = take_one(&f, queue, user, WEIR_OK).lease;
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
}

static void take_failure(uint64_t user, int status) {
  (void)take_one(&f, queue, user, status);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
}

/* ------------------------------------------------------------------- inline */

Test(submit_acquire, ends_at_once_if_a_connection_is_idle, .timeout = 5) {
  weir_h lease = 0;
  weir_h op = 0;
  fixture_open(&f);
  start_busy("", 1);
  give_back();
  cr_assert_eq(weir_submit_acquire(pool, 0, queue, 1, &lease, &op, &f.err),
               WEIR_OK);
  cr_assert_neq(lease, 0);
  cr_assert_eq(op, 0);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(submit_acquire, without_time_tells_so_at_once, .timeout = 5) {
  weir_h lease = 0;
  fixture_open(&f);
  start_busy("", 1);
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(weir_submit_acquire(pool, 0, queue, 1, &lease, NULL, &f.err),
                 WEIR_E_TIMEOUT);
  }
  cr_assert_eq(lease, 0);
  cr_assert_eq(fixture_stats(pool).timeouts, 3);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  (void)wait_for(S, 2);
  fixture_close(&f);
}

Test(submit_acquire, is_refused_where_the_line_is_full, .timeout = 5) {
  weir_h lease = 0;
  fixture_open(&f);
  start_busy("Max Waiters=1", 2);
  (void)wait_for(S * 60, 1);
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(weir_submit_acquire(pool, S, queue, 2, &lease, NULL, &f.err),
                 WEIR_E_OVERLOADED);
  }
  give_back();
  take_lease(1);
  fixture_close(&f);
}

Test(submit_acquire, refuses_bad_arguments, .timeout = 5) {
  struct fixture other;
  weir_h lease = 0;
  fixture_open(&f);
  fixture_open(&other);
  start_busy("", 1);
  weir_h theirs = queue_of(&other, 1);
  cr_assert_eq(weir_submit_acquire(pool, S, queue, 1, NULL, NULL, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(weir_submit_acquire(pool, -2, queue, 1, &lease, NULL, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(weir_submit_acquire(pool, S, theirs, 1, &lease, NULL, &f.err),
               WEIR_E_ARG);
  cr_assert_str_eq(f.err.message, "the queue is of another engine");
  cr_assert_eq(weir_submit_acquire(pool, S, pool, 1, &lease, NULL, &f.err),
               WEIR_E_HANDLE);
  cr_assert_eq(weir_submit_acquire(queue, S, queue, 1, &lease, NULL, &f.err),
               WEIR_E_HANDLE);
  /* Nothing of this took the entry, and the operation need not be told. */
  cr_assert_eq(weir_submit_acquire(pool, S, queue, 1, &lease, NULL, NULL),
               WEIR_PENDING);
  fixture_close(&other);
  fixture_close(&f);
}

Test(submit_acquire, is_refused_by_a_closed_pool, .timeout = 5) {
  weir_h lease = 0;
  fixture_open(&f);
  start_busy("", 1);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  int rc = weir_submit_acquire(pool, S, queue, 1, &lease, NULL, &f.err);
  cr_assert_eq(rc, WEIR_E_HANDLE);
  give_back();
  fixture_close(&f);
}

/* ------------------------------------------------------------------ waiting */

Test(submit_acquire, is_served_by_a_release, .timeout = 5) {
  fixture_open(&f);
  start_busy("", 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 9);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  give_back();
  take_lease(9);
  cr_assert_eq(fixture_run(&f, held, "count 1"), WEIR_OK);
  give_back();
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  fixture_close(&f);
}

/* One line for both kinds. */
Test(submit_acquire, waits_in_line_with_blocking_callers, .timeout = 20) {
  static struct acquirer blocking[10];
  fixture_open(&f);
  start_busy("", 10);
  for (unsigned i = 0; i < 10; i++) {
    acquirer_start(&blocking[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, 2 * i + 1);
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
    give_back();
    cr_assert_eq(acquirer_join(&blocking[i]), WEIR_OK);
    cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
    cr_assert_eq(weir_release(blocking[i].lease), WEIR_OK);
    take_lease(i);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

Test(submit_acquire, times_out_to_the_nanosecond, .timeout = 5) {
  fixture_open_virtual(&f);
  start_busy("", 1);
  (void)wait_for(3 * S, 1);
  fixture_sync(&f);
  fixture_advance(&f, (uint64_t)(3 * S) - 1);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_advance(&f, 1);
  take_failure(1, WEIR_E_TIMEOUT);
  cr_assert_eq(f.err.code, WEIR_E_TIMEOUT); /* of the take that found none */
  cr_assert_eq(fixture_stats(pool).timeouts, 1);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  fixture_close(&f);
}

Test(submit_acquire, tells_what_a_blocking_caller_would_be_told, .timeout = 5) {
  struct weir_completion c = {.struct_size = sizeof c};
  fixture_open_virtual(&f);
  start_busy("Connect Timeout=2", 1);
  (void)wait_for(WEIR_TIMEOUT_POOL, 1);
  fixture_advance(&f, (uint64_t)(2 * S));
  cr_assert_eq(weir_queue_take(queue, S, &c, &f.err), WEIR_OK);
  cr_assert_eq(c.status, WEIR_E_TIMEOUT);
  cr_assert_eq(f.err.code, WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(f.err.message, "timed out after 2.00 s waiting for "
                                           "a connection: Max Pool Size 1"));
  fixture_close(&f);
}

/* The timer of an entry is left as it is when its operation is served. */
Test(submit_acquire, keeps_time_in_an_entry_that_is_used_again, .timeout = 10) {
  fixture_open_virtual(&f);
  start_busy("", 1);
  (void)wait_for(10 * S, 1);
  fixture_advance(&f, (uint64_t)S);
  give_back();
  take_lease(1);
  /* Later than the timer is set to. */
  (void)wait_for(60 * S, 2);
  fixture_advance(&f, (uint64_t)(60 * S) - 1);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_advance(&f, 1);
  take_failure(2, WEIR_E_TIMEOUT);
  /* Sooner. */
  (void)wait_for(50 * S, 3);
  fixture_advance(&f, (uint64_t)S);
  give_back();
  take_lease(3);
  (void)wait_for(S, 4);
  fixture_advance(&f, (uint64_t)S);
  take_failure(4, WEIR_E_TIMEOUT);
  fixture_close(&f);
}

static uint64_t wakes(void) {
  const struct weir__engine *e = weir__handle_find(f.engine, WEIR_TYPE_ENGINE);
  return weir__reactor_wakes(e->reactor);
}

Test(submit_acquire, does_not_trouble_the_reactor_when_it_is_served) {
  fixture_open_virtual(&f);
  start_busy("", 1);
  (void)wait_for(10 * S, 0);
  give_back();
  take_lease(0);
  fixture_sync(&f);
  uint64_t before = wakes();
  for (uint64_t i = 1; i < 100; i++) {
    (void)wait_for(10 * S, i);
    give_back();
    take_lease(i);
  }
  cr_assert_lt(wakes() - before, 5); /* those of before may be late */
  fixture_close(&f);
}

Test(submit_acquire, is_not_served_after_its_deadline, .timeout = 5) {
  fixture_open_virtual(&f);
  gates_install();
  start_busy("", 1);
  gate_hold("submit.time");
  (void)wait_for(S, 1);
  cr_assert_eq(gate_wait_reached("submit.time", 1), 0);
  virtual_clock_advance((uint64_t)S);
  give_back();
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  gate_open("submit.time");
  take_failure(1, WEIR_E_TIMEOUT);
  gates_restore();
  fixture_close(&f);
}

/* ------------------------------------------------------------------ opening */

Test(submit_acquire, has_the_reactor_open_what_it_needs, .timeout = 10) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Max Pool Size=10");
  queue = queue_of(&f, 20);
  for (uint64_t i = 0; i < 20; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  weir_h leases[10];
  for (unsigned i = 0; i < 10; i++) {
    struct weir_completion c = {.struct_size = sizeof c};
    cr_assert_eq(weir_queue_take(queue, 5 * S, &c, &f.err), WEIR_OK);
    cr_assert_eq(c.status, WEIR_OK);
    cr_assert_eq(c.user, i);
    leases[i] = c.lease;
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 10);
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  for (uint64_t i = 10; i < 20; i++) {
    cr_assert_eq(weir_release(take_one(&f, queue, i, WEIR_OK).lease), WEIR_OK);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 10);
  fixture_close(&f);
}

Test(submit_acquire, opens_beside_a_caller_that_opens_for_itself) {
  struct acquirer a;
  fixture_open(&f);
  pool = fixture_pool(&f, "Mock Script Text=\"connect 1-2: hang\"");
  queue = queue_of(&f, 1);
  acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  AWAIT_COUNT(&f, hung, 2);
  (void)f.mock->release_hung(f.drv, 0);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  take_lease(1);
  fixture_close(&f);
}

Test(submit_acquire, fails_as_its_connect_does, .timeout = 5) {
  struct weir_completion c = {.struct_size = sizeof c};
  fixture_open(&f);
  pool = fixture_pool(&f, "Pool Blocking Period=never;Mock Script Text="
                          "\"connect 1: fail endpoint network "
                          "'nobody there'\"");
  queue = queue_of(&f, 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  cr_assert_eq(weir_queue_take(queue, 5 * S, &c, &f.err), WEIR_OK);
  cr_assert_eq(c.status, WEIR_E_FAIL);
  cr_assert_eq(f.err.code, WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "nobody there"));
  (void)wait_for(WEIR_TIMEOUT_NEVER, 2);
  take_lease(2);
  fixture_close(&f);
}

Test(submit_acquire, times_out_while_its_connect_goes_on, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Mock Script Text=\"connect 1: hang\"");
  queue = queue_of(&f, 1);
  (void)wait_for(S, 1);
  AWAIT_COUNT(&f, hung, 1);
  fixture_advance(&f, (uint64_t)S);
  take_failure(1, WEIR_E_TIMEOUT);
  (void)f.mock->release_hung(f.drv, 0);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

Test(submit_acquire, waits_for_a_place_that_closes, .timeout = 5) {
  fixture_open(&f);
  start_busy("", 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  cr_assert_eq(weir_discard(held), WEIR_OK);
  take_lease(1);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_close(&f);
}

Test(submit_acquire, waits_while_its_pool_is_paused, .timeout = 5) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Max Pool Size=2");
  queue = queue_of(&f, 2);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 2);
  fixture_sync(&f);
  cr_assert_eq(fixture_stats(pool).connects_begun, 0);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  (void)take_one(&f, queue, 1, WEIR_OK);
  (void)take_one(&f, queue, 2, WEIR_OK);
  fixture_close(&f);
}

static int drain_pool(weir_h handle) {
  return weir_pool_drain(handle, WEIR_TIMEOUT_NEVER, NULL);
}

/* Those in line are served, and nobody else is let in. */
Test(submit_acquire, is_served_by_a_pool_that_drains, .timeout = 5) {
  struct doing d;
  weir_h none = 0;
  fixture_open(&f);
  start_busy("", 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  doing_start(&d, drain_pool, pool);
  AWAIT_STAT(pool, state, WEIR_POOL_DRAINING);
  cr_assert_eq(weir_submit_acquire(pool, S, queue, 2, &none, NULL, &f.err),
               WEIR_E_CLOSED);
  cr_assert_not_null(strstr(f.err.message, "draining"));
  give_back();
  take_lease(1);
  give_back();
  cr_assert_eq(doing_join(&d), WEIR_OK);
  fixture_close(&f);
}

/* --------------------------------------------------------- checking grants */

#define DEAD_ONCE "Probe Window=0;Mock Script Text=\"health 1: dead\""

Test(submit_acquire, gets_another_connection_for_a_dead_one, .timeout = 5) {
  fixture_open(&f);
  start_busy(DEAD_ONCE, 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  give_back();
  take_lease(1);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.connects_begun, 2);
  cr_assert_eq(s.wait_count, 2); /* the first opened for itself */
  cr_assert_eq(s.closed, 1);
  fixture_close(&f);
}

Test(submit_acquire, keeps_its_place_when_a_connection_was_dead, .timeout = 5) {
  fixture_open(&f);
  start_busy(DEAD_ONCE, 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 2);
  give_back();
  held = take_one(&f, queue, 1, WEIR_OK).lease;
  give_back();
  take_lease(2);
  fixture_close(&f);
}

/* A release does not look at the connection of another. */
Test(submit_acquire, is_looked_at_by_the_reactor_only, .timeout = 5) {
  fixture_open(&f);
  gates_install();
  start_busy("Probe Window=0", 1);
  gate_hold("submit.check");
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  uint64_t looks = fixture_counts(&f).calls[MOCK_HEALTH];
  give_back();
  cr_assert_eq(gate_wait_reached("submit.check", 1), 0);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], looks);
  gate_open("submit.check");
  take_lease(1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_HEALTH], looks + 1);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, cancelled_while_it_is_checked_waits_no_more) {
  fixture_open(&f);
  gates_install();
  start_busy(DEAD_ONCE, 1);
  gate_hold("submit.check");
  weir_h op = wait_for(WEIR_TIMEOUT_NEVER, 1);
  give_back();
  cr_assert_eq(gate_wait_reached("submit.check", 1), 0);
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  gate_open("submit.check");
  take_failure(1, WEIR_E_CANCELLED);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, late_when_its_connection_was_dead_times_out) {
  fixture_open_virtual(&f);
  gates_install();
  start_busy(DEAD_ONCE, 1);
  gate_hold("submit.check");
  (void)wait_for(S, 1);
  fixture_sync(&f);
  give_back();
  cr_assert_eq(gate_wait_reached("submit.check", 1), 0);
  virtual_clock_advance((uint64_t)S);
  gate_open("submit.check");
  take_failure(1, WEIR_E_TIMEOUT);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, told_of_the_end_of_the_pool_while_it_is_checked) {
  fixture_open(&f);
  gates_install();
  start_busy(DEAD_ONCE, 1);
  gate_hold("submit.check");
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  give_back();
  cr_assert_eq(gate_wait_reached("submit.check", 1), 0);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  gate_open("submit.check");
  take_failure(1, WEIR_E_CLOSED);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, survives_the_end_of_its_queue_while_it_is_checked) {
  fixture_open(&f);
  gates_install();
  start_busy("Probe Window=0", 1);
  gate_hold("submit.check");
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  give_back();
  cr_assert_eq(gate_wait_reached("submit.check", 1), 0);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  gate_open("submit.check");
  AWAIT_STAT(pool, idle, 1);
  gates_restore();
  fixture_close(&f);
}

/* ------------------------------------------------------------- exactly once */

static int release_lease(weir_h lease) {
  return weir_release(lease);
}

static int cancel_op(weir_h op) {
  return weir_op_cancel(op);
}

static int close_pool(weir_h handle) {
  return weir_pool_close(handle);
}

/* The grant is decided and not yet posted when the other comes. */
static void grant_first(int (*other)(weir_h handle), weir_h handle, int rc) {
  struct doing d;
  gate_hold("submit.decided.locked");
  doing_start(&d, release_lease, held);
  cr_assert_eq(gate_wait_reached("submit.decided.locked", 1), 0);
  cr_assert_eq(other(handle), rc);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  gate_open("submit.decided.locked");
  cr_assert_eq(doing_join(&d), WEIR_OK);
  take_lease(1);
  give_back();
}

Test(submit_acquire, cancelled_after_its_grant_brings_the_lease) {
  fixture_open(&f);
  gates_install();
  start_busy("", 1);
  weir_h op = wait_for(WEIR_TIMEOUT_NEVER, 1);
  grant_first(cancel_op, op, WEIR_OK);
  cr_assert_eq(fixture_stats(pool).cancelled, 0);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, granted_before_its_pool_closes_brings_the_lease) {
  fixture_open(&f);
  gates_install();
  start_busy("", 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  grant_first(close_pool, pool, WEIR_OK);
  gates_restore();
  fixture_close(&f);
}

static int pass_time(weir_h ns) {
  virtual_clock_advance(ns);
  fixture_sync(&f);
  return WEIR_OK;
}

Test(submit_acquire, granted_before_its_deadline_brings_the_lease) {
  fixture_open_virtual(&f);
  gates_install();
  start_busy("", 1);
  (void)wait_for(S, 1);
  fixture_sync(&f);
  grant_first(pass_time, (weir_h)S, WEIR_OK);
  cr_assert_eq(fixture_stats(pool).timeouts, 0);
  gates_restore();
  fixture_close(&f);
}

/* A cancellation has found the operation when the other ends it. */
static void cancel_late(int (*other)(weir_h handle),
                        weir_h handle,
                        weir_h op,
                        int status) {
  struct doing d;
  gate_hold("op.cancel.locked");
  doing_start(&d, cancel_op, op);
  cr_assert_eq(gate_wait_reached("op.cancel.locked", 1), 0);
  cr_assert_eq(other(handle), WEIR_OK);
  struct weir_completion c = take_one(&f, queue, 1, status);
  /* The queue has room for one, and its completion has been taken; the entry that
   * is still looked at is not used again. */
  weir_h lease = 0;
  weir_h next = 0;
  int rc = weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 2, &lease,
                               &next, NULL);
  cr_assert(rc == WEIR_PENDING || rc == WEIR_E_HANDLE);
  gate_open("op.cancel.locked");
  cr_assert_eq(doing_join(&d), WEIR_OK);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  if (c.lease != 0) {
    cr_assert_eq(weir_release(c.lease), WEIR_OK);
    (void)take_one(&f, queue, 2, WEIR_OK);
  } else if (rc == WEIR_PENDING) {
    cr_assert_eq(weir_op_cancel(next), WEIR_OK);
    (void)take_one(&f, queue, 2, WEIR_E_CANCELLED);
  }
}

Test(submit_acquire, granted_before_a_cancellation_brings_the_lease) {
  fixture_open(&f);
  gates_install();
  start_busy("", 1);
  weir_h op = wait_for(WEIR_TIMEOUT_NEVER, 1);
  cancel_late(release_lease, held, op, WEIR_OK);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, timed_out_before_a_cancellation_says_so) {
  fixture_open_virtual(&f);
  gates_install();
  start_busy("", 1);
  weir_h op = wait_for(S, 1);
  fixture_sync(&f);
  cancel_late(pass_time, (weir_h)S, op, WEIR_E_TIMEOUT);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, closed_before_a_cancellation_says_so) {
  fixture_open(&f);
  gates_install();
  start_busy("", 1);
  weir_h op = wait_for(WEIR_TIMEOUT_NEVER, 1);
  cancel_late(close_pool, pool, op, WEIR_E_CLOSED);
  gates_restore();
  fixture_close(&f);
}

/* Its time has come, but somebody was faster. */
static void time_late(int (*other)(weir_h handle), weir_h handle, int status) {
  gate_hold("submit.time");
  virtual_clock_advance((uint64_t)S - 1);
  cr_assert_eq(gate_wait_reached("submit.time", 1), 0);
  cr_assert_eq(other(handle), WEIR_OK);
  (void)take_one(&f, queue, 1, status);
  virtual_clock_advance(1);
  gate_open("submit.time");
  fixture_sync(&f);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).timeouts, 0);
}

/* The timer is set to 1 ns before the deadline by an earlier operation. */
static weir_h wait_with_early_timer(void) {
  (void)wait_for(S - 1, 0);
  fixture_sync(&f);
  give_back();
  take_lease(0);
  return wait_for(S, 1);
}

Test(submit_acquire, granted_when_its_timer_fires_brings_the_lease) {
  fixture_open_virtual(&f);
  gates_install();
  start_busy("", 1);
  (void)wait_with_early_timer();
  time_late(release_lease, held, WEIR_OK);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, cancelled_when_its_timer_fires_says_so) {
  fixture_open_virtual(&f);
  gates_install();
  start_busy("", 1);
  weir_h op = wait_with_early_timer();
  time_late(cancel_op, op, WEIR_E_CANCELLED);
  gates_restore();
  fixture_close(&f);
}

Test(submit_acquire, is_told_of_the_end_of_its_pool, .timeout = 5) {
  fixture_open(&f);
  start_busy("", 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  for (uint64_t i = 0; i < 3; i++) {
    (void)take_one(&f, queue, i, WEIR_E_CLOSED);
    cr_assert_str_eq(f.err.message, "the pool is closed; open it again");
  }
  give_back();
  fixture_close(&f);
}

/* More at once than can be noted of blocking ones. */
Test(submit_acquire, is_told_of_the_end_of_its_pool_in_great_number) {
  fixture_open(&f);
  start_busy("", 300);
  for (uint64_t i = 0; i < 300; i++) {
    (void)wait_for(S * 60, i);
  }
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  for (uint64_t i = 0; i < 300; i++) {
    (void)take_one(&f, queue, i, WEIR_E_CLOSED);
  }
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

static int shut_down(weir_h engine) {
  return weir_engine_shutdown(engine, 60 * S, NULL);
}

Test(submit_acquire, is_told_of_the_end_of_its_engine, .timeout = 10) {
  struct doing d;
  fixture_open(&f);
  start_busy("", 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  (void)wait_for(60 * S, 2);
  doing_start(&d, shut_down, f.engine);
  (void)take_one(&f, queue, 1, WEIR_E_CLOSED);
  (void)take_one(&f, queue, 2, WEIR_E_CLOSED);
  give_back();
  cr_assert_eq(doing_join(&d), WEIR_OK);
}

/* The grant is decided when the engine ends: it comes, and must be given back. */
Test(submit_acquire, granted_before_its_engine_ends_brings_the_lease) {
  struct doing releasing;
  struct doing ending;
  fixture_open(&f);
  gates_install();
  start_busy("", 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  gate_watch("shut.batch.locked");
  gate_hold("submit.decided.locked");
  doing_start(&releasing, release_lease, held);
  cr_assert_eq(gate_wait_reached("submit.decided.locked", 1), 0);
  doing_start(&ending, shut_down, f.engine);
  cr_assert_eq(gate_wait_reached("shut.batch.locked", 1), 0);
  gate_open("submit.decided.locked");
  held = take_one(&f, queue, 1, WEIR_OK).lease;
  give_back();
  cr_assert_eq(doing_join(&releasing), WEIR_OK);
  cr_assert_eq(doing_join(&ending), WEIR_OK);
  gates_restore();
}

/* ---------------------------------------------------------------- statistics */

Test(submit_acquire, notes_how_long_both_kinds_waited, .timeout = 5) {
  struct acquirer a;
  fixture_open_virtual(&f);
  start_busy("", 1);
  (void)wait_for(60 * S, 1);
  fixture_advance(&f, (uint64_t)(3 * S));
  give_back();
  take_lease(1);
  acquirer_start(&a, pool, 60 * S);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, UINT64_C(1000));
  give_back();
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.wait_count, 3); /* and the caller that opened for itself */
  cr_assert_eq(s.wait_sum_ns, (uint64_t)(3 * S) + 1000);
  cr_assert_eq(s.wait_max_ns, (uint64_t)(3 * S));
  cr_assert_eq(s.wait_bucket[22], 1); /* below 4.2 s */
  cr_assert_eq(s.wait_bucket[1], 1);  /* 1 us is not below 1 us */
  cr_assert_eq(s.wait_bucket[0], 1);
  fixture_close(&f);
}
