/* SPDX-License-Identifier: MIT */
/* tds_type.c - the table of types; everything about a type that is data. */
#include "tds_type.h"

#include <string.h>

#include "weir_driver.h"

#include "tds_limits.h"
#include "tds_text.h"

/* Types whose info is more than a size. */
#define T_DATE      0x28u
#define T_TIME      0x29u
#define T_DATETIME2 0x2Au
#define T_OFFSET    0x2Bu
#define T_DECIMAL   0x6Au
#define T_NUMERIC   0x6Cu

#define SIZE(n) (1u << ((n)&7u))

/* Sizes 1, 2, 4 and 8: bits 1, 2, 4 and 0 (8 & 7 is 0); 16 shares bit 0 and is
 * told apart by size_ok(). */
#define INTS   (SIZE(1) | SIZE(2) | SIZE(4) | SIZE(8))
#define FLOATS (SIZE(4) | SIZE(8))

#define FIXED   TDS_SHAPE_FIXED
#define BYTELEN TDS_SHAPE_BYTELEN
#define SHORT   TDS_SHAPE_SHORT
#define PLP     TDS_SHAPE_PLP
#define POINTER TDS_SHAPE_POINTER
#define VARIANT TDS_SHAPE_VARIANT
#define VECTOR  TDS_SHAPE_VECTOR
#define NONE    TDS_SHAPE_NONE

static const struct tds_type_rule rules[] = {
    {0x1F, 0, FIXED, 0, WEIR_DRV_T_NULL, 0, "null"},
    {0x30, 0, FIXED, 1, WEIR_DRV_T_INT, 0, "tinyint"},
    {0x32, 0, FIXED, 1, WEIR_DRV_T_BOOL, 0, "bit"},
    {0x34, 0, FIXED, 2, WEIR_DRV_T_INT, 0, "smallint"},
    {0x38, 0, FIXED, 4, WEIR_DRV_T_INT, 0, "int"},
    {0x7F, 0, FIXED, 8, WEIR_DRV_T_INT, 0, "bigint"},
    {0x3B, 0, FIXED, 4, WEIR_DRV_T_FLOAT, 0, "real"},
    {0x3E, 0, FIXED, 8, WEIR_DRV_T_FLOAT, 0, "float"},
    {0x3C, 0, FIXED, 8, WEIR_DRV_T_DEC, 0, "money"},
    {0x7A, 0, FIXED, 4, WEIR_DRV_T_DEC, 0, "smallmoney"},
    {0x3D, 0, FIXED, 8, WEIR_DRV_T_TIME, 0, "datetime"},
    {0x3A, 0, FIXED, 4, WEIR_DRV_T_TIME, 0, "smalldatetime"},
    {0x26, 1, BYTELEN, INTS, WEIR_DRV_T_INT, 0, "int"},
    {0x68, 1, BYTELEN, SIZE(1), WEIR_DRV_T_BOOL, 0, "bit"},
    {0x6D, 1, BYTELEN, FLOATS, WEIR_DRV_T_FLOAT, 0, "float"},
    {0x6E, 1, BYTELEN, FLOATS, WEIR_DRV_T_DEC, 0, "money"},
    {0x6F, 1, BYTELEN, FLOATS, WEIR_DRV_T_TIME, 0, "datetime"},
    {0x24, 1, BYTELEN, SIZE(16), WEIR_DRV_T_UUID, 0, "uniqueidentifier"},
    {T_DECIMAL, 3, BYTELEN, 0, WEIR_DRV_T_DEC, 0, "decimal"},
    {T_NUMERIC, 3, BYTELEN, 0, WEIR_DRV_T_DEC, 0, "numeric"},
    {T_DATE, 0, BYTELEN, 0, WEIR_DRV_T_TIME, 0, "date"},
    {T_TIME, 1, BYTELEN, 0, WEIR_DRV_T_TIME, 0, "time"},
    {T_DATETIME2, 1, BYTELEN, 0, WEIR_DRV_T_TIME, 0, "datetime2"},
    {T_OFFSET, 1, BYTELEN, 0, WEIR_DRV_T_TIME, 0, "datetimeoffset"},
    {0xA7, 7, SHORT, 0, WEIR_DRV_T_TEXT, 0, "varchar"},
    {0xAF, 7, SHORT, 0, WEIR_DRV_T_TEXT, 0, "char"},
    {0xE7, 7, SHORT, 0, WEIR_DRV_T_TEXT, 0, "nvarchar"},
    {0xEF, 7, SHORT, 0, WEIR_DRV_T_TEXT, 0, "nchar"},
    {0xA5, 2, SHORT, 0, WEIR_DRV_T_BYTES, 0, "varbinary"},
    {0xAD, 2, SHORT, 0, WEIR_DRV_T_BYTES, 0, "binary"},
    {0x23, 9, POINTER, 0, WEIR_DRV_T_TEXT, 0, "text"},
    {0x63, 9, POINTER, 0, WEIR_DRV_T_TEXT, 0, "ntext"},
    {0x22, 4, POINTER, 0, WEIR_DRV_T_BYTES, 0, "image"},
    {0xF1, 0, PLP, 0, WEIR_DRV_T_TEXT, TDS_EXTRA_XML, "xml"},
    {0xF0, 2, PLP, 0, WEIR_DRV_T_BYTES, TDS_EXTRA_UDT, "udt"},
    {0xF4, 0, PLP, 0, WEIR_DRV_T_TEXT, 0, "json"},
    {0x62, 4, VARIANT, 0, WEIR_DRV_T_TEXT, 0, "sql_variant"},
    {0xF5, 3, VECTOR, 0, WEIR_DRV_T_TEXT, 0, "vector"},
    /* Types of before 7.0, which no server sends to a client of 7.2: named, so
     * that the refusal can say what it is about. */
    {0x25, 1, NONE, 0, WEIR_DRV_T_NULL, 0, "varbinary (legacy)"},
    {0x27, 1, NONE, 0, WEIR_DRV_T_NULL, 0, "varchar (legacy)"},
    {0x2D, 1, NONE, 0, WEIR_DRV_T_NULL, 0, "binary (legacy)"},
    {0x2F, 1, NONE, 0, WEIR_DRV_T_NULL, 0, "char (legacy)"},
    {0x37, 3, NONE, 0, WEIR_DRV_T_NULL, 0, "decimal (legacy)"},
    {0x3F, 3, NONE, 0, WEIR_DRV_T_NULL, 0, "numeric (legacy)"},
};

