/* SPDX-License-Identifier: MIT */
/* handoff.c - who is next in line. */
#include "handoff.h"

#include <stddef.h>

#include "pool.h"
#include "waiter.h"

struct weir__waiter *weir__handoff_first(const struct weir__waiters *list,
                                         uint64_t now) {
  struct weir__waiter *w = list->first;
  while (w != NULL && w->deadline <= now) {
    w = w->next; /* its own thread is about to find out */
  }
  return w;
}

struct weir__waiter *weir__handoff_waiting(struct weir__pool *pool,
                                           uint64_t now) {
  return weir__handoff_first(&pool->waiting, now);
}

struct weir__waiter *weir__handoff_openers_last(struct weir__pool *pool,
                                                uint64_t now) {
  struct weir__waiter *w = weir__handoff_first(&pool->waiting, now);
  bool overall = weir__pool_settings(pool)->timeout_scope == WEIR_SCOPE_OVERALL;
  /* Who opens has the connect's own time else, whatever was left of the wait. */
  return w != NULL ? w : weir__handoff_first(&pool->driving, overall ? now : 0);
}
