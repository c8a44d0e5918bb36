/* SPDX-License-Identifier: MIT */
/* test_handoff_order.c - Pool Handoff=queued and barging, beside those they are unlike:
 * who is an heir, who overtakes, and that nobody is forgotten. */
#include <pthread.h>
#include <stdio.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

#define WAITERS 4u

static struct fixture f;
static weir_h pool;
static struct acquirer waiter[WAITERS];

static void open_pool(const char *handoff, const char *more) {
  fixture_open_virtual(&f);
  gates_install();
  pool = fixture_pool(&f, "Pool Handoff=%s;%s", handoff, more);
}

static void shut_pool(void) {
  gates_restore();
  fixture_close(&f);
}

static void line_up(unsigned i, int64_t timeout_ns) {
  acquirer_start(&waiter[i], pool, timeout_ns);
  AWAIT_STAT(pool, waiters, i + 1);
}

static weir_h try_acquire(void) {
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_OK);
  return lease;
}

static void give_back(weir_h lease) {
  cr_assert_eq(weir_release(lease), WEIR_OK);
}

static void served(unsigned i) {
  cr_assert_eq(acquirer_join(&waiter[i]), WEIR_OK, "%s", waiter[i].err.message);
}

/* One connection is held, the second is being opened by waiter 0 and hangs. */
static weir_h open_with_an_opener(const char *handoff) {
  open_pool(handoff, "Max Pool Size=2;Mock Script Text='connect 2: hang'");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  return lease;
}

static void end_connect(void) {
  cr_assert_eq(f.mock->release_hung(f.drv, 1), 1);
}

/* ------------------------------------------------------------------- openers */

/* It goes on opening; what came back is idle, for whoever comes by, at once. */
Test(handoff_order, who_opens_is_handed_nothing, .timeout = 10) {
  static const char *const handoffs[] = {"queued", "barging"};
  for (unsigned i = 0; i < 2; i++) {
    give_back(open_with_an_opener(handoffs[i]));
    cr_assert_eq(fixture_stats(pool).idle, 1, "%s", handoffs[i]);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    cr_assert_eq(fixture_stats(pool).handovers, 0);
    weir_h lease = try_acquire();
    cr_assert_eq(fixture_stats(pool).overtakes, 0); /* of nobody in line */
    end_connect();
    served(0);
    cr_assert_eq(fixture_stats(pool).leased, 2);
    give_back(lease);
    shut_pool();
  }
}

Test(handoff_order, under_direct_who_opens_is_an_heir, .timeout = 10) {
  give_back(open_with_an_opener("direct"));
  served(0);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  end_connect();
  AWAIT_STAT(pool, idle, 1);
  shut_pool();
}

/* Though the one who opens has come first. */
Test(handoff_order, who_waits_is_served_before_who_opens, .timeout = 10) {
  static const char *const handoffs[] = {"queued", "barging"};
  for (unsigned i = 0; i < 2; i++) {
    weir_h lease = open_with_an_opener(handoffs[i]);
    line_up(1, WEIR_TIMEOUT_NEVER);
    give_back(lease);
    served(1);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    end_connect();
    served(0);
    shut_pool();
  }
}

/* What it opened has been cleared meanwhile, so it waits again: it is in line before it
 * gets round to looking who is to be served. */
Test(handoff_order, who_has_opened_in_vain_is_in_line_at_once, .timeout = 10) {
  open_pool("queued", "Max Pool Size=2;Mock Script Text='connect 1: hang'");
  line_up(0, WEIR_TIMEOUT_NEVER);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  weir_h lease = fixture_acquire(&f, pool);
  gate_hold("retire.begin.locked");
  end_connect();
  cr_assert_eq(gate_wait_reached("retire.begin.locked", 1), 0);
  give_back(lease);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  gate_open("retire.begin.locked");
  served(0);
  shut_pool();
}

