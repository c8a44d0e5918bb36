/* SPDX-License-Identifier: MIT */
/* Columns and values as bytes, worked out by hand from MS-TDS 2.2.5. */
#include <stdio.h>

#include <criterion/criterion.h>

#include "server_const.h"
#include "test_support.h"

struct expectation {
  const char *expr;
  const char *type; /* TYPE_INFO */
  const char *value;
};

/* Runs SELECT expr AS c; the reply must be COLMETADATA with this type, one row
 * with this value, DONE. */
static void check(uint32_t version,
                  const char *row,
                  const struct expectation *cases,
                  size_t n) {
  struct fixture fixture;
  fixture_login(&fixture, version);
  for (size_t i = 0; i < n; i++) {
    char sql[256];
    char wanted[512];
    (void)snprintf(sql, sizeof sql, "SELECT %s AS c", cases[i].expr);
    (void)snprintf(wanted, sizeof wanted, "%s 01\"c\" %s %s FD 1000 C100",
                   cases[i].type, row, cases[i].value);
    fixture_batch(&fixture, sql);
    cr_expect(contains_hex(&fixture.session.out, wanted), "%s", cases[i].expr);
  }
  fixture_fini(&fixture);
}

#define CHECK(version, row, cases) \
  check(version, row, cases, sizeof cases / sizeof cases[0])

#define COLLATION " 0904D00034 "

Test(types, every_type_has_its_bytes, .timeout = 5) {
  static const struct expectation cases[] = {
      {"1", "38", "01000000"},
      {"CAST(1 AS int)", "26 04", "04 01000000"},
      {"CAST(255 AS tinyint)", "26 01", "01 FF"},
      {"CAST(-2 AS smallint)", "26 02", "02 FEFF"},
      {"CAST(-2 AS bigint)", "26 08", "08 FEFFFFFFFFFFFFFF"},
      {"CAST(1 AS bit)", "68 01", "01 01"},
      {"CAST(1.5 AS real)", "6D 04", "04 0000C03F"},
      {"1.5e0", "3E", "000000000000F83F"},
      {"CAST(1.5 AS float)", "6D 08", "08 000000000000F83F"},
      {"1.5", "6C 05 02 01", "05 01 0F000000"},
      {"CAST(-1.5 AS decimal(19,2))", "6A 09 13 02", "09 00 9600000000000000"},
      {"CAST(1 AS decimal(28,0))", "6A 0D 1C 00",
       "0D 01 01000000 00000000 "
       "00000000"},
      {"CAST(1 AS decimal(38,0))", "6A 11 26 00",
       "11 01 01000000 00000000 "
       "00000000 00000000"},
      {"CAST(-1.5 AS money)", "6E 08", "08 FFFFFFFF 68C5FFFF"},
      {"CAST(1.5 AS smallmoney)", "6E 04", "04 983A0000"},
      {"'ab'", "A7 0200" COLLATION, "0200 6162"},
      {"CAST('ab' AS char(3))", "AF 0300" COLLATION, "0300 616220"},
      {"N'ż'", "E7 0200" COLLATION, "0200 7C01"},
      {"N'\xF0\x9F\x98\x80'", "E7 0400" COLLATION, "0400 3DD800DE"},
      {"0x0102", "A5 0200", "0200 0102"},
      {"CAST(0x01 AS binary(2))", "AD 0200", "0200 0100"},
      {"CAST('ab' AS varchar(max))", "A7 FFFF" COLLATION,
       "0200000000000000 02000000 6162 00000000"},
      {"CAST('' AS nvarchar(max))", "E7 FFFF" COLLATION,
       "0000000000000000 00000000"},
      {"CAST(0x01 AS varbinary(max))", "A5 FFFF",
       "0100000000000000 01000000 01 00000000"},
      {"CAST('2020-01-02' AS date)", "28", "03 91400B"},
      {"CAST('00:00:01' AS time(0))", "29 00", "03 010000"},
      {"CAST('00:00:01' AS time(7))", "29 07", "05 8096980000"},
      {"CAST('2020-01-02 00:00:01' AS datetime2(3))", "2A 03",
       "07 E8030000 91400B"},
      {"CAST('2020-01-02 01:00 +01:00' AS datetimeoffset(0))", "2B 00",
       "08 000000 91400B 3C00"},
      {"CAST('1900-01-02 00:00:01' AS datetime)", "6F 08",
       "08 01000000 2C010000"},
      {"CAST('1900-01-02 00:01' AS smalldatetime)", "6F 04", "04 0100 0100"},
      {"CAST('00112233-4455-6677-8899-aabbccddeeff' AS uniqueidentifier)",
       "24 10", "10 33221100 5544 7766 8899AABBCCDDEEFF"},
  };
  CHECK(TDSD_V74, "D1", cases);
}

#define VARIANT "62 491F0000"

