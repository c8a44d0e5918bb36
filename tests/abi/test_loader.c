/* SPDX-License-Identifier: MIT */
/* From a file that may be loaded to a driver, or to a text that says why not;
 * the checks before that are in test_loader_file.c and test_loader_elf.c. */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "sys/seams.h"

static struct fixture f;

static void set_up(void) {
  fixture_init(&f);
  fixture_open(&f);
}

static void tear_down(void) {
  fixture_fini(&f);
}

TestSuite(loader, .init = set_up, .fini = tear_down, .timeout = 10);

/* Loads the broken driver called defect under its own name and expects a
 * refusal that tells the file and these. */
static void expect_refused(const char *defect,
                           const char *found,
                           const char *wanted,
                           const char *advice) {
  const struct weir__driver *d = NULL;
  char entry[64];
  (void)snprintf(entry, sizeof entry, "%s.so", defect);
  fixture_copy(&f, defect, entry);
  cr_expect_eq(fixture_load(&f, defect, &d), WEIR_E_FAIL);
  cr_expect_null(d);
  cr_expect(fixture_told(&f, found, wanted, advice));
  cr_expect_not_null(strstr(f.err.message, fixture_path(&f, entry)));
  cr_expect_eq(f.err.scope, WEIR_DRV_SCOPE_DRIVER);
}

Test(loader, loads_a_driver_by_name) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK, "%s", f.err.message);
  cr_expect_str_eq(d->name, "good");
  cr_expect_str_eq(d->version, "1.2.3");
  cr_expect_str_eq(d->path, fixture_path(&f, "good.so"));
  cr_expect_not_null(d->instance);
  cr_expect_eq(f.live, 1);
}

Test(loader, reads_upper_case_as_lower_case) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  cr_expect_eq(fixture_load(&f, "Good", &d), WEIR_OK);
}

Test(loader, loads_twice_as_once) {
  const struct weir__driver *first = NULL;
  const struct weir__driver *second = NULL;
  fixture_copy(&f, "good", "good.so");
  cr_assert_eq(fixture_load(&f, "good", &first), WEIR_OK);
  cr_assert_eq(fixture_load(&f, "good", &second), WEIR_OK);
  cr_expect_eq(first, second);
  cr_expect_eq(f.live, 1);
}

Test(loader, finds_what_was_loaded_by_path_under_its_name) {
  const struct weir__driver *first = NULL;
  const struct weir__driver *second = NULL;
  fixture_copy(&f, "good", "renamed.so");
  cr_assert_eq(fixture_load(&f, fixture_path(&f, "renamed.so"), &first),
               WEIR_OK);
  cr_assert_eq(fixture_load(&f, "good", &second), WEIR_OK);
  cr_expect_eq(first, second);
}

Test(loader, takes_two_paths_to_one_file_as_one) {
  const struct weir__driver *first = NULL;
  const struct weir__driver *second = NULL;
  char linked[256];
  fixture_copy(&f, "good", "good.so");
  (void)snprintf(linked, sizeof linked, "%s", fixture_path(&f, "link.so"));
  cr_assert_eq(symlink(fixture_path(&f, "good.so"), linked), 0);
  cr_assert_eq(fixture_load(&f, linked, &first), WEIR_OK, "%s", f.err.message);
  cr_assert_eq(fixture_load(&f, fixture_path(&f, "good.so"), &second), WEIR_OK);
  cr_expect_eq(first, second);
}

Test(loader, closes_each_instance_when_it_is_freed) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  fixture_copy(&f, "table_huge", "table_huge.so");
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK);
  cr_assert_eq(fixture_load(&f, "table_huge", &d), WEIR_OK, "%s",
               f.err.message);
  cr_expect_eq(f.live, 2);
  weir__loader_free(f.loader);
  f.loader = NULL;
  cr_expect_eq(f.live, 0);
}

Test(loader, makes_an_instance_for_each_loader) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK);
  struct weir__loader *first = f.loader;
  fixture_open(&f);
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK, "%s", f.err.message);
  cr_expect_eq(f.live, 2);
  weir__loader_free(first);
  cr_expect_eq(f.live, 1);
}

Test(loader, does_not_remember_a_failure) {
  const struct weir__driver *d = NULL;
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_E_FAIL);
  fixture_copy(&f, "good", "good.so");
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_OK);
}

