/* SPDX-License-Identifier: MIT */
/* Memory of one request: taken piece by piece, given back at once. */
#ifndef TDSD_SERVER_ARENA_H
#define TDSD_SERVER_ARENA_H

#include <stddef.h>

struct tdsd_arena_block;

struct tdsd_arena {
  struct tdsd_arena_block *blocks; /* newest first */
  size_t used;                     /* bytes handed out */
};

/* Takes size zeroed bytes, aligned for anything.
 * Returns NULL without memory or beyond TDSD_CAP_ARENA. */
void *tdsd_arena_take(struct tdsd_arena *arena, size_t size);

/* Copies len bytes and a zero.  Returns NULL as tdsd_arena_take. */
char *tdsd_arena_copy(struct tdsd_arena *arena, const char *text, size_t len);

/* Gives everything back; the arena may be used again. */
void tdsd_arena_fini(struct tdsd_arena *arena);

#endif
