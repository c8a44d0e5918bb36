/* SPDX-License-Identifier: MIT */
/* test_stmt.c - prepared statements: which call is made, which handle is kept,
 * and what takes it away. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "param_kit.h"

#define OPTIONS "Server=db.test;User ID=sa;Password=;Encrypt=optional"

#define HEADERS   "16000000 12000000 0200 0000000000000000 01000000 "
#define PREPEXEC  "ffff 0d00 0000 "
#define EXECUTE   "ffff 0c00 0000 "
#define UNPREP    "ffff 0f00 0000 "
#define HANDLE(v) "00 00 26 04 04 " v " "
#define ASKED     "00 01 26 04 00 "

/* Answers. */
#define DONE      "fe 0000 e000 0000000000000000 "
#define DONE_MORE "fe 8100 e000 0000000000000000 "
#define STATUS    "79 00000000 "
#define CAME(v)   "ac 0000 00 01 00000000 0000 26 04 04 " v " "
#define RESULT                                          \
  "81 0100 00000000 0900 26 04 01 6100 d1 04 01000000 " \
  "ff 1100 c100 0100000000000000 "
#define FAILED "fe 0200 e000 0000000000000000 "
#define RESET  "e3 0300 12 00 00 "
#define ERR(n) "aa 1000 " n " 01 10 0100 4200 00 00 01000000 "
#define ERR_8179_OF(handle) \
  "aa 1000 f31f0000 01 10 0100 " handle " 00 00 01000000 "
#define ERR_8179 ERR("f31f0000")
#define ERR_586  ERR("4a020000")
#define ERR_102  ERR("66000000")
#define BEGUN    "e3 0b00 08 08 0100000000000000 00 "
#define XY       "e3 0700 01 02 7800 7900 00 "

static struct weir_drv_param one;

static void open_with(struct fake *f, const char *options) {
  fake_open(f, options);
  fake_login(f);
  cr_assert_eq(fake_connect(f), WEIR_DRV_DONE, "%s", f->message);
  f->log.n = 0;
  fake_forget_sent(f);
  one = kit_int("@a", "int", 1);
  f->params = &one;
  f->n_params = 1;
  f->prepare = true;
}

static weir_drv_status run(struct fake *f,
                           const char *sql,
                           const char *answer) {
  fake_forget_sent(f);
  f->log.n = 0;
  fake_reply_hex(f, answer);
  return fake_exec(f, sql);
}

/* The whole body of the one packet that was sent. */
static void check_sent(const struct fake *f, const char *hex) {
  struct fake_bytes want = {0};
  kit_hex(&want, HEADERS);
  kit_hex(&want, hex);
  cr_expect_eq(f->sent.n, 8 + want.n, "%zu, not %zu", f->sent.n, 8 + want.n);
  cr_expect_arr_eq(f->sent.p + 8, want.p, want.n);
  free(want.p);
}

static void check_stats(struct fake *f,
                        uint32_t cached,
                        uint64_t prepared,
                        uint64_t reused) {
  const struct weir_drv_stmt_api *api =
      f->driver->extension(f->drv, WEIR_DRV_STMT_NAME, 1);
  struct weir_drv_stmt_stats s = {.struct_size = sizeof s};
  cr_assert_eq(api->stats(f->conn, &s), WEIR_DRV_DONE);
  cr_expect_eq(s.cached, cached, "cached %u", s.cached);
  cr_expect_eq(s.prepared, prepared, "prepared %u", (unsigned)s.prepared);
  cr_expect_eq(s.reused, reused, "reused %u", (unsigned)s.reused);
}

#define INT_1 "02 40006100 00 26 04 04 01000000 "
#define TYPES "00 00 e7 0c00 0904d00034 0c00 4000610020006900 6e007400 "
#define SQL_Q "00 00 e7 0200 0904d00034 0200 7100 "

