/* SPDX-License-Identifier: MIT */
/* tds_value.h - scalar values: wire bytes to the cells of weir_driver.h. */
#ifndef TDS_VALUE_H
#define TDS_VALUE_H

#include "tds_type.h"

/* Room for the longest cell of a scalar: sign, 39 digits, point. */
#define TDS_CELL_MAX 48u

/* Converts the n bytes of a FIXED or BYTELEN value.
 * Returns TDS_OK and *out_n bytes in out, or TDS_E_PROTO if the bytes are no
 * value of that type (a length it does not have, a date that does not exist). */
int tds_value_cell(const struct tds_type *t,
                   const uint8_t *p,
                   size_t n,
                   uint8_t out[TDS_CELL_MAX],
                   size_t *out_n);

/* The name of a type as people write it: intN of 8 bytes is "bigint". */
const char *tds_value_type_name(const struct tds_type *t);

#endif
