/* SPDX-License-Identifier: MIT */
/* test_handoff.c - who gets what comes back: the bound, the one who tries, and each
 * way in which he can leave the line (dispatch.h). */
#include <pthread.h>
#include <stdio.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

#define BOUND_NS UINT64_C(1500000)
#define WAITERS  4u

static struct fixture f;
static weir_h pool;
static struct acquirer waiter[WAITERS];

static void open_pool(const char *more) {
  fixture_open_virtual(&f);
  gates_install();
  pool = fixture_pool(&f, "%s", more);
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

static uint64_t overtakes(void) {
  return fixture_stats(pool).overtakes;
}

/* The first in line has been woken for the connection that was held, which is idle,
 * and stands before it locks. */
static void wake_the_first(weir_h held) {
  gate_hold("waiter.try");
  cr_assert_eq(weir_release(held), WEIR_OK);
  cr_assert_eq(gate_wait_reached("waiter.try", 1), 0);
  cr_assert_eq(fixture_stats(pool).idle, 1);
}

/* ------------------------------------------------------------------ the bound */

Test(handoff, lets_a_running_thread_overtake_within_the_bound, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  lease = try_acquire();
  cr_assert_eq(overtakes(), 1);
  gate_open("waiter.try");
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).handovers, 0);
  cr_assert_eq(overtakes(), 1);
  shut_pool();
}

static void check_bound(const char *more, uint64_t bound_ns) {
  open_pool(more);
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, bound_ns - 1);
  wake_the_first(lease);
  lease = try_acquire();
  cr_assert_eq(fixture_stats(pool).handovers, 0);
  fixture_advance(&f, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_E_TIMEOUT);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  shut_pool();
}

/* The promise. */
Test(handoff,
     gives_the_first_return_after_the_bound_to_the_oldest,
     .timeout = 10) {
  check_bound("Max Pool Size=1", BOUND_NS);
}

Test(handoff, bound_is_the_setting, .timeout = 10) {
  check_bound("Max Pool Size=1;Handoff Bound=7 ms", 7000000);
}

Test(handoff, bound_changes_on_a_live_pool_at_once, .timeout = 10) {
  open_pool("Max Pool Size=1;Handoff Bound=1 s");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 2000000);
  const char changes[] = "Handoff Bound=2 ms";
  cr_assert_eq(weir_pool_reconfigure(pool, changes, sizeof changes - 1, NULL),
               WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  shut_pool();
}

/* What was idle when the bound passed may be taken once more, what is given back may
 * not. */
Test(handoff, what_was_idle_already_may_be_taken_once_more, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  fixture_advance(&f, 2 * BOUND_NS);
  lease = try_acquire();
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_acquire(pool, 0, &lease, NULL), WEIR_E_TIMEOUT);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  shut_pool();
}

Test(handoff, direct_lets_nobody_overtake, .timeout = 10) {
  open_pool("Max Pool Size=2;Pool Handoff=direct");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  line_up(1, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(weir_release(a), WEIR_OK);
  cr_assert_eq(weir_release(b), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).handovers, 2);
  cr_assert_eq(fixture_stats(pool).idle, 0);
  cr_assert_eq(overtakes(), 0);
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[1]), WEIR_OK);
  shut_pool();
}

/* It has no thread that could try. */
Test(handoff, hands_over_to_a_submitted_waiter_at_once, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h queue = queue_of(&f, 1);
  weir_h lease = fixture_acquire(&f, pool);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  lease = take_one(&f, queue, 7, WEIR_OK).lease;
  cr_assert_eq(weir_release(lease), WEIR_OK);
  shut_pool();
}

/* --------------------------------------------- the one who tries, and the rest */

/* A release while TRYING is set wakes nobody; the one who tries looks after he has
 * cleared it, and has the next one try. */
Test(handoff, who_has_tried_wakes_the_next, .timeout = 10) {
  open_pool("Max Pool Size=2");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  line_up(1, WEIR_TIMEOUT_NEVER);
  wake_the_first(a);
  cr_assert_eq(weir_release(b), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 2);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[1]), WEIR_OK);
  cr_assert_eq(overtakes(), 0);
  shut_pool();
}

/* Given back after the look: TRYING is not set any more, so it is the release that
 * has him woken again, in his place. */
Test(handoff, who_tried_in_vain_keeps_its_place, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  line_up(1, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  lease = try_acquire();
  gate_open("waiter.try");
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_release(waiter[0].lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[1]), WEIR_OK);
  shut_pool();
}

/* Two connections, the first of which was handed to the one who was to try. */
Test(handoff, a_grant_to_the_one_who_tries_wakes_the_next, .timeout = 10) {
  open_pool("Max Pool Size=2");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  line_up(1, WEIR_TIMEOUT_NEVER);
  wake_the_first(a);
  fixture_advance(&f, BOUND_NS);
  cr_assert_eq(weir_release(b), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).handovers, 1);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[1]), WEIR_OK);
  shut_pool();
}

