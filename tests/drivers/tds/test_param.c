/* SPDX-License-Identifier: MIT */
/* test_param.c - values to wire bytes: edges by hand, random values through the
 * decoder of rows and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "param_kit.h"
#include "tds_codepage.h"
#include "tds_param.h"
#include "tds_text.h"
#include "tds_value.h"

static const uint8_t latin1[5] = {0x09, 0x04, 0xD0, 0x00, 0x34};

/* Encodes and decodes.  The cell as text; "! reason" if it is refused. */
static void round_trip(const struct weir_drv_param *p,
                       char *out,
                       size_t cap,
                       uint8_t wire[TDS_SCALAR_MAX],
                       size_t *out_wire) {
  struct tds_hint h;
  struct tds_type type;
  struct tds_reason why;
  const char *bad = "";
  uint8_t info[TDS_HINT_INFO_MAX];
  uint8_t cell[TDS_CELL_MAX];
  size_t n = 0;
  cr_assert_eq(tds_hint_parse(p->type_hint.p, (size_t)p->type_hint.n, &h, &bad),
               TDS_OK, "%s", bad);
  if (tds_param_scalar(&h, &p->value, wire, out_wire, &why) != TDS_OK) {
    (void)snprintf(out, cap, "! %s", why.text);
    return;
  }
  cr_assert_eq(wire[0] + 1u, *out_wire);
  (void)tds_hint_info(&h, latin1, info);
  cr_assert_eq(tds_type_set(&type, tds_type_find(info[0]), info + 1), TDS_OK);
  cr_assert_leq(wire[0], type.max);
  cr_assert_eq(tds_value_cell(&type, wire + 1, wire[0], cell, &n), TDS_OK);
  switch (type.rule->cell) {
  case WEIR_DRV_T_INT:
    (void)snprintf(out, cap, "%lld", (long long)tds_u64(cell));
    break;
  case WEIR_DRV_T_BOOL:
    (void)snprintf(out, cap, "%u", cell[0]);
    break;
  case WEIR_DRV_T_FLOAT: {
    double d = 0;
    memcpy(&d, cell, 8);
    (void)snprintf(out, cap, "%.17g", d);
    break;
  }
  case WEIR_DRV_T_UUID:
    for (size_t i = 0; i < n; i++) {
      (void)snprintf(out + 2 * i, 3, "%02x", cell[i]);
    }
    break;
  default:
    fake_copy(out, cap, (const char *)cell, n);
    break;
  }
}

static void check(const struct weir_drv_param *p, const char *want) {
  char have[200];
  uint8_t wire[TDS_SCALAR_MAX];
  size_t n = 0;
  round_trip(p, have, sizeof have, wire, &n);
  cr_expect_str_eq(have, want, "%s: %s, not %s", p->type_hint.p, have, want);
}

struct sample {
  const char *hint;
  const char *text; /* as TEXT */
  const char *cell;
};

