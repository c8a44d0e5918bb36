/* SPDX-License-Identifier: MIT */
/* clauses_timing.c - what needs a clock that stands still, or an engine of its own. */
#include <stddef.h>

#include "contract.h"
#include "fixture.h"
#include "handle.h"
#include "pool.h"
#include "sys/clock.h"
#include "virtual_clock.h"

/* P5: not a nanosecond sooner or later, blocking or submitted. */
static void waits_end_on_time(struct contract *c) {
  struct contract_caller waiter;
  weir_h queue = contract_queue(c);
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h lease = contract_acquire(c, pool);
  uint64_t begun = weir__clock_now();
  contract_call(c, &waiter, pool, 100 * CONTRACT_MS, 1);
  (void)contract_submit(c, pool, queue, 100 * CONTRACT_MS, 1);
  (void)contract_submit(c, pool, queue, 100 * CONTRACT_MS, 2);
  contract_pass(c, 100 * CONTRACT_MS - 1);
  CONTRACT(c, atomic_load(&waiter.back) == 0);
  CONTRACT(c, contract_stats(c, pool).waiters == 3);
  contract_pass(c, 1);
  CONTRACT(c, contract_join(&waiter) == WEIR_E_TIMEOUT);
  CONTRACT(c, waiter.ended == begun + 100 * CONTRACT_MS);
  for (unsigned i = 0; i < 2; i++) {
    CONTRACT(c, contract_take(c, queue).status == WEIR_E_TIMEOUT);
  }
  CONTRACT(c, contract_stats(c, pool).timeouts == 3);
  contract_release(c, lease);
  CONTRACT(c, weir_queue_close(queue) == WEIR_OK);
  contract_close(c, pool);
}

/* P9. */
static void the_wall_clock_does_not_matter(struct contract *c) {
  struct contract_caller waiter;
  weir_h pool = contract_pool(c, "Max Pool Size=2;Connection Lifetime=1000");
  weir_h idle = contract_acquire(c, pool);
  weir_h lease = contract_acquire(c, pool);
  int64_t id = contract_session(c, idle);
  contract_call(c, &waiter, pool, CONTRACT_S, 1);
  virtual_clock_jump_wall(INT64_C(86400000) * 365);
  contract_pass(c, CONTRACT_MS);
  virtual_clock_jump_wall(INT64_C(-86400000) * 730);
  contract_pass(c, CONTRACT_MS);
  CONTRACT(c, atomic_load(&waiter.back) == 0);
  contract_release(c, idle);
  CONTRACT(c, contract_join(&waiter) == WEIR_OK);
  CONTRACT(c, contract_session(c, waiter.lease) == id);
  contract_release(c, waiter.lease);
  contract_release(c, lease);
  contract_close(c, pool);
}

static uint64_t calls_of(struct contract *c) {
  struct mock_counts n = fixture_counts(c->alone);
  uint64_t sum = 0;
  for (unsigned i = 0; i < MOCK_CALLS; i++) {
    sum += n.calls[i];
  }
  return sum;
}

/* P7: nor does an acquire within the Probe Window. */
static void an_unused_lease_calls_no_driver(struct contract *c) {
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  contract_release(c, contract_acquire(c, pool));
  fixture_sync(c->alone);
  uint64_t before = calls_of(c);
  for (unsigned i = 0; i < 100; i++) {
    contract_release(c, contract_acquire(c, pool));
  }
  CONTRACT(c, calls_of(c) == before);
  contract_close(c, pool);
}

static void limits_of_connects_serve_all(struct contract *c) {
  struct contract_caller callers[4];
  weir_h pool = contract_pool(c, "Max Pool Size=4;Max Concurrent Connects=1;"
                                 "Mock Connect Delay=10ms");
  for (unsigned i = 0; i < 4; i++) {
    contract_call(c, &callers[i], pool, CONTRACT_LONG, i + 1);
  }
  for (unsigned i = 0; i < 400 && contract_stats(c, pool).leased < 4; i++) {
    CONTRACT(c, contract_stats(c, pool).connecting <= 1);
    contract_pass(c, CONTRACT_MS);
  }
  for (unsigned i = 0; i < 4; i++) {
    CONTRACT(c, contract_join(&callers[i]) == WEIR_OK);
    contract_release(c, callers[i].lease);
  }
  contract_close(c, pool);
}

