/* SPDX-License-Identifier: MIT */
/* Each case is a row of steps; after each of them every one of the sixteen counters
 * of the pool and of the engine has the value that follows from the row: those that
 * are not named are 0. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "sixteen.h"
#include "virtual_clock.h"

#define LEASES 8u

static struct fixture f;
static weir_h pool;
static weir_h held[LEASES];
static unsigned n_held;
static weir_h queue;
static struct acquirer other;

/* -------------------------------------------------------------------- checks */

static struct weir_counters of_pool(void) {
  struct weir_counters c = {.struct_size = sizeof c};
  cr_assert_eq(weir_pool_counters(pool, &c), WEIR_OK);
  return c;
}

static struct weir_counters of_engine(void) {
  struct weir_counters c = {.struct_size = sizeof c};
  cr_assert_eq(weir_engine_counters(f.engine, &c), WEIR_OK);
  return c;
}

static void check_same(const char *whose,
                       const struct weir_counters *got,
                       const struct weir_counters *want) {
  static const char *const names[] = {
      "active-hard-connections",
      "hard-connects",
      "hard-disconnects",
      "active-soft-connects",
      "soft-connects",
      "soft-disconnects",
      "number-of-non-pooled-connections",
      "number-of-pooled-connections",
      "number-of-active-connection-pool-groups",
      "number-of-inactive-connection-pool-groups",
      "number-of-active-connection-pools",
      "number-of-inactive-connection-pools",
      "number-of-active-connections",
      "number-of-free-connections",
      "number-of-stasis-connections",
      "number-of-reclaimed-connections",
  };
  const uint64_t *g = &got->active_hard_connections;
  const uint64_t *w = &want->active_hard_connections;
  cr_assert_eq(got->struct_size, sizeof *got);
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    cr_assert_eq(g[i], w[i], "%s of the %s is %lu, not %lu", names[i], whose,
                 (unsigned long)g[i], (unsigned long)w[i]);
  }
}

/* What always holds between calls. */
static void check_rest(const struct weir_counters *c) {
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(c->active_hard_connections,
               c->hard_connects - c->hard_disconnects);
  cr_assert_eq(c->active_soft_connects, c->soft_connects - c->soft_disconnects);
  cr_assert_eq(c->active_soft_connects, c->number_of_active_connections);
  cr_assert_eq(c->active_hard_connections,
               c->number_of_pooled_connections +
                   c->number_of_non_pooled_connections);
  cr_assert_leq(c->number_of_pooled_connections, s.max_size);
  cr_assert_eq(c->active_hard_connections, fixture_counts(&f).conns_live);
  cr_assert_eq(c->hard_connects, s.connects_ok);
}

static void settle(void) {
  AWAIT_STAT(pool, connecting, 0);
  AWAIT_STAT(pool, reserved, 0);
  AWAIT_STAT(pool, closing, 0);
}

static void check(const struct sixteen *want) {
  settle();
  struct weir_counters w = sixteen_of(want);
  struct weir_counters of_one = of_pool();
  struct weir_counters of_all = of_engine();
  check_rest(&of_one);
  check_same("pool", &of_one, &w);
  check_same("engine", &of_all, &w);
}

/* --------------------------------------------------------------------- steps */

static void acquire(void) {
  held[n_held++] = fixture_acquire(&f, pool);
}

static void fail_to_acquire(void) {
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_POOL, &lease, &f.err),
               WEIR_E_FAIL);
}

static void find_none_idle(void) {
  weir_h lease = 0;
  cr_assert_eq(weir_acquire(pool, 0, &lease, &f.err), WEIR_E_TIMEOUT);
}

static void give_back(void) {
  cr_assert_eq(weir_release(held[--n_held]), WEIR_OK);
}

static void use(void) {
  cr_assert_eq(fixture_run(&f, held[n_held - 1], "set x"), WEIR_OK);
}

/* The lazy reset fails with it, and the user gets another connection unseen. */
static void use_another(void) {
  cr_assert_eq(fixture_number(&f, held[n_held - 1], "session", 0), 2);
}

