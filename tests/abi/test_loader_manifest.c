/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "loader_manifest.h"

static struct fixture f;

static void set_up(void) {
  fixture_init(&f);
  fixture_open(&f);
}

static void tear_down(void) {
  fixture_fini(&f);
}

TestSuite(loader_manifest, .init = set_up, .fini = tear_down, .timeout = 10);

static int parse(const char *text, struct weir__manifest *out) {
  const size_t n = strlen(text);
  const int rc = weir__manifest_parse(text, n, "/m.weirdriver", out, &f.err);
  cr_expect_eq(weir__manifest_parse(text, n, "/m.weirdriver", out, NULL), rc);
  return rc;
}

Test(loader_manifest, reads_keys_comments_and_keys_it_does_not_know) {
  struct weir__manifest m;
  cr_assert_eq(parse("# a driver\r\n"
                     "format: 1\r\n"
                     "\n"
                     " name :  tds \n"
                     "file: tds.so\n"
                     "abi: 0\n"
                     "description: SQL Server: all of it\n"
                     "sha256: "
                     "0123456789abcdefABCDEF0123456789"
                     "0123456789abcdef0123456789abcdef",
                     &m),
               WEIR_OK, "%s", f.err.message);
  cr_expect_str_eq(m.name, "tds");
  cr_expect_str_eq(m.file, "tds.so");
  cr_expect_str_eq(m.sha256, "0123456789abcdefabcdef0123456789"
                             "0123456789abcdef0123456789abcdef");
}

struct bad {
  const char *text;
  const char *told;
};

Test(loader_manifest, refuses_what_it_does_not_understand) {
  static const struct bad cases[] = {
      {"", "no key 'format'"},
      {"format: 1\nname: a\nabi: 0\n", "no key 'file'"},
      {"format: 2\n", "format '2' in line 1"},
      {"format: 1\nabi: 7\n", "abi '7' in line 2"},
      {"format: 1\nformat: 1\n", "a second 'format' in line 2"},
      {"format: 1\nnonsense\n", "the text 'nonsense' in line 2"},
      {"name: \n", "name '' in line 1"},
      {"name: abcdefghijabcdefghijabcdefghijkl\n", "name 'abcdef"},
      {"file: /etc/passwd\n", "file '/etc/passwd' in line 1"},
      {"file: ../x.so\n", "file '../x.so' in line 1"},
      {"sha256: 12\n", "sha256 '12' in line 1"},
      {"sha256: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
       "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n",
       "sha256 'xxx"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    struct weir__manifest m;
    cr_expect_eq(parse(cases[i].text, &m), WEIR_E_FAIL, "%s", cases[i].text);
    cr_expect(fixture_told(&f, cases[i].told, "manifest /m.weirdriver",
                           "install it again"));
  }
}

Test(loader_manifest, refuses_a_nul) {
  static const char text[] = "format: 1\nname: a\0b\n";
  struct weir__manifest m;
  cr_expect_eq(weir__manifest_parse(text, sizeof text - 1, "/m", &m, &f.err),
               WEIR_E_FAIL);
}

static void write_manifest(const char *entry, const char *text) {
  fixture_write(&f, entry, 0, text, strlen(text));
}

Test(loader_manifest, leads_to_the_file) {
  const struct weir__driver *d = NULL;
  cr_assert_eq(mkdir(fixture_path(&f, "sub"), 0755), 0);
  fixture_copy(&f, "good", "sub/any.so");
  write_manifest("good.weirdriver",
                 "format: 1\nname: good\nfile: sub/any.so\nabi: 0\n");
  cr_assert_eq(fixture_load(&f, "good", &d), WEIR_OK, "%s", f.err.message);
  cr_expect_str_eq(d->path, fixture_path(&f, "sub/any.so"));
}

Test(loader_manifest, comes_before_the_file_of_that_name) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "no_note", "good.so");
  fixture_copy(&f, "good", "right.so");
  write_manifest("good.weirdriver",
                 "format: 1\nname: good\nfile: right.so\nabi: 0\n");
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_OK, "%s", f.err.message);
}

Test(loader_manifest, must_have_the_name_of_its_file) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  write_manifest("other.weirdriver",
                 "format: 1\nname: good\nfile: good.so\nabi: 0\n");
  cr_expect_eq(fixture_load(&f, "other", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "found name good", "the manifest's file",
                         "rename the file"));
}

Test(loader_manifest, has_its_digest_enforced) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  write_manifest("good.weirdriver",
                 "format: 1\nname: good\nfile: good.so\nabi: 0\nsha256: "
                 "00000000000000000000000000000000"
                 "00000000000000000000000000000000\n");
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "found SHA-256 ", "as its manifest says",
                         "install driver and manifest again"));
}

Test(loader_manifest, is_checked_like_a_driver) {
  const struct weir__driver *d = NULL;
  write_manifest("good.weirdriver", "format: 1\n");
  cr_assert_eq(chmod(fixture_path(&f, "good.weirdriver"), 0666), 0);
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "manifest ", "mode 0666", "chmod go-w"));
}

Test(loader_manifest, has_a_largest_size) {
  static char text[WEIR_MANIFEST_BYTES_MAX + 1];
  const struct weir__driver *d = NULL;
  memset(text, '#', sizeof text);
  fixture_write(&f, "good.weirdriver", 0, text, sizeof text);
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "too large", "at most 4096 bytes", "again"));
}
