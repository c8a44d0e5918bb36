/* SPDX-License-Identifier: MIT */
/* All numbers of the file are hostile until checked: offsets and sizes are
 * compared with the size of the file, counts with a cap. */
#include "loader_elf.h"

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>

#include "weir_driver.h"

#include "status.h"

#define SEGMENTS_MAX   64u
#define NOTE_BYTES_MAX 4096u

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#  define OUR_ORDER ELFDATA2LSB
#else
#  define OUR_ORDER ELFDATA2MSB
#endif
#if __ELF_NATIVE_CLASS == 64
#  define OUR_CLASS ELFCLASS64
#else
#  define OUR_CLASS ELFCLASS32
#endif
#if defined(__x86_64__)
#  define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#  define OUR_MACHINE EM_AARCH64
#elif defined(__i386__)
#  define OUR_MACHINE EM_386
#elif defined(__arm__)
#  define OUR_MACHINE EM_ARM
#elif defined(__riscv)
#  define OUR_MACHINE EM_RISCV
#elif defined(__powerpc64__)
#  define OUR_MACHINE EM_PPC64
#elif defined(__s390x__)
#  define OUR_MACHINE EM_S390
#else
#  error "add the EM_ constant of this machine"
#endif

static const struct {
  unsigned code;
  const char *name;
} machines[] = {{EM_X86_64, "x86-64"}, {EM_AARCH64, "aarch64"},
                {EM_386, "i386"},      {EM_ARM, "arm"},
                {EM_RISCV, "riscv"},   {EM_PPC64, "ppc64"},
                {EM_S390, "s390x"}};

/* What the headers of one file say. */
struct headers {
  ElfW(Ehdr) elf;
  ElfW(Phdr) segment[SEGMENTS_MAX];
};

static int refuse(const struct weir__driver_file *file,
                  const char *found,
                  const char *wanted,
                  const char *advice,
                  struct weir_error *err) {
  return weir__driver_refuse(err, "driver", file->path, found, wanted, advice);
}

static void describe(char *to, size_t cap, unsigned machine, unsigned bits) {
  for (size_t i = 0; i < sizeof machines / sizeof machines[0]; i++) {
    if (machines[i].code == machine) {
      (void)weir__text_format(to, cap, "code for %s (%u bits)",
                              machines[i].name, bits);
      return;
    }
  }
  (void)weir__text_format(to, cap, "code for ELF machine %u (%u bits)", machine,
                          bits);
}

static int refuse_machine(const struct weir__driver_file *file,
                          const ElfW(Ehdr) * elf,
                          struct weir_error *err) {
  char found[64];
  char wanted[64];
  describe(found, sizeof found, elf->e_machine,
           elf->e_ident[EI_CLASS] == ELFCLASS64 ? 64 : 32);
  describe(wanted, sizeof wanted, OUR_MACHINE, __ELF_NATIVE_CLASS);
  return refuse(file, found, wanted,
                "install the driver built for this machine", err);
}

/* e_type and e_machine lie at the same place in both classes, so one read of
 * the native header serves to name a foreign machine. */
static int check_elf(const struct weir__driver_file *file,
                     ElfW(Ehdr) * elf,
                     struct weir_error *err) {
  if (weir__driver_file_read(file, 0, elf, sizeof *elf) != 0 ||
      memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0) {
    return refuse(file, "a file that is not a shared object",
                  "an ELF shared object",
                  "check that the path names the driver's .so", err);
  }
  if (elf->e_ident[EI_CLASS] != OUR_CLASS ||
      elf->e_ident[EI_DATA] != OUR_ORDER || elf->e_machine != OUR_MACHINE) {
    return refuse_machine(file, elf, err);
  }
  if (elf->e_type != ET_DYN || elf->e_version != EV_CURRENT) {
    return refuse(file, "an ELF file that is not a shared object",
                  "an ELF shared object", "link the driver with -shared", err);
  }
  return WEIR_OK;
}

