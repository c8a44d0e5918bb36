/* SPDX-License-Identifier: MIT */
/* TYPE_INFO on the wire (MS-TDS 2.2.5.4 to 2.2.5.6). */
#include "server_types.h"

#include <string.h>

#include "server_collation.h"
#include "server_const.h"

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

uint32_t tdsd_types_fixed(enum tdsd_kind kind) {
  return kind < sizeof fixed_type ? fixed_type[kind] : 0;
}

uint32_t tdsd_types_width(enum tdsd_kind kind) {
  return type_width[kind];
}

bool tdsd_types_is_new_date(enum tdsd_kind kind) {
  return kind == TDSD_DATE || kind == TDSD_TIME || kind == TDSD_DATETIME2 ||
         kind == TDSD_DATETIMEOFFSET;
}

uint32_t tdsd_types_new_date(enum tdsd_kind kind) {
  return kind == TDSD_DATE        ? 0x28
         : kind == TDSD_TIME      ? 0x29
         : kind == TDSD_DATETIME2 ? 0x2A
                                  : 0x2B;
}

struct tdsd_type tdsd_types_for(const struct tdsd_writer *writer,
                                const struct tdsd_type *type) {
  struct tdsd_type to = *type;
  bool before_72 = writer->version == TDSD_V71;
  bool before_73 = before_72 || writer->version == TDSD_V72;
  if (is_string(to.kind) && tdsd_collation_is_utf8(to.collation) &&
      !writer->utf8 && tdsd_kind_is_text(to.kind)) {
    to.kind = to.kind == TDSD_CHAR || to.kind == TDSD_NCHAR ? TDSD_NCHAR
                                                            : TDSD_NVARCHAR;
    to.size = to.size != TDSD_SIZE_MAX && to.size > 4000 ? 4000 : to.size;
  }
  if (before_72 && is_string(to.kind) && to.size == TDSD_SIZE_MAX) {
    to.form = TDSD_FORM_OLD;
  }
  if (before_73 && tdsd_types_is_new_date(to.kind)) {
    to.kind = TDSD_NVARCHAR;
    to.size = 40;
  }
  return to;
}

bool tdsd_type_is_old_blob(const struct tdsd_writer *writer,
                           const struct tdsd_type *type) {
  return tdsd_types_for(writer, type).form == TDSD_FORM_OLD;
}

uint32_t tdsd_types_string(enum tdsd_kind kind) {
  static const uint8_t types[] = {0xAD, 0xA5, 0xAF, 0xA7, 0xEF, 0xE7};
  return types[kind];
}

static void write_string_type(struct tdsd_buf *reply,
                              const struct tdsd_type *type) {
  bool text = tdsd_kind_is_text(type->kind);
  bool wide = tdsd_kind_is_wide(type->kind);
  if (type->form == TDSD_FORM_OLD) {
    tdsd_buf_u8(reply, wide ? 0x63 : text ? 0x23 : 0x22);
    tdsd_buf_u32(reply, wide ? 0x7FFFFFFE : 0x7FFFFFFF);
  } else if (type->form == TDSD_FORM_XML) {
    tdsd_buf_u8(reply, 0xF1);
    tdsd_buf_u8(reply, 0); /* no schema */
    return;
  } else {
    tdsd_buf_u8(reply, tdsd_types_string(type->kind));
    uint32_t bytes = type->size == TDSD_SIZE_MAX ? 0xFFFF
                     : wide                      ? 2 * type->size
                                                 : type->size;
    tdsd_buf_u16(reply, bytes);
  }
  if (text) {
    tdsd_buf_bytes(reply, tdsd_collation_bytes(type->collation), 5);
  }
}

uint32_t tdsd_types_decimal_bytes(unsigned precision) {
  return precision <= 9 ? 4 : precision <= 19 ? 8 : precision <= 28 ? 12 : 16;
}

void tdsd_write_type(const struct tdsd_writer *writer,
                     const struct tdsd_type *type) {
  struct tdsd_buf *reply = writer->reply;
  struct tdsd_type to = tdsd_types_for(writer, type);
  if (is_string(to.kind)) {
    write_string_type(reply, &to);
  } else if (to.kind == TDSD_DECIMAL) {
    tdsd_buf_u8(reply, to.numeric ? 0x6C : 0x6A);
    tdsd_buf_u8(reply, tdsd_types_decimal_bytes(to.precision) + 1);
    tdsd_buf_u8(reply, to.precision);
    tdsd_buf_u8(reply, to.scale);
  } else if (to.kind == TDSD_VARIANT) {
    tdsd_buf_u8(reply, 0x62);
    tdsd_buf_u32(reply, 8009);
  } else if (tdsd_types_is_new_date(to.kind)) {
    tdsd_buf_u8(reply, tdsd_types_new_date(to.kind));
    if (to.kind != TDSD_DATE) {
      tdsd_buf_u8(reply, to.scale);
    }
  } else if (to.nullable || fixed_type[to.kind] == 0) {
    tdsd_buf_u8(reply, null_type[to.kind]);
    tdsd_buf_u8(reply, type_width[to.kind]);
  } else {
    tdsd_buf_u8(reply, fixed_type[to.kind]);
  }
}