static void leave_result(void) {
  cr_assert_eq(fixture_exec(&f, held[n_held - 1], "rows 100000"), WEIR_OK);
}

static void break_it(void) {
  cr_assert_neq(fixture_run(&f, held[n_held - 1], "kill"), WEIR_OK);
}

static void throw_away(void) {
  cr_assert_eq(weir_discard(held[--n_held]), WEIR_OK);
}

static void give_back_again(void) {
  cr_assert_eq(weir_release(held[n_held]), WEIR_E_HANDLE);
}

static void clear(void) {
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
}

static void hand_over(void) {
  acquirer_start(&other, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  give_back();
  cr_assert_eq(acquirer_join(&other), WEIR_OK);
  held[n_held++] = other.lease;
}

static void wait_in_vain(void) {
  acquirer_start(&other, pool, FIXTURE_MS);
  cr_assert_eq(acquirer_join(&other), WEIR_E_TIMEOUT);
}

static void drain(void) {
  (void)weir_pool_drain(pool, 0, NULL);
  n_held = 0;
}

static void resume(void) {
  cr_assert_eq(weir_pool_resume(pool), WEIR_OK);
}

static void shrink(void) {
  cr_assert_eq(weir_pool_resize(pool, 0, 1, &f.err), WEIR_OK);
}

static void await_three(void) {
  AWAIT_STAT(pool, idle, 3);
}

static void kill_idle(void) {
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
}

static void submit_idle(void) {
  cr_assert_eq(weir_submit_acquire(pool, FIXTURE_S, queue, 1, &held[n_held++],
                                   NULL, &f.err),
               WEIR_OK);
}

static void submit(void) {
  (void)submit_waiting(&f, pool, 60 * FIXTURE_S, queue, 1);
}

static void submit_and_cancel(void) {
  weir_h op = submit_waiting(&f, pool, 60 * FIXTURE_S, queue, 2);
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  (void)take_one(&f, queue, 2, WEIR_E_CANCELLED);
}

static void take(void) {
  held[n_held++] = take_one(&f, queue, 1, WEIR_OK).lease;
}

/* Its lease is nobody's then. */
static void close_queue(void) {
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  AWAIT_STAT(pool, leased, 0);
}

/* --------------------------------------------------------------------- cases */

struct step {
  void (*act)(void);
  struct sixteen want; /* hard, over, soft, over, pooled, free */
};

#define STEPS 10u

struct scenario {
  const char *name;
  const char *settings;
  struct step steps[STEPS];
};

static const struct scenario scenarios[] = {
    {"reuse, an overdue release, an end",
     "",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {find_none_idle, {1, 0, 1, 0, 1, 0}},
      {give_back, {1, 0, 1, 1, 1, 1}},
      {give_back_again, {1, 0, 1, 1, 1, 1}},
      {acquire, {1, 0, 2, 1, 1, 0}},
      {use, {1, 0, 2, 1, 1, 0}},
      {give_back, {1, 0, 2, 2, 1, 1}},
      {acquire, {1, 0, 3, 2, 1, 0}},
      {throw_away, {1, 1, 3, 3, 0, 0}}}},
    {"a broken one",
     "",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {break_it, {1, 0, 1, 0, 1, 0}},
      {give_back, {1, 1, 1, 1, 0, 0}},
      {acquire, {2, 1, 2, 1, 1, 0}},
      {give_back, {2, 1, 2, 2, 1, 1}}}},
    {"a connect that fails",
     "Mock Script Text=\"connect 1: fail conn network\"",
     {{fail_to_acquire, {0}}, {acquire, {1, 0, 1, 0, 1, 0}}}},
    {"a clear",
     "",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {acquire, {2, 0, 2, 0, 2, 0}},
      {give_back, {2, 0, 2, 1, 2, 1}},
      {clear, {2, 1, 2, 1, 1, 0}},
      {give_back, {2, 2, 2, 2, 0, 0}}}},
    {"a reset that fails",
     "Connection Reset=verified;"
     "Mock Script Text=\"reset 1: fail conn network\"",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {use, {1, 0, 1, 0, 1, 0}},
      {give_back, {1, 1, 1, 1, 0, 0}},
      {acquire, {2, 1, 2, 1, 1, 0}},
      {use, {2, 1, 2, 1, 1, 0}},
      {give_back, {2, 1, 2, 2, 1, 1}}}},
    {"one that is replaced in its user's hands",
     "Mock Script Text=\"reset 1: fail conn network\"",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {use, {1, 0, 1, 0, 1, 0}},
      {give_back, {1, 0, 1, 1, 1, 1}},
      {acquire, {1, 0, 2, 1, 1, 0}},
      {use_another, {2, 1, 2, 1, 1, 0}},
      {give_back, {2, 1, 2, 2, 1, 1}}}},
    {"a result that is thrown away",
     "",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {leave_result, {1, 0, 1, 0, 1, 0}},
      {give_back, {1, 0, 1, 1, 1, 1}}}},
    {"from one to the next",
     "Max Pool Size=1",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {hand_over, {1, 0, 2, 1, 1, 0}},
      {hand_over, {1, 0, 3, 2, 1, 0}},
      {wait_in_vain, {1, 0, 3, 2, 1, 0}},
      {give_back, {1, 0, 3, 3, 1, 1}}}},
    {"a drain that takes leases away",
     "",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {acquire, {2, 0, 2, 0, 2, 0}},
      {acquire, {3, 0, 3, 0, 3, 0}},
      {give_back, {3, 0, 3, 1, 3, 1}},
      {drain, {3, 3, 3, 3, 0, 0}},
      {resume, {3, 3, 3, 3, 0, 0}},
      {acquire, {4, 3, 4, 3, 1, 0}}}},
    {"two of three are too many",
     "Min Pool Size=3",
     {{await_three, {3, 0, 0, 0, 3, 3}}, {shrink, {3, 2, 0, 0, 1, 1}}}},
    {"one that died before it was used again",
     "Probe Window=0;Mock Idle Watch=false",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {give_back, {1, 0, 1, 1, 1, 1}},
      {kill_idle, {1, 0, 1, 1, 1, 1}},
      /* The first was begun, and was over at once. */
      {acquire, {2, 1, 3, 2, 1, 0}},
      {give_back, {2, 1, 3, 3, 1, 1}}}},
    {"submitted",
     "Max Pool Size=1",
     {{acquire, {1, 0, 1, 0, 1, 0}},
      {give_back, {1, 0, 1, 1, 1, 1}},
      {submit_idle, {1, 0, 2, 1, 1, 0}},
      {submit, {1, 0, 2, 1, 1, 0}},
      {submit_and_cancel, {1, 0, 2, 1, 1, 0}},
      {give_back, {1, 0, 3, 2, 1, 0}},
      {take, {1, 0, 3, 2, 1, 0}},
      {submit, {1, 0, 3, 2, 1, 0}},
      {give_back, {1, 0, 4, 3, 1, 0}},
      {close_queue, {1, 0, 4, 4, 1, 1}}}},
};

