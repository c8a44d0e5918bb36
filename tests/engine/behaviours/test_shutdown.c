/* SPDX-License-Identifier: MIT */
/* J: the end of a pool.  A pool that is closed is known by its handle, which is stale
 * then, and by what its engine counts. */
#include <stddef.h>

#include <criterion/criterion.h>

#include "completions.h"
#include "fixture.h"
#include "presets.h"
#include "virtual_clock.h"

/* Indices of preset_names. */
enum {
  CHANNEL = 0,
  LEGACY = 1
};

static struct fixture f;
static weir_h pool;

static void open_as(unsigned preset, const char *settings) {
  fixture_open_virtual(&f);
  pool = fixture_pool(&f, "Pool Strategy=%s;Max Pool Size=8;%s",
                      preset_names[preset], settings);
}

static void open_again(unsigned preset) {
  pool = fixture_pool(&f, "Pool Strategy=%s;Max Pool Size=8;",
                      preset_names[preset]);
}

static void close_pool(void) {
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
}

static struct weir_counters counters(void) {
  struct weir_counters c = {.struct_size = sizeof c};
  cr_assert_eq(weir_engine_counters(f.engine, &c), WEIR_OK);
  return c;
}

/* Sessions that the server has in the end. */
static void settles_at(uint64_t n) {
  AWAIT_COUNT(&f, sessions_live, n);
  fixture_sync(&f);
  cr_assert_eq(counters().active_hard_connections, n);
}

static bool is_stale(void) {
  struct weir_pool_stats s = {.struct_size = sizeof s};
  return weir_pool_stats(pool, &s) == WEIR_E_HANDLE;
}

/* -------------------------------------------------------- what is seen of it */

static void says_so(unsigned preset) {
  weir_h lease;
  open_as(preset, "");
  preset_acquire(&f, pool, &lease, 1);
  cr_assert_not(is_stale());
  cr_assert_eq(counters().number_of_active_connection_pools, 1);
  close_pool();
  cr_assert(is_stale());
  cr_assert_eq(counters().number_of_active_connection_pools, 0);
  cr_assert_eq(counters().number_of_inactive_connection_pools, 1);
  preset_release(&lease, 1);
}

static void closes_idle_ones(unsigned preset) {
  weir_h leases[4];
  open_as(preset, "");
  preset_acquire(&f, pool, leases, 4);
  preset_release(leases, 4);
  cr_assert_eq(counters().active_hard_connections, 4);
  close_pool();
  settles_at(0);
  cr_assert_eq(counters().hard_disconnects, 4);
}

static void is_done_once(unsigned preset) {
  weir_h lease;
  open_as(preset, "");
  preset_acquire(&f, pool, &lease, 1);
  preset_release(&lease, 1);
  close_pool();
  settles_at(0);
  for (unsigned i = 0; i < 3; i++) {
    cr_assert_eq(weir_pool_close(pool), WEIR_E_HANDLE);
  }
  fixture_sync(&f);
  cr_assert_eq(counters().hard_disconnects, 1);
}

static void gives_none(unsigned preset) {
  weir_h lease = 0;
  open_as(preset, "");
  close_pool();
  cr_assert_eq(weir_acquire(pool, WEIR_TIMEOUT_NEVER, &lease, &f.err),
               WEIR_E_HANDLE);
  cr_assert_eq(lease, 0);
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 0);
}

static void gives_none_submitted(unsigned preset) {
  weir_h lease = 0;
  weir_h op = 0;
  open_as(preset, "");
  weir_h queue = queue_of(&f, 4);
  close_pool();
  cr_assert_eq(weir_submit_acquire(pool, WEIR_TIMEOUT_NEVER, queue, 1, &lease,
                                   &op, &f.err),
               WEIR_E_HANDLE);
  cr_assert_eq(op, 0);
  fixture_sync(&f);
  cr_assert_eq(take_none(queue), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 0);
}

/* -------------------------------------------------------------------- channel */

