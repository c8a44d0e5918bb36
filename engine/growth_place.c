/* SPDX-License-Identifier: MIT */
/* growth_place.c - from EMPTY to CONNECTING, and from whatever a place is to CLOSING
 * and EMPTY. */
#include <stddef.h>

#include "close.h"
#include "control.h"
#include "dispatch.h"
#include "endpoint.h"
#include "growth_internal.h"
#include "policy.h"
#include "session.h"
#include "sys/assert.h"
#include "sys/point.h"
#include "tend.h"
#include "upkeep.h"

/* Makes eight more places.  False: there is no memory, or there are too many. */
static bool make_slots(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  uint32_t n = weir__pool_extend_locked(pool);
  if (n == UINT32_MAX) {
    return false;
  }
  for (uint32_t i = n; i < n + WEIR_SLOT_CHUNK; i++) {
    weir__bits_set(&pool->empties, i);
  }
  /* Release: whoever counts slots without mu sees the chunk. */
  weir__store_release_u32(&pool->n_slots, n + WEIR_SLOT_CHUNK);
  return true;
}

/* An EMPTY place, or WEIR_BITS_NONE. */
static uint32_t find_empty(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  if (pool->n_open >= pool->max_now) {
    return WEIR_BITS_NONE;
  }
  uint32_t i = weir__bits_next(&pool->empties, 0);
  if (i == WEIR_BITS_NONE && make_slots(pool)) {
    i = weir__bits_next(&pool->empties, 0);
  }
  return i;
}

/* An EMPTY place made CONNECTING, stamped with the generation. */
static struct weir__slot *occupy(struct weir__pool *pool,
                                 uint32_t i,
                                 uint32_t ticket,
                                 uint64_t now) WEIR_REQUIRES(pool->mu) {
  struct weir__slot *slot = weir__pool_slot(pool, i);
  uint64_t word = weir__load_seq_u64(&slot->word);
  uint64_t q = weir__load_seq_u64(&pool->q);
  WEIR_ASSERT(weir__slot_session(slot) == NULL);
  slot->mark = ticket;
  slot->since = now;
  bool moved = weir__slot_move(slot, &word,
                               weir__slot_word(WEIR_SLOT_CONNECTING, 0,
                                               weir__q_generation(q),
                                               weir__slot_lease(word)));
  WEIR_ASSERT(moved);
  (void)moved;
  weir__bits_clear(&pool->empties, i);
  if (pool->n_open == 0 || pool->trimless) {
    pool->review_asked = true;
    weir__tend(pool); /* which looks after idle ones from now on */
  }
  pool->n_open++;
  WEIR_ASSERT(pool->n_open <= pool->max_now); /* P1 */
  pool->n_connecting++;
  pool->connects_begun++;
  return slot;
}

struct weir__slot *weir__growth_take_locked(struct weir__pool *pool,
                                            uint64_t now,
                                            bool *out_full) {
  uint32_t ticket = 0;
  uint32_t i = find_empty(pool);
  *out_full = i == WEIR_BITS_NONE;
  if (*out_full || !weir__growth_permit_locked(pool, now, &ticket)) {
    return NULL;
  }
  return occupy(pool, i, ticket, now);
}

/* CONNECTING, with no session yet, to EMPTY. */
static void give_back(struct weir__pool *pool, struct weir__slot *slot) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  WEIR_ASSERT(weir__slot_session(slot) == NULL);
  while (!weir__slot_move(slot, &word,
                          weir__slot_word(WEIR_SLOT_CLOSING, 0,
                                          weir__slot_generation(word),
                                          weir__slot_lease(word)))) {
  }
  weir__mutex_lock(&pool->mu);
  pool->policies.failure->dropped(pool, slot->since); /* unless it has told */
  pool->n_connecting--;
  pool->n_closing++;
  weir__upkeep_left_locked(pool);
  weir__mutex_unlock(&pool->mu);
  weir__growth_emptied(slot);
}

void weir__growth_abandon(struct weir__pool *pool,
                          struct weir__slot *slot,
                          const struct weir_error *err) {
  (void)weir__growth_failed(pool, slot, err);
  give_back(pool, slot);
}

