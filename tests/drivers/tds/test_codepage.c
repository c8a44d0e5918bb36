/* SPDX-License-Identifier: MIT */
/* test_codepage.c - which collation has which page, and every character of the
 * two-byte pages. */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>
#include <openssl/evp.h>

#include "tds_codepage.h"
#include "tds_text.h"

/* Sort ids of SQL collations: the whole table, as mssql-jdbc and tedious have
 * it; every other one is 1252. */
static const struct {
  uint8_t first;
  uint8_t last;
  uint8_t page;
} sorts[] = {
    {30, 34, TDS_CP437},    {40, 49, TDS_CP850},    {51, 54, TDS_CP1252},
    {55, 61, TDS_CP850},    {80, 98, TDS_CP1250},   {104, 108, TDS_CP1251},
    {112, 124, TDS_CP1253}, {128, 130, TDS_CP1254}, {136, 138, TDS_CP1255},
    {144, 146, TDS_CP1256}, {152, 160, TDS_CP1257}, {183, 186, TDS_CP1252},
    {192, 193, TDS_CP932},  {200, 200, TDS_CP932},  {194, 195, TDS_CP949},
    {201, 201, TDS_CP949},  {196, 197, TDS_CP950},  {202, 202, TDS_CP950},
    {198, 199, TDS_CP936},  {203, 203, TDS_CP936},  {204, 206, TDS_CP874},
    {210, 217, TDS_CP1252},
};

/* Languages of Windows collations, likewise. */
static const struct {
  uint8_t page;
  uint16_t lcids[24];
} languages[] = {
    {TDS_CP1250,
     {0x0405, 0x040E, 0x0415, 0x0418, 0x041A, 0x041B, 0x041C, 0x0424, 0x0442,
      0x081A, 0x101A, 0x141A, 0x181A}},
    {TDS_CP1251,
     {0x0402, 0x0419, 0x0422, 0x0423, 0x0428, 0x042F, 0x043F, 0x0440, 0x0444,
      0x0450, 0x046D, 0x0485, 0x082C, 0x0843, 0x0850, 0x0C1A, 0x1C1A, 0x201A}},
    {TDS_CP1253, {0x0408}},
    {TDS_CP1254, {0x041F, 0x042C, 0x0443}},
    {TDS_CP1255, {0x040D}},
    {TDS_CP1256, {0x0401, 0x0420, 0x0429, 0x0480, 0x048C, 0x0801, 0x0C01,
                  0x1001, 0x1401, 0x1801, 0x1C01, 0x2001, 0x2401, 0x2801,
                  0x2C01, 0x3001, 0x3401, 0x3801, 0x3C01, 0x4001}},
    {TDS_CP1257, {0x0425, 0x0426, 0x0427, 0x0827}},
    {TDS_CP1258, {0x042A}},
    {TDS_CP874, {0x041E}},
    {TDS_CP932, {0x0411}},
    {TDS_CP936, {0x0804, 0x1004}},
    {TDS_CP949, {0x0412}},
    {TDS_CP950, {0x0404, 0x0C04, 0x1404}},
};

static uint8_t page_of_sort(unsigned id) {
  for (size_t i = 0; i < sizeof sorts / sizeof sorts[0]; i++) {
    if (id >= sorts[i].first && id <= sorts[i].last) {
      return sorts[i].page;
    }
  }
  return TDS_CP1252;
}

static uint8_t page_of_lcid(uint16_t lcid) {
  for (size_t i = 0; i < sizeof languages / sizeof languages[0]; i++) {
    for (size_t k = 0; k < 24 && languages[i].lcids[k] != 0; k++) {
      if (languages[i].lcids[k] == lcid) {
        return languages[i].page;
      }
    }
  }
  return TDS_CP1252;
}

Test(codepage, of_every_sort_id_wins_over_the_language, .timeout = 5) {
  for (unsigned id = 1; id <= 255; id++) {
    uint8_t collation[5] = {0x11, 0x04, 0xD0, 0x00, (uint8_t)id};
    cr_expect_eq(tds_codepage_of(collation), page_of_sort(id), "%u", id);
  }
}

Test(codepage, of_every_language_of_windows_collations, .timeout = 5) {
  for (unsigned lcid = 0; lcid < 0x5000; lcid++) {
    bool arabic = (lcid & 0x3FF) == 1;
    uint8_t collation[5] = {(uint8_t)lcid, (uint8_t)(lcid >> 8), 0xD0, 0, 0};
    if (!arabic || lcid <= 0x4001) {
      uint8_t page = arabic ? TDS_CP1256 : page_of_lcid((uint16_t)lcid);
      cr_expect_eq(tds_codepage_of(collation), page, "0x%04X", lcid);
    }
  }
}

