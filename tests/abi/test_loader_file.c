/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "loader_file.h"

static struct fixture f;

static void set_up(void) {
  fixture_init(&f);
  fixture_open(&f);
  fixture_copy(&f, "good", "good.so");
}

static void tear_down(void) {
  fixture_fini(&f);
}

TestSuite(loader_file, .init = set_up, .fini = tear_down, .timeout = 10);

static void expect_refused(const char *found,
                           const char *wanted,
                           const char *advice) {
  const struct weir__driver *d = NULL;
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, found, wanted, advice));
  cr_expect_not_null(strstr(f.err.message, f.dir));
}

Test(loader_file, tells_that_no_descriptor_is_left) {
  const struct weir__driver *d = NULL;
  struct rlimit limit;
  cr_assert_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const struct rlimit none = {.rlim_cur = 0, .rlim_max = limit.rlim_max};
  cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
  const int rc = fixture_load(&f, "good", &d);
  cr_assert_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
  cr_expect_eq(rc, WEIR_E_FAIL);
  cr_expect_eq(f.err.kind, WEIR_DRV_K_RESOURCE);
  cr_expect(
      fixture_told(&f, "good.so", "no descriptor left", "raise `ulimit -n`"));
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_OK);
}

Test(loader_file, tells_that_a_path_does_not_exist) {
  const struct weir__driver *d = NULL;
  cr_expect_eq(fixture_load(&f, "/nowhere/at/all.so", &d), WEIR_E_FAIL);
  cr_expect(
      fixture_told(&f, "/nowhere/at/all.so", "No such file", "check the path"));
}

Test(loader_file, refuses_a_path_that_is_too_long) {
  static char path[PATH_MAX + 64];
  const struct weir__driver *d = NULL;
  memset(path, 'x', sizeof path - 1);
  path[0] = '/';
  cr_expect_eq(fixture_load(&f, path, &d), WEIR_E_ARG);
}

Test(loader_file, refuses_a_file_its_group_may_write) {
  cr_assert_eq(chmod(fixture_path(&f, "good.so"), 0775), 0);
  expect_refused("mode 0775, which lets its group write it",
                 "write permission for its owner only", "chmod go-w");
}

Test(loader_file, refuses_a_file_everyone_may_write) {
  cr_assert_eq(chmod(fixture_path(&f, "good.so"), 0646), 0);
  expect_refused("mode 0646, which lets everyone write it",
                 "write permission for its owner only", "chmod go-w");
}

Test(loader_file, refuses_a_directory_its_group_may_write) {
  cr_assert_eq(chmod(f.dir, 0770), 0);
  expect_refused("mode 0770, which lets its group write it",
                 "write permission for its owner only", "chmod go-w");
  cr_expect_not_null(strstr(f.err.message, "directory of drivers"));
}

Test(loader_file, refuses_a_directory_everyone_may_write) {
  cr_assert_eq(chmod(f.dir, 01777), 0);
  expect_refused("mode 1777, which lets everyone write it",
                 "write permission for its owner only", "chmod go-w");
}

Test(loader_file, refuses_a_link_from_a_directory_everyone_may_write) {
  const struct weir__driver *d = NULL;
  char link_path[256];
  char dir[256];
  (void)snprintf(dir, sizeof dir, "%s", fixture_path(&f, "open"));
  (void)snprintf(link_path, sizeof link_path, "%s",
                 fixture_path(&f, "open/a.so"));
  cr_assert(mkdir(dir, 0700) == 0 && chmod(dir, 0777) == 0);
  cr_assert_eq(symlink(fixture_path(&f, "good.so"), link_path), 0);
  cr_expect_eq(fixture_load(&f, link_path, &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "mode 0777", dir, "chmod go-w"));
}

/* Criterion counts a skipped test but does not say why. */
static void skip(const char *why) {
  (void)fprintf(stderr, "skip: %s\n", why);
  cr_skip_test("%s", why);
}

