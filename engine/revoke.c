/* SPDX-License-Identifier: MIT */
#include "revoke.h"

#include <stddef.h>

#include "growth.h"
#include "lease.h"
#include "session.h"
#include "slot.h"

/* Takes a lease away.  False: there was none, or it was taken before. */
static bool revoke(struct weir__slot *slot) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  while (weir__slot_state(word) == WEIR_SLOT_LEASED) {
    uint32_t flags = weir__slot_flags(word);
    if ((flags & WEIR_SLOT_INCALL) == 0) {
      if (weir__growth_retire(slot, &word)) {
        return true;
      }
      continue;
    }
    if ((flags & WEIR_SLOT_DOOMED) != 0 &&
        weir__load_relaxed_u32(&slot->revoked) == weir__slot_lease(word)) {
      return false; /* taken before */
    }
    uint64_t to = weir__slot_word(
        WEIR_SLOT_LEASED, WEIR_SLOT_INCALL | WEIR_SLOT_DOOMED,
        weir__slot_generation(word), weir__slot_lease(word) + 1);
    if (weir__slot_move(slot, &word, to)) {
      weir__store_relaxed_u32(&slot->revoked, weir__slot_lease(to));
      return true;
    }
  }
  return false;
}

/* Wakes whoever is inside a call on the slot.  Sessions are freed by the reactor
 * only, which takes them out of their slots under free_mu first: the caller
 * holds it, so a session that is seen here stays. */
static void interrupt(struct weir__slot *slot) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  struct weir_drv_hconn *session = weir__slot_session(slot);
  uint32_t state = weir__slot_state(word);
  if (session != NULL &&
      (state == WEIR_SLOT_LEASED || state == WEIR_SLOT_CONNECTING)) {
    weir__streams_interrupt(&session->streams);
  }
  weir__lease_stir(slot);
}

uint32_t weir__revoke_leases(struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  uint32_t taken = 0;
  for (uint32_t i = 0; i < n; i++) {
    taken += revoke(weir__pool_slot(pool, i));
  }
  weir__mutex_lock(&pool->free_mu);
  for (uint32_t i = 0; i < n; i++) {
    interrupt(weir__pool_slot(pool, i));
  }
  weir__mutex_unlock(&pool->free_mu);
  return taken;
}
