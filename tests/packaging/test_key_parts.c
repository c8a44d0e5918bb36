/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "key_parts.h"

/* want: NULL if there is none. */
static void expect(const char *key, const char *name, const char *want) {
  const char *value = NULL;
  size_t len = 0;
  bool found = key_parts_find(key, name, strlen(name), &value, &len);
  cr_assert_eq(found, want != NULL, "%s in %s", name, key);
  if (found) {
    cr_assert_eq(len, strlen(want), "%s in %s", name, key);
    cr_assert_eq(memcmp(value, want, len), 0, "%s in %s", name, key);
  }
}

Test(key_parts, finds_a_name_in_any_case, .timeout = 5) {
  expect("A=1;Max Uses=2", "max uses", "2");
  expect("A=1;Max Uses=2", "A", "1");
  expect("A=1;Max Uses=2", "Max", NULL);
  expect("", "A", NULL);
  expect("A", "A", "");
  expect("A=", "A", "");
  expect("AA=1", "A", NULL);
}

Test(key_parts, splits_outside_of_quotes_only, .timeout = 5) {
  expect("A=\"1;B=2\"\"\";C=3", "B", NULL);
  expect("A=\"1;B=2\"\"\";C=3", "C", "3");
  expect("A=\"1;B=2\"\"\";C=3", "A", "\"1;B=2\"\"\"");
  expect("A='x;\"y", "A", "'x;\"y");
  expect("A=O'Brien;B=1", "B", "1");
}
