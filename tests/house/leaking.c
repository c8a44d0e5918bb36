/* SPDX-License-Identifier: MIT */
/* leaking.c - one test that leaks and one that does not, for test_leaks.sh.  Both
 * pass: only a sanitizer's report tells them apart. */
#include <stdlib.h>

#include <criterion/criterion.h>

static void *volatile kept;

static void lose(size_t size) {
  kept = malloc(size);
  cr_assert_not_null(kept);
  kept = NULL;
}

Test(leaking, loses_memory, .timeout = 5) {
  lose(37);
}

Test(leaking, gives_memory_back, .timeout = 5) {
  kept = malloc(38);
  cr_assert_not_null(kept);
  free(kept);
}
