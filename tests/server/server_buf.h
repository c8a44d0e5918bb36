/* SPDX-License-Identifier: MIT */
/* A growable run of bytes with a reading end: what the codec writes into and
 * what sockets are filled from.  Running out of memory is remembered in the
 * buffer, so that a writer of twenty fields is checked once. */
#ifndef TDSD_SERVER_BUF_H
#define TDSD_SERVER_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct tdsd_buf {
  uint8_t *data;
  size_t start; /* first byte not consumed */
  size_t end;   /* one past the last byte */
  size_t room;  /* allocated bytes */
  bool failed;  /* an append found no memory; contents are incomplete */
};

/* Empties the buffer and gives its memory back.  A zeroed buffer is valid. */
void tdsd_buf_fini(struct tdsd_buf *buf);

/* As tdsd_buf_fini, after wiping what the memory held. */
void tdsd_buf_wipe(struct tdsd_buf *buf);

/* Bytes waiting to be consumed, and where they begin. */
size_t tdsd_buf_len(const struct tdsd_buf *buf);
uint8_t *tdsd_buf_at(const struct tdsd_buf *buf);

/* Makes room for n more bytes.
 * Returns where to write them, NULL (and marks the buffer) without memory.
 * tdsd_buf_commit() says how many were written. */
uint8_t *tdsd_buf_reserve(struct tdsd_buf *buf, size_t n);
void tdsd_buf_commit(struct tdsd_buf *buf, size_t n);

/* Drops n bytes from the front; n is at most tdsd_buf_len(). */
void tdsd_buf_consume(struct tdsd_buf *buf, size_t n);

/* Drops everything and keeps the memory. */
void tdsd_buf_clear(struct tdsd_buf *buf);

/* Appends; integers are little-endian unless the name says be. */
void tdsd_buf_bytes(struct tdsd_buf *buf, const void *bytes, size_t n);
void tdsd_buf_u8(struct tdsd_buf *buf, uint32_t value);
void tdsd_buf_u16(struct tdsd_buf *buf, uint32_t value);
void tdsd_buf_u32(struct tdsd_buf *buf, uint32_t value);
void tdsd_buf_u64(struct tdsd_buf *buf, uint64_t value);
void tdsd_buf_u16be(struct tdsd_buf *buf, uint32_t value);
void tdsd_buf_u32be(struct tdsd_buf *buf, uint32_t value);

/* Appends UTF-8 text as UTF-16LE.  Returns the number of 16-bit units. */
size_t tdsd_buf_w16(struct tdsd_buf *buf, const char *text, size_t len);

/* Appends a B_VARCHAR (count of units in one byte) or a US_VARCHAR (in two);
 * text that does not fit is cut at a whole unit. */
void tdsd_buf_b_varchar(struct tdsd_buf *buf, const char *text);
void tdsd_buf_us_varchar(struct tdsd_buf *buf, const char *text);

/* Overwrites two or four bytes at an offset from the reading end. */
void tdsd_buf_put_u16(struct tdsd_buf *buf, size_t at, uint32_t value);
void tdsd_buf_put_u32(struct tdsd_buf *buf, size_t at, uint32_t value);

/* Reads little-endian (or big-endian) integers from bytes. */
uint16_t tdsd_get_u16(const uint8_t *at);
uint32_t tdsd_get_u32(const uint8_t *at);
uint64_t tdsd_get_u64(const uint8_t *at);
uint16_t tdsd_get_u16be(const uint8_t *at);

#endif