static void run(const struct scenario *s) {
  n_held = 0;
  fixture_open(&f);
  pool = fixture_pool(&f, "%s", s->settings);
  queue = queue_of(&f, 4);
  for (size_t i = 0; i < STEPS && s->steps[i].act != NULL; i++) {
    cr_log_info("%s: step %zu", s->name, i + 1);
    s->steps[i].act();
    check(&s->steps[i].want);
  }
  fixture_close(&f);
}

Test(counters, are_exact_after_each_step, .timeout = 30) {
  for (size_t i = 0; i < sizeof scenarios / sizeof scenarios[0]; i++) {
    run(&scenarios[i]);
  }
}

Test(counters, tell_unpooled_connections_apart, .timeout = 5) {
  struct weir_counters want = {
      .struct_size = sizeof want,
      .active_hard_connections = 1,
      .hard_connects = 1,
      .number_of_non_pooled_connections = 1,
      .number_of_active_connection_pool_groups = 1,
  };
  fixture_open(&f);
  pool = fixture_pool(&f, "Pooling=false");
  weir_h lease = fixture_acquire(&f, pool);
  struct weir_counters got = of_pool();
  check_same("pool", &got, &want);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  settle();
  want.active_hard_connections = 0;
  want.hard_disconnects = 1;
  want.number_of_non_pooled_connections = 0;
  got = of_engine();
  check_same("engine", &got, &want);
  check_rest(&got);
  fixture_close(&f);
}

