/* SPDX-License-Identifier: MIT */
/* test_prelogin.c - the option table, both ways. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "tds_prelogin.h"

static int read_hex(const char *hex, struct tds_prelogin *out) {
  const char *why = NULL;
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  int rc = tds_prelogin_read(p, n, out, &why);
  cr_assert(rc == TDS_OK || why != NULL);
  free(p);
  return rc;
}

Test(prelogin, asks_for_what_the_user_wants, .timeout = 5) {
  static const uint8_t wish[] = {TDS_ENC_OFF, TDS_ENC_ON, TDS_ENC_ON};
  for (int encrypt = 0; encrypt < 3; encrypt++) {
    uint8_t out[TDS_PRELOGIN_REQUEST_MAX];
    struct tds_prelogin r;
    const char *why = NULL;
    size_t n = tds_prelogin_write(out, encrypt, false);
    cr_assert_leq(n, sizeof out);
    cr_assert_eq(tds_prelogin_read(out, n, &r, &why), TDS_OK);
    cr_expect_eq(r.encryption, wish[encrypt]);
    cr_expect_eq(out[0], 0);
  }
}

Test(prelogin, reads_a_reply_with_options_in_any_place, .timeout = 5) {
  struct tds_prelogin r;
  cr_assert_eq(
      read_hex("00 0011 0006 01 0010 0001 02 0017 0001 ff 81 100001020000 01",
               &r),
      TDS_OK);
  cr_expect_eq(r.encryption, TDS_ENC_ON);
  cr_expect_eq(r.instance, 1);
  cr_expect_eq(r.version[3], 2);
}

Test(prelogin, takes_a_silent_server_for_one_without_tls, .timeout = 5) {
  struct tds_prelogin r;
  cr_assert_eq(read_hex("00 0006 0006 ff 100000000000", &r), TDS_OK);
  cr_expect_eq(r.encryption, TDS_ENC_NOTSUP);
}

Test(prelogin, says_that_a_token_is_at_hand, .timeout = 5) {
  uint8_t out[TDS_PRELOGIN_REQUEST_MAX];
  struct tds_prelogin r;
  const char *why = NULL;
  size_t n = tds_prelogin_write(out, TDS_ENCRYPT_MANDATORY, true);
  cr_assert_leq(n, sizeof out);
  cr_assert_eq(tds_prelogin_read(out, n, &r, &why), TDS_OK);
  cr_expect_eq(r.fedauth, 1);
  n = tds_prelogin_write(out, TDS_ENCRYPT_MANDATORY, false);
  cr_assert_eq(tds_prelogin_read(out, n, &r, &why), TDS_OK);
  cr_expect_eq(r.fedauth, 0);
  cr_expect_eq(r.has_nonce, 0);
}

Test(prelogin, keeps_the_nonce, .timeout = 5) {
  struct tds_prelogin r;
  cr_assert_eq(read_hex("00 000b 0006 07 0011 0020 ff 100000000000"
                        "000102030405060708090a0b0c0d0e0f"
                        "101112131415161718191a1b1c1d1e1f",
                        &r),
               TDS_OK);
  cr_expect_eq(r.has_nonce, 1);
  cr_expect_eq(r.nonce[31], 0x1F);
}

/* 0x20 and 0x80 are flags beside the value. */
Test(prelogin, reads_encryption_without_its_flags, .timeout = 5) {
  static const struct {
    const char *hex;
    uint8_t value;
  } cases[] = {{"00 000b 0006 01 0011 0001 ff 100000000000 81", TDS_ENC_ON},
               {"00 000b 0006 01 0011 0001 ff 100000000000 23", TDS_ENC_REQ},
               {"00 000b 0006 01 0011 0001 ff 100000000000 a0", TDS_ENC_OFF}};
  for (size_t i = 0; i < 3; i++) {
    struct tds_prelogin r;
    cr_assert_eq(read_hex(cases[i].hex, &r), TDS_OK);
    cr_expect_eq(r.encryption, cases[i].value);
  }
}

static const char *const bad[] = {
    "",
    "ff",
    "01 0006 0001 ff 00",
    "00 0006 0006",
    "00 0006 00",
    "00 0006 0006 ff 1000",
    "00 ffff 0006 ff",
    "00 0006 0005 ff 1000000000",
    "00 000b 0006 01 0011 0002 ff 100000000000 0101",
    "00 000b 0006 01 0011 0001 ff 100000000000 04",
    "00 000b 0006 01 ffff ffff ff 100000000000 04",
    "00 000b 0006 06 0011 0001 ff 100000000000 02",
    "00 000b 0006 06 0011 0002 ff 100000000000 0101",
    "00 000b 0006 07 0011 0001 ff 100000000000 01",
};

Test(prelogin, refuses_malformed_replies, .timeout = 5) {
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    struct tds_prelogin r;
    cr_expect_eq(read_hex(bad[i], &r), TDS_E_PROTO, "%s", bad[i]);
  }
}

Test(prelogin, refuses_every_cut_of_a_reply, .timeout = 5) {
  static const uint8_t whole[] = {0, 0,    11, 0, 6, 1, 0, 17, 0,
                                  1, 0xFF, 16, 0, 0, 0, 0, 0,  1};
  for (size_t n = 0; n < sizeof whole; n++) {
    struct tds_prelogin r;
    const char *why = NULL;
    uint8_t *p = malloc(n + 1);
    cr_assert_not_null(p);
    memcpy(p, whole, n);
    cr_assert_eq(tds_prelogin_read(p, n, &r, &why), TDS_E_PROTO);
    free(p);
  }
}

static const struct {
  int encrypt;
  uint8_t reply;
  int channel;
} outcomes[] = {
    {TDS_ENCRYPT_OPTIONAL, TDS_ENC_OFF, TDS_CHANNEL_LOGIN_ONLY},
    {TDS_ENCRYPT_OPTIONAL, TDS_ENC_ON, TDS_CHANNEL_FULL},
    {TDS_ENCRYPT_OPTIONAL, TDS_ENC_REQ, TDS_CHANNEL_FULL},
    {TDS_ENCRYPT_OPTIONAL, TDS_ENC_NOTSUP, TDS_CHANNEL_PLAIN},
    {TDS_ENCRYPT_MANDATORY, TDS_ENC_OFF, TDS_CHANNEL_REFUSED},
    {TDS_ENCRYPT_MANDATORY, TDS_ENC_ON, TDS_CHANNEL_FULL},
    {TDS_ENCRYPT_MANDATORY, TDS_ENC_REQ, TDS_CHANNEL_FULL},
    {TDS_ENCRYPT_MANDATORY, TDS_ENC_NOTSUP, TDS_CHANNEL_REFUSED},
};

Test(prelogin, chooses_the_channel_from_both_wishes, .timeout = 5) {
  for (size_t i = 0; i < sizeof outcomes / sizeof outcomes[0]; i++) {
    cr_expect_eq(tds_prelogin_channel(outcomes[i].encrypt, outcomes[i].reply),
                 outcomes[i].channel, "%zu", i);
  }
}
