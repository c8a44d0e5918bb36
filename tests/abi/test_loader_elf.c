/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "loader_elf.h"

static struct fixture f;

static void set_up(void) {
  fixture_init(&f);
  fixture_open(&f);
  fixture_copy(&f, "good", "good.so");
}

static void tear_down(void) {
  fixture_fini(&f);
}

TestSuite(loader_elf, .init = set_up, .fini = tear_down, .timeout = 10);

static void expect_refused(const char *name,
                           const char *found,
                           const char *wanted,
                           const char *advice) {
  const struct weir__driver *d = NULL;
  char entry[64];
  (void)snprintf(entry, sizeof entry, "%s.so", name);
  cr_expect_eq(fixture_load(&f, name, &d), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, found, wanted, advice));
  cr_expect_not_null(strstr(f.err.message, fixture_path(&f, entry)));
}

/* Overwrites a number of the ELF header of good.so. */
#define SPOIL(member, type, value)                                            \
  do {                                                                        \
    const type number = (value);                                              \
    fixture_write(&f, "good.so", (long)offsetof(ElfW(Ehdr), member), &number, \
                  sizeof number);                                             \
  } while (0)

Test(loader_elf, refuses_an_empty_file) {
  fixture_write(&f, "empty.so", 0, "", 0);
  expect_refused("empty", "a file that is not a shared object",
                 "an ELF shared object", "the driver's .so");
}

Test(loader_elf, refuses_a_text) {
  static const char text[] =
      "INPUT(libgood.so) /* a linker script is not a driver; long enough */";
  fixture_write(&f, "text.so", 0, text, sizeof text);
  expect_refused("text", "a file that is not a shared object",
                 "an ELF shared object", "the driver's .so");
}

Test(loader_elf, refuses_code_for_another_machine) {
  SPOIL(e_machine, uint16_t, EM_S390);
  expect_refused("good", "code for s390x (64 bits)", "wanted code for",
                 "built for this machine");
}

Test(loader_elf, tells_the_number_of_a_machine_it_cannot_name) {
  SPOIL(e_machine, uint16_t, 999);
  expect_refused("good", "code for ELF machine 999", "wanted code for",
                 "built for this machine");
}

Test(loader_elf, refuses_code_of_another_width) {
  SPOIL(e_ident[EI_CLASS], uint8_t,
        __ELF_NATIVE_CLASS == 64 ? ELFCLASS32 : ELFCLASS64);
  expect_refused("good", __ELF_NATIVE_CLASS == 64 ? "(32 bits)" : "(64 bits)",
                 "wanted code for", "built for this machine");
}

Test(loader_elf, refuses_an_object_file) {
  SPOIL(e_type, uint16_t, ET_REL);
  expect_refused("good", "an ELF file that is not a shared object",
                 "an ELF shared object", "-shared");
}

Test(loader_elf, refuses_headers_beyond_the_file) {
  SPOIL(e_phoff, ElfW(Off), (ElfW(Off)) - 64);
  expect_refused("good", "damaged program headers", "an ELF shared object",
                 "again");
}

Test(loader_elf, refuses_more_headers_than_any_file_has) {
  SPOIL(e_phnum, uint16_t, 0xFFFF);
  expect_refused("good", "damaged program headers", "an ELF shared object",
                 "again");
}

Test(loader_elf, refuses_headers_of_another_size) {
  SPOIL(e_phentsize, uint16_t, 1);
  expect_refused("good", "damaged program headers", "an ELF shared object",
                 "again");
}

Test(loader_elf, refuses_a_file_without_note) {
  fixture_copy(&f, "no_note", "no_note.so");
  expect_refused("no_note", "no note of a Weir driver", ".note.weir",
                 "WEIR_DRV_DRIVER_NOTE()");
}

Test(loader_elf, refuses_another_version_of_the_interface) {
  fixture_copy(&f, "other_major", "other_major.so");
  expect_refused("other_major", "driver ABI 7", "0 with hash",
                 "rebuild the driver");
}

Test(loader_elf, refuses_another_hash_of_the_interface) {
  fixture_copy(&f, "other_hash", "other_hash.so");
  expect_refused("other_hash", "driver ABI 0 with hash 1122334455667788",
                 "0 with hash", "rebuild the driver");
}

Test(loader_elf, refuses_a_driver_that_needs_a_newer_engine) {
  fixture_copy(&f, "note_future", "note_future.so");
  expect_refused("note_future", "needs an engine of driver ABI 0.3",
                 "at most 0.0", "update the engine");
}

