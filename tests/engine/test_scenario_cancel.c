/* SPDX-License-Identifier: MIT */
/* Cancellations that leak connections or places: ways in which pools fail, by
 * number.  A blocking acquire is not cancelled, a submitted one is. */
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
static weir_h queue;

static int pass_time(weir_h ns) {
  virtual_clock_advance(ns);
  return WEIR_OK;
}

/* All of the capacity is there, and not one more. */
static void expect_capacity(unsigned max) {
  weir_h leases[8];
  weir_h more = 0;
  for (unsigned i = 0; i < max; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  cr_assert_eq(weir_acquire(pool, 0, &more, NULL), WEIR_E_TIMEOUT);
  for (unsigned i = 0; i < max; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  cr_assert_eq(fixture_stats(pool).leased, 0);
}

/* ---------------------------------------------- 18: ended as it was granted */

enum {
  ASKED = 64,
  RACES = 50
};

/* Whoever is served gives back at once, and so serves the next. */
static void take_all(unsigned n) {
  while (n != 0) {
    struct weir_completion c = {.struct_size = sizeof c};
    cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, NULL), WEIR_OK);
    cr_assert(c.status == WEIR_OK || c.status == WEIR_E_TIMEOUT ||
              c.status == WEIR_E_CANCELLED);
    if (c.status == WEIR_OK) {
      cr_assert_eq(weir_release(c.lease), WEIR_OK);
    }
    n--;
  }
}

Test(scenario, scenario_018_a_grant_to_one_who_has_ended, .timeout = 30) {
  weir_h ops[ASKED];
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=3");
  queue = queue_of(&f, ASKED);
  for (unsigned round = 0; round < RACES; round++) {
    weir_h held[3];
    struct doing clock;
    for (unsigned i = 0; i < 3; i++) {
      held[i] = fixture_acquire(&f, pool);
    }
    for (unsigned i = 0; i < ASKED; i++) {
      ops[i] =
          submit_waiting(&f, pool, (int64_t)((i % 3 + 1) * MS / 2), queue, i);
    }
    fixture_sync(&f);
    doing_start(&clock, pass_time, 2 * MS);
    for (unsigned i = 0; i < 3; i++) {
      cr_assert_eq(weir_release(held[i]), WEIR_OK);
      (void)weir_op_cancel(ops[i + round % 8]);
    }
    cr_assert_eq(doing_join(&clock), WEIR_OK);
    take_all(ASKED);
    expect_capacity(3);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  fixture_close(&f);
}

/* ------------------------------------------------- 19: at each step in turn */

static weir_h op;

static void open_three(const char *settings) {
  fixture_open_virtual(&f);
  gates_install();
  pool = fixture_pool(&f, "Max Pool Size=3;%s", settings);
  queue = queue_of(&f, 1);
}

static void cancel_it(void) {
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  (void)take_one(&f, queue, 1, WEIR_E_CANCELLED);
}

static void end_three(void) {
  AWAIT_STAT(pool, connecting, 0);
  AWAIT_STAT(pool, reserved, 0);
  expect_capacity(3);
  gates_restore();
  fixture_close(&f);
}

Test(scenario, scenario_019_cancelled_in_line, .timeout = 10) {
  weir_h held[3];
  open_three("");
  for (unsigned i = 0; i < 3; i++) {
    held[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 6; i++) {
    op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
    cancel_it();
  }
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(weir_release(held[i]), WEIR_OK);
  }
  cr_assert_eq(fixture_stats(pool).cancelled, 6);
  end_three();
}

/* At once: the reactor may have begun to see to it, or not. */
Test(scenario, scenario_019_cancelled_at_once, .timeout = 10) {
  open_three("");
  for (unsigned i = 0; i < 6; i++) {
    struct weir_completion c = {.struct_size = sizeof c};
    op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
    (void)weir_op_cancel(op);
    cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, NULL), WEIR_OK);
    cr_assert(c.status == WEIR_OK || c.status == WEIR_E_CANCELLED);
    if (c.lease != 0) {
      cr_assert_eq(weir_release(c.lease), WEIR_OK);
    }
    AWAIT_STAT(pool, connecting, 0);
    cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
    AWAIT_STAT(pool, empty, 3);
  }
  end_three();
}

