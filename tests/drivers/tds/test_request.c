/* SPDX-License-Identifier: MIT */
/* test_request.c - exec and ping on scripted bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "answers.h"
#include "fake_host.h"

#define OPTIONS "Server=db.test;User ID=sa;Password=;Encrypt=optional"

#define RESULT                    \
  "META a:int b:nvarchar\n"       \
  "ROW 1|x\xC3\xB3\nROW 2|NULL\n" \
  "ROW NULL|NULL\nCOUNT 3\nDONE\n"

static void open_session(struct fake *f) {
  fake_open(f, OPTIONS);
  fake_login(f);
  cr_assert_eq(fake_connect(f), WEIR_DRV_DONE, "%s", f->message);
  f->log.n = 0;
  f->sent.n = 0;
  f->parsed = 0;
}

static void check_log(struct fake *f, const char *text) {
  cr_assert_str_eq(fake_log(f), text);
}

static void run(const char *answer, const char *log, struct fake *f) {
  open_session(f);
  fake_reply_hex(f, answer);
  (void)fake_exec(f, "select 1");
  check_log(f, log);
}

Test(request, gives_columns_rows_and_count, .timeout = 5) {
  struct fake f;
  run(COLUMNS ROW_1 ROW_2 NBCROW SELECTED, RESULT, &f);
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_eq(f.wait.dirty, WEIR_DRV_DIRTY_UNKNOWN);
  cr_expect_eq(fake_close(&f), 0);
}

Test(request, gives_the_same_at_every_cut, .timeout = 20) {
  for (uint32_t seed = 0; seed < 60; seed++) {
    struct fake f;
    open_session(&f);
    f.read_most = 1;
    f.write_most = 1;
    f.seed = seed;
    f.stray = (seed & 1) != 0;
    f.batch_rows = seed % 4;
    fake_reply_hex(&f, COLUMNS ROW_1 ROW_2 NBCROW SELECTED);
    cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
    check_log(&f, RESULT);
    cr_assert_eq(fake_close(&f), 0);
  }
}

Test(request, carries_headers_and_text, .timeout = 5) {
  static const uint8_t want[] = {
      0x01, 0x01, 0x00, 0x26, 0,   0, 1,   0, 0x16, 0,    0, 0,   0x12,
      0,    0,    0,    2,    0,   0, 0,   0, 0,    0,    0, 0,   0,
      1,    0,    0,    0,    'g', 0, 'o', 0, 0x3D, 0xD8, 0, 0xDE};
  struct fake f;
  open_session(&f);
  fake_reply_hex(&f, DONE);
  cr_assert_eq(fake_exec(&f, "go\xF0\x9F\x98\x80"), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.n, sizeof want);
  cr_expect_arr_eq(f.sent.p, want, sizeof want);
  (void)fake_close(&f);
}

/* Long texts: each packet but the last is full and the pieces make the text
 * again, whatever a packet's end cuts. */
static void check_length(size_t units) {
  struct fake f;
  char *sql = malloc(units * 4 + 1);
  cr_assert_not_null(sql);
  size_t n = 0;
  for (size_t i = 0; i < units; i++) {
    memcpy(sql + n, i % 3 == 2 ? "\xF0\x9F\x98\x80" : "abcd",
           i % 3 == 2 ? 4 : 1);
    n += i % 3 == 2 ? 4 : 1;
  }
  sql[n] = '\0';
  open_session(&f);
  fake_reply_hex(&f, DONE);
  cr_assert_eq(fake_exec(&f, sql), WEIR_DRV_DONE);
  size_t bytes = 0;
  size_t at = 0;
  while (at < f.sent.n) {
    size_t length = (size_t)(f.sent.p[at + 2] << 8 | f.sent.p[at + 3]);
    bool last = (f.sent.p[at + 1] & 1) != 0;
    cr_assert(last ? at + length == f.sent.n : length == 4096);
    bytes += length - 8;
    at += length;
  }
  cr_expect_eq(bytes, 22 + 2 * units + 2 * (units / 3));
  free(sql);
  cr_expect_eq(fake_close(&f), 0);
}

