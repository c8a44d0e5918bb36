/* SPDX-License-Identifier: MIT */
/* clauses_serving.c - whoever waits is served the moment that can be (P3), and each
 * acquire ends once (P4). */
#include "contract.h"

/* Every way of giving back what the pool's only place holds. */
static void serves(struct contract *c,
                   const char *settings,
                   const char *sql,
                   bool discard) {
  struct contract_caller waiter;
  weir_h pool = contract_pool(c, "Max Pool Size=1;%s", settings);
  weir_h lease = contract_acquire(c, pool);
  if (sql != NULL) {
    (void)contract_run(c, lease, sql);
  }
  contract_call(c, &waiter, pool, CONTRACT_LONG, 1);
  CONTRACT(c, (discard ? weir_discard(lease) : weir_release(lease)) == WEIR_OK);
  CONTRACT(c, contract_join(&waiter) == WEIR_OK);
  contract_release(c, waiter.lease);
  contract_close(c, pool);
}

static void when_one_comes_back(struct contract *c) {
  serves(c, "", NULL, false);
}

static void when_one_is_thrown_away(struct contract *c) {
  serves(c, "", NULL, true);
}

static void when_one_is_lost(struct contract *c) {
  serves(c, "", "kill", false);
}

static void when_one_needs_a_reset(struct contract *c) {
  serves(c, "Connection Reset=verified", "set x", false);
}

static void when_a_reset_fails(struct contract *c) {
  serves(c,
         "Connection Reset=verified;"
         "Mock Script Text='reset: fail conn network'",
         "set x", false);
}

static void when_one_is_used_up(struct contract *c) {
  serves(c, "Max Uses=1", NULL, false);
}

static void when_nothing_is_kept(struct contract *c) {
  serves(c, "Pooling=false", NULL, false);
}

static void when_it_is_cleared_meanwhile(struct contract *c) {
  struct contract_caller waiter;
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h lease = contract_acquire(c, pool);
  contract_call(c, &waiter, pool, CONTRACT_LONG, 1);
  CONTRACT(c, weir_pool_clear(pool) == WEIR_OK);
  contract_release(c, lease);
  CONTRACT(c, contract_join(&waiter) == WEIR_OK);
  contract_release(c, waiter.lease);
  contract_close(c, pool);
}

static void when_the_maximum_grows(struct contract *c) {
  struct contract_caller waiter;
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h lease = contract_acquire(c, pool);
  contract_call(c, &waiter, pool, CONTRACT_LONG, 1);
  CONTRACT(c, weir_pool_reconfigure(pool, "Max Pool Size=2", 15, &c->err) ==
                  WEIR_OK);
  if (c->alone != NULL) { /* what it predicts may be wrong for so long */
    for (int i = 0; i < 100 && atomic_load(&waiter.back) == 0; i++) {
      contract_pass(c, 100 * CONTRACT_MS);
    }
  }
  CONTRACT(c, contract_join(&waiter) == WEIR_OK);
  contract_release(c, lease);
  contract_release(c, waiter.lease);
  contract_close(c, pool);
}

/* Each of them once, whoever comes first. */
static void all_of_them_whether_they_block_or_not(struct contract *c) {
  struct contract_caller blocking[3];
  weir_h queue = contract_queue(c);
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h lease = contract_acquire(c, pool);
  unsigned seen = 0;
  for (unsigned i = 0; i < 3; i++) {
    (void)contract_submit(c, pool, queue, CONTRACT_LONG, i);
    contract_call(c, &blocking[i], pool, CONTRACT_LONG, 2 * i + 2);
  }
  CONTRACT(c, contract_stats(c, pool).waiters == 6);
  contract_release(c, lease);
  for (unsigned served = 0; served < 6;) {
    struct weir_completion done = {.struct_size = sizeof done};
    if (weir_queue_take(queue, 0, &done, NULL) == WEIR_OK) {
      CONTRACT(c, done.status == WEIR_OK && (seen & 1u << done.user) == 0);
      seen |= 1u << done.user;
      contract_release(c, done.lease);
      served++;
    }
    for (unsigned i = 0; i < 3; i++) {
      if (atomic_exchange(&blocking[i].back, 0) != 0) {
        CONTRACT(c, contract_join(&blocking[i]) == WEIR_OK);
        contract_release(c, blocking[i].lease);
        served++;
      }
    }
  }
  CONTRACT(c, contract_stats(c, pool).waiters == 0);
  CONTRACT(c, weir_queue_close(queue) == WEIR_OK);
  contract_close(c, pool);
}

