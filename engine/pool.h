/* SPDX-License-Identifier: MIT */
/* pool.h - one pool: the slots, waiters and settings of one key.
 *
 * The pool's word Q is read by every acquire and release and written rarely:
 *
 *   bit 0      WAITERS: somebody is in line for what comes free (guarded by mu);
 *              dispatch.h says who is
 *   bit 1      PAUSED: nobody is served; waiters stay in line
 *   bit 2      DRAINING: no acquire begins; those in line are served
 *   bit 3      CLOSED: no acquire succeeds any more
 *   bit 4      SURPLUS: more sessions than the maximum, which has shrunk; who
 *              makes one idle closes it instead.  May stay set a while too long
 *   bit 5      TRYING: the trier of `waiting` has been woken and has not looked
 *              yet (guarded by mu)
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
#include "blocking.h"
#include "conninfo.h"
#include "endpoint.h"
#include "forecast.h"
#include "idle.h"
#include "key.h"
#include "limiter.h"
#include "median.h"
#include "options.h"
#include "policy.h"
#include "reactor.h"
#include "retire.h"
#include "settings.h"
#include "slot.h"
#include "sweep.h"
#include "sys/atomic.h"
#include "sys/mutex.h"
#include "trim.h"
#include "waiter.h"

struct weir__cause;
struct weir__credential;
struct weir__shed;
struct weir__engine;
struct weir__driver;
struct weir_drv_hconn;

#define WEIR_Q_WAITERS  UINT64_C(1)
#define WEIR_Q_PAUSED   UINT64_C(2)
#define WEIR_Q_DRAINING UINT64_C(4)
#define WEIR_Q_CLOSED   UINT64_C(8)
#define WEIR_Q_SURPLUS  UINT64_C(16)
#define WEIR_Q_TRYING   UINT64_C(32)
#define WEIR_Q_FLAGS    UINT64_C(0xFFFF)
/* An acquire that sees one of these gets nothing without its place in line; of
 * WAITERS acquire.c thinks again. */
#define WEIR_Q_SHUT     (WEIR_Q_PAUSED | WEIR_Q_DRAINING | WEIR_Q_CLOSED)
#define WEIR_Q_HALT     (WEIR_Q_WAITERS | WEIR_Q_SHUT)

static inline uint32_t weir__q_generation(uint64_t q) {
  return (uint32_t)(q >> 16) & 0xFFFFu;
}

/* Chunks of slots lie in segments that are never moved: the first of 8 chunks,
 * each later one as long as all before it and 8 more.  12 make 131,072 slots. */
#define WEIR_POOL_SEGMENT  8u
#define WEIR_POOL_SEGMENTS 12u

/* Settings that were in force before a change; until no call can read them any
 * more. */
struct weir__settings_block {
  struct weir__settings settings;
  struct weir__settings_block *older;
  uint64_t retired; /* epoch */
};

/* Blocks that may wait for calls at a time; then changes are refused. */
#define WEIR_POOL_BLOCKS_MAX 1024u

/* How long acquires have waited; see struct weir_pool_stats. */
#define WEIR_WAIT_BUCKETS 32u

struct weir__waits {
  uint64_t count;
  uint64_t sum_ns;
  uint64_t max_ns;
  uint64_t bucket[WEIR_WAIT_BUCKETS];
};

/* What growth.c and failure.c keep of a pool. */
struct weir__growth {
  struct weir__forecast forecast;
  struct weir__limiter limiter;
  uint64_t look_at;    /* when time alone may allow what is denied now */
  uint64_t look_armed; /* what the reactor has a timer for */
  uint32_t n_owned;    /* connects for those who open none themselves */
  uint32_t starts;     /* first of the places the reactor is to open for them */
  uint32_t cursor;     /* where the next look for measured leases begins */
  uint32_t proving;    /* who needs a connect to succeed, or to know why not */
  bool in_ring;        /* has asked the endpoint for a unit in vain */
  bool wants;          /* some of those who wait are to get a connect */
  bool refused;        /* the last denial was the breaker's */
  bool jittered;       /* the pause before the first connects is over */
  struct weir__cause *barred;     /* a permanent failure: why; or NULL */
  uint64_t barred_until;          /* no attempt sooner than this */
  struct weir__blocking blocking; /* Pool Failure=all and one, */
  struct weir__cause *cached;     /* and what is told while it lasts; or NULL */
  uint32_t secrets; /* answers of the credential that barred and cached know */
  uint64_t cleared_at_ok; /* connects_ok at the last clear for a role */
  uint64_t down;          /* acquires that ended with WEIR_E_DOWN */
};