Test(request, splits_a_long_statement, .timeout = 10) {
  /* 4088 - 22 bytes fit the first packet. */
  for (size_t units = 1520; units < 1530; units++) {
    check_length(units);
  }
  check_length(100000);
}

static const struct {
  const char *answer;
  const char *log;
} results[] = {
    {DONE, "DONE\n"},
    {"fd 1000 c300 0500000000000000", "COUNT 5\nDONE\n"},
    {"fd 0000 c300 0500000000000000", "DONE\n"},
    {"fd 0100 0000 0000000000000000 ab 1000 45160000 01 00 0100 4900 00 00 "
     "01000000 fd 0100 0000 0000000000000000 " COLUMNS ROW_1 MORE("01")
         COLUMNS ROW_2 SELECTED,
     "META a:int b:nvarchar\nROW 1|x\xC3\xB3\nCOUNT 1\n"
     "META a:int b:nvarchar\nROW 2|NULL\nCOUNT 3\nDONE\n"},
    {"79 07000000 ac 0000 00 01 00000000 0000 26 04 04 01000000 "
     "a9 0200 0100 fe 0000 0000 0000000000000000",
     "DONE\n"},
    {COLUMNS "a4 0300 010203 a5 0300 010203 a9 0200 0100 e4 06000000 "
             "010000000100 " ROW_1 SELECTED,
     "META a:int b:nvarchar\nROW 1|x\xC3\xB3\nCOUNT 3\nDONE\n"},
    {COLUMNS "e3 0200 63 07 " ROW_1 SELECTED,
     "META a:int b:nvarchar\nROW 1|x\xC3\xB3\nCOUNT 3\nDONE\n"},
    {COLUMNS SELECTED, "META a:int b:nvarchar\nCOUNT 3\nDONE\n"},
    {"81 ffff " DONE, "DONE\n"},
};

