/* SPDX-License-Identifier: MIT */
/* The three formats. */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "out.h"

#define TEXT(s) \
  { (s), sizeof(s) - 1 }
#define NONE \
  { NULL, UINT64_MAX }

/* A result set of at most four columns. */
struct set {
  int32_t types[4];
  const char *names[4];
  uint32_t n_columns;
};

static int begin_set(struct out *out, const struct set *set) {
  struct weir_column columns[4];
  memset(columns, 0, sizeof columns);
  for (uint32_t i = 0; i < set->n_columns; i++) {
    columns[i].struct_size = sizeof columns[i];
    columns[i].type = set->types[i];
    columns[i].name = set->names[i];
    columns[i].name_len = strlen(set->names[i]);
  }
  return out_begin(out, columns, set->n_columns, sizeof columns[0]);
}

/* Writes one set and compares all that was written. */
static void expect(const struct out_format *format,
                   size_t max_width,
                   const struct set *set,
                   const struct weir_cell *cells,
                   uint64_t n_rows,
                   const char *want) {
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  struct out out;
  out_init(&out, format, to);
  out.max_width = max_width;
  cr_assert_eq(begin_set(&out, set), 0);
  cr_assert_eq(out_rows(&out, cells, n_rows), 0);
  cr_assert_eq(out_end(&out, true), 0);
  out_fini(&out);
  (void)fclose(to);
  cr_assert_str_eq(text, want);
  free(text);
}

static const struct set text_set = {{WEIR_T_TEXT}, {"t"}, 1};

Test(out_table, aligns_numbers_right_and_text_left, .timeout = 5) {
  const struct set set = {
      {WEIR_T_DEC, WEIR_T_TEXT, WEIR_T_DEC}, {"n", "name", "last"}, 3};
  const struct weir_cell cells[] = {TEXT("1.5"),   TEXT("a"),  TEXT("7"),
                                    TEXT("-10.5"), TEXT("bb"), TEXT("12345")};
  expect(&out_table, 0, &set, cells, 2,
         "     n | name |  last\n"
         "-------+------+-------\n"
         "   1.5 | a    |     7\n"
         " -10.5 | bb   | 12345\n"
         "(2 rows)\n");
}

Test(out_table, aligns_by_columns_of_the_terminal, .timeout = 5) {
  const struct set set = {{WEIR_T_TEXT, WEIR_T_TEXT}, {"t", "x"}, 2};
  const struct weir_cell cells[] = {TEXT("za\xc5\xbc\xc3\xb3\xc5\x82\xc4\x87"),
                                    TEXT("1"),
                                    TEXT("\xe6\x97\xa5\xe6\x9c\xac"),
                                    TEXT("2"),
                                    TEXT("e\xcc\x81"),
                                    TEXT("3")};
  expect(&out_table, 0, &set, cells, 3,
         " t      | x\n"
         "--------+---\n"
         " za\xc5\xbc\xc3\xb3\xc5\x82\xc4\x87 | 1\n"
         " \xe6\x97\xa5\xe6\x9c\xac   | 2\n"
         " e\xcc\x81      | 3\n"
         "(3 rows)\n");
}

Test(out_table, tells_null_from_the_text_null, .timeout = 5) {
  const struct weir_cell cells[] = {NONE, TEXT("NULL"), TEXT("")};
  expect(&out_table, 0, &text_set, cells, 3,
         " t\n--------\n NULL\n \"NULL\"\n\n(3 rows)\n");
}

Test(out_table, keeps_data_from_the_terminal, .timeout = 5) {
  const struct weir_cell cells[] = {TEXT("a\nb\tc\r"), TEXT("\x1b[2J\x7f"),
                                    TEXT("\xc2\x9b"),  TEXT("\xe2\x80\xae"),
                                    TEXT("\xff"),      TEXT("nul\0")};
  expect(&out_table, 0, &text_set, cells, 6,
         " t\n-------------\n a\\nb\\tc\\r\n \\x1b[2J\\x7f\n \\x9b\n \\u202e\n"
         " \xef\xbf\xbd\n nul\\x00\n(6 rows)\n");
}

Test(out_table, cuts_only_when_told_to, .timeout = 5) {
  const struct weir_cell cells[] = {TEXT("abcdef"), TEXT("abcd"),
                                    TEXT("\xe6\x97\xa5\xe6\x9c\xac!")};
  expect(&out_table, 4, &text_set, cells, 3,
         " t\n------\n abc\xe2\x80\xa6\n abcd\n \xe6\x97\xa5\xe2\x80\xa6\n"
         "(3 rows)\n");
}

