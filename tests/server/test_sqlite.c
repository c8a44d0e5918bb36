/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "test_sqlite_support.h"

static struct tdsd_lite *lite;
static struct lite_client client;

static void open_lite(void) {
  char why[256] = "";
  lite = tdsd_lite_open(":memory:", why, sizeof why);
  cr_assert_not_null(lite, "%s", why);
  lite_login(&client, lite);
}

static void close_lite(void) {
  lite_logout(&client);
  tdsd_lite_close(lite);
}

TestSuite(sqlite, .init = open_lite, .fini = close_lite, .timeout = 30);

static void run(const char *sql) {
  cr_assert(lite_batch(&client, sql), "%s did not end", sql);
}

static void expect_error(const char *sql, int32_t number) {
  run(sql);
  cr_expect(lite_has_message(&client, number), "%s: no message %d", sql,
            (int)number);
}

static void expect_rows(const char *sql, uint64_t rows) {
  run(sql);
  cr_expect(lite_has_rows(&client, rows), "%s: no DONE with %llu rows", sql,
            (unsigned long long)rows);
}

static void make_table(void) {
  run("CREATE TABLE t (id int IDENTITY PRIMARY KEY, name nvarchar(10) NOT "
      "NULL, qty int CHECK (qty >= 0), price decimal(10,2), CONSTRAINT uq "
      "UNIQUE (name))");
  run("INSERT t (name, qty, price) VALUES (N'one', 1, 1.5), (N'two', 2, 2.25)");
}

Test(sqlite, rows_come_back_as_they_went_in) {
  make_table();
  expect_rows("SELECT name, price FROM t", 2);
  cr_expect(lite_has_text(&client, "one"));
  cr_expect(lite_has_text(&client, "two"));
  expect_rows("SELECT id FROM t WHERE price = 2.25", 1);
}

Test(sqlite, changes_are_counted) {
  make_table();
  expect_rows("UPDATE t SET qty = qty + 1", 2);
  expect_rows("DELETE t WHERE qty > 2", 1);
  expect_rows("INSERT t (name) SELECT N'x' + CAST(n AS nvarchar(5)) FROM "
              "dbo.rows(7)",
              7);
}

Test(sqlite, constraints_have_the_numbers_of_sql_server) {
  make_table();
  expect_error("INSERT t (name) VALUES ('one')", 2627);
  cr_expect(lite_has_message(&client, 3621));
  cr_expect(lite_has_text(&client, "Violation of UNIQUE KEY constraint 'uq'"));
  expect_error("INSERT t (name) VALUES (NULL)", 515);
  expect_error("INSERT t (name, qty) VALUES ('z', -1)", 547);
  expect_error("INSERT t (name) VALUES ('longer than ten')", 2628);
  run("CREATE UNIQUE INDEX ux ON t (qty)");
  expect_error("INSERT t (name, qty) VALUES ('z', 1)", 2601);
  expect_error("CREATE TABLE t (a int)", 2714);
}

Test(sqlite, a_statement_that_fails_leaves_no_row) {
  make_table();
  expect_error("INSERT t (name) VALUES ('three'), ('one')", 2627);
  expect_rows("SELECT id FROM t", 2);
}

Test(sqlite, names_that_do_not_exist_are_errors) {
  make_table();
  expect_error("SELECT * FROM nosuch", 208);
  expect_error("SELECT nosuch FROM t", 207);
  expect_error("SELECT FROM t", 156);
}

Test(sqlite, a_syntax_error_keeps_the_whole_batch_from_running) {
  make_table();
  expect_error("DELETE t; SELECT id FROM t WHERE", 102);
  expect_rows("SELECT id FROM t", 2);
}

Test(sqlite, arithmetic_fails_as_in_tsql) {
  make_table();
  expect_error("SELECT 1 / (qty - 1) FROM t", 8134);
  expect_error("SELECT qty + 2147483647 FROM t", 8115);
  expect_error("SELECT CAST(name AS int) FROM t", 245);
  expect_error("SELECT id FROM t WHERE id = (SELECT id FROM t)", 512);
}

