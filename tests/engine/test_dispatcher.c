/* SPDX-License-Identifier: MIT */
/* Pool Async=dispatcher: of those who do not block only the oldest is in line. */
#include <stdio.h>
#include <string.h>

#include "completions.h"
#include "gates.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)

static struct fixture f;
static weir_h pool;
static weir_h queue;
static weir_h held; /* the pool's one lease */

/* A pool of one connection that is leased, and a queue. */
static void start_busy(const char *settings, uint32_t capacity) {
  char text[256];
  (void)snprintf(text, sizeof text, "Pool Async=dispatcher;%s", settings);
  held = fixture_single(&f, text, &pool);
  queue = queue_of(&f, capacity);
}

static void open_virtual(const char *settings, uint32_t capacity) {
  fixture_open_virtual(&f);
  start_busy(settings, capacity);
}

static weir_h wait_for(int64_t timeout_ns, uint64_t user) {
  return submit_waiting(&f, pool, timeout_ns, queue, user);
}

static void give_back(void) {
  cr_assert_eq(weir_release(held), WEIR_OK);
}

static void take_lease(uint64_t user) {
  held = take_one(&f, queue, user, WEIR_OK).lease;
}

static void take_nothing(void) {
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
}

static void serve(uint64_t from, uint64_t to) {
  for (uint64_t i = from; i < to; i++) {
    give_back();
    take_lease(i);
  }
}

/* ------------------------------------------------------------------ the line */

Test(dispatcher, serves_them_in_their_order, .timeout = 5) {
  fixture_open(&f);
  start_busy("", 8);
  for (uint64_t i = 0; i < 8; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  cr_assert_eq(fixture_stats(pool).waiters, 8);
  serve(0, 8);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  fixture_close(&f);
}

/* One who blocks is overtaken by none that came later, though the next from behind
 * comes into line after it. */
Test(dispatcher, has_those_behind_come_in_by_their_time, .timeout = 10) {
  struct acquirer a;
  open_virtual("Pool Handoff=queued", 3);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 0);
  fixture_advance(&f, 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  fixture_advance(&f, 1);
  acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 3);
  fixture_advance(&f, 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 2);
  serve(0, 2);
  give_back();
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  take_nothing();
  cr_assert_eq(weir_release(a.lease), WEIR_OK);
  take_lease(2);
  fixture_close(&f);
}

/* Head of line: the one in line is opened for, and nobody behind it. */
Test(dispatcher, opens_for_the_one_in_line_only, .timeout = 10) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Pool Async=dispatcher;Pool Growth=parallel;"
                          "Mock Script Text='connect: hang'");
  queue = queue_of(&f, 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  for (uint64_t i = 0; i < 3; i++) {
    AWAIT_COUNT(&f, hung, 1);
    fixture_sync(&f);
    cr_assert_eq(fixture_stats(pool).connects_begun, i + 1);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
    (void)take_one(&f, queue, i, WEIR_OK);
  }
  fixture_close(&f);
}

/* Those who block are not held up by those behind the line. */
Test(dispatcher, leaves_those_alone_who_block, .timeout = 10) {
  struct acquirer a;
  fixture_open(&f);
  pool = fixture_pool(&f, "Pool Async=dispatcher;Pool Growth=parallel;"
                          "Pool Handoff=queued;"
                          "Mock Script Text='connect 1: hang'");
  queue = queue_of(&f, 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 0);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(acquirer_join(&a), WEIR_OK);
  take_nothing();
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  (void)take_one(&f, queue, 0, WEIR_OK);
  (void)take_one(&f, queue, 1, WEIR_OK);
  fixture_close(&f);
}

/* SqlClient tries each at once, without waiting, whoever is behind its dispatcher. */
Test(dispatcher, ends_at_once_past_those_in_line, .timeout = 10) {
  weir_h lease = 0;
  fixture_open(&f);
  pool = fixture_pool(&f, "Pool Strategy=legacy;Max Pool Size=2;"
                          "Mock Script Text='connect 2-: hang'");
  queue = queue_of(&f, 3);
  held = fixture_acquire(&f, pool);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 0);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  AWAIT_COUNT(&f, hung, 1);
  serve(0, 2); /* the connect goes on */
  give_back();
  cr_assert_eq(weir_submit_acquire(pool, 0, queue, 2, &lease, NULL, &f.err),
               WEIR_OK);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

Test(dispatcher, counts_all_for_max_waiters, .timeout = 5) {
  weir_h lease = 0;
  fixture_open(&f);
  start_busy("Max Waiters=2", 4);
  (void)wait_for(60 * FIXTURE_S, 0);
  (void)wait_for(60 * FIXTURE_S, 1);
  cr_assert_eq(
      weir_submit_acquire(pool, FIXTURE_S, queue, 2, &lease, NULL, &f.err),
      WEIR_E_OVERLOADED);
  serve(0, 1);
  (void)wait_for(60 * FIXTURE_S, 2);
  serve(1, 3);
  fixture_close(&f);
}

