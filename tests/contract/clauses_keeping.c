/* SPDX-License-Identifier: MIT */
/* clauses_keeping.c - limits and counts that hold at every moment, and what a
 * connection remembers. */
#include <string.h>

#include "contract.h"

#define WORKERS 4
#define ROUNDS  40

struct worker {
  pthread_t thread;
  struct contract *c;
  weir_h pool;
  _Atomic unsigned *held; /* leases that are out */
  unsigned most;
};

static void *work(void *arg) {
  struct worker *w = arg;
  for (unsigned i = 0; i < ROUNDS; i++) {
    weir_h lease = 0;
    struct weir_error err = {.struct_size = sizeof err};
    if (weir_acquire(w->pool, CONTRACT_LONG, &lease, &err) != WEIR_OK) {
      contract_broken(w->c, err.message);
    }
    unsigned now = atomic_fetch_add(w->held, 1) + 1;
    w->most = now > w->most ? now : w->most;
    (void)atomic_fetch_sub(w->held, 1);
    int rc = i % 8 == 7 ? weir_discard(lease) : weir_release(lease);
    CONTRACT(w->c, rc == WEIR_OK);
  }
  return NULL;
}

static uint32_t sessions(const struct weir_pool_stats *s) {
  return s->connecting + s->idle + s->leased + s->reserved + s->parked +
         s->stasis + s->closing;
}

