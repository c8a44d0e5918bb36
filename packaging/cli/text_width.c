/* SPDX-License-Identifier: MIT */
#include "text_width.h"

#include <stdbool.h>

#include "text_width_data.h"
#include "utf8.h"

static bool in_ranges(uint32_t c, const struct char_range *ranges, size_t n) {
  size_t low = 0;
  while (low < n) {
    size_t mid = low + (n - low) / 2;
    if (c > ranges[mid].last) {
      low = mid + 1;
    } else if (c < ranges[mid].first) {
      n = mid;
    } else {
      return true;
    }
  }
  return false;
}

unsigned char_width(uint32_t c) {
  if (c < 0x300) {
    return 1;
  }
  if (in_ranges(c, zero_width, sizeof zero_width / sizeof zero_width[0])) {
    return 0;
  }
  return in_ranges(c, double_width,
                   sizeof double_width / sizeof double_width[0])
             ? 2
             : 1;
}

size_t text_width(const char *s, size_t len) {
  size_t columns = 0;
  size_t at = 0;
  while (at < len) {
    uint32_t c;
    at += utf8_next(s + at, len - at, &c);
    columns += char_width(c);
  }
  return columns;
}

size_t text_fit(const char *s, size_t len, size_t columns) {
  size_t used = 0;
  size_t at = 0;
  while (at < len) {
    uint32_t c;
    size_t n = utf8_next(s + at, len - at, &c);
    used += char_width(c);
    if (used > columns) {
      return at;
    }
    at += n;
  }
  return len;
}
