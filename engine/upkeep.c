/* SPDX-License-Identifier: MIT */
#include "upkeep.h"

#include <stddef.h>

#include "dispatch.h"
#include "growth.h"
#include "keepalive.h"
#include "session.h"
#include "sys/clock.h"

/* One look. */
struct look {
  struct weir__pool *pool;
  const struct weir__settings *set;
  uint64_t now;
  uint64_t next; /* when to look again */
  uint32_t open; /* not EMPTY and not CLOSING */
  uint32_t closing;
  uint32_t idle;
  uint32_t busy;    /* open and not idle */
  uint32_t used;    /* open and not idle all the time since the last note */
  uint32_t waiting; /* acquires in line */
  uint32_t peak;    /* trim.h; 0 while it is not known */
  uint32_t wanted;  /* opened until then: see replace() */
};

static void no_later(struct look *l, uint64_t at) {
  l->next = at < l->next ? at : l->next;
}

static void count_places(struct look *l) {
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
  l->waiting = l->pool->paused ? 0 : l->pool->waiting.n + l->pool->driving.n;
  weir__mutex_unlock(&l->pool->mu);
}

/* Fewer than that are not kept for the sake of idleness or surplus. */
static bool is_spare(const struct look *l) {
  return l->open > l->set->min_pool_size && l->idle > l->set->min_idle;
}

/* Whether any could be, now or when those in use come back. */
static bool may_spare(const struct look *l) {
  return l->open > l->set->min_pool_size && l->open > l->set->min_idle;
}

static bool ages_idle(const struct look *l) {
  return l->set->idle_expiry == WEIR_EXPIRY_ENFORCED &&
         l->set->idle_timeout_ns != WEIR_NEVER;
}

/* True if it has left. */
static bool retire(struct look *l, struct weir__slot *slot, uint64_t word) {
  if (!weir__growth_retire(slot, &word)) {
    return false; /* leased meanwhile: it is in use, after all */
  }
  l->open--;
  l->idle--;
  return true;
}

/* ---------------------------------------------------------------- idleness */

static bool retire_idle(struct look *l,
                        struct weir__slot *slot,
                        uint64_t word) {
  uint64_t end = weir__clock_add(weir__load_relaxed_u64(&slot->idle_since),
                                 l->set->idle_timeout_ns);
  uint64_t tick = weir__retire_tick(l->set->idle_timeout_ns);
  if (!ages_idle(l) || !is_spare(l)) {
    return false;
  }
  if (l->now < end) {
    no_later(l, end);
    return false;
  }
  if (l->waiting == 0 &&
      weir__retire_take(&l->pool->idled, l->now, tick,
                        weir__load_acquire_u32(&l->pool->n_slots))) {
    return retire(l, slot, word);
  }
  no_later(l, weir__retire_next(l->now, tick));
  return false;
}

/* --------------------------------------------------------------------- age */

/* Whether the pool would miss one.  Then it gets another first: growth.c opens
 * while fewer than `wanted` are open, and the old one goes at the next look. */
static bool replace_first(struct look *l) {
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

static void retire_aged(struct look *l,
                        struct weir__slot *slot,
                        uint64_t word) {
  uint64_t expires = weir__load_relaxed_u64(&slot->expires);
  if (l->now < expires) {
    no_later(l, expires);
    return;
  }
  bool idle = weir__slot_state(word) == WEIR_SLOT_IDLE;
  if (idle && l->waiting == 0 && !replace_first(l) &&
      weir__retire_aged(l->pool, slot, l->now) && retire(l, slot, word)) {
    l->closing++;
    return;
  }
  no_later(l,
           weir__retire_next(l->now, weir__retire_tick(l->set->lifetime_ns)));
}

static void review(struct look *l, struct weir__slot *slot) {
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

static void close_surplus(struct look *l, uint32_t count) {
  struct oldest o = {.n = 0, .most = count};
  uint32_t n = weir__load_acquire_u32(&l->pool->n_slots);
  for (uint32_t i = 0; count != 0 && i < n; i++) {
    struct weir__slot *slot = weir__pool_slot(l->pool, i);
    if (weir__slot_state(weir__load_seq_u64(&slot->word)) == WEIR_SLOT_IDLE) {
      consider(&o, slot, weir__load_relaxed_u64(&slot->idle_since));
    }
  }
  for (uint32_t i = 0; i < o.n && is_spare(l); i++) {
    uint64_t word = weir__load_seq_u64(&o.slot[i]->word);
    if (weir__slot_state(word) == WEIR_SLOT_IDLE) {
      (void)retire(l, o.slot[i], word);
    }
  }
}

/* One note, if it is time, and what follows from it. */
static void trim(struct look *l) {
  struct weir__pool *pool = l->pool;
  uint64_t step = weir__trim_step(l->set->idle_timeout_ns);
  if (l->set->idle_timeout_ns == WEIR_NEVER || !may_spare(l)) {
    weir__trim_reset(&pool->trim); /* what is noted now would not be later */
    pool->noted_at = 0;
    weir__store_relaxed_u32(&pool->idle.packed, 0);
    return;
  }
  uint64_t due = weir__clock_add(pool->noted_at, step);
  if (pool->noted_at != 0 && l->now < due) {
    no_later(l, due);
    return;
  }
  uint32_t reached = weir__exchange_acq_rel_u32(&pool->idle.reached, 0);
  uint32_t needed = l->busy + l->waiting;
  weir__trim_note(&pool->trim, l->used + l->waiting,
                  needed > reached ? needed : reached);
  pool->noted_at = l->now;
  uint32_t peak = weir__trim_peak(&pool->trim);
  uint32_t packed = weir__trim_packed(&pool->trim);
  weir__store_relaxed_u32(&pool->idle.packed, packed == UINT32_MAX ? 0
                                              : packed == 0        ? 1
                                                                   : packed);
  if (l->waiting == 0 && peak != UINT32_MAX) {
    uint64_t keep = (uint64_t)peak + l->set->min_idle;
    keep = keep > l->set->min_pool_size ? keep : l->set->min_pool_size;
    l->peak = peak;
    close_surplus(l, weir__trim_count(l->open, keep > UINT32_MAX
                                                   ? UINT32_MAX
                                                   : (uint32_t)keep));
  }
  no_later(l, weir__clock_add(l->now, step));
}

/* ------------------------------------------------------------------- all */

/* Those that are opened later must not slip through. */
static void bound(struct look *l) {
  uint64_t life = l->set->lifetime_ns;
  if (l->open != 0 && life != WEIR_NEVER) {
    uint64_t least = life - life / 100 * l->set->lifetime_jitter;
    uint64_t tick = weir__retire_tick(life);
    no_later(l, weir__clock_add(l->now, least > tick ? least : tick));
  }
}

static void want(struct look *l) {
  weir__mutex_lock(&l->pool->mu);
  l->pool->wanted = l->wanted;
  l->pool->trimless = !may_spare(l);
  weir__mutex_unlock(&l->pool->mu);
  if (l->wanted != 0) {
    weir__growth_fill(l->pool);
  }
}

uint64_t weir__upkeep(struct weir__pool *pool, uint64_t now) {
  struct look l = {.pool = pool,
                   .set = weir__pool_settings(pool),
                   .now = now,
                   .next = WEIR_NEVER};
  count_places(&l);
  trim(&l);
  uint32_t n = weir__load_acquire_u32(&pool->n_slots);
  for (uint32_t i = 0; i < n; i++) {
    review(&l, weir__pool_slot(pool, i));
  }
  no_later(&l, weir__keepalive(pool, now));
  bound(&l);
  want(&l);
  return l.next;
}
