/* SPDX-License-Identifier: MIT */
/* test_token.c - the decoder: whole, cut at every byte, and cut short. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "sink.h"
#include "tds_limits.h"

/* Types that need no more than their code and info, in one result. */
#define META_LONG                                                   \
  "81 0500 00000000 0100 a7 ffff 0904d00034 01 7600 "               \
  "00000000 0100 e7 ffff 0904d00034 01 6e00 "                       \
  "00000000 0100 a5 ffff 01 6200 "                                  \
  "00000000 0100 23 ffffff7f 0904d00034 01 0200 6400 7400 01 7400 " \
  "00000000 0100 f1 01 01 6400 01 6f00 0200 6300 6300 01 7800 "
#define ROW_LONG                                                        \
  "d1 0300000000000000 02000000 61f3 01000000 80 00000000 "             \
  "feffffffffffffff 03000000 3dd800 03000000 de6100 00000000 "          \
  "ffffffffffffffff "                                                   \
  "10 00000000000000000000000000000000 0000000000000000 02000000 6869 " \
  "0000000000000000 00000000 "
#define ROW_NULL "d2 1f "

static const char long_log[] =
    "META v:varchar n:nvarchar b:varbinary t:text x:xml\n"
    "ROW a\xC3\xB3\xE2\x82\xAC|\xF0\x9F\x98\x80"
    "a|NULL|hi|\n"
    "ROW NULL|NULL|NULL|NULL|NULL\n"
    "DONE fd status 10 rows 2\n";

static void check(const char *hex, const char *log) {
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  for (uint32_t seed = 0; seed < 30; seed++) {
    struct tds_decoder d;
    struct sink s;
    sink_init(&s, &d);
    int rc =
        sink_feed(&s, &d, p, n, seed < 10 ? seed : 0, seed < 10 ? 0 : seed);
    cr_assert_eq(rc, TDS_MORE, "%s", d.why);
    cr_assert_eq(tds_token_end(&d), TDS_OK);
    cr_assert_str_eq((const char *)s.log.p, log);
    sink_fini(&s, &d);
  }
  free(p);
}

Test(token, streams_long_values_at_every_cut, .timeout = 10) {
  check(META_LONG ROW_LONG ROW_NULL "fd 1000 c100 0200000000000000", long_log);
}

Test(token, reads_every_token_by_its_own_rule, .timeout = 10) {
  check("79 f9ffffff "
        "ac 0100 02 4000 6100 01 00000000 0000 e7 ffff 0904d00034 "
        "feffffffffffffff 02000000 6100 00000000 "
        "a9 0200 0100 a4 0100 00 a5 0000 78 01020304 "
        "e4 05000000 0000000001 "
        "e3 0100 0f 04000000 01020304 00 "
        "e3 0300 12 00 00 "
        "ae 0a 01000000 01 ff "
        "fe 0100 0000 0000000000000000 ff 1100 c300 0700000000000000",
        "STATUS -7\nVALUE\nOTHER a9\nOTHER a4\nOTHER a5\nOTHER 78\n"
        "OTHER e4\nOTHER e3\nENV 18 \nFEATURE 10 bytes 1\nOTHER ae\n"
        "DONE fe status 1 rows 0\nDONE ff status 11 rows 7\n");
}

Test(token, gives_returned_values_with_ordinal_and_name, .timeout = 10) {
  static const char hex[] =
      "ac 0100 02 4000 f300 01 00000000 0000 e7 ffff 0904d00034 "
      "feffffffffffffff 03000000 6100ac 01000000 20 00000000 "
      "ac 0200 00 01 00000000 0000 26 04 04 fbffffff "
      "ac 0300 00 02 00000000 0000 26 04 00 "
      "ac 0400 00 01 00000000 0000 f1 00 ffffffffffffffff";
  static const char log[] = "CELL 1 @\xC3\xB3 a\xE2\x82\xAC\nVALUE\n"
                            "CELL 2  -5\nVALUE\n"
                            "CELL 3  NULL\nVALUE\n"
                            "CELL 4  NULL\nVALUE\n";
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  for (size_t piece = 0; piece < 20; piece++) {
    struct tds_decoder d;
    struct sink s;
    sink_init(&s, &d);
    sink_values(&s, &d);
    cr_assert_eq(sink_feed(&s, &d, p, n, piece, 0), TDS_MORE, "%s", d.why);
    cr_assert_str_eq((const char *)s.log.p, log, "%zu", piece);
    sink_fini(&s, &d);
  }
  free(p);
}

