/* SPDX-License-Identifier: MIT */
/* failing_alloc.h - allocations of the engine that fail when a test says so.
 *
 * Covers what goes through sys/mem.h.  A test of every failure looks like this:
 *
 *   failing_alloc_install();
 *   for (uint64_t n = 1; n < 1000; n++) {
 *     failing_alloc_at(n);
 *     ... the operation ...
 *     if (failing_alloc_failed() == 0) { break; }   // n is past the last one
 *   }
 *   failing_alloc_restore();
 *
 * Threads: the counters are atomic; all threads share them. */
#ifndef WEIR_TEST_FAILING_ALLOC_H
#define WEIR_TEST_FAILING_ALLOC_H

#include <stdint.h>

/* Replaces alloc and resize of weir__seams; nothing fails yet. */
void failing_alloc_install(void);

/* Puts them back. */
void failing_alloc_restore(void);

/* Counts from here; the nth allocation fails (1 is the next one; 0: none). */
void failing_alloc_at(uint64_t n);

/* Counts from here; the nth and all later ones fail. */
void failing_alloc_from(uint64_t n);

/* Allocations asked for since the last failing_alloc_at or _from. */
uint64_t failing_alloc_count(void);

/* How many of them failed. */
uint64_t failing_alloc_failed(void);

#endif
