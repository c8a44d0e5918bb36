/* SPDX-License-Identifier: MIT */
/* Remote procedure calls: what comes back, byte by byte. */
#include <stdio.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "test_support.h"

#define EXECUTESQL "FFFF 0A00 0000"
#define PREPARE    "FFFF 0B00 0000"
#define EXECUTE    "FFFF 0C00 0000"
#define PREPEXEC   "FFFF 0D00 0000"
#define UNPREPARE  "FFFF 0F00 0000"
#define OK         "79 00000000 FE 0000 E000 0000000000000000"
#define NULL_INT   "26 04 00"
#define COLLATION  " 0904D00034 "

static void append(struct tdsd_buf *body, const char *text) {
  hex(body, text);
}

static void send(struct fixture *fixture, struct tdsd_buf *body) {
  fixture_rpc(fixture, body);
  tdsd_buf_clear(body);
}

/* Sends one call whose first parameters are texts. */
static void call(struct fixture *fixture,
                 const char *name,
                 const char *sql,
                 const char *declared,
                 const char *params) {
  struct tdsd_buf body = {0};
  append(&body, name);
  rpc_text(&body, sql);
  if (declared != NULL) {
    rpc_text(&body, declared);
  }
  append(&body, params);
  fixture_rpc(fixture, &body);
  tdsd_buf_fini(&body);
}

/* Prepares SELECT @a AS a with an int parameter. */
static void prepare(struct fixture *fixture) {
  struct tdsd_buf body = {0};
  append(&body, PREPARE "07 \"@handle\" 01 " NULL_INT);
  rpc_text(&body, "@a int");
  rpc_text(&body, "SELECT @a AS a");
  fixture_rpc(fixture, &body);
  tdsd_buf_fini(&body);
}

static void execute(struct fixture *fixture, unsigned handle) {
  struct tdsd_buf body = {0};
  append(&body, EXECUTE "00 00 26 04 04");
  tdsd_buf_u32(&body, handle);
  append(&body, "00 00 26 04 04 2A000000");
  fixture_rpc(fixture, &body);
  tdsd_buf_fini(&body);
}

Test(rpc, an_output_value_has_its_ordinal_name_and_type, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  call(&fixture, EXECUTESQL, "SET @b = @a + 1", "@a int, @b int OUTPUT",
       "00 00 26 04 04 29000000  02\"@b\" 01 26 04 00");
  cr_assert(contains_hex(&fixture.session.out,
                         "79 00000000"
                         "AC 0300 02\"@b\" 01 00000000 0100 26 04 04 2A000000"
                         "FE 0000 E000 0000000000000000"));
  fixture_fini(&fixture);
}

Test(rpc, large_outputs_come_behind_the_small_ones, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  call(&fixture, EXECUTESQL, "SELECT @m = N'ab', @i = 7",
       "@m nvarchar(max) OUTPUT, @i int OUTPUT",
       "02\"@m\" 01 E7 FFFF" COLLATION "FFFFFFFFFFFFFFFF"
       "02\"@i\" 01 26 04 00");
  cr_assert(contains_hex(&fixture.session.out,
                         "AC 0300 02\"@i\" 01 00000000 0100 26 04 04 07000000"
                         "AC 0200 02\"@m\" 01 00000000 0100 E7 FFFF" COLLATION
                         "0400000000000000 04000000 \"ab\" 00000000 FE"));
  fixture_fini(&fixture);
}

Test(rpc, values_take_the_declared_types, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  call(&fixture, EXECUTESQL, "SELECT @s AS s", "@s varchar(2)",
       "00 00 E7 0800" COLLATION "0600 \"abc\"");
  cr_assert(contains_hex(&fixture.session.out,
                         "A7 0200" COLLATION "01\"s\" D1 0200 6162"));
  fixture_fini(&fixture);
}

Test(rpc, names_find_their_parameters_in_any_order, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  call(&fixture, EXECUTESQL, "SELECT @a - @b AS d", "@a int, @b int",
       "02\"@B\" 00 26 04 04 01000000  02\"@a\" 00 26 04 04 03000000");
  cr_assert(contains_hex(&fixture.session.out, "D1 04 02000000"));
  fixture_fini(&fixture);
}

