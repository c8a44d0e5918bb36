/* SPDX-License-Identifier: MIT */
/* bits.h - a set of small numbers that finds its lowest member fast, and grows
 * while others use it: up to 262,144 members.
 *
 * The numbers lie in segments, the first of 64, each later one as long as all
 * before it, so that growing moves nothing.  A segment is a bitmap with one
 * summary bit for each 64 bits below.
 *
 * Every operation may run beside every other, but for one grower at a time.  A
 * summary bit may be set over an empty word for a moment.  Setting writes the leaf
 * before it looks at the summary; clearing looks at the leaf again after it has
 * cleared the summary and sets it again if need be; all of it is sequentially
 * consistent, so one of the two sees the other.  Between those two looks a summary
 * bit is clear over a word that is not empty: such moments are counted, and a
 * search that meets one goes through the leaves instead.  So a search never misses
 * a member that is in the set all the while. */
#ifndef WEIR_BASE_BITS_H
#define WEIR_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/atomic.h"

#define WEIR_BITS_LEVELS   3u
#define WEIR_BITS_SEGMENTS 13u
#define WEIR_BITS_NONE     UINT32_MAX

struct weir__bits_segment {
  uint32_t size;
  uint32_t levels;
  _Atomic uint32_t tidy_begun; /* summary bits being cleared, and done with */
  _Atomic uint32_t tidy_done;
  _Atomic uint64_t *level[WEIR_BITS_LEVELS]; /* [0] the members themselves */
};

struct weir__bits {
  _Atomic uint32_t n_segments;
  struct weir__bits_segment *segments[WEIR_BITS_SEGMENTS];
};

/* An empty set of numbers below size (0 to 262,144); an object of zeros is one
 * for size 0.  False: no memory. */
bool weir__bits_init(struct weir__bits *bits, uint32_t size);
void weir__bits_fini(struct weir__bits *bits);

/* Makes room for numbers below size.  False: no memory, and what was there still
 * is.  Threads: one at a time, beside all other operations. */
bool weir__bits_grow(struct weir__bits *bits, uint32_t size);

/* Puts i in; writes nothing if it is there.  There is room for it, and the caller
 * has learnt so from the one who made it. */
void weir__bits_set(struct weir__bits *bits, uint32_t i);

/* Takes i out.  As above. */
void weir__bits_clear(struct weir__bits *bits, uint32_t i);

bool weir__bits_has(const struct weir__bits *bits, uint32_t i);

/* The lowest member that is at least from, or WEIR_BITS_NONE. */
uint32_t weir__bits_next(struct weir__bits *bits, uint32_t from);

#endif
