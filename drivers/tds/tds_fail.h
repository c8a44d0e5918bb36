/* SPDX-License-Identifier: MIT */
/* tds_fail.h - filling struct weir_drv_error. */
#ifndef TDS_FAIL_H
#define TDS_FAIL_H

#include "weir_driver.h"

/* Fills err: scope, kind, retry, and a printf message cut to what fits.  The
 * other fields become zero.  err NULL is fine.
 * Returns WEIR_DRV_FAIL. */
__attribute__((format(printf, 5, 6))) weir_drv_status tds_fail(
    struct weir_drv_error *err,
    int32_t scope,
    int32_t kind,
    int32_t retry,
    const char *format,
    ...);

/* Where the server says the error is, as far as err's size reaches. */
void tds_fail_detail(struct weir_drv_error *err, uint32_t state, uint32_t line);

/* Takes a character off the end of a text if it was cut in two by cap. */
void tds_fail_trim(char *text, size_t cap);

#endif