#define PREPARE_Q PREPEXEC ASKED TYPES SQL_Q INT_1
#define RUN_Q(h)    \
  EXECUTE HANDLE(h) \
  INT_1

Test(stmt, prepares_once_and_runs_the_handle, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", RESULT STATUS CAME("05000000") DONE), WEIR_DRV_DONE,
               "%s", f.message);
  check_sent(&f, PREPARE_Q);
  cr_expect_str_eq(fake_log(&f), "META a:int\nROW 1\nCOUNT 1\nDONE\n");
  check_stats(&f, 1, 1, 0);
  cr_assert_eq(run(&f, "q", RESULT STATUS DONE), WEIR_DRV_DONE);
  check_sent(&f, RUN_Q("05000000"));
  cr_expect_str_eq(fake_log(&f), "META a:int\nROW 1\nCOUNT 1\nDONE\n");
  check_stats(&f, 1, 1, 1);
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, takes_the_handle_wherever_it_comes, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") RESULT STATUS DONE),
               WEIR_DRV_DONE);
  cr_assert_eq(run(&f, "q", DONE), WEIR_DRV_DONE);
  check_sent(&f, RUN_Q("05000000"));
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, prepares_statements_without_parameters, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  f.n_params = 0;
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  check_sent(&f, PREPEXEC ASKED "00 00 e7 0200 0904d00034 ffff " SQL_Q);
  cr_assert_eq(run(&f, "q", DONE), WEIR_DRV_DONE);
  check_sent(&f, EXECUTE HANDLE("05000000"));
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, knows_statements_by_text_types_and_database, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  cr_assert_eq(run(&f, "r", CAME("06000000") DONE), WEIR_DRV_DONE);
  one = kit_int("@a", "bigint", 1);
  cr_assert_eq(run(&f, "q", CAME("07000000") DONE), WEIR_DRV_DONE);
  one = kit_int("@a", "int", 1);
  check_stats(&f, 3, 3, 0);
  f.prepare = false;
  f.n_params = 0;
  cr_assert_eq(run(&f, "use xy", XY "fd 0000 0000 0000000000000000"),
               WEIR_DRV_DONE);
  f.prepare = true;
  f.n_params = 1;
  cr_assert_eq(run(&f, "q", CAME("08000000") DONE), WEIR_DRV_DONE);
  check_sent(&f, PREPARE_Q);
  check_stats(&f, 4, 4, 0);
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, gives_the_oldest_back_in_front_of_the_next_call, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS ";Prepared Statements=2");
  cr_assert_eq(run(&f, "a", CAME("01000000") DONE), WEIR_DRV_DONE);
  cr_assert_eq(run(&f, "b", CAME("02000000") DONE), WEIR_DRV_DONE);
  cr_assert_eq(run(&f, "a", DONE), WEIR_DRV_DONE);
  cr_assert_eq(run(&f, "q", CAME("03000000") DONE), WEIR_DRV_DONE);
  check_sent(&f, PREPARE_Q);
  check_stats(&f, 2, 3, 1);
  /* Two is the one that was not used for longest.  What its end says is told to
   * nobody, not even an error. */
  cr_assert_eq(run(&f, "q",
                   STATUS ERR_8179
                   "fe 8300 e000 0000000000000000" RESULT STATUS DONE),
               WEIR_DRV_DONE, "%s", f.message);
  check_sent(&f, UNPREP HANDLE("02000000") "ff" RUN_Q("03000000"));
  cr_expect_str_eq(fake_log(&f), "META a:int\nROW 1\nCOUNT 1\nDONE\n");
  cr_expect_str_eq(fake_diags(&f), "");
  cr_assert_eq(run(&f, "q", DONE), WEIR_DRV_DONE);
  check_sent(&f, RUN_Q("03000000"));
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, counts_outputs_per_call, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS ";Prepared Statements=1");
  cr_assert_eq(run(&f, "a", CAME("01000000") DONE), WEIR_DRV_DONE);
  cr_assert_eq(run(&f, "b", CAME("02000000") DONE), WEIR_DRV_DONE);
  one.flags = WEIR_DRV_PARAM_OUT;
  cr_assert_eq(run(&f, "c",
                   STATUS DONE_MORE STATUS CAME(
                       "03000000") "ac 0300 00 01 00000000 0000 26 04 04 "
                                   "09000000 " DONE),
               WEIR_DRV_DONE, "%s", f.message);
  cr_expect_str_eq(fake_log(&f), "OUT @a:int\nROW 9\nDONE\n");
  cr_assert_eq(run(&f, "c",
                   STATUS DONE_MORE
                   "ac 0100 00 01 00000000 0000 26 04 04 0a000000 " DONE),
               WEIR_DRV_DONE, "%s", f.message);
  cr_expect_str_eq(fake_log(&f), "OUT @a:int\nROW 10\nDONE\n");
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, prepares_nothing_when_told_so, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS ";Prepared Statements=0");
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(run(&f, "q", DONE), WEIR_DRV_DONE);
    check_sent(&f, "ffff 0a00 0000 " SQL_Q TYPES INT_1);
  }
  check_stats(&f, 0, 0, 0);
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, prepares_no_statement_of_unusual_length, .timeout = 5) {
  struct fake f;
  static char sql[32770];
  memset(sql, ' ', sizeof sql - 1);
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, sql, DONE), WEIR_DRV_DONE);
  cr_expect_eq(f.sent.p[8 + 22 + 2], 0x0A);
  check_stats(&f, 0, 0, 0);
  cr_expect_eq(fake_close(&f), 0);
}