Test(out_table, names_columns_without_a_name, .timeout = 5) {
  const struct set set = {{WEIR_T_TEXT}, {""}, 1};
  expect(&out_table, 0, &set, NULL, 0, " (no name)\n-----------\n(0 rows)\n");
}

Test(out_table, writes_a_set_without_columns, .timeout = 5) {
  const struct set set = {{0}, {NULL}, 0};
  const struct weir_cell cells[] = {NONE};
  expect(&out_table, 0, &set, cells, 2, "(2 rows)\n");
}

/* Longer than what is held back, with a value that would not have fitted. */
Test(out_table, writes_long_results_whole, .timeout = 10) {
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  struct out out;
  out_init(&out, &out_table, to);
  const struct weir_cell brief[] = {TEXT("x")};
  const struct weir_cell longer[] = {TEXT("longer")};
  cr_assert_eq(begin_set(&out, &text_set), 0);
  for (int i = 0; i < 10000; i++) {
    cr_assert_eq(out_rows(&out, brief, 1), 0);
  }
  cr_assert_eq(out_rows(&out, longer, 1), 0);
  cr_assert_eq(out_end(&out, true), 0);
  out_fini(&out);
  (void)fclose(to);
  const char *tail = " x\n longer\n(10001 rows)\n";
  cr_assert_eq(len, strlen(" t\n---\n") + 9999 * 3 + strlen(tail));
  cr_assert_str_eq(text + len - strlen(tail), tail);
  free(text);
}

Test(out_table, pads_no_further_than_a_screen, .timeout = 5) {
  char value[200];
  memset(value, 'v', sizeof value);
  const struct weir_cell cells[] = {{value, sizeof value}, TEXT("b")};
  const struct set set = {{WEIR_T_TEXT, WEIR_T_TEXT}, {"a", "b"}, 2};
  char want[600];
  (void)snprintf(want, sizeof want,
                 " %-80s | b\n%.82s+---\n %.200s | b\n(1 row)\n", "a",
                 "-----------------------------------------------------------"
                 "-----------------------------------------------------------",
                 "");
  char *at = strstr(want, "\n  | b");
  memmove(at + 202, at + 2, strlen(at + 2) + 1);
  memset(at + 2, 'v', 200);
  expect(&out_table, 0, &set, cells, 1, want);
}

Test(out_csv, quotes_what_needs_it, .timeout = 5) {
  const struct set set = {{WEIR_T_TEXT, WEIR_T_TEXT}, {"a", "b,c"}, 2};
  const struct weir_cell cells[] = {
      TEXT("x"),      NONE,          TEXT(""),    TEXT("say \"hi\""),
      TEXT("1\r\n2"), TEXT(" lead"), TEXT("p,q"), TEXT("\xc3\xb3")};
  expect(
      &out_csv, 0, &set, cells, 4,
      "a,\"b,c\"\r\nx,\r\n\"\",\"say \"\"hi\"\"\"\r\n\"1\r\n2\",\" lead\"\r\n"
      "\"p,q\",\xc3\xb3\r\n");
}

Test(out_csv, separates_sets, .timeout = 5) {
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  struct out out;
  out_init(&out, &out_csv, to);
  for (int i = 0; i < 2; i++) {
    cr_assert_eq(begin_set(&out, &text_set), 0);
    cr_assert_eq(out_end(&out, true), 0);
  }
  out_fini(&out);
  (void)fclose(to);
  cr_assert_str_eq(text, "t\r\n\r\nt\r\n");
  free(text);
}

Test(out_json, escapes_strings, .timeout = 5) {
  const struct weir_cell cells[] = {
      TEXT("\"\\/\b\f\n\r\t"), TEXT("\0\x1f\x7f\xc2\x85"),
      TEXT("\xe2\x80\xa8\xf0\x9f\x98\x80"), TEXT("a\xff")};
  expect(&out_json, 0, &text_set, cells, 4,
         "{\"t\":\"\\\"\\\\/\\b\\f\\n\\r\\t\"}\n"
         "{\"t\":\"\\u0000\\u001f\\u007f\\u0085\"}\n"
         "{\"t\":\"\\u2028\xf0\x9f\x98\x80\"}\n"
         "{\"t\":\"a\xef\xbf\xbd\"}\n");
}

