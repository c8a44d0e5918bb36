/* SPDX-License-Identifier: MIT */
/* test_cancel.c - cancel in every state of an operation. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "answers.h"
#include "fake_host.h"

#define ATTENTION "\6\1\0\10\0\0\1\0"

/* The last message sent is an attention. */
static bool attended(const struct fake *f) {
  return f->sent.n >= 8 && memcmp(f->sent.p + f->sent.n - 8, ATTENTION, 8) == 0;
}

static void check_log(struct fake *f, const char *log) {
  cr_expect_str_eq(fake_log(f), log);
}

/* The session serves the next request. */
static void check_serves(struct fake *f) {
  fake_forget_sent(f);
  f->log.n = 0;
  f->message[0] = '\0';
  fake_reply_hex(f, COLUMNS ROW_2 SELECTED);
  cr_assert_eq(fake_exec(f, "select 2"), WEIR_DRV_DONE, "%s", f->message);
  check_log(f, "META a:int b:nvarchar\nROW 2|NULL\nCOUNT 3\nDONE\n");
}

/* -------------------------------------------------------------- an answer */

Test(cancel, takes_the_acknowledgement_as_a_message, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_split(&f, COLUMNS ROW_1 ROW_2 SELECTED, 45, ATTN);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_META);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  check_log(&f, "META a:int b:nvarchar\nFAIL 1/3 0: cancelled\n");
  cr_expect(attended(&f));
  cr_expect_eq(f.err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
  cr_expect_eq(f.wait.usable, 1);
  check_serves(&f);
  cr_expect_eq(fake_close(&f), 0);
}

Test(cancel, takes_the_acknowledgement_with_the_answer, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  fake_reply_hex(&f, COLUMNS ROW_1 ERR_102 "fd 2200 0000 0000000000000000");
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  check_log(&f, "FAIL 1/3 0: cancelled\n");
  check_serves(&f);
  cr_expect_eq(fake_close(&f), 0);
}

/* The attention was written when the final DONE was on its way. */
Test(cancel, takes_a_late_acknowledgement, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  fake_reply_hex(&f, COLUMNS ROW_1 SELECTED);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
  size_t n = 0;
  uint8_t *p = fake_unhex("04 01 0015 0000 00 00" ATTN, &n);
  fake_add(&f.answers[f.n_answers - 1], p, n);
  free(p);
  cr_assert_eq(fake_next(&f), WEIR_DRV_FAIL);
  check_log(&f, "FAIL 1/3 0: cancelled\n");
  check_serves(&f);
  (void)fake_close(&f);
}

Test(cancel, applies_state_while_it_drains, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, BEGUN DONE);
  cr_assert_eq(fake_exec(&f, "begin tran"), WEIR_DRV_DONE);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  fake_reply_hex(&f, ENDED IN_XY ATTN);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.wait.txn, WEIR_DRV_TXN_NONE);
  struct weir_drv_value v;
  (void)f.driver->get(f.conn, WEIR_DRV_P_DATABASE, &v);
  cr_expect(v.n == 2 && memcmp(v.p, "xy", 2) == 0);
  (void)fake_close(&f);
}

Test(cancel, waits_for_the_acknowledgement_and_no_less, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_split(&f, COLUMNS ROW_1 SELECTED, 45, "");
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_META);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
  cr_expect_eq(f.driver->health(f.conn), WEIR_DRV_ALIVE_NO);
  (void)fake_close(&f);
}

/* Nothing of the cancel protocol may end in a usable connection but its own
 * end. */
static const struct {
  const char *answer;
  bool hangs_up;
} broken[] = {
    {"04 01 0009 0000 00 00 42", false},      /* garbage */
    {"04 01 0008 0000 00 00", false},         /* nothing */
    {"", true},                               /* FIN */
    {"04 01 000c 0000 00 00 fd200000", true}, /* half a DONE */
    {"04 01 000c 0000 00 00 fd200000", false},
    {"12 01 0008 0000 00 00", false}, /* another type of packet */
};

