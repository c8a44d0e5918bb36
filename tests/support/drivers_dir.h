/* SPDX-License-Identifier: MIT */
/* drivers_dir.h - where this build's drivers are. */
#ifndef WEIR_TEST_DRIVERS_DIR_H
#define WEIR_TEST_DRIVERS_DIR_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Stores "<build>/lib/weir/drivers/<name>.so", or the folder alone if name is
 * NULL, and returns buf.  The build is named by WEIR_BUILD_DIR, which ctest
 * sets; a program started by hand without it says so and exits with 2.
 * Tests look before they start threads: NOLINTBEGIN(concurrency-mt-unsafe) */
static inline const char *driver_path(const char *name, char *buf, size_t cap) {
  const char *build = getenv("WEIR_BUILD_DIR");
  if (build == NULL) {
    (void)fprintf(stderr, "set WEIR_BUILD_DIR, or run this through ctest\n");
    exit(2);
  }
  int n = snprintf(buf, cap, "%s/lib/weir/drivers%s%s%s", build,
                   name == NULL ? "" : "/", name == NULL ? "" : name,
                   name == NULL ? "" : ".so");
  if (n < 0 || (size_t)n >= cap) {
    (void)fprintf(stderr, "WEIR_BUILD_DIR is too long\n");
    exit(2);
  }
  return buf;
}
/* NOLINTEND(concurrency-mt-unsafe) */

static inline const char *drivers_dir(char *buf, size_t cap) {
  return driver_path(NULL, buf, cap);
}

#endif
