/* SPDX-License-Identifier: MIT */
#include "pool.h"

#include <stddef.h>
#include <string.h>

#include "credential.h"
#include "dispatch.h"
#include "engine.h"
#include "growth.h"
#include "loader.h"
#include "session.h"
#include "strategy.h"
#include "sys/assert.h"
#include "sys/mem.h"
#include "sys/point.h"
#include "tend.h"

static uint64_t endpoint_hash(const struct weir__key *key) {
  size_t len = 0;
  const uint8_t *p = weir__key_endpoint(key, &len);
  uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
  for (size_t i = 0; i < len; i++) {
    hash = (hash ^ p[i]) * UINT64_C(1099511628211);
  }
  return hash;
}

static bool allocate(struct weir__pool *pool, uint32_t max) {
  size_t chunks = (max + WEIR_SLOT_CHUNK - 1) / WEIR_SLOT_CHUNK;
  pool->chunks = weir__mem_array(chunks, sizeof *pool->chunks);
  return pool->chunks != NULL && weir__idle_init(&pool->idle, max) &&
         weir__bits_init(&pool->empties, max);
}

static void release_memory(struct weir__pool *pool) {
  weir__bits_fini(&pool->empties);
  weir__idle_fini(&pool->idle);
  weir__mem_free((void *)pool->chunks);
  weir__mem_free(pool);
}

struct weir__pool *weir__pool_new(const struct weir__pool_parts *parts) {
  struct weir__pool *pool = weir__mem_new(sizeof *pool);
  if (pool == NULL) {
    return NULL;
  }
  if (!allocate(pool, parts->options->settings.max_pool_size)) {
    release_memory(pool);
    return NULL;
  }
  weir__mutex_init(&pool->clear_mu, WEIR_RANK_CLEAR);
  weir__mutex_init(&pool->free_mu, WEIR_RANK_CLEAR);
  weir__mutex_init(&pool->mu, WEIR_RANK_POOL);
  pool->engine = parts->engine;
  pool->driver = parts->driver;
  pool->config = parts->config;
  pool->key = parts->key;
  pool->credential = parts->credential;
  pool->options = *parts->options;
  memset(parts->options, 0, sizeof *parts->options);
  pool->strategy = weir__strategy_find(pool->options.settings.strategy);
  pool->fair_key = endpoint_hash(pool->key);
  WEIR_ASSERT(pool->strategy != NULL); /* settings refuse what is not built */
  return pool;
}

void weir__pool_free(struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  pool->driver->table.config_destroy(pool->driver->instance, pool->config);
  for (uint32_t i = 0; i < n; i += WEIR_SLOT_CHUNK) {
    weir__slot_chunk_free(pool->chunks[i / WEIR_SLOT_CHUNK]);
  }
  weir__options_fini(&pool->options);
  weir__key_free(pool->key);
  weir__credential_unref(pool->credential);
  weir__mutex_fini(&pool->clear_mu);
  weir__mutex_fini(&pool->free_mu);
  weir__mutex_fini(&pool->mu);
  release_memory(pool);
}

const weir_drv_cfg *weir__pool_config(const struct weir__pool *pool) {
  return pool->config;
}

const struct weir__options *weir__pool_options(const struct weir__pool *pool) {
  return &pool->options;
}

uint64_t weir__pool_fair_key(const struct weir__pool *pool) {
  return pool->fair_key;
}

static void fail_list(struct weir__waiters *list, struct weir__wakes *wakes) {
  while (list->first != NULL && weir__wakes_room(wakes)) {
    struct weir__waiter *w = list->first;
    weir__waiters_remove(list, w);
    w->code = WEIR_E_CLOSED;
    weir__waiter_decide(w, WEIR_WAITER_FAILED, wakes);
  }
}

void weir__pool_shut(struct weir__pool *pool) {
  bool more;
  do {
    struct weir__wakes wakes = {.n_asleep = 0};
    weir__mutex_lock(&pool->mu);
    pool->closed = true;
    (void)weir__or_seq_u64(&pool->q, WEIR_Q_CLOSED);
    fail_list(&pool->waiting, &wakes);
    fail_list(&pool->driving, &wakes);
    weir__dispatch_flag_locked(pool);
    more = pool->waiting.n + pool->driving.n != 0;
    weir__mutex_unlock(&pool->mu);
    weir__wakes_flush(&wakes, NULL);
    WEIR_POINT("shut.batch.locked", pool);
  } while (more);
  weir__growth_sweep(pool);
  weir__tend(pool);
}

