/* SPDX-License-Identifier: MIT */
/* Values of scripts as rows carry them (MS-TDS 2.2.5.2): a value is read into
 * its bytes, then framed by the type's shape.  Numbers, dates and the like are
 * converted by the rules of T-SQL from their text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server_const.h"
#include "server_reply.h"
#include "server_script_parse.h"
#include "server_text.h"

/* A value on its way. */
struct cell {
  struct tdsd_buf bytes; /* without any length */
  bool is_null;
  bool raw;       /* bytes are all that stands in the row */
  bool chunked;   /* the following three were given */
  uint64_t chunk; /* bytes of a chunk; 0 = one chunk */
  uint64_t total; /* announced; UINT64_MAX - 1 = unknown */
  bool no_end;    /* without the empty chunk at the end */
};

#define PLP_UNKNOWN (UINT64_MAX - 1)

static int read_plain(struct tdsd_script_parser *parser,
                      const struct tdsd_script_type *type,
                      struct tdsd_buf *out);

static int too_large(struct tdsd_script_parser *parser) {
  return tdsd_script_error(parser, "expected a value of at most %u bytes",
                           (unsigned)TDSD_CAP_VALUE);
}

/* Converts the text of the token at hand by T-SQL's rules. */
static int convert(struct tdsd_script_parser *parser,
                   const struct tdsd_script_type *type,
                   struct tdsd_buf *out) {
  const struct tdsd_script_token *token = &parser->token;
  struct tdsd_value text = {
      .type = {.kind = TDSD_NVARCHAR, .size = TDSD_SIZE_MAX, .nullable = true},
      .bytes = token->text,
      .len = token->len};
  struct tdsd_value value;
  struct tdsd_fault fault;
  struct tdsd_type to = type->simple;
  to.nullable = true;
  if (tdsd_convert(&text, &to, 0, &parser->arena, &value, &fault) < 0) {
    char what[160];
    (void)snprintf(what, sizeof what, "a value of type %s (%.100s)", type->name,
                   fault.text);
    return tdsd_script_expected(parser, what);
  }
  struct tdsd_buf framed = {0};
  const struct tdsd_writer writer = {.reply = &framed, .version = TDSD_V74};
  tdsd_write_value(&writer, &to, &value);
  size_t len = tdsd_buf_len(&framed);
  if (len > 1) { /* behind the length byte */
    tdsd_buf_bytes(out, tdsd_buf_at(&framed) + 1, len - 1);
  }
  tdsd_buf_fini(&framed);
  return tdsd_script_next(parser);
}

/* nan, inf and neginf, which have no text in T-SQL.  Returns 1, 0 or -1. */
static int read_special(struct tdsd_script_parser *parser,
                        const struct tdsd_script_type *type,
                        struct tdsd_buf *out) {
  bool nan = tdsd_script_is_word(parser, "nan");
  bool negative = tdsd_script_is_word(parser, "neginf");
  if ((!nan && !negative && !tdsd_script_is_word(parser, "inf")) ||
      type->data != TDSD_DATA_SIMPLE) {
    return 0;
  }
  if (type->simple.kind == TDSD_REAL) {
    tdsd_buf_u32(out, nan ? 0x7FC00000u : negative ? 0xFF800000u : 0x7F800000u);
  } else if (type->simple.kind == TDSD_FLOAT) {
    tdsd_buf_u64(out, nan        ? UINT64_C(0x7FF8000000000000)
                      : negative ? UINT64_C(0xFFF0000000000000)
                                 : UINT64_C(0x7FF0000000000000));
  } else {
    return 0;
  }
  return tdsd_script_next(parser) < 0 ? -1 : 1;
}

/* rep(VALUE, N): the bytes of a value, which is no rep itself, N times. */
static int read_rep(struct tdsd_script_parser *parser,
                    const struct tdsd_script_type *type,
                    struct tdsd_buf *out) {
  struct tdsd_buf one = {0};
  uint64_t n = 0;
  int rc = -1;
  if (tdsd_script_next(parser) == 0 &&
      tdsd_script_expect_sign(parser, '(') == 0 &&
      read_plain(parser, type, &one) == 0 &&
      tdsd_script_expect_sign(parser, ',') == 0 &&
      tdsd_script_number(parser, 0, TDSD_CAP_VALUE, &n) == 0 &&
      tdsd_script_expect_sign(parser, ')') == 0) {
    rc = n * tdsd_buf_len(&one) > TDSD_CAP_VALUE ? too_large(parser) : 0;
  }
  for (uint64_t i = 0; rc == 0 && i < n && tdsd_buf_len(&one) != 0; i++) {
    tdsd_buf_bytes(out, tdsd_buf_at(&one), tdsd_buf_len(&one));
  }
  tdsd_buf_fini(&one);
  return rc;
}