struct weir__pool {
  _Atomic uint64_t q;
  const struct weir__settings *_Atomic settings;          /* changed under mu */
  struct weir__slot_chunk **segments[WEIR_POOL_SEGMENTS]; /* written under mu,
                                                           * from the front */
  struct weir__idle idle;
  char pad[64]; /* what follows is written under shortage */

  struct weir__mutex clear_mu;  /* rank CLEAR */
  struct weir__mutex free_mu;   /* rank CLEAR: held while a session is freed */
  struct weir__mutex mu;        /* rank POOL */
  struct weir__waiters waiting; /* all below guarded by mu unless said */
  struct weir__waiters driving;
  struct weir__waiters behind; /* Pool Async=dispatcher: waiter.h */
  _Atomic uint64_t due;      /* since when releases hand over: dispatch.h; read
                         * without mu by who has seen WAITERS */
  struct weir__bits empties; /* slots made and EMPTY */
  _Atomic uint32_t n_slots;  /* made; read without mu */
  uint32_t n_connecting;
  uint32_t n_closing;
  uint32_t n_patient;       /* of them, those that give their peer its time */
  uint32_t n_open;          /* every slot that is not EMPTY */
  uint32_t n_filling;       /* connects for Min Pool Size under way */
  uint32_t wanted;          /* opened up to this many: upkeep.c */
  bool trimless;            /* nothing could be surplus: no look is due */
  bool review_asked;        /* a look at every place, whenever it was due */
  bool fell;                /* to Min Pool Size, since the last such look */
  uint64_t unclaimed_until; /* see weir__growth_unclaimed_locked() */
  bool closed;
  bool paused;
  bool draining;
  bool cut;                /* the grace of a drain has passed */
  bool lazy;               /* Startup=lazy, and nobody has asked yet */
  uint32_t drains;         /* grows when a drain is ended by a resume */
  uint32_t max_now;        /* Max Pool Size: weir__pool_limit_locked() */
  struct weir__shed *shed; /* NULL: Queue Policy=fifo */
  uint32_t watchers;       /* threads that wait for news */
  _Atomic uint32_t news;   /* changes while there are some: see control.h */
  uint32_t n_blocks;
  struct weir__settings_block *block;  /* in force; NULL: options.settings */
  struct weir__settings_block *blocks; /* those before */
  bool hurried; /* no more patience with peers: shutdown's time is up */
  bool resting; /* no connects for Min Pool Size before fill_not_before */
  uint64_t fill_not_before;
  uint64_t fill_pause;
  uint64_t connects_begun;
  uint64_t connects_ok;
  uint64_t connects_failed;
  uint64_t sessions_closed;
  uint64_t disconnects; /* of them, those that had been logged in */
  uint64_t leases_over; /* as counters have told: observe/counters.c */
  uint64_t timeouts;
  uint64_t cancelled;
  uint64_t overloaded;
  uint64_t handovers;
  struct weir__waits waits;       /* of those that were served */
  struct weir__cause *last_error; /* of the last connect that failed; or NULL */
  uint64_t last_error_at;         /* when that was; 0: not known */
  struct weir__growth growth;

  struct weir__seat seat; /* endpoint.h: not guarded by mu */

  /* Fixed from opening to destruction. */
  struct weir__engine *engine;
  struct weir__policies policies;
  bool ordered; /* nobody overtakes: WEIR_OVERTAKE_NEVER */
  bool cloud;   /* its driver says that the server is a cloud host */
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
  struct weir__pool **link; /* what points to it there; likewise */
  uint64_t retired;         /* epoch of destruction */
  _Atomic uint32_t entries; /* of queues that know it (queue.h) */

  _Atomic uint32_t stirs; /* tasks of its slots on their way (lease.c) */

  struct weir__retire aged;  /* permits to leave for age, */
  struct weir__retire idled; /* and for idleness */

