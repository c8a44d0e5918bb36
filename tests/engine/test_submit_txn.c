/* SPDX-License-Identifier: MIT */
/* What is peculiar to the submit forms of a transaction's verbs; test_txn.c is run
 * for both forms. */
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
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

static int submit(int32_t what, const struct weir_txn_opts *opts) {
  return weir_submit_txn(lease, what, opts, queue, 5, NULL, &f.err);
}

static int submit_named(int32_t what, const char *name) {
  struct weir_txn_opts opts = {
      .struct_size = sizeof opts, .name = name, .name_len = strlen(name)};
  return submit(what, &opts);
}

static struct weir_completion take(void) {
  struct weir_completion c = {.struct_size = sizeof c};
  cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, &f.err), WEIR_OK);
  return c;
}

static bool is_empty(void) {
  struct weir_completion c = {.struct_size = sizeof c};
  return weir_queue_take(queue, 0, &c, NULL) == WEIR_E_TIMEOUT;
}

/* Submits a verb that hangs, lets it go on, and checks its completion. */
static void go_through(int32_t what, int rc) {
  cr_assert_eq(rc, WEIR_PENDING);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_release(lease), WEIR_E_BUSY);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  struct weir_completion c = take();
  cr_assert_eq(c.type, what);
  cr_assert_eq(c.status, WEIR_OK, "%s", f.err.message);
  cr_assert_eq(c.user, 5);
  cr_assert_eq(c.lease, lease);
}

Test(submit_txn, ends_at_once_if_the_driver_does, .timeout = 10) {
  open_all("");
  struct weir_txn_opts opts = {.struct_size = sizeof opts,
                               .isolation = WEIR_ISO_SERIALIZABLE};
  cr_assert_eq(submit(WEIR_OP_BEGIN, &opts), WEIR_OK);
  cr_assert_eq(submit(WEIR_OP_BEGIN, NULL), WEIR_E_FAIL);
  cr_assert_eq(f.err.txn, WEIR_TXN_OPEN);
  cr_assert_eq(submit_named(WEIR_OP_SAVE, "here"), WEIR_OK);
  cr_assert_eq(submit_named(WEIR_OP_ROLLBACK_TO, "here"), WEIR_OK);
  cr_assert_eq(submit(WEIR_OP_COMMIT, NULL), WEIR_OK);
  cr_assert_eq(submit(WEIR_OP_BEGIN, NULL), WEIR_OK);
  cr_assert_eq(submit(WEIR_OP_ROLLBACK, NULL), WEIR_OK);
  cr_assert(is_empty());
  struct mock_counts c = fixture_counts(&f);
  cr_assert_eq(c.commits, 1);
  cr_assert_eq(c.rollbacks, 1);
  cr_assert_eq(c.saves, 2);
  fixture_close(&f);
}

Test(submit_txn, completes_each_verb_in_a_while, .timeout = 10) {
  open_all("Mock Script Text=\"txn: hang\"");
  char name[] = "a savepoint";
  go_through(WEIR_OP_BEGIN, submit(WEIR_OP_BEGIN, NULL));
  int rc = submit_named(WEIR_OP_SAVE, name);
  memset(name, 'x', sizeof name - 1); /* not its caller's any more */
  go_through(WEIR_OP_SAVE, rc);
  go_through(WEIR_OP_ROLLBACK_TO,
             submit_named(WEIR_OP_ROLLBACK_TO, "a savepoint"));
  go_through(WEIR_OP_COMMIT, submit(WEIR_OP_COMMIT, NULL));
  go_through(WEIR_OP_BEGIN, submit(WEIR_OP_BEGIN, NULL));
  go_through(WEIR_OP_ROLLBACK, submit(WEIR_OP_ROLLBACK, NULL));
  cr_assert_eq(fixture_counts(&f).commits, 1);
  cr_assert_eq(fixture_counts(&f).rollbacks, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(submit_txn, tells_that_a_commit_is_unknown, .timeout = 10) {
  open_all("Command Timeout=3;Mock Script Text=\"txn 2: hang; cancel: hang\"");
  cr_assert_eq(submit(WEIR_OP_BEGIN, NULL), WEIR_OK);
  cr_assert_eq(submit(WEIR_OP_COMMIT, NULL), WEIR_PENDING);
  AWAIT_COUNT(&f, hung, 1);
  fixture_sync(&f);
  fixture_advance(&f, 3 * SECOND);
  AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
  fixture_advance(&f, 2 * SECOND);
  struct weir_completion c = take();
  cr_assert_eq(c.type, WEIR_OP_COMMIT);
  cr_assert_eq(c.status, WEIR_E_TIMEOUT);
  cr_assert_eq(f.err.txn, WEIR_TXN_UNKNOWN);
  cr_assert_eq(f.err.retry, WEIR_RETRY_NO);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(submit_txn, refuses_what_is_no_verb_or_not_named_well, .timeout = 10) {
  open_all("");
  struct weir_txn_opts opts = {.struct_size = sizeof opts, .isolation = 6};
  static const int32_t wrong[] = {
      0, WEIR_OP_ACQUIRE, WEIR_OP_EXEC, WEIR_OP_NEXT, WEIR_OP_ROLLBACK_TO + 1,
      -1};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    cr_assert_eq(submit(wrong[i], NULL), WEIR_E_ARG);
  }
  cr_assert_eq(submit(WEIR_OP_BEGIN, &opts), WEIR_E_ARG);
  cr_assert_eq(submit(WEIR_OP_SAVE, NULL), WEIR_E_ARG);
  cr_assert_eq(submit_named(WEIR_OP_SAVE, ""), WEIR_E_ARG);
  cr_assert_eq(
      submit_named(WEIR_OP_SAVE, "a name of more than thirty-two characters"),
      WEIR_E_ARG);
  cr_assert_eq(submit(WEIR_OP_COMMIT, &opts), WEIR_E_FAIL, "none is open");
  fixture_close(&f);
}
