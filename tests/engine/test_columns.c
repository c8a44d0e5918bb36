/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "columns.h"
#include "failing_alloc.h"
#include "sys/mem.h"

Test(columns, are_copied_with_their_texts, .timeout = 5) {
  char name[] = "idx";
  struct weir_drv_column from[2] = {
      {.struct_size = sizeof from[0],
       .type = WEIR_DRV_T_INT,
       .name = {name, 2},
       .native_type = {"bigint", 6},
       .native_code = 127,
       .nullable = 1,
       .precision = 19,
       .scale = 2,
       .max_bytes = 8},
      {.struct_size = sizeof from[0], .type = WEIR_DRV_T_TEXT}};
  struct weir_column *c = weir__columns_copy(from, 2, sizeof from[0]);
  memset(name, 'z', 3);
  cr_assert_eq(c[0].struct_size, sizeof c[0]);
  cr_assert_eq(c[0].type, WEIR_T_INT);
  cr_assert_str_eq(c[0].name, "id");
  cr_assert_eq(c[0].name_len, 2);
  cr_assert_str_eq(c[0].native_type, "bigint");
  cr_assert_eq(c[0].native_code, 127);
  cr_assert_eq(c[0].nullable, 1);
  cr_assert_eq(c[0].precision, 19);
  cr_assert_eq(c[0].scale, 2);
  cr_assert_eq(c[0].max_bytes, 8);
  cr_assert_str_eq(c[1].name, "");
  cr_assert_eq(c[1].name_len, 0);
  weir__mem_free(c);
}

/* A driver built with a longer struct strides farther, with a shorter one it
 * says less [G4]. */
Test(columns, may_be_longer_or_shorter_than_ours, .timeout = 5) {
  struct wide {
    struct weir_drv_column column;
    uint64_t more;
  } from[2];
  memset(from, 0xA5, sizeof from);
  for (int i = 0; i < 2; i++) {
    memset(&from[i].column, 0, sizeof from[i].column);
    from[i].column.type = WEIR_DRV_T_INT + i;
    from[i].column.native_code = 9;
  }
  from[0].column.struct_size = sizeof(struct wide);
  from[1].column.struct_size = offsetof(struct weir_drv_column, type) + 4;
  struct weir_column *c =
      weir__columns_copy(&from[0].column, 2, sizeof from[0]);
  cr_assert_eq(c[0].type, WEIR_T_INT);
  cr_assert_eq(c[0].native_code, 9);
  cr_assert_eq(c[1].type, WEIR_T_UINT);
  cr_assert_eq(c[1].native_code, 0);
  cr_assert_str_eq(c[1].name, "");
  weir__mem_free(c);
}

Test(columns, have_names_of_at_most_4096_bytes, .timeout = 5) {
  static char big[9000];
  memset(big, 'n', sizeof big);
  struct weir_drv_column from = {.struct_size = sizeof from,
                                 .name = {big, sizeof big},
                                 .native_type = {NULL, 12}};
  struct weir_column *c = weir__columns_copy(&from, 1, sizeof from);
  cr_assert_eq(c->name_len, 4096);
  cr_assert_eq(strlen(c->name), 4096);
  cr_assert_eq(c->native_type_len, 0);
  weir__mem_free(c);
}

Test(columns, may_be_none, .timeout = 5) {
  struct weir_column *c = weir__columns_copy(NULL, 0, 0);
  cr_assert_not_null(c);
  weir__mem_free(c);
}

Test(columns, are_not_there_without_memory, .timeout = 5) {
  struct weir_drv_column from = {.struct_size = sizeof from};
  failing_alloc_install();
  failing_alloc_at(1);
  cr_assert_null(weir__columns_copy(&from, 1, sizeof from));
  failing_alloc_restore();
}
