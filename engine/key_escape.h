/* SPDX-License-Identifier: MIT */
/* key_escape.h - bytes of any kind as text for people. */
#ifndef WEIR_KEY_ESCAPE_H
#define WEIR_KEY_ESCAPE_H

#include <stddef.h>

/* Writes n bytes as UTF-8 without control characters into to, which has room
 * for 4 * n bytes; no NUL is added.  A byte that is not part of a UTF-8
 * sequence, or is of a control character (below U+0020, U+007F to U+009F),
 * becomes \xNN with two upper-case digits.  So does a backslash that the bytes
 * after it would make look like that, and no other: each text has one source.
 * Returns the bytes written.  Threads: any.  Blocks: no. */
size_t weir__key_escape(const void *p, size_t n, char *to);

#endif
