/* SPDX-License-Identifier: MIT */
/* test_live.c - what a program with a server sees: behaviours 330 to 346. */
#include <inttypes.h>
#include <string.h>

#include "completions.h"
#include "presets.h"

#define S      ((uint64_t)FIXTURE_S)
#define LEGACY 1u /* of preset_names */

static struct fixture f;
static weir_h pool;

static int64_t session_of(weir_h lease) {
  return fixture_number(&f, lease, "session", 0);
}

/* Opens, asks who that is, closes. */
static int64_t one_use(weir_h of) {
  weir_h lease = fixture_acquire(&f, of);
  int64_t id = session_of(lease);
  PRESET_RELEASE(lease);
  return id;
}

/* In steps, so that what is due comes at its time. */
static void pass(uint64_t seconds) {
  for (uint64_t i = 0; i < seconds; i += 10) {
    fixture_advance(&f, 10 * S);
  }
}

/* Used now and then it is not swept: sweeps are 120 s to 230 s apart.  (The median
 * of channel closes after 300 s, whatever is used.) */
static void check_survives(unsigned preset, int64_t id) {
  for (unsigned n = 0; n < (preset == LEGACY ? 10u : 5u); n++) {
    pass(50);
    cr_assert_eq(one_use(pool), id);
  }
}

Test(live,
     behaviour_330_one_string_is_one_pool_and_one_connection,
     .timeout = 20) {
  static const char *const keys[] = {"canonical", "exact"};
  EACH_PRESET(i) {
    for (unsigned k = 0; k < 2; k++) {
      char more[64];
      (void)snprintf(more, sizeof more, "Pool Key=%s;Database=a", keys[k]);
      pool = preset_open(&f, i, more);
      int64_t id = one_use(pool);
      cr_assert_eq(
          fixture_pool(&f, "Pool Strategy=%s;%s", preset_names[i], more), pool);
      cr_assert_eq(one_use(pool), id);
      weir_h other = fixture_pool(&f, "Pool Strategy=%s;Pool Key=%s;Database=b",
                                  preset_names[i], keys[k]);
      cr_assert_neq(other, pool);
      cr_assert_neq(one_use(other), id);
      check_survives(i, id);
      fixture_close(&f);
    }
  }
}

Test(live, behaviour_331_an_access_token_is_part_of_the_key, .timeout = 10) {
  EACH_PRESET(i) {
    char key[256];
    pool = preset_open(&f, i, "Access Token=Qz7Kx9Vw3");
    cr_assert_eq(fixture_pool(&f, "Pool Strategy=%s;Access Token=Qz7Kx9Vw3",
                              preset_names[i]),
                 pool);
    weir_h other = fixture_pool(&f, "Pool Strategy=%s;Access Token=Qz7Kx9Vw4",
                                preset_names[i]);
    cr_assert_neq(other, pool);
    cr_assert_neq(one_use(other), one_use(pool));
    cr_assert_eq(weir_pool_key(pool, key, sizeof key, NULL), WEIR_OK);
    cr_assert_null(strstr(key, "Qz7Kx9Vw"), "%s", key);
    fixture_close(&f);
  }
}

static struct weir_counters engine_counters(void) {
  struct weir_counters c = {.struct_size = sizeof c};
  cr_assert_eq(weir_engine_counters(f.engine, &c), WEIR_OK);
  return c;
}

Test(live,
     behaviour_332_clearing_every_pool_leaves_no_connection,
     .timeout = 10) {
  EACH_PRESET(i) {
    weir_h pools[2];
    pools[0] = preset_open(&f, i, "Database=a");
    pools[1] = fixture_pool(&f, "Pool Strategy=%s", preset_names[i]);
    weir_h held = fixture_acquire(&f, pools[1]);
    (void)one_use(pools[0]);
    (void)one_use(pools[1]);
    cr_assert_eq(engine_counters().active_hard_connections, 3);
    for (unsigned k = 0; k < 2; k++) {
      cr_assert_eq(weir_pool_clear(pools[k]), WEIR_OK);
    }
    AWAIT_COUNT(&f, conns_live, 1); /* the one in use */
    PRESET_RELEASE(held);
    AWAIT_COUNT(&f, conns_live, 0);
    for (unsigned k = 0; k < 2; k++) {
      cr_assert_eq(preset_count(pools[k]), 0);
      cr_assert_eq(weir_pool_close(pools[k]), WEIR_OK);
    }
    cr_assert_eq(engine_counters().number_of_active_connection_pools, 0);
    fixture_close(&f);
  }
}

