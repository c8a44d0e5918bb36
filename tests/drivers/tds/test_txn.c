/* SPDX-License-Identifier: MIT */
/* test_txn.c - the user's transaction, and a server with ideas of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "answers.h"
#include "fake_host.h"

#define BEGIN       WEIR_DRV_TX_BEGIN
#define COMMIT      WEIR_DRV_TX_COMMIT
#define ROLLBACK    WEIR_DRV_TX_ROLLBACK
#define SAVE        WEIR_DRV_TX_SAVE
#define ROLLBACK_TO WEIR_DRV_TX_ROLLBACK_TO

#define HEADERS "16000000 12000000 0200 "
#define NO_TXN  "0000000000000000 01000000 "
#define IN_TXN  "1122334455667788 01000000 "

/* In a transaction by request. */
static void begin(struct fake *f) {
  fake_session(f);
  fake_reply_hex(f, BEGUN DONE);
  cr_assert_eq(fake_txn(f, BEGIN, 0, NULL), WEIR_DRV_DONE, "%s", f->message);
  fake_forget_sent(f);
  f->log.n = 0;
}

/* The server has ended it in the middle of a statement that failed. */
static void lose(struct fake *f) {
  begin(f);
  fake_reply_hex(f, ERR_547 ENDED DONE_ERR);
  cr_assert_eq(fake_exec(f, "insert"), WEIR_DRV_FAIL);
  fake_forget_sent(f);
}

static void check_sent(const struct fake *f, const char *hex) {
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  cr_expect_eq(f->sent.n, n + 8);
  cr_expect_eq(f->sent.p[0], 0x0E);
  cr_expect_eq(memcmp(f->sent.p + 8, p, n), 0, "%s", hex);
  free(p);
}

static void check_serves(struct fake *f) {
  fake_forget_sent(f);
  fake_reply_hex(f, DONE);
  cr_assert_eq(fake_exec(f, "select 2"), WEIR_DRV_DONE, "%s", f->message);
  cr_expect_eq(f->wait.txn, WEIR_DRV_TXN_NONE);
}

/* -------------------------------------------------------------- on the wire */

Test(txn, begins_with_an_isolation_level_and_a_name, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, BEGUN DONE);
  cr_assert_eq(fake_txn(&f, BEGIN, WEIR_DRV_ISO_SNAPSHOT, "a\xC3\xB3"),
               WEIR_DRV_DONE);
  check_sent(&f, HEADERS NO_TXN "0500 05 04 6100 f300");
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_OPEN);
  cr_expect_eq(f.wait.dirty, WEIR_DRV_DIRTY_TXN | WEIR_DRV_DIRTY_SETTINGS);
  cr_expect_eq(fake_close(&f), 0);
}

static const struct {
  int32_t verb;
  const char *name;
  const char *sent;
  const char *answer;
  int32_t txn;
} requests[] = {
    {COMMIT, NULL, "0700 00 00", COMMITTED DONE, WEIR_DRV_TXN_NONE},
    {ROLLBACK, NULL, "0800 00 00", ENDED DONE, WEIR_DRV_TXN_NONE},
    {SAVE, "p", "0900 02 7000", DONE, WEIR_DRV_TXN_OPEN},
    {ROLLBACK_TO, "p", "0800 02 7000 00", DONE, WEIR_DRV_TXN_OPEN},
};

Test(txn, asks_the_transaction_manager, .timeout = 5) {
  for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
    struct fake f;
    char hex[200];
    begin(&f);
    (void)snprintf(hex, sizeof hex, "%s%s", HEADERS IN_TXN, requests[i].sent);
    fake_reply_hex(&f, requests[i].answer);
    cr_assert_eq(fake_txn(&f, requests[i].verb, 0, requests[i].name),
                 WEIR_DRV_DONE, "%zu: %s", i, f.message);
    check_sent(&f, hex);
    cr_expect_eq(f.wait.txn, requests[i].txn, "%zu", i);
    cr_expect_eq(f.wait.usable, 1);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(txn, does_the_same_at_every_cut, .timeout = 20) {
  for (uint32_t seed = 1; seed < 40; seed++) {
    struct fake f;
    fake_session(&f);
    f.seed = seed;
    f.stray = (seed & 1) != 0;
    fake_reply_hex(&f, BEGUN DONE);
    fake_reply_hex(&f, COMMITTED DONE);
    cr_assert_eq(fake_txn(&f, BEGIN, 4, "name"), WEIR_DRV_DONE);
    cr_assert_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_DONE);
    cr_assert_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
    cr_assert_eq(fake_close(&f), 0);
  }
}

