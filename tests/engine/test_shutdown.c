/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;

static unsigned entries(const char *path) {
  unsigned n = 0;
  DIR *dir = opendir(path);
  while (dir != NULL && readdir(dir) != NULL) {
    n++;
  }
  (void)closedir(dir);
  return n;
}

struct ender {
  pthread_t thread;
  weir_h engine;
  int64_t grace;
  int rc;
  struct weir_error err;
};

static void *end_engine(void *arg) {
  struct ender *e = arg;
  e->err.struct_size = sizeof e->err;
  e->rc = weir_engine_shutdown(e->engine, e->grace, &e->err);
  return NULL;
}

static void ender_start(struct ender *e, weir_h engine, int64_t grace) {
  *e = (struct ender){.engine = engine, .grace = grace};
  cr_assert_eq(pthread_create(&e->thread, NULL, end_engine, e), 0);
}

static int ender_join(struct ender *e) {
  (void)pthread_join(e->thread, NULL);
  return e->rc;
}

/* --------------------------------------------------------- in every state */

Test(shutdown, ends_an_engine_without_pools, .timeout = 10) {
  fixture_open(&f);
  cr_assert_eq(weir_engine_shutdown(f.engine, 0, &f.err), WEIR_OK);
  cr_assert_eq(weir_engine_shutdown(f.engine, 0, &f.err), WEIR_E_HANDLE);
}

Test(shutdown, closes_idle_connections, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=3;Max Pool Size=5");
  AWAIT_STAT(pool, idle, 3);
  cr_assert_eq(weir_engine_shutdown(f.engine, 5 * FIXTURE_S, &f.err), WEIR_OK);
  cr_assert_eq(weir_pool_close(pool), WEIR_E_HANDLE);
}

/* Scenario 151: five connects hang, others wait: all hear of it at once, and no
 * connect begins afterwards. */
Test(shutdown, ends_waiters_and_connects_at_once, .timeout = 10) {
  fixture_open(&f);
  struct acquirer w[25];
  weir_h pool =
      fixture_pool(&f, "Max Pool Size=5;Mock Script Text=\"connect: hang\"");
  for (unsigned i = 0; i < 25; i++) {
    acquirer_start(&w[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_COUNT(&f, hung, 5);
  AWAIT_STAT(pool, waiters, 25);
  cr_assert_eq(weir_engine_shutdown(f.engine, 5 * FIXTURE_S, &f.err), WEIR_OK,
               "%s", f.err.message);
  for (unsigned i = 0; i < 25; i++) {
    cr_assert_eq(acquirer_join(&w[i]), WEIR_E_CLOSED);
  }
}

/* Connects that the reactor drives: adopted ones and those for the minimum. */
Test(shutdown, ends_connects_of_the_reactor, .timeout = 10) {
  fixture_open_virtual(&f);
  struct acquirer w;
  weir_h pool = fixture_pool(&f, "Min Pool Size=2;Max Pool Size=3;"
                                 "Mock Script Text=\"connect: hang\"");
  AWAIT_COUNT(&f, hung, 2);
  acquirer_start(&w, pool, FIXTURE_S);
  /* It counts on one of the two for a quarter of a second. */
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, SECOND / 4);
  AWAIT_COUNT(&f, hung, 3);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, SECOND - SECOND / 4);
  cr_assert_eq(acquirer_join(&w), WEIR_E_TIMEOUT);
  cr_assert_eq(weir_engine_shutdown(f.engine, 5 * FIXTURE_S, &f.err), WEIR_OK,
               "%s", f.err.message);
  virtual_clock_restore();
}

/* Scenario 146.  Without grace leases are taken away at once. */
Test(shutdown, takes_leases_away_when_the_grace_is_over, .timeout = 10) {
  fixture_open_virtual(&f);
  struct ender e;
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h a = fixture_acquire(&f, pool);
  weir_h b = fixture_acquire(&f, pool);
  ender_start(&e, f.engine, 3 * FIXTURE_S);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(virtual_clock_next(), VIRTUAL_CLOCK_START + 3 * SECOND);
  /* Until then they work. */
  cr_assert_eq(fixture_run(&f, a, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(a), WEIR_OK);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_advance(3 * SECOND);
  cr_assert_eq(ender_join(&e), WEIR_OK, "%s", e.err.message);
  cr_assert_eq(weir_release(b), WEIR_E_HANDLE);
  cr_assert_eq(fixture_exec(&f, b, "rows 1"), WEIR_E_HANDLE);
  virtual_clock_restore();
}

Test(shutdown, returns_when_the_last_lease_comes_back, .timeout = 10) {
  fixture_open(&f);
  struct ender e;
  weir_h pool = fixture_pool(&f, "Max Pool Size=2");
  weir_h lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "begin"), WEIR_OK);
  ender_start(&e, f.engine, WEIR_TIMEOUT_NEVER);
  struct weir_pool_stats s = {.struct_size = sizeof s};
  while (weir_pool_stats(pool, &s) == WEIR_OK) {
  }
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(ender_join(&e), WEIR_OK, "%s", e.err.message);
}

