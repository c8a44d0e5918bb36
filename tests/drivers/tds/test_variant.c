/* SPDX-License-Identifier: MIT */
/* test_variant.c - sql_variant of each base type, and vectors, as text. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "sink.h"
#include "tds_variant.h"

#define LATIN "0904d00034"

/* Value and text; "!" means refused, "?" not supported. */
static const struct {
  const char *value;
  const char *text;
} samples[] = {
    {"30 00 ff", "255"},
    {"34 00 0080", "-32768"},
    {"38 00 07000000", "7"},
    {"7f 00 0000000000000080", "-9223372036854775808"},
    {"32 00 01", "1"},
    {"32 00 00", "0"},
    {"3b 00 cdcccc3d", "0.1"},
    {"3e 00 9a9999999999b93f", "0.1"},
    {"3e 00 333333333333d33f", "0.3"},
    {"3e 00 343333333333d33f", "0.30000000000000004"},
    {"3e 00 0000000000000080", "-0"},
    {"3e 00 ffffffffffffefff", "-1.7976931348623157e+308"},
    {"3e 00 0100000000000000", "4.94065645841247e-324"},
    {"3e 00 000000000000f07f", "Infinity"},
    {"3e 00 000000000000f0ff", "-Infinity"},
    {"3e 00 000000000000f87f", "NaN"},
    {"3c 00 00000000 40e20100", "12.3456"},
    {"7a 00 40e20100", "12.3456"},
    {"3d 00 12b50000 4059cf00", "2026-11-30T12:34:56.000"},
    {"3a 00 0000 9f05", "1900-01-01T23:59:00"},
    {"24 10", "!"},
    {"24 00 ff19966f868bd011b42d00c04fc964ff",
     "6f9619ff-8b86-11d0-b42d-00c04fc964ff"},
    {"28 00 dab937", "9999-12-31"},
    {"29 01 03 e8030000", "00:00:01.000"},
    {"2a 01 07 0100000000 000000", "0001-01-01T00:00:00.0000001"},
    {"2b 01 00 100e00 010000 3c00", "0001-01-02T02:00:00+01:00"},
    {"6a 02 0902 01 01000000", "0.01"},
    {"6c 02 2600 00 ffffffff3f228a097ac4865aa84c3b4b",
     "-99999999999999999999999999999999999999"},
    {"a5 02 0400 0102", "0x0102"},
    {"ad 02 0400 00ff0102", "0x00ff0102"},
    {"a5 02 0400", "0x"},
    {"a7 07 " LATIN " 0a00 6162e7", "ab\xC3\xA7"},
    {"af 07 1104d00000 0a00 93fa", "\xE6\x97\xA5"},
    {"a7 07 0904d00400 0a00 c3a7", "\xC3\xA7"},
    {"e7 07 " LATIN " 0a00 e7003dd8", "\xC3\xA7\xEF\xBF\xBD"},
    {"ef 07 " LATIN " 0a00", ""},
    /* Properties that do not belong, lengths that do not fit. */
    {"38 01 00 07000000", "!"},
    {"38 00 070000", "!"},
    {"38 00 0700000000", "!"},
    {"29 00 e8030000", "!"},
    {"29 01 08 e8030000", "!"},
    {"2a 01 07 01", "!"},
    {"6a 01 09 01 01000000", "!"},
    {"6a 02 0209 01 01000000", "!"},
    {"6a 02 0902 01 0100", "!"},
    {"a5 01 04 01", "!"},
    {"a5 02 0100 0102", "!"},
    {"a7 07 " LATIN " ffff 61", "!"},
    {"a7 02 0a00 61", "!"},
    {"38", "!"},
    {"38 05 00", "!"},
    /* Types that no variant holds. */
    {"26 01 04 07000000", "?"},
    {"62 00 00", "?"},
    {"f1 00 00", "?"},
    {"23 00 00", "?"},
    {"1f 00", "?"},
    {"00 00", "?"},
};

static int read_one(const uint8_t *p, size_t n, char *text) {
  struct tds_variant v;
  uint8_t code = 0;
  size_t used = 0;
  int rc = tds_variant_read(&v, p, n, &code);
  if (rc != TDS_OK) {
    cr_assert(rc != TDS_E_UNSUPPORTED || code == p[0]);
    return rc;
  }
  uint8_t *out = malloc(tds_variant_bound(&v) + 1);
  rc = tds_variant_text(&v, out, &used);
  if (rc == TDS_OK) {
    cr_assert_leq(used, tds_variant_bound(&v));
    memcpy(text, out, used);
    text[used] = '\0';
  }
  free(out);
  return rc;
}

