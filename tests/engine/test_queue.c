/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "gates.h"
#include "handle.h"
#include "queue.h"
#include "virtual_clock.h"

#define MANY 64u

static struct fixture f;
static struct taker takers[MANY];

/* A pool whose one connection is leased, so that each submission waits. */
static weir_h busy_pool(weir_h *out_lease) {
  weir_h pool = 0;
  *out_lease = fixture_single(&f, "", &pool);
  return pool;
}

/* ------------------------------------------------------------------- taking */

Test(queue, has_nothing_at_first, .timeout = 5) {
  fixture_open(&f);
  weir_h queue = queue_of(&f, 1);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  fixture_close(&f);
}

Test(queue, gives_completions_in_the_order_of_their_ends, .timeout = 5) {
  weir_h lease;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 3);
  weir_h first = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  weir_h second = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 2);
  weir_h third = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 3);
  cr_assert_eq(weir_op_cancel(second), WEIR_OK);
  cr_assert_eq(weir_op_cancel(third), WEIR_OK);
  cr_assert_eq(weir_op_cancel(first), WEIR_OK);
  cr_assert_eq(take_one(&f, queue, 2, WEIR_E_CANCELLED).op, second);
  cr_assert_eq(take_one(&f, queue, 3, WEIR_E_CANCELLED).op, third);
  cr_assert_eq(take_one(&f, queue, 1, WEIR_E_CANCELLED).op, first);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

Test(queue, tells_the_time_out_of_a_take_in_virtual_time, .timeout = 5) {
  fixture_open_virtual(&f);
  weir_h queue = queue_of(&f, 1);
  taker_start(&takers[0], queue, 3 * FIXTURE_S);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_advance((uint64_t)(3 * FIXTURE_S) - 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_advance(1);
  cr_assert_eq(taker_join(&takers[0]), WEIR_E_TIMEOUT);
  cr_assert_eq(takers[0].err.code, WEIR_E_TIMEOUT);
  fixture_close(&f);
}

/* The post comes after the taker has looked and before it sleeps. */
Test(queue, loses_no_completion_between_look_and_sleep, .timeout = 5) {
  weir_h lease;
  fixture_open(&f);
  gates_install();
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 1);
  weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 7);
  gate_hold("queue.sleep");
  taker_start(&takers[0], queue, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(gate_wait_reached("queue.sleep", 1), 0);
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  gate_open("queue.sleep");
  cr_assert_eq(taker_join(&takers[0]), WEIR_OK);
  cr_assert_eq(takers[0].completion.user, 7);
  gates_restore();
  fixture_close(&f);
}

Test(queue, gives_each_completion_to_one_of_many_takers, .timeout = 20) {
  weir_h lease;
  uint64_t seen = 0;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, MANY);
  weir_h ops[MANY];
  for (unsigned i = 0; i < MANY; i++) {
    ops[i] = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, i);
    taker_start(&takers[i], queue, WEIR_TIMEOUT_NEVER);
  }
  for (unsigned i = 0; i < MANY; i++) {
    cr_assert_eq(weir_op_cancel(ops[i]), WEIR_OK);
  }
  for (unsigned i = 0; i < MANY; i++) {
    cr_assert_eq(taker_join(&takers[i]), WEIR_OK);
    seen |= UINT64_C(1) << takers[i].completion.user;
  }
  cr_assert_eq(seen, UINT64_MAX);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

Test(queue, frees_closed_pools_though_a_taker_sleeps, .timeout = 10) {
  fixture_open_virtual(&f);
  weir_h queue = queue_of(&f, 1);
  taker_start(&takers[0], queue, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(weir__caller_count(weir__caller_retire(), NULL, NULL), 0);
  cr_assert_eq(weir_queue_wake(queue), WEIR_OK);
  cr_assert_eq(taker_join(&takers[0]), WEIR_E_CANCELLED);
  fixture_close(&f);
}

/* ------------------------------------------------------------------- waking */

Test(queue, answers_each_wake_with_one_take, .timeout = 5) {
  fixture_open(&f);
  weir_h queue = queue_of(&f, 1);
  cr_assert_eq(weir_queue_wake(queue), WEIR_OK);
  cr_assert_eq(weir_queue_wake(queue), WEIR_OK);
  cr_assert_eq(take_none(queue), WEIR_E_CANCELLED);
  cr_assert_eq(take_none(queue), WEIR_E_CANCELLED);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

Test(queue, wakes_a_taker_that_sleeps, .timeout = 5) {
  fixture_open_virtual(&f);
  weir_h queue = queue_of(&f, 1);
  taker_start(&takers[0], queue, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(weir_queue_wake(queue), WEIR_OK);
  cr_assert_eq(taker_join(&takers[0]), WEIR_E_CANCELLED);
  fixture_close(&f);
}

Test(queue, gives_completions_before_it_answers_a_wake, .timeout = 5) {
  weir_h lease;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 1);
  weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  cr_assert_eq(weir_queue_wake(queue), WEIR_OK);
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  (void)take_one(&f, queue, 1, WEIR_E_CANCELLED);
  cr_assert_eq(take_none(queue), WEIR_E_CANCELLED);
  fixture_close(&f);
}

/* --------------------------------------------------------------- descriptor */

Test(queue, is_readable_exactly_while_something_is_there, .timeout = 5) {
  weir_h lease;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 2);
  int fd = fd_of(queue);
  weir_h a = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  weir_h b = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 2);
  cr_assert(!readable(fd));
  cr_assert_eq(weir_op_cancel(a), WEIR_OK);
  cr_assert(readable(fd));
  cr_assert_eq(weir_op_cancel(b), WEIR_OK);
  (void)take_one(&f, queue, 1, WEIR_E_CANCELLED);
  cr_assert(readable(fd));
  (void)take_one(&f, queue, 2, WEIR_E_CANCELLED);
  cr_assert(!readable(fd));
  fixture_close(&f);
}

