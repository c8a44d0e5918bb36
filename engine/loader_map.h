/* SPDX-License-Identifier: MIT */
/* loader_map.h - from a file that may be loaded to the table of a driver. */
#ifndef WEIR_LOADER_MAP_H
#define WEIR_LOADER_MAP_H

#include "weir.h"
#include "weir_driver.h"

#include "loader_file.h"

/* Checks what the file says it is, maps it for the life of the process, makes
 * sure that it is what was mapped, and asks its entry for the table.
 * sha256: 64 digits that the file must have, or "".
 * Returns WEIR_OK or WEIR_E_FAIL.  Runs the driver's constructors and entry:
 * hold no lock.  Blocks: on the file system. */
int weir__driver_map(const struct weir__driver_file *file,
                     const char *sha256,
                     const struct weir_driver **out_table,
                     struct weir_error *err);

#endif
