/* SPDX-License-Identifier: MIT */
/* test_value.c - scalar values of each type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "weir_driver.h"

#include "fake_host.h"
#include "tds_value.h"

/* Type code and info, value, and the cell as text; "!" means refused. */
struct sample {
  const char *type;
  const char *value;
  const char *cell;
};

static const struct sample samples[] = {
    {"30", "ff", "255"},
    {"34", "0080", "-32768"},
    {"38", "ffffff7f", "2147483647"},
    {"7f", "0000000000000080", "-9223372036854775808"},
    {"26 01", "ff", "255"},
    {"26 08", "ffffffffffffffff", "-1"},
    {"26 04", "010000", "!"},
    {"32", "01", "true"},
    {"68 01", "00", "false"},
    {"3b", "0000c03f", "1.5"},
    {"6d 08", "000000000000f8bf", "-1.5"},
    {"3c", "0000000001000000", "0.0001"},
    {"3c", "ffffffffffffffff", "-0.0001"},
    {"3c", "0000008000000000", "-922337203685477.5808"},
    {"6e 04", "10270000", "1.0000"},
    {"7a", "00000080", "-214748.3648"},
    {"6a 05 09 02", "01 01000000", "0.01"},
    {"6a 05 09 02", "00 39300000", "-123.45"},
    {"6a 05 09 02", "00 00000000", "0.00"},
    {"6a 05 05 00", "01 07000000", "7"},
    {"6a 05 05 05", "01 07000000", "0.00007"},
    {"6c 11 26 00", "01 ffffffff3f228a097ac4865aa84c3b4b",
     "99999999999999999999999999999999999999"},
    {"6c 11 26 26", "00 ffffffff3f228a097ac4865aa84c3b4b",
     "-0.99999999999999999999999999999999999999"},
    {"6c 11 26 00", "01 ffffffffffffffffffffffffffffffff",
     "340282366920938463463374607431768211455"},
    {"6c 11 26 00", "01 0000", "!"},
    {"3d", "00000000 00000000", "1900-01-01T00:00:00.000"},
    {"3d", "00000080 00000000", "!"},
    {"6f 08", "462effff 00000000", "1753-01-01T00:00:00.000"},
    {"6f 08", "12b50000 4059cf00", "2026-11-30T12:34:56.000"},
    {"6f 08", "00000000 01000000", "1900-01-01T00:00:00.003"},
    {"6f 08", "00000000 02000000", "1900-01-01T00:00:00.007"},
    {"6f 08", "00000000 ff818b01", "1900-01-01T23:59:59.997"},
    {"6f 08", "00000000 00828b01", "!"},
    {"3a", "0000 9f05", "1900-01-01T23:59:00"},
    {"3a", "ffff 0000", "2079-06-06T00:00:00"},
    {"3a", "0000 a005", "!"},
    {"28", "000000", "0001-01-01"},
    {"28", "dab937", "9999-12-31"},
    {"28", "dbb937", "!"},
    {"28", "3b0000", "0001-03-01"},
    {"28", "d3b70a", "1924-02-29"},
    {"29 00", "000000", "00:00:00"},
    {"29 00", "7f5101", "23:59:59"},
    {"29 00", "805101", "!"},
    {"29 07", "ffbf692ac9", "23:59:59.9999999"},
    {"29 03", "e8030000", "00:00:01.000"},
    {"2a 00", "7f5101 dab937", "9999-12-31T23:59:59"},
    {"2a 07", "0100000000 000000", "0001-01-01T00:00:00.0000001"},
    {"2a 07", "0100000000 0000", "!"},
    {"2b 00", "100e00 010000 3c00", "0001-01-02T02:00:00+01:00"},
    {"2b 00", "000000 010000 c4ff", "0001-01-01T23:00:00-01:00"},
    {"2b 00", "7f5101 000000 4803", "0001-01-02T13:59:59+14:00"},
    {"2b 00", "000000 000000 4903", "!"},
    {"2b 00", "000000 000000 c4ff", "!"},
    {"24 10", "00112233445566778899aabbccddeeff",
     "0x33221100554477668899aabbccddeeff"},
    {"24 10", "001122", "!"},
};

