/* SPDX-License-Identifier: MIT */
/* idle_list.c - a ring of slot numbers; entry 0 is where it begins and ends, entry
 * i + 1 is slot i, and one that is in no ring points to itself.
 *
 * What the list promises.  A slot that is idle at rest has an entry: a slot is IDLE
 * first, then its maker calls weir__idle_list_note(), and an entry is dropped only by
 * one who has claimed the slot, or who found it neither IDLE nor RESERVED.  Whoever
 * makes that one IDLE again comes to note() afterwards.
 *
 * Why no waiter sleeps beside one (P3).  A release makes its slot IDLE, notes it, and
 * reads Q again; a waiter writes Q (sets WAITERS, or clears TRYING) and then searches.
 * Note and search each hold the list's mutex, so one of them is first:
 *   - the note: the search finds the entry, and claims it or sees it taken;
 *   - the search: what the waiter wrote into Q before it is seen by the release when
 *     it reads Q after the note, and the release dispatches (dispatch.h).
 * This needs no order of memory but the mutex's own.  A search can pass an IDLE slot
 * by in these cases only, and each has somebody who comes:
 *   - its note has not come yet: the second case above;
 *   - it is doomed or of another generation: whoever cleared the pool sweeps it, by
 *     its word, and its empty place dispatches;
 *   - it is RESERVED: the reactor is looking at it, and publishes or closes it; both
 *     end in a dispatch, and its entry stays where it is meanwhile, so that being
 *     looked at changes nobody's turn.
 * A claim that fails because the slot was marked as suspect just then is made again.
 *
 * Who takes a slot by its word (probe, keepalive, upkeep, a clear, a shrinking
 * maximum) leaves its entry behind.  Such an entry does no harm: it is a number, not
 * a pointer, there is room for each slot's once and no more, and it is dropped by the
 * next search that meets it or moved by the slot's next note.  If the slot becomes
 * idle between the two, a search may find it a moment before its note and at its old
 * place, which is another order of two calls that run at once.  Slots are never
 * freed before the pool is, and then the list goes with it. */
#include "idle_list.h"

#include <string.h>

#include "pool.h"
#include "slot.h"
#include "sys/assert.h"
#include "sys/mem.h"
#include "sys/point.h"

struct link {
  uint32_t newer;
  uint32_t older;
};

struct weir__idle_list {
  struct weir__mutex mu; /* guards all below */
  struct link *links;    /* NULL: no room yet */
  uint32_t room;         /* entries, with entry 0 */
};

/* Room for the first eight slots and entry 0, and so on by doubling. */
#define FIRST_ROOM 16u

struct weir__idle_list *weir__idle_list_new(void) {
  struct weir__idle_list *list = weir__mem_new(sizeof *list);
  if (list != NULL) {
    weir__mutex_init(&list->mu, WEIR_RANK_IDLE);
  }
  return list;
}

void weir__idle_list_free(struct weir__idle_list *list) {
  if (list != NULL) {
    weir__mutex_fini(&list->mu);
    weir__mem_free(list->links);
    weir__mem_free(list);
  }
}

/* Entries from `from` on are in no ring. */
static void make_single(struct link *links, uint32_t from, uint32_t room) {
  for (uint32_t e = from; e < room; e++) {
    links[e] = (struct link){.newer = e, .older = e};
  }
}

bool weir__idle_list_grow(struct weir__idle_list *list, uint32_t max) {
  uint32_t room = list->room == 0 ? FIRST_ROOM : list->room;
  while (room < max + 1) {
    room *= 2;
  }
  if (room == list->room) {
    return true;
  }
  struct link *links = weir__mem_array(room, sizeof *links);
  if (links == NULL) {
    return false;
  }
  make_single(links, list->room, room);
  weir__mutex_lock(&list->mu);
  struct link *before = list->links;
  if (before != NULL) {
    memcpy(links, before, list->room * sizeof *links);
  }
  list->links = links;
  list->room = room;
  weir__mutex_unlock(&list->mu);
  weir__mem_free(before);
  return true;
}

