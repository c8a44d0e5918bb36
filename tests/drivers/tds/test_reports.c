/* SPDX-License-Identifier: MIT */
/* test_reports.c - what went wrong in other drivers, by the number of the report
 * or scenario: requests, cancellation, errors, resets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "answers.h"
#include "fake_host.h"

#define OLD "81 0100 00000000 0900 26 04 01 6f00 d1 04 6f000000 "
#define NEW "81 0100 00000000 0900 26 04 01 6e00 d1 04 6e000000 "

static void check_new(struct fake *f) {
  f->log.n = 0;
  fake_reply_hex(f, NEW SELECTED);
  cr_assert_eq(fake_exec(f, "select new"), WEIR_DRV_DONE, "%s", f->message);
  cr_expect_str_eq(fake_log(f), "META n:int\nROW 110\nCOUNT 3\nDONE\n");
}

/* SqlClient#659, scenario 170: a time-out near completion, and the next command
 * reads the old result.  However the old answer and the acknowledgement come. */
static const char *const tails[] = {
    "04 01 0029 0000 00 00" OLD SELECTED "04 01 0015 0000 00 00" ATTN,
    "04 01 0029 0000 00 00" OLD "fd 2000 0000 0000000000000000",
    "04 01 0015 0000 00 00" ATTN,
    "04 01 0036 0000 00 00" OLD SELECTED ATTN,
};

Test(reports, report_5_scenario_170_old_answers_stay_old, .timeout = 5) {
  for (size_t i = 0; i < sizeof tails / sizeof tails[0]; i++) {
    for (size_t most = 0; most < 3; most++) {
      struct fake f;
      fake_session(&f);
      fake_raw(&f, "", 0);
      cr_assert_eq(fake_start(&f, "select old"), WEIR_DRV_WAIT);
      f.read_most = most;
      fake_hex(&f, tails[i]);
      cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL, "%zu", i);
      cr_assert_eq(f.err.kind, WEIR_DRV_K_CANCELLED, "%zu: %s", i, f.message);
      f.read_most = 0;
      check_new(&f);
      cr_expect_eq(fake_close(&f), 0);
    }
  }
}

/* What a connection must not do while an acknowledgement is due. */
static void check_busy(struct fake *f) {
  struct weir_drv_wait wait = {.struct_size = sizeof wait};
  cr_expect_eq(f->driver->health(f->conn), WEIR_DRV_ALIVE_NO);
  cr_expect_eq(f->driver->idle(f->conn, &wait), WEIR_DRV_E_INVALID);
  cr_expect_eq(fake_start(f, "select new"), WEIR_DRV_E_INVALID);
  cr_expect_eq(fake_ping(f), WEIR_DRV_E_INVALID);
  cr_expect_eq(fake_reset(f, WEIR_DRV_RESET_LAZY), WEIR_DRV_E_INVALID);
  cr_expect_eq(fake_txn(f, WEIR_DRV_TX_BEGIN, 0, NULL), WEIR_DRV_E_INVALID);
}

/* tedious#1738, go-mssqldb#68: an acknowledgement that nobody waited for shifts
 * all later answers.  There is no way to use the connection before it. */
Test(reports, report_15_20_nothing_runs_before_the_acknowledgement) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "select old"), WEIR_DRV_WAIT);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
  check_busy(&f);
  f.driver->abort_conn(f.conn, WEIR_DRV_ABORT_CLOSE);
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_NO);
  cr_expect_eq(fake_close(&f), 0);
}

/* tedious#1751, go-mssqldb#160, scenario 174: the peer takes nothing more.  The
 * driver waits for the stream, not in it, and is cut off at any point. */
