/* SPDX-License-Identifier: MIT */
/* test_reset.c - reset of a session: now, with the next request, half. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "answers.h"
#include "fake_host.h"

Test(reset, resets_with_the_next_request, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_eq(f.wait.dirty, 0);
  cr_expect_eq(f.sent.n, 0);
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.p[1], 0x09);
  fake_forget_sent(&f);
  fake_reply_hex(&f, DONE);
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.p[1], 0x01);
  (void)fake_close(&f);
}

Test(reset, distrusts_a_reset_that_is_not_confirmed, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  fake_reply_hex(&f, DONE);
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_not_null(strstr(f.message, "did not confirm the reset"));
  cr_expect_eq(f.wait.usable, 0);
  (void)fake_close(&f);
}

Test(reset, resets_at_once_when_asked, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, RESET COLUMNS ROW_1 SELECTED);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.p[1], 0x09);
  cr_expect_eq(f.wait.dirty, 0);
  cr_expect_str_eq(fake_log(&f), "DONE\n");
  (void)fake_close(&f);
}

Test(reset, restores_the_database_after_a_reset, .timeout = 5) {
  struct weir_drv_value v;
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, "e3 0700 01 02 7800 7900 00 " DONE);
  cr_assert_eq(fake_exec(&f, "use xy"), WEIR_DRV_DONE);
  (void)f.driver->get(f.conn, WEIR_DRV_P_DATABASE, &v);
  cr_expect(v.n == 2 && memcmp(v.p, "xy", 2) == 0);
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_DONE);
  (void)f.driver->get(f.conn, WEIR_DRV_P_DATABASE, &v);
  cr_expect(v.n == 6 && memcmp(v.p, "master", 6) == 0);
  (void)fake_close(&f);
}

Test(reset, restores_the_isolation_level_that_a_reset_leaves, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, DONE);
  cr_assert_eq(fake_exec(&f, "SET TRANSACTION ISOLATION LEVEL SNAPSHOT"),
               WEIR_DRV_DONE);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.dirty, WEIR_DRV_DIRTY_SETTINGS);
  fake_reply_hex(&f, RESET DONE);
  fake_forget_sent(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_DONE);
  cr_expect_not_null(memmem(f.sent.p, f.sent.n, "C\0O\0M\0M\0I\0T", 11));
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.dirty, 0);
  (void)fake_close(&f);
}

Test(reset, says_that_a_failed_reset_ran_nothing, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  fake_reply_hex(&f,
                 "aa 1000 8b460000 01 14 0100 5200 00 00 01000000 " DONE_ERR);
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 18059);
  cr_expect_eq(f.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 0);
  cr_expect_eq(f.err.retry, WEIR_DRV_RETRY_OTHER);
  (void)fake_close(&f);
}

/* ------------------------------------------------------- what was changed */

static void check_database(struct fake *f, const char *name) {
  struct weir_drv_value v;
  cr_assert_eq(f->driver->get(f->conn, WEIR_DRV_P_DATABASE, &v), WEIR_DRV_DONE);
  cr_expect_eq(v.n, strlen(name));
  cr_expect_eq(memcmp(v.p, name, strlen(name)), 0);
}

/* Servers confirm at the start of the answer or anywhere up to its end. */
static const char *const confirmed[] = {
    RESET IN_XY BEGUN DONE, IN_XY RESET BEGUN DONE, IN_XY BEGUN RESET DONE};

Test(reset, keeps_what_came_behind_it_wherever_it_is_confirmed, .timeout = 5) {
  for (size_t i = 0; i < sizeof confirmed / sizeof confirmed[0]; i++) {
    struct fake f;
    fake_session(&f);
    cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
    fake_reply_hex(&f, confirmed[i]);
    cr_assert_eq(fake_exec(&f, "use xy begin tran"), WEIR_DRV_DONE);
    check_database(&f, "xy");
    cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_OPEN, "%zu", i);
    (void)fake_close(&f);
  }
}

