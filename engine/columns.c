/* SPDX-License-Identifier: MIT */
#include "columns.h"

#include <string.h>

#include "sys/mem.h"

/* A text longer than this in a column's name is cut: SQL Server's longest is
 * 128 characters. */
#define TEXT_MAX 4096u

static uint64_t text_len(const struct weir_drv_text *text) {
  uint64_t n = text->p == NULL ? 0 : text->n;
  return n > TEXT_MAX ? TEXT_MAX : n;
}

/* A driver built with a shorter struct leaves the rest zero [G4]. */
static struct weir_drv_column at(const struct weir_drv_column *from,
                                 uint32_t i,
                                 uint32_t stride) {
  struct weir_drv_column column = {0};
  const struct weir_drv_column *p =
      (const void *)((const char *)from + (size_t)i * stride);
  size_t n = p->struct_size < sizeof column ? p->struct_size : sizeof column;
  memcpy(&column, p, n);
  return column;
}

static const char *put_text(char **where,
                            const struct weir_drv_text *text,
                            uint64_t *out_len) {
  char *start = *where;
  *out_len = text_len(text);
  if (*out_len != 0) {
    memcpy(start, text->p, *out_len);
  }
  *where += *out_len + 1; /* the block is zeroed: the NUL is there */
  return start;
}

struct weir_column *weir__columns_copy(const struct weir_drv_column *from,
                                       uint32_t n,
                                       uint32_t stride) {
  size_t bytes = 1;
  for (uint32_t i = 0; i < n; i++) {
    struct weir_drv_column c = at(from, i, stride);
    bytes += text_len(&c.name) + text_len(&c.native_type) + 2;
  }
  struct weir_column *columns = weir__mem_new(n * sizeof *columns + bytes);
  if (columns == NULL) {
    return NULL;
  }
  char *text = (char *)(columns + n);
  for (uint32_t i = 0; i < n; i++) {
    struct weir_drv_column c = at(from, i, stride);
    struct weir_column *to = &columns[i];
    to->struct_size = sizeof *to;
    to->type = c.type;
    to->name = put_text(&text, &c.name, &to->name_len);
    to->native_type = put_text(&text, &c.native_type, &to->native_type_len);
    to->native_code = c.native_code;
    to->nullable = c.nullable;
    to->precision = c.precision;
    to->scale = c.scale;
    to->max_bytes = c.max_bytes;
  }
  return columns;
}