/* A reset that goes with the statement ends all handles before it runs. */
Test(stmt, uses_no_handle_with_a_reset, .timeout = 5) {
  static const int32_t modes[] = {WEIR_DRV_RESET_LAZY, WEIR_DRV_RESET_KEEP_TXN};
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    open_with(&f, OPTIONS);
    cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
    cr_assert_eq(fake_reset(&f, modes[i]), WEIR_DRV_DONE);
    cr_assert_eq(run(&f, "q", RESET CAME("06000000") DONE), WEIR_DRV_DONE);
    cr_expect_neq(f.sent.p[1] & 0x18, 0);
    check_sent(&f, PREPARE_Q);
    cr_assert_eq(run(&f, "q", DONE), WEIR_DRV_DONE);
    check_sent(&f, RUN_Q("06000000"));
    /* Confirmed late: the handle is of the session after the reset. */
    cr_assert_eq(fake_reset(&f, modes[i]), WEIR_DRV_DONE);
    cr_assert_eq(run(&f, "q", CAME("07000000") RESET DONE), WEIR_DRV_DONE);
    cr_assert_eq(run(&f, "q", DONE), WEIR_DRV_DONE);
    check_sent(&f, RUN_Q("07000000"));
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(stmt, forgets_all_at_a_reset_of_its_own, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  fake_reply_hex(&f, RESET "fd 0000 0000 0000000000000000");
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_DONE);
  check_stats(&f, 0, 1, 0);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  check_sent(&f, PREPARE_Q);
  cr_expect_eq(fake_close(&f), 0);
}

/* The server does not know the handle: it is prepared again, once, and nobody
 * hears of it. */