static const struct sample texts[] = {
    {"bit", "0", "0"},
    {"bit", " 1 ", "1"},
    {"bit", "TRUE", "1"},
    {"bit", "false", "0"},
    {"bit", "1.0", "1"},
    {"bit", "2", "! neither 0 nor 1"},
    {"bit", "-1", "! neither 0 nor 1"},
    {"bit", "yes", "! not a number"},
    {"bit", "", "! not a number"},
    {"tinyint", "255", "255"},
    {"tinyint", "256", "! out of range"},
    {"tinyint", "-1", "! out of range"},
    {"tinyint", "-0", "0"},
    {"smallint", "-32768", "-32768"},
    {"smallint", "-32769", "! out of range"},
    {"smallint", "32768", "! out of range"},
    {"int", "2147483647", "2147483647"},
    {"int", "2147483648", "! out of range"},
    {"int", "-2147483648", "-2147483648"},
    {"int", "+7", "7"},
    {"int", "7.5", "! not a whole number"},
    {"int", "7.0", "7"},
    {"int", "7.", "7"},
    {"int", ".", "! not a number"},
    {"int", "-", "! not a number"},
    {"int", "1e3", "! not a number"},
    {"int", "1 2", "! not a number"},
    {"int", "\xD9\xA1", "! not a number"},
    {"bigint", "9223372036854775807", "9223372036854775807"},
    {"bigint", "9223372036854775808", "! out of range"},
    {"bigint", "-9223372036854775808", "-9223372036854775808"},
    {"bigint", "-9223372036854775809", "! out of range"},
    {"bigint", "340282366920938463463374607431768211456", "! out of range"},
    {"bigint", "99999999999999999999999999999999999999999999x",
     "! not a number"},
    {"decimal(5,2)", "999.99", "999.99"},
    {"decimal(5,2)", "1000", "! out of range"},
    {"decimal(5,2)", "999.994", "999.99"},
    {"decimal(5,2)", "999.995", "! out of range"},
    {"decimal(5,2)", "-0.005", "-0.01"},
    {"decimal(5,2)", "-0.004", "0.00"},
    {"decimal(5,2)", ".5", "0.50"},
    {"decimal(38,0)", "99999999999999999999999999999999999999",
     "99999999999999999999999999999999999999"},
    {"decimal(38,0)", "100000000000000000000000000000000000000",
     "! out of range"},
    {"decimal(38,0)", "99999999999999999999999999999999999999.5",
     "! out of range"},
    {"decimal(38,38)", "0.99999999999999999999999999999999999999",
     "0.99999999999999999999999999999999999999"},
    {"decimal(38,38)", "1", "! out of range"},
    {"numeric(10,3)", "-1234567.891", "-1234567.891"},
    {"money", "922337203685477.5807", "922337203685477.5807"},
    {"money", "922337203685477.5808", "! out of range"},
    {"money", "-922337203685477.5808", "-922337203685477.5808"},
    {"money", "0.00005", "0.0001"},
    {"smallmoney", "214748.3647", "214748.3647"},
    {"smallmoney", "214748.3648", "! out of range"},
    {"smallmoney", "-214748.3648", "-214748.3648"},
    {"float", "1.5e3", "1500"},
    {"float", "-.5E-1", "-0.050000000000000003"},
    {"float", "0.1", "0.10000000000000001"},
    {"float", "1e308", "1e+308"},
    {"float", "1e309", "! out of range"},
    {"float", "1e99999999999999999999", "! out of range"},
    {"float", "1e-99999", "0"},
    {"float", "1e", "! not a number"},
    {"float", "e5", "! not a number"},
    {"float", "nan", "! not a number"},
    {"float", "0x10", "! not a number"},
    {"real", "0.1", "0.10000000149011612"},
    {"real", "1e39", "! out of range"},
    {"date", "0001-01-01", "0001-01-01"},
    {"date", "9999-12-31", "9999-12-31"},
    {"date", "2024-02-29", "2024-02-29"},
    {"date", "2023-02-29", "! not a date or time as ISO 8601 has them"},
    {"date", "1900-02-29", "! not a date or time as ISO 8601 has them"},
    {"date", "0000-01-01", "! not a date or time as ISO 8601 has them"},
    {"date", "2023-13-01", "! not a date or time as ISO 8601 has them"},
    {"date", "23-01-01", "! not a date or time as ISO 8601 has them"},
    {"date", "2023-1-01", "! not a date or time as ISO 8601 has them"},
    {"date", "2023-01-01T00:00:00", "2023-01-01"},
    {"date", "2023-01-01T00:00:01",
     "! the type keeps neither a time of day nor an offset"},
    {"date", "10:00", "! a time without a date"},
    {"time(7)", "23:59:59.9999999", "23:59:59.9999999"},
    {"time(3)", "12:00:00.0005", "12:00:00.001"},
    {"time(0)", "12:34", "12:34:00"},
    {"time(0)", "23:59:59.5", "! out of range"},
    {"time(7)", "24:00:00", "! not a date or time as ISO 8601 has them"},
    {"time(7)", "12:60", "! not a date or time as ISO 8601 has them"},
    {"time(7)", "12:00:00.", "! not a date or time as ISO 8601 has them"},
    {"time(7)", "12:00:00+01:00",
     "! the type keeps neither a date nor an offset"},
    {"time(7)", "2023-01-01 12:00",
     "! the type keeps neither a date nor an offset"},
    {"datetime2(7)", "2023-01-01 12:00:00.123456789",
     "2023-01-01T12:00:00.1234568"},
    {"datetime2(0)", "2023-12-31T23:59:59.5", "2024-01-01T00:00:00"},
    {"datetime2(0)", "9999-12-31T23:59:59.5", "! out of range"},
    {"datetime2(2)", "12:00", "1900-01-01T12:00:00.00"},
    {"datetime2(2)", "2023-01-01", "2023-01-01T00:00:00.00"},
    {"datetime2(2)", "2023-01-01T00:00:00Z", "! the type keeps no offset"},
    {"datetime2(2)", "2023-01-01T",
     "! not a date or time as ISO 8601 has them"},
    {"datetime2(2)", "2023-01-01x",
     "! not a date or time as ISO 8601 has them"},
    {"datetimeoffset(1)", "2023-01-01T00:30:00.5+01:00",
     "2023-01-01T00:30:00.5+01:00"},
    {"datetimeoffset(0)", "2023-01-01T23:30:00-14:00",
     "2023-01-01T23:30:00-14:00"},
    {"datetimeoffset(0)", "2023-01-01T23:30:00Z", "2023-01-01T23:30:00+00:00"},
    {"datetimeoffset(0)", "2023-01-01", "2023-01-01T00:00:00+00:00"},
    {"datetimeoffset(0)", "0001-01-01T00:00:00+00:01", "! out of range"},
    {"datetimeoffset(0)", "9999-12-31T23:59:00-00:01", "! out of range"},
    {"datetimeoffset(0)", "2023-01-01T23:30:00+14:01",
     "! not a date or time as ISO 8601 has them"},
    {"datetimeoffset(0)", "2023-01-01T23:30:00+15:00",
     "! not a date or time as ISO 8601 has them"},
    {"datetimeoffset(0)", "2023-01-01T23:30:00 +01:00",
     "! not a date or time as ISO 8601 has them"},
    {"datetime", "1753-01-01", "1753-01-01T00:00:00.000"},
    {"datetime", "1752-12-31", "! out of range"},
    {"datetime", "9999-12-31T23:59:59.997", "9999-12-31T23:59:59.997"},
    {"datetime", "9999-12-31T23:59:59.999", "! out of range"},
    {"datetime", "2023-01-01T00:00:00.001", "2023-01-01T00:00:00.000"},
    {"datetime", "2023-01-01T00:00:00.002", "2023-01-01T00:00:00.003"},
    {"datetime", "2023-01-01T00:00:00.005", "2023-01-01T00:00:00.007"},
    {"datetime", "2023-12-31T23:59:59.999", "2024-01-01T00:00:00.000"},
    {"datetime", "12:00:00", "1900-01-01T12:00:00.000"},
    {"smalldatetime", "1900-01-01", "1900-01-01T00:00:00"},
    {"smalldatetime", "1899-12-31T23:59:29", "! out of range"},
    {"smalldatetime", "2079-06-06T23:59:29", "2079-06-06T23:59:00"},
    {"smalldatetime", "2079-06-06T23:59:30", "! out of range"},
    {"smalldatetime", "2023-01-01T12:00:30", "2023-01-01T12:01:00"},
    {"uniqueidentifier", "00112233-4455-6677-8899-aAbBcCdDeEfF",
     "00112233445566778899aabbccddeeff"},
    {"uniqueidentifier", "{00112233-4455-6677-8899-aabbccddeeff}",
     "00112233445566778899aabbccddeeff"},
    {"uniqueidentifier", "00112233-4455-6677-8899-aabbccddeef", "! not a UUID"},
    {"uniqueidentifier", "00112233-4455-6677-8899-aabbccddeefg",
     "! not a UUID"},
    {"uniqueidentifier", "001122334455-6677-8899-aabbccddeeff-",
     "! not a UUID"},
};