struct bad_name {
  const char *text;
  size_t n;
};

Test(loader, refuses_what_is_no_name_and_no_absolute_path) {
  static const struct bad_name names[] = {
      {"", 0},       {"a-b", 3},
      {"..", 2},     {"x/y.so", 6},
      {"./y.so", 6}, {"good\0bad", 8},
      {"/x\0y", 4},  {"abcdefghijabcdefghijabcdefghijkl", 32}};
  const struct weir__driver *d = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    cr_expect_eq(
        weir__loader_load(f.loader, names[i].text, names[i].n, &d, &f.err),
        WEIR_E_ARG, "%s", names[i].text);
    cr_expect_not_null(strstr(f.err.message, "absolute path"));
    cr_expect_eq(
        weir__loader_load(f.loader, names[i].text, names[i].n, &d, NULL),
        WEIR_E_ARG);
  }
}

Test(loader, refuses_a_file_without_the_entry) {
  expect_refused("no_entry", "no symbol weir_driver_entry_v0",
                 "wanted that function", "export it");
}

Test(loader, does_not_take_the_entry_of_what_a_file_depends_on) {
  expect_refused("borrower", "no symbol weir_driver_entry_v0",
                 "wanted that function", "export it");
}

Test(loader, tells_what_the_dynamic_linker_said) {
  expect_refused("unresolved", "weir_test_nobody_has_this",
                 "complete with what it depends on", "ldd");
}

Test(loader, refuses_a_driver_that_refuses_the_engine) {
  expect_refused("refuses", "refuses an engine of driver ABI 0.0",
                 "a driver that accepts it", "of one version");
}

Test(loader, refuses_a_driver_of_another_name) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "twin", "mismatch.so");
  cr_expect_eq(fixture_load(&f, "mismatch", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "a driver called good", "one called mismatch",
                         "name the file as the driver is called"));
}

Test(loader, refuses_a_second_file_for_one_name) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  fixture_copy(&f, "twin", "twin.so");
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK);
  cr_expect_eq(fixture_load(&f, fixture_path(&f, "twin.so"), &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "a driver called good", "one file for each name",
                         "use that one"));
  cr_expect_eq(f.live, 1);
}

Test(loader, notices_a_file_replaced_after_it_was_loaded) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK);
  weir__loader_free(f.loader);
  fixture_open(&f);
  cr_assert_eq(unlink(fixture_path(&f, "good.so")), 0);
  fixture_copy(&f, "twin", "good.so");
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "another file loaded from there",
                         "the file that was checked", "restart the program"));
}

Test(loader, tells_why_open_failed_with_all_that_the_driver_said) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "open_fails", "open_fails.so");
  cr_expect_eq(fixture_load(&f, "open_fails", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "driver open_fails",
                         fixture_path(&f, "open_fails.so"),
                         "the licence server is not there"));
  cr_expect_eq(f.err.kind, WEIR_DRV_K_RESOURCE);
  cr_expect_eq(f.err.native, 4711);
  cr_expect_str_eq(f.err.sqlstate, "08001");
}

/* Scenario 154: an error needs nothing of the driver it came from. */
Test(loader, keeps_an_error_after_everything_else_is_gone) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "open_fails", "open_fails.so");
  cr_expect_eq(fixture_load(&f, "open_fails", &d), WEIR_E_FAIL);
  weir__loader_free(f.loader);
  f.loader = NULL;
  cr_assert_eq(unlink(fixture_path(&f, "open_fails.so")), 0);
  cr_expect_not_null(strstr(f.err.message, "the licence server is not there"));
}

Test(loader, refuses_an_open_that_gives_nothing) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "open_nothing", "open_nothing.so");
  cr_expect_eq(fixture_load(&f, "open_nothing", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "driver open_nothing", "gave no instance", ""));
}

/* ------------------------------------------------------------- no memory */

static unsigned allocations_left;

static void *failing_alloc(size_t n) {
  return allocations_left-- == 0 ? NULL : calloc(1, n);
}

/* Lets the n-th allocation fail, for each n that there is.  What was allocated
 * before it must be freed, which LeakSanitizer checks. */
