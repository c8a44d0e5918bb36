/* SPDX-License-Identifier: MIT */
#include "key_escape.h"

#include <stdbool.h>
#include <string.h>

#include "status.h"

static bool is_digit(unsigned char c) {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') ||
         (c >= 'a' && c <= 'f');
}

static bool looks_escaped(const unsigned char *p, size_t n) {
  return n >= 4 && p[0] == '\\' && p[1] == 'x' && is_digit(p[2]) &&
         is_digit(p[3]);
}

/* U+0080 to U+009F are C2 80 to C2 9F. */
static bool is_control(const unsigned char *p, size_t len) {
  return len == 1 ? p[0] < 0x20 || p[0] == 0x7F
                  : len == 2 && p[0] == 0xC2 && p[1] < 0xA0;
}

static size_t put_byte(unsigned char byte, char *to) {
  static const char digits[] = "0123456789ABCDEF";
  to[0] = '\\';
  to[1] = 'x';
  to[2] = digits[byte >> 4];
  to[3] = digits[byte & 15];
  return 4;
}

size_t weir__key_escape(const void *p, size_t n, char *to) {
  const unsigned char *from = p;
  size_t at = 0;
  size_t out = 0;
  while (at < n) {
    const size_t len = weir__text_sequence(from + at, n - at);
    if (len == 0 || is_control(from + at, len) ||
        looks_escaped(from + at, n - at)) {
      out += put_byte(from[at], to + out);
      at++;
      continue;
    }
    memcpy(to + out, from + at, len);
    at += len;
    out += len;
  }
  return out;
}