/* A caller that waits inside a statement is told, at once. */
Test(shutdown, interrupts_a_statement_that_hangs, .timeout = 10) {
  static const char *const scripts[] = {"exec 2: hang",
                                        "exec 2: hang; cancel: hang"};
  for (size_t i = 0; i < 2; i++) {
    fixture_open_virtual(&f);
    struct runner r;
    struct ender e;
    weir_h pool = fixture_pool(&f, "Mock Script Text=\"%s\"", scripts[i]);
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    runner_start(&r, &f, lease, "x");
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(virtual_clock_wait_parked(1), 0);
    if (i == 1) {
      /* Already cancelled, and that hangs, too. */
      cr_assert_eq(weir_cancel(lease), WEIR_OK);
      AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
      AWAIT_COUNT(&f, hung, 1);
      cr_assert_eq(virtual_clock_wait_parked(1), 0);
    }
    ender_start(&e, f.engine, 0);
    cr_assert_eq(ender_join(&e), WEIR_OK, "%s", e.err.message);
    cr_assert_eq(runner_join(&r), WEIR_E_CLOSED);
    cr_assert_eq(virtual_clock_now(), VIRTUAL_CLOCK_START);
    virtual_clock_restore();
  }
}

/* A lease that is taken away while its connection is looked at is closed by the
 * one who looks, also when the look was in vain. */
Test(shutdown,
     leaves_a_dead_session_to_the_acquire_that_found_it,
     .timeout = 10) {
  fixture_open_virtual(&f);
  gates_install();
  struct acquirer w;
  struct ender e;
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Probe Window=0;"
                                 "Mock Script Text=\"health every: dead\"");
  cr_assert_eq(weir_release(fixture_acquire(&f, pool)), WEIR_OK);
  gate_hold("acquire.probe");
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  cr_assert_eq(gate_wait_reached("acquire.probe", 1), 0);
  ender_start(&e, f.engine, 0);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  gate_open("acquire.probe");
  cr_assert_eq(acquirer_join(&w), WEIR_E_CLOSED);
  cr_assert_eq(ender_join(&e), WEIR_OK, "%s", e.err.message);
  gates_restore();
  virtual_clock_restore();
}

/* A release whose reset hangs, and a log-out that hangs. */
Test(shutdown, ends_resets_and_closes_that_hang, .timeout = 10) {
  static const char *const scripts[] = {"reset: hang", "logout: hang"};
  for (size_t i = 0; i < 2; i++) {
    fixture_open_virtual(&f);
    weir_h pool = fixture_pool(&f,
                               "Connection Reset=verified;Close Timeout=60;"
                               "Mock Script Text=\"%s\"",
                               scripts[i]);
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
    cr_assert_eq(i == 0 ? weir_release(lease) : weir_discard(lease), WEIR_OK);
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(weir_engine_shutdown(f.engine, 0, &f.err), WEIR_OK, "%s",
                 f.err.message);
    virtual_clock_restore();
  }
}

/* P10.  A call inside foreign code cannot be ended; it is counted, and what it
 * holds is freed when it comes back. */
