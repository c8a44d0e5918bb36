/* SPDX-License-Identifier: MIT */
/* Types of scripts: names of T-SQL and names of the wire to TYPE_INFO
 * (MS-TDS 2.2.5.4, 2.2.5.6). */
#include <stdio.h>
#include <string.h>

#include "server_reply.h"
#include "server_script_parse.h"

#define PLP_SIZE     0xFFFFu
#define VARIANT_SIZE 8009u

/* How the rest of TYPE_INFO is written and what may stand in parentheses. */
enum rest {
  REST_NONE,
  REST_WIDTH,   /* the width; a name like intn has it in parentheses */
  REST_DECIMAL, /* (precision, scale) */
  REST_SCALE,   /* (scale) */
  REST_LEN1,    /* (n) in one byte */
  REST_LEN2,    /* (n) or (max) in two */
  REST_BLOB,    /* four bytes */
  REST_VARIANT,
  REST_XML, /* ("db", "owner", "collection") */
  REST_UDT, /* ("db", "schema", "type", "assembly") */
  REST_VECTOR,
  REST_RAW, /* (0x..) is TYPE_INFO */
};

struct row {
  const char *name;
  uint8_t wire;     /* not null; 0 = only with */
  uint8_t wire_len; /* with a length */
  uint8_t width;    /* of a fixed type */
  enum rest rest;
  enum tdsd_script_shape shape; /* with a length */
  enum tdsd_script_data data;
  enum tdsd_kind kind; /* of TDSD_DATA_SIMPLE */
  uint8_t unit;        /* bytes that one of (n) counts */
  bool collated;
};

#define FIXED(name, wire, wire_len, width, kind)              \
  {                                                           \
    name, wire, wire_len, width, REST_WIDTH, TDSD_SHAPE_LEN1, \
        TDSD_DATA_SIMPLE, kind, 0, false                      \
  }
#define WITH_LEN(name, wire, kind)                                            \
  {                                                                           \
    name, 0, wire, 0, REST_WIDTH, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE, kind, 0, \
        false                                                                 \
  }

