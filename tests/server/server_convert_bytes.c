/* SPDX-License-Identifier: MIT */
/* CAST and CONVERT to text and to bytes. */
#include <ctype.h>
#include <string.h>

#include "server_collation.h"
#include "server_convert_impl.h"
#include "server_text.h"

#define PRINT_BYTES 128u

/* Cuts text to the target's size, or fills it up with blanks for char(n). */
static int set_text(const struct tdsd_convert *job,
                    const char *text,
                    size_t len) {
  const struct tdsd_type *to = job->to;
  size_t keep = len;
  size_t used = 0; /* of the size: units of nvarchar, bytes of varchar */
  if (to->size != TDSD_SIZE_MAX && tdsd_kind_is_wide(to->kind)) {
    keep = tdsd_text_cut(text, len, to->size);
    used = tdsd_text_units(text, keep);
  } else if (to->size != TDSD_SIZE_MAX) {
    keep = tdsd_collation_cut(to->collation, text, len, to->size, &used);
  }
  bool fill = to->kind == TDSD_CHAR || to->kind == TDSD_NCHAR;
  size_t blanks = fill ? to->size - used : 0;
  char *copy = tdsd_arena_take(job->arena, keep + blanks + 1);
  if (copy == NULL) {
    return tdsd_convert_no_memory(job);
  }
  if (tdsd_kind_is_wide(to->kind)) {
    memcpy(copy, text, keep);
  } else {
    keep = tdsd_collation_narrow(to->collation, text, keep, copy);
  }
  memset(copy + keep, ' ', blanks);
  job->out->bytes = copy;
  job->out->len = keep + blanks;
  return 0;
}

static int hex_text(const struct tdsd_convert *job) {
  static const char digits[] = "0123456789ABCDEF";
  size_t n = job->in->len;
  size_t prefix = job->style == 1 ? 2 : 0;
  char *text = tdsd_arena_take(job->arena, prefix + 2 * n + 1);
  if (text == NULL) {
    return tdsd_convert_no_memory(job);
  }
  memcpy(text, "0x", prefix);
  for (size_t i = 0; i < n; i++) {
    unsigned byte = (unsigned char)job->in->bytes[i];
    text[prefix + 2 * i] = digits[byte >> 4];
    text[prefix + 2 * i + 1] = digits[byte & 15];
  }
  return set_text(job, text, prefix + 2 * n);
}

/* The bytes are taken for the characters of the target's encoding. */
static int binary_text(const struct tdsd_convert *job) {
  if (job->style == 1 || job->style == 2) {
    return hex_text(job);
  }
  const uint8_t *bytes = (const uint8_t *)job->in->bytes;
  size_t n = job->in->len;
  char *text = tdsd_arena_take(job->arena, 3 * n + 1);
  if (text == NULL) {
    return tdsd_convert_no_memory(job);
  }
  size_t len = tdsd_kind_is_wide(job->to->kind)
                   ? tdsd_text_from_w16(bytes, n / 2, text)
                   : tdsd_collation_decode(job->to->collation, bytes, n, text);
  return set_text(job, text, len);
}

int tdsd_convert_text(const struct tdsd_convert *job) {
  enum tdsd_kind from = job->in->type.kind;
  if (tdsd_kind_is_text(from)) {
    return set_text(job, job->in->bytes, job->in->len);
  }
  if (tdsd_kind_is_binary(from)) {
    return binary_text(job);
  }
  char text[PRINT_BYTES];
  size_t len = tdsd_value_print(job->in, job->style, text, sizeof text);
  if (len > job->to->size) {
    if (tdsd_kind_is_integer(from) && !tdsd_kind_is_wide(job->to->kind)) {
      return set_text(job, "*", 1); /* SQL Server shows a star */
    }
    if (!tdsd_kind_is_date(from)) {
      return tdsd_convert_overflow(job);
    }
  }
  return set_text(job, text, len);
}

static int set_binary(const struct tdsd_convert *job,
                      const void *bytes,
                      size_t len) {
  size_t size = job->to->size == TDSD_SIZE_MAX ? len : job->to->size;
  size_t keep = len < size ? len : size;
  size_t room = job->to->kind == TDSD_BINARY ? size : keep;
  char *copy = tdsd_arena_take(job->arena, room + 1);
  if (copy == NULL) {
    return tdsd_convert_no_memory(job);
  }
  if (keep != 0) {
    memcpy(copy, bytes, keep);
  }
  job->out->bytes = copy;
  job->out->len = room;
  return 0;
}

int tdsd_convert_digit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  int low = tolower((unsigned char)c);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

static int hex_binary(const struct tdsd_convert *job) {
  const char *text = job->in->bytes;
  size_t len = job->in->len;
  if (job->style == 1) {
    if (len < 2 || text[0] != '0' || (text[1] != 'x' && text[1] != 'X')) {
      return tdsd_convert_failed(job, 8114);
    }
    text += 2;
    len -= 2;
  }
  uint8_t *bytes = tdsd_arena_take(job->arena, len / 2 + 1);
  if (bytes == NULL) {
    return tdsd_convert_no_memory(job);
  }
  for (size_t i = 0; i + 1 < len; i += 2) {
    int high = tdsd_convert_digit(text[i]);
    int low = tdsd_convert_digit(text[i + 1]);
    if (high < 0 || low < 0) {
      return tdsd_convert_failed(job, 8114);
    }
    bytes[i / 2] = (uint8_t)(high << 4 | low);
  }
  return len % 2 != 0 ? tdsd_convert_failed(job, 8114)
                      : set_binary(job, bytes, len / 2);
}

static int text_binary(const struct tdsd_convert *job) {
  if (job->style == 1 || job->style == 2) {
    return hex_binary(job);
  }
  uint8_t *bytes = tdsd_arena_take(job->arena, 2 * job->in->len + 2);
  if (bytes == NULL) {
    return tdsd_convert_no_memory(job);
  }
  size_t len = tdsd_kind_is_wide(job->in->type.kind)
                   ? tdsd_text_to_w16(job->in->bytes, job->in->len, bytes)
                   : tdsd_collation_encode(job->in->type.collation,
                                           job->in->bytes, job->in->len, bytes);
  return set_binary(job, bytes, len);
}

/* Integers become their big-endian bytes; a shorter target keeps the low ones. */
static int integer_binary(const struct tdsd_convert *job) {
  static const uint8_t widths[] = {1, 1, 2, 4, 8};
  size_t width = widths[job->in->type.kind - TDSD_BIT];
  size_t size = job->to->size == TDSD_SIZE_MAX ? width : job->to->size;
  size_t room = job->to->kind == TDSD_BINARY || size < width ? size : width;
  uint8_t *bytes = tdsd_arena_take(job->arena, room + 1);
  if (bytes == NULL) {
    return tdsd_convert_no_memory(job);
  }
  for (size_t i = 0; i < room && i < width; i++) {
    bytes[room - 1 - i] = (uint8_t)((uint64_t)job->in->integer >> (8 * i));
  }
  return set_binary(job, bytes, room);
}

int tdsd_convert_binary(const struct tdsd_convert *job) {
  enum tdsd_kind from = job->in->type.kind;
  if (tdsd_kind_is_binary(from)) {
    return set_binary(job, job->in->bytes, job->in->len);
  }
  if (tdsd_kind_is_text(from)) {
    return text_binary(job);
  }
  if (tdsd_kind_is_integer(from)) {
    return integer_binary(job);
  }
  return from == TDSD_GUID ? set_binary(job, job->in->guid, 16)
                           : tdsd_convert_not_allowed(job);
}
