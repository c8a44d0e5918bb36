/* SPDX-License-Identifier: MIT */
/* fixture.h - a private directory of drivers and a host that counts.
 *
 * Drivers are copied out of the build tree into a directory made for the test,
 * so that the modes of the build tree do not matter and a test can spoil its
 * copy. */
#ifndef WEIR_TESTS_ABI_FIXTURE_H
#define WEIR_TESTS_ABI_FIXTURE_H

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "weir.h"
#include "weir_driver.h"

#include "loader.h"

struct fixture {
  char dir[128];
  struct weir_drv_host host;
  _Atomic uint32_t live; /* blocks the driver holds */
  _Atomic uint32_t logs; /* calls of log() */
  struct weir__loader *loader;
  struct weir_error err;
};

/* Makes the directory and, in fixture_open(), a loader that looks there first
 * and not at the environment. */
void fixture_init(struct fixture *f);
void fixture_open(struct fixture *f);

/* Frees the loader, removes the directory. */
void fixture_fini(struct fixture *f);

/* The path of an entry of the directory; static storage, overwritten. */
const char *fixture_path(const struct fixture *f, const char *entry);

/* Copies the broken driver called defect, or the file at that absolute path, to
 * the entry, mode 0755. */
void fixture_copy(const struct fixture *f,
                  const char *defect,
                  const char *entry);

/* Writes n bytes to the entry at an offset, making it if need be. */
void fixture_write(const struct fixture *f,
                   const char *entry,
                   long at,
                   const void *p,
                   size_t n);

/* Loads by name with f->loader and, after a failure, once more without an error
 * to fill, which must give the same code (scenario 158).  Returns the code. */
int fixture_load(struct fixture *f,
                 const char *name,
                 const struct weir__driver **out_driver);

/* True if f->err tells all of these; prints the message if not. */
int fixture_told(const struct fixture *f,
                 const char *found,
                 const char *wanted,
                 const char *advice);

#endif
