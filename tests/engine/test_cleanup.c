/* SPDX-License-Identifier: MIT */
/* A lease that ends in the middle of a result: cancelled, drained within 1 s,
 * reset, and only then somebody else's (scenarios 177 and 187). */
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"
#include "virtual_clock.h"

#define MANY "rows 1000000000"

static struct fixture f;
static weir_h pool;
static weir_h lease;

static void open_real(const char *settings) {
  fixture_open(&f);
  lease = fixture_single(&f, settings, &pool);
}

static void open_virtual(const char *settings) {
  fixture_open_virtual(&f);
  lease = fixture_single(&f, settings, &pool);
}

/* Begins a result and reads its columns and n batches of one row. */
static void read_some(const char *sql, unsigned n) {
  struct weir_item item = {.struct_size = sizeof item};
  struct weir_exec_opts opts = {.struct_size = sizeof opts, .batch_rows = 1};
  cr_assert_eq(weir_exec(lease, sql, strlen(sql), &opts, &f.err), WEIR_OK);
  for (unsigned i = 0; i <= n; i++) {
    cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK);
    if (item.type == WEIR_ITEM_ROWS) {
      cr_assert_eq(weir_rows_free(item.rows), WEIR_OK);
    }
  }
}

/* The next user finds nothing of the last one, on the same session. */
static void check_clean(int64_t session) {
  struct weir_item item = {.struct_size = sizeof item};
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_E_ARG);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), session);
  cr_assert_eq(fixture_number(&f, lease, "show", 2), WEIR_TXN_NONE);
  cr_assert_eq(fixture_number(&f, lease, "show", 0), INT64_MIN);
}

Test(cleanup,
     cancels_an_unread_result_and_keeps_the_connection,
     .timeout = 10) {
  open_real("");
  int64_t session = fixture_number(&f, lease, "session", 0);
  read_some("set x; notice 1 1 mine; " MANY, 5);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_counts(&f).cancelled, 1);
  cr_assert_lt(fixture_counts(&f).rows, 20);
  check_clean(session);
  fixture_close(&f);
}

Test(cleanup, does_nothing_on_the_thread_that_releases, .timeout = 10) {
  open_real("");
  read_some(MANY, 1);
  gates_install();
  gate_hold("cleanup.drain");
  struct mock_counts before = fixture_counts(&f);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(gate_wait_reached("cleanup.drain", 1), 0);
  struct mock_counts after = fixture_counts(&f);
  cr_assert_arr_eq(before.calls, after.calls, sizeof before.calls);
  cr_assert_eq(fixture_stats(pool).reserved, 1);
  cr_assert_eq(weir_release(lease), WEIR_E_HANDLE);
  cr_assert_eq(weir_cancel(lease), WEIR_E_HANDLE);
  gates_restore();
  AWAIT_STAT(pool, idle, 1);
  fixture_close(&f);
}

Test(cleanup, hands_over_to_the_one_who_waits, .timeout = 10) {
  open_real("Mock Script Text=\"cancel: hang\"");
  struct acquirer w;
  read_some(MANY, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(fixture_stats(pool).reserved, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_close(&f);
}

/* All is there but the end: no need to trouble the server. */
Test(cleanup,
     reads_a_result_to_its_end_if_that_is_all_there_is,
     .timeout = 10) {
  open_real("");
  read_some("rows 1", 2);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_counts(&f).cancelled, 0);
  fixture_close(&f);
}

Test(cleanup, throws_away_what_comes_after_the_cancellation, .timeout = 10) {
  open_real("Mock Script Text=\"cancel: rows 5000x2, count 3\"");
  int64_t session = fixture_number(&f, lease, "session", 0);
  read_some(MANY, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_gt(fixture_counts(&f).rows, 5000);
  check_clean(session);
  fixture_close(&f);
}

/* The user cancelled, got more rows all the same, and left. */
Test(cleanup, does_not_cancel_twice, .timeout = 10) {
  open_real("Mock Script Text=\"cancel: rows 5000x2, count 3\"");
  int64_t session = fixture_number(&f, lease, "session", 0);
  read_some(MANY, 1);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  struct weir_item item = {.struct_size = sizeof item};
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 1);
  check_clean(session);
  fixture_close(&f);
}

/* Its time-out cancelled it, and the server goes on for a while. */
Test(cleanup, keeps_a_connection_whose_result_ran_out_of_time, .timeout = 10) {
  struct weir_item item = {.struct_size = sizeof item};
  open_virtual("Command Timeout=3;"
               "Mock Script Text=\"cancel: rows 5000x2, count 3\"");
  read_some(MANY, 1);
  fixture_advance(&f, 3 * (uint64_t)FIXTURE_S);
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 1);
  fixture_close(&f);
}