Test(request, understands_every_mix_of_tokens, .timeout = 5) {
  for (size_t i = 0; i < sizeof results / sizeof results[0]; i++) {
    struct fake f;
    run(results[i].answer, results[i].log, &f);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(request, ends_with_the_error_and_stays_usable, .timeout = 5) {
  struct fake f;
  run(INFO ERR_102 DONE_ERR, "FAIL 1/13 102: Ba\n", &f);
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_eq(f.err.native_severity, 15);
  cr_expect_str_eq(fake_diags(&f), "5701/0: I\n102/15: Ba\n");
  fake_reply_hex(&f, DONE);
  cr_expect_eq(fake_exec(&f, "select 2"), WEIR_DRV_DONE);
  (void)fake_close(&f);
}

Test(request, reports_an_error_behind_rows_at_the_end, .timeout = 5) {
  struct fake f;
  run(COLUMNS ROW_1 ERR_102
      "fd 0300 0000 0000000000000000 " COLUMNS ROW_2 SELECTED,
      "META a:int b:nvarchar\nROW 1|x\xC3\xB3\n"
      "META a:int b:nvarchar\nROW 2|NULL\nCOUNT 3\nFAIL 1/13 102: Ba\n",
      &f);
  (void)fake_close(&f);
}

Test(request, lets_the_worst_error_win, .timeout = 5) {
  struct fake f;
  run(ERR_102 ERR_DEAD DONE_ERR, "FAIL 3/0 50000: K\n", &f);
  cr_expect_eq(f.wait.usable, 0);
  cr_expect_eq(f.err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_NO);
  (void)fake_close(&f);
}

Test(request, believes_the_error_bit_alone, .timeout = 5) {
  struct fake f;
  run(DONE_ERR,
      "FAIL 1/0 0: the server reported an error without saying which\n", &f);
  (void)fake_close(&f);
}

Test(request, keeps_the_last_words_of_a_dying_server, .timeout = 5) {
  struct fake f;
  open_session(&f);
  fake_hex(&f, "04 00 001b 0000 00 00" ERR_DEAD);
  f.hang_up = true;
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  check_log(&f, "FAIL 3/0 50000: K\n");
  (void)fake_close(&f);
}

Test(request,
     says_that_it_may_have_run_when_the_server_vanishes,
     .timeout = 5) {
  struct fake f;
  open_session(&f);
  f.hang_up = true;
  cr_assert_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  check_log(&f, "FAIL 3/1 0: request: the server closed the connection "
                "(db.test,1433)\n");
  cr_expect_eq(f.err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
  (void)fake_close(&f);
}

Test(request, follows_transactions, .timeout = 5) {
  struct fake f;
  open_session(&f);
  fake_reply_hex(&f, BEGUN DONE);
  cr_assert_eq(fake_exec(&f, "begin tran"), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_OPEN);
  cr_expect_neq(f.wait.dirty & WEIR_DRV_DIRTY_TXN, 0);
  f.sent.n = 0;
  f.parsed = 0;
  fake_reply_hex(&f, ENDED DONE);
  cr_assert_eq(fake_exec(&f, "rollback"), WEIR_DRV_DONE);
  cr_expect_eq(memcmp(f.sent.p + 18, "\x11\x22\x33\x44\x55\x66\x77\x88", 8), 0);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
  (void)fake_close(&f);
}

Test(request, knows_a_deadlock_with_its_transaction_gone, .timeout = 5) {
  struct fake f;
  run(BEGUN ENDED ERR_1205 DONE_ERR, "FAIL 1/11 1205: D\n", &f);
  cr_expect_eq(f.err.txn, WEIR_DRV_TXN_NONE);
  cr_expect_eq(f.err.retry, WEIR_DRV_RETRY_SAME);
  (void)fake_close(&f);
}

Test(request, knows_a_doomed_transaction, .timeout = 5) {
  struct fake f;
  run(BEGUN ERR_3930 DONE_ERR, "FAIL 2/0 3930: D\n", &f);
  cr_expect_eq(f.err.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_DOOMED);
  cr_expect_eq(f.wait.usable, 1);
  (void)fake_close(&f);
}

Test(request, pings, .timeout = 5) {
  struct fake f;
  open_session(&f);
  fake_reply_hex(&f, COLUMNS ROW_1 SELECTED);
  cr_assert_eq(fake_ping(&f), WEIR_DRV_DONE);
  check_log(&f, "DONE\n");
  cr_expect_eq(f.wait.usable, 1);
  (void)fake_close(&f);
}

/* ------------------------------------------------------------------ refusals */

static const struct {
  const char *answer;
  const char *text;
} strange[] = {
    {ROW_1, "a row without columns"},
    {COLUMNS ROW_1, "without a final DONE"},
    {COLUMNS "d1 04 0100", "ends inside a token"},
    {COLUMNS "d1 05 0100000000", "a value of 5 bytes"},
    {COLUMNS "d1 03 010000 ffff", "not a value of int"},
    {COLUMNS "d1 04 01000000 1600", "a value of 22 bytes"},
    {"81 0110", "4097 columns"},
    {"81 0100 00000000 0900 26 03 01 6100", "impossible size"},
    {"81 0100 00000000 0900 25 08 01 7600", "(v)"},
    {"88", "COMPUTE is not supported"},
    {ATTN, "attention is acknowledged that was not sent"},
    {RESET DONE, "reset that was not asked for"},
    {"ad 0a00 01 74000004 00 10 00 0ff5", "LOGINACK that nobody waits for"},
    {"e3 0400 08 02 1122 00", "descriptor that is not 8 bytes"},
    {"e3 0000 fd", "ENVCHANGE has no type"},
    {"aa 0400 66000000", "runs past its token's length"},
};

Test(request, is_dead_after_strange_answers, .timeout = 5) {
  for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++) {
    struct fake f;
    open_session(&f);
    fake_reply_hex(&f, strange[i].answer);
    cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_not_null(strstr(f.message, strange[i].text), "%zu: %s", i,
                       f.message);
    cr_expect_not_null(strstr(f.message, " of the reply) ("), "%zu: %s", i,
                       f.message);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN, "%zu", i);
    cr_expect_eq(f.wait.usable, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* ERROR 596, class 21, "No", server "S", and nothing behind it. */
Test(request,
     tells_the_last_words_of_a_server_even_without_done,
     .timeout = 5) {
  struct fake f;
  open_session(&f);
  fake_reply_hex(&f, "aa 1400 54020000 01 15 0200 4e00 6f00 "
                     "01 5300 00 01000000");
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "No"), "%s", f.message);
  cr_expect_eq(f.err.native, 596);
  cr_expect_eq(f.wait.usable, 0);
  cr_expect_eq(fake_close(&f), 0);
}

Test(request, refuses_text_that_is_not_utf8, .timeout = 5) {
  struct fake f;
  open_session(&f);
  cr_expect_eq(fake_exec(&f, "select '\xFF'"), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_STATEMENT);
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_eq(f.sent.n, 0);
  (void)fake_close(&f);
}

Test(request, drops_rows_when_only_counts_are_wanted, .timeout = 5) {
  struct fake f;
  open_session(&f);
  f.exec_flags = WEIR_DRV_XF_NO_ROWS;
  fake_reply_hex(&f, COLUMNS ROW_1 ROW_2 SELECTED);
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  check_log(&f, "COUNT 3\nDONE\n");
  (void)fake_close(&f);
}

Test(request, notices_bytes_that_nobody_asked_for, .timeout = 5) {
  struct fake f;
  open_session(&f);
  fake_reply_hex(&f, DONE);
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_YES);
  f.messages++;
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_PENDING);
  (void)fake_close(&f);
}