Test(reports,
     report_16_21_scenario_174_a_stuck_send_can_be_cut,
     .timeout = 10) {
  static char sql[20001];
  memset(sql, 'x', sizeof sql - 1);
  for (size_t at = 1; at < 12000; at += 397) {
    struct fake f;
    fake_session(&f);
    f.stall_at = at;
    cr_assert_eq(fake_start(&f, sql), WEIR_DRV_WAIT);
    cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
    cr_expect_eq(f.sent.n, at);
    cr_expect_eq(f.wait.n_want, 1);
    cr_expect_eq(f.wait.timer, WEIR_DRV_NEVER);
    f.driver->abort_conn(f.conn, WEIR_DRV_ABORT_CLOSE);
    cr_expect_eq(f.streams, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* node-mssql#1392: after a failover all connections are read-only. */
Test(reports, report_19_a_read_only_database_is_the_wrong_place, .timeout = 5) {
  static const char *const numbers[] = {"420f", "440f", "d003", "d203",
                                        "d703"}; /* 3906 3908 976 978 983 */
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct fake f;
    char hex[200];
    (void)snprintf(hex, sizeof hex,
                   "aa 1000 %s0000 01 10 0100 5200 00 00 01000000 %s",
                   numbers[i], DONE_ERR);
    fake_session(&f);
    fake_reply_hex(&f, hex);
    cr_expect_eq(fake_exec(&f, "insert"), WEIR_DRV_FAIL);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_FAILOVER, "%s", f.message);
    cr_expect_eq(f.err.retry, WEIR_DRV_RETRY_ELSE);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
    cr_expect_eq(f.wait.usable, 0);
    (void)fake_close(&f);
  }
}

/* r2dbc-mssql#330: an attention that overtakes its request is answered by
 * nothing.  Wherever the request is cut, the attention is behind it. */
Test(reports, report_23_an_attention_never_overtakes, .timeout = 10) {
  const size_t whole = 8 + 22 + 2 * 8; /* "select 1" */
  for (size_t cut = 0; cut < whole; cut++) {
    struct fake f;
    fake_session(&f);
    f.stall_at = cut == 0 ? 1 : cut;
    cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
    cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
    f.stall_at = 0;
    fake_raw(&f, "", 0);
    fake_reply_hex(&f, ATTN);
    cr_assert_eq(fake_next(&f), WEIR_DRV_FAIL);
    cr_assert_eq(f.sent.n, whole + 8);
    cr_expect_eq(f.sent.p[0], 1);
    cr_expect_eq(memcmp(f.sent.p + whole, "\6\1\0\10\0\0\1\0", 8), 0);
    cr_expect_eq(f.wait.usable, 1);
    (void)fake_close(&f);
  }
}

/* tiberius#79, #300, scenario 177: the user goes away at any point. */
Test(reports, report_24_scenario_177_a_dropped_result_is_never_idle) {
  for (size_t results = 0; results < 4; results++) {
    struct fake f;
    fake_session(&f);
    f.batch_rows = 1;
    fake_reply_hex(&f, COLUMNS ROW_1 ROW_2 SELECTED);
    cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_META);
    for (size_t i = 0; i < results; i++) {
      cr_assert_gt(fake_next(&f), 0);
    }
    check_busy(&f);
    (void)fake_close(&f);
  }
}

/* The same while the statement is being sent: after none, one, ... five of its
 * ten packets. */
Test(reports, scenario_177_a_statement_is_dropped_after_each_packet) {
  static char sql[20001];
  memset(sql, 'x', sizeof sql - 1);
  for (size_t packets = 0; packets <= 5; packets++) {
    struct fake f;
    fake_session(&f);
    f.stall_at = packets == 0 ? 10 : packets * 4096;
    cr_assert_eq(fake_start(&f, sql), WEIR_DRV_WAIT);
    check_busy(&f);
    cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
    cr_assert_eq(f.sent.n, f.stall_at);
    f.stall_at = 0;
    fake_reply_hex(&f, DONE_ERR);
    cr_assert_eq(fake_next(&f), WEIR_DRV_FAIL);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED, "%zu: %s", packets,
                 f.message);
    cr_expect_lt(f.sent.n, (packets + 3) * 4096);
    check_new(&f);
    cr_expect_eq(fake_close(&f), 0);
  }
}

