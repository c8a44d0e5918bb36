/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

#define MANY 100u

static struct fixture f;
static struct acquirer many[MANY + 20];

Test(acquire, serves_again_what_came_back, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h a = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(a), WEIR_OK);
  weir_h b = fixture_acquire(&f, pool);
  cr_assert_neq(a, b);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  cr_assert_eq(weir_release(b), WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------------------ first come */

/* If the order were another, a join would wait for a lease that is nobody's
 * yet. */
Test(acquire, serves_a_hundred_waiters_as_they_came, .timeout = 30) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < MANY; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, i + 1);
  }
  for (unsigned i = 0; i < MANY; i++) {
    cr_assert_eq(weir_release(lease), WEIR_OK);
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
    cr_assert_eq(many[i].order, i);
    lease = many[i].lease;
  }
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.handovers, MANY);
  cr_assert_eq(s.connects_begun, 1);
  cr_assert_eq(s.acquired, MANY + 1);
  fixture_close(&f);
}

/* Scenario 6: the owner returns and borrows again in one go; who waited wins.  With
 * Pool Handoff=bounded it does so once it has waited for the bound. */
Test(acquire, lets_no_newcomer_overtake, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Pool Handoff=direct");
  weir_h lease = fixture_acquire(&f, pool);
  weir_h again = 0;
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_acquire(pool, 0, &again, NULL), WEIR_E_TIMEOUT);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  fixture_close(&f);
}

/* Scenario 1: the return comes after the look for an idle connection and before
 * the caller is in line. */
Test(acquire, finds_what_came_back_while_it_joined_the_line, .timeout = 10) {
  fixture_open(&f);
  gates_install();
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  gate_hold("publish.published");
  struct acquirer *w = &many[0];
  acquirer_start(w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  gate_open("publish.published");
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(w), WEIR_OK);
  gates_restore();
  fixture_close(&f);
}

static void *release_it(void *arg) {
  weir_h lease = *(weir_h *)arg;
  return weir_release(lease) == WEIR_OK ? arg : NULL;
}

/* The other half of scenario 1: a releaser that saw nobody waiting stands just
 * before it makes the slot idle while a waiter queues. */
Test(acquire, is_served_by_a_release_that_saw_nobody, .timeout = 10) {
  fixture_open(&f);
  gates_install();
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  pthread_t releaser;
  void *ok = NULL;
  gate_hold("publish.idle");
  cr_assert_eq(pthread_create(&releaser, NULL, release_it, &lease), 0);
  cr_assert_eq(gate_wait_reached("publish.idle", 1), 0);
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  gate_open("publish.idle");
  (void)pthread_join(releaser, &ok);
  cr_assert_not_null(ok);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  gates_restore();
  fixture_close(&f);
}

/* ------------------------------------------------- waiters and drivers */

Test(acquire,
     gives_a_return_to_the_oldest_driver_if_nobody_sleeps,
     .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=3;Mock Script Text=\"connect 2-3: hang\"");
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  /* Its connect goes on on the reactor and ends idle. */
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.connecting, 2);
  cr_assert_eq(s.waiters, 1);
  fixture_sync(&f);
  cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
  /* Not idle: the other driver is served by what came free first. */
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  fixture_sync(&f);
  cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_stats(pool).leased, 2);
  cr_assert_eq(fixture_stats(pool).connecting, 0);
  fixture_close(&f);
}

Test(acquire,
     gives_a_return_to_a_sleeper_before_an_older_driver,
     .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=2;Mock Script Text=\"connect 2: hang\"");
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).leased, 2);
  fixture_close(&f);
}

/* The driver's connect has succeeded when it is handed another connection. */
Test(acquire,
     keeps_a_connect_that_ended_as_its_caller_was_served,
     .timeout = 10) {
  fixture_open(&f);
  gates_install();
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h lease = fixture_acquire(&f, pool);
  gate_hold("connect.done");
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(gate_wait_reached("connect.done", 1), 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  gate_open("connect.done");
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.leased, 1);
  cr_assert_eq(s.idle, 1);
  cr_assert_eq(s.waiters, 0);
  gates_restore();
  fixture_close(&f);
}

/* ------------------------------------------- time-out against hand-over */

/* Scenarios 12 and 18.  The waiter stands before it sleeps; time runs out and
 * the connection comes back before it looks: it is too late, the slot is not
 * lost. */
/* One lease, one connect left behind by a caller that was handed the lease: the
 * next caller waits for that connect instead of opening a third. */
static weir_h leave_a_connect_behind(struct acquirer *first, weir_h pool) {
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(first, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, connecting, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(first), WEIR_OK);
  return first->lease;
}