Test(token, reads_udt_as_bytes, .timeout = 10) {
  check("81 0100 00000000 0100 f0 ffff 01 6400 01 7300 01 7400 0100 6100 "
        "01 6700 d1 0200000000000000 02000000 0102 00000000",
        "META g:udt\nROW 0x0102\n");
}

Test(token, reads_the_layout_of_tds_71, .timeout = 10) {
  size_t n = 0;
  struct tds_decoder d;
  struct sink s;
  uint8_t *p = fake_unhex("81 0100 0000 0100 23 ffffff7f 0904d00034 0100 6400 "
                          "01 6100 d1 00 "
                          "ab 0c00 01000000 01 00 0000 00 00 0500 "
                          "fd 1000 c100 01000000",
                          &n);
  sink_init(&s, &d);
  d.old_layout = true;
  (void)sink_feed(&s, &d, p, n, 1, 0);
  cr_expect_str_eq((const char *)s.log.p,
                   "META a:text\nROW NULL\nINFO 1 class 0 state 1 line 5:  "
                   "@ \nDONE fd status 10 rows 1\n");
  free(p);
  sink_fini(&s, &d);
}

static int verdict(const char *hex, char *why, size_t cap) {
  size_t n = 0;
  struct tds_decoder d;
  struct sink s;
  uint8_t *p = fake_unhex(hex, &n);
  sink_init(&s, &d);
  int rc = sink_feed(&s, &d, p, n, 0, 0);
  if (rc == TDS_MORE) {
    rc = tds_token_end(&d);
  }
  (void)snprintf(why, cap, "%s", d.why);
  free(p);
  sink_fini(&s, &d);
  return rc;
}

Test(token, notices_an_end_at_each_byte_of_a_token, .timeout = 10) {
  size_t n = 0;
  uint8_t *p = fake_unhex(META_LONG ROW_LONG, &n);
  size_t legal = 0;
  for (size_t cut = 0; cut <= n; cut++) {
    struct tds_decoder d;
    struct sink s;
    sink_init(&s, &d);
    cr_assert_eq(sink_feed(&s, &d, p, cut, 0, 0), TDS_MORE);
    legal += tds_token_end(&d) == TDS_OK;
    sink_fini(&s, &d);
  }
  cr_expect_eq(legal, 3, "only before, between and behind the tokens");
  free(p);
}

static const struct {
  const char *hex;
  const char *why;
} lies[] = {
    {"81 0100 00000000 0100 a5 ffff 00 d1 0100000000000000 02000000 0102",
     "chunks exceed the value's length"},
    {"81 0100 00000000 0100 a5 ffff 00 d1 0200000000000000 01000000 01 "
     "00000000",
     "1 bytes came of 2 announced"},
    {"81 0100 00000000 0100 a5 ffff 00 d1 ffffffffffffff7f",
     "announces 9223372036854775807 bytes"},
    {"81 0100 00000000 0100 a5 ffff 00 d1 feffffffffffffff ffffffff",
     "chunks exceed"},
    {"81 0100 00000000 0100 a7 0400 0904d00034 00 d1 0500",
     "a value of 5 bytes in a varchar of 4"},
    {"81 0100 00000000 0100 22 04000000 00 00 d1 01 00 0000000000000000 "
     "05000000",
     "a value of 5 bytes in a image of 4"},
    {"ae 0a ffffffff", "the answer to feature 0x0A has 4294967295 bytes"},
    {"81 ff0f", ""},
    {"aa ffff", ""},
};

