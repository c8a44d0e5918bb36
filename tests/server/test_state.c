/* SPDX-License-Identifier: MIT */
/* What a session remembers, what a reset takes away, and what is told of it. */
#include <stdio.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "test_support.h"

/* A SELECT of one int: its row. */
#define INT_ROW(hex) "D1 04 " hex

static void reset(struct fixture *fixture, const char *sql) {
  struct tdsd_buf in = {0};
  tdsd_buf_clear(&fixture->session.out);
  batch_packet(&in, TDSD_ST_EOM | TDSD_ST_RESET,
               fixture->session.state.descriptor, sql);
  (void)feed_all(&fixture->session, &in);
  tdsd_buf_fini(&in);
}

/* Runs first, then wants a reply that holds these bytes. */
struct expectation {
  const char *sql;
  const char *holds;
};

static void check(const struct expectation *cases, size_t n) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  for (size_t i = 0; i < n; i++) {
    fixture_batch(&fixture, cases[i].sql);
    cr_expect(contains_hex(&fixture.session.out, cases[i].holds), "%zu: %s", i,
              cases[i].sql);
  }
  fixture_fini(&fixture);
}

#define CHECK(cases) check(cases, sizeof cases / sizeof cases[0])

Test(state, options_are_told_in_options, .timeout = 5) {
  static const struct expectation cases[] = {
      {"SELECT @@OPTIONS", INT_ROW("38150000")}, /* 5432, as ODBC has it */
      {"SET ARITHABORT ON SELECT @@OPTIONS", INT_ROW("78150000")},
      {"SET ANSI_NULLS OFF SELECT @@OPTIONS", INT_ROW("58150000")},
      {"SELECT SESSIONPROPERTY('ARITHABORT')", INT_ROW("01000000")},
      {"SELECT SESSIONPROPERTY('ANSI_NULLS')", INT_ROW("00000000")},
      {"SELECT SESSIONPROPERTY('nosuch')", "D2 01"},
      {"SET ANSI_DEFAULTS OFF SELECT @@OPTIONS", INT_ROW("40100000")},
      {"SET NOSUCH ON", "C3000000 01 0F"}, /* 195 */
  };
  CHECK(cases);
}

Test(state, numbers_and_names_are_remembered, .timeout = 5) {
  static const struct expectation cases[] = {
      {"SET TEXTSIZE 100 SELECT @@TEXTSIZE", INT_ROW("64000000")},
      {"SET TEXTSIZE -1 SELECT @@TEXTSIZE", INT_ROW("FFFFFF7F")},
      {"SET DATEFIRST 1 SELECT @@DATEFIRST", "D1 01 01"},
      {"SET LOCK_TIMEOUT 1500 SELECT @@LOCK_TIMEOUT", INT_ROW("DC050000")},
      {"SET LANGUAGE Deutsch SELECT @@LANGUAGE", "D1 0E00 \"Deutsch\""},
      {"SELECT DB_ID()", "D1 02 0100"},
      {"SELECT DB_NAME(2)", "D1 0C00 \"tempdb\""},
      {"SELECT DB_ID('nosuch')", "D2 01"},
      {"SELECT SUSER_SNAME()", "D1 0400 \"sa\""},
      {"SELECT SYSTEM_USER", "D1 0400 \"sa\""},
      {"SET NOCOUNT ON SELECT 1", "FD 0000 C100 0100000000000000"},
      {"SET FMTONLY ON SELECT 1 AS a", "01\"a\" FD 0000 C100 0000"},
  };
  CHECK(cases);
}

Test(state, the_isolation_level_is_seen, .timeout = 5) {
  static const struct expectation cases[] = {
      {"SET TRANSACTION ISOLATION LEVEL SNAPSHOT SELECT "
       "transaction_isolation_level FROM sys.dm_exec_sessions WHERE "
       "session_id = @@SPID",
       "D1 02 0500 FD 1000 C100 0100000000000000"},
      {"DBCC USEROPTIONS", "1E00 \"isolation level\" 1000 \"snapshot\""},
      {"DBCC USEROPTIONS", "1400 \"ansi_nulls\" 0600 \"SET\""},
      {"DBCC NOSUCH", "DE090000 01 10"}, /* 2526 */
  };
  CHECK(cases);
}

