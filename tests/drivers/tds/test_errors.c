/* SPDX-License-Identifier: MIT */
/* test_errors.c - the table, and what is not in it. */
#include <criterion/criterion.h>

#include "weir_driver.h"

#include "tds_errors.h"

static const struct {
  int32_t number;
  uint8_t severity;
  bool login;
  int32_t scope;
  int32_t kind;
  int32_t retry;
} cases[] = {
    {18456, 14, true, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_AUTH,
     WEIR_DRV_RETRY_CRED},
    {4060, 11, true, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
     WEIR_DRV_RETRY_NO},
    {911, 16, true, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG,
     WEIR_DRV_RETRY_NO},
    {911, 16, false, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_OTHER,
     WEIR_DRV_RETRY_NO},
    {18488, 14, true, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_AUTH_EXPIRED,
     WEIR_DRV_RETRY_CRED},
    {10928, 16, true, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_THROTTLED,
     WEIR_DRV_RETRY_OTHER},
    {40501, 20, false, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_THROTTLED,
     WEIR_DRV_RETRY_OTHER},
    {40613, 17, true, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_FAILOVER,
     WEIR_DRV_RETRY_OTHER},
    {1205, 13, false, WEIR_DRV_SCOPE_TXN, WEIR_DRV_K_DEADLOCK,
     WEIR_DRV_RETRY_SAME},
    {102, 15, false, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_SYNTAX,
     WEIR_DRV_RETRY_NO},
    {2627, 14, false, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_CONSTRAINT,
     WEIR_DRV_RETRY_NO},
    {3906, 16, false, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_FAILOVER,
     WEIR_DRV_RETRY_ELSE},
    {596, 21, false, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_NETWORK,
     WEIR_DRV_RETRY_NO},
    {777777, 16, false, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_OTHER,
     WEIR_DRV_RETRY_NO},
    {777777, 17, false, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_RESOURCE,
     WEIR_DRV_RETRY_NO},
    {777777, 20, false, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_OTHER,
     WEIR_DRV_RETRY_NO},
    {777777, 14, true, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_OTHER,
     WEIR_DRV_RETRY_NO},
    {547, 24, false, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_CONSTRAINT,
     WEIR_DRV_RETRY_NO},
};

Test(errors, are_judged_by_number_then_severity, .timeout = 5) {
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct tds_error_rule r;
    tds_errors_find(cases[i].number, cases[i].severity, cases[i].login, &r);
    cr_expect_eq(r.scope, cases[i].scope, "%d", cases[i].number);
    cr_expect_eq(r.kind, cases[i].kind, "%d", cases[i].number);
    cr_expect_eq(r.retry, cases[i].retry, "%d", cases[i].number);
  }
}

Test(errors, are_sorted_and_legal_in_the_table, .timeout = 5) {
  size_t n = 0;
  const struct tds_error_rule *t = tds_errors_table(&n);
  cr_assert_gt(n, 50);
  for (size_t i = 0; i < n; i++) {
    cr_expect(i == 0 || t[i].number >= t[i - 1].number, "%d", t[i].number);
    cr_expect_geq(t[i].scope, WEIR_DRV_SCOPE_STATEMENT);
    cr_expect_leq(t[i].scope, WEIR_DRV_SCOPE_CONFIG);
    cr_expect_leq(t[i].kind, WEIR_DRV_K_INTERNAL);
    cr_expect_leq(t[i].retry, WEIR_DRV_RETRY_CRED);
  }
}

Test(errors, advise_when_to_come_back_after_throttling, .timeout = 5) {
  size_t n = 0;
  const struct tds_error_rule *t = tds_errors_table(&n);
  for (size_t i = 0; i < n; i++) {
    cr_expect_eq(t[i].kind == WEIR_DRV_K_THROTTLED, t[i].retry_after_s > 0);
  }
}
