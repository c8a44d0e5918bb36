/* SPDX-License-Identifier: MIT */
/* test_login7.c - the login record, byte by byte where it matters. */
#include <string.h>

#include <criterion/criterion.h>

#include "tds_login7.h"

static const struct tds_ask asks[] = {
    {TDS_FEATURE_UTF8, {(const uint8_t *)"\1", 1}},
    {TDS_FEATURE_FEDAUTH, {(const uint8_t *)"abc", 3}},
};

static struct tds_login sample(void) {
  struct tds_login l = {.version = TDS_V74,
                        .packet_size = 8000,
                        .user = "sa",
                        .user_n = 2,
                        .password = "aB",
                        .password_n = 2,
                        .server = "db.test",
                        .server_n = 7,
                        .database = "sh\xC3\xB3p",
                        .database_n = 5,
                        .asks = asks,
                        .n_asks = 1};
  return l;
}

/* The text that offset and count at `at` point to. */
static const uint8_t *field(const uint8_t *p, size_t at, size_t *out_units) {
  *out_units = tds_u16(p + at + 2);
  return p + tds_u16(p + at);
}

Test(login7, points_at_its_texts, .timeout = 5) {
  uint8_t p[TDS_LOGIN_MAX];
  size_t n = 0;
  size_t units = 0;
  const char *what = NULL;
  struct tds_login l = sample();
  cr_assert_eq(tds_login7_write(&l, p, &n, &what), TDS_OK);
  cr_expect_eq(tds_u32(p), n);
  cr_expect_eq(tds_u32(p + 4), TDS_V74);
  cr_expect_eq(tds_u32(p + 8), 8000);
  cr_expect_eq(tds_u16(p + 36), 94, "the host name starts the data");
  cr_expect_arr_eq(field(p, 40, &units), "s\0a\0", 4);
  cr_expect_eq(units, 2);
  cr_expect_arr_eq(field(p, 68, &units), "s\0h\0\xF3\0p\0", 8);
  cr_expect_eq(units, 4);
  cr_expect_eq(tds_u16(p + 90), 0, "no SSPI");
}

Test(login7, disguises_the_password, .timeout = 5) {
  uint8_t p[TDS_LOGIN_MAX];
  size_t n = 0;
  size_t units = 0;
  const char *what = NULL;
  struct tds_login l = sample();
  cr_assert_eq(tds_login7_write(&l, p, &n, &what), TDS_OK);
  /* 'a' = 61: nibbles 16, xor A5 = B3. */
  cr_expect_arr_eq(field(p, 44, &units), "\xB3\xA5\x81\xA5", 4);
  cr_expect_eq(units, 2);
}

Test(login7, asks_for_utf8, .timeout = 5) {
  uint8_t p[TDS_LOGIN_MAX];
  size_t n = 0;
  const char *what = NULL;
  struct tds_login l = sample();
  cr_assert_eq(tds_login7_write(&l, p, &n, &what), TDS_OK);
  cr_expect_eq(p[27] & 0x10, 0x10);
  uint32_t list = tds_u32(p + tds_u16(p + 56));
  cr_assert_eq(list + 7, n);
  cr_expect_arr_eq(p + list, "\x0A\1\0\0\0\1\xFF", 7);
}

Test(login7, sets_the_read_only_bit, .timeout = 5) {
  uint8_t p[TDS_LOGIN_MAX];
  size_t n = 0;
  const char *what = NULL;
  struct tds_login l = sample();
  l.read_only = true;
  cr_assert_eq(tds_login7_write(&l, p, &n, &what), TDS_OK);
  cr_expect_eq(p[26], 0x20);
}

Test(login7, fits_with_every_text_at_its_limit, .timeout = 5) {
  uint8_t p[TDS_LOGIN_MAX];
  char text[TDS_LOGIN_UNITS + 1];
  size_t n = 0;
  const char *what = NULL;
  memset(text, 'x', sizeof text);
  struct tds_login l = {.version = TDS_V74};
  l.host = l.user = l.password = l.app = text;
  l.server = l.language = l.database = text;
  l.host_n = l.user_n = l.password_n = l.app_n = TDS_LOGIN_UNITS;
  l.server_n = l.language_n = l.database_n = TDS_LOGIN_UNITS;
  cr_assert_eq(tds_login7_write(&l, p, &n, &what), TDS_OK);
  cr_expect_lt(n, 2500);
  l.password_n = TDS_LOGIN_UNITS + 1;
  cr_assert_eq(tds_login7_write(&l, p, &n, &what), TDS_E_SPACE);
  cr_expect_str_eq(what, "Password");
}

Test(login7, refuses_what_is_not_utf8, .timeout = 5) {
  uint8_t p[TDS_LOGIN_MAX];
  size_t n = 0;
  const char *what = NULL;
  struct tds_login l = sample();
  l.user = "\xC3";
  l.user_n = 1;
  cr_assert_eq(tds_login7_write(&l, p, &n, &what), TDS_E_PROTO);
  cr_expect_str_eq(what, "User ID");
}

Test(login7, lists_each_feature_with_its_length, .timeout = 5) {
  uint8_t p[TDS_LOGIN_MAX + 100];
  size_t n = 0;
  const char *what = NULL;
  struct tds_login l = sample();
  l.n_asks = 2;
  cr_assert_leq(tds_login7_room(&l), sizeof p);
  cr_assert_eq(tds_login7_write(&l, p, &n, &what), TDS_OK);
  uint32_t list = tds_u32(p + tds_u16(p + 56));
  cr_assert_eq(list + 15, n);
  cr_expect_arr_eq(p + list, "\x0A\1\0\0\0\1\2\3\0\0\0abc\xFF", 15);
}
