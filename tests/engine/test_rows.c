/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "failing_alloc.h"
#include "rows.h"

static weir_drv_batch *b;

static void open_batch(uint32_t n_cols) {
  b = weir__batch_new(n_cols);
  cr_assert_not_null(b);
}

Test(rows, keeps_cells_in_order, .timeout = 5) {
  open_batch(2);
  uint64_t n = 77;
  for (int i = 0; i < 200; i++) {
    char *p = weir__batch_space(b, 4);
    memcpy(p, &i, 4);
    cr_assert_eq(weir__batch_cell(b, p, 4), WEIR_DRV_DONE);
    cr_assert_eq(weir__batch_whole(b), i % 2 == 1);
  }
  const struct weir_cell *cells = weir__batch_cells(b, &n);
  cr_assert_eq(n, 100);
  for (int i = 0; i < 200; i++) {
    int value;
    memcpy(&value, cells[i].p, 4);
    cr_assert_eq(value, i);
    cr_assert_eq(cells[i].n, 4);
  }
  weir__batch_free(b);
}

Test(rows, knows_null_from_empty, .timeout = 5) {
  open_batch(1);
  uint64_t n;
  char *p = weir__batch_space(b, 0);
  cr_assert_not_null(p);
  (void)weir__batch_cell(b, NULL, UINT64_MAX);
  (void)weir__batch_cell(b, p, 0);
  const struct weir_cell *cells = weir__batch_cells(b, &n);
  cr_assert_null(cells[0].p);
  cr_assert_eq(cells[0].n, UINT64_MAX);
  cr_assert_not_null(cells[1].p);
  cr_assert_eq(cells[1].n, 0);
  weir__batch_free(b);
}

Test(rows, never_moves_what_was_handed_over, .timeout = 10) {
  open_batch(1);
  char *first = weir__batch_space(b, 100);
  memset(first, 'a', 100);
  for (unsigned i = 0; i < 2000; i++) {
    memset(weir__batch_space(b, 1000), 'b', 1000);
  }
  for (unsigned i = 0; i < 100; i++) {
    cr_assert_eq(first[i], 'a');
  }
  weir__batch_free(b);
}

/* As a driver does that does not know a value's length. */
Test(rows, grows_its_last_block, .timeout = 10) {
  open_batch(1);
  (void)weir__batch_space(b, 40);
  uint64_t have = 1;
  unsigned char *p = weir__batch_space(b, have);
  p[0] = 7;
  while (have < (1u << 20)) {
    unsigned char *bigger = weir__batch_grow(b, p, have, have * 2);
    cr_assert_not_null(bigger);
    memset(bigger + have, 7, have);
    p = bigger;
    have *= 2;
  }
  for (uint64_t i = 0; i < have; i++) {
    cr_assert_eq(p[i], 7);
  }
  weir__batch_free(b);
}

Test(rows, moves_a_block_that_is_not_the_last, .timeout = 5) {
  open_batch(1);
  char *first = weir__batch_space(b, 8);
  memcpy(first, "1234567", 8);
  (void)weir__batch_space(b, 8);
  char *bigger = weir__batch_grow(b, first, 8, 64);
  cr_assert_neq(bigger, first);
  cr_assert_str_eq(bigger, "1234567");
  weir__batch_free(b);
}

Test(rows, takes_cells_anywhere_in_its_blocks, .timeout = 10) {
  open_batch(1);
  char *first = weir__batch_space(b, 64);
  for (unsigned i = 0; i < 2000; i++) {
    (void)weir__batch_space(b, 1000);
  }
  char *large = weir__batch_space(b, 1u << 20);
  char *last = weir__batch_space(b, 64);
  const struct weir_cell inside[] = {
      {first, 64},         {first + 63, 1}, {first + 64, 0}, {large, 1u << 20},
      {large + 77, 1000u}, {last, 64},      {last + 64, 0}};
  for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
    cr_assert_eq(weir__batch_cell(b, inside[i].p, inside[i].n), WEIR_DRV_DONE,
                 "%zu", i);
  }
  cr_assert_not(weir__batch_strayed(b));
  weir__batch_free(b);
}

Test(rows, refuses_cells_that_are_not_in_its_blocks, .timeout = 5) {
  static char foreign[64];
  uint64_t n = 77;
  open_batch(1);
  char *first = weir__batch_space(b, 64);
  const struct weir_cell outside[] = {
      {foreign, 1},
      {foreign, 0},
      {first, 65},
      {first + 64, 1},
      {first - 1, 2},
      {first, UINT64_MAX},
      {first, UINT64_MAX - (uintptr_t)first + 1},
      {NULL, 0},
      {NULL, 5}};
  for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
    cr_assert_eq(weir__batch_cell(b, outside[i].p, outside[i].n),
                 WEIR_DRV_E_INVALID, "%zu", i);
    cr_assert(weir__batch_strayed(b));
  }
  (void)weir__batch_cells(b, &n);
  cr_assert_eq(n, 0);
  weir__batch_free(b);
}

Test(rows, has_no_place_for_bytes_before_its_first_block, .timeout = 5) {
  static char foreign[4];
  open_batch(1);
  cr_assert_eq(weir__batch_cell(b, foreign, 4), WEIR_DRV_E_INVALID);
  weir__batch_free(b);
}

Test(rows, refuses_what_is_too_big, .timeout = 5) {
  open_batch(1);
  char *p = weir__batch_space(b, 8);
  cr_assert_null(weir__batch_space(b, WEIR_CELL_MAX + 1));
  cr_assert_null(weir__batch_space(b, UINT64_MAX));
  cr_assert_null(weir__batch_grow(b, p, 8, WEIR_CELL_MAX + 1));
  cr_assert_null(weir__batch_grow(b, p, 8, 4));
  weir__batch_free(b);
}

Test(rows, says_when_there_is_no_memory, .timeout = 5) {
  failing_alloc_install();
  failing_alloc_at(1);
  cr_assert_null(weir__batch_new(1));
  open_batch(1);
  failing_alloc_at(1);
  cr_assert_null(weir__batch_space(b, 8));
  failing_alloc_at(1);
  cr_assert_eq(weir__batch_cell(b, NULL, UINT64_MAX), WEIR_DRV_E_NOMEM);
  failing_alloc_at(0);
  cr_assert_eq(weir__batch_cell(b, NULL, UINT64_MAX), WEIR_DRV_DONE);
  weir__batch_free(b);
  weir__batch_free(NULL);
  failing_alloc_restore();
}

Test(rows, has_no_rows_without_columns, .timeout = 5) {
  open_batch(0);
  uint64_t n = 77;
  cr_assert(weir__batch_whole(b));
  (void)weir__batch_cells(b, &n);
  cr_assert_eq(n, 0);
  (void)weir__batch_cell(b, NULL, UINT64_MAX);
  cr_assert_not(weir__batch_whole(b));
  weir__batch_free(b);
}