Test(param, knows_the_edges_of_every_type, .timeout = 5) {
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    struct weir_drv_param p = kit_text("@a", texts[i].hint, texts[i].text);
    char name[100];
    (void)snprintf(name, sizeof name, "%s '%s'", texts[i].hint, texts[i].text);
    char have[200];
    uint8_t wire[TDS_SCALAR_MAX];
    size_t n = 0;
    round_trip(&p, have, sizeof have, wire, &n);
    cr_expect_str_eq(have, texts[i].cell, "%s: %s, not %s", name, have,
                     texts[i].cell);
  }
}

Test(param, converts_between_kinds_only_without_loss, .timeout = 5) {
  const struct {
    struct weir_drv_param p;
    const char *cell;
  } cases[] = {
      {kit_bool("@a", "int", 1), "1"},
      {kit_bool("@a", "bit", 7), "1"},
      {kit_int("@a", "bit", 1), "1"},
      {kit_int("@a", "bit", 2), "! neither 0 nor 1"},
      {kit_int("@a", "decimal(3,1)", -99), "-99.0"},
      {kit_int("@a", "decimal(3,1)", 100), "! out of range"},
      {kit_int("@a", "money", INT64_MAX), "! out of range"},
      {kit_int("@a", "float", 1), "1"},
      {kit_int("@a", "float", INT64_C(9007199254740993)),
       "! a whole number with more digits than the type keeps"},
      {kit_int("@a", "float", INT64_MAX),
       "! a whole number with more digits than the type keeps"},
      {kit_int("@a", "float", INT64_MIN), "-9.2233720368547758e+18"},
      {kit_int("@a", "real", 16777217),
       "! a whole number with more digits than the type keeps"},
      {kit_int("@a", "real", 16777216), "16777216"},
      {kit_uint("@a", "float", UINT64_MAX),
       "! a whole number with more digits than the type keeps"},
      {kit_uint("@a", "bigint", UINT64_MAX), "! out of range"},
      {kit_uint("@a", "decimal(20,0)", UINT64_MAX), "18446744073709551615"},
      {kit_float("@a", "int", 7), "7"},
      {kit_float("@a", "int", 7.5), "! not a whole number"},
      {kit_float("@a", "int", 1e300), "! out of range"},
      {kit_float("@a", "decimal(5,2)", 0.125), "0.13"},
      {kit_float("@a", "decimal(5,2)", -0.125), "-0.13"},
      {kit_float("@a", "decimal(38,0)", 1e37),
       "9999999999999999538762658202121142272"},
      {kit_float("@a", "decimal(38,38)", 5e-324),
       "0.00000000000000000000000000000000000000"},
      {kit_float("@a", "real", 0.1), "0.10000000149011612"},
      {kit_float("@a", "real", 1e39), "! out of range"},
      {kit_float("@a", "float", __builtin_inf()), "! not a finite number"},
      {kit_float("@a", "decimal(5,2)", __builtin_nan("")),
       "! not a finite number"},
      {kit_typed("@a", "bigint", WEIR_DRV_T_DEC, "12"), "12"},
      {kit_typed("@a", "float", WEIR_DRV_T_DEC, "-0.25"), "-0.25"},
      {kit_typed("@a", "int", WEIR_DRV_T_TIME, "12:00"),
       "! a date or time is no number"},
      {kit_bytes("@a", "date", "x", 1), "! the value is no date or time"},
      {kit_int("@a", "date", 1), "! the value is no date or time"},
      {kit_bytes("@a", "uniqueidentifier", "0123456789abcdef", 16),
       "! not a UUID"},
      {kit_value("@a", "uniqueidentifier", WEIR_DRV_T_UUID, "0123456789abcde",
                 15),
       "! not a UUID"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    check(&cases[i].p, cases[i].cell);
  }
}

Test(param, says_null_of_every_scalar_with_one_zero_byte, .timeout = 5) {
  static const char *const hints[] = {"bit",   "int",       "float",
                                      "money", "decimal",   "date",
                                      "time",  "datetime2", "uniqueidentifier"};
  for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++) {
    struct tds_hint h;
    const char *bad = "";
    struct tds_reason why;
    struct weir_drv_param p = kit_null("@a", hints[i]);
    uint8_t wire[TDS_SCALAR_MAX];
    size_t n = 0;
    cr_assert_eq(tds_hint_parse(hints[i], strlen(hints[i]), &h, &bad), TDS_OK);
    cr_assert_eq(tds_param_scalar(&h, &p.value, wire, &n, &why), TDS_OK);
    cr_expect(n == 1 && wire[0] == 0, "%s", hints[i]);
  }
}