static const struct row rows[] = {
    FIXED("bit", 0x32, 0x68, 1, TDSD_BIT),
    FIXED("tinyint", 0x30, 0x26, 1, TDSD_TINYINT),
    FIXED("smallint", 0x34, 0x26, 2, TDSD_SMALLINT),
    FIXED("int", 0x38, 0x26, 4, TDSD_INT),
    FIXED("bigint", 0x7F, 0x26, 8, TDSD_BIGINT),
    FIXED("real", 0x3B, 0x6D, 4, TDSD_REAL),
    FIXED("float", 0x3E, 0x6D, 8, TDSD_FLOAT),
    FIXED("money", 0x3C, 0x6E, 8, TDSD_MONEY),
    FIXED("smallmoney", 0x7A, 0x6E, 4, TDSD_SMALLMONEY),
    FIXED("datetime", 0x3D, 0x6F, 8, TDSD_DATETIME),
    FIXED("smalldatetime", 0x3A, 0x6F, 4, TDSD_SMALLDATETIME),
    /* Types that have their length even where they are not nullable; the kind
     * is that of the greatest width. */
    WITH_LEN("bitn", 0x68, TDSD_BIT),
    WITH_LEN("intn", 0x26, TDSD_BIGINT),
    WITH_LEN("fltn", 0x6D, TDSD_FLOAT),
    WITH_LEN("moneyn", 0x6E, TDSD_MONEY),
    WITH_LEN("datetimn", 0x6F, TDSD_DATETIME),
    {"guid", 0, 0x24, 16, REST_WIDTH, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE,
     TDSD_GUID, 0, false},
    {"uniqueidentifier", 0, 0x24, 16, REST_WIDTH, TDSD_SHAPE_LEN1,
     TDSD_DATA_SIMPLE, TDSD_GUID, 0, false},
    {"decimal", 0, 0x6A, 0, REST_DECIMAL, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE,
     TDSD_DECIMAL, 0, false},
    {"numeric", 0, 0x6C, 0, REST_DECIMAL, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE,
     TDSD_DECIMAL, 0, false},
    {"olddecimal", 0, 0x37, 0, REST_DECIMAL, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE,
     TDSD_DECIMAL, 0, false},
    {"oldnumeric", 0, 0x3F, 0, REST_DECIMAL, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE,
     TDSD_DECIMAL, 0, false},
    {"date", 0, 0x28, 3, REST_NONE, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE,
     TDSD_DATE, 0, false},
    {"time", 0, 0x29, 0, REST_SCALE, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE,
     TDSD_TIME, 0, false},
    {"datetime2", 0, 0x2A, 0, REST_SCALE, TDSD_SHAPE_LEN1, TDSD_DATA_SIMPLE,
     TDSD_DATETIME2, 0, false},
    {"datetimeoffset", 0, 0x2B, 0, REST_SCALE, TDSD_SHAPE_LEN1,
     TDSD_DATA_SIMPLE, TDSD_DATETIMEOFFSET, 0, false},
    {"varchar", 0, 0xA7, 0, REST_LEN2, TDSD_SHAPE_LEN2, TDSD_DATA_NARROW,
     TDSD_VARCHAR, 1, true},
    {"char", 0, 0xAF, 0, REST_LEN2, TDSD_SHAPE_LEN2, TDSD_DATA_NARROW,
     TDSD_CHAR, 1, true},
    {"nvarchar", 0, 0xE7, 0, REST_LEN2, TDSD_SHAPE_LEN2, TDSD_DATA_WIDE,
     TDSD_NVARCHAR, 2, true},
    {"nchar", 0, 0xEF, 0, REST_LEN2, TDSD_SHAPE_LEN2, TDSD_DATA_WIDE,
     TDSD_NCHAR, 2, true},
    {"varbinary", 0, 0xA5, 0, REST_LEN2, TDSD_SHAPE_LEN2, TDSD_DATA_BYTES,
     TDSD_VARBINARY, 1, false},
    {"binary", 0, 0xAD, 0, REST_LEN2, TDSD_SHAPE_LEN2, TDSD_DATA_BYTES,
     TDSD_BINARY, 1, false},
    {"rowversion", 0, 0xAD, 8, REST_LEN2, TDSD_SHAPE_LEN2, TDSD_DATA_BYTES,
     TDSD_BINARY, 1, false},
    {"timestamp", 0, 0xAD, 8, REST_LEN2, TDSD_SHAPE_LEN2, TDSD_DATA_BYTES,
     TDSD_BINARY, 1, false},
    {"oldvarchar", 0, 0x27, 0, REST_LEN1, TDSD_SHAPE_LEN1, TDSD_DATA_NARROW,
     TDSD_VARCHAR, 1, false},
    {"oldchar", 0, 0x2F, 0, REST_LEN1, TDSD_SHAPE_LEN1, TDSD_DATA_NARROW,
     TDSD_CHAR, 1, false},
    {"oldvarbinary", 0, 0x25, 0, REST_LEN1, TDSD_SHAPE_LEN1, TDSD_DATA_BYTES,
     TDSD_VARBINARY, 1, false},
    {"oldbinary", 0, 0x2D, 0, REST_LEN1, TDSD_SHAPE_LEN1, TDSD_DATA_BYTES,
     TDSD_BINARY, 1, false},
    {"text", 0, 0x23, 0, REST_BLOB, TDSD_SHAPE_BLOB, TDSD_DATA_NARROW,
     TDSD_VARCHAR, 1, true},
    {"ntext", 0, 0x63, 0, REST_BLOB, TDSD_SHAPE_BLOB, TDSD_DATA_WIDE,
     TDSD_NVARCHAR, 2, true},
    {"image", 0, 0x22, 0, REST_BLOB, TDSD_SHAPE_BLOB, TDSD_DATA_BYTES,
     TDSD_VARBINARY, 1, false},
    {"sql_variant", 0, 0x62, 0, REST_VARIANT, TDSD_SHAPE_VARIANT,
     TDSD_DATA_VARIANT, TDSD_INT, 0, false},
    {"xml", 0, 0xF1, 0, REST_XML, TDSD_SHAPE_PLP, TDSD_DATA_XML, TDSD_NVARCHAR,
     0, false},
    {"udt", 0, 0xF0, 0, REST_UDT, TDSD_SHAPE_PLP, TDSD_DATA_BYTES,
     TDSD_VARBINARY, 0, false},
    {"json", 0, 0xF4, 0, REST_NONE, TDSD_SHAPE_PLP, TDSD_DATA_UTF8,
     TDSD_VARCHAR, 0, false},
    {"vector", 0, 0xF5, 0, REST_VECTOR, TDSD_SHAPE_LEN2, TDSD_DATA_VECTOR,
     TDSD_VARBINARY, 0, false},
    {"null", 0, 0x1F, 0, REST_NONE, TDSD_SHAPE_NONE, TDSD_DATA_NULL, TDSD_INT,
     0, false},
    {"raw", 0, 0, 0, REST_RAW, TDSD_SHAPE_RAW, TDSD_DATA_BYTES, TDSD_INT, 0,
     false},
};

