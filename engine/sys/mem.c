/* SPDX-License-Identifier: MIT */
#include "sys/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sys/seams.h"

void *weir__mem_new(size_t n) {
#if WEIR_SEAMS
  return weir__seams.alloc(n);
#else
  return calloc(1, n);
#endif
}

void *weir__mem_array(size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / size) {
    return NULL;
  }
  return weir__mem_new(count * size == 0 ? 1 : count * size);
}

void *weir__mem_resize(void *p, size_t n) {
#if WEIR_SEAMS
  return weir__seams.resize(p, n);
#else
  return realloc(p, n);
#endif
}

char *weir__mem_text(const char *p, size_t n) {
  char *copy = n == SIZE_MAX ? NULL : weir__mem_new(n + 1);
  if (copy != NULL && n != 0) {
    memcpy(copy, p, n);
  }
  return copy;
}

void weir__mem_free(void *p) {
  free(p);
}

void weir__mem_wipe(void *p, size_t n) {
  if (p != NULL && n != 0) {
    explicit_bzero(p, n);
  }
}
