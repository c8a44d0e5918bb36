/* SPDX-License-Identifier: MIT */
#include "lease.h"

#include <stddef.h>

#include "weir.h"

#include "dispatch.h"
#include "exec.h"
#include "growth.h"
#include "handle.h"
#include "loader.h"
#include "op.h"
#include "remote.h"
#include "session.h"
#include "sys/assert.h"
#include "sys/clock.h"
#include "sys/point.h"

static bool is_lease(uint64_t word, uint32_t lease) {
  return weir__slot_state(word) == WEIR_SLOT_LEASED &&
         weir__slot_lease(word) == lease;
}

static struct weir__slot *find(uint64_t handle, uint32_t *out_lease) {
  uint32_t number;
  if (!weir__handle_split(handle, WEIR_TYPE_LEASE, &number, out_lease)) {
    return NULL;
  }
  return weir__slot_find(number);
}

static struct weir__pool *pool_of(const struct weir__slot *slot) {
  return atomic_load_explicit(&slot->pool, memory_order_relaxed);
}

static uint64_t with_flags(uint64_t word, uint32_t flags) {
  return weir__slot_word(weir__slot_state(word), flags,
                         weir__slot_generation(word), weir__slot_lease(word));
}

int weir__lease_begin(uint64_t handle,
                      struct weir__caller *self,
                      struct weir__lease *out) {
  uint32_t lease;
  struct weir__slot *slot = find(handle, &lease);
  if (slot == NULL) {
    return WEIR_E_HANDLE;
  }
  uint64_t word = weir__load_seq_u64(&slot->word);
  uint64_t mine;
  do {
    if (!is_lease(word, lease)) {
      return WEIR_E_HANDLE;
    }
    if ((weir__slot_flags(word) & WEIR_SLOT_INCALL) != 0) {
      return WEIR_E_BUSY;
    }
    mine = with_flags(word, weir__slot_flags(word) | WEIR_SLOT_INCALL);
  } while (!weir__slot_move(slot, &word, mine));
  WEIR_POINT("lease.begun", slot);
  out->slot = slot;
  out->session = weir__slot_session(slot);
  out->pool = pool_of(slot);
  out->word = mine;
  atomic_store_explicit(&self->engine, out->pool->engine, memory_order_relaxed);
  atomic_store_explicit(&slot->driver, self, memory_order_seq_cst);
  return 0;
}

void weir__lease_end(struct weir__lease *lease) {
  uint64_t word = weir__load_seq_u64(&lease->slot->word);
  uint64_t out;
  atomic_store_explicit(&lease->slot->driver, NULL, memory_order_release);
  do {
    WEIR_ASSERT((weir__slot_flags(word) & WEIR_SLOT_INCALL) != 0);
    if (weir__slot_lease(word) != weir__slot_lease(lease->word)) {
      /* Shutdown has made the handle stale and left the rest to us. */
      (void)weir__growth_retire(lease->slot, &word);
      return;
    }
    out = with_flags(word, weir__slot_flags(word) & ~WEIR_SLOT_INCALL);
  } while (!weir__slot_move(lease->slot, &word, out));
}

/* Whether the session is as good as new for its next user; may ask the driver to
 * reset it, without I/O.  The caller holds the lease with INCALL. */
static bool clean(struct weir_drv_hconn *s) {
  if (!s->usable || s->reading) {
    return false;
  }
  if (weir__load_relaxed_u32(&s->slot->ran) == 0 ||
      weir__pool_settings(s->pool)->reset == WEIR_RESET_OFF) {
    return true;
  }
  if ((s->driver->has & WEIR_DRIVER_HAS_RESET) == 0 ||
      (s->driver->table.caps & WEIR_DRV_CAP_RESET_LAZY) == 0) {
    return false;
  }
  return weir__op_reset(s, WEIR_DRV_RESET_LAZY, WEIR_NEVER) == WEIR_DRV_DONE &&
         s->usable;
}

/* A transaction is open, or the user wants proof: the session is reset with a
 * round trip, on the reactor, before anyone gets it. */
static bool needs_round_trip(const struct weir_drv_hconn *s) {
  bool can = (s->driver->table.caps & WEIR_DRV_CAP_RESET_EAGER) != 0;
  bool wants = s->txn != WEIR_DRV_TXN_NONE ||
               weir__pool_settings(s->pool)->reset == WEIR_RESET_VERIFIED;
  return weir__load_relaxed_u32(&s->slot->ran) != 0 && s->usable &&
         !s->reading && can && wants &&
         weir__pool_settings(s->pool)->reset != WEIR_RESET_OFF;
}

#define RESET_LIMIT_NS (UINT64_C(5) * WEIR_NS_PER_S)

static void reset_ended(struct weir_drv_hconn *s) {
  struct weir__slot *slot = s->slot;
  struct weir__pool *pool = s->pool;
  bool good =
      s->status == WEIR_DRV_DONE && s->usable && s->txn == WEIR_DRV_TXN_NONE;
  uint64_t word = weir__load_seq_u64(&slot->word);
  weir__remote_release(s);
  if (!good || weir__slot_flags(word) != 0 ||
      !weir__publish(pool, slot, &word, NULL)) {
    (void)weir__growth_retire(slot, &word);
  }
}

