/* SPDX-License-Identifier: MIT */
/* Expressions: what they come to as text, and which error they give. */
#include <stdio.h>

#include <criterion/criterion.h>

#include "server_eval.h"
#include "server_parse.h"

/* Computes an expression and prints it as text; the error's number if it has
 * one, else 0. */
static int32_t value_of(const char *expr, char *out, size_t cap) {
  struct tdsd_arena arena = {0};
  struct tdsd_batch batch = {0};
  struct tdsd_fault fault = {0};
  struct tdsd_state state = {.spid = 51};
  struct tdsd_type text = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX};
  struct tdsd_value value = {0};
  char sql[512];
  (void)snprintf(state.database, sizeof state.database, "master");
  int n = snprintf(sql, sizeof sql, "SELECT %s", expr);
  struct tdsd_context context = {
      .arena = &arena, .batch = &batch, .state = &state, .fault = &fault};
  if (tdsd_parse(sql, (size_t)n, &arena, &batch, &fault) == 0) {
    struct tdsd_expr *e = batch.ops[0].select->items[0].expr;
    if (tdsd_bind(e, NULL, &batch, &fault) == 0 &&
        tdsd_eval(e, &context, &value) == 0 &&
        tdsd_convert(&value, &text, 0, &arena, &value, &fault) == 0) {
      fault.number = 0;
      (void)snprintf(out, cap, "%s", value.is_null ? "NULL" : value.bytes);
    }
  }
  tdsd_arena_fini(&arena);
  return fault.number;
}

struct expectation {
  const char *expr;
  const char *text;
};

static void check(const struct expectation *cases, size_t n) {
  for (size_t i = 0; i < n; i++) {
    char got[512] = "";
    int32_t number = value_of(cases[i].expr, got, sizeof got);
    cr_expect_eq(number, 0, "%s: error %d", cases[i].expr, (int)number);
    cr_expect_str_eq(got, cases[i].text, "%s: %s", cases[i].expr, got);
  }
}

#define CHECK(cases) check(cases, sizeof cases / sizeof cases[0])

Test(sql, literals_are_what_they_say, .timeout = 5) {
  static const struct expectation cases[] = {
      {"1", "1"},
      {"-5", "-5"},
      {"2147483648", "2147483648"},
      {"1.50", "1.50"},
      {".5", "0.5"},
      {"-0.0", "0.0"},
      {"1e3", "1000"},
      {"$12.345", "12.35"},
      {"'it''s'", "it's"},
      {"N'zażółć'", "zażółć"},
      {"NULL", "NULL"},
      {"''", ""},
      {"99999999999999999999999999999999999999",
       "99999999999999999999999999999999999999"},
  };
  CHECK(cases);
}

Test(sql, arithmetic_follows_the_types, .timeout = 5) {
  static const struct expectation cases[] = {
      {"1 + 2 * 3", "7"},
      {"(1 + 2) * 3", "9"},
      {"7 / 2", "3"},
      {"-7 / 2", "-3"},
      {"7 % 3", "1"},
      {"7 / 2.0", "3.500000"},
      {"1.5 + 1", "2.5"},
      {"1.25 * 1.25", "1.5625"},
      {"1.0 - 3", "-2.0"},
      {"1e0 / 4", "0.25"},
      {"'a' + 'b'", "ab"},
      {"N'a' + 'b'", "ab"},
      {"'1' + 1", "2"},
      {"1 + NULL", "NULL"},
      {"- (1 + 1)", "-2"},
      {"$1.5 * 2", "3.00"},
      {"2147483647 + 2147483648", "4294967295"},
  };
  CHECK(cases);
}

