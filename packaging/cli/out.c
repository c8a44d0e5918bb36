/* SPDX-License-Identifier: MIT */
#include "out.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void free_columns(struct out *out) {
  for (uint32_t i = 0; i < out->n_columns; i++) {
    free(out->columns[i].name);
  }
  free(out->columns);
  out->columns = NULL;
  out->n_columns = 0;
}

void out_init(struct out *out, const struct out_format *format, FILE *to) {
  *out = (struct out){.format = format, .to = to};
}

void out_fini(struct out *out) {
  out->format->fini(out);
  free_columns(out);
}

/* The library may be younger than this program and its columns larger: the
 * array is walked by the stride it tells. */
static const struct weir_column *column_at(const struct weir_column *columns,
                                           uint32_t stride,
                                           uint32_t i) {
  const void *p = (const char *)columns + (size_t)stride * i;
  return p;
}

static int copy_columns(struct out *out,
                        const struct weir_column *columns,
                        uint32_t n,
                        uint32_t stride) {
  out->columns = calloc(n == 0 ? 1 : n, sizeof *out->columns);
  if (out->columns == NULL) {
    return -ENOMEM;
  }
  for (uint32_t i = 0; i < n; i++) {
    const struct weir_column *from = column_at(columns, stride, i);
    struct out_column *to = &out->columns[i];
    size_t len = from->name == NULL ? 0 : (size_t)from->name_len;
    to->name = malloc(len + 1);
    if (to->name == NULL) {
      return -ENOMEM;
    }
    out->n_columns = i + 1;
    if (len > 0) {
      memcpy(to->name, from->name, len);
    }
    to->name[len] = '\0';
    to->name_len = len;
    to->type = from->type;
  }
  return 0;
}

int out_begin(struct out *out,
              const struct weir_column *columns,
              uint32_t n_columns,
              uint32_t stride) {
  free_columns(out);
  int rc = copy_columns(out, columns, n_columns, stride);
  if (rc < 0) {
    return rc;
  }
  out->n_rows = 0;
  out->n_sets++;
  return out->format->begin(out);
}

static int flush(const struct out *out) {
  if (fflush(out->to) == 0) {
    return 0;
  }
  return errno == 0 ? -EIO : -errno;
}

int out_rows(struct out *out, const struct weir_cell *cells, uint64_t n_rows) {
  for (uint64_t i = 0; i < n_rows; i++) {
    int rc = out->format->row(out, cells + i * out->n_columns);
    if (rc < 0) {
      return rc;
    }
    out->n_rows++;
  }
  return flush(out);
}

int out_end(struct out *out, bool whole) {
  int rc = out->format->end(out, whole);
  return rc == 0 ? flush(out) : rc;
}

int out_check(const struct out *out) {
  if (ferror(out->to) == 0) {
    return 0;
  }
  return errno == 0 ? -EIO : -errno;
}