Test(queue, is_readable_for_a_wake_until_it_is_answered, .timeout = 5) {
  fixture_open(&f);
  weir_h queue = queue_of(&f, 2);
  int fd = fd_of(queue);
  cr_assert_eq(weir_queue_wake(queue), WEIR_OK);
  cr_assert(readable(fd));
  cr_assert_eq(take_none(queue), WEIR_E_CANCELLED);
  cr_assert(!readable(fd));
  fixture_close(&f);
}

Test(queue, shows_what_was_there_before_the_descriptor_was_asked_for) {
  weir_h lease;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 2);
  weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  int fd = fd_of(queue);
  cr_assert(readable(fd));
  (void)take_one(&f, queue, 1, WEIR_E_CANCELLED);
  cr_assert(!readable(fd));
  fixture_close(&f);
}

/* -------------------------------------------------------------------- room */

Test(queue, is_busy_when_full_and_loses_nothing, .timeout = 5) {
  weir_h lease;
  weir_h none = 0;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 2);
  weir_h a = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 2);
  cr_assert_eq(weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 3, &none,
                                   NULL, &f.err),
               WEIR_E_BUSY);
  cr_assert_not_null(strstr(f.err.message, "2 operations"));
  cr_assert_eq(weir_op_cancel(a), WEIR_OK);
  /* Over, but not taken: still its place. */
  cr_assert_eq(weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 3, &none,
                                   NULL, NULL),
               WEIR_E_BUSY);
  (void)take_one(&f, queue, 1, WEIR_E_CANCELLED);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 3);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = take_one(&f, queue, 2, WEIR_OK).lease;
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = take_one(&f, queue, 3, WEIR_OK).lease;
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(queue, uses_its_one_entry_again_under_another_handle, .timeout = 5) {
  weir_h lease;
  weir_h last = 0;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 1);
  for (uint64_t i = 0; i < 100; i++) {
    weir_h op = submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, i);
    cr_assert_neq(op, last);
    cr_assert_eq(weir_op_cancel(last), WEIR_E_HANDLE);
    cr_assert_eq(weir_op_cancel(op), WEIR_OK);
    cr_assert_eq(weir_op_cancel(op), WEIR_E_HANDLE);
    (void)take_one(&f, queue, i, WEIR_E_CANCELLED);
    cr_assert_eq(weir_op_cancel(op), WEIR_E_HANDLE);
    last = op;
  }
  fixture_close(&f);
}

Test(queue, can_have_the_largest_capacity, .timeout = 20) {
  weir_h queues[3];
  fixture_open(&f);
  queues[0] = queue_of(&f, WEIR_QUEUE_CAPACITY_MAX);
  queues[1] = queue_of(&f, WEIR_QUEUE_CAPACITY_MAX - 2 * WEIR_QUEUE_SPARES);
  cr_assert_eq(weir_queue_open(f.engine, 1, &queues[2], &f.err), WEIR_E_SPACE);
  cr_assert_eq(weir_queue_close(queues[0]), WEIR_OK);
  fixture_sync(&f);
  queues[2] = queue_of(&f, WEIR_QUEUE_CAPACITY_MAX);
  fixture_close(&f);
}

/* ------------------------------------------------------------------ closing */

Test(queue, closed_gives_its_waiting_acquires_up, .timeout = 5) {
  weir_h lease;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 4);
  for (uint64_t i = 0; i < 4; i++) {
    (void)submit_waiting(&f, pool, 60 * FIXTURE_S, queue, i);
  }
  cr_assert_eq(fixture_stats(pool).waiters, 4);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  cr_assert_eq(fixture_stats(pool).cancelled, 4);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(queue, closed_releases_the_leases_that_nobody_took, .timeout = 5) {
  weir_h lease;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 1);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).leased, 1);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_stats(pool).leased, 0);
  fixture_close(&f);
}

/* What is released goes to the next in line. */
Test(queue, closed_hands_untaken_leases_on, .timeout = 5) {
  weir_h lease;
  struct acquirer next;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 1);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  acquirer_start(&next, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  cr_assert_eq(acquirer_join(&next), WEIR_OK);
  cr_assert_eq(weir_release(next.lease), WEIR_OK);
  fixture_close(&f);
}

