/* SPDX-License-Identifier: MIT */
/* Characters, widths and spans of time. */
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include <criterion/criterion.h>

#include "duration.h"
#include "text_buf.h"
#include "text_width.h"
#include "utf8.h"

Test(utf8, reads_each_length, .timeout = 5) {
  static const struct {
    const char *s;
    size_t len;
    uint32_t c;
  } rows[] = {{"a", 1, 'a'},
              {"\xc3\xb3", 2, 0xF3},
              {"\xe2\x82\xac", 3, 0x20AC},
              {"\xf0\x9f\x98\x80", 4, 0x1F600},
              {"\xf4\x8f\xbf\xbf", 4, 0x10FFFF}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint32_t c = 0;
    cr_assert_eq(utf8_next(rows[i].s, rows[i].len, &c), rows[i].len);
    cr_assert_eq(c, rows[i].c);
  }
}

Test(utf8, takes_one_byte_where_there_is_no_character, .timeout = 5) {
  static const char *const rows[] = {"\x80",
                                     "\xc0\x80",
                                     "\xc1\xbf",
                                     "\xe0\x9f\xbf",
                                     "\xed\xa0\x80",
                                     "\xf0\x8f\xbf\xbf",
                                     "\xf4\x90\x80\x80",
                                     "\xf5\x80\x80\x80",
                                     "\xff",
                                     "\xe2\x82",
                                     "\xc3(",
                                     "\xf0\x9f\x98"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    uint32_t c = 0;
    cr_assert_eq(utf8_next(rows[i], strlen(rows[i]), &c), 1, "row %zu", i);
    cr_assert_eq(c, UTF8_REPLACEMENT);
  }
}

Test(utf8, finds_the_first_bad_byte, .timeout = 5) {
  cr_assert_eq(utf8_find_bad("za\xc5\xbc\xff!", 6), 4);
  cr_assert_eq(utf8_find_bad("za\xc5\xbc", 4), 4);
}

Test(text_buf, writes_what_utf8_reads, .timeout = 5) {
  static const uint32_t chars[] = {0x41,   0x7FF,   0x800,
                                   0xFFFF, 0x10000, 0x10FFFF};
  for (size_t i = 0; i < sizeof chars / sizeof chars[0]; i++) {
    struct text_buf buf = {0};
    uint32_t c = 0;
    text_buf_add_char(&buf, chars[i]);
    cr_assert_eq(utf8_next(buf.p, buf.len, &c), buf.len);
    cr_assert_eq(c, chars[i]);
    text_buf_free(&buf);
  }
}

Test(text_width, counts_columns, .timeout = 5) {
  static const struct {
    const char *s;
    size_t columns;
  } rows[] = {
      {"", 0},
      {"za\xc5\xbc\xc3\xb3\xc5\x82\xc4\x87", 6}, /* precomposed */
      {"e\xcc\x81", 1},                          /* e, combining acute */
      {"\xe6\x97\xa5\xe6\x9c\xac", 4},           /* ideographs */
      {"\xef\xbc\xa1", 2},                       /* fullwidth A */
      {"\xf0\x9f\x98\x80", 2},                   /* emoji */
      {"a\xe2\x80\x8d", 1},                      /* zero width joiner */
      {"\xff", 1},                               /* not UTF-8 */
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cr_assert_eq(text_width(rows[i].s, strlen(rows[i].s)), rows[i].columns,
                 "row %zu", i);
  }
}

/* The C library's table is of another Unicode version and treats some unusual
 * characters differently; scripts that people write must agree. */
Test(text_width, agrees_with_the_c_library, .timeout = 5) {
  static const struct {
    uint32_t first;
    uint32_t last;
  } ranges[] = {{0x20, 0x7E},     {0xA1, 0xAC},       {0xAE, 0x482},
                {0x4E00, 0x9FFF}, {0xAC00, 0xD7A3},   {0x3041, 0x3096},
                {0xFF01, 0xFF60}, {0x1F600, 0x1F64F}, {0x5D0, 0x5EA},
                {0x900, 0x939},   {0x20000, 0x2A6DD}};
  cr_assert_not_null(setlocale(LC_CTYPE, "C.UTF-8"));
  for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
    for (uint32_t c = ranges[i].first; c <= ranges[i].last; c++) {
      int want = wcwidth((wchar_t)c);
      cr_assert(want < 0 || (unsigned)want == char_width(c), "U+%04X: %d, %u",
                c, want, char_width(c));
    }
  }
}

Test(text_fit, never_cuts_a_character, .timeout = 5) {
  const char *wide = "\xe6\x97\xa5\xe6\x9c\xac";
  cr_assert_eq(text_fit(wide, 6, 1), 0);
  cr_assert_eq(text_fit(wide, 6, 3), 3);
  cr_assert_eq(text_fit(wide, 6, 4), 6);
  cr_assert_eq(text_fit("e\xcc\x81x", 4, 1), 3, "the accent stays on its e");
}

Test(duration, reads_numbers_with_units, .timeout = 5) {
  static const struct {
    const char *text;
    int64_t ns;
  } rows[] = {{"2", 2000000000},
              {"0", 0},
              {"0.5", 500000000},
              {"500ms", 500000000},
              {"1 min", 60000000000},
              {"7us", 7000},
              {"3ns", 3},
              {"1h", 3600000000000},
              {"1.5s", 1500000000}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t ns = -1;
    cr_assert_eq(duration_parse(rows[i].text, &ns), 0, "%s", rows[i].text);
    cr_assert_eq(ns, rows[i].ns, "%s", rows[i].text);
  }
}

Test(duration, refuses_all_else, .timeout = 5) {
  static const char *const rows[] = {
      "",     "-1", "1.2.3", "1 x",     "ms",   "inf",
      "0x10", " 1", "1e3",   "400000h", "1  s", "999999999999999999999"};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    int64_t ns = -1;
    cr_assert_eq(duration_parse(rows[i], &ns), -1, "%s", rows[i]);
    cr_assert_eq(ns, -1);
  }
}

Test(duration, is_told_in_three_digits, .timeout = 5) {
  static const struct {
    int64_t ns;
    const char *text;
  } rows[] = {{0, "0 ns"},
              {999, "999 ns"},
              {1000, "1.00 us"},
              {9994, "9.99 us"},
              {9996, "10.0 us"},
              {61234567, "61.2 ms"},
              {999499999, "999 ms"},
              {999500000, "1.00 s"},
              {1500000000, "1.50 s"},
              {3600000000000, "3600 s"},
              {INT64_MAX, "9223372037 s"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char buf[32];
    cr_assert_str_eq(duration_text(rows[i].ns, buf), rows[i].text);
  }
}
