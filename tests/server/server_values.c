/* SPDX-License-Identifier: MIT */
/* Values on the wire (MS-TDS 2.2.5.5).  Older protocol versions get what servers
 * send them (tdsd_types_for()). */
#include <string.h>

#include "server_collation.h"
#include "server_text.h"
#include "server_types.h"

#define DAYS_1900 693595

size_t tdsd_values_string(struct tdsd_buf *reply,
                          const struct tdsd_type *type,
                          const char *bytes,
                          size_t len) {
  if (tdsd_kind_is_wide(type->kind)) {
    return 2 * tdsd_buf_w16(reply, bytes, len);
  }
  uint8_t *to = tdsd_buf_reserve(reply, len);
  if (to == NULL) {
    return 0;
  }
  size_t n = len;
  if (tdsd_kind_is_text(type->kind)) {
    n = tdsd_collation_encode(type->collation, bytes, len, to);
  } else if (n != 0) {
    memcpy(to, bytes, n);
  }
  tdsd_buf_commit(reply, n);
  return n;
}

/* PLP with a known total and a single chunk (MS-TDS 2.2.5.2.3). */
static void write_plp(struct tdsd_buf *reply,
                      const struct tdsd_type *type,
                      const struct tdsd_value *value) {
  if (value->is_null) {
    tdsd_buf_u64(reply, UINT64_MAX);
    return;
  }
  size_t at = tdsd_buf_len(reply);
  tdsd_buf_u64(reply, 0);
  tdsd_buf_u32(reply, 0);
  size_t n = tdsd_values_string(reply, type, value->bytes, value->len);
  tdsd_buf_put_u32(reply, at, (uint32_t)n);
  tdsd_buf_put_u32(reply, at + 8, (uint32_t)n);
  /* An empty value has no chunk: the length just written ends it. */
  if (n != 0) {
    tdsd_buf_u32(reply, 0);
  }
}

static void write_old_blob(struct tdsd_buf *reply,
                           const struct tdsd_type *type,
                           const struct tdsd_value *value) {
  static const uint8_t pointer[24] = {0};
  if (value->is_null) {
    tdsd_buf_u8(reply, 0);
    return;
  }
  tdsd_buf_u8(reply, 16);
  tdsd_buf_bytes(reply, pointer, sizeof pointer); /* pointer and stamp */
  size_t at = tdsd_buf_len(reply);
  tdsd_buf_u32(reply, 0);
  size_t n = tdsd_values_string(reply, type, value->bytes, value->len);
  tdsd_buf_put_u32(reply, at, (uint32_t)n);
}

static void write_string(struct tdsd_buf *reply,
                         const struct tdsd_type *type,
                         const struct tdsd_value *value) {
  if (type->form == TDSD_FORM_OLD) {
    write_old_blob(reply, type, value);
  } else if (type->size == TDSD_SIZE_MAX) {
    write_plp(reply, type, value);
  } else if (value->is_null) {
    tdsd_buf_u16(reply, 0xFFFF);
  } else {
    size_t at = tdsd_buf_len(reply);
    tdsd_buf_u16(reply, 0);
    size_t n = tdsd_values_string(reply, type, value->bytes, value->len);
    tdsd_buf_put_u16(reply, at, (uint32_t)n);
  }
}

void tdsd_values_decimal(struct tdsd_buf *reply,
                         const struct tdsd_type *type,
                         const struct tdsd_value *value) {
  uint32_t width = tdsd_types_decimal_bytes(type->precision);
  tdsd_buf_u8(reply, value->negative ? 0 : 1);
  for (uint32_t i = 0; i < width; i++) {
    tdsd_buf_u8(reply, (uint32_t)(value->magnitude >> (8 * i)) & 0xFF);
  }
}

static void write_bits(struct tdsd_buf *reply, double real, uint32_t width) {
  if (width == 4) {
    float single = (float)real;
    uint32_t bits = 0;
    memcpy(&bits, &single, sizeof bits);
    tdsd_buf_u32(reply, bits);
  } else {
    uint64_t bits = 0;
    memcpy(&bits, &real, sizeof bits);
    tdsd_buf_u64(reply, bits);
  }
}

static void write_integer(struct tdsd_buf *reply,
                          int64_t integer,
                          uint32_t width) {
  for (uint32_t i = 0; i < width; i++) {
    tdsd_buf_u8(reply, (uint32_t)((uint64_t)integer >> (8 * i)) & 0xFF);
  }
}

