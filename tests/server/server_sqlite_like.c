/* SPDX-License-Identifier: MIT */
/* LIKE with its sets and ranges. */
#include <string.h>

#include "server_sqlite_fn.h"
#include "server_text.h"

/* A letter without its case: ASCII, Latin-1, Greek and Cyrillic. */
uint32_t lite_fold(uint32_t c) {
  if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7) ||
      (c >= 0x391 && c <= 0x3A9) || (c >= 0x410 && c <= 0x42F)) {
    return c + 32;
  }
  if (c >= 0x400 && c <= 0x40F) {
    return c + 80;
  }
  if (c >= 0x100 && c <= 0x137) {
    return c | 1;
  }
  return c;
}

struct pattern {
  const char *text;
  size_t len;
  uint32_t escape; /* 0 = none */
};

/* Whether c is in the set behind [; *at moves behind its ]. */
static bool in_set(const struct pattern *pattern, size_t *at, uint32_t c) {
  bool inverse = *at < pattern->len && pattern->text[*at] == '^';
  bool found = false;
  *at += inverse ? 1 : 0;
  while (*at < pattern->len && pattern->text[*at] != ']') {
    uint32_t low = lite_fold(tdsd_text_next(pattern->text, pattern->len, at));
    uint32_t high = low;
    if (*at + 1 < pattern->len && pattern->text[*at] == '-' &&
        pattern->text[*at + 1] != ']') {
      ++*at;
      high = lite_fold(tdsd_text_next(pattern->text, pattern->len, at));
    }
    found = found || (c >= low && c <= high);
  }
  *at += *at < pattern->len ? 1 : 0;
  return found != inverse;
}

/* One unit of the pattern against one letter; *at moves behind the unit. */
static bool one_unit(const struct pattern *pattern, size_t *at, uint32_t c) {
  uint32_t unit = tdsd_text_next(pattern->text, pattern->len, at);
  if (pattern->escape != 0 && unit == pattern->escape && *at < pattern->len) {
    return lite_fold(tdsd_text_next(pattern->text, pattern->len, at)) ==
           lite_fold(c);
  }
  if (unit == '_') {
    return true;
  }
  if (unit == '[') {
    return in_set(pattern, at, lite_fold(c));
  }
  return lite_fold(unit) == lite_fold(c);
}

/* The usual walk with one place to come back to: the last %. */
static bool matches(const struct pattern *pattern,
                    const char *text,
                    size_t len) {
  size_t p = 0;
  size_t t = 0;
  size_t back_p = SIZE_MAX;
  size_t back_t = 0;
  while (t < len || p < pattern->len) {
    bool percent =
        p < pattern->len && pattern->text[p] == '%' && pattern->escape != '%';
    if (percent) {
      back_p = ++p;
      back_t = t;
      continue;
    }
    if (t < len && p < pattern->len) {
      size_t next_p = p;
      size_t next_t = t;
      uint32_t c = tdsd_text_next(text, len, &next_t);
      if (one_unit(pattern, &next_p, c)) {
        p = next_p;
        t = next_t;
        continue;
      }
    }
    if (back_p == SIZE_MAX || back_t >= len) {
      return false;
    }
    (void)tdsd_text_next(text, len, &back_t);
    p = back_p;
    t = back_t;
  }
  return true;
}

void lite_fn_like(sqlite3_context *context, int n, sqlite3_value **args) {
  (void)n;
  for (int i = 0; i < 3; i++) {
    if (sqlite3_value_type(args[i]) == SQLITE_NULL) {
      sqlite3_result_null(context);
      return;
    }
  }
  const char *text = (const char *)sqlite3_value_text(args[0]);
  size_t len = (size_t)sqlite3_value_bytes(args[0]);
  struct pattern pattern = {(const char *)sqlite3_value_text(args[1]),
                            (size_t)sqlite3_value_bytes(args[1]), 0};
  const char *escape = (const char *)sqlite3_value_text(args[2]);
  size_t at = 0;
  if (text == NULL || pattern.text == NULL || escape == NULL) {
    sqlite3_result_error_nomem(context);
    return;
  }
  if (escape[0] != 0) {
    pattern.escape = tdsd_text_next(escape, strlen(escape), &at);
  }
  sqlite3_result_int(context, matches(&pattern, text, len));
}