Test(cleanup, gives_up_on_a_result_without_end_after_a_second, .timeout = 20) {
  open_virtual("Mock Script Text=\"cancel: " MANY "x1\"");
  read_some(MANY, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
  cr_assert_eq(fixture_stats(pool).reserved, 1);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* Scenario 178. */
Test(cleanup, gives_up_on_a_server_that_does_not_confirm, .timeout = 10) {
  open_virtual("Mock Script Text=\"cancel: hang\"");
  struct acquirer w;
  read_some(MANY, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  fixture_advance(&f, (uint64_t)FIXTURE_S - 1);
  cr_assert_eq(fixture_stats(pool).reserved, 1);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  fixture_advance(&f, 1);
  cr_assert_eq(acquirer_join(&w),
               WEIR_OK); /* on the place that is free again */
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 2);
  fixture_close(&f);
}

Test(cleanup, gives_up_on_a_cancellation_that_fails, .timeout = 10) {
  static const char *const ways[] = {"cancel: die",
                                     "cancel: fail conn protocol 'garbage'"};
  for (size_t i = 0; i < 2; i++) {
    char settings[96];
    (void)snprintf(settings, sizeof settings, "Mock Script Text=\"%s\"",
                   ways[i]);
    open_real(settings);
    read_some(MANY, 1);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_STAT(pool, empty, 1);
    fixture_close(&f);
  }
}

Test(cleanup, closes_at_once_where_the_driver_cannot_cancel, .timeout = 10) {
  fixture_open(&f);
  fixture_take_caps(&f, WEIR_DRV_CAP_CANCEL);
  pool = fixture_pool(&f, "Max Pool Size=1");
  lease = fixture_acquire(&f, pool);
  read_some(MANY, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 0);
  fixture_close(&f);
}

Test(cleanup, closes_at_once_what_is_discarded, .timeout = 10) {
  open_real("");
  read_some(MANY, 1);
  cr_assert_eq(weir_discard(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 0);
  fixture_close(&f);
}

Test(cleanup, rolls_back_after_the_drain, .timeout = 10) {
  static const char *const resets[] = {"lazy", "verified", "off"};
  for (size_t i = 0; i < 3; i++) {
    char settings[64];
    (void)snprintf(settings, sizeof settings, "Connection Reset=%s", resets[i]);
    open_real(settings);
    int64_t session = fixture_number(&f, lease, "session", 0);
    read_some("begin; " MANY, 1);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    AWAIT_STAT(pool, idle, 1);
    cr_assert_eq(fixture_counts(&f).rollbacks, i == 2);
    check_clean(session);
    fixture_close(&f);
  }
}

Test(cleanup, resets_only_once_what_ran_is_over, .timeout = 10) {
  open_real("Connection Reset=verified;Mock Script Text=\"cancel: hang\"");
  read_some(MANY, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_RESET], 0);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_counts(&f).resets, 1);
  fixture_close(&f);
}

Test(cleanup, leaves_batches_to_their_holder, .timeout = 10) {
  struct weir_item item = {.struct_size = sizeof item};
  open_real("");
  read_some(MANY, 0);
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK);
  cr_assert_eq(item.type, WEIR_ITEM_ROWS);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  int64_t value = -1;
  memcpy(&value, item.cells[0].p, sizeof value);
  cr_assert_eq(value, 0);
  cr_assert_eq(weir_rows_free(item.rows), WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------ in the middle of a drain */

static void begin_drain(void) {
  open_real("Close Timeout=0;Mock Script Text=\"cancel: hang\"");
  read_some(MANY, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
}

Test(cleanup, does_not_keep_what_was_cleared_meanwhile, .timeout = 10) {
  begin_drain();
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_RESET], 0);
  fixture_close(&f);
}

Test(cleanup, ends_at_once_when_its_pool_is_closed, .timeout = 10) {
  begin_drain();
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  AWAIT_COUNT(&f, conns_live, 0);
  fixture_close(&f);
}

Test(cleanup, ends_at_once_when_its_engine_is_shut_down, .timeout = 10) {
  begin_drain();
  fixture_close(&f);
}

/* Before the reactor has come to it. */
Test(cleanup, ends_at_once_when_its_pool_was_closed_before, .timeout = 10) {
  open_real("Close Timeout=0;Mock Script Text=\"cancel: hang\"");
  read_some(MANY, 1);
  gates_install();
  gate_hold("cleanup.drain");
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(gate_wait_reached("cleanup.drain", 1), 0);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  gates_restore();
  AWAIT_COUNT(&f, conns_live, 0);
  fixture_close(&f);
}

Test(cleanup, survives_the_death_of_the_session, .timeout = 10) {
  open_real("Mock Script Text=\"cancel: hang\"");
  int64_t session = fixture_number(&f, lease, "session", 0);
  read_some(MANY, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(f.mock->kill_session(f.drv, (uint64_t)session), 1);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}