Test(token, refuses_lengths_that_lie, .timeout = 10) {
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    char why[256];
    cr_expect_eq(verdict(lies[i].hex, why, sizeof why), TDS_E_PROTO, "%zu", i);
    cr_expect_not_null(strstr(why, lies[i].why), "%zu: %s", i, why);
  }
}

Test(token, does_not_believe_announced_sizes, .timeout = 5) {
  /* 2 GiB announced, none come: nothing near that is taken. */
  char why[256];
  cr_expect_eq(verdict("81 0100 00000000 0100 a5 ffff 00 d1 "
                       "ffffff7f00000000 ffffff7f 01",
                       why, sizeof why),
               TDS_E_PROTO);
  cr_expect_not_null(strstr(why, "ends inside a token"));
}

Test(token, judges_every_token_byte, .timeout = 5) {
  static const uint8_t known[] = {0x78, 0x79, 0x81, 0xA4, 0xA5, 0xA9,
                                  0xAA, 0xAB, 0xAC, 0xAD, 0xAE, 0xE3,
                                  0xE4, 0xEE, 0xFD, 0xFE, 0xFF};
  for (unsigned token = 0; token <= 0xFF; token++) {
    struct tds_decoder d;
    struct sink s;
    uint8_t byte = (uint8_t)token;
    bool legal = memchr(known, (int)token, sizeof known) != NULL;
    sink_init(&s, &d);
    int rc = sink_feed(&s, &d, &byte, 1, 0, 0);
    cr_expect_eq(rc == TDS_MORE, legal, "0x%02X", token);
    cr_expect(legal || d.why[0] != '\0');
    sink_fini(&s, &d);
  }
}

Test(token, skips_environment_changes_it_does_not_know, .timeout = 5) {
  for (unsigned type = 0; type <= 0xFF; type++) {
    struct tds_decoder d;
    struct sink s;
    uint8_t p[] = {0xE3, 4, 0, (uint8_t)type, 0, 0, 0};
    sink_init(&s, &d);
    int rc = sink_feed(&s, &d, p, sizeof p, 0, 0);
    bool longer = type == 15 || type == 20 || type == 21;
    cr_expect(longer || rc == TDS_MORE, "%u: %s", type, d.why);
    cr_expect(longer || tds_token_end(&d) == TDS_OK, "%u", type);
    sink_fini(&s, &d);
  }
}

Test(token, reports_a_sink_without_memory, .timeout = 5) {
  size_t n = 0;
  uint8_t *p = fake_unhex(META_LONG ROW_LONG, &n);
  for (size_t k = 1; k <= 3; k++) {
    struct tds_decoder d;
    struct sink s;
    sink_init(&s, &d);
    s.fail_space = k;
    cr_expect_eq(sink_feed(&s, &d, p, n, 0, 0), TDS_E_NOMEM);
    sink_fini(&s, &d);
  }
  free(p);
}

Test(token, drops_rows_from_any_byte_on, .timeout = 10) {
  size_t n = 0;
  uint8_t *p = fake_unhex(
      META_LONG ROW_LONG ROW_LONG "fd 0000 0000 0000000000000000", &n);
  for (size_t cut = 1; cut < n; cut++) {
    struct tds_decoder d;
    struct sink s;
    sink_init(&s, &d);
    cr_assert_eq(sink_feed(&s, &d, p, cut, 0, 0), TDS_MORE);
    tds_token_drop_rows(&d);
    cr_assert_eq(sink_feed(&s, &d, p + cut, n - cut, 0, 0), TDS_MORE, "%s",
                 d.why);
    cr_assert_eq(tds_token_end(&d), TDS_OK);
    sink_fini(&s, &d);
  }
  free(p);
}
