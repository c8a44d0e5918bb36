/* SPDX-License-Identifier: MIT */
/* Lost wake-ups, stranded waiters, fairness: ways in which pools fail, by
 * number. */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

#define S  ((uint64_t)FIXTURE_S)
#define MS ((uint64_t)FIXTURE_MS)

static struct fixture f;
static weir_h pool;
static struct acquirer many[10];

/* 1: the caller has found nothing idle and is not in line when the connection
 * comes back.  Time stands still: no timer comes to its help. */
Test(scenario, scenario_001_a_return_before_the_line, .timeout = 10) {
  fixture_open_virtual(&f);
  gates_install();
  weir_h lease = fixture_single(&f, "", &pool);
  gate_hold("waiter.enqueue");
  acquirer_start(&many[0], pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(gate_wait_reached("waiter.enqueue", 1), 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  gate_open("waiter.enqueue");
  cr_assert_eq(acquirer_join(&many[0]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  gates_restore();
  fixture_close(&f);
}

/* 1, submitted: nobody would come to look for it again. */
Test(scenario, scenario_001_a_return_before_a_submission, .timeout = 10) {
  static const char *const points[] = {"publish.idle", "publish.published"};
  for (unsigned i = 0; i < 2; i++) {
    struct doing releaser;
    fixture_open(&f);
    gates_install();
    weir_h lease = fixture_single(&f, "", &pool);
    weir_h queue = queue_of(&f, 1);
    gate_hold(points[i]);
    doing_start(&releaser, weir_release, lease);
    cr_assert_eq(gate_wait_reached(points[i], 1), 0);
    weir_h got = 0;
    int rc = weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 7, &got, NULL,
                                 &f.err);
    gate_open(points[i]);
    cr_assert_eq(doing_join(&releaser), WEIR_OK);
    if (rc == WEIR_PENDING) {
      got = take_one(&f, queue, 7, WEIR_OK).lease;
    }
    cr_assert_neq(got, 0);
    gates_restore();
    fixture_close(&f);
  }
}

/* 2: ten callers, five places, and nothing that comes back is any good.  Each
 * who has waited opens for itself: ten connects, and five sessions at most. */
static void spoil(const char *settings, const char *sql, uint64_t age_ns) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=5;%s", settings);
  for (unsigned i = 0; i < 10; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, leased, i < 5 ? i + 1 : 5);
    AWAIT_STAT(pool, waiters, i < 5 ? 0 : i - 4);
  }
  for (unsigned i = 0; i < 10; i++) {
    fixture_advance(&f, age_ns);
    AWAIT_STAT(pool, leased, i < 6 ? 5 : 10 - i);
    /* Who waited first is served first. */
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK, "%u: %s", i,
                 many[i].err.message);
    (void)fixture_run(&f, many[i].lease, sql);
    cr_assert_eq(weir_release(many[i].lease), WEIR_OK);
  }
  AWAIT_STAT(pool, empty, 5);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.connects_begun, 10);
  cr_assert_eq(s.connects_ok, 10);
  cr_assert_eq(s.timeouts, 0);
  cr_assert_leq(fixture_counts(&f).sessions_max, 5);
  fixture_close(&f);
}

Test(scenario, scenario_002_broken_on_return, .timeout = 20) {
  spoil("", "kill", 0);
}

Test(scenario, scenario_002_reset_fails, .timeout = 20) {
  spoil("Connection Reset=verified;"
        "Mock Script Text=\"reset: fail conn network 'gone'\"",
        "set x", 0);
}

Test(scenario, scenario_002_lifetime_is_over, .timeout = 20) {
  spoil("Connection Lifetime=1;Lifetime Jitter=0", "count 1", 2 * S);
}

/* 4: the first waiter is granted the connection and goes before it has taken
 * it. A cancellation after the grant does not undo it, so what leaves is its
 * queue. */
