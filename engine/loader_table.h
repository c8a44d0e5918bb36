/* SPDX-License-Identifier: MIT */
/* loader_table.h - from a driver's table to one that can be called blindly. */
#ifndef WEIR_LOADER_TABLE_H
#define WEIR_LOADER_TABLE_H

#include "weir.h"
#include "weir_driver.h"

#include "loader.h"

/* Checks a driver's table and copies it to d: table, has, name and version.
 * path: the file, for the text.  wanted_name: the name it must have, or NULL.
 * Reads theirs no further than its struct_size.
 * Returns WEIR_OK or WEIR_E_FAIL; d is written on success only. */
int weir__driver_table_take(struct weir__driver *d,
                            const struct weir_driver *theirs,
                            const char *path,
                            const char *wanted_name,
                            struct weir_error *err);

/* Once d has its instance: copies the table of its extension "weir.stmt" to
 * d->stmt, if it has a usable one.  Calls the driver: hold no lock. */
void weir__driver_stmt_take(struct weir__driver *d);

#endif