/* The connect of one whose time is over goes on, and serves the next. */
Test(handoff_order,
     a_connect_without_its_caller_serves_the_next,
     .timeout = 10) {
  static const char *const handoffs[] = {"queued", "barging"};
  for (unsigned i = 0; i < 2; i++) {
    open_pool(handoffs[i],
              "Max Pool Size=1;Mock Script Text='connect 1: hang'");
    line_up(0, FIXTURE_S);
    AWAIT_COUNT(&f, hung, 1);
    line_up(1, WEIR_TIMEOUT_NEVER);
    cr_assert_eq(virtual_clock_wait_parked(2), 0);
    fixture_advance(&f, (uint64_t)FIXTURE_S);
    cr_assert_eq(acquirer_join(&waiter[0]), WEIR_E_TIMEOUT);
    end_connect();
    served(1);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    shut_pool();
  }
}

/* -------------------------------------------------------------------- queued */

Test(handoff_order, queued_serves_as_they_came, .timeout = 10) {
  open_pool("queued", "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < WAITERS; i++) {
    line_up(i, WEIR_TIMEOUT_NEVER);
  }
  for (unsigned i = 0; i < WAITERS; i++) {
    weir_h other = 0;
    give_back(lease);
    cr_assert_eq(weir_acquire(pool, 0, &other, NULL), WEIR_E_TIMEOUT);
    served(i);
    cr_assert_eq(fixture_stats(pool).waiters, WAITERS - 1 - i);
    lease = waiter[i].lease;
  }
  cr_assert_eq(fixture_stats(pool).handovers, WAITERS);
  cr_assert_eq(fixture_stats(pool).overtakes, 0);
  shut_pool();
}

/* ------------------------------------------------------------------- barging */

/* However long it has waited: there is no bound. */
Test(handoff_order, barging_hands_nothing_to_who_blocks, .timeout = 10) {
  open_pool("barging", "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, UINT64_C(3600) * (uint64_t)FIXTURE_S);
  gate_hold("waiter.try");
  for (unsigned i = 1; i <= 3; i++) {
    give_back(lease);
    cr_assert_eq(gate_wait_reached("waiter.try", 1), 0);
    cr_assert_eq(fixture_stats(pool).idle, 1);
    lease = try_acquire();
    cr_assert_eq(fixture_stats(pool).overtakes, i);
  }
  gate_open("waiter.try");
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  give_back(lease);
  served(0);
  cr_assert_eq(fixture_stats(pool).handovers, 0);
  shut_pool();
}

Test(handoff_order, barging_wakes_one_and_he_the_next, .timeout = 10) {
  open_pool("barging", "Max Pool Size=2");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  for (unsigned i = 0; i < 3; i++) {
    line_up(i, WEIR_TIMEOUT_NEVER);
  }
  gate_hold("waiter.try");
  give_back(a);
  give_back(b);
  cr_assert_eq(gate_wait_reached("waiter.try", 1), 0);
  cr_assert_eq(fixture_stats(pool).idle, 2);
  gate_open("waiter.try");
  served(0);
  served(1);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  give_back(waiter[0].lease);
  served(2);
  shut_pool();
}

/* It has no thread that could try. */
Test(handoff_order, barging_hands_over_to_a_submitted_head, .timeout = 10) {
  open_pool("barging", "Max Pool Size=1");
  weir_h queue = queue_of(&f, 1);
  weir_h lease = fixture_acquire(&f, pool);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
  give_back(lease);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  give_back(take_one(&f, queue, 7, WEIR_OK).lease);
  shut_pool();
}

static weir_h queue;
static weir_h held[2];

/* A submitted acquire behind one who blocks; both connections are held. */
static void open_with_one_behind(int64_t head_ns, int64_t behind_ns) {
  open_pool("barging", "Max Pool Size=2");
  queue = queue_of(&f, 1);
  held[0] = fixture_acquire(&f, pool);
  held[1] = fixture_acquire(&f, pool);
  line_up(0, head_ns);
  (void)submit_waiting(&f, pool, behind_ns, queue, 7);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
}

/* The first has been woken for both: he takes one, and passes the other on. */
Test(handoff_order,
     barging_serves_a_submitted_one_behind_the_head,
     .timeout = 10) {
  open_with_one_behind(WEIR_TIMEOUT_NEVER, WEIR_TIMEOUT_NEVER);
  gate_hold("waiter.try");
  give_back(held[0]);
  give_back(held[1]);
  cr_assert_eq(fixture_stats(pool).idle, 2);
  gate_open("waiter.try");
  served(0);
  give_back(take_one(&f, queue, 7, WEIR_OK).lease);
  shut_pool();
}

/* The head is woken for one that another takes; then it goes in vain. */
Test(handoff_order,
     barging_passes_the_turn_on_when_the_head_gives_up,
     .timeout = 10) {
  open_with_one_behind(FIXTURE_S, WEIR_TIMEOUT_NEVER);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_E_TIMEOUT);
  give_back(held[0]);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  give_back(take_one(&f, queue, 7, WEIR_OK).lease);
  shut_pool();
}