Test(sql, casts_convert, .timeout = 5) {
  static const struct expectation cases[] = {
      {"CAST('42' AS int)", "42"},
      {"CAST('  42 ' AS int)", "42"},
      {"CAST(3.99 AS int)", "3"},
      {"CAST(-3.99 AS int)", "-3"},
      {"CAST(5 AS bit)", "1"},
      {"CAST('true' AS bit)", "1"},
      {"CAST(1 AS decimal(10,3))", "1.000"},
      {"CAST('1.2345' AS decimal(5,2))", "1.23"},
      {"CAST(1.235 AS decimal(5,2))", "1.24"},
      {"CAST(-1.235 AS decimal(5,2))", "-1.24"},
      {"CAST(1e0 AS decimal(5,2))", "1.00"},
      {"CAST('1.5e3' AS float)", "1500"},
      {"CAST(1234567890 AS float)", "1.23457e+009"},
      {"CAST(12.5 AS real)", "12.5"},
      {"CAST('abc' AS char(5)) + '|'", "abc  |"},
      {"CAST('abcdef' AS varchar(3))", "abc"},
      {"CAST(12345 AS varchar(3))", "*"},
      {"CAST('zażółć' AS varchar(10))", "za?ó??"},
      {"CAST(N'zażółć' AS nvarchar(3))", "zaż"},
      {"CAST(0x414243 AS varchar(5))", "ABC"},
      {"CONVERT(varchar(10), 0x0aff, 1)", "0x0AFF"},
      {"CONVERT(varchar(10), 0x0aff, 2)", "0AFF"},
      {"CONVERT(varchar(20), CAST(258 AS varbinary(4)), 1)", "0x00000102"},
      {"CONVERT(varchar(20), CAST('AB' AS binary(4)), 1)", "0x41420000"},
      {"CONVERT(varchar(20), CONVERT(varbinary(4), '0x0102', 1), 1)", "0x0102"},
      {"CAST(0x0102 AS int)", "258"},
      {"CAST('2020-02-29' AS date)", "2020-02-29"},
      {"CAST('20200229' AS date)", "2020-02-29"},
      {"CAST('12:34:56.7891234' AS time(3))", "12:34:56.789"},
      {"CAST('2020-02-29T12:34:56.789' AS datetime2(7))",
       "2020-02-29 12:34:56.7890000"},
      {"CAST('9999-12-31 23:59:59.9999999' AS datetime2(7))",
       "9999-12-31 23:59:59.9999999"},
      {"CAST('0001-01-01' AS datetime2(0))", "0001-01-01 00:00:00"},
      {"CONVERT(varchar(30), CAST('2020-02-29 12:34:56.789' AS datetime), 121)",
       "2020-02-29 12:34:56.790"},
      {"CAST(CAST('2020-02-29 12:34:56' AS datetime) AS varchar(30))",
       "Feb 29 2020 12:34PM"},
      {"CONVERT(varchar(30), CAST(0 AS datetime), 120)", "1900-01-01 00:00:00"},
      {"CONVERT(varchar(30), CAST('2020-01-01 23:59:40' AS smalldatetime), "
       "120)",
       "2020-01-02 00:00:00"},
      {"CAST('2020-01-01 10:00 +02:00' AS datetimeoffset(0))",
       "2020-01-01 10:00:00 +02:00"},
      {"CAST('01234567-89ab-cdef-0123-456789abcdef' AS uniqueidentifier)",
       "01234567-89AB-CDEF-0123-456789ABCDEF"},
      {"TRY_CAST('x' AS int)", "NULL"},
      {"CAST(NULL AS datetime2)", "NULL"},
      {"CAST(922337203685477.5807 AS money)", "922337203685477.58"},
      {"CAST(-922337203685477.5808 AS money)", "-922337203685477.58"},
      {"CAST(CAST(-922337203685477.5808 AS money) AS bigint)",
       "-922337203685478"},
      {"TRY_CAST(922337203685477.5808 AS money)", "NULL"},
      {"CAST(-214748.3648 AS smallmoney)", "-214748.36"},
      {"TRY_CAST(214748.3648 AS smallmoney)", "NULL"},
      {"CAST(-3.40282347e38 AS real)", "-3.40282e+038"},
      {"TRY_CAST(3.5e38 AS real)", "NULL"},
  };
  CHECK(cases);
}

Test(sql, functions_and_names_answer, .timeout = 5) {
  static const struct expectation cases[] = {
      {"DB_NAME()", "master"},
      {"@@SPID", "51"},
      {"@@TRANCOUNT", "0"},
      {"LEN('ab  ')", "2"},
      {"DATALENGTH(N'ab ')", "6"},
      {"REPLICATE('ab', 3)", "ababab"},
      {"DATALENGTH(REPLICATE(N'ż', 5000))", "8000"},
      {"DATALENGTH(REPLICATE('x', 9000))", "8000"},
      {"UPPER('aB')", "AB"},
      {"ISNULL(NULL, 'x')", "x"},
      {"COALESCE(NULL, NULL, 3)", "3"},
      {"NCHAR(380)", "ż"},
      {"SERVERPROPERTY('EngineEdition')", "3"},
  };
  CHECK(cases);
}

Test(sql, errors_have_the_numbers_of_sql_server, .timeout = 5) {
  static const struct {
    const char *expr;
    int32_t number;
  } cases[] = {
      {"1 / 0", 8134},
      {"1 % 0", 8134},
      {"1.0 / 0", 8134},
      {"1e0 / 0", 8134},
      {"2147483647 + 1", 8115},
      {"CAST('abc' AS int)", 245},
      {"CAST(300 AS tinyint)", 220},
      {"CAST(70000 AS smallint)", 220},
      {"CAST(3000000000 AS int)", 8115},
      {"CAST('x' AS decimal(5,2))", 8114},
      {"CAST(1234 AS decimal(5,2))", 8115},
      {"CAST('2020-02-30' AS date)", 241},
      {"CAST('1000-01-01' AS datetime)", 242},
      {"CAST('zz' AS uniqueidentifier)", 8169},
      {"CAST(CAST('2020-01-01' AS date) AS int)", 529},
      {"CAST(1 AS nosuch)", 243},
      {"CAST('a' AS varchar(8001))", 131},
      {"CAST(1 AS decimal(39,0))", 1002},
      {"nosuch", 207},
      {"nosuch()", 195},
      {"LEN()", 174},
      {"@@nosuch", 137},
      {"@x", 137},
      {"'a' - 'b'", 8117},
      {"1 +", 102},
      {"(1", 102},
      {"1 = 1", 102},
      {"'abc", 105},
      {"1 /* open", 113},
      {"FROM", 156},
      {"999999999999999999999999999999999999999", 1007},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    char got[512] = "";
    int32_t number = value_of(cases[i].expr, got, sizeof got);
    cr_expect_eq(number, cases[i].number, "%s: error %d, value %s",
                 cases[i].expr, (int)number, got);
  }
}

Test(sql, deep_nesting_is_an_error_not_a_crash, .timeout = 5) {
  char deep[500];
  char got[8];
  memset(deep, '(', sizeof deep);
  deep[sizeof deep - 1] = 0;
  cr_assert_eq(value_of(deep, got, sizeof got), 191);
  memset(deep, '-', sizeof deep);
  for (size_t i = 1; i < sizeof deep; i += 2) {
    deep[i] = ' ';
  }
  deep[sizeof deep - 1] = 0;
  cr_assert_eq(value_of(deep, got, sizeof got), 191);
}
