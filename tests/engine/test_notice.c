/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "failing_alloc.h"
#include "notice.h"
#include "sys/mem.h"

static struct weir__notices list;

static void add(int32_t native, const char *text, uint64_t n) {
  struct weir_drv_diag d = {.struct_size = sizeof d,
                            .native = native,
                            .severity = 10,
                            .line = 3,
                            .message = {text, n}};
  weir__notices_add(&list, &d);
}

Test(notice, is_taken_in_the_order_of_coming, .timeout = 5) {
  add(1, "one", 3);
  add(2, "two", 3);
  for (int32_t i = 1; i <= 2; i++) {
    struct weir__notice *n = weir__notices_take(&list);
    cr_assert_eq(n->native, i);
    cr_assert_eq(n->severity, 10);
    cr_assert_eq(n->line, 3);
    cr_assert_str_eq(n->message, i == 1 ? "one" : "two");
    weir__mem_free(n);
  }
  cr_assert_null(weir__notices_take(&list));
  cr_assert_eq(list.n, 0);
  add(3, "three", 5);
  cr_assert_eq(list.n, 1);
  weir__notices_clear(&list);
}

/* A server that prints in a loop. */
Test(notice, is_counted_beyond_a_thousand, .timeout = 5) {
  for (unsigned i = 0; i < WEIR_NOTICES_MAX + 5; i++) {
    add(0, "x", 1);
  }
  cr_assert_eq(list.n, WEIR_NOTICES_MAX);
  cr_assert_eq(list.dropped, 5);
  weir__notices_clear(&list);
  cr_assert_eq(list.n, 0);
  cr_assert_eq(list.dropped, 0);
  cr_assert_null(list.first);
  cr_assert_null(list.last);
}

Test(notice, is_cut_at_64_kib, .timeout = 5) {
  static char big[WEIR_NOTICE_BYTES_MAX + 100];
  memset(big, 'x', sizeof big);
  add(0, big, sizeof big);
  struct weir__notice *n = weir__notices_take(&list);
  cr_assert_eq(n->message_len, WEIR_NOTICE_BYTES_MAX);
  cr_assert_eq(strlen(n->message), WEIR_NOTICE_BYTES_MAX);
  weir__mem_free(n);
}

Test(notice, keeps_where_it_comes_from, .timeout = 5) {
  static char big[WEIR_NOTICE_NAME_MAX + 100];
  memset(big, 'p', sizeof big);
  struct weir_drv_diag d = {.struct_size = sizeof d,
                            .state = 4,
                            .message = {"m", 1},
                            .server = {"alpha", 5},
                            .procedure = {big, sizeof big}};
  weir__notices_add(&list, &d);
  struct weir__notice *n = weir__notices_take(&list);
  cr_assert_eq(n->state, 4);
  cr_assert_str_eq(n->message, "m");
  cr_assert_str_eq(n->server, "alpha");
  cr_assert_eq(n->procedure_len, WEIR_NOTICE_NAME_MAX);
  cr_assert_eq(strlen(n->procedure), WEIR_NOTICE_NAME_MAX);
  weir__mem_free(n);
}

/* From a driver whose struct ends with the message. */
Test(notice, of_a_shorter_struct_has_the_rest_empty, .timeout = 5) {
  struct weir_drv_diag d = {.struct_size =
                                offsetof(struct weir_drv_diag, server),
                            .state = 4,
                            .message = {"m", 1},
                            .server = {"alpha", 5}};
  weir__notices_add(&list, &d);
  struct weir__notice *n = weir__notices_take(&list);
  cr_assert_str_eq(n->message, "m");
  cr_assert_str_eq(n->server, "");
  cr_assert_eq(n->state, 0);
  weir__mem_free(n);
}

Test(notice, may_be_empty, .timeout = 5) {
  add(5, NULL, 9);
  struct weir__notice *n = weir__notices_take(&list);
  cr_assert_eq(n->message_len, 0);
  cr_assert_str_eq(n->message, "");
  weir__mem_free(n);
}

Test(notice, is_counted_when_there_is_no_memory, .timeout = 5) {
  failing_alloc_install();
  failing_alloc_at(1);
  add(1, "one", 3);
  failing_alloc_restore();
  cr_assert_eq(list.n, 0);
  cr_assert_eq(list.dropped, 1);
}