Test(rpc, calls_that_do_not_fit_their_declaration_are_errors, .timeout = 5) {
  static const struct {
    const char *declared;
    const char *params;
    const char *number;
  } cases[] = {
      {"@a int", "", "F21F0000"},                              /* 8178 */
      {"@a int", "02\"@x\" 00 26 04 00", "D11F0000"},          /* 8145 */
      {"@a int", "00 00 26 04 00 00 00 26 04 00", "D01F0000"}, /* 8144 */
      {"@a int", "02\"@a\" 01 26 04 00", "E21F0000"},          /* 8162 */
      {"@a int, @A int", "", "86000000"},                      /* 134 */
      {"@a nosuch", "00 00 26 04 00", "F3000000"},             /* 243 */
      {"@a int @b", "00 00 26 04 00", "66000000"},             /* 102 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    fixture_login(&fixture, TDSD_V74);
    call(&fixture, EXECUTESQL, "SELECT 1", cases[i].declared, cases[i].params);
    cr_expect(contains_hex(&fixture.session.out, cases[i].number), "%s",
              cases[i].declared);
    cr_expect(contains_hex(&fixture.session.out, "FE 0200 E000"), "%s",
              cases[i].declared);
    cr_expect_eq(fixture.session.phase, TDSD_PHASE_READY);
    fixture_fini(&fixture);
  }
}

Test(rpc, several_calls_are_answered_in_order, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  fixture_login(&fixture, TDSD_V74);
  append(&body, EXECUTESQL);
  rpc_text(&body, "SELECT 1");
  append(&body, "FF 0600 \"nosuch\" 0000 FF" EXECUTESQL);
  rpc_text(&body, "SELECT 3");
  send(&fixture, &body);
  cr_assert(contains_hex(&fixture.session.out,
                         "D1 01000000 FF 1100 C100 0100000000000000"
                         "79 00000000 FE 0100 E000 0000000000000000 AA"));
  cr_assert(contains_hex(&fixture.session.out, "FC0A0000")); /* 2812 */
  cr_assert(
      contains_hex(&fixture.session.out, "FE 0300 E000 0000000000000000 81"));
  cr_assert(contains_hex(&fixture.session.out, "D1 03000000 FF 1100 C100 "
                                               "0100000000000000" OK));
  tdsd_buf_fini(&body);
  fixture_fini(&fixture);
}

Test(rpc, a_call_taken_back_is_not_run, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  fixture_login(&fixture, TDSD_V74);
  append(&body, EXECUTESQL);
  rpc_text(&body, "BEGIN TRAN");
  append(&body, "FE" EXECUTESQL);
  rpc_text(&body, "SELECT 3");
  send(&fixture, &body);
  cr_assert_eq(fixture.session.state.tran_count, 0);
  cr_assert(contains_hex(&fixture.session.out,
                         "79 00000000 FE 0100 E000 0000000000000000 81"));
  tdsd_buf_fini(&body);
  fixture_fini(&fixture);
}

Test(rpc, before_7_2_calls_are_parted_by_80, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V71);
  append(&body, "0D00 \"sp_executesql\" 0000");
  append(&body, "00 00 E7 1000" COLLATION "1000 \"SELECT 1\" 80");
  append(&body, "0D00 \"sp_executesql\" 0000");
  append(&body, "00 00 E7 1000" COLLATION "1000 \"SELECT 2\"");
  tdsd_packet_write(&in, TDSD_PKT_RPC, TDSD_ST_EOM, 0, 1, tdsd_buf_at(&body),
                    tdsd_buf_len(&body));
  (void)feed_all(&fixture.session, &in);
  cr_assert(contains_hex(&fixture.session.out, "D1 02000000"));
  tdsd_buf_fini(&body);
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(rpc, a_prepared_statement_runs_until_it_is_dropped, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  fixture_login(&fixture, TDSD_V74);
  prepare(&fixture);
  cr_assert(contains_hex(&fixture.session.out,
                         "AC 0000 07\"@handle\" 01 00000000 0100 26 04 04 "
                         "01000000 FE 0000 E000"));
  execute(&fixture, 1);
  cr_assert(contains_hex(&fixture.session.out, "D1 04 2A000000 FF 1100 C100"));
  append(&body, UNPREPARE "00 00 26 04 04 01000000");
  send(&fixture, &body);
  cr_assert(contains_hex(&fixture.session.out, OK));
  execute(&fixture, 1);
  cr_assert(contains_hex(&fixture.session.out, "F31F0000 01 10")); /* 8179 */
  tdsd_buf_fini(&body);
  fixture_fini(&fixture);
}

Test(rpc, prepexec_runs_and_replaces_an_old_handle, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  fixture_login(&fixture, TDSD_V74);
  prepare(&fixture);
  append(&body, PREPEXEC "00 01 26 04 04 01000000");
  rpc_text(&body, "@a int");
  rpc_text(&body, "SELECT @a + 1 AS a");
  append(&body, "00 00 26 04 04 29000000");
  send(&fixture, &body);
  cr_assert(contains_hex(&fixture.session.out, "D1 04 2A000000"));
  cr_assert(contains_hex(&fixture.session.out,
                         "AC 0000 00 01 00000000 0100 26 04 04 02000000"));
  execute(&fixture, 1);
  cr_assert(contains_hex(&fixture.session.out, "F31F0000"));
  tdsd_buf_fini(&body);
  fixture_fini(&fixture);
}

Test(rpc, prepexec_minds_no_old_handle_that_is_not_there, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  fixture_login(&fixture, TDSD_V74);
  append(&body, PREPEXEC "00 01 26 04 04 FFFFFFFF");
  rpc_text(&body, "@a int");
  rpc_text(&body, "SELECT @a + 1 AS a");
  append(&body, "00 00 26 04 04 29000000");
  send(&fixture, &body);
  cr_assert(contains_hex(&fixture.session.out, "D1 04 2A000000"));
  cr_assert(contains_hex(&fixture.session.out,
                         "AC 0000 00 01 00000000 0100 26 04 04 01000000"));
  tdsd_buf_fini(&body);
  fixture_fini(&fixture);
}

Test(rpc, odbc_prepares_with_ntext, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  fixture_login(&fixture, TDSD_V74);
  append(&body, PREPEXEC "00 01 " NULL_INT);
  append(&body, "00 00 63 0C000000" COLLATION "0C000000 \"@a int\"");
  append(&body, "00 00 63 14000000" COLLATION "12000000 \"SELECT @a\"");
  append(&body, "00 00 26 04 04 07000000");
  send(&fixture, &body);
  cr_assert(contains_hex(&fixture.session.out, "D1 04 07000000"), "%s",
            fixture.log);
  tdsd_buf_fini(&body);
  fixture_fini(&fixture);
}

Test(rpc, a_reset_drops_handles_and_starts_them_again, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V74);
  prepare(&fixture);
  batch_packet(&in, TDSD_ST_EOM | TDSD_ST_RESET, 0, "SELECT 1");
  (void)feed_all(&fixture.session, &in);
  execute(&fixture, 1);
  cr_assert(contains_hex(&fixture.session.out, "F31F0000"));
  prepare(&fixture);
  cr_assert(contains_hex(&fixture.session.out, "26 04 04 01000000"));
  fixture.shared.manners.handles_go_on = true;
  (void)feed_all(&fixture.session, &in);
  prepare(&fixture);
  cr_assert(contains_hex(&fixture.session.out, "26 04 04 02000000"));
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(rpc, what_is_not_served_is_named, .timeout = 5) {
  static const struct {
    const char *call;
    const char *number;
  } cases[] = {
      {"FFFF 0200 0000", "29420000"},                    /* cursors: 16937 */
      {"1300 \"sp_reset_connection\" 0000", "FC0A0000"}, /* 2812 */
      {"FFFF 0A00 0000 00 00 F3 00 00 00 0000", "409C0000"}, /* a table */
      {"FFFF 0A00 0000 00 00 F0 00 00 00", "409C0000"},      /* a CLR type */
      {"FFFF 0A00 0000 "
       "00 00 26 04 00",
       "D6000000"}, /* 214 */
      {"FFFF 0E00 0000", "409C0000"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    struct tdsd_buf body = {0};
    fixture_login(&fixture, TDSD_V74);
    append(&body, cases[i].call);
    send(&fixture, &body);
    cr_expect(contains_hex(&fixture.session.out, cases[i].number), "%s",
              cases[i].call);
    cr_expect_eq(fixture.session.phase, TDSD_PHASE_READY, "%s", cases[i].call);
    tdsd_buf_fini(&body);
    fixture_fini(&fixture);
  }
}

Test(rpc, catalogue_procedures_have_their_columns, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf body = {0};
  fixture_login(&fixture, TDSD_V74);
  append(&body,
         "1800 \"sys.sp_datatype_info_100\" 0000 00 00 26 04 04 0C000000");
  tdsd_buf_put_u16(&body, 0, 24);
  send(&fixture, &body);
  cr_assert(contains_hex(&fixture.session.out, "81 1400"), "%s", fixture.log);
  cr_assert(contains_hex(&fixture.session.out, OK));
  fixture_batch(&fixture, "EXEC sp_datatype_info_100 -9, 3");
  cr_assert(contains_hex(&fixture.session.out, "81 1400"));
  cr_assert(contains_hex(&fixture.session.out, OK));
  /* nvarchar is number -9 and has up to 4000 characters. */
  cr_assert(contains_hex(&fixture.session.out, "02 F7FF 04 A00F0000"));
  tdsd_buf_fini(&body);
  fixture_fini(&fixture);
}

Test(rpc, a_batch_may_begin_with_a_procedure, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "sp_datatype_info_100 93,3");
  cr_assert(contains_hex(&fixture.session.out, "02 5D00 04 1B000000"));
  fixture_batch(&fixture, "[nosuch]");
  cr_assert(contains_hex(&fixture.session.out, "FC0A0000")); /* 2812 */
  fixture_batch(&fixture, "SELECT 1 nosuch 2");
  cr_assert(contains_hex(&fixture.session.out, "66000000")); /* 102 */
  fixture_fini(&fixture);
}

Test(rpc, exec_in_a_batch_does_the_same, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "DECLARE @b int, @rc int; "
                "EXEC @rc = sp_executesql N'SET @y = @x * 2 SELECT 5', "
                "N'@x int, @y int OUTPUT', @x = 21, @y = @b OUTPUT; "
                "SELECT @b AS b, @rc AS rc");
  cr_assert(contains_hex(&fixture.session.out,
                         "D1 05000000 FF 1100 C100 0100000000000000"
                         "79 00000000 FE 0100 E000 0000000000000000 81"));
  cr_assert(contains_hex(&fixture.session.out, "D1 04 2A000000 04 00000000"));
  fixture_fini(&fixture);
}