/* [1, 2.5, -3]: header and float32s of a vector. */
static int read_vector(struct tdsd_script_parser *parser,
                       struct tdsd_buf *out) {
  size_t at = tdsd_buf_len(out);
  uint32_t n = 0;
  tdsd_buf_bytes(out, "\xA9\x01\0\0\0\0\0\0", 8);
  if (tdsd_script_next(parser) < 0) {
    return -1;
  }
  while (!tdsd_script_is_sign(parser, ']')) {
    if (n != 0 && tdsd_script_expect_sign(parser, ',') < 0) {
      return -1;
    }
    if (parser->token.lexeme != TDSD_SL_NUMBER) {
      return tdsd_script_expected(parser, "a number or ]");
    }
    float single = strtof(parser->token.text, NULL);
    uint32_t bits = 0;
    memcpy(&bits, &single, sizeof bits);
    tdsd_buf_u32(out, bits);
    n++;
    if (tdsd_script_next(parser) < 0) {
      return -1;
    }
  }
  tdsd_buf_put_u16(out, at + 2, n);
  return tdsd_script_next(parser);
}

static int read_text(struct tdsd_script_parser *parser,
                     const struct tdsd_script_type *type,
                     struct tdsd_buf *out) {
  const struct tdsd_script_token *token = &parser->token;
  switch (type->data) {
  case TDSD_DATA_XML:
    tdsd_buf_u16(out, 0xFEFF); /* servers put a byte order mark in front */
    (void)tdsd_buf_w16(out, token->text, token->len);
    break;
  case TDSD_DATA_WIDE:
    (void)tdsd_buf_w16(out, token->text, token->len);
    break;
  case TDSD_DATA_NARROW:
    if (tdsd_script_narrow(type->collation, token->text, token->len, out) < 0) {
      return tdsd_script_error(parser,
                               "expected text that the collation's code page "
                               "has, found \"%.40s\"",
                               token->text);
    }
    break;
  case TDSD_DATA_UTF8:
  case TDSD_DATA_BYTES:
  case TDSD_DATA_SIMPLE:
  case TDSD_DATA_VECTOR:
  case TDSD_DATA_NULL:
  case TDSD_DATA_VARIANT:
  default:
    tdsd_buf_bytes(out, token->text, token->len);
    break;
  }
  return tdsd_script_next(parser);
}

static int read_plain(struct tdsd_script_parser *parser,
                      const struct tdsd_script_type *type,
                      struct tdsd_buf *out) {
  int special = read_special(parser, type, out);
  if (special != 0) {
    return special < 0 ? -1 : 0;
  }
  if (parser->token.lexeme == TDSD_SL_HEX) {
    tdsd_buf_bytes(out, parser->token.text, parser->token.len);
    return tdsd_script_next(parser);
  }
  bool string = parser->token.lexeme == TDSD_SL_STRING;
  bool number = parser->token.lexeme == TDSD_SL_NUMBER;
  if (type->data == TDSD_DATA_SIMPLE && (string || number)) {
    return convert(parser, type, out);
  }
  if (type->data == TDSD_DATA_VECTOR && tdsd_script_is_sign(parser, '[')) {
    return read_vector(parser, out);
  }
  if (string && type->data != TDSD_DATA_NULL) {
    return read_text(parser, type, out);
  }
  char what[96];
  (void)snprintf(what, sizeof what, "a value of type %s, 0x.., or null",
                 type->name);
  return tdsd_script_expected(parser, what);
}

/* Reads a value that is not null into its bytes. */
static int read_scalar(struct tdsd_script_parser *parser,
                       const struct tdsd_script_type *type,
                       struct tdsd_buf *out) {
  return tdsd_script_is_word(parser, "rep") ? read_rep(parser, type, out)
                                            : read_plain(parser, type, out);
}

/* The properties of a sql_variant's base type. */
static void write_properties(const struct tdsd_script_type *base,
                             size_t len,
                             struct tdsd_buf *out) {
  struct tdsd_buf properties = {0};
  bool text = base->data == TDSD_DATA_NARROW || base->data == TDSD_DATA_WIDE;
  if (text) {
    tdsd_buf_bytes(&properties, base->collation, sizeof base->collation);
  }
  if (text || base->data == TDSD_DATA_BYTES) {
    tdsd_buf_u16(&properties, base->size != 0 ? base->size : (uint32_t)len);
  } else if (base->simple.kind == TDSD_DECIMAL) {
    tdsd_buf_u8(&properties, base->simple.precision);
    tdsd_buf_u8(&properties, base->simple.scale);
  } else if (base->simple.kind == TDSD_TIME ||
             base->simple.kind == TDSD_DATETIME2 ||
             base->simple.kind == TDSD_DATETIMEOFFSET) {
    tdsd_buf_u8(&properties, base->simple.scale);
  }
  tdsd_buf_u8(out, base->base);
  tdsd_buf_u8(out, (uint32_t)tdsd_buf_len(&properties));
  tdsd_buf_bytes(out, tdsd_buf_at(&properties), tdsd_buf_len(&properties));
  tdsd_buf_fini(&properties);
}

