/* SPDX-License-Identifier: MIT */
/* test_policies.c - policies that are swapped alone, by their key. */
#include <stdbool.h>
#include <string.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "virtual_clock.h"

#define S ((uint64_t)FIXTURE_S)
#define N 3u

static struct fixture f;
static weir_h pool;

/* Pools of one engine, each with a key of its own. */
static weir_h open_with(const char *settings) {
  return fixture_pool(&f, "Connect Timeout=0;%s", settings);
}

static void start_all(struct acquirer *a) {
  for (unsigned i = 0; i < N; i++) {
    acquirer_start(&a[i], pool, WEIR_TIMEOUT_NEVER);
  }
  AWAIT_STAT(pool, waiters, N);
}

static void join_all(struct acquirer *a) {
  for (unsigned i = 0; i < N; i++) {
    cr_assert_eq(acquirer_join(&a[i]), WEIR_OK, "%s", a[i].err.message);
  }
}

Test(policies, growth_serial_opens_one_at_a_time, .timeout = 10) {
  struct acquirer a[N];
  fixture_open_virtual(&f);
  pool = open_with("Pool Growth=serial;Mock Script Text='connect: hang'");
  start_all(a);
  for (unsigned i = 1; i <= N; i++) {
    AWAIT_COUNT(&f, hung, 1);
    cr_assert_eq(fixture_stats(pool).connects_begun, i);
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  }
  join_all(a);
  fixture_close(&f);
}

Test(policies, growth_parallel_opens_for_each_who_waits, .timeout = 10) {
  struct acquirer a[N];
  fixture_open_virtual(&f);
  pool = open_with("Pool Growth=parallel;Mock Script Text='connect: hang'");
  start_all(a);
  AWAIT_COUNT(&f, hung, N);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), N);
  join_all(a);
  cr_assert_eq(fixture_stats(pool).connects_begun, N);
  fixture_close(&f);
}

/* Two are submitted and one blocks, in a full pool: behind a dispatcher the second
 * of the two comes into line when the first is served, behind who blocks. */
static void check_async(const char *async, bool blocking_first) {
  struct acquirer a;
  fixture_open_virtual(&f);
  weir_h queue = queue_of(&f, 2);
  pool = fixture_pool(&f, "Max Pool Size=1;Pool Handoff=queued;Pool Async=%s",
                      async);
  weir_h held = fixture_acquire(&f, pool);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
  (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 2);
  acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 3);
  cr_assert_eq(weir_release(held), WEIR_OK);
  held = take_one(&f, queue, 1, WEIR_OK).lease;
  cr_assert_eq(weir_release(held), WEIR_OK);
  if (blocking_first) {
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    cr_assert_eq(weir_release(a.lease), WEIR_OK);
    held = take_one(&f, queue, 2, WEIR_OK).lease;
  } else {
    held = take_one(&f, queue, 2, WEIR_OK).lease;
    cr_assert_eq(weir_release(held), WEIR_OK);
    cr_assert_eq(acquirer_join(&a), WEIR_OK);
    held = a.lease;
  }
  cr_assert_eq(weir_release(held), WEIR_OK);
  cr_assert_eq(weir_queue_close(queue), WEIR_OK);
  fixture_close(&f);
}

Test(policies, async_dispatcher_has_one_in_line_at_a_time, .timeout = 10) {
  check_async("queue", false);
  check_async("dispatcher", true);
}

/* Eight of ten seconds are spent in line before the connect begins. */
static void check_scope(const char *scope, int wanted) {
  struct acquirer a;
  fixture_open_virtual(&f);
  pool = fixture_pool(&f,
                      "Max Pool Size=1;Connect Timeout=10;Connect Timeout "
                      "Scope=%s;Mock Script Text='connect 2: hang'",
                      scope);
  weir_h held = fixture_acquire(&f, pool);
  acquirer_start(&a, pool, WEIR_TIMEOUT_POOL);
  acquirer_settle(&a, 1);
  fixture_advance(&f, 8 * S);
  cr_assert_eq(weir_discard(held), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 7 * S);
  if (wanted == WEIR_OK) {
    cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  }
  cr_assert_eq(acquirer_join(&a), wanted, "%s: %s", scope, a.err.message);
  fixture_close(&f);
}

Test(policies, scope_per_phase_gives_a_connect_its_own_time, .timeout = 10) {
  check_scope("overall", WEIR_E_TIMEOUT);
  check_scope("per-phase", WEIR_OK);
}
