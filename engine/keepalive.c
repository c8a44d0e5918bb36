/* SPDX-License-Identifier: MIT */
#include "keepalive.h"

#include <stdbool.h>
#include <stddef.h>

#include "dispatch.h"
#include "growth.h"
#include "idle.h"
#include "loader.h"
#include "op.h"
#include "pool.h"
#include "probe.h"
#include "remote.h"
#include "session.h"
#include "sys/clock.h"
#include "tend.h"

/* How long after a ping was due and could not be, to look again. */
#define RETRY_NS (UINT64_C(100) * WEIR_NS_PER_MS)

/* From nine tenths to eleven tenths of the interval, by the session's number:
 * neighbours differ most (Weyl's sequence of the golden ratio). */
static uint64_t interval_of(const struct weir_drv_hconn *s, uint64_t interval) {
  uint32_t share = s->birth * UINT32_C(2654435769) >> 16;
  return interval - interval / 10 +
         interval / 5 / UINT64_C(65536) * (uint64_t)share;
}

static uint64_t due_at(const struct weir__slot *slot,
                       const struct weir_drv_hconn *s,
                       uint64_t interval) {
  uint64_t since = weir__load_relaxed_u64(&slot->idle_since);
  since = s->pinged > since ? s->pinged : since;
  return weir__clock_add(since, interval_of(s, interval));
}

/* RESERVED is left; the next one may begin. */
static void let_go(struct weir_drv_hconn *s, bool good) {
  struct weir__pool *pool = s->pool;
  struct weir__slot *slot = s->slot;
  uint64_t word = weir__load_seq_u64(&slot->word);
  s->pinged = weir__clock_now();
  pool->pinging = false;
  weir__remote_release(s);
  if (!good) {
    weir__idle_lost(pool);
  }
  if (!good || (weir__slot_flags(word) & WEIR_SLOT_DOOMED) != 0 ||
      !weir__publish_again(pool, slot, &word)) {
    (void)weir__growth_retire(slot, &word);
  }
  weir__mutex_lock(&pool->mu);
  pool->review_asked = true; /* others may be due already */
  weir__mutex_unlock(&pool->mu);
  weir__tend(pool);
}

static void ended(struct weir_drv_hconn *s) {
  let_go(s, s->status == WEIR_DRV_DONE && !s->expired && s->usable &&
                s->txn == WEIR_DRV_TXN_NONE);
}

static void begin(struct weir_drv_hconn *s) {
  s->limit = weir__clock_add(weir__clock_now(), WEIR_KEEPALIVE_LIMIT_NS);
  if ((s->driver->has & WEIR_DRIVER_HAS_PING) != 0) {
    weir__remote_go(s, weir__op_ping(s), ended);
  } else if ((s->driver->table.caps & WEIR_DRV_CAP_RESET_EAGER) != 0) {
    weir__remote_go(s, weir__op_reset(s, WEIR_DRV_RESET_EAGER, s->limit),
                    ended);
  } else {
    let_go(s, weir__probe_alive(s));
  }
}

static bool reserve(struct weir__slot *slot) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  return weir__slot_state(word) == WEIR_SLOT_IDLE &&
         weir__slot_move(slot, &word,
                         weir__slot_word(WEIR_SLOT_RESERVED,
                                         weir__slot_flags(word),
                                         weir__slot_generation(word),
                                         weir__slot_lease(word)));
}

/* The idle slot whose ping is due first, and when. */
static struct weir__slot *first_due(struct weir__pool *pool,
                                    uint64_t interval,
                                    uint64_t *out_at) {
  struct weir__slot *first = NULL;
  *out_at = WEIR_NEVER;
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(pool, i);
    const struct weir_drv_hconn *s = weir__slot_session(slot);
    if (s == NULL ||
        weir__slot_state(weir__load_seq_u64(&slot->word)) != WEIR_SLOT_IDLE) {
      continue;
    }
    uint64_t at = due_at(slot, s, interval);
    if (at < *out_at) {
      *out_at = at;
      first = slot;
    }
  }
  return first;
}

/* Nobody gets one of a pool that is paused, whoever waits. */
static bool is_wanted(struct weir__pool *pool) {
  uint64_t q = weir__load_seq_u64(&pool->q);
  return (q & WEIR_Q_PAUSED) == 0 && (q & WEIR_Q_FLAGS) != 0;
}

uint64_t weir__keepalive(struct weir__pool *pool, uint64_t now) {
  uint64_t interval = weir__pool_settings(pool)->keepalive_ns;
  uint64_t at;
  if (interval == WEIR_NEVER || pool->pinging) {
    return WEIR_NEVER;
  }
  struct weir__slot *slot = first_due(pool, interval, &at);
  /* Those in use come back, and are idle for an interval at least. */
  uint64_t later = weir__clock_add(now, interval - interval / 10);
  if (slot == NULL) {
    return weir__load_acquire_u32(&pool->n_slots) == 0 ? WEIR_NEVER : later;
  }
  if (at > now) {
    return at < later ? at : later;
  }
  if (is_wanted(pool) || !reserve(slot)) {
    return weir__clock_add(now, RETRY_NS);
  }
  pool->pinging = true;
  weir__remote_post(weir__slot_session(slot), begin);
  return WEIR_NEVER;
}
