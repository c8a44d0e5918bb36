/* SPDX-License-Identifier: MIT */
/* status.h - filling a struct weir_error.
 *
 * Every function here takes err == NULL as "nobody asked", fills no more than
 * err->struct_size bytes, and so serves callers built with an older or a newer
 * weir.h.  Texts are cut at a character and always end in a NUL. */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

/* Makes *err an error of our own: code, phase and a message as printf() makes
 * it; every other member becomes 0.  fmt is UTF-8; bytes of the result that are
 * not are replaced by '?', so that callers may print names they were given.
 * Returns code, so that a failure is one statement: return weir__error_set(...).
 * Threads: any.  Blocks: no. */
int weir__error_set(struct weir_error *err,
                    int32_t code,
                    int32_t phase,
                    const char *fmt,
                    ...) __attribute__((format(printf, 4, 5)));

/* Adds what a pool and its user act on (WEIR_DRV_SCOPE_*, WEIR_DRV_K_*,
 * WEIR_DRV_RETRY_*) to an error that weir__error_set() made. */
void weir__error_class(struct weir_error *err,
                       int32_t scope,
                       int32_t kind,
                       int32_t retry);

/* Makes *dst the error a driver reported, with a code and a phase of the
 * engine's.  All is copied: nothing of *src is needed afterwards.  A message
 * longer than either buffer sets WEIR_DRV_EF_TRUNCATED. */
void weir__error_from_driver(struct weir_error *dst,
                             const struct weir_drv_error *src,
                             int32_t code,
                             int32_t phase);

/* No error: code WEIR_OK, message "", all else 0. */
void weir__error_clear(struct weir_error *err);

#endif