Test(rpc, exec_of_a_text_is_no_procedure, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "EXEC ('SELECT ' + '7')");
  cr_assert(contains_hex(&fixture.session.out,
                         "D1 07000000 FD 1000 C100 0100000000000000"));
  fixture_fini(&fixture);
}

Test(rpc, texts_nest_up_to_a_limit, .timeout = 5) {
  struct fixture fixture;
  char sql[128] = "SELECT 1";
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "DECLARE @s nvarchar(max) = N'EXEC sp_executesql @s, N''@s "
                "nvarchar(max)'', @s'; "
                "EXEC sp_executesql @s, N'@s nvarchar(max)', @s");
  cr_assert(contains_hex(&fixture.session.out, "D9000000 01 10")); /* 217 */
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY);
  fixture_batch(&fixture, sql);
  cr_assert(contains_hex(&fixture.session.out, "D1 01000000"));
  fixture_fini(&fixture);
}

Test(rpc, an_attention_ends_a_nested_wait, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V74);
  call(&fixture, EXECUTESQL, "EXEC ('WAITFOR DELAY ''00:00:10''')", NULL, "");
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_RUNNING);
  cr_assert_eq(fixture.session.wake_ns, UINT64_C(10000001000));
  hex(&in, "06 01 0008 0000 01 00");
  (void)feed_all(&fixture.session, &in);
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY);
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(rpc, a_variant_goes_there_and_back, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  call(&fixture, EXECUTESQL, "SET @b = @a",
       "@a sql_variant, @b sql_variant OUT",
       "00 00 62 491F0000 0B000000 A7 07 0904D00034 0200 6162"
       "02\"@b\" 01 62 491F0000 00000000");
  cr_assert(contains_hex(&fixture.session.out,
                         "AC 0300 02\"@b\" 01 00000000 0100 62 491F0000 "
                         "0B000000 A7 07 0904D00034 0200 6162 FE"),
            "%s", fixture.log);
  fixture_fini(&fixture);
}

