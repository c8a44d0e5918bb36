/* SPDX-License-Identifier: MIT */
/* cell.h - one cell of a result as text. */
#ifndef WEIRCTL_CELL_H
#define WEIRCTL_CELL_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"

#include "text_buf.h"

/* Whether the cell is SQL NULL. */
bool cell_is_null(const struct weir_cell *cell);

/* Whether cells of this type are numbers, which stand at the right. */
bool cell_type_is_number(int32_t type);

/* Adds the cell's value, which is not NULL, in the form that the table and CSV
 * share: 1 or 0 for a truth value, the shortest decimal that reads back as the
 * same binary64, 0x and hexadecimal digits for bytes, UUIDs in lower case,
 * everything else as the server's text.  Returns 0, or -EPROTO when the cell
 * has not the size its type asks for. */
int cell_add_text(struct text_buf *to,
                  int32_t type,
                  const struct weir_cell *cell);

/* Adds the cell as a JSON value.  Numbers of type INT, UINT and FLOAT are JSON
 * numbers, exact to the last digit; decimals are strings, because most readers
 * of JSON would round them; so are NaN and the infinities, which JSON does not
 * have.  Bytes are a string of 0x and hexadecimal digits, NULL is null.
 * Returns as cell_add_text(). */
int cell_add_json(struct text_buf *to,
                  int32_t type,
                  const struct weir_cell *cell);

/* Adds a text of len bytes as a JSON string with its quotes.  Bytes that are
 * not UTF-8 become U+FFFD. */
void cell_add_json_string(struct text_buf *to, const char *s, size_t len);

#endif