/* Servers send decimals at full width in a sql_variant, whatever the precision.
 * What is written as 0x.. stays as it is. */
static int read_base_value(struct tdsd_script_parser *parser,
                           const struct tdsd_script_type *base,
                           struct tdsd_buf *out) {
  bool widen = base->data == TDSD_DATA_SIMPLE &&
               base->simple.kind == TDSD_DECIMAL &&
               parser->token.lexeme != TDSD_SL_HEX;
  int rc = read_scalar(parser, base, out);
  while (rc == 0 && widen && tdsd_buf_len(out) < 17) {
    tdsd_buf_u8(out, 0);
  }
  return rc;
}

/* variant(TYPE, VALUE). */
static int read_variant(struct tdsd_script_parser *parser,
                        struct tdsd_buf *out) {
  struct tdsd_script_type base;
  struct tdsd_buf bytes = {0};
  if (tdsd_script_next(parser) < 0 ||
      tdsd_script_expect_sign(parser, '(') < 0) {
    return -1;
  }
  struct tdsd_script_token at = parser->token;
  if (tdsd_script_type_read(parser, &base) < 0) {
    return -1;
  }
  int rc = 0;
  if (base.base == 0 || base.shape == TDSD_SHAPE_PLP) {
    parser->token = at;
    rc = tdsd_script_expected(parser, "a type that sql_variant can hold");
  } else if (tdsd_script_expect_sign(parser, ',') < 0 ||
             read_base_value(parser, &base, &bytes) < 0 ||
             tdsd_script_expect_sign(parser, ')') < 0) {
    rc = -1;
  } else {
    write_properties(&base, tdsd_buf_len(&bytes), out);
    tdsd_buf_bytes(out, tdsd_buf_at(&bytes), tdsd_buf_len(&bytes));
  }
  tdsd_buf_fini(&bytes);
  tdsd_script_type_fini(&base);
  return rc;
}

/* plp(VALUE [, chunk=N] [, total=N] [, unknown] [, noend]). */
static int read_plp(struct tdsd_script_parser *parser,
                    const struct tdsd_script_type *type,
                    struct cell *cell) {
  cell->chunked = true;
  if (tdsd_script_next(parser) < 0 ||
      tdsd_script_expect_sign(parser, '(') < 0 ||
      read_scalar(parser, type, &cell->bytes) < 0) {
    return -1;
  }
  cell->total = tdsd_buf_len(&cell->bytes);
  while (tdsd_script_accept_sign(parser, ',')) {
    if (tdsd_script_accept_word(parser, "unknown")) {
      cell->total = PLP_UNKNOWN;
    } else if (tdsd_script_accept_word(parser, "noend")) {
      cell->no_end = true;
    } else if (tdsd_script_accept_option(parser, "chunk")) {
      if (tdsd_script_number(parser, 1, UINT32_MAX, &cell->chunk) < 0) {
        return -1;
      }
    } else if (tdsd_script_accept_option(parser, "total")) {
      if (tdsd_script_number(parser, 0, UINT64_MAX, &cell->total) < 0) {
        return -1;
      }
    } else {
      return tdsd_script_expected(parser, "chunk=, total=, unknown or noend");
    }
  }
  return tdsd_script_expect_sign(parser, ')');
}

/* raw(0x..): all that stands in the row, lengths included. */
static int read_raw(struct tdsd_script_parser *parser, struct cell *cell) {
  const uint8_t *bytes = NULL;
  size_t len = 0;
  cell->raw = true;
  if (tdsd_script_next(parser) < 0 ||
      tdsd_script_expect_sign(parser, '(') < 0 ||
      tdsd_script_bytes(parser, &bytes, &len) < 0) {
    return -1;
  }
  tdsd_buf_bytes(&cell->bytes, bytes, len);
  return tdsd_script_expect_sign(parser, ')');
}

static int read_cell(struct tdsd_script_parser *parser,
                     const struct tdsd_script_type *type,
                     struct cell *cell) {
  if (tdsd_script_accept_word(parser, "null")) {
    cell->is_null = true;
    return 0;
  }
  if (tdsd_script_is_word(parser, "raw")) {
    return read_raw(parser, cell);
  }
  if (type->shape == TDSD_SHAPE_RAW) {
    return tdsd_script_expected(parser, "raw(0x..) or null");
  }
  if (type->shape == TDSD_SHAPE_VARIANT) {
    return tdsd_script_is_word(parser, "variant")
               ? read_variant(parser, &cell->bytes)
               : tdsd_script_expected(parser, "variant(TYPE, VALUE) or null");
  }
  if (type->shape == TDSD_SHAPE_PLP && tdsd_script_is_word(parser, "plp")) {
    return read_plp(parser, type, cell);
  }
  return read_scalar(parser, type, &cell->bytes);
}