void weir__growth_drop(struct weir__pool *pool, struct weir__slot *slot) {
  (void)weir__growth_hand_in(pool, slot, WEIR_OUTCOME_DROPPED, WEIR_CLASS_NONE,
                             NULL);
  weir__mutex_lock(&pool->mu);
  pool->connects_begun--;
  weir__limiter_give(&pool->growth.limiter,
                     weir__pool_settings(pool)->connect_rate);
  weir__mutex_unlock(&pool->mu);
  give_back(pool, slot);
}

bool weir__growth_retire(struct weir__slot *slot, uint64_t *word) {
  uint32_t state = weir__slot_state(*word);
  uint32_t lease = weir__slot_lease(*word);
  uint32_t incall = weir__slot_flags(*word) & WEIR_SLOT_INCALL;
  uint64_t closing;
  WEIR_POINT("retire.begin.locked", slot);
  do {
    /* Only DOOMED may have come: anything else is another owner.  Inside a call
     * the slot stays the caller's, also when shutdown has moved its lease on. */
    if (weir__slot_state(*word) != state ||
        (weir__slot_flags(*word) & WEIR_SLOT_INCALL) != incall ||
        (incall == 0 && weir__slot_lease(*word) != lease)) {
      return false;
    }
    closing =
        weir__slot_word(WEIR_SLOT_CLOSING, 0, weir__slot_generation(*word),
                        weir__slot_lease(*word));
  } while (!weir__slot_move(slot, word, closing));
  struct weir__pool *pool =
      atomic_load_explicit(&slot->pool, memory_order_relaxed);
  struct weir__wakes wakes = {.n_asleep = 0};
  WEIR_POINT("retire.closing.locked", slot);
  if (state == WEIR_SLOT_CONNECTING) {
    (void)weir__growth_hand_in(pool, slot, WEIR_OUTCOME_DROPPED,
                               WEIR_CLASS_NONE, NULL);
  }
  if (state == WEIR_SLOT_LEASED || state == WEIR_SLOT_RESERVED) {
    weir__growth_lost(pool, weir__slot_session(slot), closing);
  }
  weir__mutex_lock(&pool->mu);
  pool->n_closing++;
  weir__upkeep_left_locked(pool);
  if (state == WEIR_SLOT_CONNECTING) {
    pool->policies.failure->dropped(pool, slot->since); /* unless it has told */
    pool->n_connecting--;
    weir__growth_locked(pool, &wakes);
  }
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  weir__close_begin(weir__slot_session(slot));
  return true;
}

void weir__growth_sweep(struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(pool, i);
    uint64_t word = weir__load_seq_u64(&slot->word);
    if (weir__slot_state(word) == WEIR_SLOT_IDLE) {
      (void)weir__growth_retire(slot, &word);
    }
  }
}

void weir__growth_emptied(struct weir__slot *slot) {
  struct weir__pool *pool =
      atomic_load_explicit(&slot->pool, memory_order_relaxed);
  struct weir__wakes wakes = {.n_asleep = 0};
  uint64_t word = weir__load_seq_u64(&slot->word);
  weir__slot_set_session(slot, NULL);
  weir__slot_end_lease(slot);
  bool moved = weir__slot_move(
      slot, &word,
      weir__slot_word(WEIR_SLOT_EMPTY, 0, 0, weir__slot_lease(word)));
  WEIR_ASSERT(moved); /* CLOSING is the reactor's alone */
  (void)moved;
  weir__endpoint_give(pool); /* back before anyone is woken */
  weir__mutex_lock(&pool->mu);
  WEIR_ASSERT(pool->n_closing > 0 && pool->n_open > 0); /* P8 */
  pool->n_closing--;
  pool->n_open--;
  weir__bits_set(&pool->empties, slot->index);
  weir__dispatch_locked(pool, &wakes);
  weir__control_news_locked(pool);
  bool last = pool->closed && pool->n_open == 0;
  weir__mutex_unlock(&pool->mu);
  weir__wakes_flush(&wakes, NULL);
  if (last) {
    weir__tend(pool);
  }
}
