/* SPDX-License-Identifier: MIT */
/* loader_search.h - which directories, and which file in them. */
#ifndef WEIR_LOADER_SEARCH_H
#define WEIR_LOADER_SEARCH_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"

#include "loader.h"

/* Most directories of one source, and most names that a listing tells. */
#define WEIR_DRIVER_DIRS_MAX  64u
#define WEIR_DRIVER_NAMES_MAX 256u

/* The directories in the order in which they are searched. */
struct weir__driver_dirs {
  char **dir; /* absolute */
  uint32_t n;
};

/* A file that a name led to. */
struct weir__driver_found {
  char path[PATH_MAX]; /* of the .so, or of the manifest */
  bool is_manifest;
};

/* The names that the directories hold, sorted, each once. */
struct weir__driver_names {
  char name[WEIR_DRIVER_NAMES_MAX][WEIR_DRIVER_NAME_MAX];
  uint32_t n;
};

/* Collects the directories: those of opts, of the environment, beside the
 * library, compiled in.  Entries of the environment variable that are empty or
 * not absolute are skipped: there is no current directory for drivers.
 * Returns WEIR_OK, WEIR_E_ARG (a directory of opts is not absolute, too long,
 * or there are too many), WEIR_E_NOMEM.  Owns: *dirs until
 * weir__driver_dirs_fini(), also after a failure.  Blocks: no. */
int weir__driver_dirs_init(struct weir__driver_dirs *dirs,
                           const struct weir__loader_opts *opts,
                           struct weir_error *err);
void weir__driver_dirs_fini(struct weir__driver_dirs *dirs);

/* Finds the first directory with a manifest or a file for name.  Returns
 * WEIR_OK, or WEIR_E_FAIL with the directories that were searched.
 * Blocks: on the file system. */
int weir__driver_dirs_find(const struct weir__driver_dirs *dirs,
                           const char *name,
                           struct weir__driver_found *out_found,
                           struct weir_error *err);

/* Adds every name that the directories hold to *names, as long as there is
 * room.  Directories that cannot be read are skipped. */
void weir__driver_dirs_list(const struct weir__driver_dirs *dirs,
                            struct weir__driver_names *names);

/* Adds one name, sorted; nothing if it is there or there is no room. */
void weir__driver_names_add(struct weir__driver_names *names,
                            const char *name,
                            size_t len);

/* True if text is a name: 1 to 31 of a-z, 0-9 and _. */
bool weir__driver_name_ok(const char *text, size_t len);

#endif