Test(acquire, counts_on_a_connect_that_nobody_drives, .timeout = 10) {
  fixture_open_virtual(&f);
  struct acquirer first;
  struct acquirer second;
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=5;Mock Script Text=\"connect 2: delay 100ms\"");
  (void)leave_a_connect_behind(&first, pool);
  acquirer_start(&second, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_advance(&f, 100 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(acquirer_join(&second), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_close(&f);
}

Test(acquire, does_not_wait_long_for_a_connect_that_hangs, .timeout = 10) {
  fixture_open_virtual(&f);
  struct acquirer first;
  struct acquirer second;
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=5;Mock Script Text=\"connect 2: hang\"");
  (void)leave_a_connect_behind(&first, pool);
  acquirer_start(&second, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  fixture_advance(&f, 250 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(acquirer_join(&second), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  fixture_close(&f);
}

Test(acquire, passes_a_return_by_a_waiter_whose_time_is_over, .timeout = 10) {
  fixture_open_virtual(&f);
  gates_install();
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  gate_hold("waiter.park");
  acquirer_start(&many[0], pool, 100 * FIXTURE_MS);
  cr_assert_eq(gate_wait_reached("waiter.park", 1), 0);
  fixture_advance(&f, 100 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  gate_open("waiter.park");
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  lease = fixture_acquire(&f, pool);
  gates_restore();
  fixture_close(&f);
}

/* The other order: the hand-over came first, so the lease is the waiter's. */
Test(acquire, keeps_a_grant_that_came_before_the_time_was_over, .timeout = 10) {
  fixture_open_virtual(&f);
  gates_install();
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  gate_hold("waiter.park");
  acquirer_start(&many[0], pool, 100 * FIXTURE_MS);
  cr_assert_eq(gate_wait_reached("waiter.park", 1), 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_advance(&f, 200 * (uint64_t)FIXTURE_MS);
  gate_open("waiter.park");
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.leased, 1);
  cr_assert_eq(s.timeouts, 0);
  cr_assert_eq(weir_release(many[0].lease), WEIR_OK);
  gates_restore();
  fixture_close(&f);
}

/* The same for a caller that opens a connection of its own. */
Test(acquire, takes_a_grant_although_its_connect_is_late, .timeout = 10) {
  fixture_open_virtual(&f);
  gates_install();
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=2;Mock Script Text=\"connect 2: hang\"");
  weir_h lease = fixture_acquire(&f, pool);
  gate_hold("drive.wait");
  acquirer_start(&many[0], pool, FIXTURE_S);
  cr_assert_eq(gate_wait_reached("drive.wait", 1), 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_advance(&f, 2 * (uint64_t)FIXTURE_S);
  gate_open("drive.wait");
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connecting, 1);
  gates_restore();
  fixture_close(&f);
}

/* ------------------------------------------------------------- time-outs */

Test(acquire, tries_only_with_a_time_out_of_zero, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
  cr_assert_eq(f.err.code, WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(f.err.message,
                            "no connection is idle, and a time-out of 0 opens "
                            "none; give a time-out"),
                     "%s", f.err.message);
  cr_assert_null(strstr(f.err.message, "timed out after"));
  cr_assert_eq(fixture_stats(pool).connects_begun, 0);
  cr_assert_eq(fixture_stats(pool).timeouts, 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_OK);
  fixture_close(&f);
}

Test(acquire, times_out_to_the_nanosecond_in_line, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connect Timeout=7");
  (void)fixture_acquire(&f, pool);
  acquirer_start(&many[0], pool, 250 * FIXTURE_MS);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_POOL);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  uint64_t start = virtual_clock_now();
  cr_assert_eq(virtual_clock_next(), start + 250 * (uint64_t)FIXTURE_MS);
  fixture_advance(&f, 250 * (uint64_t)FIXTURE_MS - 1);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  fixture_advance(&f, 1);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  cr_assert_eq(many[0].ended, start + 250 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(many[0].err.phase, WEIR_PHASE_QUEUE);
  cr_assert_not_null(strstr(many[0].err.message, "Max Pool Size 1, 1 leased"));
  virtual_clock_advance_to(start + 7 * (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_E_TIMEOUT);
  cr_assert_eq(many[1].ended, start + 7 * (uint64_t)FIXTURE_S);
  cr_assert_eq(fixture_stats(pool).timeouts, 2);
  fixture_close(&f);
}

/* P9. */
Test(acquire, does_not_care_for_the_wall_clock, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1");
  (void)fixture_acquire(&f, pool);
  acquirer_start(&many[0], pool, FIXTURE_S);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_jump_wall(86400000);
  fixture_sync(&f);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_jump_wall(-2 * INT64_C(86400000));
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

/* Scenarios 16 and 30: the caller leaves, its connect goes on and is kept. */
Test(acquire, leaves_a_connect_going_on_when_its_time_is_over, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=1;Connect Timeout=15;Mock Connect Delay=5s");
  uint64_t start = virtual_clock_now();
  acquirer_start(&many[0], pool, FIXTURE_S);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  cr_assert_eq(many[0].ended, start + (uint64_t)FIXTURE_S);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.connecting, 1);
  cr_assert_eq(s.leased, 0);
  cr_assert_eq(s.waiters, 0);
  fixture_sync(&f);
  fixture_advance(&f, 4 * (uint64_t)FIXTURE_S);
  AWAIT_STAT(pool, idle, 1);
  (void)fixture_acquire(&f, pool);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

/* Scenario 28: a connect that never ends does not eat its place. */
Test(acquire, ends_a_connect_at_its_own_limit, .timeout = 10) {
  static const struct {
    const char *setting;
    uint64_t limit_s;
  } cases[] = {{"2", 2}, {"0", 15}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fixture_open_virtual(&f);
    weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connect Timeout=%s;%s",
                               cases[i].setting,
                               "Pool Blocking Period=never;"
                               "Mock Script Text=\"connect 1: hang\"");
    uint64_t start = virtual_clock_now();
    acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    cr_assert_eq(virtual_clock_next(),
                 start + cases[i].limit_s * (uint64_t)FIXTURE_S);
    fixture_advance(&f, cases[i].limit_s * (uint64_t)FIXTURE_S);
    cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
    AWAIT_STAT(pool, empty, 1);
    cr_assert_eq(fixture_stats(pool).connects_failed, 1);
    cr_assert_eq(fixture_counts(&f).sessions_live, 0);
    (void)fixture_acquire(&f, pool);
    fixture_close(&f);
  }
}

/* A connect adopted by the reactor has the same limit. */
Test(acquire, ends_an_adopted_connect_at_its_own_limit, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connect Timeout=3;"
                                 "Mock Script Text=\"connect 1: hang\"");
  acquirer_start(&many[0], pool, FIXTURE_S);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  fixture_sync(&f);
  fixture_advance(&f, 2 * (uint64_t)FIXTURE_S - 1);
  cr_assert_eq(fixture_stats(pool).connecting, 1);
  fixture_advance(&f, 1);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(fixture_stats(pool).connects_failed, 1);
  fixture_close(&f);
}

/* Scenario 17: one deadline covers the looks at dead idle ones and a connect
 * that hangs. */
Test(acquire,
     has_one_deadline_for_dead_idle_ones_and_a_connect,
     .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=6;Probe Window=0;"
          "Mock Script Text=\"connect 6-: hang; health every: dead\"");
  weir_h leases[5];
  for (unsigned i = 0; i < 5; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_stats(pool).idle, 5);
  uint64_t start = virtual_clock_now();
  acquirer_start(&many[0], pool, 2 * FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 2 * (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  cr_assert_eq(many[0].ended, start + 2 * (uint64_t)FIXTURE_S);
  AWAIT_STAT(pool, closing, 0);
  cr_assert_eq(fixture_stats(pool).empty, 5);
  fixture_close(&f);
}

/* ----------------------------------------------------------------- limits */

Test(acquire, opens_a_hundred_at_once_and_never_one_more, .timeout = 60) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=100;Mock Script Text=\"connect: hang\"");
  for (unsigned i = 0; i < MANY + 20; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_COUNT(&f, hung, MANY);
  AWAIT_STAT(pool, waiters, MANY + 20);
  cr_assert_eq(fixture_counts(&f).sessions_max, MANY);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), MANY);
  AWAIT_STAT(pool, leased, MANY);
  AWAIT_STAT(pool, waiters, 20);
  unsigned joined = 0;
  for (unsigned i = 0; i < MANY + 20; i++) {
    /* Those that lost the race for a place are served by these releases. */
    if (many[i].lease != 0 || joined >= 20) {
      joined++;
      cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
      cr_assert_eq(weir_release(many[i].lease), WEIR_OK);
      many[i].pool = 0;
    }
  }
  for (unsigned i = 0; i < MANY + 20; i++) {
    if (many[i].pool != 0) {
      cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
      cr_assert_eq(weir_release(many[i].lease), WEIR_OK);
    }
  }
  cr_assert_eq(fixture_counts(&f).sessions_max, MANY);
  cr_assert_eq(fixture_stats(pool).idle, MANY);
  fixture_close(&f);
}

Test(acquire, starts_no_more_connects_than_allowed, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=10;Max Concurrent Connects=2;"
                                 "Mock Script Text=\"connect: hang\"");
  for (unsigned i = 0; i < 5; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 5);
  AWAIT_COUNT(&f, hung, 2);
  for (unsigned i = 0; i < 5; i++) {
    AWAIT_COUNT(&f, hung, i < 4 ? 2 : 1);
    cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
    AWAIT_STAT(pool, leased, i + 1);
  }
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_counts(&f).connects_max, 2);
  fixture_close(&f);
}