void tdsd_values_simple(struct tdsd_buf *reply,
                        enum tdsd_kind kind,
                        const struct tdsd_value *value) {
  uint32_t width = tdsd_types_width(kind);
  if (kind == TDSD_GUID) {
    tdsd_buf_bytes(reply, value->guid, 16);
  } else if (kind == TDSD_REAL || kind == TDSD_FLOAT) {
    write_bits(reply, value->real, width);
  } else if (kind == TDSD_MONEY) { /* the high half comes first */
    write_integer(reply, value->integer >> 32, 4);
    write_integer(reply, value->integer, 4);
  } else if (kind == TDSD_DATETIME) {
    write_integer(reply, value->days - DAYS_1900, 4);
    write_integer(reply, (value->ticks * 3 + 50000) / 100000, 4);
  } else if (kind == TDSD_SMALLDATETIME) {
    write_integer(reply, value->days - DAYS_1900, 2);
    write_integer(reply, value->ticks / INT64_C(600000000), 2);
  } else {
    write_integer(reply, value->integer, width);
  }
}

static void write_time(struct tdsd_buf *reply, int64_t ticks, unsigned scale) {
  for (unsigned i = scale; i < 7; i++) {
    ticks /= 10;
  }
  write_integer(reply, ticks, scale <= 2 ? 3 : scale <= 4 ? 4 : 5);
}

/* datetimeoffset travels in UTC. */
static void shift_to_utc(const struct tdsd_value *value,
                         int32_t *days,
                         int64_t *ticks) {
  const int64_t day = INT64_C(864000000000);
  *ticks = value->ticks - (int64_t)value->offset_min * INT64_C(600000000);
  *days = value->days;
  if (*ticks < 0) {
    *ticks += day;
    *days -= 1;
  } else if (*ticks >= day) {
    *ticks -= day;
    *days += 1;
  }
}

void tdsd_values_date(struct tdsd_buf *reply,
                      const struct tdsd_type *type,
                      const struct tdsd_value *value) {
  int32_t days = value->days;
  int64_t ticks = value->ticks;
  if (type->kind == TDSD_DATETIMEOFFSET) {
    shift_to_utc(value, &days, &ticks);
  }
  if (type->kind != TDSD_DATE) {
    write_time(reply, ticks, type->scale);
  }
  if (type->kind != TDSD_TIME) {
    write_integer(reply, days, 3);
  }
  if (type->kind == TDSD_DATETIMEOFFSET) {
    write_integer(reply, value->offset_min, 2);
  }
}

static void write_date_text(struct tdsd_buf *reply,
                            const struct tdsd_type *type,
                            const struct tdsd_value *value) {
  char text[64];
  struct tdsd_value printed = {.type = *type, .is_null = value->is_null};
  printed.bytes = text;
  printed.len =
      value->is_null ? 0 : tdsd_date_print(value, 0, text, sizeof text);
  write_string(reply, type, &printed);
}

/* One length byte, filled in behind. */
static void close_byte(struct tdsd_buf *reply, size_t at) {
  if (!reply->failed) {
    tdsd_buf_at(reply)[at] = (uint8_t)(tdsd_buf_len(reply) - at - 1);
  }
}

static void write_counted(struct tdsd_buf *reply,
                          const struct tdsd_type *type,
                          const struct tdsd_value *value) {
  size_t at = tdsd_buf_len(reply);
  tdsd_buf_u8(reply, 0);
  if (value->is_null) {
    return;
  }
  if (type->kind == TDSD_DECIMAL) {
    tdsd_values_decimal(reply, type, value);
  } else if (tdsd_types_is_new_date(type->kind)) {
    tdsd_values_date(reply, type, value);
  } else {
    tdsd_values_simple(reply, type->kind, value);
  }
  close_byte(reply, at);
}

void tdsd_write_value(const struct tdsd_writer *writer,
                      const struct tdsd_type *type,
                      const struct tdsd_value *value) {
  struct tdsd_buf *reply = writer->reply;
  struct tdsd_type to = tdsd_types_for(writer, type);
  if (to.kind == TDSD_VARIANT) {
    tdsd_write_variant(writer, value);
  } else if (to.kind <= TDSD_NVARCHAR && tdsd_types_is_new_date(type->kind)) {
    write_date_text(reply, &to, value);
  } else if (to.kind <= TDSD_NVARCHAR) {
    write_string(reply, &to, value);
  } else if (to.nullable || tdsd_types_fixed(to.kind) == 0) {
    write_counted(reply, &to, value);
  } else {
    tdsd_values_simple(reply, to.kind, value);
  }
}
