/* SPDX-License-Identifier: MIT */
/* Whole conversations, byte by byte. */
#include <stdio.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "test_support.h"

#define PLAIN_DONE "FD 0000 FD00 0000000000000000"
#define ATTN_DONE  "FD 2000 FD00 0000000000000000"

static void feed_hex(struct fixture *fixture, const char *text) {
  struct tdsd_buf in = {0};
  hex(&in, text);
  (void)feed_all(&fixture->session, &in);
  tdsd_buf_fini(&in);
}

Test(session, a_login_is_answered_in_the_order_of_servers, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_init(&fixture);
  prelogin_packet(&in, TDSD_ENC_NOT_SUP);
  login_packet(&in, TDSD_V74, 8000);
  (void)feed_all(&fixture.session, &in);
  cr_assert(contains_hex(&fixture.session.out,
                         "E3 1B00 01 06\"master\" 06\"master\"  AB"));
  cr_assert(contains_hex(&fixture.session.out, "E3 0800 07 05 0904D00034 00"));
  cr_assert(contains_hex(&fixture.session.out,
                         "E3 1300 04 04\"8000\" 04\"4096\""
                         "AD 3200 01 74000004 14\"Microsoft SQL Server\""
                         "10 00 03E8"
                         "FD 0000 0000 0000000000000000"));
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY);
  cr_assert_eq(fixture.session.packet_size, 8000);
  cr_assert_eq(fixture.shared.counters.sessions_open, 1);
  fixture_fini(&fixture);
  cr_assert_eq(fixture.shared.counters.sessions_open, 0);
  tdsd_buf_fini(&in);
}

Test(session, a_wrong_password_is_told_and_ends_it, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_init(&fixture);
  fixture.account.password = "y";
  prelogin_packet(&in, TDSD_ENC_NOT_SUP);
  login_packet(&in, TDSD_V74, 4096);
  (void)feed_all(&fixture.session, &in);
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_ENDED);
  /* 18456, state 1, class 14 */
  cr_assert(contains_hex(&fixture.session.out, "18480000 01 0E"));
  cr_assert(
      contains_hex(&fixture.session.out, "FD 0200 0000 0000000000000000"));
  cr_assert_eq(fixture.shared.counters.logins_failed, 1);
  fixture_fini(&fixture);
  tdsd_buf_fini(&in);
}

Test(session, the_login_delay_is_a_deadline_not_a_sleep, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_init(&fixture);
  fixture.shared.options.login_delay_ms = 5;
  prelogin_packet(&in, TDSD_ENC_NOT_SUP);
  login_packet(&in, TDSD_V74, 4096);
  (void)feed_all(&fixture.session, &in);
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_ANSWER);
  cr_assert_eq(fixture.session.wake_ns, 1000 + 5000000);
  tdsd_session_wake(&fixture.session, 5001000);
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY);
  fixture_fini(&fixture);
  tdsd_buf_fini(&in);
}

Test(session, malformed_requests_are_named_and_fatal, .timeout = 5) {
  static const struct {
    const char *bytes;
    const char *says;
  } cases[] = {
      {"01 01 0009 0000 01 00 00", "ALL_HEADERS is missing"},
      {"01 01 000C 0000 01 00 05000000", "ALL_HEADERS of 5 bytes"},
      {"01 01 000C 0000 01 00 04000000", "no transaction header"},
      {"01 01 0012 0000 01 00 0A000000 06000000 0900", "header type 9"},
      {"01 01 0012 0000 01 00 0A000000 07000000 0200", "does not fit"},
      {"01 01 001F 0000 01 00 16000000 12000000 0200 0000000000000000"
       "01000000 41",
       "half a character"},
      {"0E 01 0020 0000 01 00 16000000 12000000 0200 0000000000000000"
       "01000000 0600",
       "request 6 is not supported"},
      {"0E 01 0022 0000 01 00 16000000 12000000 0200 0000000000000000"
       "01000000 0500 09 00",
       "BEGIN of 2 bytes"},
      {"03 01 001E 0000 01 00 16000000 12000000 0200 0000000000000000"
       "01000000",
       "RPC name of 0 units"},
      {"07 01 0008 0000 01 00", "a bulk load where a request"},
      {"12 01 0008 0000 01 00", "a PRELOGIN where a request"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    fixture_login(&fixture, TDSD_V74);
    feed_hex(&fixture, cases[i].bytes);
    cr_expect_eq(fixture.session.phase, TDSD_PHASE_ENDED, "%s", cases[i].says);
    cr_expect_not_null(strstr(fixture.log, cases[i].says), "%s", fixture.log);
    /* 4002 of class 20 goes to the client, too. */
    cr_expect(contains_hex(&fixture.session.out, "A20F0000 01 14"));
    cr_expect_eq(fixture.shared.counters.violations, 1);
    fixture_fini(&fixture);
  }
}

Test(session, an_attention_on_an_idle_session_is_acknowledged, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  feed_hex(&fixture, "06 01 0008 0000 01 00");
  cr_assert(holds_hex(&fixture.session.out, "04 01 0015 0033 01 00" ATTN_DONE));
  fixture_fini(&fixture);
}

Test(session, an_attention_ends_a_wait_in_two_messages, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "WAITFOR DELAY '00:00:05'");
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_RUNNING);
  cr_assert_eq(fixture.session.wake_ns, UINT64_C(5000001000));
  cr_assert_eq(tdsd_buf_len(&fixture.session.out), 0);
  feed_hex(&fixture, "06 01 0008 0000 01 00");
  cr_assert(holds_hex(&fixture.session.out,
                      "04 01 0015 0033 01 00 FD 0200 0000 0000000000000000"
                      "04 01 0015 0033 01 00" ATTN_DONE));
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY);
  fixture_fini(&fixture);
}

