/* SPDX-License-Identifier: MIT */
/* hex.h - bytes as hexadecimal text, for tables in tests. */
#ifndef WEIR_TEST_HEX_H
#define WEIR_TEST_HEX_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* 0 to 15, or -1 for what is no hexadecimal digit. */
static inline int hex_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  if (c >= 'a' && c <= 'f') {
    return c - 'a' + 10;
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Turns "04 01 00 2b" into bytes and returns how many.  Blanks and line ends
 * are skipped.  A wrong digit, half a byte or too little room is a mistake in
 * the test: it prints a sentence and aborts. */
static inline size_t hex_decode(const char *text, uint8_t *out, size_t cap) {
  size_t n = 0;
  for (const char *p = text; *p != '\0'; p++) {
    if (*p == ' ' || *p == '\n' || *p == '\t') {
      continue;
    }
    int high = hex_digit(p[0]);
    int low = high < 0 ? -1 : hex_digit(p[1]);
    if (low < 0 || n == cap) {
      (void)fprintf(stderr, "hex_decode: bad text at byte %zu of: %s\n",
                    (size_t)(p - text), text);
      abort();
    }
    out[n] = (uint8_t)(high * 16 + low);
    n++;
    p++;
  }
  return n;
}

/* Writes n bytes as lower-case digits with a NUL behind them; out holds
 * 2 * n + 1.  Returns out. */
static inline char *hex_encode(const uint8_t *p, size_t n, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < n; i++) {
    out[2 * i] = digits[p[i] >> 4];
    out[2 * i + 1] = digits[p[i] & 15];
  }
  out[2 * n] = '\0';
  return out;
}

#endif
