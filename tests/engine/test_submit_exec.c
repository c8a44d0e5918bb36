/* SPDX-License-Identifier: MIT */
/* What is peculiar to the submit forms of statements; that they mean the same as
 * the blocking ones is said by test_exec.c, which is run for both. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;
static weir_h pool;
static weir_h lease;
static weir_h queue;

static void open_all(const char *settings) {
  fixture_open_virtual(&f);
  lease = fixture_single(&f, settings, &pool);
  cr_assert_eq(weir_queue_open(f.engine, 4, &queue, &f.err), WEIR_OK, "%s",
               f.err.message);
}

static int submit(const char *sql, uint64_t user, weir_h *out_op) {
  return weir_submit_exec(lease, sql, strlen(sql), NULL, queue, user, out_op,
                          &f.err);
}

static int next(struct weir_item *out) {
  *out = (struct weir_item){.struct_size = sizeof *out};
  return weir_submit_next(lease, out, queue, 7, NULL, &f.err);
}

/* The next completion, within ten seconds of real time. */
static struct weir_completion take(void) {
  struct weir_completion c = {.struct_size = sizeof c};
  cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, &f.err), WEIR_OK);
  return c;
}

static bool is_empty(void) {
  struct weir_completion c = {.struct_size = sizeof c};
  return weir_queue_take(queue, 0, &c, NULL) == WEIR_E_TIMEOUT;
}

/* Submits a statement that hangs and waits until it does. */
static weir_h submit_hanging(const char *sql) {
  weir_h op = 0;
  cr_assert_eq(submit(sql, 1, &op), WEIR_PENDING);
  AWAIT_COUNT(&f, hung, 1);
  fixture_sync(&f);
  return op;
}

/* ------------------------------------------------------------------- at once */

Test(submit_exec, ends_at_once_if_the_driver_does, .timeout = 10) {
  open_all("");
  struct weir_item item;
  weir_h op = 4711;
  cr_assert_eq(submit("count 7", 1, &op), WEIR_OK);
  cr_assert_eq(op, 4711);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(item.type, WEIR_ITEM_COUNT);
  cr_assert_eq(item.row_count, 7);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(item.type, WEIR_ITEM_DONE);
  cr_assert_eq(next(&item), WEIR_E_ARG);
  cr_assert(is_empty());
  fixture_close(&f);
}

