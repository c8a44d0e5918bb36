/* SPDX-License-Identifier: MIT */
/* utf8.h - reading UTF-8 that may be wrong. */
#ifndef WEIRCTL_UTF8_H
#define WEIRCTL_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* What stands for bytes that are not UTF-8. */
#define UTF8_REPLACEMENT UINT32_C(0xFFFD)

/* Reads the character at s, which has len bytes, len > 0.  Returns the number
 * of bytes it takes, at least 1.  *out_char gets the character, or
 * UTF8_REPLACEMENT for one byte that starts none: overlong forms, surrogates
 * and values over U+10FFFF are none. */
size_t utf8_next(const char *s, size_t len, uint32_t *out_char);

/* The offset of the first byte that is not UTF-8, or len if there is none. */
size_t utf8_find_bad(const char *s, size_t len);

#endif
