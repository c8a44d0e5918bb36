/* SPDX-License-Identifier: MIT */
/* mem.h - memory; lets tests fail the n-th allocation. */
#ifndef WEIR_SYS_MEM_H
#define WEIR_SYS_MEM_H

#include <stddef.h>

/* Zeroed memory of n > 0 bytes, or NULL. */
void *weir__mem_new(size_t n);

/* count * size bytes, zeroed, or NULL; also NULL when the product overflows. */
void *weir__mem_array(size_t count, size_t size);

/* Resizes what p points to (or NULL) to n > 0 bytes; new bytes are undefined.
 * NULL: no memory, p is unchanged. */
void *weir__mem_resize(void *p, size_t n);

/* A copy of n bytes with a NUL behind it, or NULL. */
char *weir__mem_text(const char *p, size_t n);

/* Frees; NULL is fine. */
void weir__mem_free(void *p);

/* Overwrites n bytes in a way the compiler keeps. */
void weir__mem_wipe(void *p, size_t n);

#endif
