/* SPDX-License-Identifier: MIT */
#include "server_rpc_value.h"

#include <string.h>

#include "server_collation.h"
#include "server_rpc_job.h"
#include "server_text.h"

const uint8_t *tdsd_read_bytes(struct tdsd_reader *reader, size_t n) {
  if (reader->over || n > reader->left) {
    reader->over = true;
    return NULL;
  }
  const uint8_t *bytes = reader->at;
  reader->at += n;
  reader->left -= n;
  return bytes;
}

uint64_t tdsd_read_le(struct tdsd_reader *reader, size_t n) {
  const uint8_t *bytes = tdsd_read_bytes(reader, n);
  uint64_t value = 0;
  for (size_t i = 0; bytes != NULL && i < n; i++) {
    value |= (uint64_t)bytes[i] << (8 * i);
  }
  return value;
}

uint32_t tdsd_read_u8(struct tdsd_reader *reader) {
  return (uint32_t)tdsd_read_le(reader, 1);
}

uint32_t tdsd_read_u16(struct tdsd_reader *reader) {
  return (uint32_t)tdsd_read_le(reader, 2);
}

uint32_t tdsd_read_u32(struct tdsd_reader *reader) {
  return (uint32_t)tdsd_read_le(reader, 4);
}

uint64_t tdsd_read_u64(struct tdsd_reader *reader) {
  return tdsd_read_le(reader, 8);
}

/* How the lengths of a wire type are written. */
enum shape {
  SHAPE_FIXED,   /* no length at all */
  SHAPE_BYTE,    /* size(1); value len(1) */
  SHAPE_DECIMAL, /* size(1) precision scale; value len(1) */
  SHAPE_DATE,    /* nothing; value len(1) */
  SHAPE_SCALE,   /* scale(1); value len(1) */
  SHAPE_SHORT,   /* maxlen(2) [collation]; value len(2), or PLP */
  SHAPE_LONG,    /* maxlen(4) [collation]; value len(4) */
  SHAPE_XML,     /* schema; PLP */
  SHAPE_VARIANT, /* maxlen(4); value len(4) */
};

static const struct wire_type {
  uint8_t type;
  uint8_t width; /* of fixed types */
  enum shape shape;
  enum tdsd_kind kind;
} wire_types[] = {
    {0x30, 1, SHAPE_FIXED, TDSD_TINYINT},
    {0x32, 1, SHAPE_FIXED, TDSD_BIT},
    {0x34, 2, SHAPE_FIXED, TDSD_SMALLINT},
    {0x38, 4, SHAPE_FIXED, TDSD_INT},
    {0x7F, 8, SHAPE_FIXED, TDSD_BIGINT},
    {0x3B, 4, SHAPE_FIXED, TDSD_REAL},
    {0x3E, 8, SHAPE_FIXED, TDSD_FLOAT},
    {0x3C, 8, SHAPE_FIXED, TDSD_MONEY},
    {0x7A, 4, SHAPE_FIXED, TDSD_SMALLMONEY},
    {0x3D, 8, SHAPE_FIXED, TDSD_DATETIME},
    {0x3A, 4, SHAPE_FIXED, TDSD_SMALLDATETIME},
    {0x26, 0, SHAPE_BYTE, TDSD_BIGINT},
    {0x68, 0, SHAPE_BYTE, TDSD_BIT},
    {0x6D, 0, SHAPE_BYTE, TDSD_FLOAT},
    {0x6E, 0, SHAPE_BYTE, TDSD_MONEY},
    {0x6F, 0, SHAPE_BYTE, TDSD_DATETIME},
    {0x24, 0, SHAPE_BYTE, TDSD_GUID},
    {0x6A, 0, SHAPE_DECIMAL, TDSD_DECIMAL},
    {0x6C, 0, SHAPE_DECIMAL, TDSD_DECIMAL},
    {0x28, 0, SHAPE_DATE, TDSD_DATE},
    {0x29, 0, SHAPE_SCALE, TDSD_TIME},
    {0x2A, 0, SHAPE_SCALE, TDSD_DATETIME2},
    {0x2B, 0, SHAPE_SCALE, TDSD_DATETIMEOFFSET},
    {0xA7, 0, SHAPE_SHORT, TDSD_VARCHAR},
    {0xAF, 0, SHAPE_SHORT, TDSD_CHAR},
    {0xE7, 0, SHAPE_SHORT, TDSD_NVARCHAR},
    {0xEF, 0, SHAPE_SHORT, TDSD_NCHAR},
    {0xA5, 0, SHAPE_SHORT, TDSD_VARBINARY},
    {0xAD, 0, SHAPE_SHORT, TDSD_BINARY},
    {0x23, 0, SHAPE_LONG, TDSD_VARCHAR},
    {0x63, 0, SHAPE_LONG, TDSD_NVARCHAR},
    {0x22, 0, SHAPE_LONG, TDSD_VARBINARY},
    {0xF1, 0, SHAPE_XML, TDSD_NVARCHAR},
    {0x62, 0, SHAPE_VARIANT, TDSD_VARIANT},
};

