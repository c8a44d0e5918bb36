/* SPDX-License-Identifier: MIT */
#include "upkeep.h"

#include <stddef.h>

#include "dispatch.h"
#include "growth.h"
#include "keepalive.h"
#include "policy.h"
#include "session.h"
#include "sys/clock.h"
#include "tend.h"
#include "upkeep_look.h"

static void count_places(struct weir__look *l) {
  uint32_t n = weir__load_acquire_u32(&l->pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    const struct weir__slot *slot = weir__pool_slot(l->pool, i);
    uint32_t state = weir__slot_state(weir__load_seq_u64(&slot->word));
    if (state == WEIR_SLOT_EMPTY || state == WEIR_SLOT_CLOSING) {
      l->closing += state == WEIR_SLOT_CLOSING;
      continue;
    }
    bool idle = state == WEIR_SLOT_IDLE;
    l->open++;
    l->idle += idle;
    l->busy += !idle;
    l->used +=
        !idle || weir__load_relaxed_u64(&slot->idle_since) >= l->pool->noted_at;
  }
  weir__mutex_lock(&l->pool->mu);
  /* In a pool that is paused they do not wait for a connection. */
  l->waiting = l->pool->paused ? 0 : weir__pool_waiters_locked(l->pool);
  l->fell = l->pool->fell;
  l->pool->fell = false;
  weir__mutex_unlock(&l->pool->mu);
}

static bool ages_idle(const struct weir__look *l) {
  return l->set->idle_expiry == WEIR_EXPIRY_ENFORCED &&
         l->set->idle_timeout_ns != WEIR_NEVER;
}

/* True if it has left. */
bool weir__look_retire(struct weir__look *l,
                       struct weir__slot *slot,
                       uint64_t word) {
  if (!weir__growth_retire(slot, &word)) {
    return false; /* leased meanwhile: it is in use, after all */
  }
  l->open--;
  l->idle--;
  return true;
}

/* ---------------------------------------------------------------- idleness */

static bool retire_idle(struct weir__look *l,
                        struct weir__slot *slot,
                        uint64_t word) {
  uint64_t end = weir__clock_add(weir__load_relaxed_u64(&slot->idle_since),
                                 l->set->idle_timeout_ns);
  uint64_t tick = weir__retire_tick(l->set->idle_timeout_ns);
  if (!ages_idle(l) || !weir__look_is_spare(l)) {
    return false;
  }
  if (l->now < end) {
    weir__look_no_later(l, end);
    return false;
  }
  if (l->waiting == 0 &&
      weir__retire_take(&l->pool->idled, l->now, tick,
                        weir__load_acquire_u32(&l->pool->n_slots))) {
    return weir__look_retire(l, slot, word);
  }
  weir__look_no_later(l, weir__retire_next(l->now, tick));
  return false;
}

/* --------------------------------------------------------------------- age */

/* Whether the pool would miss one.  Then it gets another first: growth.c opens
 * while fewer than `wanted` are open, and the old one goes at the next look. */
static bool replace_first(struct weir__look *l) {
  uint32_t keep =
      l->peak > l->set->min_pool_size ? l->peak : l->set->min_pool_size;
  if (l->open > keep) {
    return false;
  }
  if (l->open + l->closing >= l->set->max_pool_size) {
    return l->closing != 0; /* closed first, one at a time */
  }
  l->wanted = l->open + 1;
  return true;
}

static void retire_aged(struct weir__look *l,
                        struct weir__slot *slot,
                        uint64_t word) {
  uint64_t expires = weir__load_relaxed_u64(&slot->expires);
  if (l->now < expires) {
    weir__look_no_later(l, expires);
    return;
  }
  bool idle = weir__slot_state(word) == WEIR_SLOT_IDLE;
  if (idle && l->waiting == 0 && !replace_first(l) &&
      weir__retire_aged(l->pool, slot, l->now) &&
      weir__look_retire(l, slot, word)) {
    l->closing++;
    return;
  }
  weir__look_no_later(
      l, weir__retire_next(l->now, weir__retire_tick(l->set->lifetime_ns)));
}

