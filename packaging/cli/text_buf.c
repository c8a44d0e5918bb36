/* SPDX-License-Identifier: MIT */
#include "text_buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes room for n more bytes.  Returns false if there is none. */
static bool grow(struct text_buf *buf, size_t n) {
  if (buf->failed || n > SIZE_MAX / 4 - buf->len) {
    buf->failed = true;
    return false;
  }
  size_t need = buf->len + n;
  if (need <= buf->cap) {
    return true;
  }
  size_t cap = need < 64 ? 64 : need + need / 2;
  char *p = realloc(buf->p, cap);
  if (p == NULL) {
    buf->failed = true;
    return false;
  }
  buf->p = p;
  buf->cap = cap;
  return true;
}

void text_buf_add(struct text_buf *buf, const void *p, size_t n) {
  if (n > 0 && grow(buf, n)) {
    memcpy(buf->p + buf->len, p, n);
    buf->len += n;
  }
}

void text_buf_add_str(struct text_buf *buf, const char *s) {
  text_buf_add(buf, s, strlen(s));
}

void text_buf_add_char(struct text_buf *buf, uint32_t c) {
  char out[4];
  size_t n;
  if (c < 0x80) {
    out[0] = (char)c;
    n = 1;
  } else if (c < 0x800) {
    out[0] = (char)(0xC0 | c >> 6);
    n = 2;
  } else if (c < 0x10000) {
    out[0] = (char)(0xE0 | c >> 12);
    n = 3;
  } else {
    out[0] = (char)(0xF0 | c >> 18);
    n = 4;
  }
  for (size_t i = 1; i < n; i++) {
    out[i] = (char)(0x80 | (c >> (6 * (n - 1 - i)) & 0x3F));
  }
  text_buf_add(buf, out, n);
}

void text_buf_add_fill(struct text_buf *buf, char c, size_t n) {
  if (n > 0 && grow(buf, n)) {
    memset(buf->p + buf->len, c, n);
    buf->len += n;
  }
}

void text_buf_add_hex(struct text_buf *buf, const void *p, size_t n) {
  static const char digits[] = "0123456789abcdef";
  const unsigned char *bytes = p;
  if (n == 0 || n > SIZE_MAX / 8 || !grow(buf, 2 * n)) {
    return;
  }
  for (size_t i = 0; i < n; i++) {
    buf->p[buf->len++] = digits[bytes[i] >> 4];
    buf->p[buf->len++] = digits[bytes[i] & 15];
  }
}

void text_buf_addf(struct text_buf *buf, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  int n = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (n > 0) {
    size_t len = (size_t)n;
    text_buf_add(buf, text, len < sizeof text ? len : sizeof text - 1);
  }
}

void text_buf_clear(struct text_buf *buf) {
  buf->len = 0;
  buf->failed = false;
}

void text_buf_free(struct text_buf *buf) {
  if (buf != NULL) {
    free(buf->p);
    *buf = (struct text_buf){0};
  }
}

void text_buf_wipe(struct text_buf *buf) {
  if (buf != NULL && buf->p != NULL) {
    explicit_bzero(buf->p, buf->cap);
  }
  text_buf_free(buf);
}
