/* SPDX-License-Identifier: MIT */
#include <string.h>

#include <criterion/criterion.h>

#include "names.h"

static bool same(const char *a, const char *b) {
  return weir__names_equal(a, strlen(a), b, strlen(b));
}

static int distance(const char *a, const char *b) {
  return weir__names_distance(a, strlen(a), b, strlen(b));
}

Test(names, case_and_blanks_make_no_difference, .timeout = 5) {
  cr_assert(same("Max Pool Size", "maxpoolsize"));
  cr_assert(same(" MAX\tPOOL  SIZE ", "Max Pool Size"));
  cr_assert(same("", "  "));
  cr_assert_not(same("Max Pool Size", "Max Pool Siz"));
  cr_assert_not(same("a", "b"));
  cr_assert_not(same("a\n", "a"));
}

Test(names, letters_beyond_ascii_are_compared_as_they_are, .timeout = 5) {
  cr_assert(same("\xc3\xa9", "\xc3\xa9"));
  cr_assert_not(same("\xc3\xa9", "\xc3\x89"));
  /* The Kelvin sign is no K. */
  cr_assert_not(same("\342\204\252ey", "key"));
}

Test(names, lists_are_searched_name_by_name, .timeout = 5) {
  const char list[] = "Connection Timeout, Timeout ,,x";
  cr_assert(weir__names_listed("timeout", 7, list, sizeof list - 1));
  cr_assert(weir__names_listed("ConnectionTimeout", 17, list, sizeof list - 1));
  cr_assert(weir__names_listed("X", 1, list, sizeof list - 1));
  cr_assert_not(weir__names_listed("Time", 4, list, sizeof list - 1));
  cr_assert_not(weir__names_listed("", 0, list, sizeof list - 1));
  cr_assert_not(weir__names_listed("x", 1, NULL, 0));
}

Test(names, a_slip_or_two_is_near, .timeout = 5) {
  cr_assert_eq(distance("Max Pool Size", "max pool size"), 0);
  cr_assert_eq(distance("Max Pol Size", "Max Pool Size"), 1);
  cr_assert_eq(distance("Max Pooll Size", "Max Pool Size"), 1);
  cr_assert_eq(distance("Max Pool Sixe", "Max Pool Size"), 1);
  cr_assert_eq(distance("Passwrod", "Password"), 1);
  cr_assert_eq(distance("Pasword1", "Password"), 2);
  cr_assert_eq(distance("Pxxxword", "Password"), WEIR_NAMES_FAR);
}

Test(names, short_words_are_not_near_by_chance, .timeout = 5) {
  cr_assert_eq(distance("abc", "uid"), WEIR_NAMES_FAR);
  cr_assert_eq(distance("pw", "pwd"), WEIR_NAMES_FAR);
  cr_assert_eq(distance("pdw", "pwd"), 1);
  cr_assert_eq(distance("host", "port"), WEIR_NAMES_FAR);
}

Test(names, beginnings_come_after_slips, .timeout = 5) {
  cr_assert_eq(distance("Max Pool", "Max Pool Size"), WEIR_NAMES_PREFIX);
  cr_assert_eq(distance("Passwordsecret", "Password"), WEIR_NAMES_PREFIX + 1);
  cr_assert_eq(distance("", "Password"), WEIR_NAMES_FAR);
}

Test(names, endless_names_are_far, .timeout = 5) {
  char name[WEIR_NAME_MAX + 1];
  memset(name, 'a', sizeof name);
  cr_assert_eq(weir__names_distance(name, sizeof name, name, sizeof name),
               WEIR_NAMES_FAR);
  cr_assert_eq(
      weir__names_distance(name, sizeof name - 1, name, sizeof name - 1), 0);
}
