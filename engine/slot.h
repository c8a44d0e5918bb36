/* SPDX-License-Identifier: MIT */
/* slot.h - one of a pool's Max Pool Size places for a connection.
 *
 * The slot's word is the truth about it: who owns the slot follows from its
 * state, and each change of owner is one compare-and-swap of the word.
 *
 *   bits 0-3   state
 *   bits 4-7   flags
 *   bits 16-31 generation of the pool when the connection was begun
 *   bits 32-63 lease: grows by one each time the slot is leased
 *
 *   EMPTY -> CONNECTING -> LEASED | IDLE | CLOSING
 *   IDLE -> IDLE (suspect) | LEASED | RESERVED | CLOSING
 *   LEASED -> LEASED (handed over) | IDLE | RESERVED | CLOSING
 *   RESERVED -> IDLE | LEASED | CLOSING
 *   PARKED, STASIS: see the design of transactions; not entered yet
 *   CLOSING -> EMPTY
 */
#ifndef WEIR_SLOT_H
#define WEIR_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "reactor.h"
#include "sys/atomic.h"

enum weir__slot_state {
  WEIR_SLOT_EMPTY = 0,  /* no session; not counted against Max Pool Size */
  WEIR_SLOT_CONNECTING, /* a session is being opened by op's owner (op.h) */
  WEIR_SLOT_IDLE,       /* nobody's: claimed by compare-and-swap */
  WEIR_SLOT_LEASED,     /* the holder of the lease's */
  WEIR_SLOT_RESERVED,   /* the engine's: probe, reset, roll-back */
  WEIR_SLOT_PARKED,     /* kept for its transaction */
  WEIR_SLOT_STASIS,  /* closed by its user, held until its transaction ends */
  WEIR_SLOT_CLOSING, /* the reactor's, until the peer has closed */
  WEIR_SLOT_STATES
};

#define WEIR_SLOT_DOOMED  1u /* cleared or broken: never becomes idle again */
#define WEIR_SLOT_INCALL  2u /* a call on the lease is running */
/* Idle: claimed as any other, but looked at before it is used.  With an owner: to
 * be looked at before it is idle again. */
#define WEIR_SLOT_SUSPECT 4u

struct weir__pool;
struct weir_drv_hconn;
struct weir__caller;

struct weir__slot {
  _Atomic uint64_t word;
  /* Coarse time of the last release; written by the owner before the slot
   * becomes idle.  While it is leased, once the connection was found good: when
   * the lease began, which is not written if it is the same. */
  _Atomic uint64_t idle_since;
  _Atomic uint64_t expires; /* end of the session's life; WEIR_NEVER: none */
  _Atomic uint32_t served;  /* leases given to the present session; owner's */
  _Atomic uint32_t ran;     /* 1: the present lease used the driver; owner's.
                             * 0 whenever nobody has a lease */
  _Atomic uint64_t uses;    /* leases given; written by the owner */
  struct weir__pool *_Atomic pool; /* relaxed; changes while EMPTY only */
  struct weir_drv_hconn *_Atomic session; /* the owner's; NULL while EMPTY */
  _Atomic uint32_t revoked; /* the lease number that shutdown moved it to */
  /* Cancel (lease.c): which request is to stop, and who to wake for it. */
  _Atomic uint32_t active; /* 1: a request runs, maybe between two calls */
  _Atomic uint64_t cancel; /* lease and number of the request to be stopped */
  struct weir__caller *_Atomic driver;
  _Atomic uint32_t request; /* number of the present or next request */
  uint32_t index;           /* in the pool */
  uint32_t number;          /* in the process: the index of lease handles */
  /* Has the reactor look at a submitted request (lease.c). */
  _Atomic uint32_t stirred; /* 1: the task is on its way */
  struct weir__task stir;
  /* Growth's; the owner's but for hold_us. */
  uint64_t since; /* CONNECTING: when that began; LEASED: when, see mark */
  uint32_t mark;  /* CONNECTING: its ticket; LEASED: the use that has since */
  _Atomic uint32_t hold_us; /* 1 + how long a lease was; 0: taken note of */
};

_Static_assert(sizeof(struct weir__slot) == 128, "a slot is two lines");

#define WEIR_SLOT_CHUNK 8u

struct weir__slot_chunk {
  struct weir__slot slots[WEIR_SLOT_CHUNK];
  struct weir__slot_chunk *next_free;
};

static inline uint64_t weir__slot_word(uint32_t state,
                                       uint32_t flags,
                                       uint32_t generation,
                                       uint32_t lease) {
  return (uint64_t)state | (uint64_t)flags << 4 |
         (uint64_t)(generation & 0xFFFFu) << 16 | (uint64_t)lease << 32;
}

static inline uint32_t weir__slot_state(uint64_t word) {
  return (uint32_t)word & 0xFu;
}

static inline uint32_t weir__slot_flags(uint64_t word) {
  return (uint32_t)(word >> 4) & 0xFu;
}

