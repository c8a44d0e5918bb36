/* SPDX-License-Identifier: MIT */
#include <stdint.h>

#include <criterion/criterion.h>

#include "weir.h"
#include "weir_driver.h"

#include "classify.h"

static const struct {
  int32_t scope;
  int32_t kind;
  enum weir__class class;
} rows[] = {
    {WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_AUTH, WEIR_CLASS_PERMANENT},
    {WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG, WEIR_CLASS_PERMANENT},
    {WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_TLS, WEIR_CLASS_PERMANENT},
    {WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NETWORK, WEIR_CLASS_UNREACHABLE},
    {WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NAME, WEIR_CLASS_UNREACHABLE},
    {WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_PROTOCOL, WEIR_CLASS_UNREACHABLE},
    {WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_THROTTLED, WEIR_CLASS_OVERLOADED},
    {WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_RESOURCE, WEIR_CLASS_OVERLOADED},
    {WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_TLS, WEIR_CLASS_OVERLOADED},
    {WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_FAILOVER, WEIR_CLASS_ROLE},
    {WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_FAILOVER, WEIR_CLASS_ROLE},
    {WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_NETWORK, WEIR_CLASS_TRANSIENT},
    {WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_OTHER, WEIR_CLASS_TRANSIENT},
    {WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_AUTH_EXPIRED, WEIR_CLASS_TRANSIENT},
    {WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_SYNTAX, WEIR_CLASS_NONE},
    {WEIR_DRV_SCOPE_TXN, WEIR_DRV_K_DEADLOCK, WEIR_CLASS_NONE},
    /* Of a later header. */
    {99, WEIR_DRV_K_AUTH, WEIR_CLASS_NONE},
    {-1, WEIR_DRV_K_AUTH, WEIR_CLASS_NONE},
    {WEIR_DRV_SCOPE_ENDPOINT, 99, WEIR_CLASS_UNREACHABLE},
    {WEIR_DRV_SCOPE_CONN, -7, WEIR_CLASS_TRANSIENT},
};

Test(classify, follows_the_table, .timeout = 5) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    cr_expect_eq(weir__classify(rows[i].scope, rows[i].kind), rows[i].class,
                 "row %zu", i);
  }
}

Test(classify, knows_every_kind_of_a_broken_connection, .timeout = 5) {
  for (int32_t scope = WEIR_DRV_SCOPE_CONN; scope <= WEIR_DRV_SCOPE_DRIVER;
       scope++) {
    for (int32_t kind = 0; kind <= WEIR_DRV_K_INTERNAL; kind++) {
      cr_expect_neq(weir__classify(scope, kind), WEIR_CLASS_NONE,
                    "scope %d, kind %d", scope, kind);
    }
  }
}

Test(classify, takes_a_time_out_by_the_phase_it_came_in, .timeout = 5) {
  static const struct {
    int32_t phase;
    enum weir__class class;
  } phases[] = {{WEIR_PHASE_RESOLVE, WEIR_CLASS_UNREACHABLE},
                {WEIR_PHASE_CONNECT, WEIR_CLASS_UNREACHABLE},
                {WEIR_PHASE_TLS, WEIR_CLASS_OVERLOADED},
                {WEIR_PHASE_LOGIN, WEIR_CLASS_OVERLOADED}};
  for (size_t i = 0; i < sizeof phases / sizeof phases[0]; i++) {
    cr_expect_eq(weir__classify_connect(WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_TIMEOUT,
                                        phases[i].phase),
                 phases[i].class);
  }
}

Test(classify, never_says_that_a_failed_connect_is_nothing, .timeout = 5) {
  cr_expect_eq(weir__classify_connect(WEIR_DRV_SCOPE_STATEMENT,
                                      WEIR_DRV_K_OTHER, WEIR_PHASE_LOGIN),
               WEIR_CLASS_TRANSIENT);
  cr_expect_eq(weir__classify_connect(0, 0, WEIR_PHASE_CONNECT),
               WEIR_CLASS_TRANSIENT);
}

Test(classify, has_a_word_for_each, .timeout = 5) {
  cr_expect_str_eq(weir__class_name(WEIR_CLASS_PERMANENT), "permanent");
  cr_expect_str_eq(weir__class_name(WEIR_CLASS_TRANSIENT), "transient");
}
