/* SPDX-License-Identifier: MIT */
/* test_text.c - characters whole, cut and broken. */
#include <string.h>

#include <criterion/criterion.h>

#include "tds_codepage.h"
#include "tds_text.h"

#define FFFD "\xEF\xBF\xBD"

struct sample {
  uint8_t charset;
  const char *in;
  size_t n;
  const char *out;
};

static const struct sample samples[] = {
    {TDS_CHARSET_UTF16, "a\0\xF3\0\xAC\x20\x3D\xD8\x00\xDE", 10,
     "a\xC3\xB3\xE2\x82\xAC\xF0\x9F\x98\x80"},
    {TDS_CHARSET_UTF16, "\x3D\xD8x\0", 4, FFFD "x"},
    {TDS_CHARSET_UTF16, "\x00\xDEx\0", 4, FFFD "x"},
    {TDS_CHARSET_UTF16, "\x3D\xD8\x3D\xD8\x00\xDE", 6, FFFD "\xF0\x9F\x98\x80"},
    {TDS_CHARSET_UTF16, "x\0y", 3, "x" FFFD},
    {TDS_CHARSET_UTF16, "\x3D\xD8", 2, FFFD},
    {TDS_CHARSET_UTF8, "a\xC3\xB3\xE2\x82\xAC\xF0\x9F\x98\x80", 10,
     "a\xC3\xB3\xE2\x82\xAC\xF0\x9F\x98\x80"},
    {TDS_CHARSET_UTF8, "\xC3x", 2, FFFD "x"},
    {TDS_CHARSET_UTF8, "\x80\xFF", 2, FFFD FFFD},
    {TDS_CHARSET_UTF8, "\xC0\x80", 2, FFFD FFFD},
    {TDS_CHARSET_UTF8, "\xE0\x80\x80", 3, FFFD},
    {TDS_CHARSET_UTF8, "\xED\xA0\x80", 3, FFFD},
    {TDS_CHARSET_UTF8, "\xF4\x90\x80\x80", 4, FFFD},
    {TDS_CHARSET_UTF8, "a\xE2\x82", 3, "a" FFFD},
    {(TDS_CHARSET_PAGE + TDS_CP1252), "a\xF3\x80\x81", 4,
     "a\xC3\xB3\xE2\x82\xAC\xC2\x81"},
    {TDS_CHARSET_PAGE + TDS_CP1251, "\xCF\xF0\x98", 3, "\xD0\x9F\xD1\x80" FFFD},
    {TDS_CHARSET_PAGE + TDS_CP437, "\x81\xE1", 2, "\xC3\xBC\xC3\x9F"},
    {TDS_CHARSET_PAGE + TDS_CP932, "\x93\xFA\x96{\xB1", 5,
     "\xE6\x97\xA5\xE6\x9C\xAC\xEF\xBD\xB1"},
    {TDS_CHARSET_PAGE + TDS_CP932, "\x81\"x", 3, FFFD "\"x"},
    {TDS_CHARSET_PAGE + TDS_CP932, "\x85\xFDx", 3, FFFD "x"},
    {TDS_CHARSET_PAGE + TDS_CP932, "x\x93", 2, "x" FFFD},
    {TDS_CHARSET_PAGE + TDS_CP936, "\x80\xD6\xD0\xFF", 4,
     "\xE2\x82\xAC\xE4\xB8\xAD\xEF\xA3\xB5"},
    {TDS_CHARSET_PAGE + TDS_CP949, "\xC7\xD1\x81\x41", 4,
     "\xED\x95\x9C\xEA\xB0\x82"},
    {TDS_CHARSET_PAGE + TDS_CP950, "\xA4\xA4\xA4\x7F", 4,
     "\xE4\xB8\xAD" FFFD "\x7F"},
    {TDS_CHARSET_NONE, "\xFF\x80", 2, "\xFF\x80"},
};