static inline uint32_t weir__slot_generation(uint64_t word) {
  return (uint32_t)(word >> 16) & 0xFFFFu;
}

static inline uint32_t weir__slot_lease(uint64_t word) {
  return (uint32_t)(word >> 32);
}

/* The owner's session.  It is freed on the reactor thread only, so that thread
 * may look at sessions of slots it does not own. */
static inline struct weir_drv_hconn *weir__slot_session(
    const struct weir__slot *slot) {
  return atomic_load_explicit(&slot->session, memory_order_acquire);
}

static inline void weir__slot_set_session(struct weir__slot *slot,
                                          struct weir_drv_hconn *session) {
  atomic_store_explicit(&slot->session, session, memory_order_release);
}

/* The only writer of the word: moves it from *expected to `to`.  False when it
 * was not *expected, which then holds what it is.  Aborts debug builds on a move
 * that the table above does not allow (P2).  Sequentially consistent: each move
 * is one half of a Dekker pair with the pool's word (pool.c). */
bool weir__slot_move(struct weir__slot *slot, uint64_t *expected, uint64_t to);

/* Whether a slot with that word can be claimed for that generation. */
static inline bool weir__slot_claimable(uint64_t word, uint32_t generation) {
  return weir__slot_state(word) == WEIR_SLOT_IDLE &&
         (weir__slot_flags(word) & ~WEIR_SLOT_SUSPECT) == 0 &&
         weir__slot_generation(word) == generation;
}

/* IDLE -> LEASED with the next lease, if the slot is idle, of that generation
 * and not doomed; a suspect one stays so.  Returns the new word or 0. */
uint64_t weir__slot_claim(struct weir__slot *slot, uint32_t generation);

/* The owner's note that a lease begins: one use more.  A drain may have taken the
 * lease away and the place may be somebody else's by now, so this touches nothing
 * but counts, which may then be one off. */
void weir__slot_start_lease(struct weir__slot *slot);

/* What a lease leaves behind is gone: nothing has run, nothing runs.  The owner's,
 * before anybody else can be. */
void weir__slot_end_lease(struct weir__slot *slot);

/* One lease in so many is measured on the warm path. */
#define WEIR_SLOT_SAMPLE    64u
#define WEIR_SLOT_NS_PER_US UINT64_C(1000)

/* The lease that has begun did so at `now`; how long it has lasted, false if
 * that is not known.  The owner's. */
static inline void weir__slot_stamp(struct weir__slot *slot, uint64_t now) {
  slot->since = now;
  slot->mark = (uint32_t)weir__load_relaxed_u64(&slot->uses);
}

static inline bool weir__slot_held(const struct weir__slot *slot,
                                   uint64_t now,
                                   uint64_t *out_ns) {
  uint64_t uses = weir__load_relaxed_u64(&slot->uses);
  bool stamped = slot->mark == (uint32_t)uses;
  uint64_t since =
      stamped ? slot->since : weir__load_relaxed_u64(&slot->idle_since);
  if (!stamped && uses % WEIR_SLOT_SAMPLE != 1) {
    return false;
  }
  *out_ns = now > since ? now - since : 0;
  return true;
}

/* True if the lease that runs is one of those that the warm path measures. */
static inline bool weir__slot_sampled(const struct weir__slot *slot) {
  return weir__load_relaxed_u64(&slot->uses) % WEIR_SLOT_SAMPLE == 1;
}

/* The lease that ends at `now` is measured if it is one of those: for growth.c.
 * The owner's; coarse; before idle_since is written anew. */
static inline void weir__slot_sample(struct weir__slot *slot, uint64_t now) {
  uint64_t held;
  if (weir__slot_sampled(slot) && weir__slot_held(slot, now, &held)) {
    uint64_t us = held / WEIR_SLOT_NS_PER_US;
    weir__store_relaxed_u32(
        &slot->hold_us, us < UINT32_MAX - 1 ? (uint32_t)us + 1 : UINT32_MAX);
  }
}

/* Name of a state, for messages. */
const char *weir__slot_state_name(uint32_t state);

/* True if a slot may go from one state to the other. */
bool weir__slot_may_move(uint32_t from, uint32_t to);

/* A chunk of EMPTY slots for a pool whose next slot has number first_index, from
 * those given back or new.  NULL: no memory, or 131,072 slots exist. */
struct weir__slot_chunk *weir__slot_chunk_new(struct weir__pool *pool,
                                              uint32_t first_index);
/* True if it was for the number of slots that the last one answered NULL. */
bool weir__slot_all_made(void);
/* Gives it back; all its slots are EMPTY.  Its memory stays. */
void weir__slot_chunk_free(struct weir__slot_chunk *chunk);

/* The slot with that process-wide number, or NULL if none ever had it. */
struct weir__slot *weir__slot_find(uint32_t number);

/* In a forked child: makes every lease stale. */
void weir__slot_forget_all(void);

#endif