  /* Reactor thread only, but for tend_posted. */
  struct weir__trim trim;     /* Pool Trim=peak, */
  struct weir__median median; /* median, */
  struct weir__sweep sweep;   /* sweep */
  uint64_t noted_at;  /* when Pool Trim last took a note; 0: it takes none */
  uint64_t review_at; /* when upkeep.c looks again */
  bool pinging;       /* keepalive.c */
  struct weir__task tend_task;
  _Atomic uint32_t tend_posted;
  struct weir__timer tend_timer;
  struct weir_drv_hconn *closing; /* sessions being closed */
  bool buried;                    /* ended: waits to be freed */
};

/* What a pool is made of, with everything parsed. */
struct weir__pool_parts {
  struct weir__engine *engine;
  const struct weir__driver *driver;
  weir_drv_cfg *config;
  struct weir__options *options;
  struct weir__key *key;
  struct weir__credential *credential; /* or NULL */
};

/* Makes a pool, which takes over *options, config, key and the reference to the
 * credential.  NULL: no memory, and nothing is taken.  Calls the driver. */
struct weir__pool *weir__pool_new(const struct weir__pool_parts *parts);

/* Frees what the pool owns and then its memory.  Every slot is EMPTY and no
 * caller can hold it any more.  Calls the driver (config_destroy). */
void weir__pool_free(struct weir__pool *pool);

/* The settings in force, for a moment: whoever wants two that belong together
 * asks once and keeps the pointer, but not beyond the call or the task of the
 * reactor in which it asked. */
static inline const struct weir__settings *weir__pool_settings(
    const struct weir__pool *pool) {
  /* Acquire: pairs with the release in change.c. */
  return atomic_load_explicit(&pool->settings, memory_order_acquire);
}
const weir_drv_cfg *weir__pool_config(const struct weir__pool *pool);
const struct weir__options *weir__pool_options(const struct weir__pool *pool);
uint64_t weir__pool_fair_key(const struct weir__pool *pool);

static inline struct weir__slot *weir__pool_slot(const struct weir__pool *pool,
                                                 uint32_t index) {
  uint32_t chunk = index / WEIR_SLOT_CHUNK + WEIR_POOL_SEGMENT;
  uint32_t k = 31u - (uint32_t)__builtin_clz(chunk);
  return &pool->segments[k - 3u][chunk - (1u << k)]
              ->slots[index % WEIR_SLOT_CHUNK];
}

/* Room for eight slots more: bitmaps, hints, the slots.  Returns the first one's
 * index, and their number is then to be stored in n_slots; UINT32_MAX: no memory,
 * or too many.  mu held. */
uint32_t weir__pool_extend_locked(struct weir__pool *pool)
    WEIR_REQUIRES(pool->mu);

/* Acquires that wait, however they do.  mu held. */
static inline uint32_t weir__pool_waiters_locked(
    const struct weir__pool *pool) {
  return weir__waiters_all(&pool->waiting) + pool->driving.n;
}

/* Sets max_now after Max Pool Size has changed, and SURPLUS.  mu held. */
void weir__pool_limit_locked(struct weir__pool *pool) WEIR_REQUIRES(pool->mu);

/* Sessions beyond max_now that are not being closed yet.  mu held. */
static inline uint32_t weir__pool_surplus_locked(
    const struct weir__pool *pool) {
  uint32_t kept = pool->n_open - pool->n_closing;
  return kept > pool->max_now ? kept - pool->max_now : 0;
}

/* Closes: waiters fail, idle connections go, later acquires fail. */
void weir__pool_shut(struct weir__pool *pool);

/* weir_pool_clear(), weir_pool_stats(). */
void weir__pool_clear(struct weir__pool *pool);
void weir__pool_stats(struct weir__pool *pool, struct weir_pool_stats *out);

/* Counts by state.  There may be more than the maximum where that has been lowered:
 * until those come back, empty is 0 and no session is opened.  mu held. */
struct weir__pool_census {
  uint32_t in[WEIR_SLOT_STATES];
};
void weir__pool_count(const struct weir__pool *pool,
                      struct weir__pool_census *out) WEIR_REQUIRES(pool->mu);

#endif