Test(scenario, scenario_019_cancelled_in_connect, .timeout = 10) {
  open_three("Mock Script Text=\"connect 1: hang\"");
  for (unsigned i = 1; i <= 6; i++) {
    op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
    AWAIT_STAT(pool, connecting, 1);
    AWAIT_COUNT(&f, hung, 1);
    cancel_it();
  }
  /* The connect goes on, for whoever comes next: there was one in all. */
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, idle, 1);
  end_three();
}

/* A connection has been found, and is looked at before it is handed out. */
static void cancel_in_probe(const char *settings, int status) {
  open_three(settings);
  weir_h held[3];
  for (unsigned i = 0; i < 6; i++) {
    for (unsigned k = 0; k < 3; k++) {
      held[k] = fixture_acquire(&f, pool);
    }
    gate_hold("submit.check");
    unsigned before = gate_reached("submit.check");
    op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
    cr_assert_eq(weir_release(held[0]), WEIR_OK);
    cr_assert_eq(gate_wait_reached("submit.check", before + 1), 0);
    cr_assert_eq(weir_op_cancel(op), WEIR_OK);
    gate_open("submit.check");
    struct weir_completion c = take_one(&f, queue, 1, status);
    if (c.lease != 0) {
      cr_assert_eq(weir_release(c.lease), WEIR_OK);
    }
    cr_assert_eq(weir_release(held[1]), WEIR_OK);
    cr_assert_eq(weir_release(held[2]), WEIR_OK);
    AWAIT_STAT(pool, closing, 0);
  }
  end_three();
}

/* Granted, so the lease is the caller's, who has it to give back. */
Test(scenario, scenario_019_cancelled_in_probe, .timeout = 20) {
  cancel_in_probe("Probe Window=0", WEIR_OK);
}

Test(scenario,
     scenario_019_cancelled_while_its_session_is_reset,
     .timeout = 10) {
  open_three("Max Pool Size=1;Connection Reset=verified;"
             "Mock Script Text=\"reset: hang\"");
  for (unsigned i = 1; i <= 6; i++) {
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_COUNT(&f, hung, 1);
    op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
    cancel_it();
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
    AWAIT_STAT(pool, idle, 1);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  expect_capacity(1);
  gates_restore();
  fixture_close(&f);
}

/* --------------------------------------------------- 20: while it holds one */

/* A return is not undone half-way: its reset goes on without its owner, who may
 * cancel what it likes. */
Test(scenario, scenario_020_cancelled_during_the_return, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h lease = fixture_single(
      &f, "Connection Reset=verified;Mock Reset Delay=50ms", &pool);
  cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_cancel(lease), WEIR_E_HANDLE);
  AWAIT_STAT(pool, reserved, 1);
  cr_assert_eq(fixture_stats(pool).leased, 0);
  fixture_sync(&f);
  fixture_advance(&f, 50 * MS);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  cr_assert_eq(weir_cancel(lease), WEIR_E_HANDLE);
  expect_capacity(1);
  fixture_close(&f);
}

/* Between work and return: the task's statement is cancelled where it is. */
Test(scenario, scenario_020_cancelled_at_work, .timeout = 10) {
  struct weir_completion c = {.struct_size = sizeof c};
  fixture_open(&f);
  weir_h lease = fixture_single(&f, "", &pool);
  queue = queue_of(&f, 1);
  cr_assert_eq(weir_submit_exec(lease, "hang", 4, NULL, queue, 5, &op, &f.err),
               WEIR_PENDING);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, NULL), WEIR_OK);
  cr_assert_eq(c.status, WEIR_E_CANCELLED);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  expect_capacity(1);
  fixture_close(&f);
}

/* --------------------------------------------------- 21: and then the close */

