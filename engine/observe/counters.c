/* SPDX-License-Identifier: MIT */
#include "observe/counters.h"

#include <stddef.h>

#include "engine.h"
#include "session.h"

struct tally {
  uint64_t in[WEIR_SLOT_STATES];
  uint64_t uses;
};

/* A slot's uses first: a lease that begins in between is in the state and not in
 * the sum, which makes the difference, leases that are over, too small and never
 * too large. */
static struct tally count(const struct weir__pool *pool) {
  struct tally t = {.uses = 0};
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    const struct weir__slot *slot = weir__pool_slot(pool, i);
    t.uses += weir__load_acquire_u64(&slot->uses);
    t.in[weir__slot_state(weir__load_seq_u64(&slot->word))]++;
  }
  return t;
}

/* The largest number seen so far is still right, and the next is not to be
 * smaller. */
static uint64_t leases_over(struct weir__pool *pool, const struct tally *t)
    WEIR_REQUIRES(pool->mu) {
  uint64_t leased = t->in[WEIR_SLOT_LEASED];
  uint64_t over = t->uses > leased ? t->uses - leased : 0;
  if (over > pool->leases_over) {
    pool->leases_over = over;
  }
  return pool->leases_over;
}

static void add_leases(struct weir__pool *pool,
                       const struct tally *t,
                       struct weir_counters *sum) WEIR_REQUIRES(pool->mu) {
  uint64_t over = leases_over(pool, t);
  sum->soft_connects += t->uses;
  sum->soft_disconnects += over;
  sum->active_soft_connects += t->uses - over;
  sum->number_of_active_connections += t->uses - over;
}

static void add_hard(const struct weir__pool *pool, struct weir_counters *sum) {
  sum->hard_connects += pool->connects_ok;
  sum->hard_disconnects += pool->disconnects;
  sum->active_hard_connections += pool->connects_ok - pool->disconnects;
}

void weir__counters_add(struct weir__pool *pool, struct weir_counters *sum) {
  bool pooling = weir__pool_settings(pool)->pooling != 0;
  weir__mutex_lock(&pool->mu);
  struct tally t = count(pool);
  uint64_t sessions = t.in[WEIR_SLOT_IDLE] + t.in[WEIR_SLOT_LEASED] +
                      t.in[WEIR_SLOT_RESERVED] + t.in[WEIR_SLOT_PARKED] +
                      t.in[WEIR_SLOT_STASIS];
  add_hard(pool, sum);
  sum->number_of_stasis_connections += t.in[WEIR_SLOT_STASIS];
  sum->number_of_active_connection_pool_groups += !pool->closed;
  sum->number_of_inactive_connection_pool_groups += pool->closed;
  if (pooling) {
    add_leases(pool, &t, sum);
    sum->number_of_pooled_connections += sessions;
    sum->number_of_free_connections +=
        t.in[WEIR_SLOT_IDLE] + t.in[WEIR_SLOT_PARKED];
    sum->number_of_active_connection_pools += !pool->closed;
    sum->number_of_inactive_connection_pools += pool->closed;
  } else {
    sum->number_of_non_pooled_connections += sessions;
  }
  weir__mutex_unlock(&pool->mu);
}

void weir__counters_engine(struct weir__engine *engine,
                           struct weir_counters *out) {
  weir__mutex_lock(&engine->mu);
  *out = engine->past;
  for (struct weir__pool *p = engine->pools; p != NULL; p = p->next) {
    weir__counters_add(p, out);
  }
  weir__mutex_unlock(&engine->mu);
}

/* It is empty: all its gauges but the number of pools are 0. */
void weir__counters_keep(struct weir__pool *pool) {
  struct weir_counters *past = &pool->engine->past;
  weir__mutex_lock(&pool->mu);
  struct tally t = count(pool);
  add_hard(pool, past);
  if (weir__pool_settings(pool)->pooling != 0) {
    add_leases(pool, &t, past);
  }
  weir__mutex_unlock(&pool->mu);
}

void weir__counters_opened_locked(struct weir__pool *pool,
                                  struct weir_drv_hconn *session) {
  pool->connects_ok++;
  session->opened = true;
}