Test(submit_exec, fails_at_once_if_the_driver_does, .timeout = 10) {
  open_all("");
  cr_assert_eq(submit("fail 208 no such table", 1, NULL), WEIR_E_FAIL);
  cr_assert_eq(f.err.native, 208);
  cr_assert(is_empty());
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* ----------------------------------------------------------------- in a while */

Test(submit_exec, completes_when_there_is_something_to_tell, .timeout = 10) {
  open_all("");
  struct weir_item item;
  weir_h op = submit_hanging("hang; count 3");
  cr_assert_neq(op, 0);
  cr_assert(is_empty());
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  struct weir_completion c = take();
  cr_assert_eq(c.type, WEIR_OP_EXEC);
  cr_assert_eq(c.status, WEIR_OK);
  cr_assert_eq(c.user, 1);
  cr_assert_eq(c.op, op);
  cr_assert_eq(c.lease, lease);
  cr_assert_eq(weir_op_cancel(op), WEIR_E_HANDLE);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(item.type, WEIR_ITEM_COUNT);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(item.type, WEIR_ITEM_DONE);
  cr_assert(is_empty());
  fixture_close(&f);
}

Test(submit_exec, waits_for_each_piece_by_itself, .timeout = 10) {
  open_all("");
  struct weir_item item;
  cr_assert_eq(submit("count 1; sleep 2s; count 2", 1, NULL), WEIR_OK);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(item.row_count, 1);
  item.row_count = 99;
  cr_assert_eq(weir_submit_next(lease, &item, queue, 8, NULL, &f.err),
               WEIR_PENDING);
  cr_assert_eq(item.row_count, 99); /* untouched */
  fixture_advance(&f, 2 * SECOND - 1);
  cr_assert(is_empty());
  fixture_advance(&f, 1);
  struct weir_completion c = take();
  cr_assert_eq(c.type, WEIR_OP_NEXT);
  cr_assert_eq(c.user, 8);
  cr_assert_eq(c.status, WEIR_OK);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(item.row_count, 2);
  fixture_close(&f);
}

/* Either form, in turn, on one request. */
Test(submit_exec, may_be_mixed_with_blocking_calls, .timeout = 10) {
  open_all("");
  struct weir_item item = {.struct_size = sizeof item};
  (void)submit_hanging("hang; count 1; count 2");
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  (void)take();
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK);
  cr_assert_eq(item.row_count, 1);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(item.row_count, 2);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(fixture_run(&f, lease, "rows 2"), WEIR_OK);
  cr_assert_eq(submit("count 4", 2, NULL), WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  fixture_close(&f);
}

Test(submit_exec, uses_no_memory_of_its_caller_afterwards, .timeout = 10) {
  open_all("");
  char sql[] = "hang; rows 1; count 5";
  struct weir_item item;
  cr_assert_eq(
      weir_submit_exec(lease, sql, strlen(sql), NULL, queue, 1, NULL, &f.err),
      WEIR_PENDING);
  memset(sql, 'x', sizeof sql);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(take().status, WEIR_OK);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(item.type, WEIR_ITEM_META);
  fixture_close(&f);
}

/* --------------------------------------------------------------- the lease */

Test(submit_exec, keeps_other_calls_off_its_lease, .timeout = 10) {
  open_all("");
  struct weir_item item;
  char text[32];
  (void)submit_hanging("hang");
  cr_assert_eq(submit("count 1", 2, NULL), WEIR_E_BUSY);
  cr_assert_eq(next(&item), WEIR_E_BUSY);
  cr_assert_eq(
      weir_submit_txn(lease, WEIR_OP_COMMIT, NULL, queue, 1, NULL, &f.err),
      WEIR_E_BUSY);
  cr_assert_eq(fixture_exec(&f, lease, "count 1"), WEIR_E_BUSY);
  cr_assert_eq(weir_begin(lease, 0, NULL), WEIR_E_BUSY);
  cr_assert_eq(
      weir_lease_info(lease, WEIR_INFO_SESSION_ID, text, sizeof text, NULL),
      WEIR_E_BUSY);
  cr_assert_eq(weir_release(lease), WEIR_E_BUSY);
  cr_assert_eq(weir_discard(lease), WEIR_E_BUSY);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(take().status, WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* Leases are their users' while a pool closes. */
Test(submit_exec, runs_on_when_its_pool_is_cleared_or_closed, .timeout = 10) {
  open_all("");
  (void)submit_hanging("hang; count 1");
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  fixture_advance(&f, SECOND);
  cr_assert(is_empty());
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(take().status, WEIR_OK, "%s", f.err.message);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  /* And so does one that begins after that, and nobody spins. */
  (void)submit_hanging("hang; count 1");
  uint64_t steps = fixture_counts(&f).calls[MOCK_STEP];
  fixture_advance(&f, SECOND);
  cr_assert_leq(fixture_counts(&f).calls[MOCK_STEP], steps + 2);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(take().status, WEIR_OK, "%s", f.err.message);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* ---------------------------------------------------------------- the queue */

Test(submit_exec, is_refused_by_a_queue_that_is_full, .timeout = 10) {
  open_all("");
  weir_h small = 0;
  weir_h other = 0;
  cr_assert_eq(weir_queue_open(f.engine, 1, &small, &f.err), WEIR_OK);
  weir_h pool2 = fixture_pool(&f, "Max Pool Size=2");
  weir_h lease2 = fixture_acquire(&f, pool2);
  cr_assert_eq(weir_submit_exec(lease2, "hang", 4, NULL, small, 1, NULL, NULL),
               WEIR_PENDING);
  cr_assert_eq(
      weir_submit_exec(lease, "count 1", 7, NULL, small, 2, &other, &f.err),
      WEIR_E_BUSY);
  cr_assert_not_null(strstr(f.err.message, "queue"), "%s", f.err.message);
  /* Nothing has begun. */
  cr_assert_eq(fixture_run(&f, lease, "count 1"), WEIR_OK);
  fixture_close(&f);
}

Test(submit_exec, is_refused_where_an_argument_is_wrong, .timeout = 10) {
  struct fixture g;
  open_all("");
  fixture_open(&g);
  weir_h foreign = 0;
  struct weir_item item = {.struct_size = 8};
  cr_assert_eq(weir_queue_open(g.engine, 1, &foreign, NULL), WEIR_OK);
  cr_assert_eq(weir_submit_exec(lease, "x", 1, NULL, foreign, 1, NULL, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(weir_submit_exec(lease, "x", 1, NULL, lease, 1, NULL, &f.err),
               WEIR_E_HANDLE);
  cr_assert_eq(weir_submit_exec(queue, "x", 1, NULL, queue, 1, NULL, &f.err),
               WEIR_E_HANDLE);
  cr_assert_eq(weir_submit_exec(lease, NULL, 1, NULL, queue, 1, NULL, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(weir_submit_next(lease, NULL, queue, 1, NULL, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(weir_submit_next(lease, &item, queue, 1, NULL, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(fixture_run(&f, lease, "count 1"), WEIR_OK);
  fixture_close(&g);
  fixture_close(&f);
}

/* Its queue ends: the statement is cancelled, nobody hears of it, and the lease
 * is its user's. */
Test(submit_exec, is_cancelled_with_its_queue, .timeout = 10) {
  open_all("");
  (void)submit_hanging("hang");
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  AWAIT_COUNT(&f, cancelled, 1);
  fixture_sync(&f);
  cr_assert_eq(fixture_run(&f, lease, "count 1"), WEIR_OK, "%s", f.err.message);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------------- time-out and cancel */

Test(submit_exec, times_out_to_the_nanosecond, .timeout = 10) {
  open_all("Command Timeout=3");
  (void)submit_hanging("hang");
  fixture_advance(&f, 3 * SECOND - 1);
  cr_assert(is_empty());
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 0);
  fixture_advance(&f, 1);
  cr_assert_eq(take().status, WEIR_E_TIMEOUT);
  cr_assert_eq(f.err.code, WEIR_E_TIMEOUT);
  cr_assert_eq(f.err.kind, WEIR_KIND_TIMEOUT);
  cr_assert_eq(fixture_run(&f, lease, "count 1"), WEIR_OK);
  fixture_close(&f);
}

/* A server that does not acknowledge has two seconds. */
Test(submit_exec, gives_a_cancellation_its_grace, .timeout = 10) {
  open_all("Command Timeout=3;Mock Script Text=\"cancel: hang\"");
  (void)submit_hanging("hang");
  fixture_advance(&f, 3 * SECOND);
  AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
  fixture_advance(&f, 2 * SECOND - 1);
  cr_assert(is_empty());
  fixture_advance(&f, 1);
  cr_assert_eq(take().status, WEIR_E_TIMEOUT);
  cr_assert_eq(f.err.scope, WEIR_SCOPE_CONN);
  cr_assert_eq(fixture_exec(&f, lease, "count 1"), WEIR_E_FAIL);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(submit_exec, is_cancelled_by_its_operation_or_its_lease, .timeout = 10) {
  for (int by_op = 0; by_op < 2; by_op++) {
    open_all("");
    weir_h op = submit_hanging("hang");
    cr_assert_eq(by_op != 0 ? weir_op_cancel(op) : weir_cancel(lease), WEIR_OK);
    struct weir_completion c = take();
    cr_assert_eq(c.status, WEIR_E_CANCELLED);
    cr_assert_eq(f.err.code, WEIR_E_CANCELLED);
    cr_assert(is_empty());
    cr_assert_eq(weir_op_cancel(op), WEIR_E_HANDLE);
    cr_assert_eq(fixture_run(&f, lease, "count 1"), WEIR_OK);
    fixture_close(&f);
  }
}

Test(submit_exec, is_cancelled_between_two_pieces, .timeout = 10) {
  open_all("");
  struct weir_item item;
  cr_assert_eq(submit("count 1; sleep 5s; count 2", 1, NULL), WEIR_OK);
  cr_assert_eq(next(&item), WEIR_OK);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  int rc = next(&item);
  cr_assert(rc == WEIR_E_CANCELLED ||
            (rc == WEIR_PENDING && take().status == WEIR_E_CANCELLED));
  fixture_close(&f);
}

struct submitter {
  pthread_t thread;
  const char *sql;
  weir_h op;
  int rc;
};

static void *submit_it(void *arg) {
  struct submitter *s = arg;
  s->rc = weir_submit_exec(lease, s->sql, strlen(s->sql), NULL, queue, 1,
                           &s->op, NULL);
  return NULL;
}

static void submitter_start(struct submitter *s, const char *sql) {
  *s = (struct submitter){.sql = sql};
  cr_assert_eq(pthread_create(&s->thread, NULL, submit_it, s), 0);
}

static int submitter_join(struct submitter *s) {
  (void)pthread_join(s->thread, NULL);
  return s->rc;
}

static void *cancel_it(void *arg) {
  *(int *)arg = weir_cancel(lease);
  return NULL;
}

/* It comes when the request has begun and is not yet the reactor's, and wakes the
 * thread that will not wait: the reactor must look by itself. */
Test(submit_exec, is_cancelled_on_its_way_to_the_reactor, .timeout = 10) {
  open_all("");
  struct submitter s;
  gates_install();
  gate_hold("submit.handover");
  submitter_start(&s, "hang");
  cr_assert_eq(gate_wait_reached("submit.handover", 1), 0);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  gate_open("submit.handover");
  cr_assert_eq(submitter_join(&s), WEIR_PENDING);
  cr_assert_eq(take().status, WEIR_E_CANCELLED);
  gates_restore();
  fixture_close(&f);
}

/* Who cancels has found the call and is held up until the reactor has it. */
Test(submit_exec, is_cancelled_by_one_who_was_held_up, .timeout = 10) {
  open_all("");
  struct submitter s;
  pthread_t thread;
  int rc = -1;
  gates_install();
  gate_hold("submit.handover");
  gate_hold("lease.cancel");
  submitter_start(&s, "hang");
  cr_assert_eq(gate_wait_reached("submit.handover", 1), 0);
  cr_assert_eq(pthread_create(&thread, NULL, cancel_it, &rc), 0);
  cr_assert_eq(gate_wait_reached("lease.cancel", 1), 0);
  gate_open("submit.handover");
  cr_assert_eq(submitter_join(&s), WEIR_PENDING);
  fixture_sync(&f);
  gate_open("lease.cancel");
  (void)pthread_join(thread, NULL);
  cr_assert_eq(rc, WEIR_OK);
  cr_assert_eq(take().status, WEIR_E_CANCELLED);
  gates_restore();
  fixture_close(&f);
}

static void *cancel_op(void *arg) {
  (void)weir_op_cancel(*(weir_h *)arg);
  return NULL;
}

/* The operation that was to be cancelled ends while who cancels it is held up, and
 * the lease's next request begins: that one is not meant. */
Test(submit_exec, is_not_hit_by_a_cancellation_of_one_before, .timeout = 10) {
  open_all("");
  pthread_t thread;
  gates_install();
  weir_h op = submit_hanging("hang");
  gate_hold("op.cancel.locked");
  cr_assert_eq(pthread_create(&thread, NULL, cancel_op, &op), 0);
  cr_assert_eq(gate_wait_reached("op.cancel.locked", 1), 0);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(take().status, WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  (void)submit_hanging("hang; count 1");
  gate_open("op.cancel.locked");
  (void)pthread_join(thread, NULL);
  fixture_sync(&f);
  cr_assert(is_empty());
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(take().status, WEIR_OK);
  gates_restore();
  fixture_close(&f);
}

/* Many reasons to end at one moment: one end. */
Test(submit_exec, ends_once_though_everything_comes_at_once, .timeout = 10) {
  open_all("Command Timeout=3");
  weir_h op = submit_hanging("hang");
  virtual_clock_advance(3 * SECOND);
  (void)weir_op_cancel(op);
  (void)weir_cancel(lease);
  (void)f.mock->release_hung(f.drv, 0);
  (void)take();
  fixture_sync(&f);
  cr_assert(is_empty());
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------------------- foreign code */

/* A call inside foreign code outlasts the request.  Its answer finds the lease
 * with its user, or on its way out. */
Test(submit_exec, leaves_foreign_code_behind_at_its_time_out, .timeout = 20) {
  for (int released_first = 0; released_first < 2; released_first++) {
    open_all("Command Timeout=3;Mock Script Text=\"exec 1: offload hang\"");
    cr_assert_eq(submit("count 1", 1, NULL), WEIR_PENDING);
    fixture_await_offload(&f, 1);
    fixture_sync(&f);
    fixture_advance(&f, 3 * SECOND);
    cr_assert_eq(take().status, WEIR_E_TIMEOUT);
    if (released_first != 0) {
      cr_assert_eq(weir_release(lease), WEIR_OK);
    }
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
    fixture_await_offload(&f, 0);
    fixture_sync(&f);
    if (released_first == 0) {
      cr_assert_eq(fixture_exec(&f, lease, "count 1"), WEIR_E_FAIL);
      cr_assert_eq(weir_release(lease), WEIR_OK);
    }
    AWAIT_COUNT(&f, conns_live, 0);
    fixture_close(&f);
  }
}

/* Its answer comes when the request is over and the session not yet its user's
 * again: the answer is waited for. */
Test(submit_exec, waits_for_an_answer_that_is_on_its_way, .timeout = 20) {
  open_all("Command Timeout=3;Mock Script Text=\"exec 1: offload hang\"");
  gates_install();
  gate_hold("submit.leave");
  cr_assert_eq(submit("count 1", 1, NULL), WEIR_PENDING);
  fixture_await_offload(&f, 1);
  virtual_clock_advance(3 * SECOND);
  cr_assert_eq(gate_wait_reached("submit.leave", 1), 0);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  fixture_await_offload(&f, 0);
  gate_open("submit.leave");
  cr_assert_eq(take().status, WEIR_E_TIMEOUT);
  cr_assert_eq(gate_reached("submit.leave"), 2);
  fixture_sync(&f);
  cr_assert(is_empty());
  cr_assert_eq(fixture_exec(&f, lease, "count 1"), WEIR_E_FAIL);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  gates_restore();
  fixture_close(&f);
}

/* ------------------------------------------------------------------- the end */

static void *end_engine(void *arg) {
  *(int *)arg = weir_engine_shutdown(f.engine, 0, NULL);
  return NULL;
}

/* The lease is taken away: the statement ends at once, whatever it waits for. */
Test(submit_exec, ends_with_its_engine, .timeout = 10) {
  static const char *const scripts[] = {
      "exec 1: hang", "exec 1: hang; cancel: hang", "exec 1: delay 1000s"};
  for (size_t i = 0; i < 3; i++) {
    char text[128];
    (void)snprintf(text, sizeof text, "Mock Script Text=\"%s\"", scripts[i]);
    open_all(text);
    weir_h op = 0;
    cr_assert_eq(submit("x", 1, &op), WEIR_PENDING);
    fixture_sync(&f);
    if (i == 1) {
      cr_assert_eq(weir_op_cancel(op), WEIR_OK);
      AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
    }
    pthread_t thread;
    int rc = -1;
    cr_assert_eq(pthread_create(&thread, NULL, end_engine, &rc), 0);
    (void)pthread_join(thread, NULL);
    cr_assert_eq(rc, WEIR_OK);
    cr_assert_eq(virtual_clock_now(), VIRTUAL_CLOCK_START);
    cr_assert_eq(weir_release(lease), WEIR_E_HANDLE);
    cr_assert_eq(weir_op_cancel(op), WEIR_E_HANDLE);
    virtual_clock_restore();
  }
}
