/* SPDX-License-Identifier: MIT */
/* tds_buf.h - memory through the host's two functions, and a byte buffer. */
#ifndef TDS_BUF_H
#define TDS_BUF_H

#include "tds_wire.h"

/* The allocator of the host table, or of a test.  alloc gives zeroed memory or
 * NULL. */
struct tds_mem {
  void *ctx;
  void *(*alloc)(void *ctx, uint64_t size, uint32_t flags);
  void (*release)(void *ctx, void *p);
};

/* n bytes in use of cap.  All zero is an empty buffer once mem is set. */
struct tds_buf {
  const struct tds_mem *mem;
  uint8_t *p;
  size_t n;
  size_t cap;
  uint32_t flags; /* for alloc, e.g. WEIR_DRV_V_SECRET */
};

/* Makes room for at least extra bytes behind the n in use.
 * Returns TDS_OK or TDS_E_NOMEM (the buffer is unchanged). */
int tds_buf_room(struct tds_buf *b, size_t extra);

/* Appends n bytes.  Returns as tds_buf_room. */
int tds_buf_add(struct tds_buf *b, const void *p, size_t n);

/* Drops the first n bytes in use. */
void tds_buf_drop(struct tds_buf *b, size_t n);

/* Gives the memory back; b is empty and may be used again. */
void tds_buf_fini(struct tds_buf *b);

#endif