static void expect_foreign(const char *entry) {
  if (geteuid() != 0) {
    skip("only root can give a file to somebody else");
  }
  cr_assert_eq(chown(entry, 12345, 0), 0);
  expect_refused("belongs to user 12345", "root or user 0 as its owner",
                 "chown");
}

Test(loader_file, refuses_a_file_of_another_user) {
  expect_foreign(fixture_path(&f, "good.so"));
}

Test(loader_file, refuses_a_directory_of_another_user) {
  expect_foreign(f.dir);
}

Test(loader_file, accepts_a_file_of_root_when_run_by_another_user) {
  const struct weir__driver *d = NULL;
  if (geteuid() != 0) {
    skip("only root can become somebody else");
  }
  cr_assert_eq(chmod(f.dir, 0755), 0);
  cr_assert_eq(seteuid(12345), 0);
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_OK, "%s", f.err.message);
  cr_assert_eq(seteuid(0), 0);
}

Test(loader_file, refuses_a_directory_in_the_place_of_a_file) {
  cr_assert_eq(unlink(fixture_path(&f, "good.so")), 0);
  cr_assert_eq(mkdir(fixture_path(&f, "good.so"), 0755), 0);
  expect_refused("a directory", "a regular file", "check the path");
}

Test(loader_file, does_not_hang_on_a_fifo) {
  cr_assert_eq(unlink(fixture_path(&f, "good.so")), 0);
  cr_assert_eq(mkfifo(fixture_path(&f, "good.so"), 0755), 0);
  expect_refused("something that is not a file", "a regular file",
                 "check the path");
}

Test(loader_file, tells_of_a_link_to_nothing) {
  cr_assert_eq(unlink(fixture_path(&f, "good.so")), 0);
  cr_assert_eq(symlink("nothing.so", fixture_path(&f, "good.so")), 0);
  expect_refused("No such file", "a file this process may read",
                 "check the path");
}

Test(loader_file, tells_of_links_in_a_circle) {
  cr_assert_eq(unlink(fixture_path(&f, "good.so")), 0);
  cr_assert_eq(symlink("good.so", fixture_path(&f, "good.so")), 0);
  expect_refused("Too many levels", "a file this process may read",
                 "check the permissions of the path");
}

Test(loader_file, reads_no_further_than_the_end) {
  struct weir__driver_file file;
  char byte;
  cr_assert_eq(weir__driver_file_open(fixture_path(&f, "good.so"), "driver",
                                      &file, &f.err),
               WEIR_OK);
  cr_expect_eq(weir__driver_file_read(&file, file.size - 1, &byte, 1), 0);
  cr_expect_eq(weir__driver_file_read(&file, file.size, &byte, 1), -1);
  cr_expect_eq(weir__driver_file_read(&file, UINT64_MAX, &byte, 1), -1);
  cr_expect_eq(weir__driver_file_read(&file, 1, &byte, SIZE_MAX), -1);
  weir__driver_file_close(&file);
}

Test(loader_file, computes_the_digest_of_a_file) {
  struct weir__driver_file file;
  char hex[65];
  fixture_write(&f, "abc", 0, "abc", 3);
  cr_assert_eq(
      weir__driver_file_open(fixture_path(&f, "abc"), "driver", &file, &f.err),
      WEIR_OK);
  cr_assert_eq(weir__driver_file_digest(&file, hex, &f.err), WEIR_OK);
  cr_expect_str_eq(hex, "ba7816bf8f01cfea414140de5dae2223"
                        "b00361a396177a9cb410ff61f20015ad");
  weir__driver_file_close(&file);
}

Test(loader_file, shows_a_long_path_by_its_end) {
  static char path[1024];
  memset(path, 'd', sizeof path - 1);
  memcpy(path + sizeof path - 6, "/x.so", 6);
  cr_expect_eq(
      weir__driver_refuse(&f.err, "driver", path, "this", "that", "do it"),
      WEIR_E_FAIL);
  cr_expect_not_null(strstr(f.err.message, "d/x.so: found this; wanted that; "
                                           "do it"));
  cr_expect_eq(strncmp(f.err.message, "driver ...d", 11), 0);
}