static void begin_reset(struct weir_drv_hconn *s) {
  s->limit = weir__clock_add(weir__clock_now(), RESET_LIMIT_NS);
  weir__remote_go(s, weir__op_reset(s, WEIR_DRV_RESET_EAGER, s->limit),
                  reset_ended);
}

/* LEASED with INCALL -> RESERVED.  False: the lease was taken away. */
static bool reserve(struct weir__slot *slot, uint64_t *word) {
  uint32_t lease = weir__slot_lease(*word);
  uint64_t to;
  do {
    if (weir__slot_lease(*word) != lease) {
      return false;
    }
    to = weir__slot_word(WEIR_SLOT_RESERVED,
                         weir__slot_flags(*word) & WEIR_SLOT_DOOMED,
                         weir__slot_generation(*word), lease);
  } while (!weir__slot_move(slot, word, to));
  *word = to;
  return true;
}

static bool worn_out(const struct weir__pool *pool,
                     const struct weir__slot *slot,
                     uint64_t word) {
  uint64_t q = weir__load_seq_u64(&pool->q);
  return (weir__slot_flags(word) & WEIR_SLOT_DOOMED) != 0 ||
         (q & WEIR_Q_CLOSED) != 0 || weir__pool_settings(pool)->pooling == 0 ||
         weir__slot_generation(word) != weir__q_generation(q) ||
         weir__clock_coarse() >= weir__load_relaxed_u64(&slot->expires) ||
         weir__load_relaxed_u32(&slot->served) >=
             weir__pool_settings(pool)->max_uses;
}

/* The end of a lease that used its connection, is to be discarded or has grown
 * old.  INCALL keeps others out while the driver is asked. */
static void settle(struct weir__lease *lease,
                   const struct weir__caller *self,
                   bool discard) {
  struct weir_drv_hconn *s = lease->session;
  struct weir__slot *slot = lease->slot;
  uint64_t word = lease->word;
  bool done = false;
  if (!s->reading) {
    weir__exec_forget(s);
  }
  if (!discard && !worn_out(lease->pool, slot, word)) {
    if (needs_round_trip(s)) {
      if (reserve(slot, &word)) {
        weir__remote_post(s, begin_reset);
        return;
      }
    } else if (clean(s)) {
      word = weir__load_seq_u64(&slot->word);
      done = weir__slot_lease(word) == weir__slot_lease(lease->word) &&
             (weir__slot_flags(word) & WEIR_SLOT_DOOMED) == 0 &&
             weir__publish(lease->pool, slot, &word, self);
    }
  }
  if (!done) {
    word = weir__load_seq_u64(&slot->word);
    (void)weir__growth_retire(slot, &word);
  }
}

int weir__lease_release(uint64_t handle,
                        const struct weir__caller *self,
                        bool discard) {
  uint32_t lease;
  struct weir__slot *slot = find(handle, &lease);
  if (slot == NULL) {
    return WEIR_E_HANDLE;
  }
  uint64_t word = weir__load_seq_u64(&slot->word);
  if (!is_lease(word, lease)) {
    return WEIR_E_HANDLE;
  }
  if ((weir__slot_flags(word) & WEIR_SLOT_INCALL) != 0) {
    return WEIR_E_BUSY;
  }
  /* The warm path: a lease that ran nothing goes back with one move. */
  struct weir__pool *pool = pool_of(slot);
  if (!discard && weir__load_relaxed_u32(&slot->ran) == 0 &&
      !worn_out(pool, slot, word) && weir__publish(pool, slot, &word, self)) {
    return WEIR_OK;
  }
  struct weir__lease call;
  int rc =
      weir__lease_begin(handle, (struct weir__caller *)(uintptr_t)self, &call);
  if (rc != 0) {
    return rc;
  }
  atomic_store_explicit(&slot->driver, NULL, memory_order_release);
  settle(&call, self, discard);
  return WEIR_OK;
}

int weir__lease_cancel(uint64_t handle) {
  uint32_t lease;
  struct weir__slot *slot = find(handle, &lease);
  if (slot == NULL || !is_lease(weir__load_seq_u64(&slot->word), lease)) {
    return WEIR_E_HANDLE;
  }
  /* The order matters: the caller that drives reads cancel_lease after it has
   * been kicked, and one that begins later reads it before it waits. */
  WEIR_POINT("lease.cancel", slot);
  uint32_t seen = weir__load_seq_u32(&slot->cancel_lease);
  while ((int32_t)(lease - seen) > 0 &&
         !weir__cas_seq_u32(&slot->cancel_lease, &seen, lease)) {
    /* Only forwards: one who is late must not undo a later lease's. */
  }
  struct weir__caller *driver =
      atomic_load_explicit(&slot->driver, memory_order_seq_cst);
  if (driver != NULL) {
    weir__caller_kick(driver);
  }
  return WEIR_OK;
}
