/* SPDX-License-Identifier: MIT */
/* idle.h - which idle slot next.  The slot's word alone says whether a slot is idle;
 * how it is found is the pool's Pool Idle Order.
 *
 * lifo, fifo: a list in the order of returns (idle_list.h).
 * affinity: the one this CPU gave back last, else the one with the lowest index, so
 * that surplus slots really idle.  There is a bitmap, which is a superset:
 * an idle slot's bit is set or about to be set by whoever made it idle; a set
 * bit may belong to a slot that is not idle any more.  In steady state neither
 * bitmap nor hint is written.
 *
 * A hint is followed below `packed` only, which is what the pool has lately
 * needed at once (trim.h): with many CPUs as many connections would else be kept
 * busy in turn, and none would ever be surplus. */
#ifndef WEIR_IDLE_H
#define WEIR_IDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"
#include "sys/atomic.h"
#include "sys/clock.h"

struct weir__idle_list;
struct weir__idle_policy;
struct weir__pool;
struct weir__slot;

#define WEIR_IDLE_HINTS 64u

struct weir__idle_hint {
  _Atomic uint32_t index_plus_1; /* 0: none yet */
  char pad[52];                  /* a line for each CPU */
  _Atomic uint64_t overtakes;    /* leases taken there past a waiter */
};

struct weir__idle {
  struct weir__idle_hint *_Atomic hints; /* hint_mask + 1 of them; NULL before
                                          * there are slots */
  uint32_t hint_mask;                    /* fixed before hints is set */
  struct weir__bits bits;
  _Atomic uint32_t packed;   /* hints above this are not followed; 0: all are */
  _Atomic uint32_t reached;  /* 1 + the highest index a search has come to */
  _Atomic uint32_t suspects; /* 1: some slots became suspect; reactor clears */
  _Atomic uint32_t lost_n;   /* connections lost since lost_since */
  _Atomic uint64_t lost_since;
  struct weir__idle_list *list; /* in place of the bitmap; fixed; or NULL */
};

/* Connections lost within WEIR_IDLE_LOST_NS that make all idle ones suspect. */
#define WEIR_IDLE_LOST_MAX 3u
#define WEIR_IDLE_LOST_NS  WEIR_NS_PER_S

/* Makes an object of zeros one for no slots in that order.  False: no memory.  One of
 * zeros is affinity's already. */
bool weir__idle_init(struct weir__idle *idle,
                     const struct weir__idle_policy *policy);

/* Makes room for slots below max.  False: no memory.  The pool's mutex is held. */
bool weir__idle_grow(struct weir__idle *idle, uint32_t max);
void weir__idle_fini(struct weir__idle *idle);

/* Claims an idle slot of that generation (LEASED) and stores its new word; NULL:
 * there was none at some moment during the call.  Never blocks. */
struct weir__slot *weir__idle_take(struct weir__pool *pool,
                                   uint32_t generation,
                                   uint64_t *out_word);

/* After the slot's word has become IDLE: makes it findable.  again: it was idle until
 * the engine looked at it, so it keeps its turn. */
void weir__idle_note(struct weir__pool *pool, uint32_t index, bool again);

/* True if a slot of that generation is idle.  mu held: one that is missed, because
 * its bit is away for a moment, is looked for by the reactor. */
bool weir__idle_any(struct weir__pool *pool, uint32_t generation);

/* The line of the CPU at hand; NULL: there are no hints yet. */
struct weir__idle_hint *weir__idle_hint_here(struct weir__idle *idle);

/* A lease has been taken past a waiter; how many have been. */
void weir__idle_overtook(struct weir__pool *pool);
uint64_t weir__idle_overtakes(const struct weir__pool *pool);

/* How many slots are idle, counted up to limit. */
uint32_t weir__idle_count(const struct weir__pool *pool, uint32_t limit);

/* Marks every idle slot as suspect: it is looked at before it is used, and by the
 * reactor soon.  Threads: any; the pool's mutex may be held.  Blocks: no. */
void weir__idle_suspect_all(struct weir__pool *pool);

/* A connection was found dead.  Several within a second make all idle ones
 * suspect, because it is the server that has gone.  Threads: any. */
void weir__idle_lost(struct weir__pool *pool);

#endif
