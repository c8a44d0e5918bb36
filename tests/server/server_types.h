/* SPDX-License-Identifier: MIT */
/* Between the files that write types and values (server_types.c, _values.c,
 * _variant.c). */
#ifndef TDSD_SERVER_TYPES_H
#define TDSD_SERVER_TYPES_H

#include "server_reply.h"

/* The type as this client gets it: varchar in UTF-8 as nvarchar if it did not
 * ask for UTF-8, (max) types and xml as text, ntext and image before 7.2, dates
 * of 7.3 as nvarchar before it. */
struct tdsd_type tdsd_types_for(const struct tdsd_writer *writer,
                                const struct tdsd_type *type);

/* The wire number of a type that has one without nullability, else 0; bytes of
 * its values. */
uint32_t tdsd_types_fixed(enum tdsd_kind kind);
uint32_t tdsd_types_width(enum tdsd_kind kind);

/* The wire number of a string or binary type that is not PLP or old. */
uint32_t tdsd_types_string(enum tdsd_kind kind);

/* Bytes of a decimal's magnitude. */
uint32_t tdsd_types_decimal_bytes(unsigned precision);

/* date, time, datetime2, datetimeoffset. */
bool tdsd_types_is_new_date(enum tdsd_kind kind);
uint32_t tdsd_types_new_date(enum tdsd_kind kind);

/* The bytes of a string in the wire's encoding, appended without a length.
 * Returns how many they are. */
size_t tdsd_values_string(struct tdsd_buf *reply,
                          const struct tdsd_type *type,
                          const char *bytes,
                          size_t len);
/* The bytes of other values, without a length. */
void tdsd_values_simple(struct tdsd_buf *reply,
                        enum tdsd_kind kind,
                        const struct tdsd_value *value);
void tdsd_values_decimal(struct tdsd_buf *reply,
                         const struct tdsd_type *type,
                         const struct tdsd_value *value);
void tdsd_values_date(struct tdsd_buf *reply,
                      const struct tdsd_type *type,
                      const struct tdsd_value *value);

/* A sql_variant (server_variant.c). */
void tdsd_write_variant(const struct tdsd_writer *writer,
                        const struct tdsd_value *value);

#endif