static int read_headers(const struct weir__driver_file *file,
                        struct headers *out,
                        struct weir_error *err) {
  const int rc = check_elf(file, &out->elf, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  const unsigned n = out->elf.e_phnum;
  if (out->elf.e_phentsize != sizeof(ElfW(Phdr)) || n == 0 ||
      n > SEGMENTS_MAX ||
      weir__driver_file_read(file, out->elf.e_phoff, out->segment,
                             n * sizeof out->segment[0]) != 0) {
    return refuse(file, "damaged program headers", "an ELF shared object",
                  "build or copy the driver again", err);
  }
  return WEIR_OK;
}

/* ------------------------------------------------------------ a whole file? */

/* at + n, or the largest number if there is none that large. */
static uint64_t end_of(uint64_t at, uint64_t n) {
  return n > UINT64_MAX - at ? UINT64_MAX : at + n;
}

/* Where the file's part of the last segment ends. */
static uint64_t segments_end(const struct headers *h) {
  uint64_t end = 0;
  for (unsigned i = 0; i < h->elf.e_phnum; i++) {
    const ElfW(Phdr) *s = &h->segment[i];
    const uint64_t this_end = end_of(s->p_offset, s->p_filesz);
    if (s->p_filesz != 0 && this_end > end) {
      end = this_end;
    }
  }
  return end;
}

/* Where the section headers end; 0 if there are none.  A count of 0 stands for
 * one that is kept in the first of them. */
static uint64_t sections_end(const ElfW(Ehdr) * elf) {
  const uint64_t n = elf->e_shnum == 0 ? 1 : elf->e_shnum;
  return elf->e_shoff == 0 ? 0 : end_of(elf->e_shoff, n * elf->e_shentsize);
}

/* The dynamic linker maps and touches what the headers promise; where the file
 * ends before that, it dies of SIGBUS. */
static int check_whole(const struct weir__driver_file *file,
                       const struct headers *h,
                       struct weir_error *err) {
  const uint64_t segments = segments_end(h);
  const uint64_t sections = sections_end(&h->elf);
  char found[128];
  if (segments <= file->size && sections <= file->size) {
    return WEIR_OK;
  }
  const bool cut = segments > file->size;
  (void)weir__text_format(
      found, sizeof found,
      "a file of %" PRIu64 " bytes whose %s end at %" PRIu64, file->size,
      cut ? "segments" : "section headers", cut ? segments : sections);
  return refuse(file, found, "a whole file", "copy the driver again", err);
}

/* ------------------------------------------------------------------- note */

/* The notes of a file about drivers: the one of our major, or else any. */
struct finding {
  bool found;
  uint32_t major;
  uint32_t min_host_minor;
  uint64_t hash;
};

static uint32_t word(const unsigned char *p) {
  uint32_t w;
  memcpy(&w, p, sizeof w);
  return w;
}

/* Takes a note of ours: p is at its descriptor. */
static void take_note(struct finding *f,
                      uint32_t type,
                      const unsigned char *desc) {
  if (f->found && f->major == WEIR_DRV_ABI_MAJOR) {
    return;
  }
  f->found = true;
  f->major = type;
  f->min_host_minor = word(desc + 4);
  f->hash = (uint64_t)word(desc + 12) << 32 | word(desc + 8);
}

/* Walks the n bytes of one note segment. */
static void scan_notes(const unsigned char *p,
                       size_t n,
                       size_t align,
                       struct finding *f) {
  const size_t mask = (align == 8 ? 8 : 4) - 1;
  size_t at = 0;
  while (n - at >= 12) {
    const size_t name_len = word(p + at);
    const size_t desc_len = word(p + at + 4);
    const uint32_t type = word(p + at + 8);
    const size_t name = at + 12;
    if (name_len > n - name) {
      return;
    }
    const size_t desc = (name + name_len + mask) & ~mask;
    if (desc > n || desc_len > n - desc) {
      return;
    }
    if (name_len == 5 && desc_len >= 24 && memcmp(p + name, "WEIR", 5) == 0) {
      take_note(f, type, p + desc);
    }
    const size_t next = (desc + desc_len + mask) & ~mask;
    if (next > n) {
      return;
    }
    at = next;
  }
}

static void find_note(const struct weir__driver_file *file,
                      const struct headers *h,
                      struct finding *f) {
  for (unsigned i = 0; i < h->elf.e_phnum; i++) {
    const ElfW(Phdr) *s = &h->segment[i];
    unsigned char bytes[NOTE_BYTES_MAX];
    if (s->p_type == PT_NOTE && s->p_filesz <= sizeof bytes &&
        weir__driver_file_read(file, s->p_offset, bytes, (size_t)s->p_filesz) ==
            0) {
      scan_notes(bytes, (size_t)s->p_filesz, (size_t)s->p_align, f);
    }
  }
}

static int refuse_version(const struct weir__driver_file *file,
                          const struct finding *f,
                          struct weir_error *err) {
  char found[96];
  char wanted[96];
  (void)weir__text_format(found, sizeof found,
                          "driver ABI %" PRIu32 " with hash %016" PRIx64,
                          f->major, f->hash);
  (void)weir__text_format(wanted, sizeof wanted, "%u with hash %016" PRIx64,
                          WEIR_DRV_ABI_MAJOR, WEIR_DRV_ABI_HASH);
  return refuse(file, found, wanted,
                "rebuild the driver with the weir_driver.h of this engine",
                err);
}

int weir__driver_elf_check(const struct weir__driver_file *file,
                           struct weir_error *err) {
  struct headers h;
  struct finding f = {0};
  int rc = read_headers(file, &h, err);
  rc = rc == WEIR_OK ? check_whole(file, &h, err) : rc;
  if (rc != WEIR_OK) {
    return rc;
  }
  find_note(file, &h, &f);
  if (!f.found) {
    return refuse(
        file, "no note of a Weir driver", "a section " WEIR_DRV_NOTE_SECTION,
        "put WEIR_DRV_DRIVER_NOTE() into one source of the driver", err);
  }
  if (f.major != WEIR_DRV_ABI_MAJOR || f.hash != WEIR_DRV_ABI_HASH) {
    return refuse_version(file, &f, err);
  }
  if (f.min_host_minor > WEIR_DRV_ABI_MINOR) {
    char found[96];
    char wanted[96];
    (void)weir__text_format(found, sizeof found,
                            "that it needs an engine of driver ABI %u.%" PRIu32,
                            WEIR_DRV_ABI_MAJOR, f.min_host_minor);
    (void)weir__text_format(wanted, sizeof wanted, "at most %u.%u",
                            WEIR_DRV_ABI_MAJOR, WEIR_DRV_ABI_MINOR);
    return refuse(file, found, wanted, "update the engine", err);
  }
  return WEIR_OK;
}

/* --------------------------------------------------- is it the same file? */

/* The program headers of a mapped object, as the dynamic linker knows them. */
struct mapped {
  uintptr_t base;
  const ElfW(Phdr) * segment;
  unsigned n;
};

static int find_mapped(struct dl_phdr_info *info, size_t size, void *arg) {
  struct mapped *m = arg;
  (void)size;
  if (info->dlpi_addr != m->base) {
    return 0;
  }
  m->segment = info->dlpi_phdr;
  m->n = info->dlpi_phnum;
  return 1;
}

/* Compares by hand, because AddressSanitizer's memcmp() objects to the gaps
 * that it puts between the driver's variables. */
__attribute__((no_sanitize("address"))) static bool equal(
    const unsigned char *a,
    const volatile unsigned char *b,
    size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (a[i] != b[i]) {
      return false;
    }
  }
  return true;
}

