/* SPDX-License-Identifier: MIT */
/* idle_affinity.c - the slot that this CPU gave back last, else the one with the
 * lowest index, so that surplus slots really idle: a bitmap and a hint for each CPU
 * (idle.h). */
#include <stddef.h>

#include "idle.h"
#include "policy.h"
#include "pool.h"
#include "slot.h"
#include "sys/point.h"
#include "tend.h"

static struct weir__slot *take_hinted(struct weir__pool *pool,
                                      uint32_t generation,
                                      uint64_t *out_word) {
  const struct weir__idle_hint *here = weir__idle_hint_here(&pool->idle);
  uint32_t hint =
      here == NULL ? 0 : weir__load_acquire_u32(&here->index_plus_1);
  uint32_t packed = weir__load_relaxed_u32(&pool->idle.packed);
  if (hint == 0 || (packed != 0 && hint > packed)) {
    return NULL;
  }
  struct weir__slot *slot = weir__pool_slot(pool, hint - 1);
  uint64_t word = weir__slot_claim(slot, generation);
  if (word == 0) {
    return NULL;
  }
  *out_word = word;
  return slot;
}

/* A set bit over a slot that is not idle is cleared, and the slot looked at
 * again: it may have become idle, and whoever made it so may have seen the bit
 * still set.  Then, for a moment, there was an idle slot without a bit: a waiter
 * who came just then has set WAITERS, missed the slot and gone to sleep.  Who
 * holds the pool's mutex is alone with the waiters and serves them anyway; for
 * others the reactor looks again (P3). */
static void tidy(struct weir__pool *pool, struct weir__slot *slot) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  if (weir__slot_state(word) == WEIR_SLOT_IDLE) {
    return; /* of another generation, or doomed: its sweeper comes */
  }
  WEIR_POINT("idle.tidy.locked", slot);
  weir__bits_clear(&pool->idle.bits, slot->index);
  word = weir__load_seq_u64(&slot->word);
  if (weir__slot_state(word) == WEIR_SLOT_IDLE) {
    WEIR_POINT("idle.untidied.locked", slot);
    weir__bits_set(&pool->idle.bits, slot->index);
    if ((weir__load_seq_u64(&pool->q) & WEIR_Q_WAITERS) != 0) {
      weir__tend(pool);
    }
  }
}

/* All slots below are in use, or the search would have ended there: so many
 * connections are needed at once.  trim.h asks from time to time. */
static void note_reached(struct weir__idle *idle, uint32_t index) {
  if (weir__load_relaxed_u32(&idle->reached) <= index) {
    weir__store_relaxed_u32(&idle->reached, index + 1);
  }
}

static bool any(struct weir__pool *pool, uint32_t generation) {
  struct weir__bits *bits = &pool->idle.bits;
  for (uint32_t i = weir__bits_next(bits, 0); i != WEIR_BITS_NONE;
       i = weir__bits_next(bits, i + 1)) {
    struct weir__slot *slot = weir__pool_slot(pool, i);
    for (int attempt = 0; attempt < 2; attempt++) {
      uint64_t word = weir__load_seq_u64(&slot->word);
      if (weir__slot_claimable(word, generation)) {
        return true;
      }
      tidy(pool, slot);
    }
  }
  return false;
}

static struct weir__slot *take(struct weir__pool *pool,
                               uint32_t generation,
                               uint64_t *out_word) {
  struct weir__slot *slot = take_hinted(pool, generation, out_word);
  if (slot != NULL) {
    return slot;
  }
  struct weir__bits *bits = &pool->idle.bits;
  for (uint32_t i = weir__bits_next(bits, 0); i != WEIR_BITS_NONE;
       i = weir__bits_next(bits, i + 1)) {
    slot = weir__pool_slot(pool, i);
    /* Twice: tidy() may have found it idle after all. */
    for (int attempt = 0; attempt < 2; attempt++) {
      uint64_t word = weir__slot_claim(slot, generation);
      if (word != 0) {
        note_reached(&pool->idle, i);
        *out_word = word;
        return slot;
      }
      tidy(pool, slot);
    }
  }
  return NULL;
}

static void note(struct weir__pool *pool, uint32_t index, bool again) {
  (void)again; /* there is no order to keep */
  struct weir__idle_hint *hint = weir__idle_hint_here(&pool->idle);
  weir__bits_set(&pool->idle.bits, index);
  if (hint != NULL &&
      weir__load_relaxed_u32(&hint->index_plus_1) != index + 1) {
    /* Release: whoever follows the hint sees the slot's chunk. */
    weir__store_release_u32(&hint->index_plus_1, index + 1);
  }
}

const struct weir__idle_policy weir__idle_affinity = {
    .name = "affinity",
    .listed = false,
    .take = take,
    .note = note,
    .any = any,
};
