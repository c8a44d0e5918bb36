/* SPDX-License-Identifier: MIT */
/* Federated logins, both ways, and their secrets. */
#include <criterion/criterion.h>

#include "server_const.h"
#include "server_login.h"
#include "test_support.h"

/* A LOGIN7 whose only feature is 02 with these data. */
static void fedauth_login(struct tdsd_buf *out, const char *feature) {
  struct tdsd_buf body = {0};
  struct tdsd_buf data = {0};
  hex(&data, feature);
  size_t len = tdsd_buf_len(&data);
  tdsd_buf_u32(&body, (uint32_t)(94 + 4 + 5 + len + 1));
  tdsd_buf_u32(&body, TDSD_V74);
  tdsd_buf_u32(&body, 4096);
  hex(&body, "00000007 01000000 00000000 E0 03 00 10 00000000 09040000");
  for (unsigned i = 0; i < 5; i++) {
    hex(&body, "5E00 0000"); /* host to server, all empty */
  }
  hex(&body, "5E00 0400"); /* the extension */
  for (unsigned i = 0; i < 3; i++) {
    hex(&body, "5E00 0000");
  }
  hex(&body, "020000000001  5E00 0000  5E00 0000  5E00 0000  00000000");
  tdsd_buf_u32(&body, 98);
  tdsd_buf_u8(&body, 2);
  tdsd_buf_u32(&body, (uint32_t)len);
  tdsd_buf_bytes(&body, tdsd_buf_at(&data), len);
  tdsd_buf_u8(&body, 0xFF);
  tdsd_packet_write(out, TDSD_PKT_LOGIN7, TDSD_ST_EOM, 0, 1, tdsd_buf_at(&body),
                    tdsd_buf_len(&body));
  tdsd_buf_fini(&body);
  tdsd_buf_fini(&data);
}

/* A session that knows the token "secret", behind a PRELOGIN with
 * FEDAUTHREQUIRED. */
static void begin(struct fixture *fixture, bool echo_0) {
  static char token[] = "secret";
  static char *tokens[] = {token};
  struct tdsd_buf in = {0};
  struct tdsd_buf body = {0};
  fixture_init(fixture);
  fixture->shared.tokens = tokens;
  fixture->shared.options.ntokens = 1;
  fixture->shared.options.fedauth_echo_0 = echo_0;
  hex(&body, "00 0010 0006  01 0016 0001  06 0017 0001  FF 090000000000 02 01");
  tdsd_packet_write(&in, TDSD_PKT_PRELOGIN, TDSD_ST_EOM, 0, 1,
                    tdsd_buf_at(&body), tdsd_buf_len(&body));
  (void)feed_all(&fixture->session, &in);
  tdsd_buf_fini(&body);
  tdsd_buf_fini(&in);
}

static void login(struct fixture *fixture, const char *feature) {
  struct tdsd_buf in = {0};
  tdsd_buf_clear(&fixture->session.out);
  fedauth_login(&in, feature);
  (void)feed_all(&fixture->session, &in);
  tdsd_buf_fini(&in);
}

Test(fedauth, prelogin_says_whether_a_token_is_needed, .timeout = 5) {
  struct fixture fixture;
  begin(&fixture, false);
  cr_assert(contains_hex(&fixture.session.out, "00 00 01"));
  fixture_fini(&fixture);
  begin(&fixture, true);
  cr_assert_not(contains_hex(&fixture.session.out, "00 00 01"));
  fixture_fini(&fixture);
}

Test(fedauth, a_token_in_the_login_lets_in, .timeout = 5) {
  struct fixture fixture;
  begin(&fixture, false);
  login(&fixture, "03 0C000000 \"secret\"");
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY, "%s", fixture.log);
  cr_assert(contains_hex(&fixture.session.out, "AE 02 00000000 FF FD 0000"));
  fixture_batch(&fixture, "SELECT SUSER_SNAME()");
  cr_assert(
      contains_hex(&fixture.session.out, "\"token-identified principal\""));
  fixture_fini(&fixture);
}

Test(fedauth, a_nonce_is_given_back, .timeout = 5) {
  struct fixture fixture;
  begin(&fixture, true);
  login(&fixture, "02 0C000000 \"secret\" 0102030405060708090A0B0C0D0E0F10"
                  "1112131415161718191A1B1C1D1E1F20");
  cr_assert(contains_hex(&fixture.session.out,
                         "AE 02 20000000 0102030405060708090A0B0C0D0E0F10"
                         "1112131415161718191A1B1C1D1E1F20 FF"));
  fixture_fini(&fixture);
}

