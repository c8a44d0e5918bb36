/* SPDX-License-Identifier: MIT */
/* Transactions on a lease, and what becomes of one that is left open. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "virtual_clock.h"

static struct fixture f;
static weir_h pool;
static weir_h lease;

static void open_real(const char *settings) {
  fixture_open(&f);
  lease = fixture_single(&f, settings, &pool);
}

static void open_virtual(const char *settings) {
  fixture_open_virtual(&f);
  lease = fixture_single(&f, settings, &pool);
}

static int64_t txn_of_session(void) {
  return fixture_number(&f, lease, "show", 2);
}

/* ------------------------------------------------------------------ verbs */

Test(txn, begins_and_commits, .timeout = 10) {
  open_real("");
  cr_assert_eq(weir_begin(lease, WEIR_ISO_DEFAULT, &f.err), WEIR_OK);
  cr_assert_eq(txn_of_session(), WEIR_TXN_OPEN);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_OK);
  cr_assert_eq(txn_of_session(), WEIR_TXN_NONE);
  cr_assert_eq(fixture_counts(&f).commits, 1);
  fixture_close(&f);
}

Test(txn, rolls_back, .timeout = 10) {
  open_real("");
  cr_assert_eq(weir_begin(lease, WEIR_ISO_SNAPSHOT, &f.err), WEIR_OK);
  cr_assert_eq(fixture_number(&f, lease, "show", 1), WEIR_DRV_ISO_SNAPSHOT);
  cr_assert_eq(weir_rollback(lease, &f.err), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).rollbacks, 1);
  fixture_close(&f);
}

Test(txn, sets_savepoints, .timeout = 10) {
  open_real("");
  /* 32 characters of 2 bytes each. */
  const char *longest = "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
                        "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
                        "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4"
                        "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4";
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(weir_save(lease, "a", 1, &f.err), WEIR_OK);
  cr_assert_eq(weir_save(lease, longest, strlen(longest), &f.err), WEIR_OK);
  cr_assert_eq(weir_rollback_to(lease, "a", 1, &f.err), WEIR_OK);
  cr_assert_eq(weir_save(lease, "a\0b", 3, &f.err), WEIR_E_ARG);
  char longer[66];
  (void)snprintf(longer, sizeof longer, "%sx", longest);
  cr_assert_eq(weir_save(lease, longer, 65, &f.err), WEIR_E_ARG);
  cr_assert_eq(txn_of_session(), WEIR_TXN_OPEN);
  cr_assert_eq(fixture_counts(&f).saves, 3);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_OK);
  fixture_close(&f);
}

Test(txn, is_one_at_a_time, .timeout = 10) {
  open_real("");
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_E_FAIL);
  cr_assert_eq(f.err.scope, WEIR_SCOPE_STATEMENT);
  cr_assert_eq(f.err.txn, WEIR_TXN_OPEN);
  cr_assert_not_null(strstr(f.err.message, "open already"));
  cr_assert_eq(fixture_counts(&f).calls[MOCK_TXN], 1);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_OK);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_E_FAIL);
  cr_assert_eq(weir_rollback(lease, &f.err), WEIR_E_FAIL);
  fixture_close(&f);
}

Test(txn, waits_until_a_result_is_read, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_E_BUSY);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  fixture_close(&f);
}

Test(txn, leaves_its_messages_to_be_read, .timeout = 10) {
  struct weir_item item = {.struct_size = sizeof item};
  open_real("Mock Script Text=\"txn: notice 3902 10 'deferred'\"");
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK);
  cr_assert_eq(item.type, WEIR_ITEM_NOTICE);
  cr_assert_eq(item.native, 3902);
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_E_ARG);
  fixture_close(&f);
}

/* Whoever is doomed can only roll back, and says so himself. */
Test(txn, passes_on_what_a_doomed_session_refuses, .timeout = 10) {
  open_real("Mock Script Text=\"exec 1: fail txn deadlock native 1205 'victim'"
            "\"");
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(fixture_exec(&f, lease, "x"), WEIR_E_FAIL);
  cr_assert_eq(f.err.scope, WEIR_SCOPE_TXN);
  cr_assert_eq(f.err.txn, WEIR_TXN_DOOMED);
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_E_FAIL);
  cr_assert_eq(f.err.scope, WEIR_SCOPE_TXN);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_E_FAIL);
  cr_assert_eq(f.err.txn, WEIR_TXN_DOOMED);
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_E_FAIL);
  cr_assert_eq(weir_rollback(lease, &f.err), WEIR_OK);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(txn, is_refused_where_the_driver_has_none, .timeout = 10) {
  fixture_open(&f);
  fixture_take_caps(&f, WEIR_DRV_CAP_TXN);
  pool = fixture_pool(&f, "Max Pool Size=1");
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_E_UNSUPPORTED);
  cr_assert_not_null(strstr(f.err.message, "mock has no transactions"));
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

