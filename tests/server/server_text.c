/* SPDX-License-Identifier: MIT */
#include "server_text.h"

#include <strings.h>

static const uint16_t high_1252[32] = {
    0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021,
    0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x008D, 0x017D, 0x008F,
    0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014,
    0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178,
};

/* Number of continuation bytes that a first byte promises, -1 if it is none. */
static int tail_of(uint8_t first) {
  if (first < 0x80) {
    return 0;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return 1;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    return 2;
  }
  return first >= 0xF0 && first <= 0xF4 ? 3 : -1;
}

uint32_t tdsd_text_next(const char *text, size_t len, size_t *at) {
  static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
  uint8_t first = (uint8_t)text[(*at)++];
  int tail = tail_of(first);
  if (tail < 0 || (size_t)tail > len - *at) {
    return 0xFFFD;
  }
  uint32_t point = tail == 0 ? first : first & (0x3Fu >> tail);
  for (int i = 0; i < tail; i++) {
    uint8_t byte = (uint8_t)text[*at + (size_t)i];
    if ((byte & 0xC0) != 0x80) {
      return 0xFFFD;
    }
    point = point << 6 | (byte & 0x3Fu);
  }
  *at += (size_t)tail;
  return point < least[tail] || point > 0x10FFFF ? 0xFFFD : point;
}

static size_t put_unit(uint8_t *out, uint32_t unit) {
  out[0] = (uint8_t)unit;
  out[1] = (uint8_t)(unit >> 8);
  return 2;
}

size_t tdsd_text_to_w16(const char *text, size_t len, uint8_t *out) {
  size_t n = 0;
  for (size_t at = 0; at < len;) {
    uint32_t point = tdsd_text_next(text, len, &at);
    if (point >= 0x10000) {
      n += put_unit(out + n, 0xD800 + ((point - 0x10000) >> 10));
      n += put_unit(out + n, 0xDC00 + ((point - 0x10000) & 0x3FF));
    } else {
      n += put_unit(out + n, point);
    }
  }
  return n;
}

static size_t put_utf8(char *out, uint32_t point) {
  if (point < 0x80) {
    out[0] = (char)point;
    return 1;
  }
  if (point < 0x800) {
    out[0] = (char)(0xC0 | point >> 6);
    out[1] = (char)(0x80 | (point & 0x3F));
    return 2;
  }
  if (point < 0x10000) {
    out[0] = (char)(0xE0 | point >> 12);
    out[1] = (char)(0x80 | (point >> 6 & 0x3F));
    out[2] = (char)(0x80 | (point & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | point >> 18);
  out[1] = (char)(0x80 | (point >> 12 & 0x3F));
  out[2] = (char)(0x80 | (point >> 6 & 0x3F));
  out[3] = (char)(0x80 | (point & 0x3F));
  return 4;
}

static uint32_t unit_at(const uint8_t *w16, size_t i) {
  return (uint32_t)w16[2 * i] | (uint32_t)w16[2 * i + 1] << 8;
}

size_t tdsd_text_from_w16(const uint8_t *w16, size_t units, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < units; i++) {
    uint32_t point = unit_at(w16, i);
    if (point >= 0xD800 && point < 0xDC00 && i + 1 < units) {
      uint32_t low = unit_at(w16, i + 1);
      if (low >= 0xDC00 && low < 0xE000) {
        point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
        i++;
      }
    }
    n += put_utf8(out + n, point);
  }
  return n;
}

size_t tdsd_text_units(const char *text, size_t len) {
  size_t units = 0;
  for (size_t at = 0; at < len;) {
    units += tdsd_text_next(text, len, &at) >= 0x10000 ? 2 : 1;
  }
  return units;
}

size_t tdsd_text_cut(const char *text, size_t len, size_t units) {
  size_t used = 0;
  for (size_t at = 0; at < len;) {
    size_t next = at;
    size_t width = tdsd_text_next(text, len, &next) >= 0x10000 ? 2 : 1;
    if (used + width > units) {
      return at;
    }
    used += width;
    at = next;
  }
  return len;
}

static uint8_t byte_1252(uint32_t point) {
  if (point < 0x80 || (point >= 0xA0 && point <= 0xFF)) {
    return (uint8_t)point;
  }
  for (unsigned i = 0; i < 32; i++) {
    if (high_1252[i] == point) {
      return (uint8_t)(0x80 + i);
    }
  }
  return '?';
}

size_t tdsd_text_to_1252(const char *text, size_t len, uint8_t *out) {
  size_t n = 0;
  for (size_t at = 0; at < len;) {
    out[n++] = byte_1252(tdsd_text_next(text, len, &at));
  }
  return n;
}

size_t tdsd_text_from_1252(const uint8_t *bytes, size_t len, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < len; i++) {
    bool high = bytes[i] >= 0x80 && bytes[i] < 0xA0;
    n += put_utf8(out + n, high ? high_1252[bytes[i] - 0x80] : bytes[i]);
  }
  return n;
}

size_t tdsd_text_narrow(const char *text, size_t len, char *out) {
  size_t n = 0;
  for (size_t at = 0; at < len;) {
    uint32_t point = tdsd_text_next(text, len, &at);
    n += put_utf8(out + n, byte_1252(point) == '?' ? '?' : point);
  }
  return n;
}

bool tdsd_text_same(const char *a, const char *b) {
  return strcasecmp(a, b) == 0;
}
