/* SPDX-License-Identifier: MIT */
/* Pools that differ in one part only: the engine says so, once, by name. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "advice.h"
#include "drivers_dir.h"
#include "fixture.h"

#define SECRET "Qz7Kx9Vw3"

static struct fixture f;

static const char *advice(void) {
  static char text[WEIR_ADVICE_BYTES];
  uint64_t need = 0;
  cr_assert_eq(weir_engine_advice(f.engine, text, sizeof text, &need), WEIR_OK);
  cr_assert_eq(need, strlen(text) + 1);
  cr_assert_null(strstr(text, SECRET), "%s", text);
  return text;
}

/* n pools that differ in their number, which stands for each # of the text. */
static void open_pools(unsigned n, const char *text) {
  for (unsigned i = 0; i < n; i++) {
    char part[128];
    size_t at = 0;
    for (const char *c = text; *c != '\0' && at < sizeof part - 16; c++) {
      int len = *c == '#' ? snprintf(part + at, 16, "%u", i)
                          : snprintf(part + at, 2, "%c", *c);
      at += (size_t)len;
    }
    (void)fixture_pool(&f, "%s", part);
  }
}

Test(advice, tells_of_eight_pools_that_differ_in_one_part, .timeout = 10) {
  fixture_open(&f);
  open_pools(7, "Database=db#");
  cr_assert_str_eq(advice(), "");
  (void)fixture_pool(&f, "Database=db7");
  cr_assert_str_eq(advice(),
                   "8 pools or more differ only in \"database\", and share no "
                   "connections for that\n");
  open_pools(9, "Database=db#");
  cr_assert_not_null(strstr(advice(), "9 pools"), "%s", advice());
  fixture_close(&f);
}

Test(advice, names_settings_of_the_engine, .timeout = 10) {
  fixture_open(&f);
  open_pools(8, "Max Pool Size=1#");
  cr_assert_not_null(strstr(advice(), "only in \"Max Pool Size\","));
  fixture_close(&f);
}

Test(advice, names_a_secret_and_does_not_show_it, .timeout = 10) {
  fixture_open(&f);
  open_pools(8, "Password=" SECRET "#");
  cr_assert_not_null(strstr(advice(), "only in \"Password\" (a secret)"), "%s",
                     advice());
  open_pools(8, "Session Init='set " SECRET "#'");
  cr_assert_not_null(strstr(advice(), "only in \"Session Init\" (a secret)"),
                     "%s", advice());
  fixture_close(&f);
}

Test(advice, names_the_option_whose_wording_differs, .timeout = 10) {
  fixture_open(&f);
  open_pools(8, "Pool Key=exact;User ID=u#");
  cr_assert_not_null(strstr(advice(), "only in \"User ID\" (as it is written)"),
                     "%s", advice());
  fixture_close(&f);
}

/* Nobody expects pools of two servers to be one. */
Test(advice, says_nothing_of_several_servers, .timeout = 10) {
  fixture_open(&f);
  open_pools(16, "Server=s#");
  cr_assert_str_eq(advice(), "");
  fixture_close(&f);
}

Test(advice, says_nothing_of_pools_that_differ_in_two_parts, .timeout = 10) {
  fixture_open(&f);
  open_pools(16, "Database=db#;User ID=u#");
  cr_assert_str_eq(advice(), "");
  fixture_close(&f);
}

/* Two families, one after the other. */
Test(advice, tells_of_each_part_once, .timeout = 10) {
  fixture_open(&f);
  open_pools(8, "User ID=me;Database=db#");
  open_pools(8, "Database=one;User ID=u#");
  const char *first = strstr(advice(), "\"database\"");
  cr_assert_not_null(first);
  cr_assert_null(strstr(first + 1, "\"database\""));
  cr_assert_not_null(strstr(advice(), "\"user id\""));
  fixture_close(&f);
}

Test(advice, does_not_count_pools_that_are_closed, .timeout = 10) {
  fixture_open(&f);
  for (unsigned i = 0; i < 32; i++) {
    weir_h pool = fixture_pool(&f, "Database=db%u", i);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  }
  cr_assert_str_eq(advice(), "");
  fixture_close(&f);
}

/* Of the many that a program may have, the last ones are looked at. */
Test(advice, looks_at_the_pools_opened_last, .timeout = 20) {
  fixture_open(&f);
  open_pools(7, "Database=db#");
  open_pools(WEIR_ADVICE_RECENT, "Server=s#");
  (void)fixture_pool(&f, "Database=db7");
  cr_assert_str_eq(advice(), "");
  fixture_close(&f);
}

Test(advice, has_room_for_eight_parts, .timeout = 20) {
  static const char *const parts[] = {
      "Max Uses=1#",           "Min Idle=1#",     "Connection Lifetime=1#",
      "Max Waiters=1#",        "Probe Window=1#", "Close Timeout=1#",
      "Keepalive Interval=1#", "Connect Rate=1#", "Connect Burst=1#"};
  unsigned lines = 0;
  fixture_open(&f);
  for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
    open_pools(8, parts[i]);
  }
  for (const char *p = advice(); *p != '\0'; p++) {
    lines += *p == '\n';
  }
  cr_assert_eq(lines, WEIR_ADVICE_MAX);
  fixture_close(&f);
}