/* A pool that is closed counts as inactive until it is empty, and what it has had
 * stays in the engine's sums. */
Test(counters, of_an_engine_keep_those_of_closed_pools, .timeout = 5) {
  struct weir_counters want = sixteen_of(&(struct sixteen){3, 0, 3, 1, 3, 1});
  fixture_open(&f);
  weir_h first = fixture_pool(&f, "Database=a");
  pool = fixture_pool(&f, "Database=b");
  weir_h lease = fixture_acquire(&f, first);
  weir_h mine = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  cr_assert_eq(weir_pool_close(first), WEIR_OK);
  want.number_of_inactive_connection_pools = 1;
  want.number_of_inactive_connection_pool_groups = 1;
  struct weir_counters got = of_engine();
  check_same("engine", &got, &want);
  struct weir_counters c = {.struct_size = sizeof c};
  cr_assert_eq(weir_pool_counters(first, &c), WEIR_E_HANDLE);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  do {
    fixture_sync(&f);
    got = of_engine();
  } while (got.number_of_inactive_connection_pools != 0);
  want = sixteen_of(&(struct sixteen){3, 1, 3, 2, 2, 1});
  check_same("engine", &got, &want);
  cr_assert_eq(weir_release(mine), WEIR_OK);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  do {
    fixture_sync(&f);
    got = of_engine();
  } while (got.number_of_inactive_connection_pools != 0);
  want = sixteen_of(&(struct sixteen){3, 3, 3, 3, 0, 0});
  want.number_of_active_connection_pools = 0;
  want.number_of_active_connection_pool_groups = 0;
  check_same("engine", &got, &want);
  fixture_close(&f);
}

Test(counters, refuse_what_they_cannot_tell, .timeout = 5) {
  struct weir_counters c = {.struct_size = sizeof c};
  fixture_open(&f);
  pool = fixture_pool(&f, "%s", "");
  cr_assert_eq(weir_pool_counters(f.engine, &c), WEIR_E_HANDLE);
  cr_assert_eq(weir_engine_counters(pool, &c), WEIR_E_HANDLE);
  cr_assert_eq(weir_pool_counters(pool, NULL), WEIR_E_ARG);
  cr_assert_eq(weir_engine_counters(f.engine, NULL), WEIR_E_ARG);
  /* One that was built with fewer counters gets those, and no byte more. */
  c.struct_size = offsetof(struct weir_counters, hard_disconnects);
  c.hard_disconnects = 77;
  c.hard_connects = 77;
  cr_assert_eq(weir_engine_counters(f.engine, &c), WEIR_OK);
  cr_assert_eq(c.hard_connects, 0);
  cr_assert_eq(c.hard_disconnects, 77);
  fixture_close(&f);
}

/* -------------------------------------------------------------- under load */

#define WORKERS 8u
#define ROUNDS  50u

static _Atomic unsigned busy;
static bool rude; /* throw some away, break some */

static void *work(void *arg) {
  unsigned which = (unsigned)(uintptr_t)arg;
  for (unsigned i = 0; i < ROUNDS; i++) {
    weir_h lease = 0;
    int64_t patience = rude ? 2 * FIXTURE_MS : WEIR_TIMEOUT_NEVER;
    if (weir_acquire(pool, patience, &lease, NULL) != WEIR_OK) {
      continue; /* late, or behind a connect that was told to fail */
    }
    if (rude && (i + which) % 7 == 0) {
      (void)weir_exec(lease, "kill", 4, NULL, NULL);
    }
    if (rude && (i + which) % 5 == 0) {
      (void)weir_discard(lease);
    } else {
      (void)weir_release(lease);
    }
  }
  atomic_fetch_sub(&busy, 1);
  return NULL;
}

static void start_workers(pthread_t *threads) {
  atomic_store(&busy, WORKERS);
  for (unsigned i = 0; i < WORKERS; i++) {
    cr_assert_eq(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i),
                 0);
  }
}

