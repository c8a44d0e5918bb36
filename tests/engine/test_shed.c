/* SPDX-License-Identifier: MIT */
/* Who is refused under overload: Queue Policy=codel and Max Waiters, in virtual
 * time. */
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

#define S  FIXTURE_S
#define MS FIXTURE_MS

static struct fixture f;
static weir_h pool;
static weir_h queue;
static weir_h held; /* the pool's one lease */

static void start(const char *settings) {
  fixture_open_virtual(&f);
  held = fixture_single(&f, settings, &pool);
  queue = queue_of(&f, 200);
}

/* The reactor knows of the newest waiter, and virtual time may move. */
static void pass(int64_t ns) {
  fixture_sync(&f);
  fixture_advance(&f, (uint64_t)ns);
}

static void submit(uint64_t user, int64_t timeout_ns) {
  (void)submit_waiting(&f, pool, timeout_ns, queue, user);
}

static void take_lease(uint64_t user) {
  held = take_one(&f, queue, user, WEIR_OK).lease;
}

static void refused(uint64_t user) {
  (void)take_one(&f, queue, user, WEIR_E_OVERLOADED);
}

static void give_back(void) {
  cr_assert_eq(weir_release(held), WEIR_OK);
}

static void nothing_came(void) {
  fixture_sync(&f);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
}

/* -------------------------------------------------------- whoever takes out */

/* 1 comes into an empty queue at 0 and has a good wait.  From then on nobody has,
 * so that the queue stands at 520 ms for those who came with a second; 2, which has
 * waited for a tenth of it by then, is refused in favour of 3, which has not. */
Test(shed, refuses_the_head_of_a_line_that_stands, .timeout = 5) {
  start("Queue Policy=codel");
  submit(1, S);
  pass(20 * MS);
  submit(2, S);
  give_back();
  take_lease(1);
  pass(470 * MS);
  submit(3, S);
  pass(29 * MS);
  nothing_came(); /* 519 ms */
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  submit(4, S);
  cr_assert_eq(fixture_stats(pool).overloaded, 0);
  pass(MS); /* nobody was served for long, either */
  refused(2);
  give_back();
  take_lease(3);
  cr_assert_eq(fixture_stats(pool).overloaded, 1);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  give_back();
  take_lease(4);
  fixture_close(&f);
}

/* Without a look of the reactor, which has no thread here and gets no turn. */
Test(shed, refuses_when_a_connection_comes_back, .timeout = 5) {
  fixture_open_foreign_virtual(&f);
  held = fixture_single(&f, "Queue Policy=codel", &pool);
  queue = queue_of(&f, 4);
  submit(1, S);
  virtual_clock_advance(100 * (uint64_t)MS);
  submit(2, S);
  submit(3, S);
  virtual_clock_advance(390 * (uint64_t)MS);
  give_back(); /* to 1, after 490 ms: no good wait */
  cr_assert_eq(fixture_stats(pool).overloaded, 0);
  take_lease(1);
  submit(4, S);
  virtual_clock_advance(20 * (uint64_t)MS);
  cr_assert_eq(fixture_stats(pool).waiters, 3);
  give_back(); /* 510 ms: 2 and 3 have waited for 410, 4 for 20 */
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.waiters, 0);
  cr_assert_eq(s.overloaded, 2);
  cr_assert_eq(s.timeouts, 0);
  refused(2);
  refused(3);
  take_lease(4);
  fixture_close(&f);
}