Test(state, a_reset_may_restore_the_isolation_level_too, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture.shared.manners.isolation_resets = true;
  fixture_batch(&fixture, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE");
  reset(&fixture, "SELECT 1");
  cr_assert_eq(fixture.session.state.isolation, 2);
  fixture_fini(&fixture);
}

Test(state, temporary_tables_exist_until_they_are_dropped, .timeout = 5) {
  static const struct expectation cases[] = {
      {"SELECT * FROM #t", "D0000000 01 10"}, /* 208 */
      {"CREATE TABLE #t (a int NOT NULL, b nvarchar(5), PRIMARY KEY (a))",
       "FD 0000 C600"},
      {"CREATE TABLE #t (a int)", "9A0A0000 01 10"}, /* 2714 */
      {"SELECT * FROM #t",
       "81 0200 00000000 2100 26 04 01\"a\" 00000000 2100 "
       "E7 0A00 0904D00034 01\"b\" FD 1000 C100 0000000000000000"},
      {"SELECT OBJECT_ID('tempdb..#t')", INT_ROW("FFFFFFFF")},
      {"INSERT INTO #t VALUES (1)", "409C0000 01 10"},
      {"DROP TABLE #t", "FD 0000 C700"},
      {"DROP TABLE #t", "750E0000 01 0B"}, /* 3701 */
      {"DROP TABLE IF EXISTS #t", "FD 0000 C700"},
      {"SELECT OBJECT_ID('tempdb..#t')", "D2 01"},
      {"SELECT 1 AS x INTO #s", "FD 1000 C100 0100000000000000"},
      {"SELECT x FROM #s", "01\"x\" FD 1000 C100 0000000000000000"},
      {"CREATE TABLE t (a int)", "06010000 01 0E"}, /* 262 */
      {"CREATE TABLE #u (a nosuch)", "F3000000"},
  };
  CHECK(cases);
}

Test(state, session_context_is_kept, .timeout = 5) {
  static const struct expectation cases[] = {
      {"SELECT SESSION_CONTEXT(N'k')", "D2 01"},
      {"EXEC sp_set_session_context N'k', N'v'", "FE 0000 E000"},
      {"SELECT SESSION_CONTEXT(N'K')", "\"v\""},
      {"EXEC sp_set_session_context @key = 'r', @value = 7, @read_only = 1",
       "FE 0000 E000"},
      {"EXEC sp_set_session_context 'r', 8", "303D0000 01 10"}, /* 15664 */
      {"EXEC sp_set_session_context 'k', NULL SELECT SESSION_CONTEXT(N'k')",
       "D2 01"},
      {"EXEC sp_set_session_context", "C9000000 01 10"}, /* 201 */
      {"SET CONTEXT_INFO 0x0102 SELECT CONTEXT_INFO()", "D1 8000 010200"},
  };
  CHECK(cases);
}

Test(state, a_reset_takes_everything_away, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_state *state = &fixture.session.state;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "CREATE TABLE #t (a int) SET CONTEXT_INFO 0x01 "
                "SET DATEFIRST 1 EXEC sp_set_session_context 'k', 'v'");
  reset(&fixture, "SELECT SESSION_CONTEXT('k') SELECT * FROM #t");
  cr_assert(contains_hex(&fixture.session.out, "E3 0300 12 00 00 81"));
  cr_assert(contains_hex(&fixture.session.out, "D0000000 01 10"));
  cr_assert_eq(state->temps.n, 0);
  cr_assert_null(state->context.first);
  cr_assert_not(state->has_context_info);
  fixture_batch(&fixture, "SELECT @@DATEFIRST, CONTEXT_INFO(), "
                          "CONNECTIONPROPERTY('sp_reset_connection_count')");
  cr_assert(contains_hex(&fixture.session.out, "D2 02 01 07 0200 \"1\""));
  fixture_fini(&fixture);
}

Test(state, a_session_that_acts_as_another_cannot_be_reset, .timeout = 5) {
  static const char *const cases[] = {"EXECUTE AS LOGIN = 'bob'",
                                      "EXEC sp_setapprole 'role', 'secret'"};
  for (size_t i = 0; i < 2; i++) {
    struct fixture fixture;
    fixture_login(&fixture, TDSD_V74);
    fixture_batch(&fixture, cases[i]);
    reset(&fixture, "SELECT 1");
    cr_expect(contains_hex(&fixture.session.out, "8B460000 01 14")); /* 18059 */
    cr_expect_not(contains_hex(&fixture.session.out, "E3 0300 12"));
    cr_expect_eq(fixture.session.phase, TDSD_PHASE_ENDED);
    fixture_fini(&fixture);
  }
}

Test(state, who_it_acts_as_is_told_and_reverted, .timeout = 5) {
  static const struct expectation cases[] = {
      {"EXECUTE AS USER = N'bob' SELECT SUSER_SNAME(), ORIGINAL_LOGIN()",
       "D1 0600 \"bob\" 0400 \"sa\""},
      {"EXECUTE AS USER = 'eve' SELECT USER_NAME()", "D1 0600 \"eve\""},
      {"REVERT SELECT SUSER_SNAME()", "D1 0600 \"bob\""},
      {"REVERT SELECT SUSER_SNAME()", "D1 0400 \"sa\""},
      {"DECLARE @c varbinary(100) EXEC sp_setapprole 'r', 'p', 'none', 1, @c "
       "OUTPUT SELECT CURRENT_USER EXEC sp_unsetapprole @c",
       "D1 0200 \"r\""},
      {"SELECT CURRENT_USER", "D1 0600 \"dbo\""},
      {"EXEC sp_unsetapprole 0x", "E83C0000 01 10"}, /* 15592 */
  };
  CHECK(cases);
}

