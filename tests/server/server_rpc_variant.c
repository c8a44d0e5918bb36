/* SPDX-License-Identifier: MIT */
/* sql_variant as a parameter: len(4), base type, count of property bytes,
 * properties, value. */
#include <string.h>

#include "server_collation.h"
#include "server_rpc_job.h"

/* Which properties a base type has. */
enum props {
  PROPS_NONE,
  PROPS_SCALE,
  PROPS_DECIMAL,
  PROPS_BINARY, /* maxlen(2) */
  PROPS_TEXT,   /* collation(5), maxlen(2) */
};

static const struct base {
  uint8_t type;
  enum props props;
  enum tdsd_kind kind;
} bases[] = {
    {0x30, PROPS_NONE, TDSD_TINYINT},
    {0x32, PROPS_NONE, TDSD_BIT},
    {0x34, PROPS_NONE, TDSD_SMALLINT},
    {0x38, PROPS_NONE, TDSD_INT},
    {0x7F, PROPS_NONE, TDSD_BIGINT},
    {0x3B, PROPS_NONE, TDSD_REAL},
    {0x3E, PROPS_NONE, TDSD_FLOAT},
    {0x3C, PROPS_NONE, TDSD_MONEY},
    {0x7A, PROPS_NONE, TDSD_SMALLMONEY},
    {0x3D, PROPS_NONE, TDSD_DATETIME},
    {0x3A, PROPS_NONE, TDSD_SMALLDATETIME},
    {0x24, PROPS_NONE, TDSD_GUID},
    {0x28, PROPS_NONE, TDSD_DATE},
    {0x29, PROPS_SCALE, TDSD_TIME},
    {0x2A, PROPS_SCALE, TDSD_DATETIME2},
    {0x2B, PROPS_SCALE, TDSD_DATETIMEOFFSET},
    {0x6A, PROPS_DECIMAL, TDSD_DECIMAL},
    {0x6C, PROPS_DECIMAL, TDSD_DECIMAL},
    {0xA5, PROPS_BINARY, TDSD_VARBINARY},
    {0xAD, PROPS_BINARY, TDSD_BINARY},
    {0xA7, PROPS_TEXT, TDSD_VARCHAR},
    {0xAF, PROPS_TEXT, TDSD_CHAR},
    {0xE7, PROPS_TEXT, TDSD_NVARCHAR},
    {0xEF, PROPS_TEXT, TDSD_NCHAR},
};

static const struct base *find_base(uint32_t type) {
  for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
    if (bases[i].type == type) {
      return &bases[i];
    }
  }
  return NULL;
}

static int read_props(const struct tdsd_rpc_job *job, enum props props) {
  static const uint8_t sizes[] = {0, 1, 2, 2, 7};
  struct tdsd_type *type = &job->out->type;
  size_t n = tdsd_read_u8(job->reader);
  if (n != sizes[props]) {
    return tdsd_rpc_does_not_fit(job, "a count of property bytes", n);
  }
  if (props == PROPS_SCALE) {
    type->scale = (uint8_t)tdsd_read_u8(job->reader);
  } else if (props == PROPS_DECIMAL) {
    type->precision = (uint8_t)tdsd_read_u8(job->reader);
    type->scale = (uint8_t)tdsd_read_u8(job->reader);
  } else if (props == PROPS_TEXT) {
    const uint8_t *bytes = tdsd_read_bytes(job->reader, 5);
    type->collation = bytes == NULL ? 0 : tdsd_collation_of(bytes);
  }
  if (props == PROPS_BINARY || props == PROPS_TEXT) {
    uint32_t most = tdsd_read_u16(job->reader);
    uint32_t units = tdsd_kind_is_wide(type->kind) ? most / 2 : most;
    type->size = units == 0 ? 1 : units;
  }
  return 0;
}

static int read_data(const struct tdsd_rpc_job *job,
                     enum props props,
                     size_t len) {
  struct tdsd_value *out = job->out;
  if (props == PROPS_BINARY || props == PROPS_TEXT) {
    const uint8_t *bytes = tdsd_read_bytes(job->reader, len);
    return bytes == NULL || len > 8000
               ? tdsd_rpc_does_not_fit(job, "a length", len)
               : tdsd_rpc_take_string(job, bytes, len);
  }
  if (props == PROPS_DECIMAL) {
    return tdsd_rpc_take_decimal(job, len);
  }
  if (props == PROPS_SCALE || out->type.kind == TDSD_DATE) {
    return tdsd_rpc_take_date(job, len);
  }
  if (out->type.kind != TDSD_GUID) {
    return tdsd_rpc_take_simple(job, len);
  }
  const uint8_t *bytes = tdsd_read_bytes(job->reader, 16);
  if (bytes == NULL || len != 16) {
    return tdsd_rpc_does_not_fit(job, "a length", len);
  }
  memcpy(out->guid, bytes, 16);
  return 0;
}

int tdsd_rpc_read_variant(const struct tdsd_rpc_job *job) {
  (void)tdsd_read_u32(job->reader);
  size_t len = tdsd_read_u32(job->reader);
  if (len == 0) {
    job->out->is_null = true;
    return 0;
  }
  size_t left = job->reader->left;
  uint32_t number = tdsd_read_u8(job->reader);
  const struct base *base = find_base(number);
  if (base == NULL || len > left) {
    return tdsd_rpc_does_not_fit(job, base == NULL ? "a base type" : "a length",
                                 base == NULL ? number : len);
  }
  job->out->type.kind = base->kind;
  job->out->type.numeric = number == 0x6C;
  if (read_props(job, base->props) < 0) {
    return -1;
  }
  size_t head = left - job->reader->left;
  return head > len ? tdsd_rpc_does_not_fit(job, "a length", len)
                    : read_data(job, base->props, len - head);
}