Test(dispatcher, tells_the_oldest_wait_and_how_long_all_waited) {
  open_virtual("", 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 0);
  fixture_advance(&f, S);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  fixture_advance(&f, S);
  cr_assert_eq(fixture_stats(pool).oldest_wait_ns, 2 * S);
  serve(0, 1);
  cr_assert_eq(fixture_stats(pool).oldest_wait_ns, S);
  serve(1, 2);
  cr_assert_eq(fixture_stats(pool).wait_sum_ns, 3 * S);
  fixture_close(&f);
}

/* -------------------------------------------------------------- who gives up */

/* To the nanosecond, in line and behind it. */
Test(dispatcher, times_them_out_each_at_its_time, .timeout = 10) {
  static const int64_t spans[] = {3, 1, 2, 4};
  static const uint64_t order[] = {1, 2, 0, 3};
  open_virtual("", 4);
  for (uint64_t i = 0; i < 4; i++) {
    (void)wait_for(spans[i] * FIXTURE_S, i);
  }
  fixture_sync(&f);
  for (unsigned k = 0; k < 4; k++) {
    fixture_advance(&f, S - 1);
    take_nothing();
    fixture_advance(&f, 1);
    (void)take_one(&f, queue, order[k], WEIR_E_TIMEOUT);
  }
  cr_assert_eq(fixture_stats(pool).timeouts, 4);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  fixture_close(&f);
}

Test(dispatcher, says_why_one_behind_the_line_timed_out, .timeout = 10) {
  struct weir_completion c = {.struct_size = sizeof c};
  open_virtual("", 3);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 0);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  (void)wait_for(FIXTURE_S, 2);
  fixture_sync(&f);
  fixture_advance(&f, S);
  cr_assert_eq(weir_queue_take(queue, 0, &c, &f.err), WEIR_OK);
  cr_assert_eq(c.status, WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(f.err.message, "2 other callers waiting, 2 of them "
                                           "longer, those that do not block "
                                           "one at a time"),
                     "%s", f.err.message);
  fixture_close(&f);
}

/* The next comes in when the one in line is late, though nothing is given back. */
Test(dispatcher, lets_the_next_in_when_one_is_late, .timeout = 10) {
  open_virtual("", 2);
  (void)wait_for(FIXTURE_S, 0);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  fixture_sync(&f);
  fixture_advance(&f, S);
  (void)take_one(&f, queue, 0, WEIR_E_TIMEOUT);
  serve(1, 2);
  fixture_close(&f);
}

/* What came back while the one in line was late, and not yet told, is for the next
 * (P3). */
Test(dispatcher, leaves_nobody_beside_an_idle_connection, .timeout = 10) {
  fixture_open_virtual(&f);
  gates_install();
  start_busy("", 2);
  gate_hold("submit.time");
  (void)wait_for(FIXTURE_S, 0);
  cr_assert_eq(gate_wait_reached("submit.time", 1), 0);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 1);
  virtual_clock_advance(S);
  give_back();
  take_nothing();
  cr_assert_eq(fixture_stats(pool).idle, 1);
  gate_open("submit.time");
  take_lease(1);
  (void)take_one(&f, queue, 0, WEIR_E_TIMEOUT);
  gates_restore();
  fixture_close(&f);
}

