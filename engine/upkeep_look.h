/* SPDX-License-Identifier: MIT */
/* upkeep_look.h - one look of the reactor at all places of a pool: between upkeep.c and
 * the policies of Pool Trim. */
#ifndef WEIR_UPKEEP_LOOK_H
#define WEIR_UPKEEP_LOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"

struct weir__look {
  struct weir__pool *pool;
  const struct weir__settings *set;
  uint64_t now;
  uint64_t next; /* when to look again */
  uint32_t open; /* not EMPTY and not CLOSING */
  uint32_t closing;
  uint32_t idle;
  uint32_t busy;    /* open and not idle */
  uint32_t used;    /* open and not idle all the time since the last note */
  uint32_t waiting; /* acquires in line */
  bool fell;        /* the pool has come down to Min Pool Size meanwhile */
  uint32_t peak;    /* trim.h; 0 while it is not known */
  uint32_t wanted;  /* opened until then: see replace() */
};

static inline void weir__look_no_later(struct weir__look *l, uint64_t at) {
  l->next = at < l->next ? at : l->next;
}

/* Fewer than that are not kept for the sake of idleness or surplus. */
static inline bool weir__look_is_spare(const struct weir__look *l) {
  return l->open > l->set->min_pool_size && l->idle > l->set->min_idle;
}

/* Whether any could be, now or when those in use come back. */
static inline bool weir__look_may_spare(const struct weir__look *l) {
  return l->open > l->set->min_pool_size && l->open > l->set->min_idle;
}

/* Closes an idle connection whose slot's word that is.  True if it has left; false: it
 * was leased meanwhile, and is in use, after all. */
bool weir__look_retire(struct weir__look *l,
                       struct weir__slot *slot,
                       uint64_t word);

/* Closes so many of those that have been idle longest, as far as they are spare; at
 * most WEIR_TRIM_MAX.  Returns how many places it has done with, closed or not. */
uint32_t weir__look_close_oldest(struct weir__look *l, uint32_t count);

#endif
