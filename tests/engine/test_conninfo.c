/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "weir.h"

#include "conninfo.h"
#include "secret.h"

/* text and its length, for texts with a NUL inside. */
#define T(s) s, sizeof(s) - 1

struct good {
  const char *text;
  size_t len;
  const char *pairs; /* name<value> each; ! behind a quoted value */
};

static const struct good good[] = {
    {T(""), ""},
    {T("   \t\r\n "), ""},
    {T(";;;"), ""},
    {T(" ; ; "), ""},
    {T("a=1"), "a<1>"},
    {T("a=1;"), "a<1>"},
    {T("a=1;;"), "a<1>"},
    {T(";;a=1;;b=2"), "a<1>b<2>"},
    {T("  a  =  1  ;  b  =  2  "), "a<1>b<2>"},
    {T("User ID=sa"), "User ID<sa>"},
    {T("User  ID = sa"), "User  ID<sa>"},
    {T("a\n=\n1\n;b\t=\t2"), "a<1>b<2>"},
    /* Empty values. */
    {T("a="), "a<>"},
    {T("a=;"), "a<>"},
    {T("a=  ;b=  "), "a<>b<>"},
    {T("a='';b=\"\";c={}"), "a<>!b<>!c<>!"},
    {T("a=' '"), "a< >!"},
    /* = in values and names. */
    {T("a=b=c"), "a<b=c>"},
    {T("a= =b"), "a<=b>"},
    {T("a=b==c"), "a<b==c>"},
    {T("a='=b'"), "a<=b>!"},
    {T("a==b=c"), "a=b<c>"},
    {T("a==b==c=d"), "a=b=c<d>"},
    {T("==a=b"), "=a<b>"},
    {T("a===b"), "a=<b>"},
    {T("a == b = c"), "a = b<c>"},
    /* Quotes. */
    {T("a='b;c'"), "a<b;c>!"},
    {T("a=\"b;c\""), "a<b;c>!"},
    {T("a='it''s'"), "a<it's>!"},
    {T("a=\"say \"\"x\"\"\""), "a<say \"x\">!"},
    {T("a='\"'"), "a<\">!"},
    {T("a=\"'\""), "a<'>!"},
    {T("a=''''"), "a<'>!"},
    {T("a=''';'"), "a<';>!"},
    {T("a='b' ; c=d"), "a<b>!c<d>"},
    {T("a='  b  '"), "a<  b  >!"},
    {T("a='b\nc\x01'"), "a<b\nc\x01>!"},
    {T("a=b'c"), "a<b'c>"},
    {T("a=b\"c;d=e"), "a<b\"c>d<e>"},
    {T("a=b''c"), "a<b''c>"},
    {T("a='{b}'"), "a<{b}>!"},
    /* Braces, in the way of ODBC (scenario 160). */
    {T("a={b}"), "a<b>!"},
    {T("a={b;c}"), "a<b;c>!"},
    {T("a={}}}"), "a<}>!"},
    {T("a={{}"), "a<{>!"},
    {T("a={}}}}}"), "a<}}>!"},
    {T("a={{a}"), "a<{a>!"},
    {T("a={a}}b}"), "a<a}b>!"},
    {T("a={{a;b}}}}c}"), "a<{a;b}}c>!"},
    {T("a={'b\"}"), "a<'b\">!"},
    {T("a={ b } ;c=d"), "a< b >!c<d>"},
    {T("a=b}"), "a<b}>"},
    {T("a=b{c}"), "a<b{c}>"},
    {T("a=b{;c=d"), "a<b{>c<d>"},
    /* Encoding. */
    {T("\357\273\277a=1"), "a<1>"},
    {T("\xef\xbb\xbf"), ""},
    {T("a=\xc5\xbc\xc3\xb3\xc5\x82w"), "a<\xc5\xbc\xc3\xb3\xc5\x82w>"},
    {T("a=\xf0\x9f\x90\x98"), "a<\xf0\x9f\x90\x98>"},
    {T("\xc3\xa9t\xc3\xa9=1"), "\xc3\xa9t\xc3\xa9<1>"},
    {T("\302\240a\342\200\203=\343\200\2001\302\240;"), "a<1>"},
    {T("a=1\0"), "a<1>"},
    {T("a=1 \0\0 \0"), "a<1>"},
    {T("a='1'\0"), "a<1>!"},
    /* Duplicates and other oddities. */
    {T("a=1;A=2;a=3"), "a<1>A<2>a<3>"},
    {T("a;b=1"), "a;b<1>"},
    {T("Server=tcp:h,1433;Password=p w;"), "Server<tcp:h,1433>Password<p w>"},
};

