/* SPDX-License-Identifier: MIT */
/* options_value.h - one value of a driver's option, by its type. */
#ifndef WEIR_OPTIONS_VALUE_H
#define WEIR_OPTIONS_VALUE_H

#include <stddef.h>

#include "weir_driver.h"

#include "conninfo.h"

struct weir_error;

/* Copies n bytes to *at, puts a NUL behind them and moves *at past it. */
const char *weir__option_keep(char **at, const char *p, size_t n);

/* Bytes that weir__option_read() may need at *at. */
size_t weir__option_room(const struct weir_drv_option_info *info,
                         const struct weir__conninfo_pair *pair);

/* Reads the value of pair as what info says it is; texts are kept at *at.
 * Returns WEIR_OK; WEIR_E_ARG (not of the type, not one of the choices: *err
 * names option and position); WEIR_E_UNSUPPORTED (a type the engine cannot
 * read). */
int weir__option_read(const struct weir_drv_option_info *info,
                      const struct weir__conninfo_pair *pair,
                      char **at,
                      struct weir_drv_value *out,
                      struct weir_error *err);

#endif
