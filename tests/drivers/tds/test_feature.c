/* SPDX-License-Identifier: MIT */
/* test_feature.c - answers to features, asked for or not. */
#include <string.h>

#include <criterion/criterion.h>

#include "tds_feature.h"

#define FED  TDS_ASKED_FEDAUTH
#define UTF8 TDS_ASKED_UTF8

static const uint8_t nonce[32] = {1, 2, 3};
static const uint8_t other[32] = {1, 2, 4};

static const struct {
  uint8_t id;
  uint32_t asked;
  uint32_t acked;
  const uint8_t *data;
  size_t n;
  const char *why; /* NULL: it is fine */
} cases[] = {
    {0x0A, UTF8, 0, nonce, 1, NULL},
    {0x0A, UTF8, 0, nonce, 0, "UTF8_SUPPORT has 0 bytes instead of 1"},
    {0x0A, UTF8, 0, nonce, 2, "UTF8_SUPPORT has 2 bytes instead of 1"},
    {0x0A, UTF8, UTF8, nonce, 1, "acknowledges UTF8_SUPPORT twice"},
    {0x0A, 0, 0, nonce, 1, "feature 0x0A, which was not asked for"},
    {0x02, UTF8, 0, nonce, 0, "feature 0x02, which was not asked for"},
    {0x02, UTF8 | FED, 0, nonce, 0, NULL},
    {0x02, UTF8 | FED, UTF8, nonce, 32, NULL},
    {0x02, UTF8 | FED, 0, other, 32, "another nonce"},
    {0x02, UTF8 | FED, 0, nonce, 31, "FEDAUTH has 31 bytes instead of 0"},
    {0x02, UTF8 | FED, FED, nonce, 0, "acknowledges FEDAUTH twice"},
    {0x01, UTF8 | FED, 0, nonce, 0, "feature 0x01, which was not asked for"},
    {0x09, UTF8 | FED, 0, nonce, 2, "feature 0x09, which was not asked for"},
    {0x0F, UTF8 | FED, 0, nonce, 1, "feature 0x0F, which was not asked for"},
};

Test(feature, answers_are_taken_exactly, .timeout = 5) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tds_feature f = {cases[i].id, {cases[i].data, cases[i].n}};
    uint32_t acked = cases[i].acked;
    char why[120] = "";
    int rc =
        tds_feature_ack(&f, cases[i].asked, &acked, nonce, why, sizeof why);
    cr_expect_eq(rc, cases[i].why == NULL ? TDS_OK : TDS_E_PROTO, "%zu", i);
    cr_expect_eq(acked != cases[i].acked, cases[i].why == NULL, "%zu", i);
    if (cases[i].why != NULL) {
      cr_expect_not_null(strstr(why, cases[i].why), "%zu: %s", i, why);
    }
  }
}

Test(feature, answers_bring_no_nonce_that_was_not_sent, .timeout = 5) {
  struct tds_feature f = {TDS_FEATURE_FEDAUTH, {nonce, 32}};
  uint32_t acked = 0;
  char why[120] = "";
  cr_expect_eq(tds_feature_ack(&f, FED, &acked, NULL, why, sizeof why),
               TDS_E_PROTO);
}