/* Report 32: rust-mssql-driver#153 looked at another bit. */
Test(codepage,
     report_32_is_utf8_if_bit_26_says_so_whatever_else,
     .timeout = 5) {
  static const uint8_t utf8[5] = {0x11, 0x04, 0xD0, 0x04, 0xC0};
  static const uint8_t others[5] = {0x11, 0x04, 0xF0, 0xFB, 0x00};
  cr_expect_eq(tds_text_charset(utf8), TDS_CHARSET_UTF8);
  cr_expect_eq(tds_text_charset(others), TDS_CHARSET_PAGE + TDS_CP932);
}

/* All defined characters of a page as lines "LLTT CCCC", in order: their number
 * and SHA-256 as the code pages of .NET 10 (System.Text.Encoding.CodePages, the
 * tables of Windows) give them. */
static const struct {
  uint8_t page;
  unsigned count;
  const char *digest;
} wide[] = {
    {TDS_CP932, 9604,
     "b9c1091f5925d61391623f8a77e4c66c3f7c98375f9439700c5a8119686976cf"},
    {TDS_CP936, 23940,
     "833acf6e0b1eaecfab0ab7b5d3b7379a066cf408808f444bbd6d77b09a2c5ba2"},
    {TDS_CP949, 17236,
     "6defdfd05d929ac1f4ed9454136b065761e25785f53c850e45655e32ecff908c"},
    {TDS_CP950, 19720,
     "b1e30733a537b10c5edfe7e2af5eb2ced691bd49ff77bd6f985be7c2f72142cb"},
};

static unsigned add_page(EVP_MD_CTX *sha, uint8_t page) {
  const struct tds_codepage_wide *w = tds_codepage_wide(page);
  unsigned count = 0;
  for (unsigned pair = 0x8000; pair <= 0xFFFF; pair++) {
    char line[16];
    uint32_t code =
        tds_codepage_pair(w, (uint8_t)(pair >> 8), (uint8_t)(pair & 0xFF));
    if (code != 0) {
      int n = snprintf(line, sizeof line, "%04X %04X\n", pair, code);
      cr_assert_eq(EVP_DigestUpdate(sha, line, (size_t)n), 1);
      count++;
    }
  }
  return count;
}

Test(codepage, has_exactly_the_characters_of_windows, .timeout = 20) {
  for (size_t i = 0; i < sizeof wide / sizeof wide[0]; i++) {
    uint8_t digest[EVP_MAX_MD_SIZE];
    char text[2 * EVP_MAX_MD_SIZE + 1];
    unsigned n = 0;
    EVP_MD_CTX *sha = EVP_MD_CTX_new();
    cr_assert_eq(EVP_DigestInit_ex(sha, EVP_sha256(), NULL), 1);
    cr_expect_eq(add_page(sha, wide[i].page), wide[i].count);
    cr_assert_eq(EVP_DigestFinal_ex(sha, digest, &n), 1);
    EVP_MD_CTX_free(sha);
    for (unsigned k = 0; k < n; k++) {
      (void)sprintf(text + 2 * (size_t)k, "%02x", digest[k]);
    }
    cr_expect_str_eq(text, wide[i].digest, "page %zu", i);
  }
}

/* Every pair of bytes, cut in the middle and not. */
Test(codepage, decodes_every_pair_cut_or_whole, .timeout = 30) {
  for (unsigned page = TDS_CP932; page < TDS_CODEPAGES; page++) {
    for (unsigned pair = 0; pair <= 0xFFFF; pair++) {
      uint8_t in[2] = {(uint8_t)(pair >> 8), (uint8_t)pair};
      uint8_t whole[TDS_TEXT_BOUND(2)];
      uint8_t cut[TDS_TEXT_BOUND(2)];
      struct tds_text a = {.charset = (uint8_t)(TDS_CHARSET_PAGE + page)};
      struct tds_text b = a;
      size_t n = tds_text_push(&a, in, 2, whole);
      n += tds_text_finish(&a, whole + n);
      size_t k = tds_text_push(&b, in, 1, cut);
      size_t bound = tds_text_size(&b, in + 1, 1);
      size_t more = tds_text_push(&b, in + 1, 1, cut + k);
      cr_assert_leq(more, bound);
      k += more + tds_text_finish(&b, cut + k + more);
      cr_assert_eq(n, k, "%u %04X", page, pair);
      cr_assert_arr_eq(whole, cut, n);
      cr_assert_eq(tds_text_valid(whole, n), n);
    }
  }
}
