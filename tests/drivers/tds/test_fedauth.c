/* SPDX-License-Identifier: MIT */
/* test_fedauth.c - FEDAUTHINFO, cut and lied about; tokens on the wire. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"
#include "tds_fedauth.h"
#include "tds_limits.h"

static void *take(void *ctx, uint64_t size, uint32_t flags) {
  (void)ctx;
  (void)flags;
  return calloc(1, (size_t)size);
}

static void give(void *ctx, void *p) {
  (void)ctx;
  free(p);
}

static const struct tds_mem mem = {NULL, take, give};

/* Two entries: "h" for the STS at 22, "s" for the SPN at 24. */
#define INFO "02000000 01 02000000 16000000 02 02000000 18000000 6800 7300"

static int read_hex(const char *hex, struct tds_fedauth *out) {
  const char *why = NULL;
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  int rc = tds_fedauth_read(p, n, out, &why);
  cr_assert(rc == TDS_OK || why != NULL);
  if (rc == TDS_OK) {
    cr_expect(out->sts.p >= p && out->sts.p + out->sts.n <= p + n);
    cr_expect(out->spn.p >= p && out->spn.p + out->spn.n <= p + n);
  }
  free(p);
  return rc;
}

Test(fedauth, finds_url_and_name, .timeout = 5) {
  struct tds_fedauth r;
  const char *why = NULL;
  size_t n = 0;
  uint8_t *p = fake_unhex(INFO, &n);
  cr_assert_eq(tds_fedauth_read(p, n, &r, &why), TDS_OK);
  cr_expect_eq(r.sts.n, 2);
  cr_expect_eq(r.sts.p[0], 'h');
  cr_expect_eq(r.spn.n, 2);
  cr_expect_eq(r.spn.p[0], 's');
  free(p);
}

Test(fedauth, passes_over_what_it_does_not_know, .timeout = 5) {
  struct tds_fedauth r;
  cr_expect_eq(read_hex("03000000 09 01000000 1f000000 02 02000000 1f000000"
                        "01 02000000 1f000000 6800",
                        &r),
               TDS_OK);
}

static const char *const lies[] = {
    "",
    "000000",
    "00000000",                                  /* nothing in it */
    "01000000 01 02000000 0d000000 6800",        /* no SPN */
    "01000000 02 02000000 0d000000 6800",        /* no STS */
    "02000000 01 02000000 16000000",             /* table is cut */
    "ffffffff 01 02000000 16000000 02 02000000", /* count wraps */
    "1dc71c72 01 02000000 16000000 02 02000000", /* count * 9 wraps */
    "02000000 01 02000000 17000000 02 02000000 19000000 6800 7300",
    "02000000 01 ffffffff 16000000 02 02000000 18000000 6800 7300",
    "02000000 01 02000000 ffffffff 02 02000000 18000000 6800 7300",
    "02000000 01 ffffffff ffffffff 02 02000000 18000000 6800 7300",
    "02000000 01 02000000 feffffff 02 02000000 18000000 6800 7300",
    "02000000 01 01000000 16000000 02 02000000 18000000 6800 7300",
    "02000000 01 00000000 16000000 02 02000000 18000000 6800 7300",
    "02000000 01 02000000 16000000 01 02000000 18000000 6800 7300",
};

Test(fedauth, refuses_lies, .timeout = 5) {
  for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
    struct tds_fedauth r;
    cr_expect_eq(read_hex(lies[i], &r), TDS_E_PROTO, "%zu", i);
  }
}

Test(fedauth, refuses_every_cut, .timeout = 5) {
  size_t n = 0;
  uint8_t *whole = fake_unhex(INFO, &n);
  for (size_t k = 0; k < n; k++) {
    struct tds_fedauth r;
    const char *why = NULL;
    uint8_t *p = malloc(k + 1);
    cr_assert_not_null(p);
    memcpy(p, whole, k);
    cr_expect_eq(tds_fedauth_read(p, k, &r, &why), TDS_E_PROTO, "%zu", k);
    free(p);
  }
  free(whole);
}

static const uint8_t nonce[32] = {9, 8, 7};

Test(fedauth, writes_a_token_for_the_login, .timeout = 5) {
  struct tds_buf b = {.mem = &mem};
  cr_assert_eq(tds_fedauth_put_token(&b, true, "t\xC3\xB3", 3, nonce), TDS_OK);
  cr_assert_eq(b.n, 1 + 4 + 4 + 32);
  cr_expect_arr_eq(b.p, "\3\4\0\0\0t\0\xF3\0", 9);
  cr_expect_arr_eq(b.p + 9, nonce, 32);
  b.n = 0;
  cr_assert_eq(tds_fedauth_put_token(&b, false, "t", 1, NULL), TDS_OK);
  cr_assert_eq(b.n, 7);
  cr_expect_arr_eq(b.p, "\2\2\0\0\0t\0", 7);
  tds_buf_fini(&b);
}

Test(fedauth, writes_a_wish, .timeout = 5) {
  struct tds_buf b = {.mem = &mem};
  cr_assert_eq(tds_fedauth_put_wish(&b, true, 3), TDS_OK);
  cr_assert_eq(tds_fedauth_put_wish(&b, false, 1), TDS_OK);
  cr_expect_arr_eq(b.p, "\5\3\4\1", 4);
  tds_buf_fini(&b);
}

Test(fedauth, writes_the_token_message, .timeout = 5) {
  struct tds_buf b = {.mem = &mem};
  cr_assert_eq(tds_fedauth_put_message(&b, "t", 1, nonce), TDS_OK);
  cr_assert_eq(b.n, 4 + 4 + 2 + 32);
  cr_expect_arr_eq(b.p, "\x26\0\0\0\2\0\0\0t\0\x09\x08", 12);
  tds_buf_fini(&b);
}

Test(fedauth, takes_no_token_that_cannot_be_sent, .timeout = 5) {
  struct tds_buf b = {.mem = &mem};
  cr_expect_eq(tds_fedauth_put_message(&b, "\xFF", 1, NULL), TDS_E_PROTO);
  cr_expect_eq(tds_fedauth_put_message(&b, "x", TDS_LOGIN_RECORD_MAX + 1, NULL),
               TDS_E_SPACE);
  tds_buf_fini(&b);
}