static const struct row *find_row(const char *name) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(rows[i].name, name) == 0) {
      return &rows[i];
    }
  }
  return NULL;
}

void tdsd_script_type_fini(struct tdsd_script_type *type) {
  tdsd_buf_fini(&type->info);
}

/* The kind that fits a width, for intn(2) and the like. */
static enum tdsd_kind kind_of_width(enum tdsd_kind widest, uint64_t width) {
  if (widest == TDSD_BIGINT) {
    return width == 1   ? TDSD_TINYINT
           : width == 2 ? TDSD_SMALLINT
           : width == 4 ? TDSD_INT
                        : TDSD_BIGINT;
  }
  if (width != 4) {
    return widest;
  }
  return widest == TDSD_FLOAT      ? TDSD_REAL
         : widest == TDSD_MONEY    ? TDSD_SMALLMONEY
         : widest == TDSD_DATETIME ? TDSD_SMALLDATETIME
                                   : widest;
}

static bool width_exists(const struct row *row, uint64_t width) {
  switch (row->wire_len) {
  case 0x68:
    return width == 1;
  case 0x26:
    return width == 1 || width == 2 || width == 4 || width == 8;
  default:
    return width == 4 || width == 8;
  }
}

/* The code of a sql_variant's base: always that without a length. */
static uint8_t base_of(const struct row *row, enum tdsd_kind kind) {
  if (row->rest != REST_WIDTH) {
    bool other = row->data == TDSD_DATA_SIMPLE || row->rest == REST_LEN2;
    return other ? row->wire_len : 0;
  }
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (rows[i].wire != 0 && rows[i].kind == kind) {
      return rows[i].wire;
    }
  }
  return row->wire_len; /* uniqueidentifier */
}

static int read_width(struct tdsd_script_parser *parser,
                      const struct row *row,
                      struct tdsd_script_type *out) {
  uint64_t width = row->width;
  if (width == 0) {
    if (tdsd_script_expect_sign(parser, '(') < 0) {
      return -1;
    }
    struct tdsd_script_token at = parser->token;
    if (tdsd_script_number(parser, 1, 8, &width) < 0) {
      return -1;
    }
    if (!width_exists(row, width)) {
      parser->token = at;
      return tdsd_script_expected(parser, "a width that the type has");
    }
    if (tdsd_script_expect_sign(parser, ')') < 0) {
      return -1;
    }
  }
  out->size = (uint32_t)width;
  out->simple.kind = kind_of_width(row->kind, width);
  return 0;
}

static int read_decimal(struct tdsd_script_parser *parser,
                        const struct row *row,
                        struct tdsd_script_type *out) {
  uint64_t precision = 18;
  uint64_t scale = 0;
  if (tdsd_script_accept_sign(parser, '(')) {
    if (tdsd_script_number(parser, 1, 38, &precision) < 0) {
      return -1;
    }
    if (tdsd_script_accept_sign(parser, ',') &&
        tdsd_script_number(parser, 0, precision, &scale) < 0) {
      return -1;
    }
    if (tdsd_script_expect_sign(parser, ')') < 0) {
      return -1;
    }
  }
  out->simple.precision = (uint8_t)precision;
  out->simple.scale = (uint8_t)scale;
  out->simple.numeric = row->wire_len == 0x6C;
  out->size = precision <= 9    ? 5
              : precision <= 19 ? 9
              : precision <= 28 ? 13
                                : 17;
  return 0;
}