/* ------------------------------------------------------------------- misuse */

static const struct {
  int32_t verb;
  int32_t isolation;
  const char *name;
  bool open;
  const char *text;
} misused[] = {
    {BEGIN, 0, NULL, true, "a transaction is open already"},
    {BEGIN, 6, NULL, false, "unknown isolation level"},
    {BEGIN, -1, NULL, false, "unknown isolation level"},
    {BEGIN, 0, "012345678901234567890123456789012", false,
     "at most 32 characters"},
    {BEGIN, 0, "\xFF", false, "must be valid UTF-8"},
    {COMMIT, 0, NULL, false, "no transaction is open"},
    {SAVE, 0, "p", false, "no transaction is open"},
    {ROLLBACK_TO, 0, "p", false, "no transaction is open"},
    {SAVE, 0, NULL, true, "a savepoint needs a name"},
    {ROLLBACK_TO, 0, NULL, true, "a savepoint needs a name"},
    {SAVE, 0, "012345678901234567890123456789012", true,
     "at most 32 characters"},
};

Test(txn, refuses_misuse_without_sending_anything, .timeout = 5) {
  for (size_t i = 0; i < sizeof misused / sizeof misused[0]; i++) {
    struct fake f;
    if (misused[i].open) {
      begin(&f);
    } else {
      fake_session(&f);
    }
    cr_expect_eq(
        fake_txn(&f, misused[i].verb, misused[i].isolation, misused[i].name),
        WEIR_DRV_FAIL, "%zu", i);
    cr_expect_not_null(strstr(f.message, misused[i].text), "%zu: %s", i,
                       f.message);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_STATEMENT);
    cr_expect_eq(f.wait.usable, 1);
    cr_expect_eq(f.wait.txn,
                 misused[i].open ? WEIR_DRV_TXN_OPEN : WEIR_DRV_TXN_NONE);
    cr_expect_eq(f.sent.n, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(txn, takes_a_name_of_32_characters, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, DONE);
  cr_expect_eq(fake_txn(&f, SAVE, 0, "01234567890123456789012345678901"),
               WEIR_DRV_DONE, "%s", f.message);
  cr_expect_eq(f.sent.n, 8 + 22 + 2 + 1 + 64);
  (void)fake_close(&f);
}

Test(txn, knows_no_distributed_transactions, .timeout = 5) {
  for (int32_t verb = WEIR_DRV_TX_ENLIST; verb <= 11; verb++) {
    struct fake f;
    fake_session(&f);
    cr_expect_eq(fake_txn(&f, verb, 0, NULL), WEIR_DRV_E_UNSUPPORTED);
    cr_expect_not_null(strstr(f.message, "distributed"));
    (void)fake_close(&f);
  }
}

Test(txn, refuses_to_nest_in_what_a_statement_began, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, BEGUN DONE);
  cr_assert_eq(fake_exec(&f, "begin tran"), WEIR_DRV_DONE);
  cr_expect_eq(fake_txn(&f, BEGIN, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "a statement has left"));
  fake_reply_hex(&f, COMMITTED DONE);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_DONE);
  (void)fake_close(&f);
}

Test(txn, rolls_back_nothing_without_a_word, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_expect_eq(fake_txn(&f, ROLLBACK, 0, NULL), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.n, 0);
  (void)fake_close(&f);
}

/* ----------------------------------------------- ended by the server (2.4) */

/* go-mssqldb PR#370 (report 22): XACT_ABORT rolls back, and what follows would
 * be committed one by one. */
Test(txn, report_22_refuses_statements_when_it_is_gone, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, ERR_547 ENDED DONE_ERR);
  cr_assert_eq(fake_exec(&f, "insert"), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 547);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_TXN);
  cr_expect_eq(f.err.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(f.wait.dirty & WEIR_DRV_DIRTY_TXN, WEIR_DRV_DIRTY_TXN);
  fake_forget_sent(&f);
  cr_expect_eq(fake_exec(&f, "insert"), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "the server has ended the transaction"));
  cr_expect_not_null(strstr(f.message, "roll back to go on"));
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_TXN);
  cr_expect_eq(f.err.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(f.err.flags, 0);
  cr_expect_eq(fake_txn(&f, SAVE, 0, "p"), WEIR_DRV_FAIL);
  cr_expect_eq(fake_txn(&f, BEGIN, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_eq(f.sent.n, 0);
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(fake_close(&f), 0);
}

/* 9, 10, 17, in success and in a drained cancel: the descriptor decides. */
static const char *const endings[] = {COMMITTED DONE, ENDED DONE, OVER DONE,
                                      COLUMNS ROW_1 ENDED SELECTED};

Test(txn, goes_by_the_descriptor_and_not_by_errors, .timeout = 5) {
  for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
    struct fake f;
    begin(&f);
    fake_reply_hex(&f, endings[i]);
    cr_assert_eq(fake_exec(&f, "commit"), WEIR_DRV_DONE);
    cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_DOOMED, "%zu", i);
    fake_forget_sent(&f);
    cr_expect_eq(fake_exec(&f, "insert"), WEIR_DRV_FAIL);
    cr_expect_eq(f.sent.n, 0);
    (void)fake_close(&f);
  }
}