Test(cancel, report_20_scenario_178_is_dead_after_any_other_end, .timeout = 5) {
  for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
    struct fake f;
    fake_session(&f);
    fake_raw(&f, "", 0);
    cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
    fake_hex(&f, broken[i].answer);
    f.hang_up = broken[i].hangs_up;
    cr_expect_eq(fake_cancel(&f), WEIR_DRV_FAIL, "%zu", i);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN, "%zu", i);
    cr_expect_eq(f.wait.usable, 0);
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(cancel, works_at_every_byte_of_an_answer, .timeout = 10) {
  for (size_t cut = 0; cut < 80; cut++) {
    struct fake f;
    fake_session(&f);
    fake_split(&f, COLUMNS ROW_1 ROW_2 SELECTED, cut, ATTN);
    weir_drv_status rc = fake_start(&f, "select 1");
    if (rc == WEIR_DRV_META) {
      rc = fake_next(&f);
    }
    bool whole = f.answers[f.n_answers - 1].n == 8 + 13;
    if (!whole) {
      cr_assert_geq(rc, 0, "%zu: %s", cut, f.message);
      cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
      cr_assert_eq(f.err.kind, WEIR_DRV_K_CANCELLED, "%s", f.message);
      cr_assert_eq(f.wait.usable, 1);
      check_serves(&f);
    }
    cr_assert_eq(fake_close(&f), 0);
  }
}

Test(cancel, does_the_same_at_every_cut_of_the_stream, .timeout = 20) {
  for (uint32_t seed = 1; seed < 60; seed++) {
    struct fake f;
    fake_session(&f);
    f.seed = seed;
    f.stray = (seed & 1) != 0;
    fake_split(&f, COLUMNS ROW_1 ROW_2 SELECTED, 50, ATTN);
    cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_META);
    cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
    cr_assert_eq(f.err.kind, WEIR_DRV_K_CANCELLED, "%u: %s", seed, f.message);
    check_serves(&f);
    cr_assert_eq(fake_close(&f), 0);
  }
}

