/* SPDX-License-Identifier: MIT */
/* loader.h - finds, checks and loads drivers.
 *
 * A loader belongs to one engine and holds the drivers that engine has loaded.
 * A driver is loaded once per loader, however often and from however many
 * threads it is asked for, and stays until the loader is freed.  Its file stays
 * mapped until the process ends: nothing is ever dlclose()d.
 *
 * A name is looked for in the directories of the options, then those of the
 * environment variable WEIR_DRIVER_PATH, then weir/drivers beside libweir, then
 * the directory that was compiled in.  In each, NAME.weirdriver (a manifest,
 * see abi/README.md) comes before NAME.so.  The first directory that has either
 * decides: a file that is refused there is an error, not a reason to look
 * on. */
#ifndef WEIR_LOADER_H
#define WEIR_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

/* Longest name of a driver, with its NUL. */
#define WEIR_DRIVER_NAME_MAX 32u

/* Slots of the table that a driver may leave NULL; bits of weir__driver.has. */
#define WEIR_DRIVER_HAS_EXTENSION   UINT32_C(0x001)
#define WEIR_DRIVER_HAS_CONFIG_INFO UINT32_C(0x002)
#define WEIR_DRIVER_HAS_INTERRUPT   UINT32_C(0x004)
#define WEIR_DRIVER_HAS_IDLE        UINT32_C(0x008)
#define WEIR_DRIVER_HAS_PING        UINT32_C(0x010)
#define WEIR_DRIVER_HAS_RESET       UINT32_C(0x020)
#define WEIR_DRIVER_HAS_TXN         UINT32_C(0x040)
#define WEIR_DRIVER_HAS_LOGOUT      UINT32_C(0x080)
#define WEIR_DRIVER_HAS_CANCEL      UINT32_C(0x100)

/* One driver of one loader; does not change once it has been handed out. */
struct weir__driver {
  /* The driver's own table, cut or filled with zeros to our size.  No slot is
   * NULL: one that the driver left out answers WEIR_DRV_E_UNSUPPORTED with an
   * error of scope STATEMENT that names it, and does not write *wait;
   * extension answers NULL; interrupt does nothing. */
  struct weir_driver table;
  weir_drv_drv *instance; /* from table.open(); table.close() ends it */
  uint32_t has;           /* WEIR_DRIVER_HAS_*: slots that are the driver's */
  /* The driver's "weir.stmt", likewise; all NULL if it has none. */
  struct weir_drv_stmt_api stmt;
  char name[WEIR_DRIVER_NAME_MAX];
  char version[32];          /* for people; cut to fit */
  char *path;                /* canonical path of the file */
  struct weir__driver *next; /* guarded by the loader's mutex */
};

struct weir__loader;

struct weir__loader_opts {
  const char *dirs; /* directories searched first, ':' between them */
  size_t dirs_len;
  bool no_env; /* ignore WEIR_DRIVER_PATH; so does any program that runs with
                * more rights than its caller (AT_SECURE) */
  const struct weir_drv_host *host; /* handed to each driver; must outlive the
                                     * loader */
};

/* Makes a loader.  The texts of opts are copied.  Nothing is opened or looked
 * at yet.  Returns WEIR_OK; WEIR_E_ARG if dirs is not UTF-8 text, holds more
 * than 64 directories or one that is not absolute; WEIR_E_NOMEM.
 * Owns: *out_loader until weir__loader_free().  Threads: any.  Blocks: no. */
int weir__loader_new(const struct weir__loader_opts *opts,
                     struct weir__loader **out_loader,
                     struct weir_error *err);

/* Closes the instance of each driver, last loaded first, and frees the loader.
 * No connection or configuration of any of its drivers may be left, and no
 * other call on it may be running.  NULL is fine.  Calls drivers: hold no lock.
 * Blocks: no longer than a driver's close() does. */
void weir__loader_free(struct weir__loader *loader);

/* Finds or loads the driver called name (1 to 31 of a-z, 0-9 and _; A-Z is read
 * as a-z) or, if name contains a slash, the file at that absolute path, whose
 * driver may have any name that no other loaded file of this loader has.
 *
 * Returns WEIR_OK; WEIR_E_ARG (not a name and not an absolute path);
 * WEIR_E_NOMEM; WEIR_E_FAIL with a text that tells the file, what was found,
 * what was wanted and what to do, of scope WEIR_DRV_SCOPE_DRIVER.  A failure
 * is not remembered: the next call looks again.
 * Owns: nothing; *out_driver lives as long as the loader.
 * Threads: any.  One load at a time per loader; others wait for it.  Calls the
 * driver's entry and open(): hold no lock.
 * Blocks: on the file system. */
int weir__loader_load(struct weir__loader *loader,
                      const char *name,
                      size_t name_len,
                      const struct weir__driver **out_driver,
                      struct weir_error *err);

/* Tells every driver that is loaded or can be found by name, in order of name,
 * loading each; one that does not load is told with its status and problem.
 * info: cap elements of info[0].struct_size bytes, or NULL with cap 0.
 * *out_n gets the number there are (at most 256), which may exceed cap.
 * Returns WEIR_OK, WEIR_E_ARG (struct_size too small, or not that of the first
 * element), WEIR_E_NOMEM.  Threads, Blocks: as weir__loader_load(). */
int weir__loader_list(struct weir__loader *loader,
                      struct weir_driver_info *info,
                      uint32_t cap,
                      uint32_t *out_n,
                      struct weir_error *err);

#endif
