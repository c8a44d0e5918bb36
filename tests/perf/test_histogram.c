/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "histogram.h"

static struct histogram h;

Test(histogram, of_nothing_is_zero, .timeout = 5) {
  cr_assert_eq(histogram_at(&h, 500), 0u);
  cr_assert_eq(histogram_at(&h, 1000), 0u);
  cr_assert_eq(h.max, 0u);
}

Test(histogram, of_one_value_is_that_value, .timeout = 5) {
  histogram_add(&h, 123456789);
  cr_assert_eq(histogram_at(&h, 1), 123456789u);
  cr_assert_eq(histogram_at(&h, 990), 123456789u);
}

Test(histogram, takes_a_negative_value_for_zero, .timeout = 5) {
  histogram_add(&h, -5);
  cr_assert_eq(h.count, 1u);
  cr_assert_eq(h.sum, 0u);
}

Test(histogram, tells_small_values_exactly, .timeout = 5) {
  for (int64_t v = 1; v <= 60; v++) {
    histogram_add(&h, v);
  }
  cr_assert_eq(histogram_at(&h, 500), 30u);
  cr_assert_eq(histogram_at(&h, 1000), 60u);
}

Test(histogram, is_at_most_a_sixtyfourth_too_high, .timeout = 5) {
  for (int64_t v = 1; v <= 100000; v++) {
    histogram_add(&h, v * 1000);
  }
  static const uint32_t at[] = {1, 10, 100, 500, 900, 990, 999, 1000};
  for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
    double exact = at[i] * 100000.0;
    double told = (double)histogram_at(&h, at[i]);
    cr_expect_geq(told, exact, "%u", at[i]);
    cr_expect_leq(told, exact * (1 + 1.0 / 64), "%u", at[i]);
  }
}

Test(histogram, takes_the_largest_value, .timeout = 5) {
  histogram_add(&h, INT64_MAX);
  cr_assert_eq(histogram_at(&h, 500), (uint64_t)INT64_MAX);
}

Test(histogram, merges, .timeout = 5) {
  static struct histogram other;
  histogram_add(&h, 1);
  histogram_add(&other, 3);
  histogram_add(&other, 50);
  histogram_merge(&h, &other);
  cr_assert_eq(h.count, 3u);
  cr_assert_eq(h.max, 50u);
  cr_assert_eq(histogram_at(&h, 600), 3u);
  cr_assert_float_eq(histogram_mean(&h), 18, 1e-9);
}
