/* SPDX-License-Identifier: MIT */
/* clauses_ending.c - how leases, waits and pools end. */
#include <string.h>

#include "contract.h"

static void a_lease_ends_once(struct contract *c) {
  weir_h pool = contract_pool(c, "Max Pool Size=2");
  weir_h lease = contract_acquire(c, pool);
  contract_release(c, lease);
  CONTRACT(c, weir_release(lease) == WEIR_E_HANDLE);
  CONTRACT(c, weir_discard(lease) == WEIR_E_HANDLE);
  CONTRACT(c, contract_run(c, lease, "session") == WEIR_E_HANDLE);
  weir_h next = contract_acquire(c, pool);
  CONTRACT(c, next != lease);
  CONTRACT(c, weir_release(lease) == WEIR_E_HANDLE);
  contract_release(c, next);
  contract_close(c, pool);
}

static void closing_tells_those_who_wait(struct contract *c) {
  struct contract_caller waiter;
  weir_h queue = contract_queue(c);
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h lease = contract_acquire(c, pool);
  contract_call(c, &waiter, pool, CONTRACT_LONG, 1);
  (void)contract_submit(c, pool, queue, CONTRACT_LONG, 7);
  (void)contract_submit(c, pool, queue, CONTRACT_LONG, 8);
  CONTRACT(c, weir_pool_close(pool) == WEIR_OK);
  CONTRACT(c, contract_join(&waiter) == WEIR_E_CLOSED);
  for (uint64_t user = 7; user <= 8; user++) {
    struct weir_completion done = contract_take(c, queue);
    CONTRACT(c, done.user == user && done.status == WEIR_E_CLOSED);
  }
  contract_release(c, lease);
  CONTRACT(c, weir_queue_close(queue) == WEIR_OK);
}

static void waits_are_bounded_in_number(struct contract *c) {
  struct contract_caller waiter;
  weir_h queue = contract_queue(c);
  weir_h pool = contract_pool(c, "Max Pool Size=1;Max Waiters=2");
  weir_h lease = contract_acquire(c, pool);
  weir_h more = 0;
  contract_call(c, &waiter, pool, CONTRACT_LONG, 1);
  (void)contract_submit(c, pool, queue, CONTRACT_LONG, 1);
  CONTRACT(c, weir_acquire(pool, CONTRACT_LONG, &more, &c->err) ==
                  WEIR_E_OVERLOADED);
  CONTRACT(c, weir_submit_acquire(pool, CONTRACT_LONG, queue, 2, &more, NULL,
                                  &c->err) == WEIR_E_OVERLOADED);
  contract_release(c, lease);
  struct weir_completion done = {.struct_size = sizeof done};
  for (unsigned served = 0; served < 2;) {
    if (weir_queue_take(queue, 0, &done, NULL) == WEIR_OK) {
      CONTRACT(c, done.status == WEIR_OK);
      contract_release(c, done.lease);
      served++;
    }
    if (atomic_exchange(&waiter.back, 0) != 0) {
      CONTRACT(c, contract_join(&waiter) == WEIR_OK);
      contract_release(c, waiter.lease);
      served++;
    }
  }
  CONTRACT(c, weir_queue_close(queue) == WEIR_OK);
  contract_close(c, pool);
}

static void a_wait_that_is_too_long_ends(struct contract *c) {
  weir_h lease = 0;
  weir_h pool = contract_pool(c, "Max Pool Size=1");
  weir_h held = contract_acquire(c, pool);
  CONTRACT(c, weir_acquire(pool, 0, &lease, &c->err) == WEIR_E_TIMEOUT);
  struct contract_caller waiter;
  contract_call(c, &waiter, pool, 20 * CONTRACT_MS, 1);
  contract_pass(c, 20 * CONTRACT_MS);
  CONTRACT(c, contract_join(&waiter) == WEIR_E_TIMEOUT);
  CONTRACT(c, strstr(waiter.err.message, "leased") != NULL);
  contract_release(c, held);
  CONTRACT_AWAIT(c, pool, idle, 1);
  CONTRACT(c, contract_stats(c, pool).waiters == 0);
  contract_close(c, pool);
}

static void draining_leaves_nothing(struct contract *c) {
  weir_h lease = 0;
  weir_h pool = contract_pool(c, "Max Pool Size=3;Min Pool Size=1");
  contract_release(c, contract_acquire(c, pool));
  CONTRACT(c, weir_pool_drain(pool, CONTRACT_LONG, &c->err) == WEIR_OK);
  CONTRACT_AWAIT(c, pool, empty, 3);
  CONTRACT(c,
           weir_acquire(pool, CONTRACT_LONG, &lease, &c->err) == WEIR_E_CLOSED);
  CONTRACT(c, weir_pool_resume(pool) == WEIR_OK);
  contract_release(c, contract_acquire(c, pool));
  contract_close(c, pool);
}

static void a_wrong_password_is_told_and_not_shown(struct contract *c) {
  weir_h lease = 0;
  weir_h pool =
      contract_pool(c, "Max Pool Size=2;User ID=u;Password=Pl4ntedSecr3t;"
                       "Mock Script Text='connect: password ''Oth3rSecr3t'''");
  for (unsigned i = 0; i < 3; i++) {
    int rc = weir_acquire(pool, CONTRACT_LONG, &lease, &c->err);
    CONTRACT(c, rc != WEIR_OK && rc != WEIR_E_TIMEOUT);
    CONTRACT(c, strstr(c->err.message, "Secr3t") == NULL);
  }
  char key[512];
  CONTRACT(c, weir_pool_key(pool, key, sizeof key, NULL) == WEIR_OK);
  CONTRACT(c, strstr(key, "Secr3t") == NULL);
  contract_close(c, pool);
}

static const struct contract_clause clauses[] = {
    {"ends a lease once", a_lease_ends_once, 0},
    {"tells those who wait that it closes", closing_tells_those_who_wait, 0},
    {"lets no more wait than it is told to", waits_are_bounded_in_number, 0},
    {"ends a wait that is too long, and says why", a_wait_that_is_too_long_ends,
     0},
    {"has nothing left when it is drained, and comes back",
     draining_leaves_nothing, 0},
    {"tells of a wrong password without showing it",
     a_wrong_password_is_told_and_not_shown, 0},
};

const struct contract_clause *contract_ending(size_t *out_n) {
  *out_n = sizeof clauses / sizeof clauses[0];
  return clauses;
}
