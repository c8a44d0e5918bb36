/* SPDX-License-Identifier: MIT */
/* Deadlines against grants, and who owns a deadline: ways in which pools fail,
 * by number. */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "virtual_clock.h"

#define S  ((uint64_t)FIXTURE_S)
#define MS ((uint64_t)FIXTURE_MS)

static struct fixture f;
static weir_h pool;

static int pass_time(weir_h ns) {
  virtual_clock_advance(ns);
  return WEIR_OK;
}

static void expect_two_places(void) {
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.leased, 0);
  cr_assert_eq(s.waiters, 0);
  cr_assert_eq(s.idle, 2);
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(a), WEIR_OK);
  cr_assert_eq(weir_release(b), WEIR_OK);
}

/* ------------------------------------------------------------- 12: blocking */

/* Two connections come back in the very moment in which those who wait time
 * out. One thread moves time, another releases: each round is a race, whose
 * orders test_acquire.c has one by one. */
enum {
  WAITERS = 8,
  RACES = 50
};

static void race_returns(unsigned round) {
  struct acquirer w[WAITERS];
  struct doing clock;
  weir_h held[2] = {fixture_acquire(&f, pool), fixture_acquire(&f, pool)};
  for (unsigned i = 0; i < WAITERS; i++) {
    acquirer_start(&w[i], pool, (int64_t)(20 * MS + (i + round) % 3 * MS));
  }
  cr_assert_eq(virtual_clock_wait_parked(WAITERS), 0);
  virtual_clock_advance(19 * MS);
  doing_start(&clock, pass_time, 3 * MS);
  cr_assert_eq(weir_release(held[0]), WEIR_OK);
  cr_assert_eq(weir_release(held[1]), WEIR_OK);
  cr_assert_eq(doing_join(&clock), WEIR_OK);
  for (unsigned i = 0; i < WAITERS; i++) {
    int rc = acquirer_join(&w[i]);
    cr_assert(rc == WEIR_OK || rc == WEIR_E_TIMEOUT);
    if (rc == WEIR_OK) {
      cr_assert_eq(weir_release(w[i].lease), WEIR_OK);
    }
  }
}

Test(scenario, scenario_012_a_late_waiter_swallows_nothing, .timeout = 30) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2");
  for (unsigned i = 0; i < RACES; i++) {
    race_returns(i);
    expect_two_places();
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_close(&f);
}

/* ----------------------------------------------------------- 14: two limits */

/* The caller's own limit is shorter than that of its acquire. */
Test(scenario, scenario_014_a_wrapper_gives_up_earlier, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2;Connect Timeout=1");
  weir_h held[2] = {fixture_acquire(&f, pool), fixture_acquire(&f, pool)};
  weir_h queue = queue_of(&f, 1);
  weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_POOL, queue, 3);
  fixture_advance(&f, 100 * MS);
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  (void)take_one(&f, queue, 3, WEIR_E_CANCELLED);
  fixture_advance(&f, 400 * MS);
  cr_assert_eq(weir_release(held[0]), WEIR_OK);
  cr_assert_eq(weir_release(held[1]), WEIR_OK);
  fixture_advance(&f, S);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  expect_two_places();
  fixture_close(&f);
}

/* The wrapper comes too late by a hair: it gets the lease and gives it back. */
Test(scenario, scenario_014_a_wrapper_gives_up_too_late, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=2;Connect Timeout=1");
  weir_h held[2] = {fixture_acquire(&f, pool), fixture_acquire(&f, pool)};
  weir_h queue = queue_of(&f, 1);
  weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_POOL, queue, 3);
  cr_assert_eq(weir_release(held[0]), WEIR_OK);
  (void)weir_op_cancel(op);
  weir_h lease = take_one(&f, queue, 3, WEIR_OK).lease;
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_release(held[1]), WEIR_OK);
  expect_two_places();
  fixture_close(&f);
}

/* --------------------------------------------------------- 16: no time left */

/* Two thousand callers, each of whom asks again when it has been served or is
 * late; a connect takes 50 ms, a lease 20 ms, the limit is 1 s. */
enum {
  CROWD = 2000,
  SIZE = 20,
  STEP_MS = 5,
  SECONDS = 3
};

struct held {
  weir_h lease;
  uint64_t until;
};

struct crowd {
  weir_h queue;
  struct held held[SIZE];
  uint64_t served;
};