Test(out_json, keeps_every_digit, .timeout = 5) {
  const struct set set = {{WEIR_T_INT, WEIR_T_UINT, WEIR_T_DEC, WEIR_T_BOOL},
                          {"i", "u", "d", "b"},
                          4};
  const struct weir_cell cells[] = {TEXT("\1\0\0\0\0\0\x20\0"), /* 2^53 + 1 */
                                    TEXT("\xff\xff\xff\xff\xff\xff\xff\xff"),
                                    TEXT("0.10"),
                                    TEXT("\0"),
                                    NONE,
                                    NONE,
                                    NONE,
                                    NONE};
  expect(&out_json, 0, &set, cells, 2,
         "{\"i\":9007199254740993,\"u\":18446744073709551615,\"d\":\"0.10\","
         "\"b\":false}\n"
         "{\"i\":null,\"u\":null,\"d\":null,\"b\":null}\n");
}

Test(out_json, makes_names_distinct, .timeout = 5) {
  const struct set set = {{WEIR_T_DEC, WEIR_T_DEC, WEIR_T_DEC, WEIR_T_DEC},
                          {"a", "", "a", "a_2"},
                          4};
  const struct weir_cell cells[] = {TEXT("1"), TEXT("2"), TEXT("3"), TEXT("4")};
  expect(&out_json, 0, &set, cells, 1,
         "{\"a\":\"1\",\"column_2\":\"2\",\"a_3\":\"3\",\"a_2\":\"4\"}\n");
}

Test(out_json, leaves_columns_the_names_they_have, .timeout = 5) {
  const struct set set = {{WEIR_T_DEC, WEIR_T_DEC, WEIR_T_DEC, WEIR_T_DEC},
                          {"", "", "column_1", "column_1"},
                          4};
  const struct weir_cell cells[] = {TEXT("1"), TEXT("2"), TEXT("3"), TEXT("4")};
  expect(&out_json, 0, &set, cells, 1,
         "{\"column_1_2\":\"1\",\"column_2\":\"2\",\"column_1\":\"3\","
         "\"column_1_3\":\"4\"}\n");
}

/* Little-endian bytes of a binary64, as in a cell. */
static void put_double(unsigned char bytes[8], double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  for (int i = 0; i < 8; i++) {
    bytes[i] = (unsigned char)(bits >> (8 * i));
  }
}

Test(out_json, writes_floats_that_read_back, .timeout = 5) {
  static const struct {
    double value;
    const char *want;
  } rows[] = {{0.1, "0.1"},
              {1.0 / 3, "0.3333333333333333"},
              {5e-324, "4.94065645841247e-324"},
              {DBL_MAX, "1.7976931348623157e+308"},
              {-0.0, "-0"},
              {(double)NAN, "\"NaN\""},
              {(double)-INFINITY, "\"-Infinity\""}};
  const struct set set = {{WEIR_T_FLOAT}, {"f"}, 1};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    unsigned char bytes[8];
    char want[64];
    put_double(bytes, rows[i].value);
    const struct weir_cell cell = {bytes, 8};
    (void)snprintf(want, sizeof want, "{\"f\":%s}\n", rows[i].want);
    expect(&out_json, 0, &set, &cell, 1, want);
  }
}

Test(out, refuses_a_cell_of_the_wrong_size, .timeout = 5) {
  static const struct out_format *const formats[] = {&out_table, &out_json,
                                                     &out_csv};
  const struct set set = {{WEIR_T_INT}, {"i"}, 1};
  const struct weir_cell cell = TEXT("\1\0");
  for (size_t i = 0; i < 3; i++) {
    FILE *to = fopen("/dev/null", "w");
    struct out out;
    out_init(&out, formats[i], to);
    cr_assert_eq(begin_set(&out, &set), 0);
    cr_assert_eq(out_rows(&out, &cell, 1), -EPROTO);
    out_fini(&out);
    (void)fclose(to);
  }
}

/* A column struct of a younger library is larger than ours. */
Test(out, walks_columns_by_their_stride, .timeout = 5) {
  struct {
    struct weir_column column;
    char more[64];
  } columns[2];
  memset(columns, 0, sizeof columns);
  columns[0].column.name = "a";
  columns[0].column.name_len = 1;
  columns[1].column.name = "b";
  columns[1].column.name_len = 1;
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  struct out out;
  out_init(&out, &out_csv, to);
  cr_assert_eq(out_begin(&out, &columns[0].column, 2, sizeof columns[0]), 0);
  out_fini(&out);
  (void)fclose(to);
  cr_assert_str_eq(text, "a,b\r\n");
  free(text);
}

Test(out, reports_a_full_disk, .timeout = 5) {
  FILE *to = fopen("/dev/full", "w");
  struct out out;
  out_init(&out, &out_table, to);
  cr_assert_eq(begin_set(&out, &text_set), 0);
  cr_assert_eq(out_end(&out, true), -ENOSPC);
  out_fini(&out);
  (void)fclose(to);
}