static const struct wire_type *find_type(uint32_t type) {
  for (size_t i = 0; i < sizeof wire_types / sizeof wire_types[0]; i++) {
    if (wire_types[i].type == type) {
      return &wire_types[i];
    }
  }
  return NULL;
}

int tdsd_rpc_does_not_fit(const struct tdsd_rpc_job *job,
                          const char *what,
                          size_t n) {
  return tdsd_problem_set(job->problem, "a %s parameter with %s of %zu",
                          tdsd_kind_name(job->out->type.kind), what, n);
}

static int no_memory(const struct tdsd_rpc_job *job) {
  return tdsd_problem_set(job->problem, "no memory for a parameter");
}

/* Joins PLP chunks; what was announced is only checked, never allocated. */
static int read_plp(const struct tdsd_rpc_job *job,
                    const uint8_t **out_bytes,
                    size_t *out_len) {
  uint64_t total = tdsd_read_u64(job->reader);
  if (total == UINT64_MAX) {
    job->out->is_null = true;
    return 0;
  }
  uint8_t *joined = tdsd_arena_take(job->arena, job->reader->left + 1);
  if (joined == NULL) {
    return no_memory(job);
  }
  size_t len = 0;
  for (;;) {
    size_t chunk = tdsd_read_u32(job->reader);
    const uint8_t *bytes = tdsd_read_bytes(job->reader, chunk);
    if (bytes == NULL) {
      return tdsd_rpc_does_not_fit(job, "a chunk", chunk);
    }
    if (chunk == 0) {
      break;
    }
    memcpy(joined + len, bytes, chunk);
    len += chunk;
  }
  if (total != UINT64_MAX - 1 && total != len) {
    return tdsd_rpc_does_not_fit(job, "another length than the announced one",
                                 len);
  }
  *out_bytes = joined;
  *out_len = len;
  return 0;
}

int tdsd_rpc_take_string(const struct tdsd_rpc_job *job,
                         const uint8_t *bytes,
                         size_t len) {
  struct tdsd_value *out = job->out;
  char *copy = tdsd_arena_take(job->arena, 3 * len + 1);
  if (copy == NULL) {
    return no_memory(job);
  }
  if (tdsd_kind_is_wide(out->type.kind)) {
    if (len % 2 != 0) {
      return tdsd_rpc_does_not_fit(job, "an odd length", len);
    }
    out->len = tdsd_text_from_w16(bytes, len / 2, copy);
  } else if (tdsd_kind_is_text(out->type.kind)) {
    out->len = tdsd_collation_decode(out->type.collation, bytes, len, copy);
  } else if (len != 0) {
    memcpy(copy, bytes, len);
    out->len = len;
  }
  out->bytes = copy;
  return 0;
}

static void read_collation(const struct tdsd_rpc_job *job) {
  if (tdsd_kind_is_text(job->out->type.kind)) {
    const uint8_t *bytes = tdsd_read_bytes(job->reader, 5);
    job->out->type.collation = bytes == NULL ? 0 : tdsd_collation_of(bytes);
  }
}

static int read_short(const struct tdsd_rpc_job *job) {
  struct tdsd_type *type = &job->out->type;
  uint32_t most = tdsd_read_u16(job->reader);
  const uint8_t *bytes = NULL;
  size_t len = 0;
  read_collation(job);
  if (most == 0xFFFF) {
    type->size = TDSD_SIZE_MAX;
    if (read_plp(job, &bytes, &len) < 0) {
      return -1;
    }
  } else {
    uint32_t units = tdsd_kind_is_wide(type->kind) ? most / 2 : most;
    type->size = units == 0 ? 1 : units;
    len = tdsd_read_u16(job->reader);
    job->out->is_null = len == 0xFFFF;
    if (!job->out->is_null) {
      bytes = tdsd_read_bytes(job->reader, len);
      if (bytes == NULL || len > most) {
        return tdsd_rpc_does_not_fit(job, "a length", len);
      }
    }
  }
  return job->out->is_null ? 0 : tdsd_rpc_take_string(job, bytes, len);
}

static int read_long(const struct tdsd_rpc_job *job) {
  job->out->type.size = TDSD_SIZE_MAX;
  job->out->type.form = TDSD_FORM_OLD;
  (void)tdsd_read_u32(job->reader);
  read_collation(job);
  size_t len = tdsd_read_u32(job->reader);
  if (len == 0xFFFFFFFF) {
    job->out->is_null = true;
    return 0;
  }
  const uint8_t *bytes = tdsd_read_bytes(job->reader, len);
  return bytes == NULL ? tdsd_rpc_does_not_fit(job, "a length", len)
                       : tdsd_rpc_take_string(job, bytes, len);
}