Test(reset, takes_what_the_server_restores_by_itself, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, IN_XY DONE);
  cr_assert_eq(fake_exec(&f, "use xy"), WEIR_DRV_DONE);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.dirty, WEIR_DRV_DIRTY_SETTINGS);
  check_database(&f, "xy"); /* not before it is confirmed */
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  check_database(&f, "master");
  (void)fake_close(&f);
}

/* Some servers leave the session in the database (scenario 92). */
Test(reset, goes_back_to_the_database_of_the_login, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, IN_XY DONE);
  cr_assert_eq(fake_exec(&f, "use xy"), WEIR_DRV_DONE);
  fake_forget_sent(&f);
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_DONE);
  cr_expect_not_null(memmem(f.sent.p, f.sent.n, "U\0S\0E\0 \0[\0m\0a\0", 14));
  cr_expect_eq(f.wait.dirty, 0);
  (void)fake_close(&f);
}

Test(reset, sends_one_bit_only_on_the_first_packet, .timeout = 5) {
  static char sql[10001];
  struct fake f;
  memset(sql, 'x', sizeof sql - 1);
  fake_session(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_KEEP_TXN), WEIR_DRV_DONE);
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_exec(&f, sql), WEIR_DRV_DONE);
  size_t packet = 0;
  for (size_t at = 0; at < f.sent.n; packet++) {
    cr_expect_eq(f.sent.p[at + 1] & 0x18, packet == 0 ? 0x10 : 0);
    at += (size_t)(f.sent.p[at + 2] << 8 | f.sent.p[at + 3]);
  }
  cr_expect_gt(packet, 3);
  (void)fake_close(&f);
}

Test(reset, stays_wanted_if_the_request_never_left, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  cr_assert_eq(fake_exec(&f, "\xFF"), WEIR_DRV_FAIL);
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.p[1], 0x09);
  (void)fake_close(&f);
}

Test(reset, is_refused_when_of_an_unknown_kind, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_expect_eq(fake_reset(&f, 9), WEIR_DRV_E_UNSUPPORTED);
  cr_expect_not_null(strstr(f.message, "unknown kind of reset"));
  (void)fake_close(&f);
}

/* -------------------------------------------------- with a transaction open */

static void begin_by_text(struct fake *f) {
  fake_session(f);
  fake_reply_hex(f, BEGUN DONE);
  cr_assert_eq(fake_exec(f, "begin tran"), WEIR_DRV_DONE);
  fake_forget_sent(f);
}

static const struct {
  const char *rollback;
  const char *reset;
} rolled[] = {
    {ENDED DONE, RESET DONE},
    {DONE, RESET DONE},              /* the server does not say so */
    {ERR_3903 DONE_ERR, RESET DONE}, /* it had ended it without a word */
    {ERR_547 DONE_ERR, RESET DONE},  /* then the reset does it */
};

Test(reset, rolls_back_first, .timeout = 5) {
  for (size_t i = 0; i < sizeof rolled / sizeof rolled[0]; i++) {
    struct fake f;
    begin_by_text(&f);
    fake_reply_hex(&f, rolled[i].rollback);
    fake_reply_hex(&f, rolled[i].reset);
    cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_DONE, "%s",
                 f.message);
    cr_expect_eq(f.sent.p[0], 0x0E);
    cr_expect_eq(f.sent.p[1], 0x01);
    size_t second = (size_t)(f.sent.p[2] << 8 | f.sent.p[3]);
    cr_expect_eq(f.sent.p[second], 0x01);
    cr_expect_eq(f.sent.p[second + 1], 0x09);
    cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
    cr_expect_eq(f.wait.dirty, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(reset, tells_of_the_transaction_until_it_is_confirmed, .timeout = 5) {
  struct fake f;
  begin_by_text(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.dirty, WEIR_DRV_DIRTY_TXN);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_OPEN);
  /* No ENVCHANGE 10: the confirmation says it all. */
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_ping(&f), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
  (void)fake_close(&f);
}

Test(reset, keeps_the_transaction_if_told_to, .timeout = 5) {
  struct fake f;
  begin_by_text(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_KEEP_TXN), WEIR_DRV_DONE);
  fake_reply_hex(&f, RESET DONE);
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.p[1], 0x11);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_OPEN);
  (void)fake_close(&f);
}
