/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "server_const.h"
#include "server_prelogin.h"
#include "test_support.h"

static int parse(const char *text,
                 struct tdsd_prelogin *out,
                 struct tdsd_problem *problem) {
  struct tdsd_buf in = {0};
  hex(&in, text);
  int rc =
      tdsd_prelogin_parse(tdsd_buf_at(&in), tdsd_buf_len(&in), out, problem);
  tdsd_buf_fini(&in);
  return rc;
}

/* The sample of MS-TDS 4.1. */
Test(prelogin, the_sample_of_the_specification_is_read, .timeout = 5) {
  struct tdsd_prelogin got = {0};
  struct tdsd_problem problem;
  cr_assert_eq(parse("00 001A 0006 01 0020 0001 02 0021 0001 03 0022 0004"
                     "04 0026 0001 FF 090000000000 01 00 B80D0000 01",
                     &got, &problem),
               0);
  cr_assert_eq(got.version[0], 9);
  cr_assert_eq(got.encryption, TDSD_ENC_ON);
  cr_assert_eq(got.mars, 1);
  cr_assert_str_empty(got.instance);
}

Test(prelogin, everything_malformed_is_named, .timeout = 5) {
  static const struct {
    const char *bytes;
    const char *says;
  } cases[] = {
      {"", "empty"},
      {"FF", "no VERSION"},
      {"00 0004 0006 7F 0000 0000", "no end"},
      {"00 0006 00", "cut off"},
      {"01 0006 0001 FF 00", "begins with option ENCRYPTION"},
      {"00 0006 0006 FF 0900", "VERSION at 6+6 ends behind"},
      {"00 0006 0005 FF 0900000000", "VERSION has 5 bytes"},
      {"00 0005 0006 FF 090000000000", "VERSION lies in the option table"},
      {"00 000B 0006 00 000B 0006 FF 090000000000", "option 0x00 twice"},
      {"00 000B 0006 01 000C 0001 FF 090000000000", "overlap"},
      {"00 000B 0006 01 0011 0001 FF 090000000000 04", "ENCRYPTION is 0x04"},
      {"00 000B 0006 01 0011 0001 FF 090000000000 20", "ENCRYPTION is 0x20"},
      {"00 000B 0006 02 0011 0001 FF 090000000000 41", "INSTOPT is not ended"},
      {"00 000B 0006 04 0011 0001 FF 090000000000 02", "MARS is 2"},
      {"00 000B 0006 06 0011 0001 FF 090000000000 02", "FEDAUTHREQUIRED is 2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd_prelogin got;
    struct tdsd_problem problem = {""};
    cr_assert_eq(parse(cases[i].bytes, &got, &problem), -1, "%s",
                 cases[i].says);
    cr_assert_not_null(strstr(problem.text, cases[i].says), "%s", problem.text);
  }
}

Test(prelogin, unknown_options_are_skipped, .timeout = 5) {
  struct tdsd_prelogin got;
  struct tdsd_problem problem;
  cr_assert_eq(
      parse("00 000B 0006 7F 0011 0002 FF 090000000000 1234", &got, &problem),
      0);
}

/* The table of MS-TDS 2.2.6.5. */
Test(prelogin, encryption_is_settled_by_the_table, .timeout = 5) {
  static const struct {
    enum tdsd_tls_mode mode;
    uint8_t client;
    uint8_t reply;
    enum tdsd_encryption outcome;
  } cases[] = {
      {TDSD_TLS_OFF, TDSD_ENC_OFF, TDSD_ENC_NOT_SUP, TDSD_CRYPT_PLAIN},
      {TDSD_TLS_OFF, TDSD_ENC_ON, TDSD_ENC_NOT_SUP, TDSD_CRYPT_REFUSE},
      {TDSD_TLS_OFF, TDSD_ENC_NOT_SUP, TDSD_ENC_NOT_SUP, TDSD_CRYPT_PLAIN},
      {TDSD_TLS_LOGIN_ONLY, TDSD_ENC_OFF, TDSD_ENC_OFF, TDSD_CRYPT_LOGIN_ONLY},
      {TDSD_TLS_LOGIN_ONLY, TDSD_ENC_ON, TDSD_ENC_ON, TDSD_CRYPT_FULL},
      {TDSD_TLS_LOGIN_ONLY, TDSD_ENC_REQ, TDSD_ENC_ON, TDSD_CRYPT_FULL},
      {TDSD_TLS_LOGIN_ONLY, TDSD_ENC_NOT_SUP, TDSD_ENC_NOT_SUP,
       TDSD_CRYPT_PLAIN},
      {TDSD_TLS_FULL, TDSD_ENC_OFF, TDSD_ENC_REQ, TDSD_CRYPT_FULL},
      {TDSD_TLS_FULL, TDSD_ENC_ON, TDSD_ENC_ON, TDSD_CRYPT_FULL},
      {TDSD_TLS_FULL, TDSD_ENC_NOT_SUP, TDSD_ENC_REQ, TDSD_CRYPT_REFUSE},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tdsd_prelogin client = {.seen = 3, .encryption = cases[i].client};
    uint8_t reply = 0xEE;
    cr_assert_eq(tdsd_prelogin_decide(cases[i].mode, &client, false, &reply),
                 cases[i].outcome, "case %zu", i);
    cr_assert_eq(reply, cases[i].reply, "case %zu", i);
  }
}

Test(prelogin, the_reply_echoes_what_was_asked, .timeout = 5) {
  struct tdsd_buf out = {0};
  struct tdsd_prelogin client = {.seen = 1u << TDSD_PRE_FEDAUTH};
  tdsd_prelogin_reply(&out, &client, TDSD_ENC_REQ, 0);
  cr_assert(holds_hex(&out,
                      "00 001F 0006 01 0025 0001 02 0026 0001 03 0027 0000"
                      "04 0027 0001 06 0028 0001 FF"
                      "1000 03E8 0000 03 00 00 00"));
  tdsd_buf_fini(&out);
}