Test(scenario, scenario_004_a_granted_waiter_leaves, .timeout = 10) {
  fixture_open(&f);
  weir_h lease = fixture_single(&f, "", &pool);
  weir_h queue = queue_of(&f, 1);
  weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  (void)weir_op_cancel(op);
  cr_assert_eq(fixture_stats(pool).leased, 1);
  cr_assert_eq(fixture_stats(pool).waiters, 1);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

/* 4: the first waiter is told to open, and its time is over before it wakes. */
Test(scenario, scenario_004_a_waiter_with_a_place_leaves, .timeout = 10) {
  fixture_open_virtual(&f);
  gates_install();
  weir_h lease =
      fixture_single(&f, "Mock Script Text=\"connect 2-: delay 10ms\"", &pool);
  gate_hold("waiter.park");
  acquirer_start(&many[0], pool, (int64_t)(100 * MS));
  cr_assert_eq(gate_wait_reached("waiter.park", 1), 0);
  acquirer_start(&many[1], pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(gate_wait_reached("waiter.park", 2), 0);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  AWAIT_STAT(pool, connecting, 1);
  fixture_advance(&f, 100 * MS);
  gate_open("waiter.park");
  cr_assert_eq(acquirer_join(&many[0]), WEIR_E_TIMEOUT);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  AWAIT_STAT(pool, connecting, 1);
  fixture_sync(&f);
  fixture_advance(&f, 10 * MS);
  cr_assert_eq(acquirer_join(&many[1]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  gates_restore();
  fixture_close(&f);
}

/* 6: ten connections and ten callers for each of them, every hold as long as
 * the next: nobody waits longer than its place in line says, in virtual time,
 * where the mean wait is 90 ms.  Each of the hundred asks again at once, five
 * times. */
enum {
  CALLERS = 100,
  PLACES = 10,
  ROUNDS = 5
};

static void begin_saturated(weir_h queue, weir_h *leases) {
  unsigned n = 0;
  for (unsigned i = 0; i < CALLERS; i++) {
    weir_h got = 0;
    int rc = weir_submit_acquire(pool, FIXTURE_S, queue, i, &got, NULL, &f.err);
    cr_assert(rc == WEIR_OK || rc == WEIR_PENDING);
    if (rc == WEIR_OK) {
      leases[n++] = got;
    }
  }
  while (n < PLACES) {
    struct weir_completion c = {.struct_size = sizeof c};
    cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, NULL), WEIR_OK);
    leases[n++] = c.lease;
  }
}

Test(scenario, scenario_006_newcomers_do_not_overtake, .timeout = 20) {
  weir_h leases[PLACES];
  unsigned expected = PLACES;
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=10");
  weir_h queue = queue_of(&f, CALLERS);
  begin_saturated(queue, leases);
  for (unsigned turn = 0; turn < ROUNDS * CALLERS / PLACES; turn++) {
    fixture_advance(&f, 10 * MS);
    for (unsigned i = 0; i < PLACES; i++) {
      weir_h got = 0;
      cr_assert_eq(weir_release(leases[i]), WEIR_OK);
      /* The owner asks again in the same breath. */
      cr_assert_eq(weir_submit_acquire(pool, FIXTURE_S, queue,
                                       (expected - PLACES) % CALLERS, &got,
                                       NULL, &f.err),
                   WEIR_PENDING);
      leases[i] = take_one(&f, queue, expected % CALLERS, WEIR_OK).lease;
      expected++;
    }
  }
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.timeouts, 0);
  cr_assert_eq(s.overtakes, 0);
  cr_assert_leq(s.wait_max_ns, CALLERS / PLACES * 10 * MS);
  fixture_close(&f);
}

/* 8: the server is gone for forty attempts, nobody new comes, and the pauses
 * are the longest that are drawn (10 s). */
Test(scenario, scenario_008_tries_on_while_callers_wait, .timeout = 20) {
  fixture_open_virtual(&f);
  virtual_clock_random(UINT64_MAX);
  pool = fixture_pool(&f, "Max Pool Size=5;Mock Script Text=\"connect 1-40: "
                          "fail endpoint network 'nobody home'\"");
  for (unsigned i = 0; i < 5; i++) {
    acquirer_start(&many[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, 5);
  AWAIT_STAT(pool, breaker, WEIR_BREAKER_OPEN);
  uint64_t failed;
  do {
    AWAIT_STAT(pool, connecting, 0);
    fixture_sync(&f);
    failed = fixture_stats(pool).connects_failed;
    fixture_advance(&f, 10 * S);
    fixture_sync(&f);
    AWAIT_STAT(pool, connecting, 0);
    cr_assert_gt(fixture_stats(pool).connects_begun, failed, "after %u",
                 (unsigned)failed);
  } while (failed < 40);
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(acquirer_join(&many[i]), WEIR_OK);
  }
  fixture_close(&f);
}

/* 11: what is checked behind a connect is Session Init; a health that is never
 * good concerns the idle only. */
Test(scenario,
     scenario_011_waits_for_no_return_that_cannot_come,
     .timeout = 10) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Session Init=check;Mock Script Text=\"exec: fail "
                          "statement other native 7 'not valid'\"");
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, &f.err),
               WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "Session Init failed: error 7"),
                     "%s", f.err.message);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  pool = fixture_pool(
      &f, "Max Pool Size=1;Probe Window=0;Mock Script Text=\"health: dead\"");
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, &f.err),
                 WEIR_OK);
    cr_assert_eq(weir_release(lease), WEIR_OK);
  }
  fixture_close(&f);
}
