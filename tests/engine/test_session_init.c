/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "handle.h"
#include "pool.h"
#include "virtual_clock.h"

#define SECRET "hunter2"

static struct fixture f;

/* What `show` says of the session's state, in its first cell. */
static void expect_state(weir_h lease, const char *expected) {
  struct weir_item item = {.struct_size = sizeof item};
  char found[64] = "";
  cr_assert_eq(fixture_exec(&f, lease, "show"), WEIR_OK);
  do {
    cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK);
    if (item.type == WEIR_ITEM_ROWS) {
      uint64_t n = item.cells[0].n < sizeof found ? item.cells[0].n : 0;
      memcpy(found, item.cells[0].p, n);
      (void)weir_rows_free(item.rows);
    }
  } while (item.type != WEIR_ITEM_DONE);
  cr_assert_str_eq(found, expected);
}

/* True if the error names Session Init and shows nothing of it. */
static int is_discreet(const struct weir_error *err) {
  return strstr(err->message, "Session Init") != NULL &&
         strstr(err->message, SECRET) == NULL;
}

Test(session_init, runs_before_the_first_user, .timeout = 10) {
  fixture_open(&f);
  weir_h pool;
  weir_h lease = fixture_single(&f, "Session Init='set abc'", &pool);
  expect_state(lease, "abc");
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

Test(session_init, runs_for_connections_that_the_reactor_opens, .timeout = 10) {
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Min Pool Size=1;Max Pool Size=1;"
                                 "Session Init='set abc'");
  AWAIT_STAT(pool, idle, 1);
  expect_state(fixture_acquire(&f, pool), "abc");
  cr_assert_eq(fixture_stats(pool).connects_begun, 1);
  fixture_close(&f);
}

/* What a user sets is gone, what Session Init sets is there: after each kind of
 * reset, and for whoever waits. */
Test(session_init, runs_again_after_each_reset, .timeout = 10) {
  static const char *const resets[] = {"lazy", "verified"};
  for (unsigned i = 0; i < 2; i++) {
    char settings[96];
    weir_h pool;
    fixture_open(&f);
    (void)snprintf(settings, sizeof settings,
                   "Session Init='set abc';Connection Reset=%s", resets[i]);
    weir_h lease = fixture_single(&f, settings, &pool);
    for (unsigned round = 0; round < 3; round++) {
      cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
      expect_state(lease, "mine");
      cr_assert_eq(weir_release(lease), WEIR_OK);
      lease = fixture_acquire(&f, pool);
      expect_state(lease, "abc");
    }
    cr_assert_eq(fixture_stats(pool).connects_begun, 1);
    fixture_close(&f);
  }
}

/* A lease that ran nothing costs nothing. */
Test(session_init, does_not_run_for_a_lease_that_ran_nothing, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease = fixture_single(&f, "Session Init='set abc'", &pool);
  uint64_t before = fixture_counts(&f).calls[MOCK_EXEC];
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(weir_release(lease), WEIR_OK);
    lease = fixture_acquire(&f, pool);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_EXEC], before);
  fixture_close(&f);
}

Test(session_init, does_not_run_again_without_a_reset, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease =
      fixture_single(&f, "Session Init='set abc';Connection Reset=off", &pool);
  cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  expect_state(fixture_acquire(&f, pool), "mine");
  fixture_close(&f);
}

Test(session_init, throws_its_results_away, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease = fixture_single(
      &f, "Session Init='rows 5000 3; count 7; notice 1 5 hello; set abc'",
      &pool);
  expect_state(lease, "abc");
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = fixture_acquire(&f, pool);
  expect_state(lease, "abc");
  fixture_close(&f);
}

/* A connect fails with it, and says why without a word of it. */
Test(session_init, fails_the_connect_without_showing_its_text, .timeout = 10) {
  weir_h lease = 0;
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;"
                                 "Session Init='fail 102 near " SECRET "'");
  cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
  cr_assert(is_discreet(&f.err), "%s", f.err.message);
  cr_assert_not_null(strstr(f.err.message, "102"));
  cr_assert_eq(f.err.native, 102);
  cr_assert_eq(f.err.scope, WEIR_DRV_SCOPE_CONFIG);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

Test(session_init, fails_the_connect_when_the_session_breaks, .timeout = 10) {
  weir_h lease = 0;
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Session Init='kill'");
  cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
  cr_assert(is_discreet(&f.err), "%s", f.err.message);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* One deadline for the login and what follows it (P5). */
Test(session_init, shares_the_deadline_of_its_connect, .timeout = 10) {
  struct acquirer a;
  fixture_open_virtual(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Connect Timeout=3;"
                                 "Session Init='hang'");
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  virtual_clock_advance(3 * (uint64_t)FIXTURE_S);
  cr_assert_eq(acquirer_join(&a), WEIR_E_TIMEOUT);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* After a reset it has a limit of its own, and nobody gets what hangs. */
Test(session_init, closes_a_connection_on_which_it_hangs, .timeout = 10) {
  weir_h pool;
  fixture_open_virtual(&f);
  weir_h lease = fixture_single(
      &f, "Session Init='set abc';Mock Script Text='exec 3: hang'", &pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  AWAIT_STAT(pool, reserved, 1);
  fixture_sync(&f);
  fixture_advance(&f, 5 * (uint64_t)FIXTURE_S);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

Test(session_init, closes_a_connection_on_which_it_fails, .timeout = 10) {
  weir_h pool;
  fixture_open(&f);
  weir_h lease = fixture_single(
      &f,
      "Session Init='set abc';"
      "Mock Script Text='exec 3: fail statement syntax native 102'",
      &pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  expect_state(fixture_acquire(&f, pool), "abc");
  fixture_close(&f);
}

/* It must not leave a transaction open that its first user knows nothing of. */
Test(session_init, may_not_leave_a_transaction_open, .timeout = 10) {
  weir_h lease = 0;
  fixture_open(&f);
  weir_h pool = fixture_pool(&f, "Max Pool Size=1;Session Init='begin'");
  cr_assert_eq(weir_acquire(pool, FIXTURE_S, &lease, &f.err), WEIR_E_FAIL);
  cr_assert(is_discreet(&f.err), "%s", f.err.message);
  fixture_close(&f);
}

/* P11: two texts, two pools, and the name of neither shows a text. */
Test(session_init,
     makes_pools_apart_and_stays_out_of_their_keys,
     .timeout = 10) {
  static const char *const kinds[] = {"canonical", "exact"};
  for (unsigned i = 0; i < 2; i++) {
    char text[512] = "";
    fixture_open(&f);
    weir_h one =
        fixture_pool(&f, "Pool Key=%s;Session Init='set " SECRET "'", kinds[i]);
    weir_h two =
        fixture_pool(&f, "Pool Key=%s;Session Init='set other'", kinds[i]);
    cr_assert_neq(one, two);
    cr_assert_eq(weir_pool_key(one, text, sizeof text, NULL), WEIR_OK);
    cr_assert_null(strstr(text, SECRET), "%s", text);
    const struct weir__pool *pool = weir__handle_find(one, WEIR_TYPE_POOL);
    size_t n = 0;
    const uint8_t *parts = weir__key_parts(pool->key, &n);
    cr_assert_null(memmem(parts, n, SECRET, strlen(SECRET)));
    fixture_close(&f);
  }
}