Test(sqlite, comparison_of_exact_numbers_is_exact) {
  run("CREATE TABLE d (v decimal(38,10))");
  run("INSERT d VALUES (9.5), (10), (100000000000000000000000000.0000000001), "
      "(100000000000000000000000000.0000000002)");
  expect_rows("SELECT v FROM d WHERE v > 9.75", 3);
  expect_rows("SELECT v FROM d WHERE v = "
              "100000000000000000000000000.0000000001",
              1);
}

Test(sqlite, sums_and_averages_are_exact) {
  run("CREATE TABLE d (a decimal(20,4), i int, m money, f float)");
  run("INSERT d VALUES (0.1, 1, 1.0001, 0.5), (0.2, 2, 2, 1.5), (-0.05, -9, "
      "-0.5, NULL), (NULL, NULL, NULL, NULL)");
  expect_rows("SELECT s FROM (SELECT SUM(a) AS s, AVG(i) AS i, SUM(m) AS m, "
              "AVG(f) AS f FROM d) AS x WHERE s = 0.25 AND i = -2 AND m = "
              "2.5001 AND f = 1",
              1);
  expect_rows(
      "SELECT r FROM (SELECT SUM(i) OVER (ORDER BY a ROWS BETWEEN 1 "
      "PRECEDING AND CURRENT ROW) AS r FROM d WHERE i IS NOT NULL) AS x "
      "WHERE r IN (-9, -8, 3)",
      3);
  run("INSERT d (i) VALUES (2147483647)");
  run("INSERT d (i) VALUES (2147483647)");
  expect_error("SELECT SUM(i) FROM d", 8115);
}

Test(sqlite, texts_are_compared_without_case_and_blanks_at_the_end) {
  make_table();
  expect_rows("SELECT id FROM t WHERE name = 'ONE  '", 1);
  expect_rows("SELECT id FROM t WHERE name LIKE 'T[a-z]_'", 1);
}

Test(sqlite, variables_go_in_and_come_out) {
  make_table();
  expect_rows("DECLARE @n int = 2, @s nvarchar(10); SELECT @s = name FROM t "
              "WHERE id = @n; SELECT @s AS s WHERE @s = N'two'",
              1);
  cr_expect(lite_has_text(&client, "two"));
}

Test(sqlite, control_flow_and_tables_mix) {
  make_table();
  run("DECLARE @i int = 0 WHILE @i < 3 BEGIN INSERT t (name) VALUES (N'n' + "
      "CAST(@i AS nvarchar(3))) SET @i = @i + 1 END IF @@ROWCOUNT = 99 DELETE "
      "t ELSE UPDATE t SET qty = 7 WHERE name = 'n2'");
  expect_rows("SELECT id FROM t WHERE qty = 7", 1);
  expect_rows("SELECT id FROM t", 5);
}

Test(sqlite, conditions_and_values_may_have_queries) {
  make_table();
  expect_rows(
      "DECLARE @n int = (SELECT COUNT(*) FROM t), @m int SET @m = "
      "(SELECT MAX(id) FROM t WHERE id > 99) IF EXISTS (SELECT 1 FROM t "
      "WHERE qty = 2) AND @n = 2 AND @m IS NULL SELECT id FROM t ELSE "
      "SELECT TOP 1 id FROM t",
      2);
  run("WHILE (SELECT COUNT(*) FROM t) < 6 INSERT t (name) VALUES "
      "(LEFT(CAST(NEWID() AS nvarchar(36)), 10))");
  expect_rows("SELECT id FROM t", 6);
  expect_error("IF (SELECT id FROM t) = 1 PRINT 'x'", 512);
}

Test(sqlite, an_error_is_caught) {
  make_table();
  run("BEGIN TRY INSERT t (name) VALUES ('one') END TRY BEGIN CATCH PRINT "
      "'caught ' + CAST(ERROR_NUMBER() AS varchar(9)) END CATCH");
  cr_expect(lite_has_text(&client, "caught 2627"));
}

