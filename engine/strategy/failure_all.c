/* SPDX-License-Identifier: MIT */
/* failure_all.c - when a connect fails all who wait fail, too, and for a while whoever
 * comes. */
#include "failure_period.h"
#include "policy.h"

static bool refuses(struct weir__pool *pool,
                    uint64_t now,
                    bool comes,
                    struct weir__cause **out_cause) {
  (void)comes;
  return weir__period_refuses(pool, now, out_cause);
}

static struct weir__failure_verdict judge(struct weir__pool *pool,
                                          enum weir__class class,
                                          struct weir__cause *cause,
                                          uint64_t begun)
    WEIR_REQUIRES(pool->mu) {
  uint64_t left = weir__period_failed(pool, class, cause, begun);
  return (struct weir__failure_verdict){.all = weir__period_tells(pool, cause),
                                        .again_ns = left};
}

const struct weir__failure_policy weir__failure_all = {
    .name = "all",
    .breaker = false,
    .allows = weir__period_allows,
    .begun = weir__period_begun,
    .dropped = weir__period_dropped,
    .refuses = refuses,
    .judge = judge,
    .mended = weir__period_mended,
    .blocked_ns = weir__period_left,
};