/* -------------------------------------------------- time-outs and cancel */

struct committer {
  pthread_t thread;
  int rc;
  struct weir_error err;
};

static void *commit(void *arg) {
  struct committer *c = arg;
  c->rc = weir_commit(lease, &c->err);
  return NULL;
}

static void start_commit(struct committer *c) {
  memset(c, 0, sizeof *c);
  c->err.struct_size = sizeof c->err;
  cr_assert_eq(pthread_create(&c->thread, NULL, commit, c), 0);
  AWAIT_COUNT(&f, hung, 1);
}

static void check_unknown(const struct weir_error *err) {
  cr_assert_eq(err->txn, WEIR_TXN_UNKNOWN);
  cr_assert_eq(err->retry, WEIR_RETRY_NO);
  cr_assert_geq(err->scope, WEIR_SCOPE_CONN);
  cr_assert_neq(err->flags & WEIR_FLAG_MAYBE_EXECUTED, 0);
  cr_assert_not_null(strstr(err->message, "not known"), "%s", err->message);
}

/* Never used again, by this user or another (scenario 100). */
static void check_discarded(void) {
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "broken"));
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
}

Test(txn, is_unknown_when_the_server_died_in_its_commit, .timeout = 10) {
  open_real("Mock Script Text=\"txn 2: die\"");
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_E_FAIL);
  check_unknown(&f.err);
  check_discarded();
  fixture_close(&f);
}

Test(txn, is_unknown_when_a_commit_was_not_answered_in_time, .timeout = 10) {
  static const char *const scripts[] = {"txn 2: hang",
                                        "txn 2: hang; cancel: hang"};
  for (size_t i = 0; i < 2; i++) {
    char settings[128];
    struct committer c;
    (void)snprintf(settings, sizeof settings,
                   "Command Timeout=3;Mock Script Text=\"%s\"", scripts[i]);
    open_virtual(settings);
    cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
    start_commit(&c);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    fixture_advance(&f, 3 * (uint64_t)FIXTURE_S);
    if (i == 1) { /* the cancellation is not answered either */
      AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
      fixture_sync(&f); /* its grace has begun */
      cr_assert_eq(virtual_clock_wait_parked(1), 0);
      fixture_advance(&f, 2 * (uint64_t)FIXTURE_S);
    }
    (void)pthread_join(c.thread, NULL);
    if (i == 1) {
      cr_assert_eq(c.rc, WEIR_E_TIMEOUT);
      cr_assert_eq(c.err.kind, WEIR_KIND_TIMEOUT);
      check_unknown(&c.err);
      check_discarded();
    } else { /* the server has said that it did not commit */
      cr_assert_eq(c.rc, WEIR_E_TIMEOUT);
      cr_assert_eq(c.err.txn, WEIR_TXN_OPEN);
      cr_assert_eq(weir_rollback(lease, &f.err), WEIR_OK);
    }
    fixture_close(&f);
  }
}

Test(txn, is_unknown_when_a_cancelled_commit_was_not_answered, .timeout = 10) {
  open_virtual("Mock Script Text=\"txn 2: hang; cancel: hang\"");
  struct committer c;
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  start_commit(&c);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
  fixture_sync(&f); /* its grace has begun */
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 2 * (uint64_t)FIXTURE_S);
  (void)pthread_join(c.thread, NULL);
  cr_assert_eq(c.rc, WEIR_E_CANCELLED);
  check_unknown(&c.err);
  check_discarded();
  fixture_close(&f);
}

/* A statement may have held a commit. */
Test(txn, is_unknown_when_a_statement_in_it_was_given_up, .timeout = 10) {
  open_virtual("Command Timeout=3;Mock Script Text=\"cancel: hang\"");
  struct runner r;
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  runner_start(&r, &f, lease, "hang");
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 3 * (uint64_t)FIXTURE_S);
  AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
  fixture_sync(&f); /* its grace has begun */
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 2 * (uint64_t)FIXTURE_S);
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  cr_assert_eq(r.err.txn, WEIR_TXN_UNKNOWN);
  cr_assert_eq(weir_rollback(lease, &f.err), WEIR_E_FAIL);
  cr_assert_eq(f.err.txn, WEIR_TXN_UNKNOWN);
  check_discarded();
  fixture_close(&f);
}

/* What is refused before anything is sent leaves it as it is, and says so. */
Test(txn, is_open_still_after_a_refusal, .timeout = 10) {
  open_real("");
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_E_BUSY);
  cr_assert_eq(f.err.txn, WEIR_TXN_OPEN);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_E_BUSY);
  cr_assert_eq(f.err.txn, WEIR_TXN_OPEN);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_OK);
  fixture_close(&f);
}

