/* SPDX-License-Identifier: MIT */
/* shutdown.c - the end of an engine, by its deadline (P10).
 *
 * First everything that waits or idles ends; leases may come back until the
 * grace has passed; then they are taken away: the handle becomes stale by moving
 * the lease on, and a connection in the middle of a call is interrupted and left
 * to that call, which finds its lease gone and closes it.  A call that does not
 * come back from foreign code keeps what it holds; a thread waits for it and
 * frees the rest when it does. */
#include "shutdown.h"

#include <stddef.h>

#include "credential.h"
#include "engine.h"
#include "growth.h"
#include "handle.h"
#include "pool.h"
#include "queue.h"
#include "revoke.h"
#include "session.h"
#include "status.h"
#include "sys/clock.h"
#include "sys/thread.h"
#include "tend.h"

/* After the grace: time for interrupted calls to come back. */
#define LAST_CALL_NS (UINT64_C(1) * WEIR_NS_PER_S)

static void shut_pools(struct weir__engine *engine) {
  weir__mutex_lock(&engine->mu);
  engine->closing = true;
  for (struct weir__pool *p = engine->pools; p != NULL; p = p->next) {
    (void)weir__handle_take(p->handle, WEIR_TYPE_POOL);
    weir__pool_shut(p);
  }
  weir__mutex_unlock(&engine->mu);
}

static bool pools_gone(struct weir__engine *engine) {
  weir__mutex_lock(&engine->mu);
  bool none = engine->pools == NULL;
  weir__mutex_unlock(&engine->mu);
  return none && weir__load_seq_u32(&engine->sessions) == 0;
}

/* Queues end when nobody sleeps in them any more. */
static bool all_gone(struct weir__engine *engine) {
  weir__mutex_lock(&engine->mu);
  bool none = engine->queues == NULL;
  weir__mutex_unlock(&engine->mu);
  return none && pools_gone(engine);
}

/* Without a reactor thread this is where the loop runs (reactor_turn.c). */
static bool await_gone(struct weir__engine *engine,
                       struct weir__caller *self,
                       bool (*gone)(struct weir__engine *engine),
                       uint64_t deadline) {
  for (;;) {
    uint32_t seen = weir__load_acquire_u32(&engine->quiet);
    if (gone(engine)) {
      return true;
    }
    if (weir__clock_now() >= deadline) {
      return false;
    }
    (void)weir__engine_park(engine, self, &engine->quiet, seen, deadline);
  }
}

static void revoke_pool(struct weir__pool *pool) {
  weir__mutex_lock(&pool->mu);
  pool->hurried = true;
  weir__mutex_unlock(&pool->mu);
  (void)weir__revoke_leases(pool);
  weir__tend(pool);
}

static void revoke_all(struct weir__engine *engine) {
  weir__mutex_lock(&engine->mu);
  for (struct weir__pool *p = engine->pools; p != NULL; p = p->next) {
    revoke_pool(p);
  }
  weir__mutex_unlock(&engine->mu);
}

/* Waits for the calls that did not come back in time, however long.  As a caller,
 * so that it can be woken while it runs a loop; without a record it looks now and
 * then. */
static void *bury_late(void *arg) {
  struct weir__engine *engine = arg;
  struct weir__caller *self = NULL;
  if (weir__caller_enter(&self) == WEIR_OK) {
    atomic_store_explicit(&self->engine, engine, memory_order_relaxed);
  }
  (void)await_gone(engine, self, all_gone, WEIR_NEVER);
  (void)weir__caller_await(weir__caller_retire(), engine, self, WEIR_NEVER);
  weir__engine_dismantle(engine);
  if (self != NULL) {
    weir__caller_leave(self);
  }
  return NULL;
}

static int leave_behind(struct weir__engine *engine,
                        uint32_t inside,
                        struct weir_error *err) {
  uint32_t sessions = weir__load_seq_u32(&engine->sessions);
  uint64_t thread;
  if (weir__thread_start("weir-late", bury_late, engine, &thread) == 0) {
    weir__thread_detach(thread);
  }
  return weir__error_set(
      err, WEIR_E_TIMEOUT, WEIR_PHASE_CLOSE,
      "the engine is shut down, but %u calls are still inside a driver or "
      "other foreign code and hold %u connections; what they hold is freed "
      "when they return",
      inside, sessions);
}

int weir__engine_shutdown(struct weir__engine *engine,
                          struct weir__caller *self,
                          uint64_t deadline,
                          struct weir_error *err) {
  shut_pools(engine);
  weir__credential_close_all(engine);
  if (!await_gone(engine, self, pools_gone, deadline)) {
    revoke_all(engine);
  }
  uint64_t last = weir__clock_add(
      deadline == WEIR_NEVER ? weir__clock_now() : deadline, LAST_CALL_NS);
  uint64_t soon = weir__clock_add(weir__clock_now(), LAST_CALL_NS);
  last = last > soon ? last : soon;
  /* Until then completions can be taken, those of requests that were just cut off
   * among them, and leases that they bring be released. */
  bool gone = await_gone(engine, self, pools_gone, last);
  weir__queue_close_all(engine);
  gone = await_gone(engine, self, all_gone, last) && gone;
  /* An epoch of now: leases could be given back until now, by calls that began
   * after the shutdown did and may still be on their way out. */
  uint32_t inside =
      weir__caller_await(weir__caller_retire(), engine, self, last);
  if (!gone || inside != 0) {
    return leave_behind(engine, inside, err);
  }
  weir__engine_dismantle(engine);
  return WEIR_OK;
}
