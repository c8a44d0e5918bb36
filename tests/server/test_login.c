/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "server_const.h"
#include "server_login.h"
#include "test_support.h"

static int parse(const struct tdsd_buf *in,
                 struct tdsd_login *out,
                 struct tdsd_problem *problem) {
  return tdsd_login_parse(tdsd_buf_at(in), tdsd_buf_len(in), out, problem);
}

/* A good record: sa, password x, as one packet without its header. */
static void good(struct tdsd_buf *out) {
  login_packet(out, TDSD_V74, 4096);
  tdsd_buf_consume(out, TDSD_HEADER_BYTES);
}

/* The sample of MS-TDS 4.2. */
Test(login, the_sample_of_the_specification_is_read, .timeout = 5) {
  struct tdsd_buf in = {0};
  struct tdsd_login got;
  struct tdsd_problem problem = {""};
  hex(&in, "88000000 02000972 00100000 00000007 00010000 00000000 E0030000"
           "00000000 09040000 5E000800 6E000200 72000000 72000700 80000000"
           "80000000 80000400 88000000 88000000 00508BE2B78F 88000000 88000000"
           "88000000 00000000 \"skostov1\" \"sa\" \"OSQL-32\" \"ODBC\"");
  cr_assert_eq(parse(&in, &got, &problem), 0, "%s", problem.text);
  cr_assert_eq(got.version, TDSD_V72);
  cr_assert_eq(got.packet_size, 4096);
  cr_assert_str_eq(got.host, "skostov1");
  cr_assert_str_eq(got.user, "sa");
  cr_assert_str_eq(got.app, "OSQL-32");
  cr_assert_str_eq(got.library, "ODBC");
  cr_assert_str_empty(got.password);
  tdsd_buf_fini(&in);
}

Test(login, the_password_is_unscrambled, .timeout = 5) {
  struct tdsd_buf in = {0};
  struct tdsd_login got;
  struct tdsd_problem problem;
  good(&in);
  cr_assert_eq(parse(&in, &got, &problem), 0);
  cr_assert_str_eq(got.password, "x");
  tdsd_login_wipe(&got);
  tdsd_buf_fini(&in);
}

Test(login, every_field_that_leaves_the_record_is_named, .timeout = 5) {
  static const struct {
    size_t at;
    uint16_t value;
    const char *says;
  } cases[] = {
      {0, 99, "says it has 99 bytes but has 100"},
      {36, 93, "ibHostName is 93"},
      {38, 129, "field HostName has 129 units"},
      {42, 9, "field UserName at 94 of 9 units ends behind"},
      {46, 128, "field Password"},
      {50, 1, "field AppName"},
      {54, 1, "field ServerName"},
      {62, 1, "field CltIntName"},
      {66, 1, "field Language"},
      {70, 1, "field Database"},
      {80, 1, "SSPI at 100"},
      {84, 261, "field AtchDBFile has 261 units"},
      {88, 1, "field ChangePassword"},
      {40, 10, "field UserName at 10 lies in the fixed part"},
      {8, 511, "packet size 511"},
      {8, 32768, "packet size 32768"},
      {4, 1, "TDS version 0x74000001"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd_buf in = {0};
    struct tdsd_login got;
    struct tdsd_problem problem = {""};
    good(&in);
    tdsd_buf_put_u16(&in, cases[i].at, cases[i].value);
    cr_assert_eq(parse(&in, &got, &problem), -1, "%s", cases[i].says);
    cr_assert_not_null(strstr(problem.text, cases[i].says), "%s", problem.text);
    tdsd_buf_fini(&in);
  }
}

Test(login, a_short_record_is_refused_at_every_length, .timeout = 5) {
  struct tdsd_buf in = {0};
  struct tdsd_login got;
  struct tdsd_problem problem;
  good(&in);
  for (size_t n = 0; n < tdsd_buf_len(&in); n++) {
    cr_assert_eq(tdsd_login_parse(tdsd_buf_at(&in), n, &got, &problem), -1);
  }
  tdsd_buf_fini(&in);
}

/* Turns the good record into one with a feature list. */
static void with_features(struct tdsd_buf *in, const char *list) {
  good(in);
  hex(in, "68000000");
  hex(in, list);
  tdsd_buf_put_u16(in, 0, (uint32_t)tdsd_buf_len(in));
  tdsd_buf_put_u16(in, 56, 100);
  tdsd_buf_put_u16(in, 58, 4);
  tdsd_buf_at(in)[27] = 0x10;
}

Test(login, features_are_walked_by_their_lengths, .timeout = 5) {
  struct tdsd_buf in = {0};
  struct tdsd_login got;
  struct tdsd_problem problem = {""};
  with_features(&in, "01 00000000  10 02000000 AABB  0A 01000000 01  FF");
  cr_assert_eq(parse(&in, &got, &problem), 0, "%s", problem.text);
  cr_assert(got.utf8_asked);
  cr_assert_not(got.fedauth.asked);
  tdsd_buf_fini(&in);
}

Test(login, broken_feature_lists_are_named, .timeout = 5) {
  static const struct {
    const char *list;
    const char *says;
  } cases[] = {
      {"01 00000000", "feature list has no end"},
      {"01 05000000 AA FF", "feature 0x01 ends behind"},
      {"01 FFFFFFFF FF", "feature 0x01 ends behind"},
      {"01 000000", "feature 0x01 ends behind"},
      {"01 00000000 01 00000000 FF", "feature 0x01 is twice"},
      {"0A 02000000 0101 FF", "UTF8_SUPPORT has 2 bytes"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd_buf in = {0};
    struct tdsd_login got;
    struct tdsd_problem problem = {""};
    with_features(&in, cases[i].list);
    cr_assert_eq(parse(&in, &got, &problem), -1, "%s", cases[i].says);
    cr_assert_not_null(strstr(problem.text, cases[i].says), "%s", problem.text);
    tdsd_buf_fini(&in);
  }
}

Test(login, the_places_of_secrets_are_found, .timeout = 5) {
  struct tdsd_buf in = {0};
  size_t from[TDSD_LOGIN_SECRETS];
  size_t to[TDSD_LOGIN_SECRETS];
  good(&in);
  tdsd_login_secrets(tdsd_buf_at(&in), tdsd_buf_len(&in), from, to);
  cr_assert_eq(from[0], 98);
  cr_assert_eq(to[0], 100);
  cr_assert_eq(from[1], to[1]);
  tdsd_buf_fini(&in);
}
