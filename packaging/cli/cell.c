/* SPDX-License-Identifier: MIT */
#include "cell.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "utf8.h"

bool cell_is_null(const struct weir_cell *cell) {
  return cell->p == NULL || cell->n == UINT64_MAX;
}

bool cell_type_is_number(int32_t type) {
  return type == WEIR_T_INT || type == WEIR_T_UINT || type == WEIR_T_FLOAT ||
         type == WEIR_T_DEC || type == WEIR_T_BOOL;
}

/* The size that cells of a type have, 0 if any will do. */
static uint64_t fixed_size(int32_t type) {
  switch (type) {
  case WEIR_T_BOOL:
    return 1;
  case WEIR_T_INT:
  case WEIR_T_UINT:
  case WEIR_T_FLOAT:
    return 8;
  case WEIR_T_UUID:
    return 16;
  default:
    return 0;
  }
}

static bool has_right_size(int32_t type, const struct weir_cell *cell) {
  uint64_t size = fixed_size(type);
  return size == 0 ? cell->n <= SIZE_MAX / 8 : cell->n == size;
}

static uint64_t read_le64(const void *p) {
  const unsigned char *bytes = p;
  uint64_t value = 0;
  for (int i = 7; i >= 0; i--) {
    value = value << 8 | bytes[i];
  }
  return value;
}

static double double_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static double read_double(const void *p) {
  return double_of(read_le64(p));
}

/* The shortest of the three lengths that reads back as the same bits. */
static void add_double(struct text_buf *to, double value) {
  char text[40];
  for (int digits = 15; digits <= 17; digits++) {
    (void)snprintf(text, sizeof text, "%.*g", digits, value);
    if (bits_of(strtod(text, NULL)) == bits_of(value)) {
      break;
    }
  }
  text_buf_add_str(to, text);
}

static void add_float(struct text_buf *to, double value) {
  if (isnan(value)) {
    text_buf_add_str(to, "NaN");
  } else if (isinf(value)) {
    text_buf_add_str(to, value < 0 ? "-Infinity" : "Infinity");
  } else {
    add_double(to, value);
  }
}

static void add_uuid(struct text_buf *to, const void *p) {
  static const size_t parts[] = {4, 2, 2, 2, 6};
  const unsigned char *bytes = p;
  for (size_t i = 0; i < 5; i++) {
    if (i > 0) {
      text_buf_add_str(to, "-");
    }
    text_buf_add_hex(to, bytes, parts[i]);
    bytes += parts[i];
  }
}

int cell_add_text(struct text_buf *to,
                  int32_t type,
                  const struct weir_cell *cell) {
  if (!has_right_size(type, cell)) {
    return -EPROTO;
  }
  switch (type) {
  case WEIR_T_BOOL:
    text_buf_add_str(to, *(const unsigned char *)cell->p != 0 ? "1" : "0");
    break;
  case WEIR_T_INT:
    text_buf_addf(to, "%" PRId64, (int64_t)read_le64(cell->p));
    break;
  case WEIR_T_UINT:
    text_buf_addf(to, "%" PRIu64, read_le64(cell->p));
    break;
  case WEIR_T_FLOAT:
    add_float(to, read_double(cell->p));
    break;
  case WEIR_T_UUID:
    add_uuid(to, cell->p);
    break;
  case WEIR_T_BYTES:
    text_buf_add_str(to, "0x");
    text_buf_add_hex(to, cell->p, (size_t)cell->n);
    break;
  default: /* TEXT, DEC, TIME, and types younger than this program. */
    text_buf_add(to, cell->p, (size_t)cell->n);
    break;
  }
  return 0;
}

/* Adds what stands for a character that may not stand in a JSON string as it
 * is.  U+007F and the C1 controls may, but would reach a terminal as commands;
 * U+2028 and U+2029 end a line in older JavaScript. */
static bool add_json_escape(struct text_buf *to, uint32_t c) {
  static const char plain[] = "\"\\\b\f\n\r\t";
  static const char letter[] = "\"\\bfnrt";
  const char *found = c > 0 && c < 0x80 ? strchr(plain, (int)c) : NULL;
  if (found != NULL) {
    text_buf_addf(to, "\\%c", letter[found - plain]);
    return true;
  }
  if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029) {
    text_buf_addf(to, "\\u%04" PRIx32, c);
    return true;
  }
  return false;
}

void cell_add_json_string(struct text_buf *to, const char *s, size_t len) {
  text_buf_add_str(to, "\"");
  size_t at = 0;
  while (at < len) {
    uint32_t c;
    at += utf8_next(s + at, len - at, &c);
    if (!add_json_escape(to, c)) {
      text_buf_add_char(to, c);
    }
  }
  text_buf_add_str(to, "\"");
}

static bool is_json_number(int32_t type, const struct weir_cell *cell) {
  return type == WEIR_T_INT || type == WEIR_T_UINT ||
         (type == WEIR_T_FLOAT && isfinite(read_double(cell->p)));
}

int cell_add_json(struct text_buf *to,
                  int32_t type,
                  const struct weir_cell *cell) {
  if (cell_is_null(cell)) {
    text_buf_add_str(to, "null");
    return 0;
  }
  if (!has_right_size(type, cell)) {
    return -EPROTO;
  }
  if (type == WEIR_T_BOOL) {
    bool value = *(const unsigned char *)cell->p != 0;
    text_buf_add_str(to, value ? "true" : "false");
    return 0;
  }
  if (is_json_number(type, cell)) {
    return cell_add_text(to, type, cell);
  }
  if (fixed_size(type) == 0 && type != WEIR_T_BYTES) {
    cell_add_json_string(to, cell->p, (size_t)cell->n);
    return 0;
  }
  /* UUID, bytes and floats that are no numbers need no escaping. */
  text_buf_add_str(to, "\"");
  int rc = cell_add_text(to, type, cell);
  text_buf_add_str(to, "\"");
  return rc;
}
