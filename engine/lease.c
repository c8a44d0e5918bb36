/* SPDX-License-Identifier: MIT */
#include "lease.h"

#include <stddef.h>

#include "weir.h"

#include "base/container.h"
#include "cleanup.h"
#include "dispatch.h"
#include "engine.h"
#include "growth.h"
#include "handle.h"
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

/* What was to be stopped in this call is over, unless its request goes on. */
static void end_request(struct weir__slot *slot) {
  if (weir__load_relaxed_u32(&slot->active) == 0) {
    weir__store_seq_u32(&slot->request,
                        weir__load_relaxed_u32(&slot->request) + 1);
  }
}

void weir__lease_end(struct weir__lease *lease) {
  uint64_t word = weir__load_seq_u64(&lease->slot->word);
  uint64_t out;
  end_request(lease->slot);
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
  if (!discard && weir__slot_flags(word) == 0 &&
      weir__load_relaxed_u32(&slot->ran) == 0 &&
      !weir__cleanup_worn_out(pool, slot, word) &&
      weir__publish(pool, slot, &word, self)) {
    return WEIR_OK;
  }
  struct weir__lease call;
  int rc =
      weir__lease_begin(handle, (struct weir__caller *)(uintptr_t)self, &call);
  if (rc != 0) {
    return rc;
  }
  atomic_store_explicit(&slot->driver, NULL, memory_order_release);
  weir__cleanup_begin(&call, self, discard);
  return WEIR_OK;
}

/* ----------------------------------------------------------------- cancel
 *
 * A cancellation is for one request: the lease and the number of the request are
 * marked, and whoever drives compares.  A call that is under way has begun its
 * request, and `active` says that one waits for its next call; without either
 * there is nothing to stop.  The number grows when a call ends and leaves no
 * request behind, so that a mark that comes too late is for a request that is
 * over (scenarios 172 and 176). */

static uint64_t mark_of(uint32_t lease, uint32_t request) {
  return (uint64_t)lease << 32 | request;
}

bool weir__lease_cancelled(const struct weir__slot *slot, uint32_t lease) {
  return weir__load_seq_u64(&slot->cancel) ==
         mark_of(lease, weir__load_relaxed_u32(&slot->request));
}

/* Sets the mark, unless the lease is over or a later request of it is marked: one
 * who is late must not undo what a later one has asked for. */
static void set_mark(struct weir__slot *slot, uint32_t lease, uint64_t mark) {
  uint64_t seen = weir__load_seq_u64(&slot->cancel);
  bool done = false;
  while (!done && is_lease(weir__load_seq_u64(&slot->word), lease)) {
    bool past = (uint32_t)(seen >> 32) == lease &&
                (int32_t)((uint32_t)mark - (uint32_t)seen) <= 0;
    done = past || weir__cas_seq_u64(&slot->cancel, &seen, mark);
  }
}

/* `driver` is NULL while a submitted request runs, or when it is about to be posted
 * to the reactor, which looks as it takes it: so a mark that was set before this
 * was read is seen.  The task is the slot's own; one on its way is enough, because
 * it looks after it has said that it is no more. */
static void on_stir(struct weir__task *task) {
  struct weir__slot *slot = weir_container_of(task, struct weir__slot, stir);
  struct weir__pool *pool = pool_of(slot);
  weir__store_seq_u32(&slot->stirred, 0);
  struct weir_drv_hconn *session = weir__slot_session(slot);
  if (session != NULL && weir__remote_drives(session) &&
      session->look != NULL) {
    (void)session->look(session);
  }
  /* Last: it kept the pool. */
  (void)weir__sub_acq_rel_u32(&pool->stirs, 1);
}

static void stir_reactor(struct weir__slot *slot) {
  struct weir__pool *pool = pool_of(slot);
  (void)weir__add_seq_u32(&pool->stirs, 1);
  if (weir__or_seq_u32(&slot->stirred, 1) == 0) {
    slot->stir.run = on_stir;
    weir__reactor_post(pool->engine->reactor, &slot->stir);
  } else {
    (void)weir__sub_acq_rel_u32(&pool->stirs, 1);
  }
}

void weir__lease_stir(struct weir__slot *slot) {
  struct weir__caller *driver =
      atomic_load_explicit(&slot->driver, memory_order_seq_cst);
  if (driver != NULL) {
    weir__caller_kick(driver);
  } else if ((weir__slot_flags(weir__load_seq_u64(&slot->word)) &
              WEIR_SLOT_INCALL) != 0) {
    stir_reactor(slot);
  }
}

static int cancel(struct weir__slot *slot, uint32_t lease, uint32_t request) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  if (!is_lease(word, lease)) {
    return WEIR_E_HANDLE;
  }
  if ((weir__slot_flags(word) & WEIR_SLOT_INCALL) == 0 &&
      weir__load_seq_u32(&slot->active) == 0) {
    return WEIR_OK;
  }
  /* The order matters: whoever drives reads the mark after it has been stirred,
   * and one that begins later reads it before it waits. */
  WEIR_POINT("lease.cancel", slot);
  set_mark(slot, lease, mark_of(lease, request));
  weir__lease_stir(slot);
  return WEIR_OK;
}

int weir__lease_cancel(uint64_t handle) {
  uint32_t lease;
  struct weir__slot *slot = find(handle, &lease);
  return slot == NULL ? WEIR_E_HANDLE
                      : cancel(slot, lease, weir__load_seq_u32(&slot->request));
}

int weir__lease_cancel_request(uint64_t handle, uint32_t request) {
  uint32_t lease;
  struct weir__slot *slot = find(handle, &lease);
  return slot == NULL ? WEIR_E_HANDLE : cancel(slot, lease, request);
}
