/* SPDX-License-Identifier: MIT */
/* M: SqlClient's sixteen counters, exactly; those that a case does not name are 0. */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "presets.h"
#include "sixteen.h"
#include "virtual_clock.h"

#define SECOND ((uint64_t)FIXTURE_S)

static struct fixture f;
static weir_h pool;

static struct weir_counters read_counters(void) {
  struct weir_counters c = {.struct_size = sizeof c};
  AWAIT_STAT(pool, connecting, 0);
  AWAIT_STAT(pool, closing, 0);
  cr_assert_eq(weir_pool_counters(pool, &c), WEIR_OK);
  return c;
}

static void check(const struct sixteen *w) {
  const struct weir_counters got = read_counters();
  const struct weir_counters want = sixteen_of(w);
  const uint64_t *g = &got.active_hard_connections;
  const uint64_t *e = &want.active_hard_connections;
  for (size_t i = 0; i < 16; i++) {
    cr_assert_eq(g[i], e[i], "counter %zu is %llu, not %llu", i + 1,
                 (unsigned long long)g[i], (unsigned long long)e[i]);
  }
}

/* -------------------------------------------------------------------- cases */

Test(counters, behaviour_213_counters_of_a_new_connection, .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    (void)fixture_acquire(&f, pool);
    check(&(struct sixteen){.hard = 1, .soft = 1, .pooled = 1});
    fixture_close(&f);
  }
}

Test(counters, behaviour_214_counters_when_it_is_used_again, .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    PRESET_RELEASE(fixture_acquire(&f, pool));
    (void)fixture_acquire(&f, pool);
    check(&(struct sixteen){.hard = 1, .soft = 2, .soft_over = 1, .pooled = 1});
    fixture_close(&f);
  }
}

Test(counters, behaviour_215_counters_when_it_is_returned, .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    PRESET_RELEASE(fixture_acquire(&f, pool));
    check(&(struct sixteen){
        .hard = 1, .soft = 1, .soft_over = 1, .pooled = 1, .free = 1});
    fixture_close(&f);
  }
}

Test(counters, behaviour_216_counters_when_it_is_closed, .timeout = 10) {
  EACH_PRESET(i) {
    pool = preset_open(&f, i, "");
    cr_assert_eq(weir_discard(fixture_acquire(&f, pool)), WEIR_OK);
    check(&(struct sixteen){
        .hard = 1, .hard_over = 1, .soft = 1, .soft_over = 1});
    fixture_close(&f);
  }
}

/* No lease is begun or ended by it. */
Test(counters,
     behaviour_219_counters_when_two_of_three_are_trimmed,
     .timeout = 10) {
  static const char *const settings[PRESETS] = {
      "Min Pool Size=1;Startup=lazy;Connection Idle Timeout=10",
      "Min Pool Size=1;Startup=lazy"};
  EACH_PRESET(i) {
    weir_h leases[3];
    pool = preset_open(&f, i, settings[i]);
    for (unsigned k = 0; k < 3; k++) {
      leases[k] = fixture_acquire(&f, pool);
    }
    fixture_sync(&f);
    for (unsigned k = 0; k < 3; k++) {
      PRESET_RELEASE(leases[k]);
    }
    check(&(struct sixteen){
        .hard = 3, .soft = 3, .soft_over = 3, .pooled = 3, .free = 3});
    for (unsigned k = 0; k < 48; k++) {
      fixture_advance(&f, 10 * SECOND);
    }
    check(&(struct sixteen){.hard = 3,
                            .hard_over = 2,
                            .soft = 3,
                            .soft_over = 3,
                            .pooled = 1,
                            .free = 1});
    fixture_close(&f);
  }
}

/* ----------------------------------------------------------- many threads */

#define WORKERS UINT64_C(8)
#define USES    UINT64_C(50)

static void *work(void *arg) {
  for (unsigned i = 0; i < USES; i++) {
    weir_h lease = 0;
    if (weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, NULL) == WEIR_OK) {
      (void)weir_release(lease);
    }
  }
  return arg;
}

static void check_sums(const struct weir_counters *c) {
  cr_assert_eq(c->active_hard_connections,
               c->hard_connects - c->hard_disconnects);
  cr_assert_eq(c->active_soft_connects, c->soft_connects - c->soft_disconnects);
  cr_assert_leq(c->number_of_pooled_connections, 4);
}

Test(counters,
     behaviour_221_eight_threads_fifty_uses_each_four_places,
     .timeout = 30) {
  EACH_PRESET(i) {
    pthread_t threads[WORKERS];
    fixture_open(&f);
    pool =
        fixture_pool(&f, "Pool Strategy=%s;Max Pool Size=4", preset_names[i]);
    for (unsigned k = 0; k < WORKERS; k++) {
      cr_assert_eq(pthread_create(&threads[k], NULL, work, NULL), 0);
    }
    for (unsigned k = 0; k < 20; k++) {
      struct weir_counters c = {.struct_size = sizeof c};
      cr_assert_eq(weir_pool_counters(pool, &c), WEIR_OK);
      check_sums(&c);
    }
    for (unsigned k = 0; k < WORKERS; k++) {
      cr_assert_eq(pthread_join(threads[k], NULL), 0);
    }
    struct weir_counters c = read_counters();
    check_sums(&c);
    cr_assert_eq(c.soft_connects, WORKERS * USES);
    cr_assert_eq(c.soft_disconnects, WORKERS * USES);
    cr_assert_eq(c.number_of_active_connections, 0);
    cr_assert_eq(c.number_of_pooled_connections,
                 c.hard_connects - c.hard_disconnects);
    cr_assert_eq(c.number_of_free_connections, c.number_of_pooled_connections);
    fixture_close(&f);
  }
}