/* The next in line has the turn of one who leaves. */
static void the_next_when_one_is_cancelled(struct contract *c) {
  weir_h queue = contract_queue(c);
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h lease = contract_acquire(c, pool);
  weir_h first = contract_submit(c, pool, queue, CONTRACT_LONG, 1);
  (void)contract_submit(c, pool, queue, CONTRACT_LONG, 2);
  CONTRACT(c, weir_op_cancel(first) == WEIR_OK);
  struct weir_completion done = contract_take(c, queue);
  CONTRACT(c, done.user == 1 && done.status == WEIR_E_CANCELLED);
  contract_release(c, lease);
  done = contract_take(c, queue);
  CONTRACT(c, done.user == 2 && done.status == WEIR_OK);
  CONTRACT(c, weir_op_cancel(first) != WEIR_OK ||
                  contract_stats(c, pool).cancelled == 1);
  contract_release(c, done.lease);
  CONTRACT(c, weir_queue_close(queue) == WEIR_OK);
  contract_close(c, pool);
}

/* A connect fails: each caller is served or told; none waits for ever. */
static void or_told_when_a_connect_fails(struct contract *c) {
  struct contract_caller callers[3];
  weir_h pool =
      contract_pool(c, "Max Pool Size=1;Mock Script Text='connect 1: fail "
                       "endpoint network ''connection refused'''");
  for (unsigned i = 0; i < 3; i++) {
    contract_call(c, &callers[i], pool, CONTRACT_LONG, i + 1);
  }
  unsigned served = 0;
  for (int k = 0; served < 3; k++) {
    for (unsigned i = 0; i < 3; i++) {
      if (atomic_exchange(&callers[i].back, 0) != 0) {
        (void)contract_join(&callers[i]);
        if (callers[i].rc == WEIR_OK) {
          contract_release(c, callers[i].lease);
        }
        served++;
      }
    }
    CONTRACT(c, c->alone == NULL || k < 1200); /* 12 s of its time */
    contract_pass(c, 10 * CONTRACT_MS);
  }
  contract_close(c, pool);
}

static const struct contract_clause clauses[] = {
    {"serves who waits when a connection comes back", when_one_comes_back, 0},
    {"serves who waits when one is thrown away", when_one_is_thrown_away, 0},
    {"serves who waits when one is lost", when_one_is_lost, 0},
    {"serves who waits when one needs a reset", when_one_needs_a_reset, 0},
    {"serves who waits when a reset fails", when_a_reset_fails, 0},
    {"serves who waits when one is used up", when_one_is_used_up, 0},
    {"serves who waits when nothing is kept", when_nothing_is_kept, 0},
    {"serves who waits when it is cleared", when_it_is_cleared_meanwhile, 0},
    {"serves who waits when the maximum grows", when_the_maximum_grows, 0},
    {"serves those who block and those who do not, each once",
     all_of_them_whether_they_block_or_not, 0},
    {"serves the next when one is cancelled", the_next_when_one_is_cancelled,
     0},
    {"serves or tells everybody when a connect fails",
     or_told_when_a_connect_fails, 0},
};

const struct contract_clause *contract_serving(size_t *out_n) {
  *out_n = sizeof clauses / sizeof clauses[0];
  return clauses;
}