Test(shutdown, counts_what_is_inside_foreign_code, .timeout = 10) {
  fixture_open(&f);
  struct acquirer w;
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;"
                                 "Mock Script Text=\"connect: offload hang\"");
  unsigned threads = entries("/proc/self/task");
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  fixture_await_offload(&f, 1);
  cr_assert_eq(weir_engine_shutdown(f.engine, 0, &f.err), WEIR_E_TIMEOUT);
  cr_assert_not_null(strstr(f.err.message, "1 connections"), "%s",
                     f.err.message);
  cr_assert_eq(acquirer_join(&w), WEIR_E_CLOSED);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  while (entries("/proc/self/task") >= threads) {
  }
}

/* ----------------------------------------------------- several at a time */

Test(shutdown, is_done_by_one_of_many_threads, .timeout = 10) {
  fixture_open(&f);
  struct ender e[8];
  unsigned ok = 0;
  weir_h pool = fixture_pool(&f, "Min Pool Size=2");
  AWAIT_STAT(pool, idle, 2);
  for (unsigned i = 0; i < 8; i++) {
    ender_start(&e[i], f.engine, FIXTURE_S);
  }
  for (unsigned i = 0; i < 8; i++) {
    int rc = ender_join(&e[i]);
    ok += rc == WEIR_OK;
    cr_assert(rc == WEIR_OK || rc == WEIR_E_HANDLE);
  }
  cr_assert_eq(ok, 1);
}

/* Two engines do not wait for each other's callers. */
Test(shutdown, of_two_engines_at_once_is_two_shutdowns, .timeout = 20) {
  for (unsigned round = 0; round < 20; round++) {
    struct fixture g;
    struct ender e[2];
    struct acquirer w;
    fixture_open(&f);
    fixture_open(&g);
    weir_h pool = fixture_pool(&g, "Mock Script Text=\"connect: hang\"");
    acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&g, hung, 1);
    ender_start(&e[0], f.engine, 0);
    cr_assert_eq(ender_join(&e[0]), WEIR_OK);
    fixture_open(&f);
    ender_start(&e[0], f.engine, 0);
    ender_start(&e[1], g.engine, 0);
    cr_assert_eq(ender_join(&e[0]), WEIR_OK);
    cr_assert_eq(ender_join(&e[1]), WEIR_OK);
    cr_assert_eq(acquirer_join(&w), WEIR_E_CLOSED);
  }
}

/* Scenario 147: opened and shut down at once, at any moment of the filling. */
Test(shutdown, leaves_no_session_of_a_pool_being_filled, .timeout = 30) {
  for (uint64_t t = 0; t <= 100; t++) {
    fixture_open_virtual(&f);
    weir_h pool = fixture_pool(&f, "Min Pool Size=20;Mock Connect Delay=7ms");
    for (uint64_t ms = 0; ms < t; ms++) {
      fixture_advance(&f, (uint64_t)FIXTURE_MS);
    }
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    AWAIT_COUNT(&f, conns_live, 0);
    cr_assert_eq(fixture_counts(&f).sessions_live, 0);
    fixture_close(&f);
  }
}

/* ------------------------------------------------------------ nothing left */

static void whole_life(void) {
  fixture_open(&f);
  struct acquirer w[4];
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=2");
  weir_h lease = fixture_acquire(&f, pool);
  (void)fixture_run(&f, lease, "rows 3; notice 1 1 x");
  (void)fixture_exec(&f, lease, "rows 3");
  for (unsigned i = 0; i < 4; i++) {
    acquirer_start(&w[i], pool, 20 * FIXTURE_MS);
  }
  for (unsigned i = 0; i < 4; i++) {
    (void)acquirer_join(&w[i]);
  }
  fixture_close(&f);
}

Test(shutdown, leaves_no_descriptor_and_no_thread, .timeout = 20) {
  whole_life(); /* what libraries keep for themselves is there now */
  unsigned fds = entries("/proc/self/fd");
  unsigned threads = entries("/proc/self/task");
  for (unsigned i = 0; i < 10; i++) {
    whole_life();
  }
  cr_assert_eq(entries("/proc/self/fd"), fds);
  cr_assert_eq(entries("/proc/self/task"), threads);
}