Test(types, large_objects_of_old_have_pointers, .timeout = 5) {
  static const struct expectation cases[] = {
      {"CAST('ab' AS text)", "23 FFFFFF7F" COLLATION "00",
       "10 000000000000000000000000000000000000000000000000 02000000 6162"},
      {"CAST(N'ab' AS ntext)", "63 FEFFFF7F" COLLATION "00",
       "10 000000000000000000000000000000000000000000000000 04000000 \"ab\""},
      {"CAST(0x0102 AS image)", "22 FFFFFF7F 00",
       "10 000000000000000000000000000000000000000000000000 02000000 0102"},
      {"CAST('<a/>' AS xml)", "F1 00",
       "0800000000000000 08000000 \"<a/>\" 00000000"},
  };
  CHECK(TDSD_V74, "D1", cases);
}

Test(types, old_nulls_are_one_byte, .timeout = 5) {
  static const struct expectation cases[] = {
      {"CAST(NULL AS text)", "23 FFFFFF7F" COLLATION "00", "00"},
      {"CAST(NULL AS image)", "22 FFFFFF7F 00", "00"},
      {"CAST(NULL AS xml)", "F1 00", "FFFFFFFFFFFFFFFF"},
      {"CAST(NULL AS sql_variant)", VARIANT, "00000000"},
  };
  CHECK(TDSD_V73A, "D1", cases);
}

Test(types, a_rowversion_has_its_user_type, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture, "SELECT CAST(0x1F AS rowversion) AS c");
  cr_assert(contains_hex(&fixture.session.out,
                         "81 0100 50000000 2100 AD 0800 01\"c\" D1 0800 "
                         "1F00000000000000"));
  fixture_fini(&fixture);
}

Test(types, a_variant_carries_its_type, .timeout = 5) {
  static const struct expectation cases[] = {
      {"CAST(CAST(7 AS int) AS sql_variant)", VARIANT,
       "06000000 38 00 07000000"},
      {"CAST('ab' AS sql_variant)", VARIANT,
       "0B000000 A7 07 0904D00034 0200 6162"},
      {"CAST(N'ab' AS sql_variant)", VARIANT,
       "0D000000 E7 07 0904D00034 0400 \"ab\""},
      {"CAST(0x0102 AS sql_variant)", VARIANT, "06000000 A5 02 0200 0102"},
      {"CAST(1.5 AS sql_variant)", VARIANT,
       "15000000 6C 02 02 01 01 0F000000 000000000000000000000000"},
      {"CAST(CAST('2020-01-02' AS date) AS sql_variant)", VARIANT,
       "05000000 28 00 91400B"},
      {"CAST(CAST('00:00:01' AS time(0)) AS sql_variant)", VARIANT,
       "06000000 29 01 00 010000"},
      {"CAST(CAST(1 AS bit) AS sql_variant)", VARIANT, "03000000 32 00 01"},
      {"CAST(CAST(1 AS money) AS sql_variant)", VARIANT,
       "0A000000 3C 00 00000000 10270000"},
      {"CAST(CAST('00112233-4455-6677-8899-aabbccddeeff' AS "
       "uniqueidentifier) AS sql_variant)",
       VARIANT, "12000000 24 00 33221100 5544 7766 8899AABBCCDDEEFF"},
  };
  CHECK(TDSD_V74, "D1", cases);
}

Test(types, isnull_makes_a_column_that_cannot_be_null, .timeout = 5) {
  static const struct expectation cases[] = {
      {"ISNULL(CAST(1 AS bit), 0)", "32", "01"},
      {"ISNULL(CAST(1 AS tinyint), 0)", "30", "01"},
      {"ISNULL(CAST(1 AS smallint), 0)", "34", "0100"},
      {"ISNULL(CAST(1 AS bigint), 0)", "7F", "0100000000000000"},
      {"ISNULL(CAST(1 AS real), 0)", "3B", "0000803F"},
      {"ISNULL(CAST(1 AS money), 0)", "3C", "00000000 10270000"},
      {"ISNULL(CAST(1 AS smallmoney), 0)", "7A", "10270000"},
      {"ISNULL(CAST('1900-01-02' AS datetime), 0)", "3D", "01000000 00000000"},
      {"ISNULL(CAST('1900-01-02' AS smalldatetime), 0)", "3A", "0100 0000"},
  };
  CHECK(TDSD_V74, "D1", cases);
}

