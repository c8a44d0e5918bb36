/* SPDX-License-Identifier: MIT */
/* trim_peak.c - what is beyond the peak of the last Connection Idle Timeout is surplus,
 * and a fifth of it goes with each note (trim.h). */
#include "policy.h"
#include "sys/clock.h"
#include "trim.h"
#include "upkeep_look.h"

/* One note, if it is time, and what follows from it. */
static void look(struct weir__look *l) {
  struct weir__pool *pool = l->pool;
  uint64_t step = weir__trim_step(l->set->idle_timeout_ns);
  if (l->set->idle_timeout_ns == WEIR_NEVER || !weir__look_may_spare(l)) {
    weir__trim_reset(&pool->trim); /* what is noted now would not be later */
    pool->noted_at = 0;
    weir__store_relaxed_u32(&pool->idle.packed, 0);
    return;
  }
  uint64_t due = weir__clock_add(pool->noted_at, step);
  if (pool->noted_at != 0 && l->now < due) {
    weir__look_no_later(l, due);
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
    weir__look_close_oldest(l, weir__trim_count(l->open, keep > UINT32_MAX
                                                             ? UINT32_MAX
                                                             : (uint32_t)keep));
  }
  weir__look_no_later(l, weir__clock_add(l->now, step));
}

const struct weir__trim_policy weir__trim_by_peak = {
    .name = "peak",
    .falls = false,
    .rations = true,
    .look = look,
};