static int read_scale(struct tdsd_script_parser *parser,
                      struct tdsd_script_type *out) {
  uint64_t scale = 7;
  if (tdsd_script_accept_sign(parser, '(') &&
      (tdsd_script_number(parser, 0, 7, &scale) < 0 ||
       tdsd_script_expect_sign(parser, ')') < 0)) {
    return -1;
  }
  out->simple.scale = (uint8_t)scale;
  return 0;
}

/* (n), (max) or nothing, which is 1. */
static int read_length(struct tdsd_script_parser *parser,
                       const struct row *row,
                       struct tdsd_script_type *out) {
  uint64_t most = row->rest == REST_LEN1 ? 255 : 0xFFFEu / row->unit;
  uint64_t n = row->width != 0 ? row->width : 1;
  if (row->width == 0 && tdsd_script_accept_sign(parser, '(')) {
    bool chunks =
        row->rest == REST_LEN2 && tdsd_script_accept_word(parser, "max");
    if (!chunks && tdsd_script_number(parser, 0, most, &n) < 0) {
      return -1;
    }
    if (chunks) {
      out->shape = TDSD_SHAPE_PLP;
      n = PLP_SIZE;
    }
    if (tdsd_script_expect_sign(parser, ')') < 0) {
      return -1;
    }
  }
  out->size = (uint32_t)(out->shape == TDSD_SHAPE_PLP ? n : n * row->unit);
  return 0;
}

/* ("a", "b", ..) appended as B_VARCHARs, the last as US_VARCHAR. */
static int read_names(struct tdsd_script_parser *parser,
                      unsigned n,
                      struct tdsd_buf *out) {
  for (unsigned i = 0; i < n; i++) {
    const char *text = NULL;
    if ((i != 0 && tdsd_script_expect_sign(parser, ',') < 0) ||
        tdsd_script_string(parser, &text) < 0) {
      return -1;
    }
    if (i + 1 < n) {
      tdsd_buf_b_varchar(out, text);
    } else {
      tdsd_buf_us_varchar(out, text);
    }
  }
  return tdsd_script_expect_sign(parser, ')');
}

static int read_xml(struct tdsd_script_parser *parser,
                    struct tdsd_script_type *out) {
  bool schema = tdsd_script_accept_sign(parser, '(');
  tdsd_buf_u8(&out->info, out->wire);
  tdsd_buf_u8(&out->info, schema ? 1 : 0);
  return schema ? read_names(parser, 3, &out->info) : 0;
}

static int read_udt(struct tdsd_script_parser *parser,
                    struct tdsd_script_type *out) {
  tdsd_buf_u8(&out->info, out->wire);
  tdsd_buf_u16(&out->info, PLP_SIZE);
  if (tdsd_script_expect_sign(parser, '(') < 0) {
    return -1;
  }
  return read_names(parser, 4, &out->info);
}

static int read_raw(struct tdsd_script_parser *parser,
                    struct tdsd_script_type *out) {
  const uint8_t *bytes = NULL;
  size_t len = 0;
  if (tdsd_script_expect_sign(parser, '(') < 0 ||
      tdsd_script_bytes(parser, &bytes, &len) < 0) {
    return -1;
  }
  tdsd_buf_bytes(&out->info, bytes, len);
  return tdsd_script_expect_sign(parser, ')');
}

static int read_vector(struct tdsd_script_parser *parser,
                       struct tdsd_script_type *out) {
  uint64_t dimensions = 0;
  if (tdsd_script_expect_sign(parser, '(') < 0 ||
      tdsd_script_number(parser, 1, 1998, &dimensions) < 0) {
    return -1;
  }
  out->size = (uint32_t)(8 + 4 * dimensions);
  return tdsd_script_expect_sign(parser, ')');
}