/* The answer was faster than the cancellation. */
Test(txn, is_committed_if_the_server_said_so_all_the_same, .timeout = 10) {
  open_real("Mock Script Text=\"txn 2: hang; cancel: succeed\"");
  struct committer c;
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  start_commit(&c);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  (void)pthread_join(c.thread, NULL);
  cr_assert_eq(c.rc, WEIR_OK, "%s", c.err.message);
  cr_assert_eq(fixture_counts(&f).commits, 1);
  cr_assert_eq(txn_of_session(), WEIR_TXN_NONE);
  fixture_close(&f);
}

#ifndef WEIR_TEST_SUBMITTED_FORMS_H /* its queue ends with the engine */
Test(txn,
     is_unknown_when_the_engine_is_shut_down_in_its_commit,
     .timeout = 10) {
  open_real("Mock Script Text=\"txn 2: hang\"");
  struct committer c;
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  start_commit(&c);
  fixture_close(&f);
  (void)pthread_join(c.thread, NULL);
  cr_assert_eq(c.rc, WEIR_E_CLOSED);
  check_unknown(&c.err);
}
#endif

/* ------------------------------------------------------ left open, by whom */

static void leave_open(const char *how) {
  if (strcmp(how, "begin") == 0) {
    cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  } else {
    (void)fixture_run(&f, lease, how);
  }
}

Test(txn, left_open_is_rolled_back_before_the_next_user, .timeout = 10) {
  static const char *const resets[] = {"lazy", "verified", "off"};
  static const char *const ways[] = {"begin", "begin;set x"};
  for (size_t i = 0; i < 3; i++) {
    for (size_t k = 0; k < 2; k++) {
      char settings[64];
      (void)snprintf(settings, sizeof settings, "Connection Reset=%s",
                     resets[i]);
      open_real(settings);
      int64_t session = fixture_number(&f, lease, "session", 0);
      leave_open(ways[k]);
      cr_assert_eq(weir_release(lease), WEIR_OK);
      AWAIT_STAT(pool, idle, 1);
      lease = fixture_acquire(&f, pool);
      cr_assert_eq(txn_of_session(), WEIR_TXN_NONE);
      cr_assert_eq(fixture_number(&f, lease, "session", 0), session);
      cr_assert_eq(fixture_counts(&f).rollbacks, i == 2);
      fixture_close(&f);
    }
  }
}

Test(txn, left_open_is_ended_by_itself_without_an_eager_reset, .timeout = 10) {
  fixture_open(&f);
  fixture_take_caps(&f, WEIR_DRV_CAP_RESET_EAGER);
  pool = fixture_pool(&f, "Max Pool Size=1");
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_counts(&f).rollbacks, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_RESET], 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(txn_of_session(), WEIR_TXN_NONE);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_close(&f);
}

Test(txn, left_open_costs_the_connection_if_nothing_can_end_it, .timeout = 10) {
  fixture_open(&f);
  fixture_take_caps(&f, WEIR_DRV_CAP_RESET_EAGER | WEIR_DRV_CAP_TXN);
  pool = fixture_pool(&f, "Max Pool Size=1");
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "begin"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

Test(txn,
     left_open_costs_the_connection_if_the_roll_back_fails,
     .timeout = 10) {
  fixture_open(&f);
  fixture_take_caps(&f, WEIR_DRV_CAP_RESET_EAGER);
  pool = fixture_pool(&f, "Max Pool Size=1;Mock Script Text="
                          "\"txn 2: fail statement other 'no'\"");
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* Scenario 105: the roll-back of a release has a limit of its own. */
Test(txn, left_open_costs_the_connection_if_the_reset_hangs, .timeout = 10) {
  open_virtual("Mock Script Text=\"reset: hang\"");
  cr_assert_eq(weir_begin(lease, 0, &f.err), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  fixture_advance(&f, 5 * (uint64_t)FIXTURE_S - 1);
  cr_assert_eq(fixture_stats(pool).reserved, 1);
  fixture_advance(&f, 1);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* The level is the lease's: what a reset with the next request cannot restore is
 * restored by a round trip. */
Test(txn, leaves_no_isolation_level_to_the_next_user, .timeout = 10) {
  open_real("");
  cr_assert_eq(weir_begin(lease, WEIR_ISO_SERIALIZABLE, &f.err), WEIR_OK);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_number(&f, lease, "show", 1), WEIR_DRV_ISO_DEFAULT);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_RESET], 2);
  fixture_close(&f);
}

Test(txn, leaves_no_isolation_level_where_no_reset_restores_it, .timeout = 10) {
  fixture_open(&f);
  fixture_take_caps(&f, WEIR_DRV_CAP_RESET_EAGER);
  pool = fixture_pool(&f, "Max Pool Size=1");
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_begin(lease, WEIR_ISO_SERIALIZABLE, &f.err), WEIR_OK);
  cr_assert_eq(weir_commit(lease, &f.err), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}