Test(rpc, xml_comes_with_or_without_its_mark, .timeout = 5) {
  static const char *const cases[] = {
      "00 00 F1 00 0800000000000000 08000000 \"<a/>\" 00000000",
      "00 00 F1 00 FEFFFFFFFFFFFFFF 03000000 FFFE3C 07000000 "
      "00 6100 2F00 3E00 00000000",
      "00 00 F1 01 01\"d\" 01\"o\" 0100\"c\" "
      "0800000000000000 08000000 \"<a/>\" 00000000",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    fixture_login(&fixture, TDSD_V74);
    call(&fixture, EXECUTESQL, "SELECT @x AS x", "@x xml", cases[i]);
    cr_expect(contains_hex(&fixture.session.out,
                           "F1 00 01\"x\" D1 0800000000000000 08000000 "
                           "\"<a/>\" 00000000"),
              "%zu: %s", i, fixture.log);
    fixture_fini(&fixture);
  }
}

Test(rpc, text_is_read_in_its_code_page, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  call(&fixture, EXECUTESQL, "SELECT @a AS a, @b AS b",
       "@a nvarchar(4), @b nvarchar(4)",
       "00 00 A7 0400 1504D00000 0100 BF 00 00 A7 0400 0904D02400 0200 C5BC");
  cr_assert(contains_hex(&fixture.session.out, "D1 0200 7C01 0200 7C01"));
  fixture_fini(&fixture);
}

Test(rpc, old_blobs_are_parameters_and_outputs, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  call(&fixture, EXECUTESQL, "SELECT @a AS a, @b AS b", "@a text, @b image",
       "00 00 23 02000000" COLLATION
       "02000000 6162 00 00 22 02000000 FFFFFFFF");
  cr_assert(contains_hex(
      &fixture.session.out,
      "D2 02 10 000000000000000000000000000000000000000000000000 02000000 "
      "6162 FF"));
  fixture_fini(&fixture);
}
