/* SPDX-License-Identifier: MIT */
/* The least that a pool of threads can do: the slot that this thread used last is
 * taken by one compare-and-swap on a line of its own, and given back by one store.
 * Only who finds nothing goes to the mutex; a release looks at the number of
 * those. */
#include <pthread.h>
#include <stdlib.h>

#include "peers.h"
#include "sim.h"

enum {
  SLOT_EMPTY,
  SLOT_IDLE,
  SLOT_HELD
};

struct slot {
  _Alignas(64) _Atomic uint32_t state;
  struct sim_conn *conn; /* written by who moved EMPTY to HELD */
};

struct slot_pool {
  struct sim sim;
  uint32_t max;
  struct slot *slots;
  /* Read by each release, written by who waits. */
  _Alignas(64) _Atomic uint32_t waiters;
  _Alignas(64) pthread_mutex_t mutex;
  pthread_cond_t back;
};

static _Thread_local uint32_t hint;
static _Atomic uint32_t next_hint;
static _Thread_local bool has_hint;

static int open_pool(const struct pool_config *config,
                     void **out_pool,
                     struct fault *fault) {
  struct slot_pool *p = aligned_alloc(64, sizeof *p);
  struct slot *slots = aligned_alloc(64, config->max_pool * sizeof *slots);
  if (p == NULL || slots == NULL) {
    free(p);
    free(slots);
    fault_set(fault, "no memory");
    return -1;
  }
  p->sim.connect_delay_ns = config->connect_delay_ns;
  atomic_init(&p->sim.connects, 0);
  p->max = config->max_pool;
  p->slots = slots;
  atomic_init(&p->waiters, 0);
  for (uint32_t i = 0; i < p->max; i++) {
    atomic_init(&slots[i].state, SLOT_EMPTY);
    slots[i].conn = NULL;
  }
  (void)pthread_mutex_init(&p->mutex, NULL);
  (void)pthread_cond_init(&p->back, NULL);
  *out_pool = p;
  return 0;
}

static int renew(void *pool, struct fault *fault) {
  struct slot_pool *p = pool;
  (void)fault;
  for (uint32_t i = 0; i < p->max; i++) {
    sim_close(p->slots[i].conn);
    p->slots[i].conn = NULL;
    atomic_store_explicit(&p->slots[i].state, SLOT_EMPTY, memory_order_relaxed);
  }
  return 0;
}

static void close_pool(void *pool) {
  struct slot_pool *p = pool;
  (void)renew(p, NULL);
  (void)pthread_cond_destroy(&p->back);
  (void)pthread_mutex_destroy(&p->mutex);
  free(p->slots);
  free(p);
}

static bool claim(struct slot_pool *p, uint32_t i, uint32_t from) {
  _Atomic uint32_t *state = &p->slots[i].state;
  return atomic_load_explicit(state, memory_order_relaxed) == from &&
         atomic_compare_exchange_strong_explicit(state, &from, SLOT_HELD,
                                                 memory_order_seq_cst,
                                                 memory_order_relaxed);
}

/* Goes over all slots from this thread's own.  Returns false if none is in that
 * state. */
static bool steal(struct slot_pool *p, uint32_t from, uint32_t *out_i) {
  for (uint32_t k = 0; k < p->max; k++) {
    uint32_t i = hint + k < p->max ? hint + k : (hint + k) % p->max;
    if (claim(p, i, from)) {
      *out_i = i;
      return true;
    }
  }
  return false;
}

/* Says that it waits, looks once more, sleeps: who gives back first writes the
 * slot and then looks whether somebody waits, so one of the two sees the other. */
static uint32_t wait_for_slot(struct slot_pool *p) {
  uint32_t i;
  (void)pthread_mutex_lock(&p->mutex);
  (void)atomic_fetch_add_explicit(&p->waiters, 1, memory_order_seq_cst);
  while (!steal(p, SLOT_IDLE, &i)) {
    (void)pthread_cond_wait(&p->back, &p->mutex);
  }
  (void)atomic_fetch_sub_explicit(&p->waiters, 1, memory_order_relaxed);
  (void)pthread_mutex_unlock(&p->mutex);
  return i;
}

static uint32_t find(struct slot_pool *p) {
  uint32_t i;
  if (!has_hint) {
    has_hint = true;
    hint = atomic_fetch_add_explicit(&next_hint, 1, memory_order_relaxed);
  }
  hint = hint < p->max ? hint : hint % p->max;
  if (claim(p, hint, SLOT_IDLE)) {
    return hint;
  }
  if (steal(p, SLOT_IDLE, &i) || steal(p, SLOT_EMPTY, &i)) {
    return i;
  }
  return wait_for_slot(p);
}

static enum pool_result take(void *pool,
                             uint64_t *out_lease,
                             struct fault *fault) {
  struct slot_pool *p = pool;
  uint32_t i = find(p);
  struct slot *slot = &p->slots[i];
  if (slot->conn == NULL) {
    slot->conn = sim_open(&p->sim);
  }
  if (slot->conn == NULL) {
    fault_set(fault, "no memory");
    return POOL_FAILED;
  }
  sim_begin(slot->conn);
  hint = i;
  *out_lease = i;
  return POOL_OK;
}

static void wake(struct slot_pool *p) {
  (void)pthread_mutex_lock(&p->mutex);
  (void)pthread_cond_signal(&p->back);
  (void)pthread_mutex_unlock(&p->mutex);
}

static int give(void *pool, uint64_t lease, struct fault *fault) {
  struct slot_pool *p = pool;
  struct slot *slot = &p->slots[lease];
  (void)fault;
  sim_end(slot->conn);
  atomic_store_explicit(&slot->state, SLOT_IDLE, memory_order_seq_cst);
  if (atomic_load_explicit(&p->waiters, memory_order_seq_cst) > 0) {
    wake(p);
  }
  return 0;
}

static void count(void *pool, struct pool_counts *out) {
  struct slot_pool *p = pool;
  out->connects = atomic_load_explicit(&p->sim.connects, memory_order_relaxed);
  out->timeouts = 0;
}

static const char *driver(const void *pool) {
  (void)pool;
  return "sim";
}

static const char *strategy(const void *pool) {
  (void)pool;
  return "tls-slot";
}

const struct pool_kind peer_slot = {
    .name = "tls-slot",
    .open = open_pool,
    .close = close_pool,
    .renew = renew,
    .take = take,
    .give = give,
    .count = count,
    .driver = driver,
    .strategy = strategy,
};