Test(shutdown, behaviour_172_a_closed_pool_says_so, .timeout = 10) {
  says_so(CHANNEL);
  fixture_close(&f);
}

Test(shutdown, behaviour_173_idle_connections_are_closed, .timeout = 10) {
  closes_idle_ones(CHANNEL);
  fixture_close(&f);
}

Test(shutdown,
     behaviour_174_one_that_comes_back_later_is_closed,
     .timeout = 10) {
  EACH_PRESET(preset) {
    weir_h lease;
    open_as(preset, "");
    preset_acquire(&f, pool, &lease, 1);
    close_pool();
    fixture_sync(&f);
    cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
    settles_at(1);
    preset_release(&lease, 1);
    settles_at(0);
    fixture_close(&f);
  }
}

Test(shutdown, behaviour_175_closing_is_done_once, .timeout = 10) {
  is_done_once(CHANNEL);
  fixture_close(&f);
}

/* At once, and it is told why. */
Test(shutdown,
     behaviour_176_a_submitted_acquire_that_waits_ends,
     .timeout = 10) {
  EACH_PRESET(preset) {
    weir_h lease;
    open_as(preset, "Max Pool Size=1");
    preset_acquire(&f, pool, &lease, 1);
    weir_h queue = queue_of(&f, 4);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 1);
    (void)submit_waiting(&f, pool, WEIR_TIMEOUT_NEVER, queue, 2);
    close_pool();
    (void)take_one(&f, queue, 1, WEIR_E_CLOSED);
    (void)take_one(&f, queue, 2, WEIR_E_CLOSED);
    preset_release(&lease, 1);
    fixture_close(&f);
  }
}

/* Those in use, and those that were being opened. */
Test(shutdown,
     behaviour_177_what_comes_back_after_the_end_is_closed,
     .timeout = 10) {
  EACH_PRESET(preset) {
    weir_h leases[3];
    struct acquirer a;
    open_as(preset, "Mock Script Text='connect 4: hang'");
    preset_acquire(&f, pool, leases, 3);
    acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
    AWAIT_COUNT(&f, hung, 1);
    close_pool();
    cr_assert_eq(acquirer_join(&a), WEIR_E_CLOSED);
    (void)f.mock->release_hung(f.drv, 0);
    settles_at(3);
    preset_release(leases, 3);
    settles_at(0);
    cr_assert_eq(counters().number_of_inactive_connection_pools, 0);
    fixture_close(&f);
  }
}

/* The string again is another pool. */
static void is_not_revived(unsigned preset) {
  weir_h lease;
  open_as(preset, "");
  preset_acquire(&f, pool, &lease, 1);
  weir_h old = pool;
  close_pool();
  open_again(preset);
  cr_assert_neq(pool, old);
  cr_assert_eq(fixture_stats(pool).leased, 0);
  cr_assert_eq(weir_acquire(old, WEIR_TIMEOUT_NEVER, &lease, NULL),
               WEIR_E_HANDLE);
  preset_acquire(&f, pool, &lease, 1);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), 2);
  cr_assert_eq(counters().number_of_active_connection_pools, 1);
  cr_assert_eq(counters().number_of_inactive_connection_pools, 1);
}

Test(shutdown, behaviour_178_opening_again_does_not_revive_it, .timeout = 10) {
  is_not_revived(CHANNEL);
  fixture_close(&f);
}

Test(shutdown,
     behaviour_179_an_acquire_after_the_end_gets_none_and_opens_nothing,
     .timeout = 10) {
  gives_none(CHANNEL);
  fixture_close(&f);
}

Test(shutdown,
     behaviour_180_a_submitted_one_after_the_end_gets_none,
     .timeout = 10) {
  gives_none_submitted(CHANNEL);
  fixture_close(&f);
}

/* --------------------------------------------------------------------- legacy */

Test(shutdown, behaviour_181_a_closed_legacy_pool_says_so, .timeout = 10) {
  says_so(LEGACY);
  fixture_close(&f);
}