/* P1, P8, P2: at every snapshot, while four threads acquire and release. */
static void the_census_adds_up(struct contract *c) {
  struct worker workers[WORKERS];
  _Atomic unsigned held = 0;
  weir_h pool = contract_pool(c, "Max Pool Size=2");
  for (unsigned i = 0; i < WORKERS; i++) {
    workers[i] = (struct worker){.c = c, .pool = pool, .held = &held};
    CONTRACT(c,
             pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
  }
  struct weir_pool_stats s;
  do {
    s = contract_stats(c, pool);
    CONTRACT(c, sessions(&s) <= 2);
    CONTRACT(c, s.empty + sessions(&s) == 2);
    CONTRACT(c, s.waiters <= WORKERS);
    contract_pass(c, CONTRACT_MS);
  } while (s.acquired < WORKERS * ROUNDS);
  for (unsigned i = 0; i < WORKERS; i++) {
    (void)pthread_join(workers[i].thread, NULL);
    CONTRACT(c, workers[i].most <= 2);
  }
  CONTRACT_AWAIT(c, pool, leased, 0);
  CONTRACT_AWAIT(c, pool, closing, 0);
  struct weir_counters n = {.struct_size = sizeof n};
  CONTRACT(c, weir_pool_counters(pool, &n) == WEIR_OK);
  CONTRACT(c, n.soft_connects == WORKERS * ROUNDS);
  CONTRACT(c, n.soft_disconnects == n.soft_connects);
  CONTRACT(c, n.active_soft_connects == 0);
  CONTRACT(c,
           n.active_hard_connections == n.hard_connects - n.hard_disconnects);
  CONTRACT(c, n.number_of_active_connections == 0);
  contract_close(c, pool);
}

static void each_lease_has_a_session_of_its_own(struct contract *c) {
  weir_h leases[8];
  int64_t ids[8];
  weir_h pool = contract_pool(c, "Max Pool Size=8");
  for (unsigned i = 0; i < 8; i++) {
    leases[i] = contract_acquire(c, pool);
    ids[i] = contract_session(c, leases[i]);
    for (unsigned k = 0; k < i; k++) {
      CONTRACT(c, leases[i] != leases[k] && ids[i] != ids[k]);
    }
  }
  CONTRACT(c, contract_stats(c, pool).connects_begun == 8);
  for (unsigned i = 0; i < 8; i++) {
    contract_release(c, leases[i]);
  }
  CONTRACT_AWAIT(c, pool, idle, 8);
  contract_release(c, contract_acquire(c, pool));
  CONTRACT(c, contract_stats(c, pool).connects_begun == 8);
  contract_close(c, pool);
}

/* A session that remembers nothing says NULL. */
static bool says(const struct weir_cell *cell, const char *expected) {
  size_t n = strlen(expected);
  return n == 0 ? cell->p == NULL
                : cell->n == n && memcmp(cell->p, expected, n) == 0;
}

/* The first cell of what the mock says of its session. */
static void check_state(struct contract *c,
                        weir_h lease,
                        const char *expected) {
  struct weir_item item = {.struct_size = sizeof item};
  bool told = false;
  CONTRACT(c, weir_exec(lease, "show", 4, NULL, &c->err) == WEIR_OK);
  do {
    CONTRACT(c, weir_next(lease, &item, &c->err) == WEIR_OK);
    if (item.type == WEIR_ITEM_ROWS) {
      told = item.n_columns != 0 && says(&item.cells[0], expected);
      CONTRACT(c, weir_rows_free(item.rows) == WEIR_OK);
    }
  } while (item.type != WEIR_ITEM_DONE);
  CONTRACT(c, told);
}

static void nothing_of_a_user_reaches_the_next(struct contract *c) {
  static const char *const resets[] = {"lazy", "verified"};
  for (unsigned i = 0; i < 2; i++) {
    weir_h pool =
        contract_pool(c, "Max Pool Size=1;Connection Reset=%s", resets[i]);
    weir_h lease = contract_acquire(c, pool);
    int64_t id = contract_session(c, lease);
    CONTRACT(c, contract_run(c, lease, "set mine") == WEIR_OK);
    check_state(c, lease, "mine");
    contract_release(c, lease);
    lease = contract_acquire(c, pool);
    check_state(c, lease, "");
    CONTRACT(c, contract_session(c, lease) == id);
    contract_release(c, lease);
    contract_close(c, pool);
  }
}

static void session_init_runs_for_each_user(struct contract *c) {
  weir_h pool = contract_pool(c, "Max Pool Size=1;Session Init='set start'");
  for (unsigned i = 0; i < 3; i++) {
    weir_h lease = contract_acquire(c, pool);
    check_state(c, lease, "start");
    CONTRACT(c, contract_run(c, lease, "set other") == WEIR_OK);
    contract_release(c, lease);
  }
  contract_close(c, pool);
}

static void the_minimum_is_filled(struct contract *c) {
  weir_h pool = contract_pool(c, "Min Pool Size=4;Max Pool Size=6");
  for (int i = 0; c->alone != NULL && i < 20; i++) {
    contract_pass(c, 10 * CONTRACT_MS);
  }
  CONTRACT_AWAIT(c, pool, idle, 4);
  weir_h lease = contract_acquire(c, pool);
  CONTRACT(c, weir_discard(lease) == WEIR_OK);
  for (int i = 0; c->alone != NULL && i < 20; i++) {
    contract_pass(c, 100 * CONTRACT_MS);
  }
  CONTRACT_AWAIT(c, pool, idle, 4);
  CONTRACT(c, contract_stats(c, pool).connects_begun == 5);
  contract_close(c, pool);
}

static void some_are_kept_ready(struct contract *c) {
  weir_h leases[3];
  weir_h pool = contract_pool(c, "Min Idle=2;Max Pool Size=5");
  CONTRACT_AWAIT(c, pool, idle, 2);
  for (unsigned i = 0; i < 3; i++) {
    leases[i] = contract_acquire(c, pool);
    CONTRACT_AWAIT(c, pool, idle, 2);
  }
  CONTRACT(c, contract_stats(c, pool).connects_begun == 5);
  for (unsigned i = 0; i < 3; i++) {
    contract_release(c, leases[i]);
  }
  contract_close(c, pool);
}

static const struct contract_clause clauses[] = {
    {"never has more sessions than it may, and its census adds up",
     the_census_adds_up, 0},
    {"gives each lease a session of its own, and uses it again",
     each_lease_has_a_session_of_its_own, 0},
    {"passes nothing of a user on to the next",
     nothing_of_a_user_reaches_the_next, 0},
    {"runs Session Init for each user", session_init_runs_for_each_user, 0},
    {"is filled to its minimum, and again", the_minimum_is_filled, 0},
    {"keeps Min Idle ready", some_are_kept_ready, 0},
};

const struct contract_clause *contract_keeping(size_t *out_n) {
  *out_n = sizeof clauses / sizeof clauses[0];
  return clauses;
}
