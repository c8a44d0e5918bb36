/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

static struct fixture f;

Test(acquire, serves_again_what_came_back, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h a = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(a), WEIR_OK);
  weir_h b = fixture_acquire(&f, pool);
  cr_assert_neq(a, b);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  cr_assert_eq(weir_release(a), WEIR_E_HANDLE);
  cr_assert_eq(weir_release(b), WEIR_OK);
  fixture_close(&f);
}
