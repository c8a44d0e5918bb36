/* SPDX-License-Identifier: MIT */
/* Digits to magnitudes and doubles to digits. */
#include <math.h>
#include <string.h>

#include <criterion/criterion.h>

#include "tds_number.h"

static struct tds_span span_of(const char *text) {
  struct tds_span s = {(const uint8_t *)text, strlen(text)};
  return s;
}

Test(number, parses_times_a_power_of_ten, .timeout = 5) {
  static const struct {
    const char *text;
    unsigned scale;
    uint64_t magnitude;
    bool negative, rounded;
  } rows[] = {{"0", 0, 0, false, false},
              {"-12", 2, 1200, true, false},
              {"+1.5", 1, 15, false, false},
              {".25", 2, 25, false, false},
              {"1.", 0, 1, false, false},
              {"1.45", 1, 15, false, true},
              {"1.44", 1, 14, false, true},
              {"1.00", 1, 10, false, false},
              {"-0.5", 0, 1, true, true},
              {"18446744073709551615", 0, UINT64_MAX, false, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tds_number n;
    uint64_t m = 0;
    cr_expect_eq(tds_number_parse(span_of(rows[i].text), rows[i].scale, &n),
                 TDS_OK, "%s", rows[i].text);
    cr_expect(tds_number_narrow(&n, &m), "%s", rows[i].text);
    cr_expect_eq(m, rows[i].magnitude, "%s", rows[i].text);
    cr_expect_eq(n.negative, rows[i].negative, "%s", rows[i].text);
    cr_expect_eq(n.rounded, rows[i].rounded, "%s", rows[i].text);
  }
}

Test(number, refuses_what_is_no_number, .timeout = 5) {
  static const char *const rows[] = {"", "-", ".", "1e3", "1.2.3", "x", "1 "};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    struct tds_number n;
    cr_expect_eq(tds_number_parse(span_of(rows[i]), 2, &n), TDS_E_PROTO, "%s",
                 rows[i]);
  }
}

Test(number, tells_what_has_more_than_128_bits, .timeout = 5) {
  struct tds_number n;
  struct tds_number less;
  const char *most = "340282366920938463463374607431768211455";
  cr_expect_eq(tds_number_parse(span_of(most), 0, &n), TDS_OK);
  cr_expect_eq(tds_number_parse(span_of("1"), 38, &less), TDS_OK);
  cr_expect_gt(tds_number_compare(&n, &less), 0);
  cr_expect_eq(tds_number_compare(&less, &less), 0);
  cr_expect_eq(tds_number_parse(span_of(most), 1, &n), TDS_E_SPACE);
  cr_expect_eq(tds_number_parse(
                   span_of("340282366920938463463374607431768211455.5"), 0, &n),
               TDS_E_SPACE);
}

Test(number, gives_the_complement_of_what_fits, .timeout = 5) {
  struct tds_number n;
  uint64_t bits = 0;
  (void)tds_number_parse(span_of("-128"), 0, &n);
  cr_expect(tds_number_signed(&n, 1, &bits));
  cr_expect_eq((uint8_t)bits, 0x80);
  n.negative = false;
  cr_expect_not(tds_number_signed(&n, 1, &bits));
  cr_expect(tds_number_signed(&n, 2, &bits));
  cr_expect_eq(bits, 128);
}

Test(number, prints_doubles_exactly, .timeout = 5) {
  static const struct {
    double d;
    const char *whole, *behind; /* without zeros in front, first digits */
  } rows[] = {{0, "", "000"},
              {0.1, "", "1000000000000000055511151231257827"},
              {-2.5, "2", "5000"},
              {0x1p100, "1267650600228229401496703205376", "000"}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char room[TDS_NUMBER_ROOM] = "";
    struct tds_span s = {NULL, 0};
    cr_assert(tds_number_print(rows[i].d, room, &s));
    cr_expect_eq(s.p[0], rows[i].d < 0 ? '-' : '+');
    const char *first = room + 1 + strspn(room + 1, "0");
    const char *point = memchr(room, '.', s.n);
    cr_assert_not_null(point);
    cr_expect_eq((size_t)(point - first), strlen(rows[i].whole));
    cr_expect_eq(memcmp(first, rows[i].whole, strlen(rows[i].whole)), 0);
    cr_expect_eq(memcmp(point + 1, rows[i].behind, strlen(rows[i].behind)), 0);
  }
}

Test(number, prints_no_double_beyond_every_type, .timeout = 5) {
  static const double rows[] = {1e39, -1e39, (double)INFINITY, (double)NAN};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    char room[TDS_NUMBER_ROOM] = "";
    struct tds_span s = {NULL, 0};
    cr_expect_not(tds_number_print(rows[i], room, &s));
  }
}
