/* SPDX-License-Identifier: MIT */
/* status.h - filling a struct weir_error.
 *
 * Every function here takes err == NULL as "nobody asked", fills no more than
 * err->struct_size bytes, and so serves callers built with an older or a newer
 * weir.h.  Texts are cut at a character and always end in a NUL. */
#ifndef WEIR_STATUS_H
#define WEIR_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

/* Makes *err an error of our own: code, phase and a message as printf() makes
 * it; every other member becomes 0.  fmt is UTF-8; bytes of the result that are
 * not are replaced by '?', so that callers may print names they were given.
 * Returns code, so that a failure is one statement.
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

/* Adds what is known of the transaction, WEIR_DRV_TXN_*. */
void weir__error_txn(struct weir_error *err, int32_t txn);

/* Makes *dst the error a driver reported, with a code and a phase of the
 * engine's.  All is copied: nothing of *src is needed afterwards.  A message
 * longer than either buffer sets WEIR_DRV_EF_TRUNCATED. */
void weir__error_from_driver(struct weir_error *dst,
                             const struct weir_drv_error *src,
                             int32_t code,
                             int32_t phase);

/* The length of the UTF-8 sequence that starts at p, or 0 if none does.  n > 0
 * bytes are there. */
size_t weir__text_sequence(const unsigned char *p, size_t n);

/* Copies n bytes as UTF-8 into the cap > 0 bytes of to: cut at a character, NUL
 * at the end; a NUL within, or a byte that is not UTF-8, becomes '?'.  Returns
 * the bytes written without the NUL. */
uint32_t weir__text_copy(char *to, size_t cap, const char *from, size_t n);

/* As snprintf(), with the text cut at a character when it does not fit the
 * cap > 0 bytes of to, and cleaned as weir__text_copy() does.  Returns the
 * bytes written without the NUL.  A text of more than 1280 bytes is cut
 * there. */
uint32_t weir__text_format(char *to, size_t cap, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* The system's words for a value of errno and, where they leave a user at a loss,
 * what to do: when descriptors run out.  The text is in buf, cut to its cap > 0
 * bytes, or static.  Never NULL.  Threads: any.  Blocks: no. */
const char *weir__errno_text(int error, char *buf, size_t cap);

/* True if error says that descriptors have run out. */
bool weir__errno_no_descriptor(int error);

/* No error: code WEIR_OK, message "", all else 0. */
void weir__error_clear(struct weir_error *err);

#endif
