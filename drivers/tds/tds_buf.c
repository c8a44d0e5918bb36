/* SPDX-License-Identifier: MIT */
/* tds_buf.c - grows by doubling, so that a message costs few allocations. */
#include "tds_buf.h"

#include <string.h>

int tds_buf_room(struct tds_buf *b, size_t extra) {
  if (b->cap - b->n >= extra) {
    return TDS_OK;
  }
  if (extra > SIZE_MAX / 4 || b->n > SIZE_MAX / 4) {
    return TDS_E_NOMEM;
  }
  size_t cap = b->cap < 64 ? 64 : b->cap * 2;
  if (cap < b->n + extra) {
    cap = b->n + extra;
  }
  uint8_t *p = b->mem->alloc(b->mem->ctx, cap, b->flags);
  if (p == NULL) {
    return TDS_E_NOMEM;
  }
  if (b->p != NULL) {
    memcpy(p, b->p, b->n);
    b->mem->release(b->mem->ctx, b->p);
  }
  b->p = p;
  b->cap = cap;
  return TDS_OK;
}

int tds_buf_add(struct tds_buf *b, const void *p, size_t n) {
  int rc = tds_buf_room(b, n);
  if (rc == TDS_OK && n > 0) {
    memcpy(b->p + b->n, p, n);
    b->n += n;
  }
  return rc;
}

void tds_buf_drop(struct tds_buf *b, size_t n) {
  if (n >= b->n) {
    b->n = 0;
    return;
  }
  memmove(b->p, b->p + n, b->n - n);
  b->n -= n;
}

void tds_buf_fini(struct tds_buf *b) {
  if (b->p != NULL) {
    b->mem->release(b->mem->ctx, b->p);
  }
  b->p = NULL;
  b->n = 0;
  b->cap = 0;
}
