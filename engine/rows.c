/* SPDX-License-Identifier: MIT */
#include "rows.h"

#include <string.h>

#include "sys/mem.h"

#define CHUNK_FIRST   4096u
#define CHUNK_LARGEST (256u * 1024u)
#define ALIGNMENT     8u

struct chunk {
  struct chunk *next;
  uint64_t cap;
  uint64_t used;
  unsigned char bytes[];
};

struct weir_drv_batch {
  struct chunk *chunks; /* newest first: the last block is in the first chunk */
  struct weir_cell *cells;
  uint64_t n_cells;
  uint64_t cap_cells;
  uint64_t next_chunk; /* size of the next ordinary chunk */
  uint32_t n_cols;
  bool strayed; /* a cell was refused: the driver broke its contract */
};

weir_drv_batch *weir__batch_new(uint32_t n_cols) {
  struct weir_drv_batch *batch = weir__mem_new(sizeof *batch);
  if (batch != NULL) {
    batch->n_cols = n_cols;
    batch->next_chunk = CHUNK_FIRST;
  }
  return batch;
}

void weir__batch_free(weir_drv_batch *batch) {
  if (batch == NULL) {
    return;
  }
  while (batch->chunks != NULL) {
    struct chunk *next = batch->chunks->next;
    weir__mem_free(batch->chunks);
    batch->chunks = next;
  }
  weir__mem_free(batch->cells);
  weir__mem_free(batch);
}

static uint64_t round_up(uint64_t n) {
  return (n + ALIGNMENT - 1) & ~(uint64_t)(ALIGNMENT - 1);
}

/* Uninitialised on purpose: zeroing 100 MiB that are about to be written costs
 * as much as reading them from the network. */
static struct chunk *add_chunk(struct weir_drv_batch *batch, uint64_t need) {
  uint64_t cap = need > batch->next_chunk ? need : batch->next_chunk;
  struct chunk *chunk = weir__mem_resize(NULL, sizeof *chunk + cap);
  if (chunk == NULL) {
    return NULL;
  }
  chunk->next = batch->chunks;
  chunk->cap = cap;
  chunk->used = 0;
  batch->chunks = chunk;
  if (batch->next_chunk < CHUNK_LARGEST) {
    batch->next_chunk *= 2;
  }
  return chunk;
}

void *weir__batch_space(weir_drv_batch *batch, uint64_t n) {
  if (n > WEIR_CELL_MAX) {
    return NULL;
  }
  uint64_t need = round_up(n == 0 ? 1 : n);
  struct chunk *chunk = batch->chunks;
  if (chunk == NULL || chunk->cap - chunk->used < need) {
    chunk = add_chunk(batch, need);
    if (chunk == NULL) {
      return NULL;
    }
  }
  void *p = chunk->bytes + chunk->used;
  chunk->used += need;
  return p;
}

static void *move_block(struct weir_drv_batch *batch,
                        const void *block,
                        uint64_t n,
                        uint64_t bigger) {
  void *p = weir__batch_space(batch, bigger);
  if (p != NULL && n != 0) {
    memcpy(p, block, n);
  }
  return p;
}

/* A block alone in its chunk grows by resizing the chunk, so a value of unknown
 * length that doubles its block stays linear and holds at most one copy. */
void *weir__batch_grow(weir_drv_batch *batch,
                       void *block,
                       uint64_t n,
                       uint64_t bigger) {
  struct chunk *chunk = batch->chunks;
  if (bigger > WEIR_CELL_MAX || chunk == NULL || bigger < n) {
    return NULL;
  }
  uint64_t old = round_up(n == 0 ? 1 : n);
  uint64_t want = round_up(bigger);
  bool last = (unsigned char *)block + old == chunk->bytes + chunk->used;
  if (!last) {
    return move_block(batch, block, n, bigger);
  }
  if (chunk->cap - chunk->used >= want - old) {
    chunk->used += want - old;
    return block;
  }
  if (block != chunk->bytes) {
    chunk->used -= old;
    return move_block(batch, block, n, bigger);
  }
  chunk = weir__mem_resize(chunk, sizeof *chunk + want);
  if (chunk == NULL) {
    return NULL;
  }
  chunk->cap = want;
  chunk->used = want;
  batch->chunks = chunk;
  return chunk->bytes;
}

static bool room_for_cell(struct weir_drv_batch *batch) {
  if (batch->n_cells < batch->cap_cells) {
    return true;
  }
  uint64_t cap = batch->cap_cells == 0 ? 64 : batch->cap_cells * 2;
  if (cap > SIZE_MAX / sizeof *batch->cells) {
    return false;
  }
  struct weir_cell *cells = weir__mem_resize(batch->cells, cap * sizeof *cells);
  if (cells == NULL) {
    return false;
  }
  batch->cells = cells;
  batch->cap_cells = cap;
  return true;
}

static bool in_chunk(const struct chunk *chunk, const void *p, uint64_t n) {
  const uintptr_t first = (uintptr_t)chunk->bytes;
  const uintptr_t at = (uintptr_t)p;
  return at >= first && at - first <= chunk->used &&
         n <= chunk->used - (at - first);
}

/* True for SQL NULL and for bytes that the batch keeps.  The block handed out
 * last is in the first chunk, so that the walk hardly ever takes a step. */
static bool holds(const struct weir_drv_batch *batch,
                  const void *p,
                  uint64_t n) {
  if (p == NULL) {
    return n == UINT64_MAX;
  }
  const struct chunk *chunk = batch->chunks;
  while (chunk != NULL && !in_chunk(chunk, p, n)) {
    chunk = chunk->next;
  }
  return chunk != NULL;
}

weir_drv_status weir__batch_cell(weir_drv_batch *batch,
                                 const void *p,
                                 uint64_t n) {
  if (!holds(batch, p, n)) {
    batch->strayed = true;
    return WEIR_DRV_E_INVALID;
  }
  if (!room_for_cell(batch)) {
    return WEIR_DRV_E_NOMEM;
  }
  batch->cells[batch->n_cells++] = (struct weir_cell){p, n};
  return WEIR_DRV_DONE;
}

bool weir__batch_strayed(const weir_drv_batch *batch) {
  return batch->strayed;
}

bool weir__batch_whole(const weir_drv_batch *batch) {
  return batch->n_cols == 0 ? batch->n_cells == 0
                            : batch->n_cells % batch->n_cols == 0;
}

const struct weir_cell *weir__batch_cells(const weir_drv_batch *batch,
                                          uint64_t *out_n_rows) {
  *out_n_rows = batch->n_cols == 0 ? 0 : batch->n_cells / batch->n_cols;
  return batch->cells;
}
