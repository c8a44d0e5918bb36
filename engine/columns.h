/* SPDX-License-Identifier: MIT */
/* columns.h - the columns of a result set, copied out of the driver. */
#ifndef WEIR_COLUMNS_H
#define WEIR_COLUMNS_H

#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

/* More columns than any server sends (SQL Server: 4,096 in a SELECT list). */
#define WEIR_COLUMNS_MAX 65535u

/* Copies n columns of the driver's array.  Returns one block that holds the
 * array and its texts, to be freed with weir__mem_free(); NULL: no memory. */
struct weir_column *weir__columns_copy(const struct weir_drv_column *from,
                                       uint32_t n,
                                       uint32_t stride);

#endif