/* ------------------------------------------------------------------ property */

static uint64_t seed = 12345;

static uint64_t draw(uint64_t n) {
  seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (seed >> 33) % n;
}

/* Digits of a number that fits a decimal(precision, scale), as the decoder
 * writes it. */
static void draw_decimal(unsigned precision, unsigned scale, char *out) {
  unsigned whole = precision - scale;
  unsigned used = whole == 0 ? 0 : (unsigned)draw(whole + 1);
  size_t n = 0;
  bool zero = true;
  if (draw(2) == 1) {
    out[n++] = '-';
  }
  if (used == 0) {
    out[n++] = '0';
  }
  for (unsigned i = 0; i < used; i++) {
    out[n] = (char)('0' + (i == 0 ? 1 + draw(9) : draw(10)));
    zero = zero && out[n] == '0';
    n++;
  }
  if (scale > 0) {
    out[n++] = '.';
  }
  for (unsigned i = 0; i < scale; i++) {
    out[n] = (char)('0' + draw(10));
    zero = zero && out[n] == '0';
    n++;
  }
  out[n] = '\0';
  if (zero && out[0] == '-') {
    memmove(out, out + 1, n);
  }
}

Test(param, gives_back_random_decimals, .timeout = 20) {
  for (int i = 0; i < 20000; i++) {
    char hint[40];
    char text[60];
    unsigned precision = 1 + (unsigned)draw(38);
    unsigned scale = (unsigned)draw(precision + 1);
    (void)snprintf(hint, sizeof hint, "decimal(%u,%u)", precision, scale);
    draw_decimal(precision, scale, text);
    struct weir_drv_param p = kit_typed("@a", hint, WEIR_DRV_T_DEC, text);
    check(&p, text);
  }
}

