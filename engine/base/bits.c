/* SPDX-License-Identifier: MIT */
#include "base/bits.h"

#include <stddef.h>

#include "sys/assert.h"
#include "sys/mem.h"

#define FIRST 64u /* members of the first segment */

static uint32_t words_for(uint32_t n) {
  return (n + 63u) / 64u;
}

/* ------------------------------------------------------------- segments */

/* Which one i lies in: 0 for 0 to 63, then one more for each doubling. */
static uint32_t segment_of(uint32_t i) {
  return i < FIRST ? 0 : 26u - (uint32_t)__builtin_clz(i);
}

/* The first number of a segment. */
static uint32_t segment_base(uint32_t k) {
  return k == 0 ? 0 : FIRST << (k - 1);
}

/* One block: the struct, then the words of all levels. */
static struct weir__bits_segment *new_segment(uint32_t size) {
  uint32_t words[WEIR_BITS_LEVELS];
  uint32_t levels = 0;
  uint32_t total = 0;
  uint32_t n = size;
  do {
    n = words_for(n);
    words[levels++] = n;
    total += n;
  } while (n != 1);
  struct weir__bits_segment *segment =
      weir__mem_new(sizeof *segment + total * sizeof(uint64_t));
  if (segment == NULL) {
    return NULL;
  }
  segment->size = size;
  segment->levels = levels;
  segment->level[0] = (_Atomic uint64_t *)(void *)(segment + 1);
  for (uint32_t l = 1; l < levels; l++) {
    segment->level[l] = segment->level[l - 1] + words[l - 1];
  }
  return segment;
}

bool weir__bits_grow(struct weir__bits *bits, uint32_t size) {
  WEIR_ASSERT(size <= FIRST << (WEIR_BITS_SEGMENTS - 1));
  uint32_t n = weir__load_relaxed_u32(&bits->n_segments);
  for (; size > segment_base(n); n++) {
    struct weir__bits_segment *segment =
        new_segment(n == 0 ? FIRST : segment_base(n));
    if (segment == NULL) {
      return false;
    }
    bits->segments[n] = segment;
    /* Release: publishes the segment to the acquire in weir__bits_next(). */
    weir__store_release_u32(&bits->n_segments, n + 1);
  }
  return true;
}

bool weir__bits_init(struct weir__bits *bits, uint32_t size) {
  *bits = (struct weir__bits){0};
  if (weir__bits_grow(bits, size)) {
    return true;
  }
  weir__bits_fini(bits);
  return false;
}

void weir__bits_fini(struct weir__bits *bits) {
  uint32_t n = weir__load_relaxed_u32(&bits->n_segments);
  for (uint32_t k = 0; k < n; k++) {
    weir__mem_free(bits->segments[k]);
  }
  weir__store_relaxed_u32(&bits->n_segments, 0);
}

/* -------------------------------------------------- in a single segment */

static uint64_t bit(uint32_t i) {
  return UINT64_C(1) << (i % 64u);
}

static bool has(const struct weir__bits_segment *bits, uint32_t i) {
  return (weir__load_seq_u64(&bits->level[0][i / 64u]) & bit(i)) != 0;
}

static void set(struct weir__bits_segment *bits, uint32_t i) {
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
static void restore(struct weir__bits_segment *bits,
                    uint32_t level,
                    uint32_t word) {
  for (uint32_t l = level + 1; l < bits->levels; l++) {
    (void)weir__or_seq_u64(&bits->level[l][word / 64u], bit(word));
    word /= 64u;
  }
}

/* Clears the summary bit over an empty word of `level`, then looks again.  False:
 * the word is not empty. */
static bool tidy_one(struct weir__bits_segment *bits,
                     uint32_t level,
                     uint32_t word) {
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

static void tidy(struct weir__bits_segment *bits, uint32_t word) {
  for (uint32_t level = 0;
       level + 1 < bits->levels && tidy_one(bits, level, word); level++) {
    word /= 64u;
  }
}

static void clear(struct weir__bits_segment *bits, uint32_t i) {
  (void)weir__and_seq_u64(&bits->level[0][i / 64u], ~bit(i));
  tidy(bits, i / 64u);
}

/* The lowest set bit of a level at or above from in from's own word, or none. */
static uint32_t in_word(const struct weir__bits_segment *bits,
                        uint32_t level,
                        uint32_t from) {
  uint64_t mask = ~UINT64_C(0) << (from % 64u);
  uint64_t set = weir__load_seq_u64(&bits->level[level][from / 64u]) & mask;
  return set == 0 ? WEIR_BITS_NONE
                  : from / 64u * 64u + (uint32_t)__builtin_ctzll(set);
}

/* How many bits a level has. */
static uint32_t level_size(const struct weir__bits_segment *bits,
                           uint32_t level) {
  uint32_t n = bits->size;
  for (uint32_t l = 0; l < level; l++) {
    n = words_for(n);
  }
  return n;
}

/* Up while there is nothing in the rest of the word, down along the lowest
 * summary bits.  A summary bit over an empty word sends the search on behind it;
 * whoever emptied the word tidies the bit away. */
static uint32_t search(const struct weir__bits_segment *bits, uint32_t from) {
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
static uint32_t next_of_leaves(struct weir__bits_segment *bits, uint32_t from) {
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
static uint32_t next(struct weir__bits_segment *bits, uint32_t from) {
  if (bits->levels == 1) {
    return in_word(bits, 0, from); /* no summary, nothing to be sure of */
  }
  uint32_t done = weir__load_acquire_u32(&bits->tidy_done);
  uint32_t begun = weir__load_acquire_u32(&bits->tidy_begun);
  uint32_t found = search(bits, from);
  bool sure =
      done == begun && weir__load_acquire_u32(&bits->tidy_begun) == begun;
  return sure || found / 64u == from / 64u ? found : next_of_leaves(bits, from);
}

/* ------------------------------------------------------------------- API */

bool weir__bits_has(const struct weir__bits *bits, uint32_t i) {
  uint32_t k = segment_of(i);
  return has(bits->segments[k], i - segment_base(k));
}

void weir__bits_set(struct weir__bits *bits, uint32_t i) {
  uint32_t k = segment_of(i);
  set(bits->segments[k], i - segment_base(k));
}

void weir__bits_clear(struct weir__bits *bits, uint32_t i) {
  uint32_t k = segment_of(i);
  clear(bits->segments[k], i - segment_base(k));
}

uint32_t weir__bits_next(struct weir__bits *bits, uint32_t from) {
  uint32_t n = weir__load_acquire_u32(&bits->n_segments);
  for (uint32_t k = segment_of(from); k < n; k++) {
    uint32_t base = segment_base(k);
    uint32_t found = next(bits->segments[k], from > base ? from - base : 0);
    if (found != WEIR_BITS_NONE) {
      return base + found;
    }
  }
  return WEIR_BITS_NONE;
}