Test(cancel, sends_one_attention_however_often_it_is_asked, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  size_t before = f.sent.n;
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
  cr_expect_eq(f.sent.n, before + 8);
  fake_reply_hex(&f, ATTN);
  cr_assert_eq(fake_next(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
  check_serves(&f);
  (void)fake_close(&f);
}

Test(cancel, needs_an_operation, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_expect_eq(fake_cancel(&f), WEIR_DRV_E_INVALID);
  (void)fake_close(&f);
}

/* --------------------------------------------------------- done meanwhile */

Test(cancel, leaves_alone_what_has_ended_meanwhile, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  size_t sent = f.sent.n;
  fake_reply_hex(&f, COLUMNS ROW_1 SELECTED); /* not read yet */
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_DONE);
  check_log(&f, "META a:int b:nvarchar\nROW 1|x\xC3\xB3\nCOUNT 3\nDONE\n");
  cr_expect_eq(f.sent.n, sent);
  check_serves(&f);
  cr_expect_eq(fake_close(&f), 0);
}

/* Whatever has been handed over when cancel comes, the rest follows. */
Test(cancel, loses_no_row_of_an_answer_that_is_all_there, .timeout = 10) {
  for (size_t results = 0; results < 4; results++) {
    for (size_t most = 0; most < 4; most++) {
      struct fake f;
      fake_session(&f);
      f.read_most = most * 20;
      f.batch_rows = 1;
      fake_reply_hex(&f, COLUMNS ROW_1 ROW_2 SELECTED);
      weir_drv_status rc = fake_start(&f, "select 1");
      for (size_t i = 0; i < results; i++) {
        rc = fake_next(&f);
      }
      cr_assert_gt(rc, 0);
      f.read_most = 0;
      size_t sent = f.sent.n;
      cr_assert_eq(fake_cancel(&f), WEIR_DRV_DONE, "%zu %zu %s", results, most,
                   f.message);
      check_log(&f, "META a:int b:nvarchar\nROW 1|x\xC3\xB3\nROW 2|NULL\n"
                    "COUNT 3\nDONE\n");
      cr_expect_eq(f.sent.n, sent);
      cr_assert_eq(fake_close(&f), 0);
    }
  }
}

Test(cancel, keeps_an_error_that_has_come_meanwhile, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  fake_reply_hex(&f, ERR_102 DONE_ERR);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  check_log(&f, "FAIL 1/13 102: Ba\n");
  (void)fake_close(&f);
}

/* Puts a packet of type 04 with hex repeated behind the answer at hand. */
static void add_packet(struct fake *f, const char *hex, size_t times) {
  struct fake_bytes *to = &f->answers[f->n_answers - 1];
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  size_t length = 8 + n * times;
  uint8_t head[8] = {4, 0, (uint8_t)(length >> 8), (uint8_t)length};
  cr_assert_leq(length, 4096);
  fake_add(to, head, sizeof head);
  for (size_t i = 0; i < times; i++) {
    fake_add(to, p, n);
  }
  free(p);
}

/* A message of its own behind the answer at hand. */
static void add_packet_of(struct fake *f, const char *hex) {
  struct fake_bytes *to = &f->answers[f->n_answers - 1];
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  uint8_t head[8] = {4, 1, (uint8_t)((8 + n) >> 8), (uint8_t)(8 + n)};
  fake_add(to, head, sizeof head);
  fake_add(to, p, n);
  free(p);
}

/* A server that acknowledges before it has ended the answer.  What comes behind is
 * never taken for the answer to the next request, whenever it comes. */
Test(cancel, takes_nothing_behind_the_acknowledgement, .timeout = 5) {
  for (int late = 0; late < 2; late++) {
    struct fake f;
    fake_session(&f);
    fake_raw(&f, "", 0);
    cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
    cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
    add_packet_of(&f, ATTN);
    if (late == 0) {
      add_packet_of(&f, COLUMNS ROW_1 SELECTED);
    }
    cr_assert_eq(fake_next(&f), WEIR_DRV_FAIL);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
    cr_expect_eq(f.wait.usable, late);
    if (late == 1) {
      size_t sent = f.sent.n;
      add_packet_of(&f, COLUMNS ROW_1 SELECTED);
      f.log.n = 0;
      cr_assert_eq(fake_exec(&f, "select 2"), WEIR_DRV_FAIL);
      cr_expect_eq(f.err.kind, WEIR_DRV_K_PROTOCOL);
      cr_expect_eq(f.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 0);
      cr_expect_eq(f.wait.usable, 0);
      cr_expect_eq(f.sent.n, sent);
    }
    (void)fake_close(&f);
  }
}

/* Nor what comes behind the end of any answer. */
Test(cancel, is_dead_when_there_is_more_than_the_answer, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  add_packet_of(&f, DONE);
  add_packet_of(&f, COLUMNS ROW_1 SELECTED);
  cr_assert_eq(fake_next(&f), WEIR_DRV_DONE);
  cr_expect_eq(f.wait.usable, 0);
  (void)fake_close(&f);
}

/* More is there than one read gives: reading on could take for ever. */
Test(cancel, reads_ahead_no_further_than_once, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  add_packet(&f, COLUMNS, 1);
  for (size_t i = 0; i < 20; i++) {
    add_packet(&f, ROW_1, 300);
  }
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_META);
  fake_hex(&f, "04 01 0015 0000 00 00" SELECTED "04 01 0015 0000 00 00" ATTN);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED, "%s", f.message);
  cr_expect(attended(&f));
  check_serves(&f);
  cr_expect_eq(fake_close(&f), 0);
}

/* ------------------------------------------------------------ half sent */

/* A statement of several packets of which the stream takes one. */
static void start_long(struct fake *f) {
  static char sql[20001];
  memset(sql, 'x', sizeof sql - 1);
  f->stall_at = f->sent.n + 5000;
  cr_assert_eq(fake_start(f, sql), WEIR_DRV_WAIT);
  f->stall_at = 0;
}

/* The status of the last packet sent. */
static uint8_t last_status(const struct fake *f) {
  size_t at = 0;
  uint8_t status = 0;
  while (at + 8 <= f->sent.n) {
    status = f->sent.p[at + 1];
    at += (size_t)(f->sent.p[at + 2] << 8 | f->sent.p[at + 3]);
  }
  cr_assert_eq(at, f->sent.n);
  return status;
}