Test(param, gives_back_random_numbers, .timeout = 20) {
  for (int i = 0; i < 20000; i++) {
    char want[60];
    int64_t v = 0;
    uint64_t u = draw(UINT64_MAX >> 33) << 33 ^ draw(UINT64_MAX >> 31);
    u >>= draw(64);
    u = draw(2) == 1 ? ~u : u;
    memcpy(&v, &u, sizeof v);
    (void)snprintf(want, sizeof want, "%lld", (long long)v);
    struct weir_drv_param p = kit_int("@a", "bigint", v);
    check(&p, want);
    double d = 0;
    uint64_t bits = draw(UINT64_MAX >> 33) << 33 ^ draw(UINT64_MAX >> 31) << 2;
    memcpy(&d, &bits, sizeof d);
    if (!__builtin_isfinite(d)) {
      continue;
    }
    (void)snprintf(want, sizeof want, "%.17g", d);
    p = kit_float("@a", "float", d);
    check(&p, want);
    p = kit_text("@a", "float", want);
    check(&p, want);
  }
}

/* A double becomes a decimal as its whole expansion does. */
Test(param, rounds_doubles_by_all_their_digits, .timeout = 20) {
  for (int i = 0; i < 20000; i++) {
    double d = 0;
    uint64_t power = 1023 - 160 + draw(290); /* about 1e-48 to 1e39 */
    uint64_t bits = draw(2) << 63 | (i % 50 == 0 ? draw(2) : power) << 52 |
                    draw(1u << 30) << (i % 23);
    char text[1500];
    char hint[40];
    char want[200];
    uint8_t wire[TDS_SCALAR_MAX];
    size_t n = 0;
    memcpy(&d, &bits, sizeof d);
    unsigned scale = (unsigned)draw(39);
    (void)snprintf(hint, sizeof hint, "decimal(38,%u)", scale);
    (void)snprintf(text, sizeof text, "%.1074f", d);
    struct weir_drv_param as_text = kit_text("@a", hint, text);
    struct weir_drv_param as_float = kit_float("@a", hint, d);
    round_trip(&as_text, want, sizeof want, wire, &n);
    check(&as_float, want);
  }
}