Test(live,
     behaviour_334_an_open_in_a_pool_of_one_waits_for_a_close,
     .timeout = 10) {
  EACH_PRESET(i) {
    struct acquirer a;
    pool = preset_open(&f, i, "Max Pool Size=1");
    weir_h held = fixture_acquire(&f, pool);
    int64_t id = session_of(held);
    acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
    AWAIT_STAT(pool, waiters, 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    PRESET_RELEASE(held);
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    cr_assert_eq(session_of(a.lease), id);
    fixture_close(&f);
  }
}

/* Killed by the server while nobody has it, and found at the next open. */
Test(live,
     behaviour_336_a_killed_connection_is_replaced_at_the_next_open,
     .timeout = 10) {
  EACH_PRESET(i) {
    for (unsigned watched = 0; watched < 2; watched++) {
      pool = preset_open(&f, i,
                         watched != 0 ? "Mock Idle Watch=true"
                                      : "Mock Idle Watch=false");
      int64_t id = one_use(pool);
      cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
      fixture_advance(&f, S); /* longer than Probe Window */
      cr_assert_neq(one_use(pool), id);
      cr_assert_eq(preset_count(pool), 1);
      fixture_close(&f);
    }
  }
}

/* The first opener finds a dead connection and opens another, which hangs: nobody
 * opens beside it, though there is room. */
Test(live,
     behaviour_337_a_second_opener_times_out_behind_one_that_hangs,
     .timeout = 10) {
  struct acquirer a[3];
  pool = preset_open(&f, LEGACY,
                     "Max Pool Size=3;Mock Idle Watch=false;Connect "
                     "Timeout=60;Mock Script Text='connect 2: hang'");
  (void)one_use(pool);
  cr_assert_eq(f.mock->kill_idle(f.drv, 1), 1);
  fixture_advance(&f, S); /* longer than Probe Window */
  acquirer_start(&a[0], pool, WEIR_TIMEOUT_POOL);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&a[1], pool, 2 * FIXTURE_S);
  acquirer_settle(&a[1], 2);
  acquirer_start(&a[2], pool, WEIR_TIMEOUT_NEVER);
  acquirer_settle(&a[2], 3);
  fixture_advance(&f, 2 * S);
  cr_assert_eq(acquirer_join(&a[1]), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_stats(pool).connects_begun, 2);
  cr_assert_eq(fixture_stats(pool).waiters, 2);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&a[0]), WEIR_OK);
  cr_assert_eq(acquirer_join(&a[2]), WEIR_OK);
  cr_assert_eq(fixture_stats(pool).connects_begun, 3);
  fixture_close(&f);
}

#define THREADS 10u

/* All at once; what thread `bad` has is thrown away. */
static void round_of_threads(unsigned bad) {
  struct acquirer a[THREADS];
  for (unsigned t = 0; t < THREADS; t++) {
    acquirer_start(&a[t], pool, WEIR_TIMEOUT_NEVER);
  }
  for (unsigned t = 0; t < THREADS; t++) {
    cr_assert_eq(acquirer_join(&a[t]), WEIR_OK, "%s", a[t].err.message);
  }
  for (unsigned t = 0; t < THREADS; t++) {
    cr_assert_eq(t == bad ? weir_discard(a[t].lease) : weir_release(a[t].lease),
                 WEIR_OK);
  }
}

/* The same without threads. */
static void round_submitted(weir_h queue, unsigned bad) {
  weir_h leases[THREADS];
  unsigned n = 0;
  for (unsigned t = 0; t < THREADS; t++) {
    weir_h lease = 0;
    int rc = weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, t, &lease,
                                 NULL, &f.err);
    if (rc == WEIR_OK) {
      leases[n++] = lease;
    } else {
      cr_assert_eq(rc, WEIR_PENDING);
    }
  }
  while (n < THREADS) {
    struct weir_completion c = {.struct_size = sizeof c};
    cr_assert_eq(weir_queue_take(queue, WEIR_TIMEOUT_NEVER, &c, &f.err),
                 WEIR_OK);
    cr_assert_eq(c.status, WEIR_OK);
    leases[n++] = c.lease;
  }
  for (unsigned t = 0; t < THREADS; t++) {
    cr_assert_eq(t == bad ? weir_discard(leases[t]) : weir_release(leases[t]),
                 WEIR_OK);
  }
}