/* Converts in pieces of `piece` bytes; each bound must hold. */
static void check(const struct sample *s, size_t piece) {
  struct tds_text t = {.charset = s->charset};
  uint8_t out[256];
  size_t o = 0;
  for (size_t at = 0; at < s->n; at += piece) {
    size_t n = s->n - at < piece ? s->n - at : piece;
    const uint8_t *p = (const uint8_t *)s->in + at;
    size_t bound = tds_text_size(&t, p, n);
    size_t k = tds_text_push(&t, p, n, out + o);
    cr_assert_leq(k, bound);
    o += k;
  }
  o += tds_text_finish(&t, out + o);
  cr_assert_eq(o, strlen(s->out), "sample %td", s - samples);
  cr_assert_arr_eq(out, s->out, o);
}

Test(text, is_the_same_in_every_piece_size, .timeout = 5) {
  for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
    for (size_t piece = 1; piece <= samples[i].n; piece++) {
      check(&samples[i], piece);
    }
  }
}

Test(text, bounds_ascii_exactly, .timeout = 5) {
  struct tds_text t = {.charset = TDS_CHARSET_UTF16};
  cr_expect_eq(tds_text_size(&t, (const uint8_t *)"a\0b\0", 4), 2);
}

static const struct {
  const char *text;
  size_t valid;
} validity[] = {
    {"", 0},
    {"abc", 3},
    {"a\xC3\xB3", 3},
    {"a\xC3", 1},
    {"\xC0\x80", 0},
    {"ab\xED\xA0\x80", 2},
    {"\xFF", 0},
    {"\xF0\x9F\x98\x80", 4},
    {"\xF0\x9F\x98", 0},
    {"\xEF\xBF\xBD", 3},
    {"x\xF4\x90\x80\x80", 1},
    {"\xE2\x28\xA1", 0},
};

Test(text, finds_the_first_byte_that_is_not_utf8, .timeout = 5) {
  for (size_t i = 0; i < sizeof validity / sizeof validity[0]; i++) {
    size_t n = strlen(validity[i].text);
    cr_expect_eq(tds_text_valid(validity[i].text, n), validity[i].valid, "%zu",
                 i);
  }
}

Test(text, goes_through_utf16_and_back_for_every_character, .timeout = 20) {
  for (uint32_t code = 1; code <= 0x10FFFF; code += code < 0x11000 ? 1 : 61) {
    struct tds_text t = {.charset = TDS_CHARSET_UTF16};
    uint8_t unit[4];
    uint8_t utf8[TDS_TEXT_BOUND(4)];
    if (code >= 0xD800 && code <= 0xDFFF) {
      continue;
    }
    size_t n = tds_text_put16(code, unit);
    n = tds_text_push(&t, unit, n, utf8);
    struct tds_span s = {utf8, n};
    cr_assert_eq(tds_text_next(&s), code);
    cr_assert_eq(s.n, 0);
  }
}

Test(text, does_not_write_past_the_room, .timeout = 5) {
  uint8_t out[4];
  size_t n = 0;
  cr_expect_eq(tds_text_to16("abc", 3, out, sizeof out, &n), TDS_E_SPACE);
  cr_expect_eq(tds_text_to16("ab", 2, out, sizeof out, &n), TDS_OK);
  cr_expect_eq(n, 4);
  cr_expect_eq(tds_text_to16("\x80", 1, out, sizeof out, &n), TDS_E_PROTO);
}

Test(text, knows_the_utf8_bit_of_a_collation, .timeout = 5) {
  cr_expect_eq(tds_text_charset((const uint8_t *)"\x09\x04\xD0\x00\x34"),
               (TDS_CHARSET_PAGE + TDS_CP1252));
  cr_expect_eq(tds_text_charset((const uint8_t *)"\x09\x04\x00\x24\x00"),
               TDS_CHARSET_UTF8);
  cr_expect_eq(tds_text_charset((const uint8_t *)"\x09\x04\x00\x02\x00"),
               (TDS_CHARSET_PAGE + TDS_CP1252));
}

Test(text, scrambles_as_ms_tds_says, .timeout = 5) {
  uint8_t p[2] = {'a', 0};
  tds_text_scramble(p, 2);
  cr_expect_eq(p[0], 0xB3);
  cr_expect_eq(p[1], 0xA5);
}
