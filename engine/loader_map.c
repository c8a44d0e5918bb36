/* SPDX-License-Identifier: MIT */
#include "loader_map.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

#include "loader_elf.h"
#include "status.h"
#include "sys/assert.h"
#include "sys/mutex.h"

static int check_digest(const struct weir__driver_file *file,
                        const char *sha256,
                        struct weir_error *err) {
  char hex[65];
  char found[96];
  char wanted[96];
  if (sha256[0] == '\0') {
    return WEIR_OK;
  }
  const int rc = weir__driver_file_digest(file, hex, err);
  if (rc != WEIR_OK || strcmp(hex, sha256) == 0) {
    return rc;
  }
  (void)weir__text_format(found, sizeof found, "SHA-256 %s", hex);
  (void)weir__text_format(wanted, sizeof wanted, "%s, as its manifest says",
                          sha256);
  return weir__driver_refuse(err, "driver", file->path, found, wanted,
                             "install driver and manifest again");
}

static void tell_refusal(const char *path, struct weir_error *err) {
  char found[640];
  /* glibc keeps the text per thread.  NOLINTNEXTLINE(concurrency-mt-unsafe) */
  const char *why = dlerror();
  (void)weir__text_format(found, sizeof found,
                          "that the dynamic linker refuses it (%s)",
                          why == NULL ? "no reason given" : why);
  const bool full = why != NULL && strstr(why, strerrordesc_np(EMFILE)) != NULL;
  (void)weir__driver_refuse(
      err, "driver", path, found,
      full ? "a descriptor to read it with"
           : "a library that is complete with what it depends on",
      full ? "no descriptor left: raise `ulimit -n`"
           : "install what is missing; `ldd` shows it");
}

/* Maps the file; NULL and *err if it cannot be used.  NODELETE, and no
 * dlclose() anywhere: a driver may have left a thread, a key or a handler
 * behind, however much it must not. */
static void *map_file(const struct weir__driver_file *file,
                      struct weir_error *err) {
  WEIR_ASSERT(weir__mutex_none_held());
  void *handle = dlopen(file->path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == NULL) {
    tell_refusal(file->path, err);
    return NULL;
  }
  return weir__driver_elf_same(file, handle, err) == WEIR_OK ? handle : NULL;
}

/* True if fn lies in the object of handle: dlsym() also looks in what the
 * object depends on. */
static bool is_own(void *handle, const void *fn) {
  Dl_info info;
  void *owner = NULL;
  struct link_map *map = NULL;
  return dladdr1(fn, &info, &owner, RTLD_DL_LINKMAP) != 0 &&
         dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && owner == map;
}

static int call_entry(void *handle,
                      const char *path,
                      const struct weir_driver **out_table,
                      struct weir_error *err) {
  weir_driver_entry_fn entry;
  void *symbol = dlsym(handle, WEIR_DRV_ENTRY_SYMBOL);
  if (symbol == NULL || !is_own(handle, symbol)) {
    return weir__driver_refuse(
        err, "driver", path, "no symbol " WEIR_DRV_ENTRY_SYMBOL,
        "that function", "define it and export it from the driver");
  }
  memcpy(&entry, &symbol, sizeof entry); /* ISO C has no such cast */
  WEIR_ASSERT(weir__mutex_none_held());
  const struct weir_driver *table = entry(WEIR_DRV_ABI_MINOR);
  if (table == NULL) {
    char found[96];
    (void)weir__text_format(found, sizeof found,
                            "that it refuses an engine of driver ABI %u.%u",
                            WEIR_DRV_ABI_MAJOR, WEIR_DRV_ABI_MINOR);
    return weir__driver_refuse(err, "driver", path, found,
                               "a driver that accepts it",
                               "use a driver and an engine of one version");
  }
  *out_table = table;
  return WEIR_OK;
}

int weir__driver_map(const struct weir__driver_file *file,
                     const char *sha256,
                     const struct weir_driver **out_table,
                     struct weir_error *err) {
  int rc = check_digest(file, sha256, err);
  rc = rc == WEIR_OK ? weir__driver_elf_check(file, err) : rc;
  if (rc != WEIR_OK) {
    return rc;
  }
  void *handle = map_file(file, err);
  return handle == NULL ? WEIR_E_FAIL
                        : call_entry(handle, file->path, out_table, err);
}