static void hold(struct crowd *c, weir_h lease) {
  unsigned i = 0;
  while (c->held[i].lease != 0) {
    i++;
    cr_assert_lt(i, SIZE);
  }
  c->held[i].lease = lease;
  c->held[i].until = virtual_clock_now() + 20 * MS;
  c->served++;
}

static void ask(struct crowd *c) {
  weir_h lease = 0;
  int rc =
      weir_submit_acquire(pool, FIXTURE_S, c->queue, 0, &lease, NULL, &f.err);
  cr_assert(rc == WEIR_OK || rc == WEIR_PENDING, "%s", weir_status_name(rc));
  if (rc == WEIR_OK) {
    hold(c, lease);
  }
}

static void take_what_came(struct crowd *c) {
  struct weir_completion got = {.struct_size = sizeof got};
  while (weir_queue_take(c->queue, 0, &got, NULL) == WEIR_OK) {
    cr_assert(got.status == WEIR_OK || got.status == WEIR_E_TIMEOUT);
    if (got.status == WEIR_OK) {
      hold(c, got.lease);
    } else {
      ask(c);
    }
  }
}

static void give_back_due(struct crowd *c) {
  for (unsigned i = 0; i < SIZE; i++) {
    if (c->held[i].lease != 0 && c->held[i].until <= virtual_clock_now()) {
      cr_assert_eq(weir_release(c->held[i].lease), WEIR_OK);
      c->held[i].lease = 0;
      ask(c);
    }
  }
}

Test(scenario, scenario_016_connects_survive_who_asked, .timeout = 60) {
  struct crowd c = {.served = 0};
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=20;Mock Connect Delay=50ms");
  c.queue = queue_of(&f, CROWD);
  for (unsigned i = 0; i < CROWD; i++) {
    ask(&c);
  }
  for (unsigned i = 0; i < SECONDS * 1000 / STEP_MS; i++) {
    fixture_sync(&f);
    take_what_came(&c);
    fixture_advance(&f, STEP_MS * MS);
    take_what_came(&c);
    give_back_due(&c);
  }
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.connects_begun, SIZE);
  cr_assert_eq(s.connects_failed, 0);
  cr_assert_eq(s.leased + s.idle, SIZE);
  /* 20 at a time for 20 ms each (25 in steps of 5), from 50 ms on. */
  cr_assert_geq(c.served, SIZE * (SECONDS * 1000 - 100) / 30);
  fixture_close(&f);
}

/* A connect that takes longer than any caller waits: the next one gets it. */
Test(scenario, scenario_016_a_late_connect_serves_the_next, .timeout = 10) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=1;Mock Connect Delay=150ms");
  weir_h queue = queue_of(&f, 2);
  (void)submit_waiting(&f, pool, FIXTURE_S / 10, queue, 1);
  fixture_sync(&f);
  AWAIT_STAT(pool, connecting, 1);
  fixture_advance(&f, 90 * MS);
  (void)submit_waiting(&f, pool, FIXTURE_S / 10, queue, 2);
  fixture_sync(&f);
  fixture_advance(&f, 10 * MS);
  (void)take_one(&f, queue, 1, WEIR_E_TIMEOUT);
  fixture_advance(&f, 50 * MS);
  (void)take_one(&f, queue, 2, WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

/* --------------------------------------------------------- 17: one deadline */

/* The acquire meets a connection whose reset hangs, and then a connect that
 * hangs.  (No look at an idle connection waits: test_acquire.c has those.) */
Test(scenario, scenario_017_one_deadline_covers_all, .timeout = 10) {
  struct acquirer a;
  fixture_open_virtual(&f);
  pool = fixture_pool(
      &f, "Max Pool Size=2;Connection Reset=verified;Connect Timeout=30;"
          "Mock Script Text=\"reset: hang; connect 2-: hang\"");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  uint64_t start = virtual_clock_now();
  acquirer_start(&a, pool, 2 * FIXTURE_S);
  AWAIT_COUNT(&f, hung, 2);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 2 * S);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  cr_assert_eq(a.ended, start + 2 * S);
  /* Nothing is stuck: both end at their own limits. */
  fixture_sync(&f);
  fixture_advance(&f, 30 * S);
  AWAIT_STAT(pool, empty, 2);
  cr_assert_eq(fixture_counts(&f).sessions_live, 0);
  fixture_close(&f);
}
