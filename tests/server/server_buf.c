/* SPDX-License-Identifier: MIT */
#include "server_buf.h"

#include <stdlib.h>
#include <string.h>

#include <openssl/crypto.h>

#include "server_text.h"

void tdsd_buf_fini(struct tdsd_buf *buf) {
  free(buf->data);
  *buf = (struct tdsd_buf){0};
}

void tdsd_buf_wipe(struct tdsd_buf *buf) {
  if (buf->data != NULL) {
    OPENSSL_cleanse(buf->data, buf->room);
  }
  tdsd_buf_fini(buf);
}

size_t tdsd_buf_len(const struct tdsd_buf *buf) {
  return buf->end - buf->start;
}

uint8_t *tdsd_buf_at(const struct tdsd_buf *buf) {
  return buf->data == NULL ? NULL : buf->data + buf->start;
}

/* Input buffers hold LOGIN7 records with passwords, so memory that is given up
 * by growing is wiped rather than left to realloc. */
static bool grow(struct tdsd_buf *buf, size_t need) {
  size_t room = buf->room < 256 ? 256 : buf->room;
  while (room < need) {
    room *= 2;
  }
  uint8_t *data = malloc(room);
  if (data == NULL) {
    return false;
  }
  size_t len = tdsd_buf_len(buf);
  if (buf->data != NULL) {
    memcpy(data, buf->data + buf->start, len);
    OPENSSL_cleanse(buf->data, buf->end);
    free(buf->data);
  }
  buf->data = data;
  buf->start = 0;
  buf->end = len;
  buf->room = room;
  return true;
}

uint8_t *tdsd_buf_reserve(struct tdsd_buf *buf, size_t n) {
  if (buf->room - buf->end >= n && buf->data != NULL) {
    return buf->data + buf->end;
  }
  size_t len = tdsd_buf_len(buf);
  if (n > SIZE_MAX / 4 || len > SIZE_MAX / 4) {
    buf->failed = true;
    return NULL;
  }
  /* Moving to the front is only worth it when it frees at least half. */
  if (buf->data != NULL && len + n <= buf->room && buf->start >= len) {
    memcpy(buf->data, buf->data + buf->start, len);
    buf->start = 0;
    buf->end = len;
    return buf->data + buf->end;
  }
  if (!grow(buf, len + n)) {
    buf->failed = true;
    return NULL;
  }
  return buf->data + buf->end;
}

void tdsd_buf_commit(struct tdsd_buf *buf, size_t n) {
  buf->end += n;
}

void tdsd_buf_consume(struct tdsd_buf *buf, size_t n) {
  buf->start += n;
  if (buf->start == buf->end) {
    buf->start = 0;
    buf->end = 0;
  }
}

void tdsd_buf_clear(struct tdsd_buf *buf) {
  buf->start = 0;
  buf->end = 0;
}

void tdsd_buf_bytes(struct tdsd_buf *buf, const void *bytes, size_t n) {
  if (n == 0) {
    return;
  }
  uint8_t *to = tdsd_buf_reserve(buf, n);
  if (to != NULL) {
    memcpy(to, bytes, n);
    tdsd_buf_commit(buf, n);
  }
}

static void append_le(struct tdsd_buf *buf, uint64_t value, size_t n) {
  uint8_t *to = tdsd_buf_reserve(buf, n);
  if (to == NULL) {
    return;
  }
  for (size_t i = 0; i < n; i++) {
    to[i] = (uint8_t)(value >> (8 * i));
  }
  tdsd_buf_commit(buf, n);
}

void tdsd_buf_u8(struct tdsd_buf *buf, uint32_t value) {
  append_le(buf, value, 1);
}

void tdsd_buf_u16(struct tdsd_buf *buf, uint32_t value) {
  append_le(buf, value, 2);
}

void tdsd_buf_u32(struct tdsd_buf *buf, uint32_t value) {
  append_le(buf, value, 4);
}

void tdsd_buf_u64(struct tdsd_buf *buf, uint64_t value) {
  append_le(buf, value, 8);
}

void tdsd_buf_u16be(struct tdsd_buf *buf, uint32_t value) {
  append_le(buf, ((value & 0xFFu) << 8) | ((value >> 8) & 0xFFu), 2);
}

void tdsd_buf_u32be(struct tdsd_buf *buf, uint32_t value) {
  tdsd_buf_u16be(buf, value >> 16);
  tdsd_buf_u16be(buf, value & 0xFFFFu);
}

size_t tdsd_buf_w16(struct tdsd_buf *buf, const char *text, size_t len) {
  uint8_t *to = tdsd_buf_reserve(buf, 2 * len + 2);
  if (to == NULL) {
    return 0;
  }
  size_t bytes = tdsd_text_to_w16(text, len, to);
  tdsd_buf_commit(buf, bytes);
  return bytes / 2;
}

/* Writes the count after the text, because it is known only then. */
static void counted(struct tdsd_buf *buf,
                    const char *text,
                    size_t count_bytes,
                    size_t most_units) {
  size_t at = tdsd_buf_len(buf);
  append_le(buf, 0, count_bytes);
  size_t units = tdsd_buf_w16(buf, text, strlen(text));
  if (buf->failed) {
    return;
  }
  if (units > most_units) {
    buf->end -= 2 * (units - most_units);
    units = most_units;
  }
  uint8_t *count = tdsd_buf_at(buf) + at;
  count[0] = (uint8_t)units;
  if (count_bytes == 2) {
    count[1] = (uint8_t)(units >> 8);
  }
}

void tdsd_buf_b_varchar(struct tdsd_buf *buf, const char *text) {
  counted(buf, text, 1, 255);
}

void tdsd_buf_us_varchar(struct tdsd_buf *buf, const char *text) {
  counted(buf, text, 2, 8000);
}

void tdsd_buf_put_u16(struct tdsd_buf *buf, size_t at, uint32_t value) {
  if (buf->failed || at + 2 > tdsd_buf_len(buf)) {
    return;
  }
  uint8_t *to = tdsd_buf_at(buf) + at;
  to[0] = (uint8_t)value;
  to[1] = (uint8_t)(value >> 8);
}

void tdsd_buf_put_u32(struct tdsd_buf *buf, size_t at, uint32_t value) {
  tdsd_buf_put_u16(buf, at, value & 0xFFFFu);
  tdsd_buf_put_u16(buf, at + 2, value >> 16);
}

uint16_t tdsd_get_u16(const uint8_t *at) {
  return (uint16_t)(at[0] | (unsigned)at[1] << 8);
}

uint32_t tdsd_get_u32(const uint8_t *at) {
  return tdsd_get_u16(at) | (uint32_t)tdsd_get_u16(at + 2) << 16;
}

uint64_t tdsd_get_u64(const uint8_t *at) {
  return tdsd_get_u32(at) | (uint64_t)tdsd_get_u32(at + 4) << 32;
}

uint16_t tdsd_get_u16be(const uint8_t *at) {
  return (uint16_t)((unsigned)at[0] << 8 | at[1]);
}
