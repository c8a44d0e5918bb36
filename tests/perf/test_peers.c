/* SPDX-License-Identifier: MIT */
/* The peers are pools: more callers than connections all get one, never two the
 * same (the simulated connection aborts then), and no more are opened than
 * allowed.  A plain program, for ThreadSanitizer. */
#include <string.h>

#include "check.h"
#include "crew.h"
#include "plan.h"

#define CALLERS 12u
#define PLACES  3u
#define ROUNDS  300u

static void take_and_give(struct worker *w) {
  for (unsigned i = 0; i < ROUNDS; i++) {
    uint64_t lease;
    if (worker_take(w, &lease)) {
      worker_give(w, lease);
    }
  }
}

static uint64_t run(const struct pool_kind *kind, void *pool) {
  struct worker workers[CALLERS];
  struct fault fault = {.set = false};
  struct crew crew;
  uint64_t done = 0;
  memset(workers, 0, sizeof workers);
  for (unsigned i = 0; i < CALLERS; i++) {
    workers[i].kind = kind;
    workers[i].pool = pool;
  }
  CHECK(crew_start(&crew, workers, CALLERS, &fault) == 0);
  crew_run(&crew, take_and_give);
  crew_stop(&crew);
  for (unsigned i = 0; i < CALLERS; i++) {
    CHECK(!workers[i].fault.set);
    done += workers[i].done;
  }
  return done;
}

static void serves_all(const struct plan_pool *p, bool pools) {
  const struct pool_config config = {.conninfo = "Driver=mock",
                                     .max_pool = PLACES};
  struct fault fault = {.set = false};
  struct pool_counts counts;
  void *pool;
  int rc = p->kind->open(&config, &pool, &fault);
  CHECK(rc == 0);
  if (rc != 0) {
    (void)fprintf(stderr, "%s: %s\n", p->name, fault.text);
    return;
  }
  CHECK(run(p->kind, pool) == CALLERS * ROUNDS);
  p->kind->count(pool, &counts);
  CHECK(!pools || (counts.connects >= 1 && counts.connects <= PLACES));
  CHECK(p->kind->renew(pool, &fault) == 0);
  CHECK(run(p->kind, pool) == CALLERS * ROUNDS);
  p->kind->count(pool, &counts);
  CHECK(!pools || (counts.connects >= 2 && counts.connects <= 2 * PLACES));
  CHECK(counts.timeouts == 0);
  p->kind->close(pool);
}

int main(void) {
  for (uint32_t i = 0; i < POOLS; i++) {
    if (plan_pools[i].kind != NULL && i != POOL_WEIR_AGAIN) {
      serves_all(&plan_pools[i], i != POOL_NONE);
    }
  }
  return check_summary();
}
