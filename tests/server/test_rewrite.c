/* SPDX-License-Identifier: MIT */
/* The rewriter against a table of statements (rewrite_cases.txt): lines with > are
 * T-SQL, those with = what SQLite gets, those with ! the number and text of a
 * refusal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "server_rewrite.h"
#include "test_rewrite_support.h"

static FILE *open_cases(void) {
  char path[4096];
  const char *root = getenv("WEIR_SOURCE_DIR");
  cr_assert_not_null(root, "WEIR_SOURCE_DIR is not set");
  (void)snprintf(path, sizeof path, "%s/tests/server/rewrite_cases.txt", root);
  FILE *file = fopen(path, "re");
  cr_assert_not_null(file, "%s", path);
  return file;
}

Test(rewrite, gives_what_the_table_says, .timeout = 10) {
  FILE *file = open_cases();
  char line[8192];
  char sql[8192] = "";
  char out[8192];
  unsigned number = 0;
  unsigned cases = 0;
  while (fgets(line, sizeof line, file) != NULL) {
    number++;
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '>') {
      memcpy(sql, line + 2, strlen(line + 2) + 1);
    } else if (line[0] == '=' || line[0] == '!') {
      rewrite_text(sql, out, sizeof out);
      const char *wanted = line[0] == '=' ? line + 2 : line;
      cr_expect_str_eq(out, wanted, "line %u: %s\ngives  %s\nwanted %s", number,
                       sql, out, wanted);
      cases++;
    }
  }
  (void)fclose(file);
  cr_assert_geq(cases, 150);
}

static void expect_columns(const char *sql, const char *wanted) {
  char out[2048];
  rewrite_columns(sql, out, sizeof out);
  cr_expect_str_eq(out, wanted, "%s\ngives  %s\nwanted %s", sql, out, wanted);
}

Test(rewrite, types_of_declared_columns_are_kept, .timeout = 5) {
  expect_columns("SELECT * FROM t",
                 "id int, name nvarchar(20) null, price decimal(10,2) null, "
                 "at datetime2(3) null, qty int null, b varbinary(8) null, "
                 "g uniqueidentifier null, ok bit null, f float null, "
                 "m money null, d date null");
}

Test(rewrite, outer_joins_make_columns_nullable, .timeout = 5) {
  expect_columns("SELECT t.id, u.id FROM t LEFT JOIN u ON u.id = t.id",
                 "id int, id int null");
  expect_columns("SELECT t.id FROM u LEFT JOIN t ON u.id = t.id",
                 "id int null");
  expect_columns("SELECT t.id FROM t RIGHT JOIN u ON u.id = t.id",
                 "id int null");
}

Test(rewrite, expressions_have_the_types_of_tsql, .timeout = 5) {
  expect_columns("SELECT qty + 1 AS a, price * 2 AS b, qty / 2.0 AS c, "
                 "f + price AS d FROM t",
                 "a int null, b decimal(21,2) null, c numeric(17,6) null, "
                 "d float null");
  expect_columns("SELECT COUNT(*) AS a, COUNT_BIG(*) AS b, SUM(qty) AS c, "
                 "AVG(price) AS d, MAX(name) AS e, SUM(m) AS f FROM t",
                 "a int null, b bigint null, c int null, d decimal(38,6) null, "
                 "e nvarchar(20) null, f money null");
  expect_columns("SELECT name + note AS a, CAST(qty AS varchar(7)) AS b, "
                 "LEFT(note, 2) AS c, DATEADD(day, 1, d) AS d FROM t, u",
                 "a nvarchar(50) null, b varchar(7) null, c varchar(30) null, "
                 "d date null");
}

Test(rewrite, parts_of_a_union_meet, .timeout = 5) {
  expect_columns("SELECT qty AS a FROM t UNION ALL SELECT price FROM t",
                 "a decimal(12,2) null");
  expect_columns("SELECT note AS a FROM u UNION ALL SELECT name FROM t",
                 "a nvarchar(30) null");
}

static size_t split(const char *sql, bool *out_tables) {
  struct tdsd_arena arena = {0};
  struct tdsd_fault fault = {0};
  size_t end = 0;
  cr_assert_eq(
      tdsd_rw_split(sql, strlen(sql), &arena, &end, out_tables, &fault), 0,
      "%s", fault.text);
  tdsd_arena_fini(&arena);
  return end;
}

Test(rewrite, statements_end_where_the_next_begins, .timeout = 5) {
  static const char *const pairs[][2] = {
      {"SELECT a FROM t ", "SELECT b FROM u"},
      {"SELECT a FROM t UNION SELECT b FROM u ", "PRINT 'x'"},
      {"INSERT INTO t SELECT a FROM u ", "SELECT b FROM t"},
      {"INSERT INTO t VALUES (1) ", "SELECT b FROM t"},
      {"UPDATE t SET a = 1 ", "SET NOCOUNT ON"},
      {"DELETE t ", "DELETE u"},
      {"SELECT CASE WHEN a = 1 THEN 2 ELSE 3 END FROM t ", "ELSE PRINT 'x'"},
      {"SELECT a FROM t", "; SELECT b FROM u"},
      {"DROP TABLE IF EXISTS t ", "CREATE TABLE t (a int)"},
      {"WITH c AS (SELECT 1 AS a) SELECT a FROM c ", "SELECT 2"},
      {"WITH c AS (SELECT 1 AS a) INSERT INTO t SELECT a FROM c ",
       "UPDATE t SET a = 2"},
      {"CREATE TABLE t (a int REFERENCES u (id) ON DELETE SET NULL) ",
       "INSERT t VALUES (1)"},
      {"SELECT 'a; SELECT' FROM t /* SELECT */ ", "END"}};
  for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
    char sql[512];
    bool tables = false;
    (void)snprintf(sql, sizeof sql, "%s%s", pairs[i][0], pairs[i][1]);
    size_t end = split(sql, &tables);
    cr_expect(tables, "%s", sql);
    /* Blanks and remarks before the next statement may go with either. */
    cr_expect_leq(end, strlen(pairs[i][0]), "%s", sql);
    cr_expect_eq(strspn(sql + end, " /*SELECT"),
                 strlen(pairs[i][0]) - end + strspn(pairs[i][1], " /*SELECT"),
                 "%s ends at %zu", sql, end);
  }
}

Test(rewrite, statements_without_tables_are_left_to_the_subset, .timeout = 5) {
  static const char *const texts[] = {
      "SELECT 1", "SELECT @@VERSION, 'from t'", "SELECT n FROM dbo.rows(5)",
      "SELECT * FROM (VALUES (1)) AS v (a)", "SELECT 1 UNION ALL SELECT 2"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    bool tables = true;
    (void)split(texts[i], &tables);
    cr_expect_not(tables, "%s", texts[i]);
  }
}

Test(rewrite, deep_nesting_is_refused_with_191, .timeout = 5) {
  char sql[2048];
  char out[512];
  size_t len = (size_t)snprintf(sql, sizeof sql, "SELECT ");
  for (unsigned i = 0; i < 500; i++) {
    sql[len++] = '(';
  }
  (void)snprintf(sql + len, sizeof sql - len, "id FROM t");
  rewrite_text(sql, out, sizeof out);
  cr_assert_eq(strncmp(out, "!191 ", 5), 0, "%s", out);
}