static void render(const struct weir__conninfo *ci, char *buf, size_t cap) {
  size_t n = 0;
  buf[0] = '\0';
  for (uint32_t i = 0; i < ci->n; i++) {
    const struct weir__conninfo_pair *p = &ci->pairs[i];
    cr_assert_eq(strlen(p->name), p->name_len);
    cr_assert_eq(strlen(p->value), p->value_len);
    n += (size_t)snprintf(buf + n, cap - n, "%s<%s>%s", p->name, p->value,
                          p->quoted ? "!" : "");
    cr_assert_lt(n, cap);
  }
}

Test(conninfo, reads_every_string_of_the_table, .timeout = 5) {
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
    struct weir_error err = {.struct_size = sizeof err};
    struct weir__conninfo ci = {0};
    char buf[512];
    int rc = weir__conninfo_parse(good[i].text, good[i].len, &ci, &err);
    cr_assert_eq(rc, WEIR_OK, "[%s] %s", good[i].text, err.message);
    render(&ci, buf, sizeof buf);
    cr_assert_str_eq(buf, good[i].pairs, "[%s]", good[i].text);
    weir__conninfo_fini(&ci);
  }
}

struct bad {
  const char *text;
  size_t len;
  const char *message;
};

#define C "connection string, byte "
static const struct bad bad[] = {
    {T("a"), C "1 (option 1): a name without \"=\" behind it"},
    {T("  abc  "), C "3 (option 1): a name without \"=\" behind it"},
    {T("a=1;b"), C "5 (option 2): a name without \"=\" behind it"},
    {T("a=="), C "1 (option 1): a name without \"=\" behind it"},
    {T("=1"), C "1 (option 1): \"=\" without a name before it"},
    {T("a=1; =2"), C "6 (option 2): \"=\" without a name before it"},
    {T("a='b"), C "3 (option 1): the quote that opens here is never closed"},
    {T("Password='b"),
     C "10 (\"Password\"): the quote that opens here is never "
       "closed"},
    {T("pwd=\"b;c=d"), C "5 (\"pwd\"): the quote that opens here is never "
                         "closed"},
    {T("a=\""), C "3 (option 1): the quote that opens here is never closed"},
    {T("a='b''"), C "3 (option 1): the quote that opens here is never closed"},
    {T("a=\"b'"), C "3 (option 1): the quote that opens here is never closed"},
    {T("Max Pool Size={5"), C "15 (\"Max Pool Size\"): the brace that opens "
                              "here is never closed"},
    {T("a={b}}"), C "3 (option 1): the brace that opens here is never closed"},
    {T("a={"), C "3 (option 1): the brace that opens here is never closed"},
    {T("a='b'c"), C "6 (option 1): only \";\" may follow a quoted value"},
    {T("a='b' c;d=e"), C "7 (option 1): only \";\" may follow a quoted value"},
    {T("a={b}c"), C "6 (option 1): only \";\" may follow a quoted value"},
    {T("a={}}"), C "3 (option 1): the brace that opens here is never closed"},
    {T("a=b'"),
     C "4 (option 1): the value ends with a quote but does not begin "
       "with one"},
    {T("a=b\" ;c=d"),
     C "4 (option 1): the value ends with a quote but does not "
       "begin with one"},
    {T("a=b\0c"), C "4 (option 1): a NUL byte is not allowed"},
    {T("a='b\0c'"), C "5 (option 1): a NUL byte is not allowed"},
    {T("a\0=b"), C "2 (option 1): a NUL byte is not allowed"},
    {T("\0a=b"), C "1 (option 1): a NUL byte is not allowed"},
    {T("a=b\x01"), C "4 (option 1): a control character in an unquoted value"},
    {T("a=b\x7f"), C "4 (option 1): a control character in an unquoted value"},
    {T("a=b\xc2\x81"), C "4 (option 1): a control character in an unquoted "
                         "value"},
    {T("a\x02=b"), C "2 (option 1): a control character in a name"},
    {T("a=\xff"), C "3: not UTF-8"},
    {T("a=\xc3"), C "3: not UTF-8"},
    {T("a=\xc0\xaf"), C "3: not UTF-8"},
    {T("a=\xed\xa0\x80"), C "3: not UTF-8"},
    {T("a=\xf4\x90\x80\x80"), C "3: not UTF-8"},
    {T("a=\xe2\x82"), C "3: not UTF-8"},
    {T("a=\x80"), C "3: not UTF-8"},
};

Test(conninfo, refuses_every_malformed_string_with_its_position, .timeout = 5) {
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct weir_error err = {.struct_size = sizeof err};
    struct weir__conninfo ci = {0};
    int rc = weir__conninfo_parse(bad[i].text, bad[i].len, &ci, &err);
    cr_assert_eq(rc, WEIR_E_ARG, "[%s]", bad[i].text);
    cr_assert_str_eq(err.message, bad[i].message, "[%s]", bad[i].text);
    cr_assert_eq(err.phase, WEIR_PHASE_PARSE);
    cr_assert_null(ci.memory, "the output is written on success only");
  }
}

