/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "loader_search.h"
#include "status.h"

static struct fixture f;

static void set_up(void) {
  fixture_init(&f);
}

static void tear_down(void) {
  fixture_fini(&f);
}

TestSuite(loader_search, .init = set_up, .fini = tear_down, .timeout = 10);

/* Makes a loader for these directories. */
static int open_with(const char *dirs, bool no_env) {
  const struct weir__loader_opts opts = {.dirs = dirs,
                                         .dirs_len = strlen(dirs),
                                         .no_env = no_env,
                                         .host = &f.host};
  return weir__loader_new(&opts, &f.loader, &f.err);
}

static void set_path(const char *dirs) {
  /* No thread runs beside the test.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  cr_assert_eq(setenv("WEIR_DRIVER_PATH", dirs, 1), 0);
}

static const char *make_dir(const char *entry) {
  cr_assert_eq(mkdir(fixture_path(&f, entry), 0755), 0);
  return fixture_path(&f, entry);
}

Test(loader_search, tells_every_directory_that_was_searched) {
  const struct weir__driver *d = NULL;
  set_path("/from/env");
  cr_assert_eq(open_with("/first:/second", false), WEIR_OK);
  cr_expect_eq(fixture_load(&f, "absent", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "driver absent: found neither absent.so",
                         "/first, /second, /from/env, ",
                         "install the driver there"));
  cr_expect_not_null(strstr(f.err.message, "/weir/drivers"));
  cr_expect_not_null(strstr(f.err.message, "WEIR_DRIVER_PATH"));
}

Test(loader_search, ignores_the_environment_when_told_to) {
  const struct weir__driver *d = NULL;
  set_path("/from/env");
  cr_assert_eq(open_with("", true), WEIR_OK);
  cr_expect_eq(fixture_load(&f, "absent", &d), WEIR_E_FAIL);
  cr_expect_null(strstr(f.err.message, "/from/env"));
}

Test(loader_search, skips_entries_of_the_environment_that_are_not_absolute) {
  const struct weir__driver *d = NULL;
  set_path(":.:rel/ative:/good::");
  cr_assert_eq(open_with("", false), WEIR_OK);
  cr_expect_eq(fixture_load(&f, "absent", &d), WEIR_E_FAIL);
  cr_expect_not_null(strstr(f.err.message, " in /good, "));
}

Test(loader_search, refuses_directories_that_are_not_absolute) {
  cr_expect_eq(open_with("/good:rel/ative", true), WEIR_E_ARG);
  cr_expect_not_null(strstr(f.err.message, "'rel/ative'"));
  f.loader = NULL;
}

Test(loader_search, refuses_too_many_directories) {
  char dirs[WEIR_DRIVER_DIRS_MAX * 3 + 4] = "";
  for (unsigned i = 0; i <= WEIR_DRIVER_DIRS_MAX; i++) {
    memcpy(dirs + (size_t)i * 3, "/a:", 4);
  }
  cr_expect_eq(open_with(dirs, true), WEIR_E_ARG);
  dirs[(size_t)WEIR_DRIVER_DIRS_MAX * 3] = '\0';
  cr_expect_eq(open_with(dirs, true), WEIR_OK);
}

Test(loader_search, refuses_a_directory_that_is_too_long) {
  static char dirs[PATH_MAX + 1];
  memset(dirs, 'x', PATH_MAX);
  dirs[0] = '/';
  cr_expect_eq(open_with(dirs, true), WEIR_E_ARG);
}

Test(loader_search, takes_the_first_directory_that_has_it) {
  const struct weir__driver *d = NULL;
  char dirs[512];
  (void)make_dir("a");
  (void)make_dir("b");
  fixture_copy(&f, "good", "b/good.so");
  (void)snprintf(dirs, sizeof dirs, "%s/a:%s/b", f.dir, f.dir);
  cr_assert_eq(open_with(dirs, true), WEIR_OK);
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK, "%s", f.err.message);
  cr_expect_str_eq(d->path, fixture_path(&f, "b/good.so"));
}

Test(loader_search, does_not_look_past_a_file_it_refuses) {
  const struct weir__driver *d = NULL;
  char dirs[512];
  (void)make_dir("a");
  (void)make_dir("b");
  fixture_copy(&f, "no_note", "a/good.so");
  fixture_copy(&f, "good", "b/good.so");
  (void)snprintf(dirs, sizeof dirs, "%s/a:%s/b", f.dir, f.dir);
  cr_assert_eq(open_with(dirs, true), WEIR_OK);
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_E_FAIL);
}

Test(loader_search, searches_options_before_the_environment) {
  const struct weir__driver *d = NULL;
  char dir[256];
  (void)make_dir("a");
  (void)make_dir("b");
  fixture_copy(&f, "good", "a/good.so");
  fixture_copy(&f, "good", "b/good.so");
  set_path(fixture_path(&f, "a"));
  (void)snprintf(dir, sizeof dir, "%s/b", f.dir);
  cr_assert_eq(open_with(dir, false), WEIR_OK);
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK);
  cr_expect_str_eq(d->path, fixture_path(&f, "b/good.so"));
}

/* The test program stands for libweir here: the loader is inside it. */
Test(loader_search, searches_beside_the_library) {
  const struct weir__driver *d = NULL;
  char self[256];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 32);
  cr_assert_gt(n, 0);
  self[n] = '\0';
  memcpy(strrchr(self, '/'), "/weir/drivers", sizeof "/weir/drivers");
  cr_assert_eq(open_with("", true), WEIR_OK);
  cr_expect_eq(fixture_load(&f, "absent", &d), WEIR_E_FAIL);
  cr_expect_not_null(strstr(f.err.message, self));
}

Test(loader_search, says_that_a_long_list_was_cut) {
  static char dirs[1200];
  const struct weir__driver *d = NULL;
  for (size_t i = 0; i + 60 < sizeof dirs; i += 59) {
    memset(dirs + i, 'x', 58);
    dirs[i] = '/';
    dirs[i + 58] = ':';
  }
  cr_assert_eq(open_with(dirs, true), WEIR_OK);
  cr_expect_eq(fixture_load(&f, "absent", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, " ...; install", "/xxxx", "absolute path"));
}

Test(loader_search, keeps_names_sorted_and_once) {
  struct weir__driver_names *names = calloc(1, sizeof *names);
  weir__driver_names_add(names, "tds", 3);
  weir__driver_names_add(names, "mock", 4);
  weir__driver_names_add(names, "tds", 3);
  weir__driver_names_add(names, "pgsql", 5);
  cr_assert_eq(names->n, 3);
  cr_expect_str_eq(names->name[0], "mock");
  cr_expect_str_eq(names->name[1], "pgsql");
  cr_expect_str_eq(names->name[2], "tds");
  free(names);
}

Test(loader_search, stops_at_the_most_names) {
  struct weir__driver_names *names = calloc(1, sizeof *names);
  for (unsigned i = 0; i < WEIR_DRIVER_NAMES_MAX + 10; i++) {
    char name[16];
    const int n = snprintf(name, sizeof name, "d%u", i);
    weir__driver_names_add(names, name, (size_t)n);
  }
  cr_expect_eq(names->n, WEIR_DRIVER_NAMES_MAX);
  free(names);
}
