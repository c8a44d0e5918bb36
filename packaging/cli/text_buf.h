/* SPDX-License-Identifier: MIT */
/* text_buf.h - text that grows. */
#ifndef WEIRCTL_TEXT_BUF_H
#define WEIRCTL_TEXT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty text.  When memory runs out the text stays as it was,
 * failed is set and every later addition is dropped, so that a caller may add
 * many pieces and look once. */
struct text_buf {
  char *p; /* NULL until something was added; not NUL-terminated */
  size_t len;
  size_t cap;
  bool failed;
};

/* Adds n bytes, or a NUL-terminated text. */
void text_buf_add(struct text_buf *buf, const void *p, size_t n);
void text_buf_add_str(struct text_buf *buf, const char *s);

/* Adds a character as UTF-8. */
void text_buf_add_char(struct text_buf *buf, uint32_t c);

/* Adds n times the byte c. */
void text_buf_add_fill(struct text_buf *buf, char c, size_t n);

/* Adds bytes as lower-case hexadecimal digits. */
void text_buf_add_hex(struct text_buf *buf, const void *p, size_t n);

/* Adds what printf would print, at most 255 bytes of it. */
void text_buf_addf(struct text_buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Empties the text and keeps its memory. */
void text_buf_clear(struct text_buf *buf);

/* Frees the memory; the text is empty again.  Takes NULL.  The second form
 * overwrites the memory first: for secrets.  (A secret text must not grow by
 * more than one addition, since growing leaves copies.) */
void text_buf_free(struct text_buf *buf);
void text_buf_wipe(struct text_buf *buf);

#endif