/* Cancelled from 5 ms before to 5 ms after its connect is done. */
Test(scenario, scenario_021_a_close_after_a_cancelled_acquire, .timeout = 20) {
  for (unsigned at_ms = 95; at_ms <= 105; at_ms++) {
    struct weir_completion c = {.struct_size = sizeof c};
    fixture_open_virtual(&f);
    pool = fixture_pool(&f, "Max Pool Size=2;Mock Connect Delay=100ms");
    queue = queue_of(&f, 1);
    op = submit_waiting(&f, pool, FIXTURE_S, queue, 1);
    fixture_sync(&f);
    fixture_advance(&f, at_ms * MS);
    int rc = weir_op_cancel(op);
    cr_assert_eq(rc, at_ms < 100 ? WEIR_OK : WEIR_E_HANDLE);
    cr_assert_eq(weir_queue_take(queue, 0, &c, NULL), WEIR_OK);
    cr_assert_eq(c.status, at_ms < 100 ? WEIR_E_CANCELLED : WEIR_OK);
    if (c.lease != 0) {
      cr_assert_eq(weir_release(c.lease), WEIR_OK);
    }
    cr_assert_eq(fixture_stats(pool).leased, 0);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, conns_live, 0);
    cr_assert_eq(fixture_counts(&f).sessions_live, 0);
    fixture_close(&f);
  }
}

/* ---------------------------------------- 25: a cancel that is not answered */

enum {
  STUCK = 50
};

/* Who cancels never waits; who runs waits two seconds for the server to confirm
 * and is free then; the connection is closed. */
Test(scenario, scenario_025_a_cancel_has_a_limit, .timeout = 30) {
  static struct runner r[STUCK];
  weir_h leases[STUCK];
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=50;Mock Script Text=\"exec 1-50: hang;"
                          " cancel: hang\"");
  for (unsigned i = 0; i < STUCK; i++) {
    leases[i] = fixture_acquire(&f, pool);
    runner_start(&r[i], &f, leases[i], "count 1");
  }
  AWAIT_COUNT(&f, hung, STUCK);
  cr_assert_eq(virtual_clock_wait_parked(STUCK), 0);
  fixture_advance(&f, 100 * MS);
  uint64_t cancelled_at = virtual_clock_now();
  for (unsigned i = 0; i < STUCK; i++) {
    cr_assert_eq(weir_cancel(leases[i]), WEIR_OK);
  }
  AWAIT_COUNT(&f, calls[MOCK_CANCEL], STUCK);
  fixture_sync(&f);
  cr_assert_eq(virtual_clock_wait_parked(STUCK), 0);
  fixture_advance(&f, 2 * S);
  for (unsigned i = 0; i < STUCK; i++) {
    cr_assert_eq(runner_join(&r[i]), WEIR_E_CANCELLED);
    cr_assert_eq(r[i].ended, cancelled_at + 2 * S);
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  AWAIT_STAT(pool, empty, STUCK);
  for (unsigned i = 0; i < STUCK; i++) {
    leases[i] = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, leases[i], "count 1"), WEIR_OK);
  }
  cr_assert_eq(fixture_stats(pool).connects_begun, 2 * STUCK);
  fixture_close(&f);
}

/* ----------------------------- 26: cancelled in the middle of several steps */

static int begin_snapshot(weir_h lease) {
  struct weir_error err = {.struct_size = sizeof err};
  return weir_begin(lease, WEIR_ISO_SNAPSHOT, &err);
}

static void cancel_begin(const char *script, unsigned connects) {
  struct doing begin;
  fixture_open(&f);
  weir_h lease = fixture_single(&f, script, &pool);
  doing_start(&begin, begin_snapshot, lease);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  int rc = doing_join(&begin);
  cr_assert(rc == WEIR_E_CANCELLED || rc == WEIR_E_FAIL, "%s",
            weir_status_name(rc));
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), connects);
  cr_assert_eq(weir_begin(lease, WEIR_ISO_DEFAULT, &f.err), WEIR_OK, "%s",
               f.err.message);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_OK);
  fixture_close(&f);
}

/* The server does not confirm the cancellation, or the connection breaks. */
Test(scenario, scenario_026_broken_by_a_cancel_is_not_kept, .timeout = 10) {
  cancel_begin("Mock Script Text=\"txn 1: hang; cancel: die 'broken'\"", 2);
}

/* It confirms: then it is known where the session is, and nothing of the
 * cancellation is left to the next user.  (By design it is kept.) */
Test(scenario, scenario_026_a_confirmed_cancel_leaves_no_error, .timeout = 10) {
  cancel_begin("Mock Script Text=\"txn 1: hang\"", 1);
}