static void review(struct weir__look *l, struct weir__slot *slot) {
  uint64_t word = weir__load_seq_u64(&slot->word);
  uint32_t state = weir__slot_state(word);
  if (state == WEIR_SLOT_EMPTY || state == WEIR_SLOT_CLOSING) {
    return;
  }
  if (state == WEIR_SLOT_IDLE && retire_idle(l, slot, word)) {
    return;
  }
  retire_aged(l, slot, word);
}

/* ----------------------------------------------------------------- surplus */

struct oldest {
  struct weir__slot *slot[WEIR_TRIM_MAX];
  uint64_t since[WEIR_TRIM_MAX];
  uint32_t n;
  uint32_t most;
};

/* Keeps the longest idle ones in order, of equals the highest index first: slots
 * come by index. */
static void consider(struct oldest *o,
                     struct weir__slot *slot,
                     uint64_t since) {
  uint32_t at = o->n;
  while (at > 0 && o->since[at - 1] >= since) {
    at--;
  }
  if (at == o->most) {
    return;
  }
  uint32_t end = o->n < o->most ? o->n : o->most - 1;
  for (uint32_t i = end; i > at; i--) {
    o->slot[i] = o->slot[i - 1];
    o->since[i] = o->since[i - 1];
  }
  o->slot[at] = slot;
  o->since[at] = since;
  o->n = end + 1;
}

uint32_t weir__look_close_oldest(struct weir__look *l, uint32_t count) {
  count = count < WEIR_TRIM_MAX ? count : WEIR_TRIM_MAX;
  struct oldest o = {.n = 0, .most = count};
  uint32_t n = weir__load_acquire_u32(&l->pool->n_slots);
  for (uint32_t i = 0; count != 0 && i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(l->pool, i);
    if (weir__slot_state(weir__load_seq_u64(&slot->word)) == WEIR_SLOT_IDLE) {
      consider(&o, slot, weir__load_relaxed_u64(&slot->idle_since));
    }
  }
  for (uint32_t i = 0; i < o.n && weir__look_is_spare(l); i++) {
    uint64_t word = weir__load_seq_u64(&o.slot[i]->word);
    if (weir__slot_state(word) == WEIR_SLOT_IDLE) {
      (void)weir__look_retire(l, o.slot[i], word);
    }
  }
  return o.n;
}

/* ------------------------------------------------------------------- all */

void weir__upkeep_left_locked(struct weir__pool *pool) {
  uint32_t kept = pool->n_open - pool->n_closing;
  if (pool->policies.trim->falls &&
      kept <= weir__pool_settings(pool)->min_pool_size) {
    pool->fell = true;
    pool->review_asked = true;
    weir__tend(pool);
  }
}

/* Those that are opened later must not slip through. */
static void bound(struct weir__look *l) {
  uint64_t life = l->set->lifetime_ns;
  if (l->open != 0 && life != WEIR_NEVER) {
    uint64_t least = life - life / 100 * l->set->lifetime_jitter;
    uint64_t tick = weir__retire_tick(life);
    weir__look_no_later(l,
                        weir__clock_add(l->now, least > tick ? least : tick));
  }
}

/* What has been opened since the places were counted was told to nobody, because
 * a look was on its way: then another one follows. */
static void want(struct weir__look *l) {
  struct weir__pool *pool = l->pool;
  weir__mutex_lock(&pool->mu);
  uint32_t open = pool->n_open - pool->n_closing;
  bool spare = open > l->set->min_pool_size && open > l->set->min_idle;
  bool grown = spare && !weir__look_may_spare(l);
  pool->wanted = l->wanted;
  pool->trimless = !spare;
  pool->review_asked = pool->review_asked || grown;
  weir__mutex_unlock(&pool->mu);
  if (grown) {
    weir__tend(pool);
  }
  if (l->wanted != 0) {
    weir__growth_fill(pool);
  }
}

uint64_t weir__upkeep(struct weir__pool *pool, uint64_t now) {
  struct weir__look l = {.pool = pool,
                         .set = weir__pool_settings(pool),
                         .now = now,
                         .next = WEIR_NEVER};
  count_places(&l);
  pool->policies.trim->look(&l);
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    review(&l, weir__pool_slot(pool, i));
  }
  weir__look_no_later(&l, weir__keepalive(pool, now));
  bound(&l);
  want(&l);
  return l.next;
}
