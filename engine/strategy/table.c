/* SPDX-License-Identifier: MIT */
/* table.c - strategies and policies by the index of their setting's choice. */
#include <stddef.h>
#include <string.h>

#include "policy.h"
#include "settings.h"
#include "strategy.h"

static const struct weir__strategy *const strategies[] = {
    [WEIR_STRATEGY_DIRECT] = &weir__strategy_direct,
    [WEIR_STRATEGY_LEGACY] = &weir__strategy_legacy,
    [WEIR_STRATEGY_CHANNEL] = &weir__strategy_channel,
};

const struct weir__strategy *weir__strategy_find(uint32_t kind) {
  return strategies[kind];
}

const char *weir__strategy_default(uint32_t kind, const char *setting) {
  const struct weir__strategy *strategy = strategies[kind];
  for (uint32_t i = 0; i < strategy->n; i++) {
    if (strcmp(strategy->presets[i].setting, setting) == 0) {
      return strategy->presets[i].value;
    }
  }
  return NULL;
}

static const struct weir__idle_policy *const idle[] = {
    [WEIR_IDLE_AFFINITY] = &weir__idle_affinity,
    [WEIR_IDLE_LIFO] = &weir__idle_lifo,
    [WEIR_IDLE_FIFO] = &weir__idle_fifo,
};

static const struct weir__growth_policy *const growth[] = {
    [WEIR_GROWTH_ADAPTIVE] = &weir__growth_adaptive,
    [WEIR_GROWTH_SERIAL] = &weir__growth_serial,
    [WEIR_GROWTH_PARALLEL] = &weir__growth_parallel,
};

static const struct weir__handoff_policy *const handoff[] = {
    [WEIR_HANDOFF_BOUNDED] = &weir__handoff_bounded,
    [WEIR_HANDOFF_DIRECT] = &weir__handoff_direct,
    [WEIR_HANDOFF_BARGING] = &weir__handoff_barging,
    [WEIR_HANDOFF_QUEUED] = &weir__handoff_queued,
};

static const struct weir__trim_policy *const trim[] = {
    [WEIR_TRIM_PEAK] = &weir__trim_by_peak,
    [WEIR_TRIM_SWEEP] = &weir__trim_by_sweep,
    [WEIR_TRIM_MEDIAN] = &weir__trim_by_median,
};

static const struct weir__failure_policy *const failure[] = {
    [WEIR_FAILURE_BREAKER] = &weir__failure_breaker,
    [WEIR_FAILURE_ALL] = &weir__failure_all,
    [WEIR_FAILURE_ONE] = &weir__failure_one,
};

static const struct weir__async_policy *const async[] = {
    [WEIR_ASYNC_QUEUE] = &weir__async_queue,
    [WEIR_ASYNC_DISPATCHER] = &weir__async_dispatcher,
};

/* Without Pooling nobody waits for another's connect: SqlClient has no pool then. */
static void leave_alone(struct weir__policies *p) {
  if (p->growth == &weir__growth_serial) {
    p->growth = &weir__growth_parallel;
  }
  p->async = &weir__async_queue;
}

struct weir__policies weir__policies_of(const struct weir__settings *set) {
  struct weir__policies p = {
      .idle = idle[set->idle_order],
      .growth = growth[set->growth],
      .handoff = handoff[set->handoff],
      .trim = trim[set->trim],
      .failure = failure[set->failure],
      .async = async[set->async],
  };
  if (!set->pooling) {
    leave_alone(&p);
  }
  return p;
}