static int read_rest(struct tdsd_script_parser *parser,
                     const struct row *row,
                     struct tdsd_script_type *out) {
  switch (row->rest) {
  case REST_WIDTH:
    return read_width(parser, row, out);
  case REST_DECIMAL:
    return read_decimal(parser, row, out);
  case REST_SCALE:
    return read_scale(parser, out);
  case REST_LEN1:
  case REST_LEN2:
    return read_length(parser, row, out);
  case REST_BLOB:
    out->size = row->unit == 2 ? 0x7FFFFFFE : 0x7FFFFFFF;
    return 0;
  case REST_VARIANT:
    out->size = VARIANT_SIZE;
    return 0;
  case REST_XML:
    return read_xml(parser, out);
  case REST_UDT:
    return read_udt(parser, out);
  case REST_VECTOR:
    return read_vector(parser, out);
  case REST_RAW:
    return read_raw(parser, out);
  case REST_NONE:
  default:
    return 0;
  }
}

void tdsd_script_type_finish(struct tdsd_script_type *type) {
  const struct row *row = find_row(type->name);
  struct tdsd_buf *info = &type->info;
  if (row == NULL || row->rest == REST_XML || row->rest == REST_UDT ||
      row->rest == REST_RAW) {
    return;
  }
  if (row->wire != 0 && !type->nullable) {
    type->wire = row->wire;
    type->shape = TDSD_SHAPE_FIXED;
  }
  tdsd_buf_u8(info, type->wire);
  if (type->shape == TDSD_SHAPE_FIXED) {
    return;
  }
  if (row->rest == REST_LEN2 || row->rest == REST_VECTOR) {
    tdsd_buf_u16(info, type->size);
  } else if (row->rest == REST_BLOB || row->rest == REST_VARIANT) {
    tdsd_buf_u32(info, type->size);
  } else if (row->rest != REST_NONE && row->rest != REST_SCALE) {
    tdsd_buf_u8(info, type->size);
  }
  if (row->rest == REST_DECIMAL) {
    tdsd_buf_u8(info, type->simple.precision);
  }
  if (row->rest == REST_DECIMAL || row->rest == REST_SCALE) {
    tdsd_buf_u8(info, type->simple.scale);
  }
  if (row->rest == REST_VECTOR) {
    tdsd_buf_u8(info, 0); /* float32 */
  }
  if (row->collated) {
    tdsd_buf_bytes(info, type->collation, sizeof type->collation);
  }
}

int tdsd_script_collation_read(struct tdsd_script_parser *parser,
                               struct tdsd_script_type *type) {
  if (parser->token.lexeme != TDSD_SL_HEX || parser->token.len != 5) {
    return tdsd_script_expected(parser, "a collation as 0x and ten digits");
  }
  memcpy(type->collation, parser->token.text, 5);
  return tdsd_script_next(parser);
}

int tdsd_script_type_begin(struct tdsd_script_parser *parser,
                           struct tdsd_script_type *out) {
  const struct row *row = parser->token.lexeme == TDSD_SL_WORD
                              ? find_row(parser->token.text)
                              : NULL;
  *out = (struct tdsd_script_type){.name = ""};
  if (row == NULL) {
    return tdsd_script_expected(parser, "a type such as int or nvarchar(20)");
  }
  *out = (struct tdsd_script_type){.name = row->name,
                                   .wire = row->wire_len,
                                   .shape = row->shape,
                                   .data = row->data,
                                   .simple = {.kind = row->kind}};
  memcpy(out->collation, tdsd_collation, sizeof out->collation);
  if (tdsd_script_next(parser) < 0 || read_rest(parser, row, out) < 0) {
    return -1;
  }
  out->base = base_of(row, out->simple.kind);
  return 0;
}

int tdsd_script_type_read(struct tdsd_script_parser *parser,
                          struct tdsd_script_type *out) {
  if (tdsd_script_type_begin(parser, out) < 0) {
    tdsd_script_type_fini(out);
    return -1;
  }
  if (tdsd_script_accept_option(parser, "collation") &&
      tdsd_script_collation_read(parser, out) < 0) {
    tdsd_script_type_fini(out);
    return -1;
  }
  tdsd_script_type_finish(out);
  return 0;
}