Test(param, gives_back_random_moments, .timeout = 20) {
  static const char *const kinds[] = {"datetime2", "datetimeoffset", "time"};
  for (int i = 0; i < 20000; i++) {
    char hint[40];
    char text[60];
    char fraction[10] = "";
    size_t kind = draw(3);
    unsigned scale = (unsigned)draw(8);
    (void)snprintf(hint, sizeof hint, "%s(%u)", kinds[kind], scale);
    size_t n = 0;
    if (kind < 2) {
      n = (size_t)snprintf(text, sizeof text, "%04u-%02u-%02uT",
                           2 + (unsigned)draw(9997), 1 + (unsigned)draw(12),
                           1 + (unsigned)draw(28));
    }
    for (unsigned k = 0; k < scale; k++) {
      fraction[k] = (char)('0' + draw(10));
      fraction[k + 1] = '\0';
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "%02u:%02u:%02u%s%s",
                          (unsigned)draw(24), (unsigned)draw(60),
                          (unsigned)draw(60), scale > 0 ? "." : "", fraction);
    if (kind == 1) {
      unsigned minutes = (unsigned)draw(841);
      (void)snprintf(text + n, sizeof text - n, "%c%02u:%02u",
                     minutes > 0 && draw(2) == 1 ? '-' : '+', minutes / 60,
                     minutes % 60);
    }
    struct weir_drv_param p = kit_typed("@a", hint, WEIR_DRV_T_TIME, text);
    check(&p, text);
  }
}

Test(param, gives_back_every_day, .timeout = 20) {
  for (unsigned year = 1; year < 10000; year += 1 + (unsigned)draw(3)) {
    for (unsigned month = 1; month <= 12; month++) {
      char text[20];
      (void)snprintf(text, sizeof text, "%04u-%02u-%02u", year, month,
                     1 + (unsigned)draw(28));
      struct weir_drv_param p = kit_typed("@a", "date", WEIR_DRV_T_TIME, text);
      check(&p, text);
    }
  }
}

/* ---------------------------------------------------------------------- text */

/* Whatever the sizes of the pieces, measured and written bytes agree, and the
 * decoder gives the text back. */
static void check_text(uint8_t charset, const char *text, size_t n) {
  struct tds_measure m = {{(const uint8_t *)text, n}, charset, NULL, 0, 0};
  struct tds_text_out o = {.text = {(const uint8_t *)text, n},
                           .charset = charset};
  struct tds_text t = {.charset = charset};
  uint8_t *wire = malloc(4 * n + 8);
  uint8_t *back = malloc(TDS_TEXT_BOUND(4 * n + 8));
  size_t at = 0;
  size_t used = 0;
  cr_assert(wire != NULL && back != NULL);
  while (tds_measure_more(&m, 1 + draw(7)) == TDS_MORE) {
  }
  cr_assert_eq(m.left.n, 0);
  for (size_t k = 1; k > 0 && !tds_text_out_over(&o); at += k) {
    k = tds_text_out_put(&o, wire + at, 1 + draw(9));
  }
  cr_expect_eq(at, m.bytes);
  used = tds_text_push(&t, wire, at, back);
  used += tds_text_finish(&t, back + used);
  cr_expect(used == n && memcmp(back, text, n) == 0);
  free(wire);
  free(back);
}