/* Opens the entry as the loader does before it maps it. */
static struct weir__driver_file open_entry(const char *entry) {
  struct weir__driver_file file;
  cr_assert_eq(
      weir__driver_file_open(fixture_path(&f, entry), "driver", &file, &f.err),
      WEIR_OK);
  return file;
}

Test(loader_elf, tells_a_file_from_its_copy_in_memory) {
  fixture_copy(&f, "good", "copy.so");
  struct weir__driver_file good = open_entry("good.so");
  struct weir__driver_file copy = open_entry("copy.so");
  void *handle = dlopen(good.path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  cr_assert_not_null(handle);
  cr_expect_eq(weir__driver_elf_same(&good, handle, NULL), WEIR_OK);
  cr_expect_eq(weir__driver_elf_same(&copy, handle, &f.err), WEIR_E_FAIL);
  cr_expect(fixture_told(&f, "another file loaded from there",
                         "the file that was checked", "restart the program"));
  weir__driver_file_close(&good);
  weir__driver_file_close(&copy);
}

/* Cuts good.so to n bytes, whole before. */
static void expect_cut_refused(off_t n) {
  const struct weir__driver *d = NULL;
  fixture_copy(&f, "good", "good.so");
  cr_assert_eq(truncate(fixture_path(&f, "good.so"), n), 0);
  cr_expect_eq(fixture_load(&f, "good", &d), WEIR_E_FAIL, "%ld", (long)n);
  const bool too_short =
      strstr(f.err.message, "not a shared object") != NULL ||
      strstr(f.err.message, "damaged program headers") != NULL;
  if (!too_short) {
    char found[64];
    (void)snprintf(found, sizeof found, "found a file of %ld bytes whose ",
                   (long)n);
    cr_expect(
        fixture_told(&f, found, "wanted a whole file", "copy the driver again"),
        "%ld", (long)n);
  }
}

/* dlopen() maps what the headers promise, and touching what the file does not
 * have is a SIGBUS. */
Test(loader_elf, refuses_a_file_cut_short_anywhere, .timeout = 60) {
  struct stat st;
  cr_assert_eq(stat(fixture_path(&f, "good.so"), &st), 0);
  for (off_t n = 0; n < st.st_size; n += 500) {
    expect_cut_refused(n);
  }
  expect_cut_refused(st.st_size - 1);
  expect_cut_refused(1);
}

Test(loader_elf, tells_where_a_file_cut_short_would_end) {
  cr_assert_eq(truncate(fixture_path(&f, "good.so"), 4096), 0);
  expect_refused("good", "found a file of 4096 bytes whose segments end at ",
                 "wanted a whole file", "copy the driver again");
}

Test(loader_elf, refuses_segments_beyond_any_file) {
  static const uint64_t most = UINT64_MAX;
  const long at = (long)(sizeof(ElfW(Ehdr)) + offsetof(ElfW(Phdr), p_filesz));
  fixture_write(&f, "good.so", at, &most, sizeof(ElfW(Off)));
  expect_refused("good", "whose segments end at 18446744073709551615",
                 "wanted a whole file", "copy the driver again");
}

Test(loader_elf, refuses_section_headers_beyond_the_file) {
  SPOIL(e_shoff, ElfW(Off), (ElfW(Off)) - 64);
  expect_refused("good", "whose section headers end at ", "wanted a whole file",
                 "copy the driver again");
}

/* Changes each of the first bytes in turn: headers and notes.  Some changes do
 * not matter; none may crash. */
Test(loader_elf, survives_any_changed_byte_of_the_headers) {
  struct weir__driver_file file;
  unsigned char bytes[1024];
  cr_assert_eq(weir__driver_file_open(fixture_path(&f, "good.so"), "driver",
                                      &file, NULL),
               WEIR_OK);
  cr_assert_eq(weir__driver_file_read(&file, 0, bytes, sizeof bytes), 0);
  unsigned refused = 0;
  for (long at = 0; at < (long)sizeof bytes; at++) {
    const unsigned char spoilt = bytes[at] ^ 0xFF;
    fixture_write(&f, "good.so", at, &spoilt, 1);
    refused += weir__driver_elf_check(&file, NULL) != WEIR_OK;
    fixture_write(&f, "good.so", at, &bytes[at], 1);
  }
  cr_expect_gt(refused, 20);
  cr_expect_eq(weir__driver_elf_check(&file, NULL), WEIR_OK);
  weir__driver_file_close(&file);
}