Test(types, collations_choose_the_code_page, .timeout = 5) {
  static const struct expectation cases[] = {
      {"CAST(N'ż' COLLATE Polish_CI_AS AS varchar(2))", "A7 0200 1504D00000",
       "0100 BF"},
      {"CAST(N'日x' COLLATE Japanese_CI_AS AS varchar(3))",
       "A7 0300 1104D00000", "0300 93FA78"},
      {"CAST(N'日x' COLLATE Japanese_CI_AS AS char(4))", "AF 0400 1104D00000",
       "0400 93FA7820"},
      {"CAST(N'ż' COLLATE Greek_CI_AS AS varchar(2))", "A7 0200 0804D00000",
       "0100 3F"},
      {"'a' COLLATE Latin1_General_BIN2", "A7 0100 0904000200", "0100 61"},
      {"N'a' COLLATE Latin1_General_100_CI_AS", "E7 0200 0904D02000",
       "0200 6100"},
      /* Not asked for, so it comes as nvarchar. */
      {"CAST(N'ż' COLLATE Latin1_General_100_CI_AS_SC_UTF8 AS "
       "varchar(2))",
       "E7 0400 0904D02400", "0200 7C01"},
  };
  CHECK(TDSD_V74, "D1", cases);
}

Test(types, utf8_goes_to_those_who_asked, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture.session.state.utf8 = true;
  fixture_batch(&fixture,
                "SELECT CAST(N'żż' COLLATE "
                "Latin1_General_100_CI_AS_SC_UTF8 AS varchar(3)) AS c");
  cr_assert(contains_hex(&fixture.session.out,
                         "A7 0300 0904D02400 01\"c\" D1 0200 C5BC"));
  fixture_fini(&fixture);
}

Test(types, what_no_type_may_become_is_refused, .timeout = 5) {
  static const struct {
    const char *sql;
    const char *number;
  } cases[] = {
      {"SELECT CAST(1 AS xml)", "11020000 01 10"},  /* 529 */
      {"SELECT CAST(1 AS text)", "11020000 01 10"}, /* 529 */
      {"SELECT CAST(CAST('a' AS varchar(max)) AS sql_variant)",
       "CE000000 01 10"},                                      /* 206 */
      {"SELECT 1 COLLATE Polish_CI_AS", "BF010000 01 10"},     /* 447 */
      {"SELECT 'a' COLLATE nosuch", "C0010000 01 10"},         /* 448 */
      {"SELECT CAST(1 AS sql_variant) + 1", "B51F0000 01 10"}, /* 8117 */
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    fixture_login(&fixture, TDSD_V74);
    fixture_batch(&fixture, cases[i].sql);
    cr_expect(contains_hex(&fixture.session.out, cases[i].number), "%s",
              cases[i].sql);
    fixture_fini(&fixture);
  }
}

Test(types, a_null_is_a_bit_since_7_3_b, .timeout = 5) {
  static const struct expectation cases[] = {
      {"CAST(NULL AS int)", "26 04", ""},
      {"CAST(NULL AS varchar(max))", "A7 FFFF" COLLATION, ""},
  };
  CHECK(TDSD_V73B, "D2 01", cases);
}

Test(types, a_null_is_written_out_before_7_3_b, .timeout = 5) {
  static const struct expectation cases[] = {
      {"CAST(NULL AS int)", "26 04", "00"},
      {"CAST(NULL AS decimal(5,2))", "6A 05 05 02", "00"},
      {"CAST(NULL AS varchar(3))", "A7 0300" COLLATION, "FFFF"},
      {"CAST(NULL AS varchar(max))", "A7 FFFF" COLLATION, "FFFFFFFFFFFFFFFF"},
      {"CAST(NULL AS date)", "28", "00"},
      {"CAST(NULL AS uniqueidentifier)", "24 10", "00"},
  };
  CHECK(TDSD_V73A, "D1", cases);
}

Test(types, new_dates_are_text_before_7_3, .timeout = 5) {
  static const struct expectation cases[] = {
      {"CAST('2020-01-02' AS date)", "E7 5000" COLLATION,
       "1400 \"2020-01-02\""},
  };
  CHECK(TDSD_V72, "D1", cases);
}

Test(types, the_null_bitmap_counts_from_the_low_bit, .timeout = 5) {
  struct fixture fixture;
  fixture_login(&fixture, TDSD_V74);
  fixture_batch(&fixture,
                "SELECT 1, NULL, 3, 4, 5, 6, 7, 8, NULL, CAST(1 AS tinyint)");
  cr_assert(contains_hex(&fixture.session.out,
                         "D2 0201 01000000 03000000 04000000 05000000"
                         "06000000 07000000 08000000 01 01 FD"));
  fixture_fini(&fixture);
}

Test(types, tds_7_1_has_its_narrow_fields, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  fixture_login(&fixture, TDSD_V71);
  tdsd_packet_write(&in, TDSD_PKT_BATCH, TDSD_ST_EOM, 0, 1,
                    (const uint8_t *)"s\0e\0l\0e\0c\0t\0 \0001\0", 16);
  (void)feed_all(&fixture.session, &in);
  /* user type of 2 bytes; DONE with a count of 4 */
  cr_assert(contains_hex(&fixture.session.out,
                         "81 0100 0000 2000 38 00 D1 01000000"
                         "FD 1000 C100 01000000"));
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}