Test(stmt, prepares_again_what_the_server_lost, .timeout = 5) {
  static const char *const lost[] = {ERR_8179 FAILED, ERR_586 STATUS FAILED};
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    open_with(&f, OPTIONS);
    cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
    fake_forget_sent(&f);
    f.log.n = 0;
    fake_reply_hex(&f, lost[i]);
    fake_reply_hex(&f, RESULT CAME("06000000") DONE);
    cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
    cr_expect_str_eq(fake_log(&f), "META a:int\nROW 1\nCOUNT 1\nDONE\n");
    cr_expect_str_eq(fake_diags(&f), "");
    check_stats(&f, 1, 2, 0);
    cr_assert_eq(run(&f, "q", DONE), WEIR_DRV_DONE);
    check_sent(&f, RUN_Q("06000000"));
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(stmt, prepares_again_once_and_no_more, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  fake_forget_sent(&f);
  f.log.n = 0;
  fake_reply_hex(&f, ERR_8179 FAILED);
  fake_reply_hex(&f, ERR_8179 FAILED);
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 8179);
  cr_expect_eq(f.wait.usable, 1);
  check_stats(&f, 0, 1, 0);
  cr_expect_eq(fake_close(&f), 0);
}

/* A statement that itself runs a handle that is none has run; it would do what it
 * does twice.  The words say which handle it was. */
Test(stmt, does_not_repeat_what_failed_for_a_handle_of_its_own, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  cr_assert_eq(run(&f, "q", ERR_8179_OF("3900") FAILED), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 8179);
  cr_expect_str_eq(fake_diags(&f), "8179/16: 9\n");
  check_sent(&f, RUN_Q("05000000"));
  check_stats(&f, 1, 1, 0);
  fake_forget_sent(&f);
  f.log.n = 0;
  fake_reply_hex(&f, ERR_8179_OF("3500") FAILED);
  fake_reply_hex(&f, CAME("07000000") DONE);
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
  check_stats(&f, 1, 2, 0);
  cr_expect_eq(fake_close(&f), 0);
}

/* "8179" in the words is the error's own number, no handle. */
Test(stmt, prepares_again_when_the_words_repeat_the_number, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  f.log.n = 0;
  fake_reply_hex(&f, "aa 1600 f31f0000 01 10 0400 3800 3100 3700 3900 00 00 "
                     "01000000 " FAILED);
  fake_reply_hex(&f, CAME("07000000") DONE);
  cr_assert_eq(fake_exec(&f, "q"), WEIR_DRV_DONE, "%s", f.message);
  check_stats(&f, 1, 2, 0);
  cr_expect_eq(fake_close(&f), 0);
}

/* A cancellation that finds the answer to be here stops what would be sent. */
Test(stmt, does_not_send_again_what_was_cancelled, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", BEGUN CAME("05000000") DONE), WEIR_DRV_DONE);
  f.log.n = 0;
  cr_assert_eq(fake_start(&f, "q"), WEIR_DRV_WAIT);
  size_t sent = f.sent.n;
  fake_reply_hex(&f, ERR_8179 FAILED);
  fake_reply_hex(&f, RESULT CAME("06000000") DONE);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.sent.n, sent);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
  cr_expect_eq(f.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 0);
  cr_expect_eq(f.err.txn, WEIR_DRV_TXN_OPEN);
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_str_eq(fake_diags(&f), "");
  check_stats(&f, 0, 1, 0);
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, does_not_repeat_what_has_given_results, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  cr_assert_eq(run(&f, "q", RESULT ERR_8179 FAILED), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 8179);
  cr_expect_str_eq(fake_diags(&f), "8179/16: B\n");
  check_stats(&f, 0, 1, 0);
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, keeps_no_handle_of_a_statement_that_failed, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", ERR_102 FAILED), WEIR_DRV_FAIL);
  check_stats(&f, 0, 0, 0);
  cr_assert_eq(
      run(&f, "q", ERR_102 "ac 0000 00 01 00000000 0000 26 04 00 " FAILED),
      WEIR_DRV_FAIL);
  check_stats(&f, 0, 0, 0);
  /* One that came all the same is given back. */
  cr_assert_eq(run(&f, "q", CAME("05000000") ERR_102 FAILED), WEIR_DRV_FAIL);
  check_stats(&f, 0, 0, 0);
  cr_assert_eq(run(&f, "q", STATUS DONE_MORE CAME("06000000") DONE),
               WEIR_DRV_DONE, "%s", f.message);
  check_sent(&f, UNPREP HANDLE("05000000") "ff" PREPARE_Q);
  /* An error of a later execution costs no handle. */
  cr_assert_eq(run(&f, "q", ERR_102 FAILED), WEIR_DRV_FAIL);
  cr_assert_eq(run(&f, "q", DONE), WEIR_DRV_DONE);
  check_sent(&f, RUN_Q("06000000"));
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, gives_back_what_a_cancel_leaves, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "q"), WEIR_DRV_WAIT);
  fake_reply_hex(&f, "fd 2000 0000 0000000000000000");
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
  check_stats(&f, 0, 1, 0);
  cr_assert_eq(run(&f, "q", STATUS DONE_MORE CAME("06000000") DONE),
               WEIR_DRV_DONE, "%s", f.message);
  check_sent(&f, UNPREP HANDLE("05000000") "ff" PREPARE_Q);
  cr_expect_eq(fake_close(&f), 0);
}