Test(txn, sees_the_end_in_a_drained_answer, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  fake_reply_hex(&f, ENDED ATTN);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_TXN);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_DOOMED);
  (void)fake_close(&f);
}

Test(txn, ends_what_is_gone_by_a_rollback_without_io, .timeout = 5) {
  struct fake f;
  lose(&f);
  cr_expect_eq(fake_txn(&f, ROLLBACK, 0, NULL), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.n, 0);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
  check_serves(&f);
  cr_expect_eq(fake_close(&f), 0);
}

Test(txn, fails_to_commit_what_is_gone, .timeout = 5) {
  struct fake f;
  lose(&f);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "nothing was committed"));
  cr_expect_eq(f.err.txn, WEIR_DRV_TXN_NONE);
  cr_expect_eq(f.sent.n, 0);
  check_serves(&f);
  (void)fake_close(&f);
}

Test(txn, says_that_a_statement_has_committed, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, COMMITTED DONE);
  cr_assert_eq(fake_exec(&f, "commit"), WEIR_DRV_DONE);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "has committed the transaction"));
  (void)fake_close(&f);
}

Test(txn, that_is_gone_ends_with_a_reset, .timeout = 5) {
  struct fake f;
  lose(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
  fake_reply_hex(&f, RESET DONE);
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE, "%s", f.message);
  (void)fake_close(&f);
}

/* Report 35, babelfish_extensions#2401: a deadlock without ENVCHANGE.  The
 * number alone tells that the transaction is gone. */
Test(txn, report_35_believes_a_deadlock_without_envchange, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, ERR_1205 DONE_ERR);
  cr_assert_eq(fake_exec(&f, "update"), WEIR_DRV_FAIL);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_DOOMED);
  fake_forget_sent(&f);
  cr_expect_eq(fake_exec(&f, "insert"), WEIR_DRV_FAIL);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_eq(f.sent.n, 0);
  fake_reply_hex(&f, ERR_3903 DONE_ERR);
  cr_expect_eq(fake_txn(&f, ROLLBACK, 0, NULL), WEIR_DRV_DONE, "%s", f.message);
  cr_expect_gt(f.sent.n, 0);
  check_serves(&f);
  cr_expect_eq(fake_close(&f), 0);
}

Test(txn, learns_from_a_commit_that_finds_nothing, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, ERR_3902 DONE_ERR);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 3902);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(fake_txn(&f, ROLLBACK, 0, NULL), WEIR_DRV_DONE);
  check_serves(&f);
  (void)fake_close(&f);
}

Test(txn, needs_a_rollback_when_it_is_doomed, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, ERR_3930 DONE_ERR);
  cr_assert_eq(fake_exec(&f, "insert"), WEIR_DRV_FAIL);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(fake_exec(&f, "insert"), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "nothing but a rollback"));
  fake_reply_hex(&f, ENDED DONE);
  cr_expect_eq(fake_txn(&f, ROLLBACK, 0, NULL), WEIR_DRV_DONE, "%s", f.message);
  check_serves(&f);
  (void)fake_close(&f);
}

/* --------------------------------------------------------- strange answers */

Test(txn, wants_a_descriptor, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, DONE);
  cr_expect_eq(fake_txn(&f, BEGIN, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_PROTOCOL);
  cr_expect_eq(f.wait.usable, 0);
  (void)fake_close(&f);
}

Test(txn, is_not_open_when_begin_fails, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, ERR_547 DONE_ERR);
  cr_expect_eq(fake_txn(&f, BEGIN, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 547);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
  check_serves(&f);
  (void)fake_close(&f);
}