Test(sqlite, a_rollback_takes_everything_back) {
  make_table();
  run("BEGIN TRAN; DELETE t");
  expect_rows("SELECT id FROM t", 0);
  run("ROLLBACK");
  expect_rows("SELECT id FROM t", 2);
}

Test(sqlite, a_savepoint_takes_back_what_came_after_it) {
  make_table();
  run("BEGIN TRAN; DELETE t WHERE id = 1; SAVE TRAN s; DELETE t; ROLLBACK TRAN "
      "s; COMMIT");
  expect_rows("SELECT id FROM t", 1);
}

Test(sqlite, identity_values_are_told) {
  make_table();
  expect_rows("INSERT t (name) VALUES ('three'); SELECT 1 WHERE @@IDENTITY = 3 "
              "AND SCOPE_IDENTITY() = 3",
              1);
  expect_error("INSERT t (id, name) VALUES (9, 'nine')", 544);
  expect_rows(
      "SET IDENTITY_INSERT t ON; INSERT t (id, name) VALUES (9, 'nine')", 1);
}

Test(sqlite, a_reset_takes_temporary_tables_and_the_transaction) {
  make_table();
  run("CREATE TABLE #x (a int)");
  run("BEGIN TRAN; DELETE t");
  lite_send_reset(&client, TDSD_ST_RESET, "SELECT id FROM t");
  struct lite_client *all[] = {&client};
  while (client.fixture.session.phase == TDSD_PHASE_RUNNING) {
    lite_turn(all, 1);
  }
  cr_expect(lite_has_rows(&client, 2));
  expect_error("SELECT a FROM #x", 208);
}

Test(sqlite, temporary_tables_are_the_sessions_own) {
  struct lite_client other;
  lite_login(&other, lite);
  run("CREATE TABLE #x (a int)");
  cr_assert(lite_batch(&other, "SELECT a FROM #x"));
  cr_expect(lite_has_message(&other, 208));
  lite_logout(&other);
}

Test(sqlite, a_commit_is_seen_by_others_and_nothing_before_it) {
  struct lite_client other;
  make_table();
  lite_login(&other, lite);
  run("BEGIN TRAN; DELETE t");
  cr_assert(lite_batch(&other, "SELECT id FROM t"));
  cr_expect(lite_has_rows(&other, 2));
  run("COMMIT");
  cr_assert(lite_batch(&other, "SELECT id FROM t"));
  cr_expect(lite_has_rows(&other, 0));
  lite_logout(&other);
}

Test(sqlite, a_lock_that_does_not_come_is_error_1222) {
  struct lite_client other;
  make_table();
  lite_login(&other, lite);
  run("BEGIN TRAN; UPDATE t SET qty = 5 WHERE id = 1");
  cr_assert(lite_batch(&other,
                       "SET LOCK_TIMEOUT 20; UPDATE t SET qty = 6 WHERE "
                       "id = 2"));
  cr_expect(lite_has_message(&other, 1222));
  run("COMMIT");
  cr_assert(lite_batch(&other, "UPDATE t SET qty = 6 WHERE id = 2"));
  cr_expect(lite_has_rows(&other, 1));
  lite_logout(&other);
}

Test(sqlite, a_stale_snapshot_is_error_1205) {
  struct lite_client other;
  make_table();
  lite_login(&other, lite);
  run("BEGIN TRAN; SELECT id FROM t");
  cr_assert(lite_batch(&other, "UPDATE t SET qty = 6 WHERE id = 2"));
  expect_error("UPDATE t SET qty = 5 WHERE id = 1", 1205);
  cr_expect_eq(client.fixture.session.state.tran_count, 0);
  lite_logout(&other);
}

