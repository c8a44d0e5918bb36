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
#include "shed.h"
#include "sys/assert.h"
#include "sys/clock.h"
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

/* Where the pointer to the chunk of that slot is.  Its segment is made if there is
 * none yet; NULL: no memory. */
static struct weir__slot_chunk **chunk_place(struct weir__pool *pool,
                                             uint32_t first_index) {
  uint32_t chunk = first_index / WEIR_SLOT_CHUNK + WEIR_POOL_SEGMENT;
  uint32_t k = 31u - (uint32_t)__builtin_clz(chunk);
  struct weir__slot_chunk ***segment = &pool->segments[k - 3u];
  if (*segment == NULL) {
    *segment = weir__mem_array(1u << k, sizeof **segment);
  }
  return *segment == NULL ? NULL : &(*segment)[chunk - (1u << k)];
}

uint32_t weir__pool_extend_locked(struct weir__pool *pool) {
  uint32_t n = weir__load_relaxed_u32(&pool->n_slots);
  if (n >= WEIR_SETTINGS_POOL_MAX) {
    return UINT32_MAX;
  }
  struct weir__slot_chunk **place = chunk_place(pool, n);
  if (place == NULL || !weir__idle_grow(&pool->idle, n + WEIR_SLOT_CHUNK) ||
      !weir__bits_grow(&pool->empties, n + WEIR_SLOT_CHUNK)) {
    return UINT32_MAX;
  }
  struct weir__slot_chunk *chunk = weir__slot_chunk_new(pool, n);
  if (chunk == NULL) {
    return UINT32_MAX;
  }
  *place = chunk;
  return n;
}

static void release_memory(struct weir__pool *pool) {
  weir__bits_fini(&pool->empties);
  weir__idle_fini(&pool->idle);
  for (uint32_t k = 0; k < WEIR_POOL_SEGMENTS; k++) {
    weir__mem_free((void *)pool->segments[k]);
  }
  weir__mem_free(pool->shed);
  weir__mem_free(pool->median.sample);
  weir__mem_free(pool->block);
  while (pool->blocks != NULL) {
    struct weir__settings_block *older = pool->blocks->older;
    weir__mem_free(pool->blocks);
    pool->blocks = older;
  }
  weir__mem_free(pool);
}

/* A driver that cannot tell says no. */
static bool is_cloud(const struct weir__pool *pool) {
  struct weir_drv_config_info info = {.struct_size = sizeof info};
  return pool->driver->table.config_info(pool->driver->instance, pool->config,
                                         &info) == WEIR_DRV_DONE &&
         (info.flags & WEIR_DRV_CFG_CLOUD) != 0;
}

struct weir__pool *weir__pool_new(const struct weir__pool_parts *parts) {
  struct weir__pool *pool = weir__mem_new(sizeof *pool);
  if (pool == NULL) {
    return NULL;
  }
  if (parts->options->settings.queue_policy == WEIR_QUEUE_CODEL) {
    pool->shed = weir__shed_new();
    if (pool->shed == NULL) {
      release_memory(pool);
      return NULL;
    }
  }
  pool->engine = parts->engine;
  pool->driver = parts->driver;
  pool->key = parts->key;
  pool->policies = weir__policies_of(&parts->options->settings);
  if (!weir__idle_init(&pool->idle, pool->policies.idle) ||
      !weir__endpoint_open(pool)) {
    release_memory(pool);
    return NULL;
  }
  weir__mutex_init(&pool->clear_mu, WEIR_RANK_CLEAR);
  weir__mutex_init(&pool->free_mu, WEIR_RANK_CLEAR);
  weir__mutex_init(&pool->mu, WEIR_RANK_POOL);
  pool->config = parts->config;
  pool->credential = parts->credential;
  pool->options = *parts->options;
  memset(parts->options, 0, sizeof *parts->options);
  const struct weir__settings *set = &pool->options.settings;
  atomic_store_explicit(&pool->settings, set, memory_order_relaxed);
  pool->max_now = set->max_pool_size;
  pool->lazy = set->startup == WEIR_STARTUP_LAZY;
  pool->ordered = pool->policies.handoff->overtaking == WEIR_OVERTAKE_NEVER;
  if (pool->policies.async->one_by_one) {
    pool->waiting.behind = &pool->behind;
  }
  pool->cloud = is_cloud(pool);
  weir__store_relaxed_u64(&pool->due, WEIR_NEVER);
  pool->fair_key = endpoint_hash(pool->key);
  weir__growth_init(pool);
  return pool;
}