Test(queue, closed_retires_an_untaken_lease_that_was_cleared, .timeout = 5) {
  weir_h lease;
  fixture_open(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 1);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

Test(queue, closed_tells_its_takers_and_makes_its_handle_stale, .timeout = 5) {
  weir_h lease;
  weir_h none = 0;
  int64_t fd = 0;
  fixture_open_virtual(&f);
  weir_h pool = busy_pool(&lease);
  weir_h queue = queue_of(&f, 1);
  for (unsigned i = 0; i < 3; i++) {
    taker_start(&takers[i], queue, WEIR_TIMEOUT_NEVER);
  }
  cr_assert_eq(virtual_clock_wait_parked(3), 0);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(taker_join(&takers[i]), WEIR_E_CLOSED);
  }
  cr_assert_eq(take_none(queue), WEIR_E_HANDLE);
  cr_assert_eq(weir_queue_wake(queue), WEIR_E_HANDLE);
  cr_assert_eq(weir_queue_fd(queue, &fd), WEIR_E_HANDLE);
  cr_assert_eq(weir_queue_close(queue), WEIR_E_HANDLE);
  cr_assert_eq(weir_submit_acquire(pool, 1, queue, 1, &none, NULL, NULL),
               WEIR_E_HANDLE);
  fixture_close(&f);
}

/* The submission found the queue open, and its end has looked at the entry before
 * the node was in line: it must not wait for ever in nobody's name. */
static int submit_for_ever(weir_h pool) {
  weir_h none = 0;
  return weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, takers[0].queue, 1,
                             &none, NULL, NULL);
}

Test(queue, gives_up_what_was_submitted_while_it_closed, .timeout = 5) {
  weir_h lease;
  struct doing d;
  fixture_open(&f);
  gates_install();
  weir_h pool = busy_pool(&lease);
  takers[0].queue = queue_of(&f, 1);
  gate_hold("submit.reserved");
  doing_start(&d, submit_for_ever, pool);
  cr_assert_eq(gate_wait_reached("submit.reserved", 1), 0);
  cr_assert_eq(weir_queue_close(takers[0].queue), WEIR_OK);
  gate_open("submit.reserved");
  cr_assert_eq(doing_join(&d), WEIR_PENDING);
  cr_assert_eq(fixture_stats(pool).waiters, 0);
  gates_restore();
  fixture_close(&f);
}

Test(queue, ends_with_its_engine, .timeout = 5) {
  weir_h lease;
  fixture_open_virtual(&f);
  (void)busy_pool(&lease);
  weir_h queue = queue_of(&f, 1);
  taker_start(&takers[0], queue, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_close(&f);
  cr_assert_eq(taker_join(&takers[0]), WEIR_E_CLOSED);
  cr_assert_eq(take_none(queue), WEIR_E_HANDLE);
}

/* In a forked child the parent's queue is nobody's. */
static int inspect_child(weir_h queue, int fd) {
  if (take_none(queue) != WEIR_E_FORK || weir_forget_after_fork() != WEIR_OK) {
    return 1;
  }
  return fcntl(fd, F_GETFD) == -1 && take_none(queue) == WEIR_E_HANDLE ? 0 : 2;
}

Test(queue, leaves_no_descriptor_to_a_forked_child, .timeout = 10) {
  int status = -1;
  fixture_open(&f);
  weir_h queue = queue_of(&f, 1);
  int fd = fd_of(queue);
  pid_t child = fork();
  if (child == 0) {
    _exit(inspect_child(queue, fd));
  }
  cr_assert_eq(waitpid(child, &status, 0), child);
  cr_assert_eq(status, 0);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  fixture_close(&f);
}

/* ---------------------------------------------------------------- arguments */

Test(queue, refuses_bad_arguments, .timeout = 5) {
  struct weir_completion c = {.struct_size = sizeof c};
  struct weir_completion small = {.struct_size = 8};
  weir_h queue = 0;
  fixture_open(&f);
  cr_assert_eq(weir_queue_open(f.engine, 0, &queue, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_queue_open(f.engine, 65537, &queue, &f.err), WEIR_E_ARG);
  cr_assert_not_null(strstr(f.err.message, "65536"));
  cr_assert_eq(weir_queue_open(f.engine, 1, NULL, &f.err), WEIR_E_ARG);
  queue = queue_of(&f, 1);
  cr_assert_eq(weir_queue_open(queue, 1, &queue, &f.err), WEIR_E_HANDLE);
  cr_assert_not_null(strstr(f.err.message, "a queue's handle"));
  cr_assert_eq(weir_queue_fd(queue, NULL), WEIR_E_ARG);
  cr_assert_eq(weir_queue_take(queue, -1, &c, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_queue_take(queue, 0, NULL, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_queue_take(queue, 0, &small, &f.err), WEIR_E_ARG);
  cr_assert_eq(weir_queue_take(f.engine, 0, &c, &f.err), WEIR_E_HANDLE);
  cr_assert_eq(weir_op_cancel(queue), WEIR_E_HANDLE);
  cr_assert_eq(weir_op_cancel(0), WEIR_E_HANDLE);
  fixture_close(&f);
}