/* jdbc#1325: dead, but the pool did not know the number. */
Test(reports, report_27_dead_is_dead_whatever_the_number, .timeout = 5) {
  for (unsigned number = 1; number < 60000; number += 977) {
    for (unsigned severity = 11; severity <= 25; severity++) {
      struct fake f;
      char hex[200];
      (void)snprintf(hex, sizeof hex,
                     "aa 1000 %02x%02x0000 01 %02x 0100 5200 00 00 01000000 %s",
                     number & 0xFF, number >> 8, severity, DONE_ERR);
      fake_session(&f);
      fake_reply_hex(&f, hex);
      cr_assert_eq(fake_exec(&f, "insert"), WEIR_DRV_FAIL);
      bool dead = f.err.scope >= WEIR_DRV_SCOPE_CONN;
      cr_expect(dead || severity < 20, "%u %u", number, severity);
      cr_expect_eq(f.wait.usable, !dead, "%u %u", number, severity);
      cr_expect_eq(f.err.native, (int)number);
      (void)fake_close(&f);
    }
  }
}

/* jdbc#1505: KILL ends the query with the error bit alone. */
Test(reports, report_28_the_error_bit_alone_is_an_error, .timeout = 5) {
  static const char *const answers[] = {DONE_ERR, COLUMNS ROW_1 DONE_ERR,
                                        COLUMNS ROW_1 "fd 0300 0000 "
                                                      "0000000000000000" DONE,
                                        "fe 0200 0000 0000000000000000"};
  for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
    struct fake f;
    fake_session(&f);
    fake_reply_hex(&f, answers[i]);
    cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_not_null(strstr(f.message, "without saying which"));
    (void)fake_close(&f);
  }
}

/* DONE with the server-error bit: SqlClient treats it as class 20; the error's
 * own words stay. */
Test(reports, report_28_a_server_error_costs_the_connection, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, COLUMNS ROW_1 ERR_547 "fd 0201 0000 0000000000000000");
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 547);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(f.wait.usable, 0);
  (void)fake_close(&f);
}

/* pymssql#877, pyodbc#739. */
Test(reports, report_31_an_error_behind_a_result_ends_the_request) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, COLUMNS ROW_1 MORE("01") ERR_547
                 "fd 0300 0000 0000000000000000 " COLUMNS ROW_2 SELECTED);
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  cr_expect_str_eq(fake_log(&f),
                   "META a:int b:nvarchar\nROW 1|x\xC3\xB3\nCOUNT 1\n"
                   "META a:int b:nvarchar\nROW 2|NULL\nCOUNT 3\n"
                   "FAIL 1/12 547: C\n");
  cr_expect_eq(f.wait.usable, 1);
  (void)fake_close(&f);
}

/* A class below 20 that ends the session, too: the words, not "closed". */
Test(reports, report_31_last_words_are_not_lost_with_the_stream, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_hex(&f, "04 00 001b 0000 00 00" ERR_547);
  f.hang_up = true;
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 547);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(f.wait.usable, 0);
  (void)fake_close(&f);
}

/* mssql-rs PR#308, #375: class 20 was not marked dead, and the acknowledgement
 * of a reset cleared nothing. */
Test(reports, report_34_class_20_is_dead_even_if_the_server_goes_on) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, ERR_DEAD DONE_ERR);
  cr_expect_eq(fake_exec(&f, "select 1"), WEIR_DRV_FAIL);
  cr_expect_eq(f.wait.usable, 0);
  cr_expect_eq(fake_start(&f, "select 1"), WEIR_DRV_E_INVALID);
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_NO);
  (void)fake_close(&f);
}

Test(reports, report_34_class_20_in_a_drained_answer_is_dead, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  fake_reply_hex(&f, ERR_DEAD ATTN);
  cr_expect_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.native, 50000);
  cr_expect_eq(f.wait.usable, 0);
  (void)fake_close(&f);
}

/* ------------------------------------------------------ long statements */

#define HELLO "12 01 000d 0000 00 00 5345525652"

static const struct {
  const char *encrypt;
  uint8_t reply; /* ENCRYPTION */
  size_t clear;  /* answers before TLS is on */
  bool tls;
} modes[] = {
    {"optional", 2, 99, false},
    {"optional", 0, 99, false}, /* the login alone */
    {"optional", 3, 2, true},
    {"mandatory", 1, 2, true},
    {"strict", 1, 1, true},
};

