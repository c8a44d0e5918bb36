/* SPDX-License-Identifier: MIT */
/* failure_breaker.c - the endpoint's breaker says when to try again, and those who wait
 * stay in line; what no other attempt can mend they are told at once. */
#include <stddef.h>

#include "cause.h"
#include "endpoint.h"
#include "growth.h"
#include "policy.h"
#include "pool.h"
#include "sys/clock.h"

/* After a permanent failure: one attempt in so long, and none without a caller,
 * until one succeeds or the pool is cleared: accounts get locked. */
#define BARRED_NS WEIR_NS_PER_S

static bool never(const struct weir__pool *pool) {
  return weir__pool_settings(pool)->blocking_period == WEIR_BLOCKING_NEVER;
}

/* A connect was refused for good, and callers are told so again for a while. */
static bool is_barred(const struct weir__pool *pool) {
  return pool->growth.barred != NULL && !never(pool);
}

static void rest(struct weir__pool *pool, uint64_t now) {
  pool->growth.barred_until = weir__clock_add(now, BARRED_NS);
}

static bool allows(struct weir__pool *pool, uint64_t now, uint64_t *out_at) {
  if (is_barred(pool) &&
      (pool->n_connecting != 0 || now < pool->growth.barred_until)) {
    *out_at = WEIR_NEVER; /* the end of one looks again; nobody waits for it */
    return false;
  }
  return true;
}

static void begun(struct weir__pool *pool, uint64_t now) {
  if (pool->growth.barred != NULL) {
    rest(pool, now);
  }
}

static void dropped(struct weir__pool *pool, uint64_t when) {
  (void)pool;
  (void)when;
}

static bool refuses(struct weir__pool *pool,
                    uint64_t now,
                    bool comes,
                    struct weir__cause **out_cause) {
  const struct weir__growth *g = &pool->growth;
  if (comes) {
    return false; /* into line: it is looked at there */
  }
  if (is_barred(pool) && pool->n_connecting == 0) {
    uint64_t wait = g->barred_until > now ? g->barred_until - now : 0;
    *out_cause = weir__cause_again(g->barred, wait);
    return true;
  }
  if (g->refused && weir__growth_is_hasty(pool)) {
    *out_cause = weir__endpoint_down(pool, now);
    return true;
  }
  return false;
}

static struct weir__failure_verdict judge(struct weir__pool *pool,
                                          enum weir__class class,
                                          struct weir__cause *cause,
                                          uint64_t when)
    WEIR_REQUIRES(pool->mu) {
  (void)when;
  if (class == WEIR_CLASS_PERMANENT) {
    weir__growth_bar_locked(pool, cause);
    rest(pool, weir__clock_now());
  }
  bool hasty = weir__growth_is_hasty(pool);
  bool down = class == WEIR_CLASS_UNREACHABLE || class == WEIR_CLASS_ROLE;
  bool passes = down || class == WEIR_CLASS_OVERLOADED;
  return (struct weir__failure_verdict){
      .stay = passes && !never(pool) && !hasty,
      .all = class == WEIR_CLASS_PERMANENT || (down && hasty && !never(pool)),
  };
}

static void mended(struct weir__pool *pool) WEIR_REQUIRES(pool->mu) {
  weir__growth_unbar_locked(pool);
}

static uint64_t blocked_ns(const struct weir__pool *pool, uint64_t now) {
  const struct weir__growth *g = &pool->growth;
  return is_barred(pool) && g->barred_until > now ? g->barred_until - now : 0;
}

const struct weir__failure_policy weir__failure_breaker = {
    .name = "breaker",
    .breaker = true,
    .allows = allows,
    .begun = begun,
    .dropped = dropped,
    .refuses = refuses,
    .judge = judge,
    .mended = mended,
    .blocked_ns = blocked_ns,
};