/* The engine says when it has something to do: for a pool that is open and has an
 * idle connection it has; afterwards never. */
Test(shutdown, behaviour_182_the_timer_of_the_sweep_has_gone, .timeout = 10) {
  weir_h lease;
  int64_t due = 0;
  fixture_open_foreign_virtual(&f);
  pool = fixture_pool(&f, "Pool Strategy=legacy");
  preset_acquire(&f, pool, &lease, 1);
  preset_release(&lease, 1);
  fixture_sync(&f);
  cr_assert_eq(weir_engine_turn(f.engine, &due, &f.err), WEIR_OK);
  cr_assert_neq(due, WEIR_TIMEOUT_NEVER);
  close_pool();
  settles_at(0);
  fixture_sync(&f);
  cr_assert_eq(weir_engine_turn(f.engine, &due, &f.err), WEIR_OK);
  cr_assert_eq(due, WEIR_TIMEOUT_NEVER);
  fixture_close(&f);
}

Test(shutdown, behaviour_183_idle_ones_of_legacy_are_closed, .timeout = 10) {
  closes_idle_ones(LEGACY);
  fixture_close(&f);
}

Test(shutdown, behaviour_184_closing_legacy_is_done_once, .timeout = 10) {
  is_done_once(LEGACY);
  fixture_close(&f);
}

Test(shutdown,
     behaviour_186_an_acquire_of_legacy_gets_none_at_once,
     .timeout = 10) {
  gives_none(LEGACY);
  fixture_close(&f);
}

/* No thread, no place in line. */
Test(shutdown,
     behaviour_187_a_submitted_one_of_legacy_gets_none_at_once,
     .timeout = 10) {
  gives_none_submitted(LEGACY);
  fixture_close(&f);
}

/* No time passes. */
Test(shutdown, behaviour_188_a_blocking_waiter_leaves_at_once, .timeout = 10) {
  struct acquirer a;
  weir_h lease;
  open_as(LEGACY, "Max Pool Size=1");
  preset_acquire(&f, pool, &lease, 1);
  acquirer_start(&a, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  close_pool();
  cr_assert_eq(acquirer_join(&a), WEIR_E_CLOSED);
  cr_assert_eq(a.lease, 0);
  preset_release(&lease, 1);
  settles_at(0);
  fixture_close(&f);
}

/* The time of several sweeps. */
Test(shutdown,
     behaviour_185_after_the_end_no_sweep_touches_what_is_in_use,
     .timeout = 10) {
  weir_h leases[3];
  open_as(LEGACY, "");
  preset_acquire(&f, pool, leases, 3);
  preset_release(leases, 2);
  fixture_sync(&f);
  close_pool();
  settles_at(1);
  for (unsigned i = 0; i < 48; i++) {
    fixture_advance(&f, 10 * (uint64_t)FIXTURE_S);
  }
  cr_assert_eq(counters().hard_disconnects, 2);
  cr_assert_eq(fixture_run(&f, leases[2], "rows 1"), WEIR_OK);
  preset_release(leases + 2, 1);
  settles_at(0);
  fixture_close(&f);
}

/* Neither for the old pool nor, before it has anything to sweep, for the new one. */
Test(shutdown, behaviour_189_opening_again_sets_no_timer, .timeout = 10) {
  weir_h lease;
  int64_t due = 0;
  fixture_open_foreign_virtual(&f);
  open_again(LEGACY);
  weir_h old = pool;
  preset_acquire(&f, pool, &lease, 1);
  close_pool();
  open_again(LEGACY);
  cr_assert_neq(pool, old);
  fixture_sync(&f);
  do {
    cr_assert_eq(weir_engine_turn(f.engine, &due, &f.err), WEIR_OK);
  } while (due == 0);
  cr_assert_eq(due, WEIR_TIMEOUT_NEVER);
  preset_release(&lease, 1);
  fixture_close(&f);
}
