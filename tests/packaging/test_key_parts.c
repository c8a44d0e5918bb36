/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "key_parts.h"

static void expect(const char *a, const char *b, unsigned n, const char *want) {
  char *text = NULL;
  size_t len = 0;
  FILE *to = open_memstream(&text, &len);
  cr_assert_eq(key_parts_diff(to, a, b), n);
  (void)fclose(to);
  cr_assert_str_eq(text, want);
  free(text);
}

Test(key_parts, finds_nothing_in_equal_keys, .timeout = 5) {
  expect("A=1;B=2", "B=2;A=1;", 0, "");
  expect("", "", 0, "");
}

Test(key_parts, shows_both_values, .timeout = 5) {
  expect("A=1;B=2", "A=1;B=3", 1, "  B\n    1  2\n    2  3\n");
}

Test(key_parts, shows_what_one_lacks, .timeout = 5) {
  expect("A=1", "A=1;C=x", 1,
         "  C\n    1  (not in it: the default)\n    2  x\n");
}

Test(key_parts, splits_outside_of_quotes_only, .timeout = 5) {
  expect("A=\"1;B=2\"\"\";C=3", "A=\"1;B=2\"\"\";C=4", 1,
         "  C\n    1  3\n    2  4\n");
  expect("A='x;\"y", "A='x;\"y", 0, "");
  expect("A=O'Brien;B=1", "A=O'Brien;B=2", 1, "  B\n    1  1\n    2  2\n");
}