static uint32_t next_generation(struct weir__pool *pool) {
  uint64_t q = weir__load_seq_u64(&pool->q);
  uint64_t to;
  do {
    uint64_t generation = (weir__q_generation(q) + 1u) & 0xFFFFu;
    to = (q & WEIR_Q_FLAGS) | generation << 16;
  } while (!weir__cas_seq_u64(&pool->q, &q, to));
  return weir__q_generation(to);
}

/* A connection of an older generation: closed now if idle, else doomed. */
static void doom(struct weir__slot *slot, uint32_t generation) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  for (;;) {
    uint32_t state = weir__slot_state(word);
    uint32_t flags = weir__slot_flags(word);
    if (state == WEIR_SLOT_EMPTY || state == WEIR_SLOT_CLOSING ||
        weir__slot_generation(word) == generation ||
        (flags & WEIR_SLOT_DOOMED) != 0) {
      return;
    }
    if (state == WEIR_SLOT_IDLE) {
      if (weir__growth_retire(slot, &word)) {
        return;
      }
    } else if (weir__slot_move(slot, &word,
                               weir__slot_word(state, flags | WEIR_SLOT_DOOMED,
                                               weir__slot_generation(word),
                                               weir__slot_lease(word)))) {
      return;
    }
  }
}

/* One clear at a time: when it has returned no slot at rest is of an older
 * generation, so 16 bits of generation never meet their like again. */
void weir__pool_clear(struct weir__pool *pool) {
  weir__mutex_lock(&pool->clear_mu);
  weir__mutex_lock(&pool->mu);
  uint32_t generation = next_generation(pool);
  weir__growth_rest_locked(pool);
  weir__mutex_unlock(&pool->mu);
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    doom(weir__pool_slot(pool, i), generation);
  }
  weir__mutex_unlock(&pool->clear_mu);
}

void weir__pool_count(const struct weir__pool *pool,
                      struct weir__pool_census *out) {
  memset(out, 0, sizeof *out);
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    const struct weir__slot *slot = weir__pool_slot(pool, i);
    out->in[weir__slot_state(weir__load_seq_u64(&slot->word))]++;
  }
  /* The last chunk may reach beyond the maximum, and not all is made yet. */
  uint32_t taken = 0;
  for (uint32_t s = WEIR_SLOT_EMPTY + 1; s < WEIR_SLOT_STATES; s++) {
    taken += out->in[s];
  }
  uint32_t max = weir__pool_settings(pool)->max_pool_size;
  WEIR_ASSERT(taken <= max); /* P1 */
  out->in[WEIR_SLOT_EMPTY] = max - taken;
}

static uint64_t sum_uses(const struct weir__pool *pool) {
  uint64_t sum = 0;
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    sum += weir__load_relaxed_u64(&weir__pool_slot(pool, i)->uses);
  }
  return sum;
}

static void tell_waits(const struct weir__waits *waits,
                       struct weir_pool_stats *out) {
  _Static_assert(sizeof out->wait_bucket == sizeof waits->bucket, "buckets");
  out->wait_count = waits->count;
  out->wait_sum_ns = waits->sum_ns;
  out->wait_max_ns = waits->max_ns;
  memcpy(out->wait_bucket, waits->bucket, sizeof out->wait_bucket);
}

void weir__pool_stats(struct weir__pool *pool, struct weir_pool_stats *out) {
  struct weir__pool_census census;
  weir__mutex_lock(&pool->mu);
  weir__pool_count(pool, &census);
  out->waiters = pool->waiting.n + pool->driving.n;
  out->connects_begun = pool->connects_begun;
  out->connects_ok = pool->connects_ok;
  out->connects_failed = pool->connects_failed;
  out->closed = pool->sessions_closed;
  out->timeouts = pool->timeouts;
  out->handovers = pool->handovers;
  out->cancelled = pool->cancelled;
  tell_waits(&pool->waits, out);
  weir__mutex_unlock(&pool->mu);
  out->max_size = weir__pool_settings(pool)->max_pool_size;
  out->min_size = weir__pool_settings(pool)->min_pool_size;
  out->empty = census.in[WEIR_SLOT_EMPTY];
  out->connecting = census.in[WEIR_SLOT_CONNECTING];
  out->idle = census.in[WEIR_SLOT_IDLE];
  out->leased = census.in[WEIR_SLOT_LEASED];
  out->reserved = census.in[WEIR_SLOT_RESERVED];
  out->parked = census.in[WEIR_SLOT_PARKED];
  out->stasis = census.in[WEIR_SLOT_STASIS];
  out->closing = census.in[WEIR_SLOT_CLOSING];
  out->acquired = sum_uses(pool);
  /* A lease that begins is in its state before it is in the sum. */
  out->released = out->acquired > out->leased ? out->acquired - out->leased : 0;
}