static bool is_linked(const struct weir__idle_list *list, uint32_t e)
    WEIR_REQUIRES(list->mu) {
  return list->links[e].newer != e;
}

static void drop(struct weir__idle_list *list, uint32_t e)
    WEIR_REQUIRES(list->mu) {
  struct link at = list->links[e];
  list->links[at.newer].older = at.older;
  list->links[at.older].newer = at.newer;
  list->links[e] = (struct link){.newer = e, .older = e};
}

static void push_newest(struct weir__idle_list *list, uint32_t e)
    WEIR_REQUIRES(list->mu) {
  uint32_t before = list->links[0].older;
  list->links[e] = (struct link){.newer = 0, .older = before};
  list->links[before].newer = e;
  list->links[0].older = e;
}

/* Its next owner, or the one who sees to its end, need not be waited for. */
static bool is_gone(const struct weir__slot *slot) {
  uint32_t state = weir__slot_state(weir__load_seq_u64(&slot->word));
  return state != WEIR_SLOT_IDLE && state != WEIR_SLOT_RESERVED;
}

/* Whether it may be had; it is claimed if out_word says so. */
static bool have(struct weir__slot *slot,
                 uint32_t generation,
                 uint64_t *out_word) {
  while (weir__slot_claimable(weir__load_seq_u64(&slot->word), generation)) {
    if (out_word == NULL) {
      return true;
    }
    uint64_t word = weir__slot_claim(slot, generation);
    if (word != 0) {
      *out_word = word;
      return true;
    }
    /* Taken by its word, or marked as suspect: then once more. */
  }
  return false;
}

static struct weir__slot *search(struct weir__pool *pool,
                                 struct weir__idle_list *list,
                                 enum weir__idle_end from,
                                 uint32_t generation,
                                 uint64_t *out_word) WEIR_REQUIRES(list->mu) {
  uint32_t e =
      from == WEIR_IDLE_NEWEST ? list->links[0].older : list->links[0].newer;
  while (e != 0) {
    struct link at = list->links[e];
    struct weir__slot *slot = weir__pool_slot(pool, e - 1);
    bool found = have(slot, generation, out_word);
    if (found ? out_word != NULL : is_gone(slot)) {
      drop(list, e);
    }
    if (found) {
      return slot;
    }
    e = from == WEIR_IDLE_NEWEST ? at.older : at.newer;
  }
  return NULL;
}

struct weir__slot *weir__idle_list_find(struct weir__pool *pool,
                                        enum weir__idle_end from,
                                        uint32_t generation,
                                        uint64_t *out_word) {
  struct weir__idle_list *list = pool->idle.list;
  struct weir__slot *slot = NULL;
  weir__mutex_lock(&list->mu);
  if (list->links != NULL) {
    slot = search(pool, list, from, generation, out_word);
  }
  weir__mutex_unlock(&list->mu);
  return slot;
}

void weir__idle_list_note(struct weir__pool *pool, uint32_t index, bool again) {
  struct weir__idle_list *list = pool->idle.list;
  WEIR_POINT("idle.note", pool);
  weir__mutex_lock(&list->mu);
  WEIR_ASSERT(index + 1 < list->room); /* made before there was such a slot */
  bool linked = is_linked(list, index + 1);
  if (linked && !again) {
    drop(list, index + 1);
  }
  if (!linked || !again) {
    push_newest(list, index + 1);
  }
  weir__mutex_unlock(&list->mu);
}

uint32_t weir__idle_list_count(struct weir__idle_list *list) {
  uint32_t n = 0;
  weir__mutex_lock(&list->mu);
  for (uint32_t e = list->links == NULL ? 0 : list->links[0].newer; e != 0;
       e = list->links[e].newer) {
    n++;
  }
  weir__mutex_unlock(&list->mu);
  return n;
}