Test(acquire, refuses_one_more_than_max_waiters, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Max Waiters=1");
  weir_h lease = fixture_acquire(&f, pool);
  weir_h other = 0;
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_acquire(pool, FIXTURE_S, &other, &f.err),
               WEIR_E_OVERLOADED);
  cr_assert_not_null(strstr(f.err.message, "Max Waiters"));
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  fixture_close(&f);
}

/* --------------------------------------------------------------- failures */

/* Scenario 27: two places, ten callers, every connect fails: all ten hear of
 * it, none stays asleep. */
Test(acquire, tells_every_caller_of_a_server_that_is_not_there, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=2;Pool Blocking Period=never;"
                       "Mock Script Text=\"connect: delay 1ms, fail endpoint "
                       "network 'nobody home'\"");
  for (unsigned i = 0; i < 10; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_E_FAIL);
    cr_assert_not_null(strstr(many[i].err.message, "nobody home"));
  }
  AWAIT_STAT(pool, empty, 2);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  cr_assert_eq(fixture_stats(pool).connects_failed, 10);
  cr_assert_leq(fixture_counts(&f).sessions_max, 2);
  fixture_close(&f);
}

Test(acquire, passes_the_place_of_a_failed_connect_on, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(
      &f, "Max Pool Size=1;Mock Script Text=\"connect 1: hang, fail conn other "
          "'no'\"");
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_FAIL);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  fixture_close(&f);
}

