/* SPDX-License-Identifier: MIT */
/* Words, numbers and durations, as scripts, statements and options write
 * them. */
#include <string.h>

#include "mock_script.h"

static char lower(char c) {
  if (c >= 'A' && c <= 'Z') {
    return (char)(c - 'A' + 'a');
  }
  return c;
}

bool mock_word_is(const char *p, uint64_t n, const char *word) {
  if (n != strlen(word)) {
    return false;
  }
  for (uint64_t i = 0; i < n; i++) {
    if (lower(p[i]) != word[i]) {
      return false;
    }
  }
  return true;
}

bool mock_number_parse(const char *p, uint64_t n, uint64_t max, uint64_t *out) {
  uint64_t value = 0;
  if (n == 0) {
    return false;
  }
  for (uint64_t i = 0; i < n; i++) {
    if (p[i] < '0' || p[i] > '9') {
      return false;
    }
    uint64_t digit = (uint64_t)(p[i] - '0');
    if (digit > max || value > (max - digit) / 10) {
      return false;
    }
    value = value * 10 + digit;
  }
  *out = value;
  return true;
}

static uint64_t unit_of(const char *p, uint64_t n) {
  static const struct {
    const char *name;
    uint64_t ns;
  } units[] = {{"", UINT64_C(1000000000)},
               {"ns", 1},
               {"us", 1000},
               {"ms", 1000000},
               {"s", UINT64_C(1000000000)},
               {"min", UINT64_C(60000000000)},
               {"h", UINT64_C(3600000000000)}};
  for (uint32_t i = 0; i < sizeof units / sizeof units[0]; i++) {
    if (mock_word_is(p, n, units[i].name)) {
      return units[i].ns;
    }
  }
  return 0;
}

/* Length of the digits at p. */
static uint64_t digits(const char *p, uint64_t n) {
  uint64_t i = 0;
  while (i < n && p[i] >= '0' && p[i] <= '9') {
    i++;
  }
  return i;
}

bool mock_duration_parse(const char *p, uint64_t n, uint64_t *out_ns) {
  uint64_t whole = digits(p, n);
  uint64_t part = 0;
  if (whole < n && p[whole] == '.') {
    part = digits(p + whole + 1, n - whole - 1);
    if (part == 0) {
      return false;
    }
  }
  uint64_t used = whole + (part == 0 ? 0 : part + 1);
  while (used < n && p[used] == ' ') {
    used++;
  }
  uint64_t unit = unit_of(p + used, n - used);
  uint64_t value;
  if (unit == 0 || !mock_number_parse(p, whole, INT64_MAX / unit, &value)) {
    return false;
  }
  value *= unit;
  uint64_t scale = unit;
  for (uint64_t i = 0; i < part && scale >= 10; i++) {
    scale /= 10;
    value += (uint64_t)(p[whole + 1 + i] - '0') * scale;
  }
  if (value > INT64_MAX) {
    return false;
  }
  *out_ns = value;
  return true;
}