Test(session, a_message_taken_back_gets_one_error_done, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  feed_hex(&fixture, "01 03 000A 0000 01 00 AABB");
  cr_assert(holds_hex(&fixture.session.out,
                      "04 01 0015 0033 01 00 FD 0200 0000 0000000000000000"));
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY);
  fixture_fini(&fixture);
}

Test(session, a_request_behind_a_running_one_waits, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "WAITFOR DELAY '00:00:01'");
  batch_packet(&in, TDSD_ST_EOM, 0, "SELECT 1");
  cr_assert_eq(feed_all(&fixture.session, &in), tdsd_buf_len(&in));
  tdsd_session_wake(&fixture.session, UINT64_C(2000000000));
  cr_assert_eq(feed_all(&fixture.session, &in), 0);
  cr_assert_eq(fixture.shared.counters.batches, 2);
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(session, transactions_in_text_tell_their_descriptor, .timeout = 5) {
  struct fixture fixture;
  char wanted[128];
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "BEGIN TRAN; BEGIN TRAN");
  unsigned low = (unsigned)fixture.session.state.descriptor;
  cr_assert_neq(low, 0);
  cr_assert(low < 256);
  (void)snprintf(wanted, sizeof wanted,
                 "E3 0B00 08 08 %02X00000000000000 00 FD 0100 D400", low);
  cr_assert(contains_hex(&fixture.session.out, wanted));
  cr_assert_eq(fixture.session.state.tran_count, 2);
  fixture_batch(&fixture, "COMMIT");
  cr_assert_not(contains_hex(&fixture.session.out, "E3 0B00"));
  fixture_batch(&fixture, "COMMIT");
  (void)snprintf(wanted, sizeof wanted,
                 "E3 0B00 09 00 08 %02X00000000000000 FD 0000 D500", low);
  cr_assert(contains_hex(&fixture.session.out, wanted));
  cr_assert_eq(fixture.session.state.descriptor, 0);
  fixture_fini(&fixture);
}

Test(session, the_transaction_manager_begins_and_rolls_back, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  feed_hex(&fixture,
           "0E 01 0022 0000 01 00 16000000 12000000 0200 0000000000000000"
           "01000000 0500 03 00");
  cr_assert(contains_hex(&fixture.session.out, "E3 0B00 08 08"));
  cr_assert_eq(fixture.session.state.isolation, 3);
  struct tdsd_buf in = {0};
  hex(&in, "16000000 12000000 0200");
  tdsd_buf_u64(&in, fixture.session.state.descriptor);
  hex(&in, "01000000 0800 00 00");
  struct tdsd_buf packet = {0};
  tdsd_packet_write(&packet, TDSD_PKT_TM, TDSD_ST_EOM, 0, 1, tdsd_buf_at(&in),
                    tdsd_buf_len(&in));
  tdsd_buf_clear(&fixture.session.out);
  (void)feed_all(&fixture.session, &packet);
  cr_assert(contains_hex(&fixture.session.out, "E3 0B00 0A 00 08"));
  cr_assert_eq(fixture.session.state.tran_count, 0);
  tdsd_buf_fini(&in);
  tdsd_buf_fini(&packet);
  fixture_fini(&fixture);
}