/* Two messages in one read: the second one is nobody's answer. */
#define TWO_MESSAGES            \
  "04 01 0015 0000 00 00 " DONE \
  "04 01 0015 0000 00 00 fd 1000 c100 07 00000000000000"

/* Both are in hand at once: the session is over with the answer. */
Test(request, takes_no_answer_that_came_before_its_question, .timeout = 5) {
  struct fake f;
  open_session(&f);
  fake_hex(&f, TWO_MESSAGES);
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.usable, 0);
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_NO);
  fake_forget_sent(&f);
  cr_expect_eq(fake_exec(&f, "select 2"), WEIR_DRV_E_INVALID);
  cr_expect_eq(f.sent.n, 0);
  cr_expect_eq(fake_close(&f), 0);
}

/* TLS has the second one still: it shows when the next request is sent. */
Test(request, takes_none_that_tls_holds_either, .timeout = 5) {
  struct fake f;
  size_t n = 0;
  const uint8_t *body = fake_login_body(&n);
  fake_open(&f, "Server=db.test;User ID=sa;Password=;Encrypt=mandatory");
  fake_reply_hex(&f, "00 000b 0006 01 0011 0001 ff 10000fa00000 01");
  fake_hex(&f, "12 01 000d 0000 00 00 5345525652");
  fake_reply(&f, body, n);
  fake_hex(&f, TWO_MESSAGES);
  fake_encrypt(&f, 2);
  cr_assert_eq(fake_connect(&f), WEIR_DRV_DONE, "%s", f.message);
  f.tls_most = 21;
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_DONE);
  f.log.n = 0;
  fake_forget_sent(&f);
  cr_expect_eq(fake_exec(&f, "select 2"), WEIR_DRV_FAIL);
  cr_expect_null(strstr(fake_log(&f), "COUNT"));
  cr_expect_eq(f.sent.n, 0);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_PROTOCOL);
  cr_expect_eq(f.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 0);
  cr_expect_not_null(strstr(f.message, "nobody asked for, at byte "));
  cr_expect_eq(f.wait.usable, 0);
  cr_expect_eq(fake_close(&f), 0);
}

Test(request, notices_the_end_of_an_idle_connection, .timeout = 5) {
  struct fake f;
  open_session(&f);
  f.hang_up = true;
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_NO);
  (void)fake_close(&f);
}

Test(request, survives_each_failed_allocation, .timeout = 20) {
  bool whole = false;
  for (size_t n = 1; !whole; n++) {
    struct fake f;
    cr_assert_lt(n, 100);
    open_session(&f);
    f.read_most = 3;
    fake_reply_hex(&f, INFO COLUMNS ROW_1 ROW_2 SELECTED);
    f.fail_alloc = n;
    weir_drv_status rc = fake_exec(&f, "select 1");
    whole = f.fail_alloc != 0;
    cr_assert_eq(rc, whole ? WEIR_DRV_DONE : WEIR_DRV_FAIL, "%zu", n);
    cr_assert_eq(fake_close(&f), 0);
  }
}
