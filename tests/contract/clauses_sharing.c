/* SPDX-License-Identifier: MIT */
/* clauses_sharing.c - what one pool gives up serves who waits for another of the same
 * endpoint (P3); limits as the server sees them (P1); an end in every state (P10). */
#include <stddef.h>
#include <string.h>

#include "contract.h"
#include "fixture.h"

#define SHARED "Max Pool Size=2;Endpoint Max Connections=1;"

/* Time for trims of every kind, and for who waits to look again. */
static void pass_until_back(struct contract *c,
                            struct contract_caller *caller) {
  for (unsigned i = 0; i < 600 && atomic_load(&caller->back) == 0; i++) {
    contract_pass(c, CONTRACT_S / 2);
  }
}

/* The endpoint's only place is held by an idle connection of the first pool, which
 * gives it up in some way. */
static void gives_up(struct contract *c,
                     const char *settings,
                     int32_t (*how)(weir_h pool)) {
  struct contract_caller waiter;
  weir_h holder = contract_pool(c, SHARED "%s", settings);
  weir_h other = contract_pool(c, SHARED);
  contract_release(c, contract_acquire(c, holder));
  contract_call(c, &waiter, other, 10 * CONTRACT_LONG, 1);
  if (how != NULL) {
    CONTRACT(c, how(holder) == WEIR_OK);
  }
  pass_until_back(c, &waiter);
  CONTRACT(c, atomic_load(&waiter.back) != 0);
  CONTRACT(c, contract_join(&waiter) == WEIR_OK);
  CONTRACT(c, fixture_counts(c->alone).sessions_max == 1);
  contract_release(c, waiter.lease);
  contract_close(c, other);
  if (how != weir_pool_close) {
    contract_close(c, holder);
  }
}

static void by_expiry(struct contract *c) {
  gives_up(c, "Idle Expiry=enforced;Connection Idle Timeout=20", NULL);
}

static void by_age(struct contract *c) {
  gives_up(c, "Connection Lifetime=20", NULL);
}

static void by_clear(struct contract *c) {
  gives_up(c, "", weir_pool_clear);
}

static void by_close(struct contract *c) {
  gives_up(c, "", weir_pool_close);
}

/* A permit to connect that hangs is given back when its time is over. */
static void a_permit_comes_back(struct contract *c) {
  struct contract_caller hangs;
  struct contract_caller waiter;
  weir_h first = contract_pool(
      c, "Max Concurrent Connects=1;Connect Timeout=10;Pool Blocking Period="
         "never;Mock Script Text='connect: hang'");
  weir_h other = contract_pool(c, "Max Concurrent Connects=1");
  contract_call(c, &hangs, first, 10 * CONTRACT_S, 1);
  contract_call(c, &waiter, other, CONTRACT_LONG, 1);
  pass_until_back(c, &hangs);
  CONTRACT(c, contract_join(&hangs) != WEIR_OK);
  pass_until_back(c, &waiter);
  CONTRACT(c, contract_join(&waiter) == WEIR_OK);
  contract_release(c, waiter.lease);
  contract_close(c, first);
  contract_close(c, other);
}

/* P1, by the server's own count, while places change hands. */
static void the_server_sees_no_more(struct contract *c) {
  struct contract_caller callers[6];
  weir_h pool = contract_pool(c, "Max Pool Size=2;Mock Connect Delay=1ms;"
                                 "Close Timeout=1;Mock Script Text='logout "
                                 "every 2: delay 5ms'");
  for (unsigned round = 0; round < 5; round++) {
    for (unsigned i = 0; i < 6; i++) {
      contract_call(c, &callers[i], pool, CONTRACT_LONG, 0);
      if (i == 2) {
        CONTRACT(c, weir_pool_clear(pool) == WEIR_OK);
      }
    }
    for (unsigned served = 0; served < 6;) {
      contract_pass(c, CONTRACT_MS);
      for (unsigned i = 0; i < 6; i++) {
        if (atomic_exchange(&callers[i].back, 0) != 0) {
          CONTRACT(c, contract_join(&callers[i]) == WEIR_OK);
          int rc = i % 2 == 0 ? weir_discard(callers[i].lease)
                              : weir_release(callers[i].lease);
          CONTRACT(c, rc == WEIR_OK);
          served++;
        }
      }
    }
  }
  CONTRACT(c, fixture_counts(c->alone).sessions_max <= 2);
  contract_close(c, pool);
}

/* A connection in the state that the script and the statement put it in, when the
 * engine is shut down at once.  fixture_close() demands that nothing is left. */
static void end_in(struct contract *c, const char *settings, const char *sql) {
  weir_h pool = contract_pool(c, "Max Pool Size=2;%s", settings);
  weir_h lease = contract_acquire(c, pool);
  if (sql != NULL) {
    CONTRACT(c, weir_exec(lease, sql, strlen(sql), NULL, &c->err) == WEIR_OK);
  }
  fixture_close(c->alone);
  CONTRACT(c, weir_release(lease) == WEIR_E_HANDLE);
  fixture_open_virtual(c->alone);
  c->engine = c->alone->engine;
}

static void it_ends_in_every_state(struct contract *c) {
  end_in(c, "", NULL);
  end_in(c, "", "rows 1000000");
  end_in(c, "Min Pool Size=2;Mock Script Text='connect 2-: hang'", NULL);
  end_in(c, "Close Timeout=9;Mock Script Text='logout: hang'", NULL);
}

static void it_ends_while_one_is_reset(struct contract *c) {
  weir_h pool = contract_pool(c, "Max Pool Size=1;Connection Reset=verified;"
                                 "Mock Script Text='reset: hang'");
  weir_h lease = contract_acquire(c, pool);
  CONTRACT(c, contract_run(c, lease, "set x") == WEIR_OK);
  contract_release(c, lease);
  CONTRACT_AWAIT(c, pool, leased, 0);
  fixture_close(c->alone);
  fixture_open_virtual(c->alone);
  c->engine = c->alone->engine;
}

static const struct contract_clause clauses[] = {
    {"serves who waits when another pool's connection expires", by_expiry,
     true},
    {"serves who waits when another pool's connection is too old", by_age,
     true},
    {"serves who waits when another pool is cleared", by_clear, true},
    {"serves who waits when another pool closes", by_close, true},
    {"serves who waits when a permit to connect comes back",
     a_permit_comes_back, true},
    {"has no more sessions than it may, by the server's count",
     the_server_sees_no_more, true},
    {"ends with its engine in every state", it_ends_in_every_state, true},
    {"ends with its engine during a reset", it_ends_while_one_is_reset, true},
};

const struct contract_clause *contract_sharing(size_t *out_n) {
  *out_n = sizeof clauses / sizeof clauses[0];
  return clauses;
}
