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
    tds_errors_find(cases[i].number, 1, cases[i].severity, cases[i].login, &r);
    cr_expect_eq(r.scope, cases[i].scope, "%d", cases[i].number);
    cr_expect_eq(r.kind, cases[i].kind, "%d", cases[i].number);
    cr_expect_eq(r.retry, cases[i].retry, "%d", cases[i].number);
  }
}

/* Scenario 194: only the states that say "not now" are worth another try; with
 * all others, and with 1, which says nothing, the account could be locked. */
Test(errors, scenario_194_know_a_login_to_try_again, .timeout = 5) {
  for (int state = 0; state < 256; state++) {
    struct tds_error_rule r;
    bool later = state == 13 || state == 23;
    tds_errors_find(18456, (uint8_t)state, 14, true, &r);
    cr_expect_eq(r.kind, later ? WEIR_DRV_K_FAILOVER : WEIR_DRV_K_AUTH);
    cr_expect_eq(r.scope,
                 later ? WEIR_DRV_SCOPE_ENDPOINT : WEIR_DRV_SCOPE_CONFIG);
    cr_expect_eq(r.retry, later ? WEIR_DRV_RETRY_OTHER : WEIR_DRV_RETRY_CRED);
    cr_expect_eq(r.retry_after_s > 0, later);
  }
}

/* Section 2.7 of the protocol notes, row by row: what is dead, what is alive. */
static const struct {
  int32_t number;
  uint8_t severity;
  bool dead;
} fates[] = {
    {596, 21, true},   {18002, 16, true}, {17142, 14, true},  {6005, 10, true},
    {19420, 16, true}, {3906, 16, true},  {3908, 16, true},   {976, 14, true},
    {978, 14, true},   {979, 14, true},   {983, 14, true},    {40971, 16, true},
    {35267, 16, true}, {40197, 17, true}, {40501, 16, true},  {40613, 16, true},
    {49918, 16, true}, {49919, 16, true}, {49920, 16, true},  {10928, 16, true},
    {10929, 16, true}, {3989, 16, true},  {3971, 16, true},   {3980, 16, true},
    {3988, 16, true},  {37396, 16, true}, {18456, 14, true},  {18056, 16, true},
    {18059, 16, true}, {40549, 16, true}, {1205, 13, false},  {3960, 16, false},
    {1222, 16, false}, {3998, 16, false}, {41302, 16, false}, {8179, 16, false},
    {586, 16, false},  {102, 15, false},  {50000, 19, false}, {50000, 20, true},
    {50000, 25, true}, {547, 16, false},
};

Test(errors, tell_the_dead_from_the_living, .timeout = 5) {
  for (size_t i = 0; i < sizeof fates / sizeof fates[0]; i++) {
    struct tds_error_rule r;
    tds_errors_find(fates[i].number, 1, fates[i].severity, false, &r);
    cr_expect_eq(r.scope >= WEIR_DRV_SCOPE_CONN, fates[i].dead, "%d",
                 fates[i].number);
  }
}

/* Transient lists of the clients that users know, while opening. */
Test(errors,
     are_transient_while_opening_where_sqlclient_says_so,
     .timeout = 5) {
  static const int32_t numbers[] = {10928, 10929, 40197, 40501, 40613,
                                    42108, 42109, 40020, 40143, 40166,
                                    40540, 49918, 49919, 49920, 4221};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    struct tds_error_rule r;
    tds_errors_find(numbers[i], 1, 16, true, &r);
    cr_expect_eq(r.scope, WEIR_DRV_SCOPE_ENDPOINT, "%d", numbers[i]);
    cr_expect_neq(r.retry, WEIR_DRV_RETRY_NO, "%d", numbers[i]);
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
    bool spaced = t[i].kind == WEIR_DRV_K_THROTTLED || t[i].state != 0;
    cr_expect_eq(spaced, t[i].retry_after_s > 0, "%d", t[i].number);
  }
}
