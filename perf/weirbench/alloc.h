/* SPDX-License-Identifier: MIT */
/* alloc.h - counts allocations of the whole program: this one's, the library's,
 * the driver's.
 *
 * Linking alloc.c replaces malloc and its relatives (or hooks a sanitizer's).
 * Nothing is counted until alloc_count(true); then each thread counts but the
 * ones that said alloc_quiet(true).  So the threads of the library count at all
 * times, and a caller only while it is inside a call of the pool. */
#ifndef WEIRBENCH_ALLOC_H
#define WEIRBENCH_ALLOC_H

#include <stdbool.h>
#include <stdint.h>

struct alloc_counts {
  uint64_t allocs; /* malloc, calloc, realloc and aligned ones */
  uint64_t frees;
};

/* Starts counting from zero, or stops. */
void alloc_count(bool on);

/* The calling thread's allocations do not count, or count again. */
void alloc_quiet(bool quiet);

struct alloc_counts alloc_read(void);

#endif
