/* SPDX-License-Identifier: MIT */
/* loader_file.h - opens a file that code may be loaded from. */
#ifndef WEIR_LOADER_FILE_H
#define WEIR_LOADER_FILE_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

#include "weir.h"

/* A file that passed the checks, open for reading. */
struct weir__driver_file {
  int fd;
  dev_t device;
  ino_t inode;
  uint64_t size;
  char path[PATH_MAX]; /* canonical */
};

/* Opens the file at an absolute path after following symbolic links, once.
 * Refuses what is not a regular file, whatever belongs to neither root nor the
 * user this process runs as, and whatever its group or others may write; the
 * same for the directory the path names and the one the file is really in.
 * what: "driver" or "manifest", for the text.
 * Returns WEIR_OK or WEIR_E_FAIL.
 * Owns: *out_file until weir__driver_file_close().  Blocks: on the file system,
 * never on a FIFO or a terminal. */
int weir__driver_file_open(const char *path,
                           const char *what,
                           struct weir__driver_file *out_file,
                           struct weir_error *err);

void weir__driver_file_close(struct weir__driver_file *file);

/* Reads exactly n bytes at an offset.  Returns 0, or -1 if the file does not
 * have them. */
int weir__driver_file_read(const struct weir__driver_file *file,
                           uint64_t at,
                           void *p,
                           size_t n);

/* The SHA-256 of the file as 64 digits and a NUL.  Refuses a file of more than
 * 256 MiB.  Returns WEIR_OK or WEIR_E_FAIL. */
int weir__driver_file_digest(const struct weir__driver_file *file,
                             char out_hex[65],
                             struct weir_error *err);

/* The one shape of a refusal: what and which file, what was found, what was
 * wanted, what to do.  A long path is shown by its end.  Returns
 * WEIR_E_FAIL. */
int weir__driver_refuse(struct weir_error *err,
                        const char *what,
                        const char *path,
                        const char *found,
                        const char *wanted,
                        const char *advice);

#endif
