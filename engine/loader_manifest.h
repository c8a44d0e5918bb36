/* SPDX-License-Identifier: MIT */
/* loader_manifest.h - reads NAME.weirdriver.
 *
 * Lines of "key: value"; blank lines and lines that begin with # are skipped.
 * Keys: format (1), name, file (relative to the manifest), abi (the major) and,
 * if wished, sha256 (64 hexadecimal digits).  Other keys are for people and
 * other programs and are skipped.  At most 4096 bytes. */
#ifndef WEIR_LOADER_MANIFEST_H
#define WEIR_LOADER_MANIFEST_H

#include <limits.h>
#include <stddef.h>

#include "weir.h"

#include "loader.h"

#define WEIR_MANIFEST_BYTES_MAX 4096u

struct weir__manifest {
  char name[WEIR_DRIVER_NAME_MAX];
  char file[256];
  char sha256[65]; /* "" if not given; else lower case */
};

/* Reads the n bytes of a manifest.  path: for the text.  Returns WEIR_OK or
 * WEIR_E_FAIL, naming the line. */
int weir__manifest_parse(const char *text,
                         size_t n,
                         const char *path,
                         struct weir__manifest *out_manifest,
                         struct weir_error *err);

/* Opens, checks and reads the manifest at an absolute path.  Returns as
 * weir__manifest_parse().  Blocks: on the file system. */
int weir__manifest_read(const char *path,
                        struct weir__manifest *out_manifest,
                        struct weir_error *err);

#endif