static void join_workers(const pthread_t *threads) {
  for (unsigned i = 0; i < WORKERS; i++) {
    cr_assert_eq(pthread_join(threads[i], NULL), 0);
  }
}

Test(counters, count_every_lease_of_many_threads, .timeout = 20) {
  pthread_t threads[WORKERS];
  fixture_open(&f);
  pool = fixture_pool(&f, "Max Pool Size=4");
  rude = false;
  start_workers(threads);
  join_workers(threads);
  settle();
  struct weir_counters c = of_pool();
  check_rest(&c);
  cr_assert_eq(c.soft_connects, WORKERS * ROUNDS);
  cr_assert_eq(c.soft_disconnects, WORKERS * ROUNDS);
  cr_assert_eq(c.number_of_free_connections, c.number_of_pooled_connections);
  fixture_close(&f);
}

static void check_snapshot(const struct weir_counters *c,
                           const struct weir_counters *last) {
  cr_assert_eq(c->active_hard_connections,
               c->hard_connects - c->hard_disconnects);
  cr_assert_geq(c->hard_connects, c->hard_disconnects);
  cr_assert_eq(c->active_soft_connects, c->soft_connects - c->soft_disconnects);
  cr_assert_geq(c->soft_connects, c->soft_disconnects);
  cr_assert_leq(c->number_of_free_connections, c->number_of_pooled_connections);
  cr_assert_leq(c->number_of_pooled_connections, c->active_hard_connections);
  cr_assert_leq(c->number_of_pooled_connections, 4);
  cr_assert_geq(c->hard_connects, last->hard_connects);
  cr_assert_geq(c->hard_disconnects, last->hard_disconnects);
  cr_assert_geq(c->soft_connects, last->soft_connects);
  cr_assert_geq(c->soft_disconnects, last->soft_disconnects);
}

/* Whatever happens, each snapshot adds up, and nothing is negative or falls. */
Test(counters, scenario_115_add_up_in_every_snapshot, .timeout = 30) {
  static const char *const chaos[] = {
      "",
      "Mock Script Text=\"connect every 3: fail conn network\"",
      "Mock Script Text=\"reset every 2: fail conn network\"",
      "Mock Script Text=\"health every 2: dead\";Probe Window=0",
      "Mock Connect Delay=200us;Max Uses=2",
  };
  pthread_t threads[WORKERS];
  fixture_open(&f);
  rude = true;
  for (size_t i = 0; i < sizeof chaos / sizeof chaos[0]; i++) {
    struct weir_counters last = {.struct_size = sizeof last};
    pool = fixture_pool(&f, "Max Pool Size=4;%s", chaos[i]);
    start_workers(threads);
    while (atomic_load(&busy) != 0) {
      struct weir_counters c = of_pool();
      check_snapshot(&c, &last);
      last = c;
      struct weir_pool_stats s = fixture_stats(pool);
      cr_assert_eq(s.max_size, s.empty + s.connecting + s.idle + s.leased +
                                   s.reserved + s.parked + s.stasis +
                                   s.closing);
    }
    join_workers(threads);
    settle();
    struct weir_counters c = of_pool();
    check_snapshot(&c, &last);
    cr_assert_eq(c.active_soft_connects, 0);
    cr_assert_eq(c.active_hard_connections, c.number_of_free_connections);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  }
  fixture_close(&f);
}

/* ------------------------------------------------- numbers of other reports */

/* The connect goes on without its caller: it is in no user's hands, and the pool
 * recovers with it. */
