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

/* Clears the summary bit over an empty word of `level`, then looks again. */
static void tidy(struct weir__bits *bits, uint32_t level, uint32_t word) {
  while (level + 1 < bits->levels) {
    _Atomic uint64_t *below = &bits->level[level][word];
    if (weir__load_seq_u64(below) != 0) {
      return;
    }
    _Atomic uint64_t *above = &bits->level[level + 1][word / 64u];
    (void)weir__and_seq_u64(above, ~bit(word));
    if (weir__load_seq_u64(below) != 0) {
      (void)weir__or_seq_u64(above, bit(word));
      /* Levels above may have been tidied meanwhile: set them again, too. */
      uint32_t up = word / 64u;
      for (uint32_t l = level + 2; l < bits->levels; l++) {
        (void)weir__or_seq_u64(&bits->level[l][up / 64u], bit(up));
        up /= 64u;
      }
      return;
    }
    word /= 64u;
    level++;
  }
}

void weir__bits_clear(struct weir__bits *bits, uint32_t i) {
  (void)weir__and_seq_u64(&bits->level[0][i / 64u], ~bit(i));
  tidy(bits, 0, i / 64u);
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
uint32_t weir__bits_next(struct weir__bits *bits, uint32_t from) {
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