Test(session, a_stale_descriptor_is_an_error, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V74);
  batch_packet(&in, TDSD_ST_EOM, 4711, "SELECT 1");
  (void)feed_all(&fixture.session, &in);
  cr_assert(contains_hex(&fixture.session.out, "950F0000 01 10")); /* 3989 */
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY);
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(session,
     a_reset_is_the_first_token_and_restores_all_but_isolation,
     .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  struct tdsd_state *state = &fixture.session.state;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "USE tempdb; SET XACT_ABORT ON; SET TRANSACTION ISOLATION "
                "LEVEL SERIALIZABLE; BEGIN TRAN");
  cr_assert_str_eq(state->database, "tempdb");
  tdsd_buf_clear(&fixture.session.out);
  batch_packet(&in, TDSD_ST_EOM | TDSD_ST_RESET, 0, "SELECT 1");
  (void)feed_all(&fixture.session, &in);
  cr_assert(contains_hex(&fixture.session.out,
                         "0033 01 00 E3 0300 12 00 00 81 0100"));
  cr_assert_not(contains_hex(&fixture.session.out, "E3 0B00 0A"));
  cr_assert_str_eq(state->database, "master");
  cr_assert_not(state->xact_abort);
  cr_assert_eq(state->tran_count, 0);
  cr_assert_eq(state->isolation, 4);
  cr_assert_eq(fixture.shared.counters.resets, 1);
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(session, skiptran_keeps_the_transaction, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "BEGIN TRAN");
  batch_packet(&in, TDSD_ST_EOM | TDSD_ST_RESET_SKIPTRAN,
               fixture.session.state.descriptor, "SELECT 1");
  (void)feed_all(&fixture.session, &in);
  cr_assert_eq(fixture.session.state.tran_count, 1);
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(session,
     each_statement_has_a_done_and_the_last_no_more_bit,
     .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "SET NOCOUNT OFF PRINT 'a' SET DATEFIRST 7");
  cr_assert(contains_hex(&fixture.session.out,
                         "0033 01 00 FD 0100 FD00 0000000000000000 AB"));
  cr_assert(contains_hex(&fixture.session.out,
                         "FD 0100 FD00 0000000000000000" PLAIN_DONE));
  fixture_fini(&fixture);
}

Test(session, an_error_among_rows_comes_after_them, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "SELECT 6 / a FROM (VALUES (1), (0), (2)) AS t (a) SELECT 5");
  cr_assert(contains_hex(&fixture.session.out, "D1 04 06000000 AA"));
  cr_assert(contains_hex(&fixture.session.out, "C61F0000 01 10")); /* 8134 */
  cr_assert(
      contains_hex(&fixture.session.out, "FD 0300 C100 0000000000000000 81"));
  cr_assert(contains_hex(&fixture.session.out, "D1 05000000"));
  fixture_fini(&fixture);
}

Test(session, a_syntax_error_runs_nothing, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "BEGIN TRAN SELECT FROM");
  cr_assert(contains_hex(&fixture.session.out, "9C000000 01 0F")); /* 156 */
  cr_assert_eq(fixture.session.state.tran_count, 0);
  fixture_fini(&fixture);
}

Test(session, blocks_branches_and_loops_run, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "DECLARE @i int = 0; WHILE @i < 5 BEGIN SET @i = @i + 1; END; "
                "IF @i = 5 AND NOT @i IS NULL SELECT @i ELSE SELECT -1");
  cr_assert(contains_hex(&fixture.session.out, "D1 04 05000000"));
  fixture_batch(&fixture, "WHILE @@TRANCOUNT > 0 ROLLBACK SELECT 7");
  cr_assert(contains_hex(&fixture.session.out, "D1 07000000"));
  fixture_fini(&fixture);
}

Test(session, union_all_meets_in_one_type, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "SELECT 1 AS a UNION ALL SELECT NULL UNION ALL "
                          "SELECT 2.5");
  cr_assert(contains_hex(&fixture.session.out,
                         "6C 09 0B 01 01\"a\" D1 09 01 0A00000000000000"
                         "D2 01 D1 09 01 1900000000000000"
                         "FD 1000 C100 0300000000000000"));
  fixture_fini(&fixture);
}