Test(fedauth, a_wrong_token_is_18456, .timeout = 5) {
  struct fixture fixture;
  begin(&fixture, false);
  login(&fixture, "03 0C000000 \"Secret\"");
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_ENDED);
  cr_assert(contains_hex(&fixture.session.out, "18480000 01 0E"));
  cr_assert_null(strstr(fixture.log, "Secret"));
  fixture_fini(&fixture);
}

Test(fedauth, who_has_no_token_is_told_where_to_get_one, .timeout = 5) {
  struct fixture fixture;
  struct tdsd_buf in = {0};
  begin(&fixture, false);
  login(&fixture, "05 03");
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_TOKEN);
  cr_assert(contains_hex(&fixture.session.out,
                         "EE 94000000 02000000 01 42000000 16000000 "
                         "02 3C000000 58000000 "
                         "\"https://login.tdsd.invalid/common\""
                         "\"https://database.tdsd.invalid/\""));
  hex(&in, "08 01 001C 0000 01 00 10000000 0C000000 \"secret\"");
  (void)feed_all(&fixture.session, &in);
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_READY, "%s", fixture.log);
  cr_assert(contains_hex(&fixture.session.out, "AE 02 00000000 FF"));
  tdsd_buf_fini(&in);
  fixture_fini(&fixture);
}

Test(fedauth, malformed_ones_are_named, .timeout = 5) {
  static const struct {
    const char *feature;
    const char *says;
  } cases[] = {
      {"", "FEDAUTH is empty"},
      {"07", "library 3"},
      {"03 0D000000 \"secret\"", "token of 13 bytes"},
      {"03 0C000000 \"secret\" 00", "1 bytes behind"},
      {"05 04", "unknown workflow"},
      {"02 0C000000 \"secret\"", "FEDAUTHREQUIRED"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    begin(&fixture, false);
    login(&fixture, cases[i].feature);
    cr_expect_eq(fixture.session.phase, TDSD_PHASE_ENDED, "%s", cases[i].says);
    cr_expect_not_null(strstr(fixture.log, cases[i].says), "%s", fixture.log);
    fixture_fini(&fixture);
  }
}

Test(fedauth, only_a_token_may_follow_the_question, .timeout = 5) {
  static const char *const cases[] = {
      "01 01 000A 0000 01 00 2000",
      "08 01 001C 0000 01 00 11000000 0C000000 \"secret\"",
      "08 01 001C 0000 01 00 10000000 0E000000 \"secret\"",
      "08 01 0008 0000 01 00",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct fixture fixture;
    struct tdsd_buf in = {0};
    begin(&fixture, false);
    login(&fixture, "05 01");
    hex(&in, cases[i]);
    (void)feed_all(&fixture.session, &in);
    cr_expect_eq(fixture.session.phase, TDSD_PHASE_ENDED, "%zu", i);
    tdsd_buf_fini(&in);
    fixture_fini(&fixture);
  }
}

Test(fedauth, a_strict_server_wants_it_encrypted, .timeout = 5) {
  struct fixture fixture;
  begin(&fixture, false);
  fixture.shared.manners.strict = true;
  login(&fixture, "03 0C000000 \"secret\"");
  cr_assert_eq(fixture.session.phase, TDSD_PHASE_ENDED);
  fixture_fini(&fixture);
}

Test(fedauth, the_place_of_the_token_is_found, .timeout = 5) {
  struct tdsd_buf in = {0};
  size_t from[TDSD_LOGIN_SECRETS];
  size_t to[TDSD_LOGIN_SECRETS];
  fedauth_login(&in, "03 0C000000 \"secret\"");
  const uint8_t *body = tdsd_buf_at(&in) + TDSD_HEADER_BYTES;
  size_t len = tdsd_buf_len(&in) - TDSD_HEADER_BYTES;
  tdsd_login_secrets(body, len, from, to);
  cr_assert_eq(from[2], 108);
  cr_assert_eq(to[2], 120);
  cr_assert_eq(body[from[2]], 's');
  /* Cut before the feature: all of the list is masked. */
  tdsd_login_secrets(body, 99, from, to);
  cr_assert_eq(from[2], 98);
  cr_assert_eq(to[2], SIZE_MAX);
  tdsd_buf_fini(&in);
}
