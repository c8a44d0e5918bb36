/* SPDX-License-Identifier: MIT */
/* idle.h - which idle slot next: the one this CPU gave back last, else the one
 * with the lowest index, so that surplus slots really idle.
 *
 * The slot's word alone says whether a slot is idle.  The bitmap is a superset:
 * an idle slot's bit is set or about to be set by whoever made it idle; a set
 * bit may belong to a slot that is not idle any more.  In steady state neither
 * bitmap nor hint is written. */
#ifndef WEIR_IDLE_H
#define WEIR_IDLE_H

#include <stdint.h>

#include "base/bits.h"
#include "sys/atomic.h"

struct weir__pool;
struct weir__slot;

#define WEIR_IDLE_HINTS 64u

struct weir__idle_hint {
  _Atomic uint32_t index_plus_1; /* 0: none yet */
  char pad[60];                  /* a line for each CPU */
};

struct weir__idle {
  struct weir__idle_hint *_Atomic hints; /* hint_mask + 1 of them; NULL before
                                          * there are slots */
  uint32_t hint_mask;                    /* fixed before hints is set */
  struct weir__bits bits;
};

/* Makes room for slots below max.  False: no memory.  The pool's mutex is held.
 * An object of zeros is one for no slots. */
bool weir__idle_grow(struct weir__idle *idle, uint32_t max);
void weir__idle_fini(struct weir__idle *idle);

/* Claims an idle slot of that generation (LEASED) and stores its new word; NULL:
 * there was none at some moment during the call.  Never blocks. */
struct weir__slot *weir__idle_take(struct weir__pool *pool,
                                   uint32_t generation,
                                   uint64_t *out_word);

/* After the slot's word has become IDLE: makes it findable. */
void weir__idle_note(struct weir__pool *pool, uint32_t index);

#endif