Test(conninfo, the_last_of_several_options_counts, .timeout = 5) {
  struct weir__conninfo ci;
  cr_assert_eq(weir__conninfo_parse(T("Driver=a;x=1;DRIVER=b"), &ci, NULL), 0);
  const struct weir__conninfo_pair *p = weir__conninfo_find(&ci, "Driver");
  cr_assert_str_eq(p->value, "b");
  cr_assert_eq(p->position, 14);
  cr_assert_null(weir__conninfo_find(&ci, "Drive"));
  weir__conninfo_fini(&ci);
}

Test(conninfo, keeps_everything_in_secret_memory_and_wipes_it, .timeout = 5) {
  struct weir__conninfo ci;
  cr_assert_eq(weir__conninfo_parse(T("a='hunter2';b=1"), &ci, NULL), 0);
  const char *text = ci.text;
  const char *value = ci.pairs[0].value;
  cr_assert(weir__secret_owns(text) && weir__secret_owns(value));
  weir__conninfo_fini(&ci);
  /* The pages stay mapped: secret.h. */
  cr_assert_eq(text[3], 0);
  cr_assert_eq(value[0], 0);
}

Test(conninfo, raw_spans_cover_quotes_and_keep_the_text, .timeout = 5) {
  struct weir__conninfo ci;
  const char text[] = "\xef\xbb\xbf a = {b}}c} ; d= e ";
  cr_assert_eq(weir__conninfo_parse(T(text), &ci, NULL), 0);
  cr_assert_eq(ci.text_len, sizeof text - 1);
  cr_assert_eq(memcmp(ci.text, text, ci.text_len), 0);
  cr_assert_eq(ci.pairs[0].raw_len, 6);
  cr_assert_eq(memcmp(ci.text + ci.pairs[0].raw_at, "{b}}c}", 6), 0);
  cr_assert_eq(ci.pairs[1].raw_len, 1);
  cr_assert_eq(ci.text[ci.pairs[1].raw_at], 'e');
  weir__conninfo_fini(&ci);
}

static char *repeat(const char *what, size_t times) {
  size_t n = strlen(what);
  char *p = malloc(n * times + 1);
  cr_assert_not_null(p);
  for (size_t i = 0; i < times; i++) {
    memcpy(p + i * n, what, n);
  }
  p[n * times] = '\0';
  return p;
}

static int parse_and_drop(const char *text,
                          size_t len,
                          struct weir_error *err) {
  struct weir__conninfo ci = {0};
  int rc = weir__conninfo_parse(text, len, &ci, err);
  weir__conninfo_fini(&ci);
  return rc;
}

Test(conninfo, takes_128_options_and_no_more, .timeout = 5) {
  struct weir_error err = {.struct_size = sizeof err};
  char *text = repeat("a=1;", 129);
  cr_assert_eq(parse_and_drop(text, (size_t)4 * 128, &err), WEIR_OK);
  cr_assert_eq(parse_and_drop(text, (size_t)4 * 129, &err), WEIR_E_ARG);
  cr_assert_str_eq(err.message,
                   "connection string, byte 513: more than 128 options");
  free(text);
}

Test(conninfo, takes_64_kib_and_no_more, .timeout = 5) {
  struct weir_error err = {.struct_size = sizeof err};
  char *text = repeat("a=bbbbbb", 8193);
  cr_assert_eq(parse_and_drop(text, 65536, &err), WEIR_OK, "%s", err.message);
  cr_assert_eq(parse_and_drop(text, 65537, &err), WEIR_E_ARG);
  cr_assert_str_eq(err.message, "connection string: longer than 65536 bytes");
  free(text);
}

Test(conninfo, takes_names_of_128_bytes_and_no_more, .timeout = 5) {
  struct weir_error err = {.struct_size = sizeof err};
  char text[132];
  memset(text, 'n', 130);
  text[128] = '=';
  cr_assert_eq(parse_and_drop(text, 129, &err), WEIR_OK);
  text[128] = 'n';
  text[129] = '=';
  cr_assert_eq(parse_and_drop(text, 130, &err), WEIR_E_ARG);
  cr_assert_str_eq(err.message, "connection string, byte 1 (option 1): the "
                                "name is longer than 128 bytes");
}

Test(conninfo, an_absent_text_has_no_options, .timeout = 5) {
  struct weir__conninfo ci;
  cr_assert_eq(weir__conninfo_parse(NULL, 0, &ci, NULL), WEIR_OK);
  cr_assert_eq(ci.n, 0);
  weir__conninfo_fini(&ci);
  weir__conninfo_fini(&ci);
}

