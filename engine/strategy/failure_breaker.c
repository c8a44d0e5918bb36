/* SPDX-License-Identifier: MIT */
/* failure_breaker.c - the endpoint's breaker says when to try again, and those who wait
 * stay in line; what no other attempt can mend they are told at once. */
#include <stddef.h>

#include "cause.h"
#include "growth.h"
#include "policy.h"
#include "pool.h"
#include "sys/clock.h"

#define BARRED_NS WEIR_NS_PER_S

/* No attempt without a caller, and at most one a second with one, until a connect
 * succeeds or the pool is cleared: accounts get locked. */
static void bar(struct weir__pool *pool, struct weir__cause *cause)
    WEIR_REQUIRES(pool->mu) {
  weir__cause_unref(pool->growth.barred);
  pool->growth.barred = weir__cause_ref(cause);
  pool->growth.barred_until = weir__clock_add(weir__clock_now(), BARRED_NS);
}

static struct weir__failure_verdict judge(struct weir__pool *pool,
                                          enum weir__class class,
                                          struct weir__cause *cause) {
  if (class == WEIR_CLASS_PERMANENT) {
    bar(pool, cause);
  }
  bool never =
      weir__pool_settings(pool)->blocking_period == WEIR_BLOCKING_NEVER;
  bool hasty = weir__growth_is_hasty(pool);
  bool down = class == WEIR_CLASS_UNREACHABLE || class == WEIR_CLASS_ROLE;
  bool passes = down || class == WEIR_CLASS_OVERLOADED;
  return (struct weir__failure_verdict){
      .stay = passes && !never && !hasty,
      .all = class == WEIR_CLASS_PERMANENT || (down && hasty && !never),
  };
}

static void mended(struct weir__pool *pool) {
  weir__cause_unref(pool->growth.barred);
  pool->growth.barred = NULL;
}

const struct weir__failure_policy weir__failure_breaker = {
    .name = "breaker",
    .breaker = true,
    .judge = judge,
    .mended = mended,
};