/* The head is on its way when its time passes, with one idle for it: the submitted
 * one has that, since the head's look comes too late for nobody. */
Test(handoff_order, barging_loses_nobody_when_the_head_is_late, .timeout = 10) {
  open_with_one_behind(FIXTURE_S, WEIR_TIMEOUT_NEVER);
  gate_hold("waiter.try");
  give_back(held[0]);
  cr_assert_eq(gate_wait_reached("waiter.try", 1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  give_back(held[1]);
  gate_open("waiter.try");
  served(0);
  give_back(take_one(&f, queue, 7, WEIR_OK).lease);
  shut_pool();
}

Test(handoff_order,
     barging_ends_a_submitted_one_behind_at_its_time,
     .timeout = 10) {
  open_with_one_behind(WEIR_TIMEOUT_NEVER, FIXTURE_S);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  (void)take_one(&f, queue, 7, WEIR_E_TIMEOUT);
  give_back(held[0]);
  served(0);
  shut_pool();
}

static void *drain(void *arg) {
  static struct weir_error err = {.struct_size = sizeof err};
  *(int *)arg = weir_pool_drain(pool, WEIR_TIMEOUT_NEVER, &err);
  return NULL;
}

/* In a pool that drains nobody comes by any more: what comes back is handed to those
 * in line, in their order, and closed when there are none. */
Test(handoff_order, a_drain_hands_over_to_those_in_line, .timeout = 10) {
  static const char *const handoffs[] = {"queued", "barging"};
  for (unsigned i = 0; i < 2; i++) {
    open_pool(handoffs[i], "Max Pool Size=1");
    queue = queue_of(&f, 1);
    weir_h lease = fixture_acquire(&f, pool);
    line_up(0, WEIR_TIMEOUT_NEVER);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
    pthread_t drainer;
    int rc = WEIR_E_FAIL;
    cr_assert_eq(pthread_create(&drainer, NULL, drain, &rc), 0);
    AWAIT_STAT(pool, state, WEIR_POOL_DRAINING);
    give_back(lease);
    served(0);
    give_back(waiter[0].lease);
    give_back(take_one(&f, queue, 7, WEIR_OK).lease);
    cr_assert_eq(pthread_join(drainer, NULL), 0);
    cr_assert_eq(rc, WEIR_OK);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1, "%s", handoffs[i]);
    cr_assert_eq(fixture_stats(pool).acquired, 3);
    shut_pool();
  }
}

Test(handoff_order, barging_wakes_the_head_after_a_resume, .timeout = 10) {
  open_pool("barging", "Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  give_back(lease);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  served(0);
  shut_pool();
}

/* A connection that the head is woken for and finds dead: it keeps its place. */
Test(handoff_order, who_finds_a_dead_one_keeps_its_place, .timeout = 10) {
  static const char *const handoffs[] = {"queued", "barging"};
  for (unsigned i = 0; i < 2; i++) {
    open_pool(handoffs[i], "Max Pool Size=1;Probe Window=0;"
                           "Mock Script Text='health 1: dead'");
    weir_h lease = fixture_acquire(&f, pool);
    line_up(0, WEIR_TIMEOUT_NEVER);
    line_up(1, WEIR_TIMEOUT_NEVER);
    give_back(lease);
    served(0);
    cr_assert_eq(fixture_stats(pool).connects_begun, 2);
    cr_assert_eq(fixture_stats(pool).waiters, 1);
    give_back(waiter[0].lease);
    served(1);
    shut_pool();
  }
}