/* Its time is over before it gets to the look; the look was due to it and is good:
 * exactly one of both, and it is the look. */
Test(handoff, who_looks_late_has_it_all_the_same, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, FIXTURE_S);
  line_up(1, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(weir_release(waiter[0].lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[1]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).timeouts, 0);
  shut_pool();
}

static void *release_it(void *lease) {
  cr_expect_eq(weir_release(*(const weir_h *)lease), WEIR_OK);
  return NULL;
}

/* Whoever serves the one who is to try with something else clears TRYING before it
 * looks: a release that still sees TRYING leaves what it has made idle to that
 * look. */
Test(handoff, a_release_beside_a_grant_to_the_one_who_tries, .timeout = 10) {
  open_pool("Max Pool Size=2");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  wake_the_first(a);
  a = try_acquire();
  fixture_advance(&f, BOUND_NS);
  line_up(1, WEIR_TIMEOUT_NEVER);
  fixture_sync(&f);
  gate_hold("dispatch.flag.locked");
  pthread_t releaser;
  cr_assert_eq(pthread_create(&releaser, NULL, release_it, &b), 0);
  cr_assert_eq(gate_wait_reached("dispatch.flag.locked", 1), 0);
  cr_assert_eq(weir_release(a), WEIR_OK);
  gate_open("dispatch.flag.locked");
  cr_assert_eq(pthread_join(releaser, NULL), 0);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[1]), WEIR_OK);
  shut_pool();
}

/* A release finds the first in time, and tells it to try when its time is over and it
 * has seen so, and that it only waits.  Then it leaves, and the second has what the
 * first was woken for. */
Test(handoff, who_times_out_passes_the_try_on, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  gate_hold("waiter.leave");
  gate_hold("waiter.told.locked");
  line_up(0, FIXTURE_MS);
  line_up(1, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(2), 0);
  pthread_t releaser;
  cr_assert_eq(pthread_create(&releaser, NULL, release_it, &lease), 0);
  cr_assert_eq(gate_wait_reached("waiter.told.locked", 1), 0);
  virtual_clock_advance((uint64_t)FIXTURE_MS);
  cr_assert_eq(gate_wait_reached("waiter.leave", 1), 0);
  gate_open("waiter.told.locked");
  cr_assert_eq(pthread_join(releaser, NULL), 0);
  gate_hold("waiter.try");
  gate_open("waiter.leave");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_E_TIMEOUT);
  cr_assert_eq(gate_wait_reached("waiter.try", 1), 0);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[1]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).timeouts, 1);
  shut_pool();
}

/* Refused while it is on its way: it came with a second, has stood for more than
 * half of that, and nobody was served meanwhile. */
Test(handoff, who_is_refused_passes_the_try_on, .timeout = 10) {
  open_pool("Max Pool Size=1;Queue Policy=codel");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, FIXTURE_S);
  line_up(1, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  fixture_sync(&f);
  fixture_advance(&f, UINT64_C(600) * (uint64_t)FIXTURE_MS);
  AWAIT_STAT(pool, overloaded, 1);
  cr_assert_eq(gate_wait_reached("waiter.try", 2), 0);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_E_OVERLOADED);
  cr_assert_eq(acquirer_join(&waiter[1]), WEIR_OK);
  shut_pool();
}

/* Paused between the wake and the look: he waits on, and a resume serves him. */
Test(handoff, a_pause_stops_the_try_and_a_resume_repeats_it, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  cr_assert_eq(weir_pool_pause(pool), WEIR_OK);
  gate_open("waiter.try");
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  shut_pool();
}

Test(handoff, a_clear_before_the_look_has_another_opened, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  shut_pool();
}

Test(handoff, a_close_ends_the_one_who_tries, .timeout = 10) {
  open_pool("Max Pool Size=1");
  weir_h lease = fixture_acquire(&f, pool);
  line_up(0, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_E_CLOSED);
  shut_pool();
}

/* While one is on his way to an idle connection nothing is opened for him; when it
 * has been taken past him, something is. */
Test(handoff, nothing_is_opened_for_one_who_tries, .timeout = 10) {
  open_pool("Max Pool Size=2");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_pool_resize(pool, 0, 1, NULL), WEIR_OK);
  line_up(0, WEIR_TIMEOUT_NEVER);
  wake_the_first(lease);
  cr_assert_eq(weir_pool_resize(pool, 0, 2, NULL), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  (void)try_acquire();
  gate_open("waiter.try");
  cr_assert_eq(acquirer_join(&waiter[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  shut_pool();
}
