/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "failing_alloc.h"
#include "sys/mem.h"

/* As a row of 1 for memory and 0 for none, what five allocations gave. */
static void five(char *out) {
  for (int i = 0; i < 5; i++) {
    void *p = i % 2 == 0 ? weir__mem_new(8) : weir__mem_resize(NULL, 8);
    out[i] = p == NULL ? '0' : '1';
    weir__mem_free(p);
  }
  out[5] = '\0';
}

Test(failing_alloc, fails_the_nth_and_no_other, .timeout = 5) {
  char got[6];
  failing_alloc_install();
  failing_alloc_at(2);
  five(got);
  cr_assert_str_eq(got, "10111");
  cr_assert_eq(failing_alloc_count(), 5);
  cr_assert_eq(failing_alloc_failed(), 1);
  failing_alloc_restore();
}

Test(failing_alloc, fails_from_the_nth_on, .timeout = 5) {
  char got[6];
  failing_alloc_install();
  failing_alloc_from(3);
  five(got);
  cr_assert_str_eq(got, "11000");
  cr_assert_eq(failing_alloc_failed(), 3);
  failing_alloc_at(0);
  five(got);
  cr_assert_str_eq(got, "11111");
  failing_alloc_restore();
}

Test(failing_alloc, puts_the_real_ones_back, .timeout = 5) {
  char got[6];
  failing_alloc_install();
  failing_alloc_from(1);
  failing_alloc_restore();
  five(got);
  cr_assert_str_eq(got, "11111");
}
