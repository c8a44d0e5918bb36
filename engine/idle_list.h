/* SPDX-License-Identifier: MIT */
/* idle_list.h - idle slots in the exact order of their return, for Pool Idle
 * Order=lifo and fifo.
 *
 * One list for each pool, of slot numbers, under a mutex of its own (rank IDLE).
 * The slot's word alone says whether it is idle; the list may hold entries of
 * slots that are not idle any more, at most one for each slot. */
#ifndef WEIR_IDLE_LIST_H
#define WEIR_IDLE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/mutex.h"

struct weir__idle_list;
struct weir__pool;
struct weir__slot;

/* From which end a search begins. */
enum weir__idle_end {
  WEIR_IDLE_OLDEST, /* returned longest ago */
  WEIR_IDLE_NEWEST
};

/* An empty list, without room.  NULL: no memory.  Owns: the caller, until
 * weir__idle_list_free(), which takes NULL, too. */
struct weir__idle_list *weir__idle_list_new(void);
void weir__idle_list_free(struct weir__idle_list *list);

/* Makes room for slots below max.  False: no memory; nothing has changed.
 * Threads: one at a time; others may use the list meanwhile. */
bool weir__idle_list_grow(struct weir__idle_list *list, uint32_t max);

/* The list of the pool: the first claimable slot of that generation, seen from that
 * end, is claimed; its new word in *out_word.  With out_word NULL it is only looked
 * for.  NULL: none is in the list.  Entries of slots that are idle no more are
 * dropped on the way.  Threads: any; pool->mu may be held.  Blocks: no. */
struct weir__slot *weir__idle_list_find(struct weir__pool *pool,
                                        enum weir__idle_end from,
                                        uint32_t generation,
                                        uint64_t *out_word);

/* After the slot's word has become IDLE: the newest from now on.  again: it had only
 * been looked at by the engine, and stays where it is if it is in the list.
 * Threads: any. */
void weir__idle_list_note(struct weir__pool *pool, uint32_t index, bool again);

/* How many entries there are, for tests. */
uint32_t weir__idle_list_count(struct weir__idle_list *list);

#endif
