/* SPDX-License-Identifier: MIT */
/* drv_error.h - filling a driver's error from inside a host service. */
#ifndef WEIR_NET_DRV_ERROR_H
#define WEIR_NET_DRV_ERROR_H

#include <stdint.h>

#include "weir_driver.h"

/* Sets scope, kind, retry and the message; the other members stay.  The message
 * is cut to message_cap - 1 bytes at a character boundary of UTF-8, with
 * WEIR_DRV_EF_TRUNCATED set; message_len is the full length.  err may be NULL.
 * Returns WEIR_DRV_FAIL always, so that a caller can return it. */
__attribute__((format(printf, 5, 6))) weir_drv_status weir__drv_error_set(
    struct weir_drv_error *err,
    int32_t scope,
    int32_t kind,
    int32_t retry,
    const char *fmt,
    ...);

#endif
