/* SPDX-License-Identifier: MIT */
/* trim_sweep.c - what nobody has used since the sweep before goes with the next, the
 * longest idle first (sweep.h). */
#include "policy.h"
#include "sys/chance.h"
#include "sys/clock.h"
#include "trim.h"
#include "upkeep_look.h"

/* The pool's number is drawn when it is first needed, and 0 is none. */
static uint64_t period_of(const struct weir__look *l) {
  struct weir__sweep *sweep = &l->pool->sweep;
  if (sweep->drawn == 0) {
    sweep->drawn = 1 + (uint32_t)(weir__random() % WEIR_SWEEP_STEPS);
  }
  return weir__sweep_period(l->set->idle_expiry == WEIR_EXPIRY_ENFORCED,
                            l->set->idle_timeout_ns, sweep->drawn - 1);
}

static uint32_t count_old(const struct weir__look *l, uint64_t before) {
  uint32_t n = weir__load_acquire_u32(&l->pool->n_slots);
  uint32_t old = 0;
  for (uint32_t i = 0; i < n; i++) {
    const struct weir__slot *slot = weir__pool_slot(l->pool, i);
    old +=
        weir__slot_state(weir__load_seq_u64(&slot->word)) == WEIR_SLOT_IDLE &&
        weir__load_relaxed_u64(&slot->idle_since) < before;
  }
  return old;
}

/* Those that are left over, the reactor's other work being done in between. */
static void close_old(struct weir__look *l) {
  struct weir__sweep *sweep = &l->pool->sweep;
  if (sweep->before == 0) {
    return;
  }
  uint32_t old = l->waiting == 0 ? count_old(l, sweep->before) : 0;
  if (weir__look_close_oldest(l, old) < old && weir__look_is_spare(l)) {
    weir__look_no_later(l, l->now);
  } else {
    sweep->before = 0;
  }
}

static void disarm(struct weir__pool *pool) {
  pool->noted_at = 0;
  pool->sweep.swept = false;
  pool->sweep.before = 0;
}

static void look(struct weir__look *l) {
  struct weir__pool *pool = l->pool;
  uint64_t period = period_of(l);
  if (period == WEIR_NEVER || !weir__look_may_spare(l)) {
    disarm(pool);
    return;
  }
  if (pool->noted_at == 0) {
    pool->noted_at = l->now;
  } else if (l->now >= weir__clock_add(pool->noted_at, period)) {
    /* To the first one all is young. */
    pool->sweep.before = pool->sweep.swept ? pool->noted_at : 0;
    pool->sweep.swept = true;
    pool->noted_at = l->now;
  }
  close_old(l);
  if (weir__look_may_spare(l)) {
    weir__look_no_later(l, weir__clock_add(pool->noted_at, period));
  } else {
    disarm(pool); /* at its minimum now */
  }
}

const struct weir__trim_policy weir__trim_by_sweep = {
    .name = "sweep",
    .falls = false,
    .rations = false,
    .look = look,
};