/* A statement's BEGIN TRANSACTION nests, and the commit ends only that. */
Test(txn, says_that_a_commit_was_of_a_nested_one, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, DONE);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "nested"));
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_TXN);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_OPEN);
  fake_reply_hex(&f, COMMITTED DONE);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_DONE);
  (void)fake_close(&f);
}

Test(txn, is_rolled_back_by_a_commit_that_fails, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, ERR_547 ENDED DONE_ERR);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 547);
  cr_expect_eq(f.err.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(fake_txn(&f, ROLLBACK, 0, NULL), WEIR_DRV_DONE);
  check_serves(&f);
  (void)fake_close(&f);
}

/* ------------------------------------------------------------ lost answers */

/* Report 9, SqlClient#176. */
Test(txn, report_9_calls_a_commit_without_answer_unknown, .timeout = 5) {
  static const char *const answers[] = {"", "04 01 0020 0000 00 00 fd"};
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    begin(&f);
    fake_hex(&f, answers[i]);
    f.hang_up = true;
    cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_FAIL);
    cr_expect_eq(f.err.txn, WEIR_DRV_TXN_UNKNOWN);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
    cr_expect_eq(f.err.retry, WEIR_DRV_RETRY_NO);
    cr_expect_eq(f.err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
    cr_expect_eq(f.wait.usable, 0);
    (void)fake_close(&f);
  }
}

Test(txn, calls_a_commit_answered_by_death_unknown, .timeout = 5) {
  struct fake f;
  begin(&f);
  fake_reply_hex(&f, ERR_596);
  f.hang_up = true;
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 596);
  cr_expect_eq(f.err.txn, WEIR_DRV_TXN_UNKNOWN);
  cr_expect_eq(f.err.retry, WEIR_DRV_RETRY_NO);
  (void)fake_close(&f);
}

Test(txn, knows_what_became_of_other_requests_without_answer, .timeout = 5) {
  static const int32_t verbs[] = {ROLLBACK, SAVE};
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    begin(&f);
    f.hang_up = true;
    cr_expect_eq(fake_txn(&f, verbs[i], 0, verbs[i] == SAVE ? "p" : NULL),
                 WEIR_DRV_FAIL);
    cr_expect_eq(f.err.txn, WEIR_DRV_TXN_NONE);
    (void)fake_close(&f);
  }
}

/* ------------------------------------------------------------------- cancel */

/* An answer in two messages or one, and what becomes of the operation when it
 * was cancelled before the answer came. */
static const struct {
  int32_t verb;
  const char *answer;
  weir_drv_status rc;
  int32_t scope; /* of the error */
  int32_t txn;   /* of the error, or of wait when there is none */
} cancelled[] = {
    {BEGIN, BEGUN ATTN, WEIR_DRV_DONE, 0, WEIR_DRV_TXN_OPEN},
    {BEGIN, ATTN, WEIR_DRV_FAIL, WEIR_DRV_SCOPE_CONN, WEIR_DRV_TXN_NONE},
    {BEGIN, ERR_547 ATTN, WEIR_DRV_FAIL, WEIR_DRV_SCOPE_STATEMENT,
     WEIR_DRV_TXN_NONE},
    {COMMIT, COMMITTED ATTN, WEIR_DRV_DONE, 0, WEIR_DRV_TXN_NONE},
    {COMMIT, ENDED ATTN, WEIR_DRV_FAIL, WEIR_DRV_SCOPE_STATEMENT,
     WEIR_DRV_TXN_NONE},
    {COMMIT, ATTN, WEIR_DRV_FAIL, WEIR_DRV_SCOPE_CONN, WEIR_DRV_TXN_UNKNOWN},
    {COMMIT, ERR_3930 ATTN, WEIR_DRV_FAIL, WEIR_DRV_SCOPE_TXN,
     WEIR_DRV_TXN_DOOMED},
    {ROLLBACK, ENDED ATTN, WEIR_DRV_DONE, 0, WEIR_DRV_TXN_NONE},
    {ROLLBACK, ATTN, WEIR_DRV_FAIL, WEIR_DRV_SCOPE_CONN, WEIR_DRV_TXN_NONE},
    {SAVE, ATTN, WEIR_DRV_FAIL, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_TXN_OPEN},
};

/* Scenario 106: either what became of it is known, or the connection is not
 * used again. */
