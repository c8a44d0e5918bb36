/* SPDX-License-Identifier: MIT */
/* TYPE_INFO and values on the wire (MS-TDS 2.2.5.4 to 2.2.5.6).  Older protocol
 * versions get what servers send them: dates of 7.3 as nvarchar, (max) types of
 * 7.2 as text, ntext and image. */
#include <string.h>

#include "server_const.h"
#include "server_reply.h"
#include "server_text.h"

#define DAYS_1900 693595

/* Wire numbers of a kind: without null, and with. */
static const uint8_t fixed_type[] = {
    [TDSD_BIT] = 0x32,      [TDSD_TINYINT] = 0x30,
    [TDSD_SMALLINT] = 0x34, [TDSD_INT] = 0x38,
    [TDSD_BIGINT] = 0x7F,   [TDSD_SMALLMONEY] = 0x7A,
    [TDSD_MONEY] = 0x3C,    [TDSD_REAL] = 0x3B,
    [TDSD_FLOAT] = 0x3E,    [TDSD_SMALLDATETIME] = 0x3A,
    [TDSD_DATETIME] = 0x3D, [TDSD_DATETIMEOFFSET] = 0,
};

static const uint8_t null_type[] = {
    [TDSD_BIT] = 0x68,         [TDSD_TINYINT] = 0x26,
    [TDSD_SMALLINT] = 0x26,    [TDSD_INT] = 0x26,
    [TDSD_BIGINT] = 0x26,      [TDSD_SMALLMONEY] = 0x6E,
    [TDSD_MONEY] = 0x6E,       [TDSD_REAL] = 0x6D,
    [TDSD_FLOAT] = 0x6D,       [TDSD_SMALLDATETIME] = 0x6F,
    [TDSD_DATETIME] = 0x6F,    [TDSD_GUID] = 0x24,
    [TDSD_DATETIMEOFFSET] = 0,
};

/* Bytes of a value of those types. */
static const uint8_t type_width[] = {
    [TDSD_BIT] = 1,
    [TDSD_TINYINT] = 1,
    [TDSD_SMALLINT] = 2,
    [TDSD_INT] = 4,
    [TDSD_BIGINT] = 8,
    [TDSD_SMALLMONEY] = 4,
    [TDSD_MONEY] = 8,
    [TDSD_REAL] = 4,
    [TDSD_FLOAT] = 8,
    [TDSD_SMALLDATETIME] = 4,
    [TDSD_DATETIME] = 8,
    [TDSD_GUID] = 16,
    [TDSD_DATETIMEOFFSET] = 0,
};

static bool is_string(enum tdsd_kind kind) {
  return kind <= TDSD_NVARCHAR;
}

/* date, time, datetime2 and datetimeoffset came with 7.3. */
static bool is_new_date(enum tdsd_kind kind) {
  return kind == TDSD_DATE || kind == TDSD_TIME || kind == TDSD_DATETIME2 ||
         kind == TDSD_DATETIMEOFFSET;
}

static bool date_as_text(const struct tdsd_writer *writer,
                         enum tdsd_kind kind) {
  bool old = writer->version == TDSD_V71 || writer->version == TDSD_V72;
  return old && is_new_date(kind);
}

bool tdsd_type_is_old_blob(const struct tdsd_writer *writer,
                           const struct tdsd_type *type) {
  return writer->version == TDSD_V71 && is_string(type->kind) &&
         type->size == TDSD_SIZE_MAX;
}

static uint32_t string_type(enum tdsd_kind kind) {
  static const uint8_t types[] = {0xAD, 0xA5, 0xAF, 0xA7, 0xEF, 0xE7};
  return types[kind];
}

static void write_string_type(const struct tdsd_writer *writer,
                              const struct tdsd_type *type) {
  struct tdsd_buf *reply = writer->reply;
  bool text = tdsd_kind_is_text(type->kind);
  bool wide = tdsd_kind_is_wide(type->kind);
  if (tdsd_type_is_old_blob(writer, type)) {
    tdsd_buf_u8(reply, wide ? 0x63 : text ? 0x23 : 0x22);
    tdsd_buf_u32(reply, wide ? 0x7FFFFFFE : 0x7FFFFFFF);
  } else {
    tdsd_buf_u8(reply, string_type(type->kind));
    uint32_t bytes = type->size == TDSD_SIZE_MAX ? 0xFFFF
                     : wide                      ? 2 * type->size
                                                 : type->size;
    tdsd_buf_u16(reply, bytes);
  }
  if (text) {
    tdsd_buf_bytes(reply, tdsd_collation, sizeof tdsd_collation);
  }
}

static uint32_t decimal_bytes(unsigned precision) {
  return precision <= 9 ? 4 : precision <= 19 ? 8 : precision <= 28 ? 12 : 16;
}

static void write_date_type(struct tdsd_buf *reply,
                            const struct tdsd_type *type) {
  if (type->kind == TDSD_DATE) {
    tdsd_buf_u8(reply, 0x28);
    return;
  }
  tdsd_buf_u8(reply, type->kind == TDSD_TIME        ? 0x29
                     : type->kind == TDSD_DATETIME2 ? 0x2A
                                                    : 0x2B);
  tdsd_buf_u8(reply, type->scale);
}