/* Each place still has a connection, and there are no more. */
static void check_places(void) {
  weir_h leases[THREADS];
  weir_h extra = 0;
  for (unsigned t = 0; t < THREADS; t++) {
    leases[t] = fixture_acquire(&f, pool);
  }
  cr_assert_eq(weir_acquire(pool, 0, &extra, &f.err), WEIR_E_TIMEOUT);
  cr_assert_eq(preset_count(pool), THREADS);
  for (unsigned t = 0; t < THREADS; t++) {
    PRESET_RELEASE(leases[t]);
  }
}

Test(live, behaviour_340_ten_in_step_lose_no_place, .timeout = 60) {
  EACH_PRESET(i) {
    fixture_open(&f);
    pool = fixture_pool(&f, "Pool Strategy=%s;Max Pool Size=%u;Close Timeout=0",
                        preset_names[i], THREADS);
    weir_h queue = queue_of(&f, THREADS);
    for (unsigned k = 0; k < 20; k++) {
      round_of_threads(k % THREADS);
      round_submitted(queue, (k + 5) % THREADS);
    }
    check_places();
    cr_assert_leq(fixture_counts(&f).sessions_max, THREADS);
    fixture_close(&f);
  }
}

Test(live,
     behaviour_341_counters_of_connections_without_a_pool,
     .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "Pooling=false");
    weir_h lease = fixture_acquire(&f, pool);
    struct weir_counters c = engine_counters();
    cr_assert_eq(c.hard_connects, 1);
    cr_assert_eq(c.active_hard_connections, 1);
    cr_assert_eq(c.number_of_non_pooled_connections, 1);
    cr_assert_eq(c.number_of_pooled_connections, 0);
    PRESET_RELEASE(lease);
    AWAIT_STAT(pool, empty, 100);
    c = engine_counters();
    cr_assert_eq(c.hard_disconnects, 1);
    cr_assert_eq(c.active_hard_connections, 0);
    cr_assert_eq(c.number_of_non_pooled_connections, 0);
    fixture_close(&f);
  }
}

Test(live, behaviour_342_counters_of_open_close_and_open_again, .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    for (uint64_t n = 1; n <= 2; n++) {
      weir_h lease = fixture_acquire(&f, pool);
      struct weir_counters c = engine_counters();
      cr_assert_eq(c.hard_connects, 1);
      cr_assert_eq(c.soft_connects, n);
      cr_assert_eq(c.soft_disconnects, n - 1);
      cr_assert_eq(c.number_of_active_connections, 1);
      cr_assert_eq(c.number_of_free_connections, 0);
      PRESET_RELEASE(lease);
      c = engine_counters();
      cr_assert_eq(c.soft_disconnects, n);
      cr_assert_eq(c.number_of_active_connections, 0);
      cr_assert_eq(c.number_of_free_connections, 1);
      cr_assert_eq(c.number_of_pooled_connections, 1);
    }
    fixture_close(&f);
  }
}

/* Without passes of a timer: as soon as the last session has gone. */
Test(live,
     behaviour_346_a_key_is_active_then_inactive_then_gone,
     .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    weir_h lease = fixture_acquire(&f, pool);
    cr_assert_eq(engine_counters().number_of_active_connection_pool_groups, 1);
    cr_assert_eq(weir_pool_close(pool), WEIR_OK);
    struct weir_counters c = engine_counters();
    cr_assert_eq(c.number_of_active_connection_pool_groups, 0);
    cr_assert_eq(c.number_of_inactive_connection_pool_groups, 1);
    PRESET_RELEASE(lease);
    AWAIT_COUNT(&f, conns_live, 0);
    fixture_sync(&f);
    c = engine_counters();
    cr_assert_eq(c.number_of_inactive_connection_pool_groups, 0);
    fixture_close(&f);
  }
}

Test(live,
     behaviour_335_two_sweeps_close_what_is_not_used_and_keep_what_is,
     .timeout = 20) {
  pool = preset_open(&f, LEGACY, "");
  weir_h held = fixture_acquire(&f, pool);
  (void)one_use(pool);
  cr_assert_eq(preset_count(pool), 2);
  pass(110); /* before the first sweep */
  cr_assert_eq(fixture_stats(pool).idle, 1);
  pass(350); /* after the second: at 460 s at the latest */
  cr_assert_eq(fixture_stats(pool).idle, 0);
  cr_assert_eq(fixture_stats(pool).leased, 1);
  cr_assert_eq(fixture_run(&f, held, "rows 1"), WEIR_OK);
  PRESET_RELEASE(held);
  fixture_close(&f);
}