Test(session, unknown_tables_and_procedures_have_their_numbers, .timeout = 5) {
  static const struct {
    const char *sql;
    const char *number;
  } cases[] = {
      {"SELECT * FROM dbo.nosuch WHERE a = 1 ORDER BY b", "D0000000"},
      {"INSERT INTO nosuch (a) VALUES (1)", "D0000000"},
      {"DELETE nosuch", "D0000000"},
      {"EXEC nosuch 1, 'a'", "FC0A0000"},
      {"USE nosuch", "8F030000"},
      {"ROLLBACK", "3F0F0000"},
      {"COMMIT", "3E0F0000"},
      {"RAISERROR('x', 16, 1)", "50C30000"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    fixture_login(&fixture, TDSD_V74);
    fixture_batch(&fixture, cases[i].sql);
    cr_expect(contains_hex(&fixture.session.out, "AA"), "%s", cases[i].sql);
    cr_expect(contains_hex(&fixture.session.out, cases[i].number), "%s",
              cases[i].sql);
    fixture_fini(&fixture);
  }
}

Test(session, sp_executesql_takes_parameters, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  struct tdsd_buf packet = {0};
  fixture_login(&fixture, TDSD_V74);
  hex(&body, "16000000 12000000 0200 0000000000000000 01000000");
  hex(&body, "FFFF 0A00 0000");
  hex(&body, "00 00 E7 401F 0904D00034 2600 \"SELECT @a + 1 AS b,\" \" @b\"");
  tdsd_buf_put_u16(&body, 38, 2 * 22);
  hex(&body, "00 00 E7 401F 0904D00034 2800 \"@a int, @b varchar(3)\"");
  hex(&body, "00 00 26 04 04 29000000");
  hex(&body, "02\"@b\" 00 A7 0300 0904D00034 0200 6162");
  /* The two texts carry their true lengths. */
  tdsd_buf_put_u16(&body, 22 + 6 + 2 + 8, 2 * 22);
  tdsd_buf_put_u16(&body, 22 + 6 + 2 + 10 + 44 + 2 + 8, 2 * 21);
  tdsd_packet_write(&packet, TDSD_PKT_RPC, TDSD_ST_EOM, 0, 1,
                    tdsd_buf_at(&body), tdsd_buf_len(&body));
  (void)feed_all(&fixture.session, &packet);
  cr_assert(contains_hex(&fixture.session.out,
                         "D1 04 2A000000 0200 6162 FF 1100 C100"),
            "%s", fixture.log);
  cr_assert(contains_hex(&fixture.session.out,
                         "79 00000000 FE 0000 E000 0000000000000000"));
  tdsd_buf_fini(&body);
  tdsd_buf_fini(&packet);
  fixture_fini(&fixture);
}

Test(session, every_cut_of_an_rpc_is_refused_without_harm, .timeout = 20) {
  struct tdsd_buf body = {0};
  hex(&body, "16000000 12000000 0200 0000000000000000 01000000");
  hex(&body, "FFFF 0A00 0000 00 00 E7 401F 0904D00034 0200 \"x\"");
  hex(&body, "00 00 E7 FFFF 0904D00034 FEFFFFFFFFFFFFFF 02000000 \"x\" "
             "00000000");
  hex(&body, "00 00 6A 05 09 02 05 01 0F000000  00 00 2A 03 07 E803000091400B");
  for (size_t n = 0; n < tdsd_buf_len(&body); n++) {
    struct fixture fixture;
    struct tdsd_buf packet = {0};
    fixture_login(&fixture, TDSD_V74);
    tdsd_packet_write(&packet, TDSD_PKT_RPC, TDSD_ST_EOM, 0, 1,
                      tdsd_buf_at(&body), n);
    (void)feed_all(&fixture.session, &packet);
    cr_expect(tdsd_buf_len(&fixture.session.out) != 0, "cut at %zu", n);
    tdsd_buf_fini(&packet);
    fixture_fini(&fixture);
  }
  tdsd_buf_fini(&body);
}

Test(session, a_step_ends_behind_a_large_row, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V74);
  batch_packet(&in, TDSD_ST_EOM, fixture.session.state.descriptor,
               "SELECT REPLICATE(CAST('x' AS varchar(max)), 100000) "
               "FROM dbo.rows(64)");
  cr_assert_eq(feed_all(&fixture.session, &in), 0);
  cr_assert(fixture.session.full);
  cr_assert_lt(tdsd_buf_len(&fixture.session.out), 200000);
  fixture_fini(&fixture);
  tdsd_buf_fini(&in);
}