Test(param, gives_back_random_text, .timeout = 20) {
  static const char *const parts[] = {"a", "\xC3\xB3", "\xE2\x82\xAC",
                                      "\xF0\x9F\x98\x80"};
  for (int i = 0; i < 5000; i++) {
    char text[200];
    size_t n = 0;
    size_t most = draw(40);
    bool page = draw(2) == 1;
    for (size_t k = 0; k < most; k++) {
      n += (size_t)snprintf(text + n, sizeof text - n, "%s",
                            parts[draw(page ? 3 : 4)]);
    }
    check_text(page ? TDS_CHARSET_PAGE : TDS_CHARSET_UTF16, text, n);
  }
}

/* Every character of the two-byte pages comes back as it was, and those that
 * have several places get the one that Windows gives them. */
Test(param, finds_every_character_of_the_two_byte_pages, .timeout = 20) {
  static const struct {
    uint8_t page;
    uint16_t code;
    uint16_t bytes;
  } chosen[] = {{TDS_CP932, 0x2252, 0x81E0}, {TDS_CP932, 0x221A, 0x81E3},
                {TDS_CP932, 0x2235, 0x81E6}, {TDS_CP932, 0xFFE2, 0x81CA},
                {TDS_CP932, 0x2160, 0x8754}, {TDS_CP932, 0x2170, 0xFA40},
                {TDS_CP932, 0x7E8A, 0xFA5C}, {TDS_CP932, 0xFF71, 0x00B1},
                {TDS_CP936, 0x20AC, 0x0080}, {TDS_CP936, 0x4E2D, 0xD6D0},
                {TDS_CP949, 0xAC00, 0xB0A1}, {TDS_CP950, 0x5341, 0xA451},
                {TDS_CP950, 0x2550, 0xF9F9}, {TDS_CP950, 0x4E00, 0xA440}};
  static uint16_t back[TDS_CODEPAGE_BACK];
  for (int at = TDS_CP932; at < TDS_CODEPAGES; at++) {
    const uint8_t page = (uint8_t)at;
    unsigned found = 0;
    tds_codepage_back(page, back);
    for (uint32_t code = 0x80; code < TDS_CODEPAGE_BACK; code++) {
      uint8_t wire[4];
      uint8_t utf8[TDS_TEXT_BOUND(4)];
      struct tds_text t = {.charset = (uint8_t)(TDS_CHARSET_PAGE + page)};
      size_t n = tds_param_char(t.charset, back, code, wire);
      if (n == 0) {
        continue;
      }
      size_t k = tds_text_push(&t, wire, n, utf8);
      k += tds_text_finish(&t, utf8 + k);
      struct tds_span s = {utf8, k};
      cr_expect_eq(tds_text_next(&s), code, "%u %04X", page, code);
      found++;
    }
    cr_expect_gt(found, 9000u, "%u: %u", page, found);
  }
  for (size_t i = 0; i < sizeof chosen / sizeof chosen[0]; i++) {
    tds_codepage_back(chosen[i].page, back);
    cr_expect_eq(back[chosen[i].code], chosen[i].bytes, "%u %04X: %04X",
                 chosen[i].page, chosen[i].code, back[chosen[i].code]);
  }
}

Test(param, names_the_character_a_page_lacks, .timeout = 5) {
  static const char text[] = "abc\xE4\xB8\xAD";
  struct tds_measure m = {
      {(const uint8_t *)text, 6}, TDS_CHARSET_PAGE, NULL, 0, 0};
  cr_expect_eq(tds_measure_more(&m, 100), TDS_E_UNSUPPORTED);
  cr_expect_eq(m.lacking, 0x4E2D);
}