static void open_mode(struct fake *f, size_t mode) {
  char text[120];
  size_t n = 0;
  bool strict = strcmp(modes[mode].encrypt, "strict") == 0;
  (void)snprintf(text, sizeof text, "Server=h;User ID=sa;Password=;Encrypt=%s",
                 modes[mode].encrypt);
  fake_open(f, text);
  if (strict) {
    fake_raw(f, FAKE_ANSWER, strlen(FAKE_ANSWER));
  }
  (void)snprintf(text, sizeof text,
                 "00 000b 0006 01 0011 0001 ff 10000fa00000 %02x",
                 modes[mode].reply);
  fake_reply_hex(f, text);
  if (!strict && modes[mode].reply != 2) {
    fake_hex(f, HELLO);
  }
  const uint8_t *body = fake_login_body(&n);
  fake_reply(f, body, n);
  fake_reply_hex(f, DONE);
  fake_encrypt(f, modes[mode].clear);
  cr_assert_eq(fake_connect(f), WEIR_DRV_DONE, "%zu: %s", mode, f->message);
  fake_forget_sent(f);
}

/* The body of the one message in sent. */
static size_t body_of(const struct fake *f, bool tls) {
  uint8_t key = tls ? FAKE_KEY : 0;
  size_t body = 0;
  for (size_t at = 0; at < f->sent.n;) {
    const uint8_t *p = f->sent.p + at;
    size_t length = (size_t)((p[2] ^ key) << 8 | (p[3] ^ key));
    bool last = ((p[1] ^ key) & 1) != 0;
    cr_assert_eq(p[0] ^ key, 1);
    cr_assert(last ? at + length == f->sent.n : length == 4096);
    for (size_t i = 8; i < length; i++) {
      uint8_t want = (body + i - 8) % 2 == 0 ? 'x' : 0;
      cr_assert(body + i - 8 < 22 || (p[i] ^ key) == want);
    }
    body += length - 8;
    at += length;
  }
  return body;
}

Test(reports, scenario_186_statements_around_the_packet_size, .timeout = 30) {
  /* 4088 bytes a packet, 22 of them headers in the first. */
  static const size_t units[] = {2031, 2032, 2033, 2034, 2035,  4075,
                                 4076, 4077, 4078, 4079, 20440, 524288};
  for (size_t m = 0; m < sizeof modes / sizeof modes[0]; m++) {
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
      struct fake f;
      char *sql = malloc(units[i] + 1);
      cr_assert_not_null(sql);
      memset(sql, 'x', units[i]);
      sql[units[i]] = '\0';
      open_mode(&f, m);
      cr_assert_eq(fake_exec(&f, sql), WEIR_DRV_DONE, "%zu: %s", m, f.message);
      cr_expect_eq(body_of(&f, modes[m].tls), 22 + 2 * units[i]);
      free(sql);
      cr_expect_eq(fake_close(&f), 0);
    }
  }
}

/* ------------------------------------------------------ too many columns */

/* 4096 columns of 255 units each: every length is legal, the sum is not. */
Test(reports, names_of_columns_have_a_limit_together, .timeout = 10) {
  struct fake_bytes body = {0};
  struct fake f;
  const uint8_t head[] = {0x81, 0x00, 0x10};
  const uint8_t column[] = {0, 0, 0, 0, 9, 0, 0x38, 255};
  fake_add(&body, head, sizeof head);
  for (size_t i = 0; i < 4096; i++) {
    fake_add(&body, column, sizeof column);
    for (size_t k = 0; k < 255; k++) {
      fake_add(&body, "\xAC\x20", 2);
    }
  }
  fake_session(&f);
  fake_raw(&f, "", 0);
  for (size_t at = 0; at < body.n; at += 4088) {
    size_t n = body.n - at < 4088 ? body.n - at : 4088;
    uint8_t packet[8] = {4, 0, (uint8_t)((n + 8) >> 8), (uint8_t)(n + 8)};
    fake_add(&f.answers[f.n_answers - 1], packet, sizeof packet);
    fake_add(&f.answers[f.n_answers - 1], body.p + at, n);
  }
  free(body.p);
  cr_expect_eq(fake_exec(&f, "select *"), WEIR_DRV_FAIL);
  cr_expect_not_null(strstr(f.message, "names of the columns"), "%s",
                     f.message);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(fake_close(&f), 0);
}