Test(state, savepoints_and_names_of_transactions_count, .timeout = 5) {
  static const struct expectation cases[] = {
      {"SAVE TRAN a", "74020000 01 10"}, /* 628 */
      {"BEGIN TRAN whole SAVE TRAN a ROLLBACK TRAN a SELECT @@TRANCOUNT",
       INT_ROW("01000000")},
      {"ROLLBACK TRAN nosuch", "01190000 01 10"}, /* 6401 */
      {"ROLLBACK TRAN whole SELECT @@TRANCOUNT", INT_ROW("00000000")},
      {"DECLARE @n varchar(10) = 'p' BEGIN TRAN SAVE TRAN @n ROLLBACK TRAN p "
       "SELECT @@TRANCOUNT ROLLBACK",
       INT_ROW("01000000")},
  };
  CHECK(cases);
}

Test(state, a_catch_sees_the_error, .timeout = 5) {
  static const struct expectation cases[] = {
      {"BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT ERROR_NUMBER(), "
       "ERROR_SEVERITY(), ERROR_STATE() END CATCH",
       "D1 04 C61F0000 04 10000000 04 01000000"},
      {"BEGIN TRY RAISERROR('a%s', 16, 3, 'b') END TRY BEGIN CATCH SELECT "
       "ERROR_MESSAGE() END CATCH",
       "\"ab\""},
      {"BEGIN TRY THROW 50001, 'x', 1 END TRY BEGIN CATCH PRINT 'c'; THROW "
       "END CATCH",
       "51C30000 01 10"},
      {"BEGIN TRY EXEC ('SELECT 1/0') END TRY BEGIN CATCH SELECT "
       "ERROR_NUMBER() END CATCH SELECT ERROR_NUMBER()",
       "D1 04 C61F0000"},
      {"BEGIN TRY BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH RAISERROR('y', 16, "
       "1) END CATCH END TRY BEGIN CATCH SELECT ERROR_NUMBER() END CATCH",
       "D1 04 50C30000"},
      {"DECLARE @i int = 0 WHILE @i < 9 BEGIN SET @i = @i + 1 BEGIN TRY IF @i "
       "= 3 BREAK END TRY BEGIN CATCH PRINT '' END CATCH CONTINUE END SELECT "
       "@i",
       INT_ROW("03000000")},
      {"BEGIN TRY SELECT 1 END TRY BEGIN CATCH END CATCH SELECT 7",
       "D1 07000000"},
      {"THROW", "D0290000 01 0F"}, /* 10704 */
  };
  CHECK(cases);
}

Test(state, a_doomed_transaction_can_only_be_rolled_back, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "SET XACT_ABORT ON BEGIN TRAN BEGIN TRY SELECT 1/0 END TRY "
                "BEGIN CATCH SELECT XACT_STATE() COMMIT END CATCH");
  cr_assert(contains_hex(&fixture.session.out, "D1 02 FFFF"));
  cr_assert(contains_hex(&fixture.session.out, "5A0F0000 01 10")); /* 3930 */
  cr_assert_eq(fixture.session.state.tran_count, 0);
  fixture_batch(&fixture,
                "BEGIN TRAN BEGIN TRY SELECT 1/0 END TRY BEGIN CATCH SELECT 5 "
                "END CATCH");
  cr_assert(contains_hex(&fixture.session.out, "9E0F0000 01 10")); /* 3998 */
  cr_assert(contains_hex(&fixture.session.out, "E3 0B00 0A 00 08"));
  cr_assert_eq(fixture.session.state.tran_count, 0);
  fixture_fini(&fixture);
}

Test(state, every_error_class_can_be_had, .timeout = 5) {
  for (unsigned class = 0; class <= 25; class ++) {
    struct fixture fixture;
    char sql[64];
    char wanted[32];
    fixture_login(&fixture, TDSD_V74);
    (void)snprintf(sql, sizeof sql, "RAISERROR('x', %u, 1) WITH LOG", class);
    (void)snprintf(wanted, sizeof wanted, "50C30000 01 %02X", class);
    fixture_batch(&fixture, sql);
    cr_expect(contains_hex(&fixture.session.out, wanted), "%s", sql);
    cr_expect_eq(fixture.session.phase == TDSD_PHASE_ENDED, class >= 20, "%s",
                 sql);
    fixture_fini(&fixture);
  }
}

Test(state, sessions_see_one_another, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_session other;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V74);
  tdsd_session_init(&other, &fixture.shared, 60);
  prelogin_packet(&in, TDSD_ENC_NOT_SUP);
  login_packet(&in, TDSD_V74, 4096);
  (void)feed_all(&other, &in);
  fixture_batch(&fixture, "SELECT session_id FROM sys.dm_exec_sessions");
  cr_assert(contains_hex(&fixture.session.out, "D1 02 3C00 D1 02 3300"));
  tdsd_session_fini(&other);
  fixture_batch(&fixture, "SELECT session_id FROM sys.dm_exec_sessions");
  cr_assert_not(contains_hex(&fixture.session.out, "D1 02 3C00"));
  fixture_batch(&fixture, "KILL 51");
  cr_assert(contains_hex(&fixture.session.out, "D8170000 01 10")); /* 6104 */
  fixture_batch(&fixture, "KILL 60");
  cr_assert(contains_hex(&fixture.session.out, "DA170000 01 10")); /* 6106 */
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}