/* ----------------------------------------------------------- round trips */

typedef size_t (*escaper)(const char *, size_t, char *, size_t);

static void check_round_trip(escaper escape, const char *value, size_t len) {
  char text[1024] = "x=";
  struct weir__conninfo ci;
  size_t need = escape(value, len, NULL, 0);
  cr_assert_lt(need + 32, sizeof text);
  cr_assert_eq(escape(value, len, text + 2, need), need, "too small by one");
  cr_assert_eq(text[2], '\0', "nothing is written when it does not fit");
  cr_assert_eq(escape(value, len, text + 2, need + 1), need);
  cr_assert_eq(strlen(text + 2), need);
  (void)snprintf(text + 2 + need, sizeof text - need - 2, " ; next = 1");
  cr_assert_eq(weir__conninfo_parse(text, strlen(text), &ci, NULL), WEIR_OK,
               "[%s]", text);
  cr_assert_eq(ci.n, 2, "[%s]", text);
  cr_assert_eq(ci.pairs[0].value_len, len, "[%s]", text);
  cr_assert_eq(memcmp(ci.pairs[0].value, value, len), 0, "[%s]", text);
  weir__conninfo_fini(&ci);
}

Test(conninfo, passwords_with_braces_survive_both_escapers, .timeout = 5) {
  static const char *const passwords[] = {"}",
                                          "{",
                                          "}}",
                                          "{a",
                                          "a}b",
                                          "a;b}",
                                          "{a;b}}c",
                                          "",
                                          " ",
                                          "=",
                                          "==a",
                                          "'",
                                          "\"",
                                          "''",
                                          "\"'",
                                          "a'",
                                          "'a",
                                          "a b",
                                          " a",
                                          "a ",
                                          ";",
                                          "\xef\xbb\xbf",
                                          "\xc2\xa0x\xc2\xa0",
                                          "a\nb"};
  for (size_t i = 0; i < sizeof passwords / sizeof passwords[0]; i++) {
    check_round_trip(weir__conninfo_quote, passwords[i], strlen(passwords[i]));
    check_round_trip(weir__conninfo_brace, passwords[i], strlen(passwords[i]));
  }
}

/* xorshift: the same values in every run. */
static uint32_t next_random(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

Test(conninfo, random_values_survive_both_escapers, .timeout = 5) {
  static const char *const letters[] = {"a",
                                        "Z",
                                        "0",
                                        ";",
                                        "=",
                                        "'",
                                        "\"",
                                        "{",
                                        "}",
                                        " ",
                                        "\t",
                                        "\n",
                                        "\x01",
                                        "\xc2\xa0",
                                        "\xc2\x85",
                                        "\xe2\x80\x83",
                                        "\xf0\x9f\x90\x98",
                                        "\xc5\xbc"};
  uint32_t state = 20240611;
  for (int round = 0; round < 5000; round++) {
    char value[256] = "";
    size_t n = 0;
    for (uint32_t k = next_random(&state) % 24; k > 0; k--) {
      const char *letter =
          letters[next_random(&state) % (sizeof letters / sizeof letters[0])];
      memcpy(value + n, letter, strlen(letter));
      n += strlen(letter);
    }
    check_round_trip(weir__conninfo_quote, value, n);
    check_round_trip(weir__conninfo_brace, value, n);
  }
}

/* ------------------------------------------------------------- discretion */

/* True if text shows four bytes in a row of the marker. */
static bool shows(const char *text, const char *marker) {
  for (size_t i = 0; i + 4 <= strlen(marker); i++) {
    char part[5] = {0};
    memcpy(part, marker + i, 4);
    if (strstr(text, part) != NULL) {
      return true;
    }
  }
  return false;
}

/* Scenario 129. */
Test(conninfo, damaged_strings_never_show_the_password, .timeout = 5) {
  static const char marker[] = "Qz7Kx9Vw3Jy5";
  static const char text[] = "Server=h;Password='Qz7K;x9=Vw''3Jy5';Database=d";
  static const char junk[] = "=;'\"{} \0\x01\xffQ";
  uint32_t state = 7;
  int failures = 0;
  for (int round = 0; round < 5000; round++) {
    char copy[sizeof text];
    struct weir_error err = {.struct_size = sizeof err};
    memcpy(copy, text, sizeof text);
    for (uint32_t k = 1 + next_random(&state) % 3; k > 0; k--) {
      copy[next_random(&state) % (sizeof text - 1)] =
          junk[next_random(&state) % (sizeof junk - 1)];
    }
    if (parse_and_drop(copy, sizeof text - 1, &err) != WEIR_OK) {
      failures++;
      cr_assert_not(shows(err.message, marker), "%s", err.message);
    }
  }
  cr_assert_gt(failures, 1000, "the corruptions must bite");
}