Test(sqlite, an_attention_stops_an_endless_query) {
  lite_send(&client, "WITH c (n) AS (SELECT 1 UNION ALL SELECT n % 5 + 1 FROM "
                     "c) SELECT COUNT(*) FROM c");
  struct lite_client *all[] = {&client};
  lite_turn(all, 1);
  cr_assert_eq(client.fixture.session.phase, TDSD_PHASE_RUNNING);
  lite_attention(&client);
  cr_expect_eq(client.fixture.session.phase, TDSD_PHASE_READY);
  make_table();
  expect_rows("SELECT id FROM t", 2);
}

/* What workers bring is handed on once and not asked for again. */
static void ready_once(void *user, struct tdsd_state *state) {
  (void)user;
  tdsd_session_wake(
      (void *)((char *)state - offsetof(struct tdsd_session, state)), 1);
}

Test(sqlite, an_attention_waits_for_a_commit_under_way) {
  struct lite_client other;
  struct lite_client *all[] = {&client};
  make_table();
  lite_login(&other, lite);
  run("BEGIN TRAN; DELETE t");
  lite_send(&client, "COMMIT");
  lite_attention(&client);
  cr_expect_eq(client.fixture.session.phase, TDSD_PHASE_RUNNING);
  while (client.fixture.session.phase == TDSD_PHASE_RUNNING) {
    lite_turn(all, 1);
  }
  cr_expect_eq(client.fixture.session.state.tran_count, 0);
  cr_expect(contains_hex(&client.fixture.session.out, "FD 2000"));
  cr_assert(lite_batch(&other, "SELECT id FROM t"));
  cr_expect(lite_has_rows(&other, 0));
  /* The next commit is one of its own. */
  run("BEGIN TRAN; INSERT t (name) VALUES ('new'); COMMIT");
  cr_assert(lite_batch(&other, "INSERT t (name) VALUES ('newer')"));
  lite_logout(&other);
}

Test(sqlite, a_client_that_does_not_read_holds_its_statement_back) {
  struct tdsd_session *session = &client.fixture.session;
  struct pollfd poller = {.fd = tdsd_lite_fd(lite), .events = POLLIN};
  run("CREATE TABLE big (n int, s nvarchar(40)); INSERT big SELECT n, N'a text "
      "of some length' FROM dbo.rows(50000)");
  lite_send(&client, "SELECT n, s FROM big");
  cr_assert_eq(poll(&poller, 1, 10000), 1);
  tdsd_lite_ready(lite, ready_once, NULL);
  cr_assert(session->full);
  cr_expect_leq(tdsd_buf_len(&session->out), 2 * TDSD_LITE_CHUNK);
  /* Nobody asked for more, so no worker is at work. */
  cr_expect_eq(poll(&poller, 1, 50), 0);
  lite_attention(&client);
}

Test(sqlite, a_database_is_what_it_was_after_the_server_ended) {
  char path[] = "/tmp/tdsd-test-XXXXXX";
  char why[256] = "";
  struct lite_client other;
  (void)close(mkstemp(path));
  for (unsigned round = 0; round < 2; round++) {
    struct tdsd_lite *file = tdsd_lite_open(path, why, sizeof why);
    cr_assert_not_null(file, "%s", why);
    lite_login(&other, file);
    cr_assert(lite_batch(&other, round == 0
                                     ? "CREATE TABLE k (v money); INSERT k "
                                       "VALUES (1.25)"
                                     : "SELECT v FROM k WHERE v = 1.25"));
    cr_expect(lite_has_rows(&other, 1));
    lite_logout(&other);
    tdsd_lite_close(file);
  }
  (void)unlink(path);
}

Test(sqlite, a_file_that_is_no_database_is_refused) {
  char path[] = "/tmp/tdsd-test-XXXXXX";
  char why[256] = "";
  int fd = mkstemp(path);
  cr_assert_eq(write(fd,
                     "this is a letter, not a database, and it is long "
                     "enough to be looked at as one",
                     79),
               79);
  (void)close(fd);
  cr_expect_null(tdsd_lite_open(path, why, sizeof why));
  cr_expect(why[0] != 0);
  cr_expect_null(tdsd_lite_open("/nonexistent/x.db", why, sizeof why));
  (void)unlink(path);
}