void tdsd_write_type(const struct tdsd_writer *writer,
                     const struct tdsd_type *type) {
  struct tdsd_buf *reply = writer->reply;
  if (is_string(type->kind)) {
    write_string_type(writer, type);
  } else if (type->kind == TDSD_DECIMAL) {
    tdsd_buf_u8(reply, type->numeric ? 0x6C : 0x6A);
    tdsd_buf_u8(reply, decimal_bytes(type->precision) + 1);
    tdsd_buf_u8(reply, type->precision);
    tdsd_buf_u8(reply, type->scale);
  } else if (date_as_text(writer, type->kind)) {
    struct tdsd_type text = {.kind = TDSD_NVARCHAR, .size = 40};
    write_string_type(writer, &text);
  } else if (is_new_date(type->kind)) {
    write_date_type(reply, type);
  } else if (type->nullable || fixed_type[type->kind] == 0) {
    tdsd_buf_u8(reply, null_type[type->kind]);
    tdsd_buf_u8(reply, type_width[type->kind]);
  } else {
    tdsd_buf_u8(reply, fixed_type[type->kind]);
  }
}

/* The bytes of a string in the wire's encoding, appended without a length.
 * Returns how many they are. */
static size_t write_string_bytes(struct tdsd_buf *reply,
                                 const struct tdsd_type *type,
                                 const struct tdsd_value *value) {
  if (tdsd_kind_is_wide(type->kind)) {
    return 2 * tdsd_buf_w16(reply, value->bytes, value->len);
  }
  uint8_t *to = tdsd_buf_reserve(reply, value->len);
  if (to == NULL) {
    return 0;
  }
  size_t n = value->len;
  if (tdsd_kind_is_text(type->kind)) {
    n = tdsd_text_to_1252(value->bytes, value->len, to);
  } else if (n != 0) {
    memcpy(to, value->bytes, n);
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
  size_t n = write_string_bytes(reply, type, value);
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
  size_t n = write_string_bytes(reply, type, value);
  tdsd_buf_put_u32(reply, at, (uint32_t)n);
}

static void write_string(const struct tdsd_writer *writer,
                         const struct tdsd_type *type,
                         const struct tdsd_value *value) {
  if (tdsd_type_is_old_blob(writer, type)) {
    write_old_blob(writer->reply, type, value);
  } else if (type->size == TDSD_SIZE_MAX) {
    write_plp(writer->reply, type, value);
  } else if (value->is_null) {
    tdsd_buf_u16(writer->reply, 0xFFFF);
  } else {
    size_t at = tdsd_buf_len(writer->reply);
    tdsd_buf_u16(writer->reply, 0);
    size_t n = write_string_bytes(writer->reply, type, value);
    tdsd_buf_put_u16(writer->reply, at, (uint32_t)n);
  }
}

static void write_decimal(struct tdsd_buf *reply,
                          const struct tdsd_type *type,
                          const struct tdsd_value *value) {
  if (value->is_null) {
    tdsd_buf_u8(reply, 0);
    return;
  }
  uint32_t width = decimal_bytes(type->precision);
  tdsd_buf_u8(reply, width + 1);
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

/* What follows the length byte, or stands alone in fixed types. */
static void write_simple(struct tdsd_buf *reply,
                         enum tdsd_kind kind,
                         const struct tdsd_value *value) {
  uint32_t width = type_width[kind];
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

static void write_date(struct tdsd_buf *reply,
                       const struct tdsd_type *type,
                       const struct tdsd_value *value) {
  int32_t days = value->days;
  int64_t ticks = value->ticks;
  if (value->is_null) {
    tdsd_buf_u8(reply, 0);
    return;
  }
  if (type->kind == TDSD_DATETIMEOFFSET) {
    shift_to_utc(value, &days, &ticks);
  }
  size_t at = tdsd_buf_len(reply);
  tdsd_buf_u8(reply, 0);
  if (type->kind != TDSD_DATE) {
    write_time(reply, ticks, type->scale);
  }
  if (type->kind != TDSD_TIME) {
    write_integer(reply, days, 3);
  }
  if (type->kind == TDSD_DATETIMEOFFSET) {
    write_integer(reply, value->offset_min, 2);
  }
  if (!reply->failed) {
    tdsd_buf_at(reply)[at] = (uint8_t)(tdsd_buf_len(reply) - at - 1);
  }
}

static void write_date_text(const struct tdsd_writer *writer,
                            const struct tdsd_value *value) {
  char text[64];
  struct tdsd_type type = {.kind = TDSD_NVARCHAR, .size = 40};
  struct tdsd_value printed = {.type = type, .is_null = value->is_null};
  printed.bytes = text;
  printed.len =
      value->is_null ? 0 : tdsd_date_print(value, 0, text, sizeof text);
  write_string(writer, &type, &printed);
}

void tdsd_write_value(const struct tdsd_writer *writer,
                      const struct tdsd_type *type,
                      const struct tdsd_value *value) {
  struct tdsd_buf *reply = writer->reply;
  if (is_string(type->kind)) {
    write_string(writer, type, value);
  } else if (type->kind == TDSD_DECIMAL) {
    write_decimal(reply, type, value);
  } else if (date_as_text(writer, type->kind)) {
    write_date_text(writer, value);
  } else if (is_new_date(type->kind)) {
    write_date(reply, type, value);
  } else if (type->nullable || fixed_type[type->kind] == 0) {
    tdsd_buf_u8(reply, value->is_null ? 0 : type_width[type->kind]);
    if (!value->is_null) {
      write_simple(reply, type->kind, value);
    }
  } else {
    write_simple(reply, type->kind, value);
  }
}