/* The memory of one note segment, or NULL if it is not in a read-only load
 * segment.  Only asked when the headers in memory are those of the file, so
 * the address is mapped. */
static const unsigned char *note_memory(const struct headers *h,
                                        const ElfW(Phdr) * note,
                                        uintptr_t base) {
  for (unsigned i = 0; i < h->elf.e_phnum; i++) {
    const ElfW(Phdr) *s = &h->segment[i];
    if (s->p_type == PT_LOAD && (s->p_flags & PF_W) == 0 &&
        note->p_vaddr >= s->p_vaddr &&
        note->p_vaddr - s->p_vaddr <= s->p_filesz &&
        note->p_filesz <= s->p_filesz - (note->p_vaddr - s->p_vaddr)) {
      /* The linker's addresses are numbers until here.
       * NOLINTNEXTLINE(performance-no-int-to-ptr) */
      return (const unsigned char *)(base + note->p_vaddr);
    }
  }
  return NULL;
}

/* True if the notes in memory, the build id among them, are the file's. */
static bool notes_equal(const struct weir__driver_file *file,
                        const struct headers *h,
                        uintptr_t base) {
  for (unsigned i = 0; i < h->elf.e_phnum; i++) {
    const ElfW(Phdr) *s = &h->segment[i];
    unsigned char bytes[NOTE_BYTES_MAX];
    if (s->p_type != PT_NOTE || s->p_filesz > sizeof bytes) {
      continue;
    }
    const unsigned char *memory = note_memory(h, s, base);
    if (memory != NULL && (weir__driver_file_read(file, s->p_offset, bytes,
                                                  (size_t)s->p_filesz) != 0 ||
                           !equal(bytes, memory, (size_t)s->p_filesz))) {
      return false;
    }
  }
  return true;
}

static bool path_is_file(const char *path,
                         const struct weir__driver_file *file) {
  struct stat st;
  return stat(path, &st) == 0 && st.st_dev == file->device &&
         st.st_ino == file->inode;
}

int weir__driver_elf_same(const struct weir__driver_file *file,
                          void *handle,
                          struct weir_error *err) {
  struct link_map *map = NULL;
  struct mapped m = {0};
  struct headers h;
  int rc = read_headers(file, &h, err);
  if (rc != WEIR_OK) {
    return rc;
  }
  bool same = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != NULL &&
              path_is_file(map->l_name, file);
  if (same) {
    m.base = map->l_addr;
    same = dl_iterate_phdr(find_mapped, &m) == 1 && m.n == h.elf.e_phnum &&
           equal((const unsigned char *)h.segment,
                 (const unsigned char *)m.segment, m.n * sizeof h.segment[0]) &&
           notes_equal(file, &h, m.base);
  }
  if (!same) {
    rc = refuse(file, "that this process has another file loaded from there",
                "the file that was checked",
                "restart the program: the file was replaced while it ran", err);
  }
  return rc;
}
