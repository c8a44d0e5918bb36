/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"

static struct fixture f;
static weir_h pool;
static weir_h lease;

static void open_pool(const char *settings) {
  fixture_open(&f);
  pool = fixture_pool(&f, "Max Pool Size=1;%s", settings);
  lease = fixture_acquire(&f, pool);
}

/* Scenario 108. */
Test(lease, is_given_back_once, .timeout = 10) {
  open_pool("");
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_E_HANDLE);
  cr_assert_eq(weir_discard(lease), WEIR_E_HANDLE);
  /* Also when it has been lent again. */
  weir_h other = fixture_acquire(&f, pool);
  cr_assert_eq(weir_release(lease), WEIR_E_HANDLE);
  cr_assert_eq(weir_discard(lease), WEIR_E_HANDLE);
  cr_assert_eq(fixture_run(&f, other, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_discard(other), WEIR_OK);
  cr_assert_eq(weir_release(other), WEIR_E_HANDLE);
  fixture_close(&f);
}

Test(lease, answers_every_call_when_stale, .timeout = 10) {
  open_pool("");
  static const weir_h foreign[] = {0, 1, UINT64_MAX, UINT64_C(3) << 49,
                                   UINT64_C(3) << 49 | UINT64_C(0x1FFFF) << 32};
  struct weir_item item = {.struct_size = sizeof item};
  char buf[32];
  uint64_t need = 0;
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  for (size_t i = 0; i <= sizeof foreign / sizeof foreign[0]; i++) {
    weir_h h = i == 0 ? lease : foreign[i - 1];
    cr_assert_eq(weir_release(h), WEIR_E_HANDLE);
    cr_assert_eq(weir_discard(h), WEIR_E_HANDLE);
    cr_assert_eq(weir_cancel(h), WEIR_E_HANDLE);
    cr_assert_eq(weir_exec(h, "x", 1, NULL, &f.err), WEIR_E_HANDLE);
    cr_assert_eq(f.err.code, WEIR_E_HANDLE);
    cr_assert_eq(weir_next(h, &item, &f.err), WEIR_E_HANDLE);
    cr_assert_eq(weir_lease_info(h, WEIR_INFO_DATABASE, buf, 32, &need),
                 WEIR_E_HANDLE);
    cr_assert_eq(weir_rows_free(h), WEIR_E_HANDLE);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_EXEC], 1);
  fixture_close(&f);
}

