/* SPDX-License-Identifier: MIT */
/* tds_hint.h - the types that a parameter may have, by their T-SQL names.
 *
 * Pure.  A hint such as "decimal(10, 2)" becomes a type; a type becomes the text
 * of a declaration and the TYPE_INFO of a call (MS-TDS 2.2.5.6). */
#ifndef TDS_HINT_H
#define TDS_HINT_H

#include "tds_wire.h"

/* What values of a type are. */
enum tds_kind {
  TDS_KIND_BIT,
  TDS_KIND_INT,
  TDS_KIND_FLOAT,
  TDS_KIND_DECIMAL,
  TDS_KIND_MONEY,
  TDS_KIND_DATE,
  TDS_KIND_TIME,
  TDS_KIND_DATETIME, /* datetime and smalldatetime, by size */
  TDS_KIND_DATETIME2,
  TDS_KIND_OFFSET,
  TDS_KIND_UUID,
  TDS_KIND_TEXT, /* characters */
  TDS_KIND_BYTES,
  TDS_KIND_XML
};

/* Numbers of types in the table: those that are chosen without a hint. */
enum tds_hint_name {
  TDS_HINT_BIT,
  TDS_HINT_TINYINT,
  TDS_HINT_SMALLINT,
  TDS_HINT_INT,
  TDS_HINT_BIGINT,
  TDS_HINT_REAL,
  TDS_HINT_FLOAT,
  TDS_HINT_DECIMAL,
  TDS_HINT_NUMERIC,
  TDS_HINT_MONEY,
  TDS_HINT_SMALLMONEY,
  TDS_HINT_DATE,
  TDS_HINT_TIME,
  TDS_HINT_DATETIME,
  TDS_HINT_SMALLDATETIME,
  TDS_HINT_DATETIME2,
  TDS_HINT_OFFSET,
  TDS_HINT_UUID,
  TDS_HINT_CHAR,
  TDS_HINT_VARCHAR,
  TDS_HINT_NCHAR,
  TDS_HINT_NVARCHAR,
  TDS_HINT_BINARY,
  TDS_HINT_VARBINARY,
  TDS_HINT_TEXT,
  TDS_HINT_NTEXT,
  TDS_HINT_IMAGE,
  TDS_HINT_XML,
  TDS_HINT_COUNT
};

/* How long values of a text or binary type are framed. */
#define TDS_LONG_NONE  0 /* a scalar: one length byte */
#define TDS_LONG_SHORT 1 /* 2-byte length, FFFF = null */
#define TDS_LONG_PLP   2 /* (max), xml */
#define TDS_LONG_IMAGE 3 /* 4-byte length, FFFFFFFF = null */

/* A type with all its numbers. */
struct tds_hint {
  uint8_t name;      /* enum tds_hint_name */
  uint8_t kind;      /* enum tds_kind */
  uint8_t code;      /* on the wire: the form that can be null */
  uint8_t size;      /* bytes of an INT, FLOAT, MONEY, DATETIME, ... */
  uint8_t precision; /* DECIMAL */
  uint8_t scale;     /* DECIMAL, and digits of a second */
  uint8_t frame;     /* TDS_LONG_* */
  bool wide;         /* TEXT in UTF-16 */
  bool open;         /* its length was left out: the value decides */
  uint32_t length;   /* SHORT: declared, in units or bytes */
};

/* Most bytes of the text of a type, and of its TYPE_INFO. */
#define TDS_HINT_TEXT_MAX 32u
#define TDS_HINT_INFO_MAX 10u

/* Most bytes of a short value, and what FFFF on the wire stands for. */
#define TDS_SHORT_BYTES 8000u

/* A type of the table, with its defaults. */
struct tds_hint tds_hint_of(enum tds_hint_name name);

/* Reads n bytes of a hint.  Letters count without case; blanks may stand between
 * the parts.
 * Returns TDS_OK and *out, or TDS_E_PROTO and in *out_why what is wrong. */
int tds_hint_parse(const char *p,
                   size_t n,
                   struct tds_hint *out,
                   const char **out_why);

/* Makes a text or binary type short with that length, or (max). */
void tds_hint_set_length(struct tds_hint *h, uint32_t length);
void tds_hint_set_max(struct tds_hint *h);

/* Writes the type as a declaration has it, NUL-terminated.  Returns its
 * length. */
size_t tds_hint_print(const struct tds_hint *h, char out[TDS_HINT_TEXT_MAX]);

/* Writes type code and TYPE_INFO.  Returns their bytes. */
size_t tds_hint_info(const struct tds_hint *h,
                     const uint8_t collation[5],
                     uint8_t out[TDS_HINT_INFO_MAX]);

#endif