/* An engine that heeds WEIR_LOG. */
static void open_talking(void) {
  char dirs[512];
  struct weir_engine_opts opts = {.struct_size = sizeof opts};
  opts.driver_dirs = drivers_dir(dirs, sizeof dirs);
  opts.driver_dirs_len = strlen(dirs);
  cr_assert_eq(weir_engine_open(&opts, &f.engine, &f.err), WEIR_OK);
}

/* What standard error got. */
static char logged[4096];

Test(advice, is_logged_once, .timeout = 10) {
  char path[] = "/tmp/weir-advice-XXXXXX";
  int fd = mkstemp(path);
  cr_assert_geq(fd, 0);
  (void)unlink(path);
  int old = dup(STDERR_FILENO);
  (void)setenv("WEIR_LOG", "warn", 1);
  open_talking();
  cr_assert_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
  open_pools(20, "Password=" SECRET "#");
  cr_assert_eq(dup2(old, STDERR_FILENO), STDERR_FILENO);
  ssize_t n = pread(fd, logged, sizeof logged - 1, 0);
  cr_assert_gt(n, 0);
  cr_assert_str_eq(logged, "weir: warn: 8 pools or more differ only in "
                           "\"Password\" (a secret), and share no connections "
                           "for that\n");
  (void)close(old);
  (void)close(fd);
  cr_assert_eq(weir_engine_shutdown(f.engine, 0, NULL), WEIR_OK);
}

Test(advice, refuses_wrong_arguments, .timeout = 10) {
  char buf[8];
  uint64_t need = 0;
  fixture_open(&f);
  cr_assert_eq(weir_engine_advice(f.engine, NULL, 8, NULL), WEIR_E_ARG);
  cr_assert_eq(weir_engine_advice(0, buf, 8, NULL), WEIR_E_HANDLE);
  cr_assert_eq(weir_engine_advice(f.engine, NULL, 0, &need), WEIR_E_SPACE);
  cr_assert_eq(need, 1);
  cr_assert_eq(weir_engine_advice(f.engine, buf, 1, NULL), WEIR_OK);
  open_pools(8, "Database=db#");
  cr_assert_eq(weir_engine_advice(f.engine, buf, 8, &need), WEIR_E_SPACE);
  cr_assert_gt(need, 8);
  fixture_close(&f);
}

/* ------------------------------------------------------ two strings compared */

static const char *diff(const char *a, const char *b) {
  static char text[1024];
  uint64_t len = sizeof text;
  cr_assert_eq(weir_conninfo_diff(f.engine, a, strlen(a), b, strlen(b), text,
                                  &len, &f.err),
               WEIR_OK, "%s", f.err.message);
  cr_assert_eq(len, strlen(text) + 1);
  return text;
}

Test(conninfo_diff, names_each_difference_and_whose_it_is, .timeout = 10) {
  fixture_open(&f);
  cr_assert_str_eq(diff("Driver=mock", "driver='mock';Pooling=yes"), "");
  cr_assert_str_eq(diff("Driver=mock;Database=a;Password=" SECRET,
                        "Driver=mock;UID=me;Max Pool Size=3;PWD=x"),
                   "driver database\nsecret Password\ndriver user id\n"
                   "setting Max Pool Size\n");
  cr_assert_str_eq(diff("Driver=mock;Pool Key=exact;Password=" SECRET,
                        "Driver=mock;Pool Key=exact;Password=x"),
                   "secret Password\n");
  cr_assert_str_eq(diff("Driver=mock;Pool Strategy=legacy",
                        "Driver=mock;Pool Idle Order=lifo;Pool "
                        "Strategy=legacy"),
                   "");
  fixture_close(&f);
}

Test(conninfo_diff, refuses_wrong_arguments, .timeout = 10) {
  static const char a[] = "Driver=mock;Database=a";
  static const char b[] = "Driver=mock";
  const uint64_t a_len = sizeof a - 1;
  const uint64_t b_len = sizeof b - 1;
  char buf[16];
  uint64_t len = sizeof buf;
  fixture_open(&f);
  cr_assert_eq(weir_conninfo_diff(f.engine, NULL, 1, b, b_len, buf, &len, NULL),
               WEIR_E_ARG);
  cr_assert_eq(weir_conninfo_diff(f.engine, a, a_len, NULL, 1, buf, &len, NULL),
               WEIR_E_ARG);
  cr_assert_eq(
      weir_conninfo_diff(f.engine, a, a_len, b, b_len, NULL, &len, NULL),
      WEIR_E_ARG);
  cr_assert_eq(
      weir_conninfo_diff(f.engine, a, a_len, b, b_len, buf, NULL, NULL),
      WEIR_E_ARG);
  cr_assert_eq(weir_conninfo_diff(0, a, a_len, b, b_len, buf, &len, NULL),
               WEIR_E_HANDLE);
  cr_assert_eq(weir_conninfo_diff(f.engine, a, a_len, "Driver=mock;x", 13, buf,
                                  &len, &f.err),
               WEIR_E_ARG);
  cr_assert_eq(
      weir_conninfo_diff(f.engine, a, a_len, b, b_len, buf, &len, &f.err),
      WEIR_E_SPACE);
  cr_assert_eq(len, sizeof "driver database\n");
  len = 0;
  cr_assert_eq(
      weir_conninfo_diff(f.engine, a, a_len, b, b_len, NULL, &len, &f.err),
      WEIR_E_SPACE);
  fixture_close(&f);
}
