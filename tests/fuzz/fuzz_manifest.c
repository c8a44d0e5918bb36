/* SPDX-License-Identifier: MIT */
/* Any bytes as NAME.weirdriver: accepted or refused, and what is accepted keeps
 * its promises. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "loader_manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct weir__manifest m;
  struct weir_error err = {.struct_size = sizeof err};
  const int rc = weir__manifest_parse((const char *)data, size, "/m", &m, &err);
  const size_t digits = rc == WEIR_OK ? strlen(m.sha256) : 0;
  if (rc == WEIR_OK && (m.name[0] == '\0' || m.file[0] == '\0' ||
                        m.file[0] == '/' || (digits != 0 && digits != 64))) {
    abort();
  }
  if (rc != WEIR_OK && err.message[0] == '\0') {
    abort();
  }
  return 0;
}