static void write_plp(const struct cell *cell, struct tdsd_buf *out) {
  const uint8_t *at = tdsd_buf_at(&cell->bytes);
  uint64_t left = tdsd_buf_len(&cell->bytes);
  uint64_t most = cell->chunk != 0 ? cell->chunk : left;
  tdsd_buf_u64(out, cell->chunked ? cell->total : left);
  while (left != 0) {
    uint64_t n = left < most ? left : most;
    tdsd_buf_u32(out, (uint32_t)n);
    tdsd_buf_bytes(out, at, (size_t)n);
    at += n;
    left -= n;
  }
  if (!cell->no_end) {
    tdsd_buf_u32(out, 0);
  }
}

static void write_null(const struct tdsd_script_type *type,
                       struct tdsd_buf *out) {
  switch (type->shape) {
  case TDSD_SHAPE_LEN1:
  case TDSD_SHAPE_BLOB:
    /* Old strings say null by length 0, as numbers do. */
    tdsd_buf_u8(out, 0);
    break;
  case TDSD_SHAPE_LEN2:
    tdsd_buf_u16(out, 0xFFFF);
    break;
  case TDSD_SHAPE_PLP:
    tdsd_buf_u64(out, UINT64_MAX);
    break;
  case TDSD_SHAPE_VARIANT:
    tdsd_buf_u32(out, 0);
    break;
  case TDSD_SHAPE_NONE:
  case TDSD_SHAPE_FIXED:
  case TDSD_SHAPE_RAW:
  default:
    break;
  }
}

static void write_length(const struct tdsd_script_type *type,
                         size_t len,
                         struct tdsd_buf *out) {
  static const char pointer[25] = "\x10tdsd text ptr\0\0\0\0stamp\0\0";
  switch (type->shape) {
  case TDSD_SHAPE_LEN1:
    tdsd_buf_u8(out, (uint32_t)len);
    break;
  case TDSD_SHAPE_LEN2:
    tdsd_buf_u16(out, (uint32_t)len);
    break;
  case TDSD_SHAPE_BLOB:
    tdsd_buf_bytes(out, pointer, sizeof pointer);
    tdsd_buf_u32(out, (uint32_t)len);
    break;
  case TDSD_SHAPE_VARIANT:
    tdsd_buf_u32(out, (uint32_t)len);
    break;
  case TDSD_SHAPE_NONE:
  case TDSD_SHAPE_FIXED:
  case TDSD_SHAPE_PLP:
  case TDSD_SHAPE_RAW:
  default:
    break;
  }
}

/* A length byte holds 255, two hold 65534, because FFFF is null. */
static bool fits(const struct tdsd_script_type *type, size_t len) {
  return type->shape == TDSD_SHAPE_LEN1   ? len <= 0xFF
         : type->shape == TDSD_SHAPE_LEN2 ? len < 0xFFFF
                                          : true;
}

static int write_cell(struct tdsd_script_parser *parser,
                      const struct tdsd_script_type *type,
                      const struct cell *cell,
                      struct tdsd_buf *out) {
  size_t len = tdsd_buf_len(&cell->bytes);
  if (cell->raw) {
    tdsd_buf_bytes(out, tdsd_buf_at(&cell->bytes), len);
    return 0;
  }
  if (type->shape == TDSD_SHAPE_PLP) {
    write_plp(cell, out);
    return 0;
  }
  if (!fits(type, len)) {
    return tdsd_script_error(
        parser, "expected a value whose length %s can say, found %zu bytes",
        type->name, len);
  }
  write_length(type, len, out);
  tdsd_buf_bytes(out, tdsd_buf_at(&cell->bytes), len);
  return 0;
}

int tdsd_script_value_read(struct tdsd_script_parser *parser,
                           const struct tdsd_script_type *type,
                           bool bitmap,
                           struct tdsd_buf *out,
                           bool *out_null) {
  struct cell cell = {.is_null = false};
  const struct tdsd_script_token at = parser->token;
  int rc = read_cell(parser, type, &cell);
  *out_null = cell.is_null;
  if (rc == 0 && !cell.is_null) {
    rc = write_cell(parser, type, &cell, out);
  } else if (rc == 0 && !bitmap) {
    if (type->shape == TDSD_SHAPE_FIXED || type->shape == TDSD_SHAPE_RAW) {
      parser->token = at;
      rc = tdsd_script_error(parser,
                             "expected a value, because %s is not nullable in "
                             "a plain row, found null",
                             type->name);
    } else {
      write_null(type, out);
    }
  }
  tdsd_buf_fini(&cell.bytes);
  return rc;
}
