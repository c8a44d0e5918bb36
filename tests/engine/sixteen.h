/* SPDX-License-Identifier: MIT */
/* sixteen.h - SqlClient's sixteen counters as a test tells them: six numbers, and
 * the others follow. */
#ifndef WEIR_TEST_SIXTEEN_H
#define WEIR_TEST_SIXTEEN_H

#include <stdint.h>

#include "weir.h"

struct sixteen {
  uint64_t hard;
  uint64_t hard_over;
  uint64_t soft;
  uint64_t soft_over;
  uint64_t pooled;
  uint64_t free;
};

/* Of an engine with one pool: what is active is derived, and those that are not
 * named are 0. */
static inline struct weir_counters sixteen_of(const struct sixteen *w) {
  return (struct weir_counters){
      .struct_size = sizeof(struct weir_counters),
      .active_hard_connections = w->hard - w->hard_over,
      .hard_connects = w->hard,
      .hard_disconnects = w->hard_over,
      .active_soft_connects = w->soft - w->soft_over,
      .soft_connects = w->soft,
      .soft_disconnects = w->soft_over,
      .number_of_pooled_connections = w->pooled,
      .number_of_active_connection_pool_groups = 1,
      .number_of_active_connection_pools = 1,
      .number_of_active_connections = w->soft - w->soft_over,
      .number_of_free_connections = w->free,
  };
}

#endif
