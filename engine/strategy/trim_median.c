/* SPDX-License-Identifier: MIT */
/* trim_median.c - as many as lay idle in the middle sample of a window are too many,
 * and go, the longest idle first (median.h). */
#include <stddef.h>

#include "policy.h"
#include "sys/clock.h"
#include "sys/mem.h"
#include "trim.h"
#include "upkeep_look.h"

static bool is_wanted(const struct weir__settings *set) {
  return set->min_pool_size < set->max_pool_size &&
         set->idle_timeout_ns != WEIR_NEVER;
}

/* A pool that nothing can be taken from has no samples and no memory for them. */
static void disarm(struct weir__pool *pool) {
  weir__mem_free(pool->median.sample);
  pool->median = (struct weir__median){.sample = NULL};
  pool->noted_at = 0;
}

static void arm(struct weir__look *l, const struct weir__median_plan *plan) {
  disarm(l->pool);
  l->pool->median.plan = *plan;
  l->pool->noted_at = l->now;
}

static bool is_armed(const struct weir__pool *pool,
                     const struct weir__median_plan *plan) {
  const struct weir__median_plan *have = &pool->median.plan;
  return pool->noted_at != 0 && have->interval_ns == plan->interval_ns &&
         have->samples == plan->samples;
}

/* Without memory there is no sample, and the next is tried again. */
static void sample(struct weir__look *l) {
  struct weir__median *median = &l->pool->median;
  if (median->sample == NULL) {
    median->sample =
        weir__mem_array(median->plan.samples, sizeof *median->sample);
  }
  uint32_t middle = 0;
  if (median->sample != NULL && weir__median_note(median, l->idle, &middle)) {
    median->surplus = middle;
  }
}

/* What one look does not close the next one does, the reactor's other work being
 * done in between. */
static void close_surplus(struct weir__look *l) {
  struct weir__median *median = &l->pool->median;
  if (median->surplus == 0) {
    return;
  }
  uint32_t done = l->waiting == 0 && weir__look_is_spare(l)
                      ? weir__look_close_oldest(l, median->surplus)
                      : 0;
  median->surplus -= done;
  if (done == WEIR_TRIM_MAX && median->surplus != 0) {
    weir__look_no_later(l, l->now);
  } else {
    median->surplus = 0;
  }
}

static void look(struct weir__look *l) {
  struct weir__pool *pool = l->pool;
  if (!is_wanted(l->set) || !weir__look_may_spare(l)) {
    disarm(pool);
    return;
  }
  const struct weir__median_plan plan =
      weir__median_plan(l->set->idle_timeout_ns);
  if (l->fell || !is_armed(pool, &plan)) {
    arm(l, &plan);
  } else if (l->now >= weir__clock_add(pool->noted_at, plan.interval_ns)) {
    pool->noted_at = l->now;
    sample(l);
  }
  close_surplus(l);
  weir__look_no_later(l, weir__clock_add(pool->noted_at, plan.interval_ns));
}

const struct weir__trim_policy weir__trim_by_median = {
    .name = "median",
    .falls = true,
    .rations = false,
    .look = look,
};