Test(txn, scenario_106_is_known_or_dead_after_a_cancel, .timeout = 5) {
  for (size_t i = 0; i < sizeof cancelled / sizeof cancelled[0]; i++) {
    struct fake f;
    int32_t verb = cancelled[i].verb;
    if (verb == BEGIN) {
      fake_session(&f);
    } else {
      begin(&f);
    }
    fake_raw(&f, "", 0);
    cr_assert_eq(fake_txn(&f, verb, 0, verb == SAVE ? "p" : NULL),
                 WEIR_DRV_WAIT);
    fake_reply_hex(&f, cancelled[i].answer);
    cr_expect_eq(fake_cancel(&f), cancelled[i].rc, "%zu: %s", i, f.message);
    cr_expect_eq(f.err.scope, cancelled[i].scope, "%zu", i);
    cr_expect_eq(cancelled[i].rc == WEIR_DRV_DONE ? f.wait.txn : f.err.txn,
                 cancelled[i].txn, "%zu", i);
    cr_expect_eq(f.wait.usable, cancelled[i].scope < WEIR_DRV_SCOPE_CONN);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(txn, survives_ten_cancelled_begins, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  for (size_t i = 0; i < 10; i++) {
    fake_raw(&f, "", 0);
    cr_assert_eq(fake_txn(&f, BEGIN, 0, NULL), WEIR_DRV_WAIT);
    fake_reply_hex(&f, BEGUN ATTN);
    cr_assert_eq(fake_cancel(&f), WEIR_DRV_DONE);
    fake_reply_hex(&f, ENDED DONE);
    cr_assert_eq(fake_txn(&f, ROLLBACK, 0, NULL), WEIR_DRV_DONE);
    fake_reply_hex(&f, BEGUN DONE);
    cr_assert_eq(fake_txn(&f, BEGIN, 0, NULL), WEIR_DRV_DONE);
    fake_reply_hex(&f, COMMITTED DONE);
    cr_assert_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_DONE);
  }
  (void)fake_close(&f);
}

/* -------------------------------------------------------------------- reset */

/* Report 1, SqlClient#96: the level outlives the reset. */
Test(txn, report_1_leaves_its_isolation_level_to_the_reset, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, BEGUN DONE);
  fake_reply_hex(&f, COMMITTED DONE);
  cr_assert_eq(fake_txn(&f, BEGIN, WEIR_DRV_ISO_SERIALIZABLE, NULL),
               WEIR_DRV_DONE);
  cr_assert_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_DONE);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.dirty, WEIR_DRV_DIRTY_SETTINGS);
  fake_forget_sent(&f);
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_DONE);
  cr_expect_not_null(memmem(f.sent.p, f.sent.n, "C\0O\0M\0M\0I\0T", 11));
  cr_expect_eq(f.wait.dirty, 0);
  (void)fake_close(&f);
}

Test(txn, begins_in_a_session_that_is_reset_on_the_way, .timeout = 5) {
  static const char *const answers[] = {RESET BEGUN DONE, BEGUN RESET DONE};
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    fake_session(&f);
    cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
    fake_reply_hex(&f, answers[i]);
    cr_expect_eq(fake_txn(&f, BEGIN, 0, NULL), WEIR_DRV_DONE, "%s", f.message);
    cr_expect_eq(f.sent.p[1], 0x09);
    cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_OPEN);
    fake_reply_hex(&f, COMMITTED DONE);
    cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_DONE);
    (void)fake_close(&f);
  }
}

/* Report 2, SqlClient#2970: a reset that keeps the transaction keeps it the
 * user's. */
Test(txn, report_2_goes_on_after_a_reset_that_keeps_it, .timeout = 5) {
  struct fake f;
  begin(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_KEEP_TXN), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_OPEN);
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  cr_expect_eq(memcmp(f.sent.p + 18, "\x11\x22\x33\x44\x55\x66\x77\x88", 8), 0);
  fake_reply_hex(&f, COMMITTED DONE);
  cr_expect_eq(fake_txn(&f, COMMIT, 0, NULL), WEIR_DRV_DONE);
  (void)fake_close(&f);
}

Test(txn, survives_each_failed_allocation, .timeout = 10) {
  bool whole = false;
  for (size_t n = 1; !whole; n++) {
    struct fake f;
    cr_assert_lt(n, 20);
    fake_session(&f);
    fake_reply_hex(&f, BEGUN DONE);
    f.fail_alloc = n;
    weir_drv_status rc = fake_txn(&f, BEGIN, 0, "name");
    whole = f.fail_alloc != 0;
    cr_assert_eq(rc, whole ? WEIR_DRV_DONE : WEIR_DRV_FAIL);
    cr_assert_eq(fake_close(&f), 0);
  }
}
