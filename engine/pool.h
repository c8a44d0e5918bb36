/* SPDX-License-Identifier: MIT */
/* pool.h - one pool: the slots, waiters and settings of one key.
 *
 * The pool's word Q is read by every acquire and release and written rarely:
 *
 *   bit 0      WAITERS: somebody is in a list of waiters (guarded by mu)
 *   bit 1      PAUSED: nobody is served; waiters stay in line
 *   bit 2      DRAINING: no acquire begins; those in line are served
 *   bit 3      CLOSED: no acquire succeeds any more
 *   bits 16-31 generation: grows with each clear
 *
 * A release makes its slot idle and then reads Q; a waiter sets WAITERS and then
 * looks for an idle slot.  All four accesses are sequentially consistent, so one
 * of the two sees the other and no waiter sleeps beside an idle slot (P3). */
#ifndef WEIR_POOL_H
#define WEIR_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "weir.h"
#include "weir_driver.h"

#include "base/bits.h"
#include "conninfo.h"
#include "idle.h"
#include "key.h"
#include "options.h"
#include "reactor.h"
#include "settings.h"
#include "slot.h"
#include "sys/atomic.h"
#include "sys/mutex.h"
#include "waiter.h"

struct weir__credential;
struct weir__engine;
struct weir__driver;
struct weir__strategy;
struct weir_drv_hconn;

#define WEIR_Q_WAITERS  UINT64_C(1)
#define WEIR_Q_PAUSED   UINT64_C(2)
#define WEIR_Q_DRAINING UINT64_C(4)
#define WEIR_Q_CLOSED   UINT64_C(8)
#define WEIR_Q_FLAGS    UINT64_C(0xFFFF)

static inline uint32_t weir__q_generation(uint64_t q) {
  return (uint32_t)(q >> 16) & 0xFFFFu;
}

/* How long acquires have waited; see struct weir_pool_stats. */
#define WEIR_WAIT_BUCKETS 32u

struct weir__waits {
  uint64_t count;
  uint64_t sum_ns;
  uint64_t max_ns;
  uint64_t bucket[WEIR_WAIT_BUCKETS];
};

struct weir__pool {
  _Atomic uint64_t q;
  struct weir__slot_chunk **chunks; /* filled from the front, under mu */
  struct weir__idle idle;
  char pad[64]; /* what follows is written under shortage */

  struct weir__mutex clear_mu;  /* rank CLEAR */
  struct weir__mutex free_mu;   /* rank CLEAR: held while a session is freed */
  struct weir__mutex mu;        /* rank POOL */
  struct weir__waiters waiting; /* all below guarded by mu unless said */
  struct weir__waiters driving;
  struct weir__bits empties; /* slots made and EMPTY */
  _Atomic uint32_t n_slots;  /* made; read without mu */
  uint32_t n_connecting;
  uint32_t n_closing;
  uint32_t n_open;          /* every slot that is not EMPTY */
  uint32_t n_filling;       /* connects for Min Pool Size under way */
  uint64_t unclaimed_until; /* see strategy.h: enough() */
  uint64_t unclaimed_told;  /* the one that the reactor has a timer for */
  bool closed;
  bool hurried;   /* no more patience with peers: shutdown's time is up */
  bool resting;   /* no connects for Min Pool Size before fill_not_before */
  bool no_places; /* no memory for one: no connects for submitted waiters */
  uint64_t fill_not_before;
  uint64_t fill_pause;
  uint64_t connects_begun;
  uint64_t connects_ok;
  uint64_t connects_failed;
  uint64_t sessions_closed;
  uint64_t timeouts;
  uint64_t cancelled;
  uint64_t handovers;
  struct weir__waits waits;     /* of those that were served */
  struct weir_error last_error; /* of the last connect that failed */

  /* Fixed from opening to destruction. */
  struct weir__engine *engine;
  const struct weir__strategy *strategy;
  const struct weir__driver *driver;
  weir_drv_cfg *config;
  struct weir__options options;
  struct weir__key *key;
  struct weir__credential *credential; /* a reference, or NULL */
  uint64_t fair_key;

  /* Registry: guarded by its mutex. */
  uint64_t handle;
  uint32_t references;
  struct weir__pool *next_in_bucket;
  struct weir__pool *next;  /* in the engine's list; guarded by its mutex */
  uint64_t retired;         /* epoch of destruction */
  _Atomic uint32_t entries; /* of queues that know it (queue.h) */

  /* Reactor thread only, but for tend_posted. */
  struct weir__task tend_task;
  _Atomic uint32_t tend_posted;
  struct weir__timer tend_timer;
  struct weir_drv_hconn *closing; /* sessions being closed */
  bool buried;                    /* ended: waits to be freed */
};

/* Makes a pool of a driver, with everything parsed; takes *options, config, key and
 * the reference to the credential over on success.  NULL: no memory. */
struct weir__pool_parts {
  struct weir__engine *engine;
  const struct weir__driver *driver;
  weir_drv_cfg *config;
  struct weir__options *options;
  struct weir__key *key;
  struct weir__credential *credential;
};
struct weir__pool *weir__pool_new(const struct weir__pool_parts *parts);

/* Frees what the pool owns and then its memory.  Every slot is EMPTY and no
 * caller can hold it any more.  Calls the driver (config_destroy). */

void weir__pool_free(struct weir__pool *pool);

static inline const struct weir__settings *weir__pool_settings(
    const struct weir__pool *pool) {
  return &pool->options.settings;
}
const weir_drv_cfg *weir__pool_config(const struct weir__pool *pool);
const struct weir__options *weir__pool_options(const struct weir__pool *pool);
uint64_t weir__pool_fair_key(const struct weir__pool *pool);

static inline struct weir__slot *weir__pool_slot(const struct weir__pool *pool,
                                                 uint32_t index) {
  return &pool->chunks[index / WEIR_SLOT_CHUNK]->slots[index % WEIR_SLOT_CHUNK];
}

/* Closes: waiters fail, idle connections go, later acquires fail. */
void weir__pool_shut(struct weir__pool *pool);

/* weir_pool_clear(), weir_pool_stats(). */
void weir__pool_clear(struct weir__pool *pool);
void weir__pool_stats(struct weir__pool *pool, struct weir_pool_stats *out);

/* Counts by state, without a lock. */
struct weir__pool_census {
  uint32_t in[WEIR_SLOT_STATES];
};
void weir__pool_count(const struct weir__pool *pool,
                      struct weir__pool_census *out);

#endif