/* The time-out of one who waits tells the last connect error. */
Test(acquire, tells_the_last_connect_error_in_a_time_out, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Mock Script Text=\"connect 1:"
                                 " fail config auth 'bad login'\"");
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
  cr_assert_eq(f.err.phase, WEIR_PHASE_LOGIN);
  cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(f.err.message, "bad login"));
  fixture_close(&f);
}

/* Scenario 2: throwing a connection away makes room for who waits. */
Test(acquire, opens_anew_for_a_waiter_when_one_is_discarded, .timeout = 10) {
  static const char *const settings[] = {"", "Max Uses=1"};
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    fixture_open(&f);
    weir_h pool = fixture_pool(&f, "Max Pool Size=1;%s", settings[i]);
    weir_h lease = fixture_acquire(&f, pool);
    acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, 1);
    cr_assert_eq(i == 0 ? weir_discard(lease) : weir_release(lease), WEIR_OK);
    cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    cr_assert_eq(fixture_counts(&f).sessions_max, 1);
    fixture_close(&f);
  }
}

Test(acquire, hands_out_no_session_that_died_idle, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Probe Window=0");
  weir_h lease = fixture_acquire(&f, pool);
  int64_t first = fixture_number(&f, lease, "session", 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_neq(fixture_number(&f, lease, "session", 0), first);
  fixture_close(&f);
}

/* A handed-over connection that turns out to be dead does not cost the place. */
Test(acquire, keeps_its_place_when_it_is_handed_a_dead_session, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Probe Window=0");
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_release(many[0].lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).sessions_max, 1);
  fixture_close(&f);
}

/* ---------------------------------------------------------------- closing */

Test(acquire, ends_with_closed_when_its_pool_closes, .timeout = 10) {
  fixture_open(&f);
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=2;Mock Script Text=\"connect 2: hang\"");
  weir_h lease = fixture_acquire(&f, pool);
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_CLOSED);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_E_CLOSED);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, conns_live, 0);
  fixture_close(&f);
}

/* --------------------------------------------- places not yet begun to fill */

/* The caller has been given a place to open a connection in, and before it even
 * wakes up it is handed one, or the pool closes: the place must not be lost. */
static void given_a_place_but_not_awake(weir_h *out_pool, weir_h *out_lease) {
  fixture_open(&f);
  gates_install();
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  gate_hold("waiter.park");
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(gate_wait_reached("waiter.park", 1), 0);
  cr_assert_eq(weir_discard(a), WEIR_OK);
  AWAIT_STAT(pool, connecting, 1);
  *out_pool = pool;
  *out_lease = b;
}

Test(acquire, gives_a_place_back_that_it_needs_no_more, .timeout = 10) {
  weir_h pool;
  weir_h lease;
  given_a_place_but_not_awake(&pool, &lease);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  gate_open("waiter.park");
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.leased, 1);
  cr_assert_eq(s.empty, 1);
  cr_assert_eq(s.connecting, 0);
  cr_assert_eq(s.connects_begun, 2);
  gates_restore();
  fixture_close(&f);
}

Test(acquire, gives_a_place_back_when_its_pool_closes, .timeout = 10) {
  weir_h pool;
  weir_h lease;
  given_a_place_but_not_awake(&pool, &lease);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  gate_open("waiter.park");
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_CLOSED);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  gates_restore();
  fixture_close(&f);
}
