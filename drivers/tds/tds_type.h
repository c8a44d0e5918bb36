/* SPDX-License-Identifier: MIT */
/* tds_type.h - TYPE_INFO (MS-TDS 2.2.5.5, 2.2.5.6): what a column may hold and
 * how its values are laid out. */
#ifndef TDS_TYPE_H
#define TDS_TYPE_H

#include "tds_wire.h"

/* How a value is framed in a row. */
#define TDS_SHAPE_FIXED   0 /* size bytes, never null */
#define TDS_SHAPE_BYTELEN 1 /* 1-byte length, 0 = null */
#define TDS_SHAPE_SHORT   2 /* 2-byte length, FFFF = null */
#define TDS_SHAPE_PLP     3 /* partially length-prefixed, 2.2.5.2.3 */
#define TDS_SHAPE_POINTER 4 /* text pointer, 4-byte length */
#define TDS_SHAPE_VARIANT 5 /* 4-byte length, 0 = null; read whole */
#define TDS_SHAPE_VECTOR  6 /* 2-byte length, FFFF = null; read whole */
#define TDS_SHAPE_NONE    7 /* values of it are not read */

/* What follows the fixed part of the info: counted texts. */
#define TDS_EXTRA_NONE 0
#define TDS_EXTRA_XML  1 /* a flag byte; if 1: two byte-counted, one short */
#define TDS_EXTRA_UDT  2 /* three byte-counted texts, one short-counted */

struct tds_type_rule {
  uint8_t code;
  uint8_t info;  /* bytes of TYPE_INFO behind the type */
  uint8_t shape; /* TDS_SHAPE_*; (max) types become TDS_SHAPE_PLP */
  uint8_t size;  /* FIXED: bytes; BYTELEN: set of legal sizes as bits 1<<n */
  int32_t cell;  /* WEIR_DRV_T_* */
  uint8_t extra;
  const char *name;
};

struct tds_type {
  const struct tds_type_rule *rule;
  uint8_t shape;
  uint8_t charset; /* TDS_CHARSET_* */
  uint8_t precision;
  uint8_t scale;
  uint32_t max; /* most bytes of a value; UINT32_MAX = no limit of its own */
  uint8_t collation[5];
};

/* The rule of a type code, NULL if there is none. */
const struct tds_type_rule *tds_type_find(uint8_t code);

/* Fills t from rule->info bytes of info.
 * Returns TDS_OK, or TDS_E_PROTO if a size, precision or scale is not legal. */
int tds_type_set(struct tds_type *t,
                 const struct tds_type_rule *rule,
                 const uint8_t *info);

#endif