/* P3: the end of a blocking period, or of a breaker's pause. */
static void trouble_passes(struct contract *c) {
  weir_h lease = 0;
  weir_h pool =
      contract_pool(c, "Max Pool Size=2;Mock Script Text='connect 1-2: fail "
                       "endpoint network ''connection refused'''");
  struct contract_caller first;
  contract_call(c, &first, pool, CONTRACT_LONG, 1);
  for (unsigned i = 0; i < 300; i++) {
    contract_pass(c, 100 * CONTRACT_MS);
  }
  if (contract_join(&first) == WEIR_OK) {
    contract_release(c, first.lease);
  }
  if (weir_acquire(pool, 0, &lease, &c->err) != WEIR_OK) {
    /* The second failure, and the end of what follows it. */
    struct contract_caller second;
    contract_call(c, &second, pool, CONTRACT_LONG, 1);
    for (unsigned i = 0; i < 300; i++) {
      contract_pass(c, 100 * CONTRACT_MS);
    }
    if (contract_join(&second) == WEIR_OK) {
      contract_release(c, second.lease);
    }
    lease = contract_acquire(c, pool);
  }
  contract_release(c, lease);
  contract_close(c, pool);
}

static void a_life_has_an_end(struct contract *c) {
  weir_h pool = contract_pool(c, "Max Pool Size=1;Connection Lifetime=10");
  weir_h lease = contract_acquire(c, pool);
  int64_t id = contract_session(c, lease);
  contract_release(c, lease);
  for (unsigned i = 0; i < 9; i++) {
    contract_pass(c, 2 * CONTRACT_S);
  }
  lease = contract_acquire(c, pool);
  CONTRACT(c, contract_session(c, lease) != id);
  contract_release(c, lease);
  contract_close(c, pool);
}

/* P13: what nobody needs goes, down to the minimum, and then nothing is due. */
static void idleness_ends_and_rest_is_rest(struct contract *c) {
  weir_h leases[4];
  weir_h handle = contract_pool(c, "Max Pool Size=4;Idle Expiry=enforced;"
                                   "Connection Idle Timeout=20");
  const struct weir__pool *pool = weir__handle_find(handle, WEIR_TYPE_POOL);
  for (unsigned i = 0; i < 4; i++) {
    leases[i] = contract_acquire(c, handle);
  }
  for (unsigned i = 0; i < 4; i++) {
    contract_release(c, leases[i]);
  }
  for (unsigned i = 0; i < 200; i++) {
    contract_pass(c, CONTRACT_S);
  }
  CONTRACT_AWAIT(c, handle, empty, 4);
  fixture_sync(c->alone);
  CONTRACT(c, !weir__timer_set(&pool->tend_timer));
  contract_close(c, handle);
}

/* P10, P4: with leases, waits and connects under way. */
static void the_engine_ends_in_the_middle(struct contract *c) {
  struct contract_caller waiter;
  struct contract_caller opener;
  weir_h full = contract_pool(c, "Max Pool Size=1");
  weir_h opening =
      contract_pool(c, "Max Pool Size=2;Mock Script Text='connect: hang'");
  (void)contract_acquire(c, full);
  contract_call(c, &waiter, full, CONTRACT_LONG, 1);
  contract_call(c, &opener, opening, CONTRACT_LONG, 1);
  fixture_close(c->alone);
  CONTRACT(c, contract_join(&waiter) == WEIR_E_CLOSED);
  CONTRACT(c, contract_join(&opener) == WEIR_E_CLOSED);
  fixture_open_virtual(c->alone);
  c->engine = c->alone->engine;
}

static const struct contract_clause clauses[] = {
    {"ends each wait on time", waits_end_on_time, true},
    {"does not look at the wall clock", the_wall_clock_does_not_matter, true},
    {"calls no driver for a lease that runs nothing",
     an_unused_lease_calls_no_driver, true},
    {"serves all within a limit of connects", limits_of_connects_serve_all,
     true},
    {"opens again when trouble has passed", trouble_passes, true},
    {"ends a life", a_life_has_an_end, true},
    {"ends idleness, and then rests", idleness_ends_and_rest_is_rest, true},
    {"ends in the middle of everything", the_engine_ends_in_the_middle, true},
};

const struct contract_clause *contract_timing(size_t *out_n) {
  *out_n = sizeof clauses / sizeof clauses[0];
  return clauses;
}
