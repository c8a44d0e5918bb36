/* SPDX-License-Identifier: MIT */
#include "base/bits.h"

#include <stddef.h>

#include "sys/assert.h"
#include "sys/mem.h"

static uint32_t words_for(uint32_t n) {
  return (n + 63u) / 64u;
}

bool weir__bits_init(struct weir__bits *bits, uint32_t size) {
  uint32_t words[WEIR_BITS_LEVELS];
  uint32_t total = 0;
  WEIR_ASSERT(size >= 1 && size <= 64u * 64u * 64u);
  bits->size = size;
  bits->levels = 0;
  for (uint32_t n = size; bits->levels < WEIR_BITS_LEVELS;) {
    n = words_for(n);
    words[bits->levels++] = n;
    total += n;
    if (n == 1) {
      break;
    }
  }
  bits->level[0] = weir__mem_array(total, sizeof *bits->level[0]);
  for (uint32_t i = 1; i < bits->levels; i++) {
    bits->level[i] =
        bits->level[0] == NULL ? NULL : bits->level[i - 1] + words[i - 1];
  }
  return bits->level[0] != NULL;
}

void weir__bits_fini(struct weir__bits *bits) {
  /* Through an integer: the members are atomic, their memory is not. */
  weir__mem_free((void *)(uintptr_t)bits->level[0]);
  bits->level[0] = NULL;
}

static uint64_t bit(uint32_t i) {
  return UINT64_C(1) << (i % 64u);
}

bool weir__bits_has(const struct weir__bits *bits, uint32_t i) {
  return (weir__load_seq_u64(&bits->level[0][i / 64u]) & bit(i)) != 0;
}

void weir__bits_set(struct weir__bits *bits, uint32_t i) {
  for (uint32_t level = 0; level < bits->levels; level++) {
    _Atomic uint64_t *word = &bits->level[level][i / 64u];
    if ((weir__load_seq_u64(word) & bit(i)) == 0) {
      (void)weir__or_seq_u64(word, bit(i));
    }
    i /= 64u;
  }
}

/* Sets the summary bits over a word of `level` again: levels above may have been
 * tidied meanwhile, too. */
static void restore(struct weir__bits *bits, uint32_t level, uint32_t word) {
  for (uint32_t l = level + 1; l < bits->levels; l++) {
    (void)weir__or_seq_u64(&bits->level[l][word / 64u], bit(word));
    word /= 64u;
  }
}

/* Clears the summary bit over an empty word of `level`, then looks again.  False:
 * the word is not empty. */
static bool tidy_one(struct weir__bits *bits, uint32_t level, uint32_t word) {
  _Atomic uint64_t *below = &bits->level[level][word];
  _Atomic uint64_t *above = &bits->level[level + 1][word / 64u];
  if (weir__load_seq_u64(below) != 0) {
    return false;
  }
  (void)weir__add_acq_rel_u32(&bits->tidy_begun, 1);
  (void)weir__and_seq_u64(above, ~bit(word));
  bool empty = weir__load_seq_u64(below) == 0;
  if (!empty) {
    restore(bits, level, word);
  }
  (void)weir__add_acq_rel_u32(&bits->tidy_done, 1);
  return empty;
}

static void tidy(struct weir__bits *bits, uint32_t word) {
  for (uint32_t level = 0;
       level + 1 < bits->levels && tidy_one(bits, level, word); level++) {
    word /= 64u;
  }
}

void weir__bits_clear(struct weir__bits *bits, uint32_t i) {
  (void)weir__and_seq_u64(&bits->level[0][i / 64u], ~bit(i));
  tidy(bits, i / 64u);
}

/* The lowest set bit of a level at or above from in from's own word, or none. */
static uint32_t in_word(const struct weir__bits *bits,
                        uint32_t level,
                        uint32_t from) {
  uint64_t mask = ~UINT64_C(0) << (from % 64u);
  uint64_t set = weir__load_seq_u64(&bits->level[level][from / 64u]) & mask;
  return set == 0 ? WEIR_BITS_NONE
                  : from / 64u * 64u + (uint32_t)__builtin_ctzll(set);
}

/* How many bits a level has. */
static uint32_t level_size(const struct weir__bits *bits, uint32_t level) {
  uint32_t n = bits->size;
  for (uint32_t l = 0; l < level; l++) {
    n = words_for(n);
  }
  return n;
}

/* Up while there is nothing in the rest of the word, down along the lowest
 * summary bits.  A summary bit over an empty word sends the search on behind it;
 * whoever emptied the word tidies the bit away. */
static uint32_t search(const struct weir__bits *bits, uint32_t from) {
  uint32_t level = 0;
  while (level < bits->levels && from < level_size(bits, level)) {
    uint32_t found = in_word(bits, level, from);
    if (found == WEIR_BITS_NONE) {
      from = from / 64u + 1;
      level++;
    } else if (level == 0) {
      return found;
    } else {
      level--;
      from = found * 64u;
      if (in_word(bits, level, from) == WEIR_BITS_NONE) {
        from = found + 1;
        level++;
      }
    }
  }
  return WEIR_BITS_NONE;
}

/* Without the summary. */
static uint32_t next_of_leaves(struct weir__bits *bits, uint32_t from) {
  uint32_t word = from / 64u;
  uint64_t set = weir__load_seq_u64(&bits->level[0][word]) &
                 (~UINT64_C(0) << (from % 64u));
  while (set == 0) {
    if (++word == words_for(bits->size)) {
      return WEIR_BITS_NONE;
    }
    set = weir__load_seq_u64(&bits->level[0][word]);
  }
  return word * 64u + (uint32_t)__builtin_ctzll(set);
}

/* A summary bit that was cleared before a search began and is set again after
 * it shows in the first look, one cleared meanwhile in the second. */
uint32_t weir__bits_next(struct weir__bits *bits, uint32_t from) {
  if (from >= bits->size) {
    return WEIR_BITS_NONE;
  }
  uint32_t done = weir__load_acquire_u32(&bits->tidy_done);
  uint32_t begun = weir__load_acquire_u32(&bits->tidy_begun);
  uint32_t found = search(bits, from);
  bool sure =
      done == begun && weir__load_acquire_u32(&bits->tidy_begun) == begun;
  return sure || found / 64u == from / 64u ? found : next_of_leaves(bits, from);
}