Test(lease, is_busy_while_a_call_on_it_runs, .timeout = 10) {
  open_pool("");
  struct runner r;
  struct weir_item item = {.struct_size = sizeof item};
  char buf[32];
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_release(lease), WEIR_E_BUSY);
  cr_assert_eq(weir_discard(lease), WEIR_E_BUSY);
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_E_BUSY);
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_E_BUSY);
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_DATABASE, buf, 32, NULL),
               WEIR_E_BUSY);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(runner_join(&r), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------- two release at once */

#define ROUNDS 2000u

static pthread_barrier_t barrier;
static _Atomic uint64_t shared;
static _Atomic unsigned accepted;
static _Atomic unsigned odd;

static void *second_releaser(void *arg) {
  for (unsigned i = 0; i < ROUNDS; i++) {
    (void)pthread_barrier_wait(&barrier);
    int rc = weir_release(atomic_load(&shared));
    atomic_fetch_add(&accepted, rc == WEIR_OK);
    atomic_fetch_add(&odd,
                     rc != WEIR_OK && rc != WEIR_E_HANDLE && rc != WEIR_E_BUSY);
    (void)pthread_barrier_wait(&barrier);
  }
  return arg;
}

/* Scenarios 108 and 111.  A call may also find the other one under way. */
static void race_releases(const char *sql) {
  pthread_t thread;
  open_pool("");
  cr_assert_eq(weir_release(lease), WEIR_OK);
  (void)pthread_barrier_init(&barrier, NULL, 2);
  cr_assert_eq(pthread_create(&thread, NULL, second_releaser, NULL), 0);
  for (unsigned i = 0; i < ROUNDS; i++) {
    lease = fixture_acquire(&f, pool);
    if (sql != NULL) {
      cr_assert_eq(fixture_run(&f, lease, sql), WEIR_OK);
    }
    atomic_store(&shared, lease);
    (void)pthread_barrier_wait(&barrier);
    atomic_fetch_add(&accepted, weir_release(lease) == WEIR_OK);
    (void)pthread_barrier_wait(&barrier);
    cr_assert_eq(atomic_load(&accepted), i + 1);
    cr_assert_eq(atomic_load(&odd), 0);
  }
  (void)pthread_join(thread, NULL);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_close(&f);
}

Test(lease, is_released_by_one_of_two_threads, .timeout = 30) {
  race_releases(NULL);
}

Test(lease, is_released_by_one_of_two_threads_after_use, .timeout = 60) {
  race_releases("set x");
}

/* ---------------------------------------------------------------- others */

Test(lease, is_reused_without_a_driver_call_if_it_ran_nothing, .timeout = 10) {
  open_pool("");
  struct mock_counts before = fixture_counts(&f);
  for (unsigned i = 0; i < 10; i++) {
    cr_assert_eq(weir_release(lease), WEIR_OK);
    lease = fixture_acquire(&f, pool);
  }
  struct mock_counts after = fixture_counts(&f);
  cr_assert_arr_eq(before.calls, after.calls, sizeof before.calls);
  fixture_close(&f);
}

/* Scenario 50: it goes back to the pool that lent it, and that is gone. */
Test(lease, outlives_its_pool, .timeout = 10) {
  open_pool("");
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  weir_h other = fixture_pool(&f, "Max Pool Size=1");
  cr_assert_neq(other, pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, conns_live, 0);
  cr_assert_eq(fixture_stats(other).empty, 1);
  cr_assert_eq(weir_release(lease), WEIR_E_HANDLE);
  fixture_close(&f);
}

Test(lease, is_thrown_away_after_max_uses, .timeout = 10) {
  open_pool("Max Uses=3");
  for (unsigned i = 0; i < 5; i++) {
    cr_assert_eq(weir_release(lease), WEIR_OK);
    lease = fixture_acquire(&f, pool);
  }
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 2);
  fixture_close(&f);
}

/* Scenario 76: the server said that the session is lost, whether or not the
 * network has noticed. */
Test(lease, is_thrown_away_when_the_driver_says_unusable, .timeout = 10) {
  static const char *const scripts[] = {"exec 1: fail conn other 'severity 20'",
                                        "exec 1: report usable 0"};
  for (size_t i = 0; i < sizeof scripts / sizeof scripts[0]; i++) {
    char settings[128];
    (void)snprintf(settings, sizeof settings, "Mock Script Text=\"%s\"",
                   scripts[i]);
    open_pool(settings);
    (void)fixture_run(&f, lease, "x");
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_STAT(pool, empty, 1);
    fixture_close(&f);
  }
}

Test(lease, tells_facts_of_its_connection, .timeout = 10) {
  open_pool("Mock Server=alpha;Database=beta");
  char buf[16] = "";
  uint64_t need = 0;
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_SERVER_NAME, buf, 16, &need),
               WEIR_OK);
  cr_assert_str_eq(buf, "alpha");
  cr_assert_eq(need, 6);
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_DATABASE, buf, 4, &need),
               WEIR_E_SPACE);
  cr_assert_eq(need, 5);
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_DATABASE, NULL, 0, &need),
               WEIR_E_SPACE);
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_SESSION_ID, buf, 16, NULL),
               WEIR_OK);
  cr_assert_str_eq(buf, "1");
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_TLS, buf, 16, &need),
               WEIR_E_UNSUPPORTED);
  cr_assert_eq(weir_lease_info(lease, 0, buf, 16, &need), WEIR_E_ARG);
  cr_assert_eq(weir_lease_info(lease, 99, buf, 16, &need), WEIR_E_ARG);
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_TLS, NULL, 16, &need),
               WEIR_E_ARG);
  fixture_close(&f);
}