Test(counters,
     scenario_030_no_user_has_what_is_still_connecting,
     .timeout = 5) {
  fixture_open_virtual(&f);
  pool =
      fixture_pool(&f, "Max Pool Size=1;Mock Script Text=\"connect 1: hang\"");
  acquirer_start(&other, pool, FIXTURE_S);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&other), WEIR_E_TIMEOUT);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.leased, 0);
  cr_assert_eq(s.connecting, 1);
  struct weir_counters want = sixteen_of(&(struct sixteen){0});
  struct weir_counters got = of_pool();
  check_same("pool", &got, &want);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  weir_h lease = fixture_acquire(&f, pool);
  check(&(struct sixteen){1, 0, 1, 0, 1, 0});
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* One acquire throws four dead ones away. */
Test(counters, scenario_116_each_that_is_thrown_away_is_counted, .timeout = 5) {
  weir_h leases[5];
  fixture_open(&f);
  pool =
      fixture_pool(&f, "Max Pool Size=5;Probe Window=0;Mock Idle Watch=false;"
                       "Mock Script Text=\"health 1-4: dead\"");
  for (unsigned i = 0; i < 5; i++) {
    leases[i] = fixture_acquire(&f, pool);
  }
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(weir_release(leases[i]), WEIR_OK);
  }
  leases[0] = fixture_acquire(&f, pool);
  settle();
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.idle, 0);
  cr_assert_eq(s.leased, 1);
  cr_assert_eq(s.closed, 4);
  cr_assert_eq(s.empty, 4);
  struct weir_counters c = of_pool();
  check_rest(&c);
  cr_assert_eq(c.hard_disconnects, 4);
  cr_assert_eq(c.soft_connects, 10);
  cr_assert_eq(c.soft_disconnects, 9);
  fixture_close(&f);
}

Test(counters, scenario_119_never_drift_from_the_truth, .timeout = 20) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Max Pool Size=10;Min Pool Size=0");
  for (unsigned round = 1; round <= 50; round++) {
    for (n_held = 0; n_held < 5;) {
      acquire();
    }
    while (n_held > 0) {
      give_back();
    }
    settle();
    cr_assert_eq(fixture_stats(pool).idle, 5);
    cr_assert_eq(weir_pool_resize(pool, 0, 2, &f.err), WEIR_OK);
    settle();
    cr_assert_eq(fixture_stats(pool).idle, 2);
    cr_assert_eq(fixture_counts(&f).sessions_live, 2);
    clear();
    settle();
    cr_assert_eq(weir_pool_resize(pool, 0, 10, &f.err), WEIR_OK);
    check(&(struct sixteen){5 * round, 5 * round, 5 * round, 5 * round, 0, 0});
    struct weir_pool_stats s = fixture_stats(pool);
    cr_assert_eq(s.idle + s.leased, fixture_counts(&f).sessions_live);
  }
  fixture_close(&f);
}

/* Every kind of waiter, in virtual time: blocking, submitted, cancelled, late. */
Test(counters, scenario_120_waits_are_the_time_that_has_passed, .timeout = 5) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Max Pool Size=1");
  queue = queue_of(&f, 4);
  n_held = 0;
  acquire();
  struct weir_pool_stats before = fixture_stats(pool);
  acquirer_start(&other, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  (void)submit_waiting(&f, pool, 60 * FIXTURE_S, queue, 1);
  weir_h op = submit_waiting(&f, pool, 60 * FIXTURE_S, queue, 2);
  (void)submit_waiting(&f, pool, 2 * FIXTURE_S, queue, 3);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(fixture_stats(pool).oldest_wait_ns, (uint64_t)FIXTURE_S);
  cr_assert_eq(weir_op_cancel(op), WEIR_OK);
  (void)take_one(&f, queue, 2, WEIR_E_CANCELLED);
  give_back();
  cr_assert_eq(acquirer_join(&other), WEIR_OK);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  (void)take_one(&f, queue, 3, WEIR_E_TIMEOUT);
  cr_assert_eq(weir_release(other.lease), WEIR_OK);
  (void)take_one(&f, queue, 1, WEIR_OK);
  struct weir_pool_stats s = fixture_stats(pool);
  cr_assert_eq(s.wait_count - before.wait_count, 2);
  cr_assert_eq(s.wait_sum_ns - before.wait_sum_ns, 3 * (uint64_t)FIXTURE_S);
  cr_assert_eq(s.wait_max_ns, 2 * (uint64_t)FIXTURE_S);
  cr_assert_eq(s.oldest_wait_ns, 0);
  cr_assert_eq(s.timeouts, 1);
  cr_assert_eq(s.cancelled, 1);
  fixture_close(&f);
}