Test(variant, becomes_the_text_of_its_base_type, .timeout = 5) {
  for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++) {
    char text[128] = "";
    size_t n = 0;
    uint8_t *p = fake_unhex(samples[i].value, &n);
    int rc = read_one(p, n, text);
    const char *got = rc == TDS_OK ? text : rc == TDS_E_UNSUPPORTED ? "?" : "!";
    cr_expect_str_eq(got, samples[i].text, "%s: %s", samples[i].value, got);
    free(p);
  }
}

static const struct {
  const char *value;
  const char *text;
} vectors[] = {
    {"a901 0300 00 000000 0000803f 000020c0 cdcccc3d", "[1,-2.5,0.1]"},
    {"a901 0000 00 000000", "[]"},
    {"a901 0200 00 000000 0000807f 0000c07f", "[null,null]"},
    {"a901 0100 00 000000 ffff7fff", "[-3.4028235e+38]"},
    {"a901 0100 01 000000 003c", "?"},
    {"a901 0200 00 000000 0000803f", "!"},
    {"a901 0100 00 000000 0000803f00", "!"},
    {"a801 0000 00 000000", "!"},
    {"a902 0000 00 000000", "!"},
    {"a901 0000 00 0000", "!"},
};

Test(variant, vector_becomes_a_json_array, .timeout = 5) {
  for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
    char text[128];
    size_t n = 0;
    size_t used = 0;
    uint8_t *p = fake_unhex(vectors[i].value, &n);
    uint8_t *out = malloc(tds_vector_bound(n));
    int rc = tds_vector_text(p, n, out, &used);
    cr_assert(rc != TDS_OK || used <= tds_vector_bound(n));
    if (rc == TDS_OK) {
      memcpy(text, out, used);
      text[used] = '\0';
    } else {
      text[0] = rc == TDS_E_UNSUPPORTED ? '?' : '!';
      text[1] = '\0';
    }
    cr_expect_str_eq(text, vectors[i].text, "%s: %s", vectors[i].value, text);
    free(p);
    free(out);
  }
}

/* Through the decoder: lengths, nulls, and what is refused. */
static const struct {
  const char *reply;
  const char *log; /* the rows, or a part of the reason */
} replies[] = {
    {"81 0200 00000000 0100 62 491f0000 01 7600 00000000 0100 f5 1400 00 01 "
     "7700 d1 06000000 3800 07000000 0c00 a901 0100 00 000000 0000803f "
     "d1 00000000 ffff d2 03",
     "META v:sql_variant w:vector\nROW 7|[1]\nROW NULL|NULL\n"
     "ROW NULL|NULL\n"},
    {"81 0100 00000000 0100 62 491f0000 00 d1 4a1f0000", "8010 bytes"},
    {"81 0100 00000000 0100 62 ffffffff 00", "impossible size"},
    {"81 0100 00000000 0100 62 491f0000 00 d1 01000000 38",
     "not a value of sql_variant"},
    {"81 0100 00000000 0100 62 491f0000 00 d1 03000000 620000",
     "a sql_variant of type 0x62"},
    {"81 0100 00000000 0100 f5 0c00 00 00 d1 0d00", "13 bytes"},
    {"81 0100 00000000 0100 f5 0c00 00 00 d1 0000", "not a value of vector"},
    {"81 0100 00000000 0100 f5 0c00 01 00 d1 0a00 a901 0100 01 000000 003c",
     "of a kind that is not supported"},
    {"81 0100 00000000 0100 27 0a 02 61006200",
     "column 1 (ab) has the type varchar (legacy)"},
    {"81 0100 00000000 0100 37 05 0902 01 6100", "decimal (legacy)"},
    {"81 0100 00000000 0100 f3", "the type 0xF3"},
    {"81 0100 00000000 0100 f1 00 01 7800 d1 0600000000000000 03000000 fffe78 "
     "03000000 00fffe 00000000",
     "META x:xml\nROW x\xEF\xBB\xBF\n"},
};

Test(variant, is_read_and_refused_in_rows_cut_anywhere, .timeout = 5) {
  for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
    size_t n = 0;
    uint8_t *p = fake_unhex(replies[i].reply, &n);
    bool good = strncmp(replies[i].log, "META", 4) == 0;
    for (size_t piece = 0; piece < 9; piece++) {
      struct tds_decoder d;
      struct sink s;
      sink_init(&s, &d);
      int rc = sink_feed(&s, &d, p, n, piece, 0);
      cr_assert_eq(rc == TDS_MORE, good, "%zu: %s", i, d.why);
      if (good) {
        cr_expect_str_eq((const char *)s.log.p, replies[i].log);
      } else {
        cr_expect_not_null(strstr(d.why, replies[i].log), "%s", d.why);
      }
      sink_fini(&s, &d);
    }
    free(p);
  }
}