Test(shed, tells_why, .timeout = 5) {
  struct acquirer blocking;
  start("Queue Policy=codel");
  acquirer_start(&blocking, pool, S);
  AWAIT_STAT(pool, waiters, 1);
  submit(1, S);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  pass(500 * MS);
  cr_assert_eq(acquirer_join(&blocking), WEIR_E_OVERLOADED);
  refused(1);
  static const char why[] =
      "overloaded: refused after 0.50 s of waiting, so that others are served "
      "in time (Queue Policy=codel): Max Pool Size 1, 1 leased (for 0.50 s), 0 "
      "connecting, 0 idle, 0 closing, 0 other callers waiting; send less, "
      "release connections sooner, or raise Max Pool Size";
  cr_assert_str_eq(f.err.message, why);
  cr_assert_str_eq(blocking.err.message, why);
  cr_assert_eq(f.err.code, WEIR_E_OVERLOADED);
  cr_assert_eq(f.err.phase, WEIR_PHASE_QUEUE);
  cr_assert_eq(f.err.kind, WEIR_KIND_RESOURCE);
  cr_assert_eq(f.err.retry, WEIR_RETRY_ELSE);
  fixture_close(&f);
}

/* ------------------------------------------------------------------- stuck */

Test(shed, does_not_wait_for_a_connection_to_come_back, .timeout = 5) {
  start("Queue Policy=codel");
  for (unsigned i = 0; i < 10; i++) {
    submit(i, S);
    pass(60 * MS);
    cr_assert_eq(fixture_stats(pool).overloaded, i < 8 ? 0 : i);
  }
  /* From 500 ms on each goes when it has waited for 100 ms. */
  for (unsigned i = 0; i < 9; i++) {
    refused(i);
  }
  nothing_came();
  pass(40 * MS);
  refused(9);
  fixture_close(&f);
}

Test(shed, leaves_those_alone_who_wait_for_ever, .timeout = 5) {
  start("Queue Policy=codel");
  submit(1, WEIR_TIMEOUT_NEVER);
  submit(2, S);
  submit(3, 15 * S);
  pass(500 * MS);
  refused(2);
  pass(6900 * MS);
  nothing_came();
  pass(100 * MS);
  refused(3);
  pass(3600 * S);
  nothing_came();
  give_back();
  take_lease(1);
  fixture_close(&f);
}

/* More than fit into one hold of the mutex, and each is told once. */
Test(shed, refuses_as_many_as_it_takes, .timeout = 10) {
  static struct acquirer blocking[60];
  start("Queue Policy=codel");
  for (unsigned i = 0; i < 100; i++) {
    submit(i, S);
  }
  for (unsigned i = 0; i < 60; i++) {
    acquirer_start(&blocking[i], pool, S);
  }
  AWAIT_STAT(pool, waiters, 160);
  cr_assert_eq(virtual_clock_wait_parked(60), 0);
  pass(500 * MS);
  for (unsigned i = 0; i < 60; i++) {
    cr_assert_eq(acquirer_join(&blocking[i]), WEIR_E_OVERLOADED);
  }
  for (unsigned i = 0; i < 100; i++) {
    refused(i);
  }
  nothing_came();
  cr_assert_eq(fixture_stats(pool).overloaded, 160);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  give_back();
  cr_assert_eq(fixture_stats(pool).idle, 1);
  fixture_close(&f);
}

/* A timer once, and none when nobody waits. */
Test(shed, lets_the_reactor_sleep_when_the_line_is_empty, .timeout = 5) {
  start("Queue Policy=codel;Connection Idle Timeout=0");
  submit(1, S);
  give_back();
  take_lease(1);
  pass(2 * S);
  fixture_sync(&f);
  cr_assert_eq(virtual_clock_next(), UINT64_MAX);
  fixture_close(&f);
}

/* ------------------------------------------------------------------- never */

Test(shed, is_for_those_who_ask_for_it, .timeout = 5) {
  start("");
  submit(1, S);
  pass(999 * MS);
  nothing_came();
  pass(MS);
  (void)take_one(&f, queue, 1, WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).overloaded, 0);
  fixture_close(&f);
}