Test(loader, says_that_there_is_no_memory) {
  const struct weir__loader_opts opts = {.dirs = f.dir,
                                         .dirs_len = strlen(f.dir),
                                         .no_env = true,
                                         .host = &f.host};
  unsigned n = 0;
  int rc = WEIR_E_NOMEM;
  fixture_copy(&f, "good", "good.so");
  weir__seams.alloc = failing_alloc;
  for (; rc == WEIR_E_NOMEM && n < 100; n++) {
    const struct weir__driver *d = NULL;
    struct weir__loader *loader = NULL;
    struct weir_error e = {.struct_size = sizeof e};
    allocations_left = n;
    rc = weir__loader_new(&opts, &loader, &e);
    rc = rc == WEIR_OK ? weir__loader_load(loader, "good", 4, &d, &e) : rc;
    cr_expect_eq(rc, e.code);
    cr_expect((rc == WEIR_OK) == (d != NULL));
    weir__loader_free(loader);
  }
  weir__seams_reset();
  cr_expect_eq(rc, WEIR_OK);
  cr_expect_gt(n, 5);
}

Test(loader, says_that_there_is_no_memory_for_a_list) {
  uint32_t n = 77;
  weir__seams.alloc = failing_alloc;
  allocations_left = 0;
  cr_expect_eq(weir__loader_list(f.loader, NULL, 0, &n, &f.err), WEIR_E_NOMEM);
  weir__seams_reset();
  cr_expect_eq(n, 77);
}

/* -------------------------------------------------------------------- list */

Test(loader, lists_drivers_in_order_with_their_problems) {
  struct weir_driver_info info[8];
  uint32_t n = 0;
  for (size_t i = 0; i < 8; i++) {
    info[i].struct_size = sizeof info[i];
  }
  fixture_copy(&f, "no_note", "no_note.so");
  fixture_copy(&f, "good", "good.so");
  fixture_write(&f, "notes.txt", 0, "x", 1);
  fixture_write(&f, "Bad-Name.so", 0, "x", 1);
  cr_assert_eq(weir__loader_list(f.loader, info, 8, &n, &f.err), WEIR_OK);
  cr_assert_eq(n, 2);
  cr_expect_str_eq(info[0].name, "good");
  cr_expect_eq(info[0].status, WEIR_OK);
  cr_expect_str_eq(info[0].version, "1.2.3");
  cr_expect_str_eq(info[0].path, fixture_path(&f, "good.so"));
  cr_expect_str_eq(info[0].problem, "");
  cr_expect_str_eq(info[1].name, "no_note");
  cr_expect_eq(info[1].status, WEIR_E_FAIL);
  cr_expect_not_null(strstr(info[1].problem, ".note.weir"));
}

Test(loader, counts_drivers_that_the_list_has_no_room_for) {
  uint32_t n = 0;
  fixture_copy(&f, "good", "good.so");
  fixture_copy(&f, "table_huge", "table_huge.so");
  cr_expect_eq(weir__loader_list(f.loader, NULL, 0, &n, NULL), WEIR_OK);
  cr_expect_eq(n, 2);
}

Test(loader, fills_elements_that_are_larger_than_ours) {
  struct {
    struct weir_driver_info info;
    uint64_t later;
  } wide[2];
  uint32_t n = 0;
  memset(wide, 0x5A, sizeof wide);
  wide[0].info.struct_size = sizeof wide[0];
  wide[1].info.struct_size = sizeof wide[1];
  fixture_copy(&f, "good", "good.so");
  fixture_copy(&f, "table_huge", "table_huge.so");
  cr_assert_eq(weir__loader_list(f.loader, &wide[0].info, 2, &n, &f.err),
               WEIR_OK);
  cr_expect_str_eq(wide[1].info.name, "table_huge");
  cr_expect_eq(wide[1].info.struct_size, sizeof wide[1]);
  cr_expect_eq(wide[0].later, UINT64_C(0x5A5A5A5A5A5A5A5A));
}

Test(loader, refuses_elements_without_their_size) {
  struct weir_driver_info info[2] = {{.struct_size = sizeof info[0]},
                                     {.struct_size = 0}};
  uint32_t n = 77;
  cr_expect_eq(weir__loader_list(f.loader, info, 2, &n, &f.err), WEIR_E_ARG);
  cr_expect_not_null(strstr(f.err.message, "element 1"));
  cr_expect_eq(weir__loader_list(f.loader, info, 2, &n, NULL), WEIR_E_ARG);
  cr_expect_eq(n, 77);
}