Test(cancel, tells_the_server_to_ignore_what_was_half_sent, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  start_long(&f);
  fake_reply_hex(&f, DONE_ERR);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  check_log(&f, "FAIL 1/3 0: cancelled\n");
  cr_expect_eq(last_status(&f), 3);
  cr_expect_eq(f.err.flags, 0);
  cr_expect_eq(f.wait.usable, 1);
  check_serves(&f);
  cr_expect_eq(fake_close(&f), 0);
}

Test(cancel, sends_no_attention_after_ignore, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  start_long(&f);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
  size_t sent = f.sent.n;
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
  cr_expect_eq(f.sent.n, sent);
  cr_expect_not(attended(&f));
  (void)fake_close(&f);
}

Test(cancel, is_dead_when_a_reset_was_half_sent, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_LAZY), WEIR_DRV_DONE);
  start_long(&f);
  fake_reply_hex(&f, DONE_ERR);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(f.wait.usable, 0);
  (void)fake_close(&f);
}

Test(cancel, waits_behind_a_stream_that_takes_nothing, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  f.stall_at = f.sent.n + 10;
  cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_WAIT);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_WAIT);
  cr_expect_eq(f.sent.n, 10);
  f.stall_at = 0;
  fake_raw(&f, "", 0);
  fake_reply_hex(&f, ATTN);
  cr_assert_eq(fake_next(&f), WEIR_DRV_FAIL);
  cr_expect(attended(&f));
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
  (void)fake_close(&f);
}

/* ------------------------------------------------------- other operations */

Test(cancel, stops_a_ping, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_ping(&f), WEIR_DRV_WAIT);
  fake_reply_hex(&f, ATTN);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
  check_serves(&f);
  (void)fake_close(&f);
}

Test(cancel, is_dead_when_it_drained_no_confirmation_of_a_reset, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_WAIT);
  fake_reply_hex(&f, ATTN);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(f.wait.usable, 0);
  (void)fake_close(&f);
}

Test(cancel, leaves_a_reset_dirty_that_it_stopped, .timeout = 5) {
  struct fake f;
  fake_session(&f);
  fake_reply_hex(&f, DONE);
  cr_assert_eq(fake_exec(&f, "set transaction isolation level snapshot"),
               WEIR_DRV_DONE);
  fake_raw(&f, "", 0);
  cr_assert_eq(fake_reset(&f, WEIR_DRV_RESET_EAGER), WEIR_DRV_WAIT);
  fake_reply_hex(&f, RESET ATTN);
  cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
  cr_expect_eq(f.wait.usable, 1);
  cr_expect_neq(f.wait.dirty & WEIR_DRV_DIRTY_SETTINGS, 0);
  (void)fake_close(&f);
}

Test(cancel, is_fatal_while_connecting, .timeout = 5) {
  for (size_t answers = 0; answers < 2; answers++) {
    struct fake f;
    fake_open(&f, "Server=db.test;User ID=sa;Password=;Encrypt=optional");
    fake_login(&f);
    f.n_answers = answers;
    cr_assert_eq(fake_connect(&f), WEIR_DRV_WAIT);
    cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
    cr_expect_eq(f.err.kind, WEIR_DRV_K_CANCELLED);
    cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
    cr_expect_eq(f.wait.usable, 0);
    f.n_answers = 2;
    cr_expect_eq(fake_close(&f), 0);
  }
}

Test(cancel, survives_each_failed_allocation, .timeout = 10) {
  bool whole = false;
  for (size_t n = 1; !whole; n++) {
    struct fake f;
    cr_assert_lt(n, 20);
    fake_session(&f);
    fake_split(&f, COLUMNS ROW_1 ROW_2 SELECTED, 50, ATTN);
    cr_assert_eq(fake_start(&f, "select 1"), WEIR_DRV_META);
    f.fail_alloc = n;
    cr_assert_eq(fake_cancel(&f), WEIR_DRV_FAIL);
    whole = f.fail_alloc != 0;
    cr_assert_eq(fake_close(&f), 0);
  }
}
