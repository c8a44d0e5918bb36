/* SPDX-License-Identifier: MIT */
/* handoff_pool.h - a pool with nothing but who gets a connection: the engine's
 * slot words, Q word, bitmap, hints, mutex queue and futex parks, under each of
 * the rules that spike_handoff compares. */
#ifndef WEIR_PERF_SPIKE_HANDOFF_POOL_H
#define WEIR_PERF_SPIKE_HANDOFF_POOL_H

#include <pthread.h>
#include <stdint.h>

#include "base/bits.h"
#include "slot.h"
#include "sys/atomic.h"

#define HANDOFF_SLOTS   10u
#define HANDOFF_THREADS 50u

enum handoff_rule {
  HANDOFF_STRICT,  /* whoever comes lines up; a release hands over */
  HANDOFF_BARGING, /* a release throws it in; the head is woken to try */
  HANDOFF_BOUNDED, /* barging until the head has waited for the bound */
  HANDOFF_ALARM    /* the same, told by the head's own timer, not by a clock
                    * that a release reads */
};

struct handoff_node {
  struct handoff_node *next;
  struct handoff_node *prev;
  uint64_t since;
  uint64_t granted_at;
  _Atomic uint32_t *wake;
  _Atomic uint32_t state;
  struct weir__slot *slot;
  uint64_t word;
};

struct handoff_pool {
  _Atomic uint64_t q;
  enum handoff_rule rule;
  uint64_t bound_ns;   /* the fixed part */
  uint64_t fair_parts; /* and so many fair waits, if those are longer */
  struct weir__bits idle;
  char pad0[64];
  struct {
    _Atomic uint32_t index_plus_1;
    char pad[60];
  } hints[64];
  struct weir__slot slots[HANDOFF_SLOTS];
  pthread_mutex_t mu;
  struct handoff_node *first;
  struct handoff_node *last;
  uint32_t n;
  struct handoff_node *trying; /* the one that was woken to try, or NULL */
  uint64_t hold_ns;            /* moving average, told by handovers */
  uint64_t n_handed;
  uint64_t n_tries;
  char pad1[64];
  _Atomic uint64_t due; /* when the head has waited for the bound */
};

/* One thread's part. */
struct handoff_user {
  _Atomic uint32_t wake;
  uint64_t hold_ns; /* the last one, 0 if not measured */
  uint64_t waited;  /* by the last take; 0: none */
  uint64_t overtook;
  uint64_t q;
  char pad[64];
};

void handoff_init(struct handoff_pool *p,
                  enum handoff_rule rule,
                  uint64_t bound_ns,
                  uint64_t fair_parts);
void handoff_fini(struct handoff_pool *p);

/* Waits until it has one; *out_word is its word. */
struct weir__slot *handoff_take(struct handoff_pool *p,
                                struct handoff_user *u,
                                uint64_t *out_word);
void handoff_put(struct handoff_pool *p,
                 struct handoff_user *u,
                 struct weir__slot *slot,
                 uint64_t word);

#endif
