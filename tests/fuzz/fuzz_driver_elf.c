/* SPDX-License-Identifier: MIT */
/* Any bytes as a driver's file: its headers and notes are read without a read
 * beyond it, and nothing of it runs. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "loader_elf.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct weir_error err = {.struct_size = sizeof err};
  struct weir__driver_file file = {.size = size, .path = "/d/x.so"};
  file.fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (file.fd < 0 || write(file.fd, data, size) != (ssize_t)size) {
    abort();
  }
  if (weir__driver_elf_check(&file, &err) != WEIR_OK &&
      strstr(err.message, "found ") == NULL) {
    abort();
  }
  weir__driver_file_close(&file);
  return 0;
}
