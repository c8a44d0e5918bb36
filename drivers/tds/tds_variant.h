/* SPDX-License-Identifier: MIT */
/* tds_variant.h - values that are read whole and become text: sql_variant
 * (MS-TDS 2.2.5.5.4) and vector (2.2.5.5.7).
 *
 * The cells of a column have one type, the values of a sql_variant column have
 * one each, so its cells are text: what the value's own type would be printed
 * as.  A vector is the JSON array that the server sends to clients that do not
 * know the type. */
#ifndef TDS_VARIANT_H
#define TDS_VARIANT_H

#include "tds_type.h"

struct tds_variant {
  struct tds_type type; /* the base type */
  struct tds_span data;
};

/* Takes a value apart: base type, properties, data.
 * Returns TDS_OK; TDS_E_PROTO if the properties do not belong to the type or
 * the data are too long for it; TDS_E_UNSUPPORTED with the code in *out_code if
 * a variant cannot hold the type. */
int tds_variant_read(struct tds_variant *v,
                     const uint8_t *p,
                     size_t n,
                     uint8_t *out_code);

/* Most bytes that its text can have. */
size_t tds_variant_bound(const struct tds_variant *v);

/* Writes its text to out, which has room for tds_variant_bound().
 *   bit                 1 or 0
 *   int, decimal, money as cells of their own
 *   float, real         the fewest digits that read back as the same number
 *   dates, times        as cells of their own
 *   uniqueidentifier    36 characters, lower case
 *   binary              0x and hexadecimal digits, lower case
 *   char, nchar         the characters
 * Returns TDS_OK and *out_n, or TDS_E_PROTO if the data are no value of the
 * type. */
int tds_variant_text(const struct tds_variant *v, uint8_t *out, size_t *out_n);

/* Most bytes of the text of a vector of n bytes. */
size_t tds_vector_bound(size_t n);

/* Writes a vector's n bytes as [1,2.5,...]; an element that is no number is
 * null, as JSON has no word for it.
 * Returns TDS_OK and *out_n; TDS_E_PROTO if they are no vector;
 * TDS_E_UNSUPPORTED if its elements are not 32-bit floats. */
int tds_vector_text(const uint8_t *p, size_t n, uint8_t *out, size_t *out_n);

#endif