Test(stmt, is_dead_when_the_calls_in_front_lie, .timeout = 5) {
  static const struct {
    const char *answer;
    const char *why;
  } cases[] = {
      {STATUS DONE, "the server ended the request before the statement"},
      {RESULT DONE, "a result where there can be none"},
  };
  for (size_t i = 0; i < 2; i++) {
    struct fake f;
    open_with(&f, OPTIONS ";Prepared Statements=1");
    cr_assert_eq(run(&f, "a", CAME("01000000") DONE), WEIR_DRV_DONE);
    cr_assert_eq(run(&f, "b", CAME("02000000") DONE), WEIR_DRV_DONE);
    cr_assert_eq(run(&f, "c", cases[i].answer), WEIR_DRV_FAIL);
    cr_expect_not_null(strstr(f.message, cases[i].why), "%s", f.message);
    cr_expect_eq(f.wait.usable, 0);
    check_stats(&f, 0, 2, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* mssql-jdbc#1971: the numbers of one connection mean nothing on another. */
Test(stmt, carries_no_handle_to_another_connection, .timeout = 5) {
  struct fake f;
  struct fake g;
  open_with(&f, OPTIONS);
  cr_assert_eq(run(&f, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  open_with(&g, OPTIONS);
  cr_assert_eq(run(&g, "q", CAME("05000000") DONE), WEIR_DRV_DONE);
  check_sent(&g, PREPARE_Q);
  cr_expect_eq(fake_close(&f), 0);
  cr_expect_eq(fake_close(&g), 0);
}

Test(stmt, survives_each_failed_allocation, .timeout = 20) {
  bool whole = false;
  for (size_t n = 1; !whole; n++) {
    struct fake f;
    cr_assert_lt(n, 100);
    open_with(&f, OPTIONS ";Prepared Statements=1");
    cr_assert_eq(run(&f, "a", CAME("01000000") DONE), WEIR_DRV_DONE);
    f.fail_alloc = n;
    weir_drv_status rc = run(&f, "b", RESULT CAME("02000000") DONE);
    whole = f.fail_alloc != 0;
    cr_assert(rc == WEIR_DRV_DONE || (!whole && rc == WEIR_DRV_FAIL), "%zu", n);
    cr_assert_eq(fake_close(&f), 0);
  }
}

Test(stmt, is_no_other_extension, .timeout = 5) {
  struct fake f;
  open_with(&f, OPTIONS);
  cr_expect_null(f.driver->extension(f.drv, "weir.stm", 1));
  cr_expect_null(f.driver->extension(f.drv, WEIR_DRV_STMT_NAME, 2));
  cr_expect_eq(fake_configure(&f, OPTIONS ";Prepared Statements=1025"),
               WEIR_DRV_FAIL);
  cr_expect_str_eq(f.message, "Prepared Statements: must be 0 to 1024");
  (void)fake_close(&f);
}