const struct tds_type_rule *tds_type_find(uint8_t code) {
  for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
    if (rules[i].code == code) {
      return &rules[i];
    }
  }
  return NULL;
}

static bool size_ok(const struct tds_type_rule *rule, uint8_t size) {
  bool sixteen = rule->cell == WEIR_DRV_T_UUID;
  return sixteen ? size == 16
                 : size >= 1 && size <= 8 && (rule->size & SIZE(size)) != 0;
}

/* Bytes of a time of that scale (MS-TDS 2.2.5.5.1.8). */
static uint32_t time_bytes(uint8_t scale) {
  return scale <= 2 ? 3 : scale <= 4 ? 4 : 5;
}

static int set_scale(struct tds_type *t, uint8_t scale) {
  if (scale > 7) {
    return TDS_E_PROTO;
  }
  t->scale = scale;
  t->max = time_bytes(scale);
  if (t->rule->code == T_DATETIME2) {
    t->max += 3;
  } else if (t->rule->code == T_OFFSET) {
    t->max += 5;
  }
  return TDS_OK;
}

static int set_decimal(struct tds_type *t, const uint8_t *info) {
  t->max = info[0];
  t->precision = info[1];
  t->scale = info[2];
  bool size = t->max == 5 || t->max == 9 || t->max == 13 || t->max == 17;
  bool digits = t->precision >= 1 && t->precision <= 38;
  return size && digits && t->scale <= t->precision ? TDS_OK : TDS_E_PROTO;
}

static int set_bytelen(struct tds_type *t, const uint8_t *info) {
  switch (t->rule->code) {
  case T_DATE:
    t->max = 3;
    return TDS_OK;
  case T_TIME:
  case T_DATETIME2:
  case T_OFFSET:
    return set_scale(t, info[0]);
  case T_DECIMAL:
  case T_NUMERIC:
    return set_decimal(t, info);
  default:
    t->max = info[0];
    return size_ok(t->rule, info[0]) ? TDS_OK : TDS_E_PROTO;
  }
}

static void set_charset(struct tds_type *t, const uint8_t *collation) {
  uint8_t code = t->rule->code;
  if (collation != NULL) {
    memcpy(t->collation, collation, sizeof t->collation);
    t->charset = tds_text_charset(collation);
  }
  if (code == 0xE7 || code == 0xEF || code == 0x63 || code == 0xF1) {
    t->charset = TDS_CHARSET_UTF16;
  } else if (code == 0xF4) {
    t->charset = TDS_CHARSET_UTF8;
  }
}

static int set_short(struct tds_type *t, const uint8_t *info) {
  t->max = tds_u16(info);
  if (t->max == 0xFFFF) {
    t->max = UINT32_MAX;
    t->shape = TDS_SHAPE_PLP;
  }
  set_charset(t, t->rule->info == 7 ? info + 2 : NULL);
  return TDS_OK;
}

int tds_type_set(struct tds_type *t,
                 const struct tds_type_rule *rule,
                 const uint8_t *info) {
  memset(t, 0, sizeof *t);
  t->rule = rule;
  t->shape = rule->shape;
  t->max = UINT32_MAX;
  switch (rule->shape) {
  case TDS_SHAPE_FIXED:
    t->max = rule->size;
    t->scale = rule->cell == WEIR_DRV_T_DEC ? 4 : 0;
    return TDS_OK;
  case TDS_SHAPE_BYTELEN:
    t->scale = rule->cell == WEIR_DRV_T_DEC ? 4 : 0;
    return set_bytelen(t, info);
  case TDS_SHAPE_SHORT:
    return set_short(t, info);
  case TDS_SHAPE_POINTER:
    t->max = tds_u32(info);
    set_charset(t, rule->info == 9 ? info + 4 : NULL);
    return TDS_OK;
  case TDS_SHAPE_VARIANT:
    t->max = tds_u32(info);
    return t->max <= TDS_WHOLE_MAX ? TDS_OK : TDS_E_PROTO;
  case TDS_SHAPE_VECTOR:
    t->max = tds_u16(info);
    return t->max <= TDS_WHOLE_MAX ? TDS_OK : TDS_E_PROTO;
  default:
    set_charset(t, NULL);
    return TDS_OK;
  }
}