void weir__pool_free(struct weir__pool *pool) {
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  pool->driver->table.config_destroy(pool->driver->instance, pool->config);
  for (uint32_t i = 0; i < n; i += WEIR_SLOT_CHUNK) {
    struct weir__slot_chunk **place = chunk_place(pool, i);
    WEIR_ASSERT(place != NULL); /* it was made */
    if (place != NULL) {
      weir__slot_chunk_free(*place);
    }
  }
  weir__endpoint_close(pool);
  weir__growth_fini(pool);
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
    weir__growth_halt_locked(pool);
    weir__dispatch_flag_locked(pool);
    more = weir__pool_waiters_locked(pool) != 0;
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
  /* Not every slot may be used, and not all are made yet. */
  uint32_t taken = 0;
  for (uint32_t s = WEIR_SLOT_EMPTY + 1; s < WEIR_SLOT_STATES; s++) {
    taken += out->in[s];
  }
  /* P1: places are taken under mu, and growth.c takes none beyond max_now; only a
   * maximum that was lowered can be less than what is open. */
  WEIR_ASSERT(taken <= pool->n_open);
  WEIR_ASSERT(pool->n_open <= pool->max_now ||
              (weir__load_relaxed_u64(&pool->q) & WEIR_Q_SURPLUS) != 0);
  out->in[WEIR_SLOT_EMPTY] = pool->max_now > taken ? pool->max_now - taken : 0;
}

void weir__pool_limit_locked(struct weir__pool *pool) {
  pool->max_now = weir__pool_settings(pool)->max_pool_size;
  if (pool->n_open > pool->max_now) {
    (void)weir__or_seq_u64(&pool->q, WEIR_Q_SURPLUS);
  } else {
    (void)weir__and_seq_u64(&pool->q, ~WEIR_Q_SURPLUS);
  }
}

static uint64_t sum_uses(const struct weir__pool *pool) {
  uint64_t sum = 0;
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    sum += weir__load_relaxed_u64(&weir__pool_slot(pool, i)->uses);
  }
  return sum;
}

static uint32_t state_of(const struct weir__pool *pool) {
  return pool->closed     ? WEIR_POOL_CLOSED
         : pool->draining ? WEIR_POOL_DRAINING
         : pool->paused   ? WEIR_POOL_PAUSED
                          : WEIR_POOL_OPEN;
}

/* Both lists are in order of their times. */
static uint64_t oldest_wait(const struct weir__pool *pool) {
  uint64_t now = weir__clock_now();
  uint64_t since = now;
  if (pool->waiting.first != NULL && pool->waiting.first->since < since) {
    since = pool->waiting.first->since;
  }
  if (pool->driving.first != NULL && pool->driving.first->since < since) {
    since = pool->driving.first->since;
  }
  return now - since;
}

static void tell_waits(const struct weir__waits *waits,
                       struct weir_pool_stats *out) {
  _Static_assert(sizeof out->wait_bucket == sizeof waits->bucket, "buckets");
  out->wait_count = waits->count;
  out->wait_sum_ns = waits->sum_ns;
  out->wait_max_ns = waits->max_ns;
  memcpy(out->wait_bucket, waits->bucket, sizeof out->wait_bucket);
}

/* What may be opened now: an endpoint's limit or a breaker can allow less than the
 * pool's own maximum. */
static uint32_t census_rest(const struct weir__pool_census *census,
                            uint32_t effective_max) {
  uint32_t taken = 0;
  for (uint32_t s = WEIR_SLOT_EMPTY + 1; s < WEIR_SLOT_STATES; s++) {
    taken += census->in[s];
  }
  return effective_max > taken ? effective_max - taken : 0;
}

void weir__pool_stats(struct weir__pool *pool, struct weir_pool_stats *out) {
  struct weir__pool_census census;
  weir__mutex_lock(&pool->mu);
  weir__pool_count(pool, &census);
  out->waiters = weir__pool_waiters_locked(pool);
  out->connects_begun = pool->connects_begun;
  out->connects_ok = pool->connects_ok;
  out->connects_failed = pool->connects_failed;
  out->closed = pool->sessions_closed;
  out->timeouts = pool->timeouts;
  out->handovers = pool->handovers;
  out->generation = weir__q_generation(weir__load_relaxed_u64(&pool->q));
  out->state = state_of(pool);
  out->cancelled = pool->cancelled;
  out->overloaded = pool->overloaded;
  out->oldest_wait_ns = oldest_wait(pool);
  tell_waits(&pool->waits, out);
  weir__growth_tell_locked(pool, out);
  out->max_size = weir__pool_settings(pool)->max_pool_size;
  out->min_size = weir__pool_settings(pool)->min_pool_size;
  weir__mutex_unlock(&pool->mu);
  out->empty = census_rest(&census, out->effective_max);
  out->connecting = census.in[WEIR_SLOT_CONNECTING];
  out->idle = census.in[WEIR_SLOT_IDLE];
  out->leased = census.in[WEIR_SLOT_LEASED];
  out->reserved = census.in[WEIR_SLOT_RESERVED];
  out->parked = census.in[WEIR_SLOT_PARKED];
  out->stasis = census.in[WEIR_SLOT_STASIS];
  out->closing = census.in[WEIR_SLOT_CLOSING];
  out->overtakes = weir__idle_overtakes(pool);
  out->acquired = sum_uses(pool);
  /* A lease that begins is in its state before it is in the sum. */
  out->released = out->acquired > out->leased ? out->acquired - out->leased : 0;
}