Test(dispatcher, cancels_in_line_and_behind_it, .timeout = 5) {
  weir_h op[4];
  fixture_open(&f);
  start_busy("", 4);
  for (uint64_t i = 0; i < 4; i++) {
    op[i] = wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  cr_assert_eq(weir_op_cancel(op[2]), WEIR_OK);
  (void)take_one(&f, queue, 2, WEIR_E_CANCELLED);
  cr_assert_eq(weir_op_cancel(op[0]), WEIR_OK);
  (void)take_one(&f, queue, 0, WEIR_E_CANCELLED);
  cr_assert_eq(fixture_stats(pool).cancelled, 2);
  serve(1, 2);
  serve(3, 4);
  take_nothing();
  fixture_close(&f);
}

Test(dispatcher, gives_up_what_is_of_a_queue_that_closes, .timeout = 5) {
  fixture_open(&f);
  start_busy("", 3);
  weir_h other = queue_of(&f, 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 0);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, other, 1);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 2);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, other, 3);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  give_back();
  held = take_one(&f, other, 1, WEIR_OK).lease;
  give_back();
  (void)take_one(&f, other, 3, WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------- what was granted was not good */

#define DEAD_ONCE "Probe Window=0;Mock Script Text=\"health 1: dead\""

Test(dispatcher, keeps_the_order_when_a_connection_was_dead, .timeout = 5) {
  fixture_open(&f);
  start_busy(DEAD_ONCE, 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  give_back();
  take_lease(0);
  serve(1, 3);
  fixture_close(&f);
}

/* On one clock, where all came at the same time. */
Test(dispatcher, keeps_the_order_of_those_who_came_together, .timeout = 5) {
  open_virtual(DEAD_ONCE, 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  give_back();
  take_lease(0);
  serve(1, 3);
  fixture_close(&f);
}

/* --------------------------------------------------- what happens to the pool */

Test(dispatcher, holds_all_while_the_pool_is_paused, .timeout = 5) {
  fixture_open(&f);
  start_busy("", 3);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  give_back();
  fixture_sync(&f);
  take_nothing();
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  take_lease(0);
  serve(1, 3);
  fixture_close(&f);
}

static int drain_pool(weir_h handle) {
  return weir_pool_drain(handle, WEIR_TIMEOUT_NEVER, NULL);
}

Test(dispatcher, serves_all_while_the_pool_drains, .timeout = 5) {
  struct doing d;
  fixture_open(&f);
  start_busy("", 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  doing_start(&d, drain_pool, pool);
  AWAIT_STAT(pool, state, WEIR_POOL_DRAINING);
  serve(0, 3);
  give_back();
  cr_assert_eq(doing_join(&d), WEIR_OK);
  fixture_close(&f);
}

static int drain_at_once(weir_h handle) {
  return weir_pool_drain(handle, 0, NULL);
}

Test(dispatcher, tells_all_when_the_grace_of_a_drain_has_passed) {
  fixture_open(&f);
  start_busy("Close Timeout=0", 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  cr_assert_eq(drain_at_once(pool), WEIR_E_TIMEOUT);
  for (uint64_t i = 0; i < 3; i++) {
    (void)take_one(&f, queue, i, WEIR_E_CLOSED);
  }
  fixture_close(&f);
}

Test(dispatcher, tells_all_of_the_end_of_the_pool, .timeout = 5) {
  fixture_open(&f);
  start_busy("", 300);
  for (uint64_t i = 0; i < 300; i++) {
    (void)wait_for(60 * FIXTURE_S, i);
  }
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  for (uint64_t i = 0; i < 300; i++) {
    (void)take_one(&f, queue, i, WEIR_E_CLOSED);
  }
  take_nothing();
  give_back();
  fixture_close(&f);
}

static int shut_down(weir_h engine) {
  return weir_engine_shutdown(engine, 60 * FIXTURE_S, NULL);
}

Test(dispatcher, tells_all_of_the_end_of_the_engine, .timeout = 10) {
  struct doing d;
  fixture_open(&f);
  start_busy("", 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  doing_start(&d, shut_down, f.engine);
  for (uint64_t i = 0; i < 3; i++) {
    (void)take_one(&f, queue, i, WEIR_E_CLOSED);
  }
  give_back();
  cr_assert_eq(doing_join(&d), WEIR_OK);
}

/* Those who wait go on waiting. */
Test(dispatcher, serves_all_after_a_clear, .timeout = 5) {
  fixture_open(&f);
  start_busy("", 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  serve(0, 3);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_close(&f);
}

/* ------------------------------------------------------------------- failures */

/* Pool Failure=all: all means those behind the line, too. */
Test(dispatcher, fails_all_with_a_connect_if_all_fail, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Pool Strategy=legacy;Mock Script Text=\"connect 1: "
                          "hang, fail endpoint network 'nobody home'\"");
  queue = queue_of(&f, 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  for (uint64_t i = 0; i < 3; i++) {
    (void)take_one(&f, queue, i, WEIR_E_FAIL);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

/* Each has a connect of its own, which begins when the one before has been told. */
Test(dispatcher,
     fails_one_by_one_where_nobody_is_told_of_another,
     .timeout = 5) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Pool Strategy=legacy;Pool Blocking Period=never;"
                          "Mock Script Text=\"connect 1-2: fail endpoint "
                          "network 'nobody home'\"");
  queue = queue_of(&f, 3);
  for (uint64_t i = 0; i < 3; i++) {
    (void)wait_for(WEIR_TIMEOUT_NEVER, i);
  }
  (void)take_one(&f, queue, 0, WEIR_E_FAIL);
  (void)take_one(&f, queue, 1, WEIR_E_FAIL);
  (void)take_one(&f, queue, 2, WEIR_OK);
  fixture_close(&f);
}

/* Queue Policy=codel refuses behind the line as in it: one that has a second minds
 * what one that has no end does not. */
Test(dispatcher, refuses_those_behind_where_a_queue_stands, .timeout = 10) {
  open_virtual("Queue Policy=codel", 2);
  (void)wait_for(WEIR_TIMEOUT_NEVER, 0);
  (void)wait_for(FIXTURE_S, 1);
  fixture_sync(&f);
  for (unsigned k = 0; k < 9; k++) {
    fixture_advance(&f, S / 10);
  }
  (void)take_one(&f, queue, 1, WEIR_E_OVERLOADED);
  serve(0, 1);
  fixture_close(&f);
}
