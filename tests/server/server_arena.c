/* SPDX-License-Identifier: MIT */
#include "server_arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "server_const.h"

#define BLOCK_BYTES 16384u

struct tdsd_arena_block {
  struct tdsd_arena_block *next;
  size_t used;
  size_t room;
  alignas(max_align_t) unsigned char bytes[];
};

static struct tdsd_arena_block *add_block(struct tdsd_arena *arena,
                                          size_t size) {
  size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
  struct tdsd_arena_block *block = malloc(sizeof *block + room);
  if (block == NULL) {
    return NULL;
  }
  block->next = arena->blocks;
  block->used = 0;
  block->room = room;
  arena->blocks = block;
  return block;
}

void *tdsd_arena_take(struct tdsd_arena *arena, size_t size) {
  const size_t unit = alignof(max_align_t);
  if (size > TDSD_CAP_ARENA || arena->used + size > TDSD_CAP_ARENA) {
    return NULL;
  }
  size = (size + unit - 1) / unit * unit;
  struct tdsd_arena_block *block = arena->blocks;
  if (block == NULL || block->room - block->used < size) {
    block = add_block(arena, size);
    if (block == NULL) {
      return NULL;
    }
  }
  void *bytes = block->bytes + block->used;
  block->used += size;
  arena->used += size;
  memset(bytes, 0, size);
  return bytes;
}

char *tdsd_arena_copy(struct tdsd_arena *arena, const char *text, size_t len) {
  char *copy = tdsd_arena_take(arena, len + 1);
  if (copy != NULL && len != 0) {
    memcpy(copy, text, len);
  }
  return copy;
}

void tdsd_arena_fini(struct tdsd_arena *arena) {
  while (arena->blocks != NULL) {
    struct tdsd_arena_block *next = arena->blocks->next;
    free(arena->blocks);
    arena->blocks = next;
  }
  arena->used = 0;
}
