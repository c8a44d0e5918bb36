/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "net/drv_error.h"

static char message[8];
static struct weir_drv_error err;

static void set_up(void) {
  err.struct_size = sizeof err;
  err.message = message;
  err.message_cap = sizeof message;
}

TestSuite(drv_error, .init = set_up, .timeout = 5);

Test(drv_error, holds_what_it_was_given) {
  weir_drv_status st =
      weir__drv_error_set(&err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_NETWORK,
                          WEIR_DRV_RETRY_OTHER, "%s%d", "no ", 42);
  cr_assert_eq(st, WEIR_DRV_FAIL);
  cr_assert_eq(err.scope, WEIR_DRV_SCOPE_CONN);
  cr_assert_eq(err.kind, WEIR_DRV_K_NETWORK);
  cr_assert_eq(err.retry, WEIR_DRV_RETRY_OTHER);
  cr_assert_str_eq(message, "no 42");
  cr_assert_eq(err.message_len, 5);
  cr_assert_eq(err.flags, 0);
}

Test(drv_error, is_cut_at_a_whole_character) {
  (void)weir__drv_error_set(&err, 3, 1, 2, "abcde\xC3\xB3\xC3\xB3");
  cr_assert_str_eq(message, "abcde\xC3\xB3");
  cr_assert_eq(err.message_len, 9);
  cr_assert_eq(err.flags, WEIR_DRV_EF_TRUNCATED);
  (void)weir__drv_error_set(&err, 3, 1, 2, "abcdef\xC3\xB3");
  cr_assert_str_eq(message, "abcdef");
}

Test(drv_error, is_whole_again_when_the_next_one_fits) {
  (void)weir__drv_error_set(&err, 3, 1, 2, "abcdefghi");
  err.flags |= WEIR_DRV_EF_MAYBE_EXECUTED;
  (void)weir__drv_error_set(&err, 3, 1, 2, "ok");
  cr_assert_str_eq(message, "ok");
  cr_assert_eq(err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
}

Test(drv_error, needs_neither_room_nor_an_error) {
  err.message = NULL;
  err.message_cap = 0;
  (void)weir__drv_error_set(&err, 3, 1, 2, "abc");
  cr_assert_eq(err.message_len, 3);
  cr_assert_eq(err.flags, WEIR_DRV_EF_TRUNCATED);
  cr_assert_eq(weir__drv_error_set(NULL, 3, 1, 2, "nobody"), WEIR_DRV_FAIL);
}
