/* SPDX-License-Identifier: MIT */
#include "shed.h"

#include <stddef.h>

#include "control.h"
#include "dispatch.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "tend.h"

/* Refused at once, under one hold of the mutex: so that there is room for whoever
 * is served after a shedding, too. */
#define BATCH (WEIR_WAKES_MAX - 8u)

struct weir__shed *weir__shed_new(void) {
  struct weir__shed *shed = weir__mem_new(sizeof *shed);
  if (shed != NULL) {
    shed->told = WEIR_NEVER;
  }
  return shed;
}

static bool has_room(const struct weir__wakes *wakes, uint32_t refused) {
  return wakes->n_asleep < BATCH && refused < BATCH;
}

/* All places are taken: nobody in line gets a connection of its own. */
static bool is_full(const struct weir__pool *pool) {
  return pool->n_open >= pool->max_now && weir__control_opens_locked(pool);
}

static uint64_t span_of(const struct weir__waiter *w) {
  return w->deadline == WEIR_NEVER ? WEIR_NEVER : w->deadline - w->since;
}

static void refuse(struct weir__pool *pool,
                   struct weir__waiter *w,
                   struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  weir__waiters_remove(&pool->waiting, w);
  w->code = WEIR_E_OVERLOADED;
  pool->overloaded++;
  weir__waiter_decide(w, WEIR_WAITER_FAILED, wakes);
}

/* Those whose time-out has passed are about to find out by themselves. */
void weir__shed_head_locked(struct weir__pool *pool,
                            uint64_t now,
                            struct weir__wakes *wakes) {
  struct weir__waiter *w = pool->waiting.first;
  uint32_t refused = 0;
  if (pool->shed == NULL || !is_full(pool)) {
    return;
  }
  while (w != NULL) {
    struct weir__waiter *next = w->next;
    if (now < w->deadline) {
      if (now <
          weir__codel_refuse_at(&pool->shed->codel, w->since, span_of(w))) {
        return;
      }
      if (!has_room(wakes, refused++)) {
        weir__tend(pool); /* which dispatches again */
        return;
      }
      refuse(pool, w, wakes);
      next = pool->waiting.first; /* another may have come in from behind */
    }
    w = next;
  }
}

void weir__shed_queues_locked(struct weir__pool *pool, uint64_t now) {
  if (pool->shed != NULL && pool->waiting.first == NULL) {
    weir__codel_served(&pool->shed->codel, now, 0);
  }
}

void weir__shed_queued_locked(struct weir__pool *pool,
                              const struct weir__waiter *w) {
  struct weir__shed *shed = pool->shed;
  if (shed == NULL) {
    return;
  }
  uint64_t at = weir__codel_stuck_at(&shed->codel, w->since, span_of(w));
  if (at < shed->told) {
    shed->told = at;
    weir__tend(pool);
  }
}

void weir__shed_served_locked(struct weir__pool *pool,
                              uint64_t now,
                              uint64_t wait_ns) {
  if (pool->shed != NULL) {
    weir__codel_served(&pool->shed->codel, now, wait_ns);
  }
}

/* Returns when the next of the list is due, or `next_look` if that is sooner; one
 * that is due and may stay is looked at again after its limit.  Those whose time-out
 * has passed find out by themselves: looking at one of 20 us again and again would
 * keep the reactor from it. */
static uint64_t scan_list(struct weir__pool *pool,
                          struct weir__waiter *first,
                          uint64_t now,
                          uint64_t next_look,
                          struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  const struct weir__codel *codel = &pool->shed->codel;
  bool full = is_full(pool);
  uint32_t refused = 0;
  for (struct weir__waiter *w = first; w != NULL;) {
    struct weir__waiter *next = w->next;
    uint64_t span = span_of(w);
    uint64_t at = weir__codel_stuck_at(codel, w->since, span);
    if (now >= w->deadline) {
      at = WEIR_NEVER;
    } else if (at <= now && full) {
      if (!has_room(wakes, refused++)) {
        return now;
      }
      refuse(pool, w, wakes);
      at = WEIR_NEVER;
    } else if (at <= now) {
      at = weir__clock_add(now, weir__codel_limit(span) + 1);
    }
    next_look = at < next_look ? at : next_look;
    w = next;
  }
  return next_look;
}

/* The whole line, because one who waits for ever may be its head.  First those
 * behind it: who comes in from there has been looked at. */
static uint64_t scan(struct weir__pool *pool,
                     uint64_t now,
                     struct weir__wakes *wakes) WEIR_REQUIRES(pool->mu) {
  uint64_t at = scan_list(pool, pool->behind.first, now, WEIR_NEVER, wakes);
  return scan_list(pool, pool->waiting.first, now, at, wakes);
}

uint64_t weir__shed_stuck(struct weir__pool *pool) {
  uint64_t now = weir__clock_now();
  uint64_t at;
  if (pool->shed == NULL) {
    return WEIR_NEVER;
  }
  do {
    struct weir__wakes wakes = {.n_asleep = 0};
    weir__mutex_lock(&pool->mu);
    bool due = now >= pool->shed->told;
    const struct weir__waiter *trier = pool->waiting.trier;
    at = due ? scan(pool, now, &wakes) : pool->shed->told;
    pool->shed->told = at;
    weir__dispatch_tried_locked(pool, trier, &wakes);
    weir__mutex_unlock(&pool->mu);
    weir__wakes_flush(&wakes, NULL);
  } while (at <= now);
  return at;
}