static int read_byte(const struct tdsd_rpc_job *job) {
  struct tdsd_value *out = job->out;
  size_t size = tdsd_read_u8(job->reader);
  size_t len = tdsd_read_u8(job->reader);
  if (len > size) {
    return tdsd_rpc_does_not_fit(job, "a length", len);
  }
  if (len == 0) {
    /* NULL still has the type that its size tells. */
    out->is_null = true;
    tdsd_rpc_narrow(out, size);
    return 0;
  }
  if (out->type.kind != TDSD_GUID) {
    return tdsd_rpc_take_simple(job, len);
  }
  const uint8_t *bytes = tdsd_read_bytes(job->reader, len);
  if (bytes == NULL || len != 16) {
    return tdsd_rpc_does_not_fit(job, "a length", len);
  }
  memcpy(out->guid, bytes, 16);
  return 0;
}

static int read_decimal(const struct tdsd_rpc_job *job) {
  struct tdsd_value *out = job->out;
  (void)tdsd_read_u8(job->reader);
  out->type.precision = (uint8_t)tdsd_read_u8(job->reader);
  out->type.scale = (uint8_t)tdsd_read_u8(job->reader);
  return tdsd_rpc_take_decimal(job, tdsd_read_u8(job->reader));
}

static int read_date(const struct tdsd_rpc_job *job) {
  bool scaled = job->out->type.kind != TDSD_DATE;
  job->out->type.scale = scaled ? (uint8_t)tdsd_read_u8(job->reader) : 0;
  return tdsd_rpc_take_date(job, tdsd_read_u8(job->reader));
}

/* xml: a schema or none, then UTF-16 that may begin with a byte order mark. */
static int read_xml(const struct tdsd_rpc_job *job) {
  const uint8_t *bytes = NULL;
  size_t len = 0;
  job->out->type.size = TDSD_SIZE_MAX;
  job->out->type.form = TDSD_FORM_XML;
  if (tdsd_read_u8(job->reader) != 0) {
    (void)tdsd_read_bytes(job->reader, 2u * tdsd_read_u8(job->reader));
    (void)tdsd_read_bytes(job->reader, 2u * tdsd_read_u8(job->reader));
    (void)tdsd_read_bytes(job->reader, 2u * tdsd_read_u16(job->reader));
  }
  if (read_plp(job, &bytes, &len) < 0) {
    return -1;
  }
  if (job->out->is_null) {
    return 0;
  }
  size_t mark = len >= 2 && bytes[0] == 0xFF && bytes[1] == 0xFE ? 2 : 0;
  return tdsd_rpc_take_string(job, bytes + mark, len - mark);
}

static int read_shape(const struct tdsd_rpc_job *job,
                      const struct wire_type *type) {
  switch (type->shape) {
  case SHAPE_FIXED:
    return tdsd_rpc_take_simple(job, type->width);
  case SHAPE_BYTE:
    return read_byte(job);
  case SHAPE_DECIMAL:
    return read_decimal(job);
  case SHAPE_DATE:
  case SHAPE_SCALE:
    return read_date(job);
  case SHAPE_SHORT:
    return read_short(job);
  case SHAPE_LONG:
    return read_long(job);
  case SHAPE_XML:
    return read_xml(job);
  case SHAPE_VARIANT:
  default:
    return tdsd_rpc_read_variant(job);
  }
}

/* Types that clients may send and this server does not take. */
static bool refuse_type(uint32_t number, struct tdsd_fault *fault) {
  const char *what = number == 0xF3   ? "Table-valued parameters are"
                     : number == 0xF0 ? "Parameters of CLR types (UDT) are"
                     : number == 0xF4 ? "Parameters of type json are"
                     : number == 0xF5 ? "Parameters of type vector are"
                                      : NULL;
  if (what == NULL) {
    return false;
  }
  (void)tdsd_fault_set(fault, 40000, 16, "%s not supported by this server.",
                       what);
  return true;
}

int tdsd_rpc_value(struct tdsd_reader *reader,
                   struct tdsd_arena *arena,
                   struct tdsd_value *out,
                   struct tdsd_fault *fault,
                   struct tdsd_problem *problem) {
  uint32_t number = tdsd_read_u8(reader);
  if (refuse_type(number, fault)) {
    return 0;
  }
  const struct wire_type *type = find_type(number);
  if (type == NULL) {
    return tdsd_problem_set(problem, "a parameter of unknown type 0x%02x",
                            (unsigned)number);
  }
  struct tdsd_value value = {.type = {.kind = type->kind, .nullable = true}};
  value.bytes = "";
  value.type.numeric = number == 0x6C;
  struct tdsd_rpc_job job = {reader, arena, &value, problem};
  if (read_shape(&job, type) < 0) {
    return -1;
  }
  if (reader->over) {
    return tdsd_problem_set(problem, "a parameter that ends too early");
  }
  *out = value;
  return 0;
}