static void show(int32_t type, const uint8_t *p, size_t n, char *out) {
  int64_t i = 0;
  double d = 0;
  switch (type) {
  case WEIR_DRV_T_INT:
    cr_assert_eq(n, 8);
    memcpy(&i, p, 8);
    (void)sprintf(out, "%lld", (long long)i);
    break;
  case WEIR_DRV_T_FLOAT:
    cr_assert_eq(n, 8);
    memcpy(&d, p, 8);
    (void)sprintf(out, "%g", d);
    break;
  case WEIR_DRV_T_BOOL:
    (void)sprintf(out, "%s", p[0] ? "true" : "false");
    break;
  case WEIR_DRV_T_UUID:
    out += sprintf(out, "0x");
    for (size_t k = 0; k < n; k++) {
      out += sprintf(out, "%02x", p[k]);
    }
    break;
  default:
    memcpy(out, p, n);
    out[n] = '\0';
    break;
  }
}

static void check(const struct sample *s) {
  size_t info_n = 0;
  size_t n = 0;
  struct tds_type t;
  uint8_t cell[TDS_CELL_MAX];
  char text[128] = "!";
  uint8_t *info = fake_unhex(s->type, &info_n);
  uint8_t *value = fake_unhex(s->value, &n);
  const struct tds_type_rule *rule = tds_type_find(info[0]);
  cr_assert_not_null(rule);
  cr_assert_eq(rule->info, info_n - 1);
  cr_assert_eq(tds_type_set(&t, rule, info + 1), TDS_OK, "%s", s->type);
  size_t out_n = 0;
  int rc = tds_value_cell(&t, value, n, cell, &out_n);
  if (rc == TDS_OK) {
    cr_assert_leq(out_n, sizeof cell);
    show(rule->cell, cell, out_n, text);
  }
  cr_expect_str_eq(text, s->cell, "type %s value %s: %s, not %s", s->type,
                   s->value, text, s->cell);
  free(info);
  free(value);
}

Test(value, becomes_a_cell_or_is_refused, .timeout = 5) {
  for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
    check(&samples[i]);
  }
}

/* Whether a year, month, day is the one that follows another. */
Test(value, counts_every_day_of_the_calendar, .timeout = 20) {
  struct tds_type t;
  int year = 1;
  int month = 1;
  int day = 1;
  cr_assert_eq(tds_type_set(&t, tds_type_find(0x28), NULL), TDS_OK);
  for (uint32_t days = 0; days <= 3652058; days++) {
    uint8_t p[3] = {(uint8_t)days, (uint8_t)(days >> 8), (uint8_t)(days >> 16)};
    uint8_t cell[TDS_CELL_MAX];
    char want[40];
    size_t n = 0;
    cr_assert_eq(tds_value_cell(&t, p, 3, cell, &n), TDS_OK);
    (void)snprintf(want, sizeof want, "%04d-%02d-%02d", year, month, day);
    if (n != 10 || memcmp(cell, want, 10) != 0) {
      cr_assert_fail("day %u is not %s", days, want);
    }
    static const int length[] = {31, 28, 31, 30, 31, 30,
                                 31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    int most = length[month - 1] + (month == 2 && leap ? 1 : 0);
    if (++day > most) {
      day = 1;
      if (++month > 12) {
        month = 1;
        year++;
      }
    }
  }
}

static const char *const bad_types[] = {
    "26 03",       "26 00",       "26 10", "68 02",       "6d 02",
    "6e 01",       "6f 05",       "24 08", "6a 06 09 02", "6a 05 00 00",
    "6a 05 27 00", "6a 05 05 06", "29 08", "2a ff",
};

Test(value, has_no_type_of_impossible_size, .timeout = 5) {
  for (size_t i = 0; i < sizeof bad_types / sizeof bad_types[0]; i++) {
    struct tds_type t;
    size_t n = 0;
    uint8_t *info = fake_unhex(bad_types[i], &n);
    cr_expect_eq(tds_type_set(&t, tds_type_find(info[0]), info + 1),
                 TDS_E_PROTO, "%s", bad_types[i]);
    free(info);
  }
}

Test(value, names_types_as_people_do, .timeout = 5) {
  static const struct {
    const char *type;
    const char *name;
  } names[] = {{"26 01", "tinyint"},       {"26 02", "smallint"},
               {"26 04", "int"},           {"26 08", "bigint"},
               {"6d 04", "real"},          {"6e 04", "smallmoney"},
               {"6f 04", "smalldatetime"}, {"6f 08", "datetime"}};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct tds_type t;
    size_t n = 0;
    uint8_t *info = fake_unhex(names[i].type, &n);
    cr_assert_eq(tds_type_set(&t, tds_type_find(info[0]), info + 1), TDS_OK);
    cr_expect_str_eq(tds_value_type_name(&t), names[i].name);
    free(info);
  }
}