/* A queue that stands below the maximum is a reason to grow. */
Test(shed, spares_callers_of_a_pool_that_grows, .timeout = 5) {
  fixture_open_virtual(&f);
  queue = queue_of(&f, 2);
  pool = fixture_pool(&f, "Queue Policy=codel;Max Pool Size=3;Max Concurrent "
                          "Connects=1;Mock Script Text=\"connect 2: hang\"");
  held = fixture_acquire(&f, pool);
  submit(1, S);
  AWAIT_COUNT(&f, hung, 1);
  pass(900 * MS);
  nothing_came();
  pass(100 * MS);
  (void)take_one(&f, queue, 1, WEIR_E_TIMEOUT);
  /* All places are taken once the maximum is lower. */
  cr_assert_eq(weir_pool_resize(pool, 0, 2, &f.err), WEIR_OK);
  submit(2, S);
  pass(500 * MS);
  refused(2);
  fixture_close(&f);
}

/* A pause is nobody's overload: time counts from its end. */
Test(shed, spares_callers_of_a_pool_that_is_paused, .timeout = 5) {
  start("Queue Policy=codel");
  submit(1, 2 * S);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  submit(2, 2 * S);
  pass(1500 * MS);
  nothing_came();
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  nothing_came();
  give_back();
  take_lease(1);
  give_back();
  take_lease(2);
  cr_assert_eq(fixture_stats(pool).overloaded, 0);
  fixture_close(&f);
}

/* ------------------------------------------------------------ at the door */

Test(shed, refuses_at_the_door_as_many_as_max_waiters_says, .timeout = 5) {
  struct acquirer blocking;
  weir_h lease = 0;
  start("Max Waiters=1");
  submit(1, 60 * S);
  cr_assert_eq(weir_acquire(pool, S, &lease, &f.err), WEIR_E_OVERLOADED);
  cr_assert_not_null(strstr(f.err.message, "Max Waiters"));
  cr_assert_eq(weir_submit_acquire(pool, S, queue, 9, &lease, NULL, &f.err),
               WEIR_E_OVERLOADED);
  cr_assert_eq(fixture_stats(pool).overloaded, 2);
  /* One more, in the running pool. */
  static const char two[] = "Max Waiters=2";
  cr_assert_eq(weir_pool_reconfigure(pool, two, sizeof two - 1, &f.err),
               WEIR_OK);
  acquirer_start(&blocking, pool, 60 * S);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(weir_acquire(pool, S, &lease, &f.err), WEIR_E_OVERLOADED);
  /* Fewer: nobody loses the place. */
  static const char one[] = "Max Waiters=1";
  cr_assert_eq(weir_pool_reconfigure(pool, one, sizeof one - 1, &f.err),
               WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  give_back();
  take_lease(1);
  cr_assert_eq(weir_acquire(pool, S, &lease, &f.err), WEIR_E_OVERLOADED);
  give_back();
  cr_assert_eq(acquirer_join(&blocking), WEIR_OK);
  static const char none[] = "Max Waiters=0";
  cr_assert_eq(weir_pool_reconfigure(pool, none, sizeof none - 1, &f.err),
               WEIR_OK);
  for (unsigned i = 0; i < 100; i++) {
    submit(i, 60 * S);
  }
  cr_assert_eq(fixture_stats(pool).overloaded, 4);
  fixture_close(&f);
}

static int submit_for_a_second(weir_h where) {
  weir_h lease = 0;
  return weir_submit_acquire(where, S, queue, 1, &lease, NULL, &f.err);
}

/* Its time-out passes on its way to the line. */
Test(shed, lets_nobody_in_whose_time_is_over, .timeout = 5) {
  struct doing submission;
  start("");
  gates_install();
  gate_hold("submit.reserved");
  doing_start(&submission, submit_for_a_second, pool);
  cr_assert_eq(gate_wait_reached("submit.reserved", 1), 0);
  pass(S);
  gate_open("submit.reserved");
  cr_assert_eq(doing_join(&submission), WEIR_E_TIMEOUT);
  gates_restore();
  cr_assert_not_null(strstr(f.err.message, "timed out after 1.00 s"));
  cr_assert_eq(fixture_stats(pool).timeouts, 1);
  nothing_came();
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  fixture_close(&f);
}
