/* SPDX-License-Identifier: MIT */
#include "probe.h"

#include "dispatch.h"
#include "growth.h"
#include "idle.h"
#include "loader.h"
#include "pool.h"
#include "session.h"
#include "sys/assert.h"
#include "sys/mutex.h"
#include "sys/point.h"

bool weir__probe_alive(struct weir_drv_hconn *session) {
  WEIR_ASSERT(weir__mutex_none_held());
  return session->conn != NULL && session->usable &&
         session->driver->table.health(session->conn) == WEIR_DRV_ALIVE_YES;
}

bool weir__probe_idle(struct weir__pool *pool,
                      struct weir__slot *slot,
                      uint64_t *word) {
  uint64_t reserved =
      weir__slot_word(WEIR_SLOT_RESERVED, 0, weir__slot_generation(*word),
                      weir__slot_lease(*word));
  if (weir__slot_state(*word) != WEIR_SLOT_IDLE ||
      !weir__slot_move(slot, word, reserved)) {
    return false;
  }
  WEIR_POINT("probe.reserved", slot);
  if (!weir__probe_alive(weir__slot_session(slot))) {
    weir__idle_lost(pool);
  } else if (weir__publish_again(pool, slot, &reserved)) {
    return true;
  }
  /* Dead, or doomed while it was looked at. */
  (void)weir__growth_retire(slot, &reserved);
  return true;
}

void weir__probe_suspects(struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(pool, i);
    uint64_t word = weir__load_seq_u64(&slot->word);
    if (weir__slot_state(word) == WEIR_SLOT_IDLE &&
        (weir__slot_flags(word) & WEIR_SLOT_SUSPECT) != 0) {
      (void)weir__probe_idle(pool, slot, &word);
    }
  }
}
