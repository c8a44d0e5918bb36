/* SPDX-License-Identifier: MIT */
/* test_hint.c - hints: what is read, what is written of it, what is refused. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "tds_hint.h"

static const struct {
  const char *hint;
  const char *type;
  const char *info; /* for the collation 01 02 03 04 05 */
} types[] = {
    {"bit", "bit", "68 01"},
    {"tinyint", "tinyint", "26 01"},
    {"smallint", "smallint", "26 02"},
    {"int", "int", "26 04"},
    {"INTEGER", "int", "26 04"},
    {"bigint", "bigint", "26 08"},
    {"real", "real", "6d 04"},
    {"float", "float", "6d 08"},
    {"float(1)", "real", "6d 04"},
    {"float(24)", "real", "6d 04"},
    {"float(25)", "float", "6d 08"},
    {"float(53)", "float", "6d 08"},
    {"decimal", "decimal(18,0)", "6a 09 12 00"},
    {"decimal(9)", "decimal(9,0)", "6a 05 09 00"},
    {"dec(10,2)", "decimal(10,2)", "6a 09 0a 02"},
    {"Numeric ( 28 , 28 )", "numeric(28,28)", "6c 0d 1c 1c"},
    {"numeric(38,0)", "numeric(38,0)", "6c 11 26 00"},
    {"money", "money", "6e 08"},
    {"smallmoney", "smallmoney", "6e 04"},
    {"date", "date", "28"},
    {"time", "time(7)", "29 07"},
    {"time(0)", "time(0)", "29 00"},
    {"datetime", "datetime", "6f 08"},
    {"smalldatetime", "smalldatetime", "6f 04"},
    {"datetime2(3)", "datetime2(3)", "2a 03"},
    {"datetimeoffset", "datetimeoffset(7)", "2b 07"},
    {"uniqueidentifier", "uniqueidentifier", "24 10"},
    {"char", "char(1)", "af 0100 0102030405"},
    {"char(8000)", "char(8000)", "af 401f 0102030405"},
    {"varchar(10)", "varchar(10)", "a7 0a00 0102030405"},
    {"varchar(max)", "varchar(max)", "a7 ffff 0102030405"},
    {"nchar(4000)", "nchar(4000)", "ef 401f 0102030405"},
    {"nvarchar(1)", "nvarchar(1)", "e7 0200 0102030405"},
    {"NVARCHAR(MAX)", "nvarchar(max)", "e7 ffff 0102030405"},
    {"binary(2)", "binary(2)", "ad 0200"},
    {"varbinary(8000)", "varbinary(8000)", "a5 401f"},
    {"varbinary(max)", "varbinary(max)", "a5 ffff"},
    {"text", "text", "23 ffffff7f 0102030405"},
    {"ntext", "ntext", "63 ffffff7f 0102030405"},
    {"image", "image", "22 ffffff7f"},
    {"xml", "xml", "f1 00"},
    {"sysname", "nvarchar(128)", "e7 0001 0102030405"},
    {"json", "nvarchar(max)", "e7 ffff 0102030405"},
    {"rowversion", "binary(8)", "ad 0800"},
    {" \tint ", "int", "26 04"},
};

Test(hint, reads_every_type, .timeout = 5) {
  static const uint8_t collation[5] = {1, 2, 3, 4, 5};
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    struct tds_hint h;
    const char *why = "";
    char text[TDS_HINT_TEXT_MAX];
    uint8_t info[TDS_HINT_INFO_MAX];
    size_t n = 0;
    cr_assert_eq(tds_hint_parse(types[i].hint, strlen(types[i].hint), &h, &why),
                 TDS_OK, "%s: %s", types[i].hint, why);
    cr_expect_eq(tds_hint_print(&h, text), strlen(types[i].type));
    cr_expect_str_eq(text, types[i].type);
    uint8_t *want = fake_unhex(types[i].info, &n);
    cr_expect_eq(tds_hint_info(&h, collation, info), n, "%s", text);
    cr_expect_eq(memcmp(info, want, n), 0, "%s", text);
    free(want);
  }
}

Test(hint, prints_what_it_reads_again, .timeout = 5) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
    struct tds_hint h;
    const char *why = "";
    char text[TDS_HINT_TEXT_MAX];
    cr_assert_eq(tds_hint_parse(types[i].type, strlen(types[i].type), &h, &why),
                 TDS_OK);
    (void)tds_hint_print(&h, text);
    cr_expect_str_eq(text, types[i].type);
  }
}

static const struct {
  const char *hint;
  const char *why;
} refused[] = {
    {"", "no such type"},
    {"strange", "no such type"},
    {"averyveryveryverylongwordthatisnotype", "no such type"},
    {"sql_variant", "no such type"},
    {"int(4)", "it takes nothing in parentheses"},
    {"json(max)", "it takes nothing in parentheses"},
    {"sysname(1)", "it takes nothing in parentheses"},
    {"varchar(0)", "its length must be 1 to 8000"},
    {"varchar(8001)", "its length must be 1 to 8000"},
    {"varchar(99999999999999999999)", "its length must be a number or max"},
    {"nvarchar(4001)", "its length must be 1 to 4000"},
    {"nchar(max)", "it has no (max)"},
    {"binary(max)", "it has no (max)"},
    {"varchar()", "its length must be a number or max"},
    {"varchar(-1)", "its length must be a number or max"},
    {"varchar(10", "a parenthesis is not closed"},
    {"varchar(10) x", "more follows the type"},
    {"decimal(0)", "its precision must be 1 to 38"},
    {"decimal(39)", "its precision must be 1 to 38"},
    {"decimal(10,11)", "its scale must be 0 to its precision"},
    {"decimal(10,)", "its scale must be 0 to its precision"},
    {"decimal(10,2,1)", "a parenthesis is not closed"},
    {"time(8)", "its scale must be 0 to 7"},
    {"datetime2()", "its scale must be 0 to 7"},
    {"float(0)", "its bits must be 1 to 53"},
    {"float(54)", "its bits must be 1 to 53"},
    {"int; drop table t", "more follows the type"},
    {"int output", "more follows the type"},
};

Test(hint, refuses_what_is_no_type, .timeout = 5) {
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    struct tds_hint h;
    const char *why = "";
    cr_expect_eq(
        tds_hint_parse(refused[i].hint, strlen(refused[i].hint), &h, &why),
        TDS_E_PROTO, "%s", refused[i].hint);
    cr_expect_str_eq(why, refused[i].why, "%s: %s", refused[i].hint, why);
  }
}

Test(hint, reads_no_byte_behind_its_end, .timeout = 5) {
  struct tds_hint h;
  const char *why = "";
  static const char text[] = "varchar(10)";
  for (size_t n = 0; n < strlen(text); n++) {
    char *copy = malloc(n + 1);
    cr_assert_not_null(copy);
    memcpy(copy, text, n);
    int rc = tds_hint_parse(copy, n, &h, &why);
    cr_expect_eq(rc == TDS_OK, n == 7, "%zu", n);
    free(copy);
  }
}
