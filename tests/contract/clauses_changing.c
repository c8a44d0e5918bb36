/* SPDX-License-Identifier: MIT */
/* clauses_changing.c - clear, pause, and settings that change under load. */
#include <string.h>

#include "contract.h"

static void change(struct contract *c, weir_h pool, const char *text) {
  CONTRACT(c,
           weir_pool_reconfigure(pool, text, strlen(text), &c->err) == WEIR_OK);
}

/* Nothing that was opened before is leased after. */
static void clear_closes_what_is_idle(struct contract *c) {
  int64_t before[3];
  weir_h leases[3];
  weir_h pool = contract_pool(c, "Max Pool Size=3");
  for (unsigned i = 0; i < 3; i++) {
    leases[i] = contract_acquire(c, pool);
    before[i] = contract_session(c, leases[i]);
  }
  for (unsigned i = 0; i < 3; i++) {
    contract_release(c, leases[i]);
  }
  CONTRACT(c, weir_pool_clear(pool) == WEIR_OK);
  for (unsigned i = 0; i < 3; i++) {
    leases[i] = contract_acquire(c, pool);
    int64_t now = contract_session(c, leases[i]);
    CONTRACT(c, now != before[0] && now != before[1] && now != before[2]);
  }
  for (unsigned i = 0; i < 3; i++) {
    contract_release(c, leases[i]);
  }
  contract_close(c, pool);
}

static void clear_spares_a_lease(struct contract *c) {
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h lease = contract_acquire(c, pool);
  int64_t before = contract_session(c, lease);
  CONTRACT(c, weir_pool_clear(pool) == WEIR_OK);
  CONTRACT(c, contract_session(c, lease) == before);
  contract_release(c, lease);
  lease = contract_acquire(c, pool);
  CONTRACT(c, contract_session(c, lease) != before);
  contract_release(c, lease);
  contract_close(c, pool);
}

static void a_pause_serves_nobody(struct contract *c) {
  struct contract_caller waiter;
  weir_h queue = contract_queue(c);
  weir_h pool = contract_pool(c, "Max Pool Size=2");
  contract_release(c, contract_acquire(c, pool));
  CONTRACT_AWAIT(c, pool, idle, 1);
  CONTRACT(c, weir_pool_pause(pool) == WEIR_OK);
  contract_call(c, &waiter, pool, CONTRACT_LONG, 1);
  (void)contract_submit(c, pool, queue, CONTRACT_LONG, 3);
  contract_pass(c, CONTRACT_S);
  CONTRACT(c, atomic_load(&waiter.back) == 0);
  CONTRACT(c, contract_stats(c, pool).waiters == 2);
  CONTRACT(c, weir_pool_resume(pool) == WEIR_OK);
  CONTRACT(c, contract_join(&waiter) == WEIR_OK);
  contract_release(c, waiter.lease);
  struct weir_completion done = contract_take(c, queue);
  CONTRACT(c, done.status == WEIR_OK && done.user == 3);
  contract_release(c, done.lease);
  CONTRACT(c, weir_queue_close(queue) == WEIR_OK);
  contract_close(c, pool);
}

static void a_smaller_maximum_is_kept(struct contract *c) {
  weir_h leases[4];
  weir_h pool = contract_pool(c, "Max Pool Size=4");
  for (unsigned i = 0; i < 4; i++) {
    leases[i] = contract_acquire(c, pool);
  }
  change(c, pool, "Max Pool Size=2");
  for (unsigned i = 0; i < 4; i++) {
    contract_release(c, leases[i]);
  }
  CONTRACT_AWAIT(c, pool, idle, 2);
  CONTRACT_AWAIT(c, pool, empty, 0);
  contract_close(c, pool);
}

static void a_change_loses_nobody(struct contract *c) {
  struct contract_caller waiter;
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h lease = contract_acquire(c, pool);
  contract_call(c, &waiter, pool, CONTRACT_LONG, 1);
  change(c, pool,
         "Min Pool Size=1;Connection Lifetime=100;Connection Idle Timeout=50;"
         "Max Uses=1000;Connect Timeout=9;Probe Window=1 ms;Max Waiters=9;"
         "Handoff Bound=1 ms;Max Concurrent Connects=1;Connect Rate=100;"
         "Connect Burst=5;Close Timeout=2;Min Idle=1;Keepalive Interval=30");
  CONTRACT(c, contract_run(c, lease, "session") == WEIR_OK);
  CONTRACT(c, contract_stats(c, pool).waiters == 1);
  contract_release(c, lease);
  CONTRACT(c, contract_join(&waiter) == WEIR_OK);
  contract_release(c, waiter.lease);
  contract_close(c, pool);
}

static const struct contract_clause clauses[] = {
    {"leases nothing that was opened before a clear", clear_closes_what_is_idle,
     0},
    {"spares a lease when it is cleared, and closes it on return",
     clear_spares_a_lease, 0},
    {"serves nobody while it is paused, and all when it goes on",
     a_pause_serves_nobody, 0},
    {"comes down to a smaller maximum", a_smaller_maximum_is_kept, 0},
    {"loses nobody when its settings change", a_change_loses_nobody, 0},
};

const struct contract_clause *contract_changing(size_t *out_n) {
  *out_n = sizeof clauses / sizeof clauses[0];
  return clauses;
}
