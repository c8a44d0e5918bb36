/* SPDX-License-Identifier: MIT */
#include "utf8.h"

#include <stdbool.h>

/* The length that a first byte promises, 0 if it cannot be one. */
static size_t promised(unsigned char lead) {
  if (lead < 0x80) {
    return 1;
  }
  if (lead >= 0xC2 && lead <= 0xDF) {
    return 2;
  }
  if (lead >= 0xE0 && lead <= 0xEF) {
    return 3;
  }
  return lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
}

/* Overlong forms of two bytes are ruled out by their first byte already. */
static bool allowed(uint32_t c, size_t n) {
  if (n == 3) {
    return c >= 0x800 && (c < 0xD800 || c > 0xDFFF);
  }
  return n != 4 || (c >= 0x10000 && c <= 0x10FFFF);
}

/* Like utf8_next(), but returns 0 where there is no character. */
static size_t decode(const char *s, size_t len, uint32_t *out_char) {
  unsigned char lead = (unsigned char)s[0];
  size_t n = promised(lead);
  if (n == 0 || n > len) {
    return 0;
  }
  uint32_t c = n == 1 ? lead : lead & (0x7FU >> n);
  for (size_t i = 1; i < n; i++) {
    unsigned char next = (unsigned char)s[i];
    if ((next & 0xC0) != 0x80) {
      return 0;
    }
    c = c << 6 | (next & 0x3FU);
  }
  if (!allowed(c, n)) {
    return 0;
  }
  *out_char = c;
  return n;
}

size_t utf8_next(const char *s, size_t len, uint32_t *out_char) {
  size_t n = decode(s, len, out_char);
  if (n == 0) {
    *out_char = UTF8_REPLACEMENT;
    return 1;
  }
  return n;
}

size_t utf8_find_bad(const char *s, size_t len) {
  size_t at = 0;
  while (at < len) {
    uint32_t c;
    size_t n = decode(s + at, len - at, &c);
    if (n == 0) {
      return at;
    }
    at += n;
  }
  return len;
}
