/* SPDX-License-Identifier: MIT */
/* sql_variant (MS-TDS 2.2.5.5.4): a value with its type in front. */
#include <stdio.h>

#include "server_collation.h"
#include "server_types.h"

/* Base type, count of property bytes, properties. */
static void write_base(struct tdsd_buf *reply, const struct tdsd_type *type) {
  if (type->kind <= TDSD_NVARCHAR) {
    bool text = tdsd_kind_is_text(type->kind);
    bool wide = tdsd_kind_is_wide(type->kind);
    tdsd_buf_u8(reply, tdsd_types_string(type->kind));
    tdsd_buf_u8(reply, text ? 7 : 2);
    if (text) {
      tdsd_buf_bytes(reply, tdsd_collation_bytes(type->collation), 5);
    }
    tdsd_buf_u16(reply, wide ? 2 * type->size : type->size);
  } else if (type->kind == TDSD_DECIMAL) {
    tdsd_buf_u8(reply, type->numeric ? 0x6C : 0x6A);
    tdsd_buf_u8(reply, 2);
    tdsd_buf_u8(reply, type->precision);
    tdsd_buf_u8(reply, type->scale);
  } else if (tdsd_types_is_new_date(type->kind)) {
    tdsd_buf_u8(reply, tdsd_types_new_date(type->kind));
    tdsd_buf_u8(reply, type->kind == TDSD_DATE ? 0 : 1);
    if (type->kind != TDSD_DATE) {
      tdsd_buf_u8(reply, type->scale);
    }
  } else {
    tdsd_buf_u8(reply,
                type->kind == TDSD_GUID ? 0x24 : tdsd_types_fixed(type->kind));
    tdsd_buf_u8(reply, 0);
  }
}

/* Servers send decimals of any precision at full width here: SqlClient reads 17
 * bytes without looking at the length. */
static void write_decimal(struct tdsd_buf *reply,
                          const struct tdsd_value *value) {
  const struct tdsd_type widest = {.kind = TDSD_DECIMAL, .precision = 38};
  tdsd_values_decimal(reply, &widest, value);
}

void tdsd_write_variant(const struct tdsd_writer *writer,
                        const struct tdsd_value *value) {
  struct tdsd_buf *reply = writer->reply;
  struct tdsd_type to = tdsd_types_for(writer, &value->type);
  struct tdsd_value printed = *value;
  char text[64];
  if (value->is_null) {
    tdsd_buf_u32(reply, 0);
    return;
  }
  if (to.kind <= TDSD_NVARCHAR && tdsd_types_is_new_date(value->type.kind)) {
    printed.len = tdsd_date_print(value, 0, text, sizeof text);
    printed.bytes = text;
  }
  size_t at = tdsd_buf_len(reply);
  tdsd_buf_u32(reply, 0);
  write_base(reply, &to);
  if (to.kind <= TDSD_NVARCHAR) {
    (void)tdsd_values_string(reply, &to, printed.bytes, printed.len);
  } else if (to.kind == TDSD_DECIMAL) {
    write_decimal(reply, value);
  } else if (tdsd_types_is_new_date(to.kind)) {
    tdsd_values_date(reply, &to, value);
  } else {
    tdsd_values_simple(reply, to.kind, value);
  }
  tdsd_buf_put_u32(reply, at, (uint32_t)(tdsd_buf_len(reply) - at - 4));
}
