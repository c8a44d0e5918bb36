/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fixture.h"
#include "gates.h"
#include "sys/clock.h"
#include "virtual_clock.h"

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

/* The next item, which must be of that type. */
static struct weir_item want(int32_t type) {
  struct weir_item item = {.struct_size = sizeof item};
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK, "%s", f.err.message);
  cr_assert_eq(item.type, type, "item %d, not %d", item.type, type);
  return item;
}

static int next_code(void) {
  struct weir_item item = {.struct_size = sizeof item};
  return weir_next(lease, &item, &f.err);
}

static void *drain(void *arg) {
  *(int *)arg = fixture_drain(&f, lease);
  return NULL;
}

static void *cancel_late(void *arg) {
  (void)weir_cancel(lease);
  return arg;
}

/* ------------------------------------------------------------------ order */

Test(exec, tells_columns_rows_count_and_end_in_order, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease, "rows 2 2; count 7"), WEIR_OK);
  struct weir_item meta = want(WEIR_ITEM_META);
  cr_assert_eq(meta.n_columns, 2);
  cr_assert_eq(meta.columns_stride, sizeof(struct weir_column));
  cr_assert_eq(meta.columns[0].struct_size, sizeof(struct weir_column));
  cr_assert_eq(meta.columns[1].type, WEIR_T_INT);
  struct weir_item rows = want(WEIR_ITEM_ROWS);
  cr_assert_eq(rows.n_rows, 2);
  cr_assert_eq(rows.n_columns, 2);
  cr_assert_eq(rows.cells[3].n, 8);
  cr_assert_eq(weir_rows_free(rows.rows), WEIR_OK);
  cr_assert_eq(weir_rows_free(rows.rows), WEIR_E_HANDLE);
  cr_assert_eq(want(WEIR_ITEM_COUNT).row_count, 2);
  cr_assert_eq(want(WEIR_ITEM_COUNT).row_count, 7);
  (void)want(WEIR_ITEM_DONE);
  cr_assert_eq(next_code(), WEIR_E_ARG);
  fixture_close(&f);
}

Test(exec, splits_a_big_result_into_batches, .timeout = 10) {
  open_real("");
  struct weir_exec_opts opts = {.struct_size = sizeof opts, .batch_rows = 10};
  cr_assert_eq(weir_exec(lease, "rows 25", 7, &opts, &f.err), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  static const uint64_t sizes[] = {10, 10, 5};
  for (size_t i = 0; i < 3; i++) {
    struct weir_item rows = want(WEIR_ITEM_ROWS);
    cr_assert_eq(rows.n_rows, sizes[i]);
    (void)weir_rows_free(rows.rows);
  }
  (void)want(WEIR_ITEM_COUNT);
  (void)want(WEIR_ITEM_DONE);
  fixture_close(&f);
}

Test(exec, tells_notices_where_they_came, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease,
                            "notice 5701 10 hello; rows 1; "
                            "notice 1 2 bye"),
               WEIR_OK);
  struct weir_item n = want(WEIR_ITEM_NOTICE);
  cr_assert_eq(n.native, 5701);
  cr_assert_eq(n.severity, 10);
  cr_assert_str_eq(n.message, "hello");
  (void)want(WEIR_ITEM_META);
  (void)weir_rows_free(want(WEIR_ITEM_ROWS).rows);
  (void)want(WEIR_ITEM_COUNT);
  cr_assert_str_eq(want(WEIR_ITEM_NOTICE).message, "bye");
  (void)want(WEIR_ITEM_DONE);
  fixture_close(&f);
}

Test(exec, tells_where_a_notice_comes_from, .timeout = 10) {
  open_real("Mock Server=alpha;Mock Script Text=\"exec: notice 50000 10 'hi' "
            "state 3 line 7 in 'dbo.p', count 1\"");
  cr_assert_eq(fixture_exec(&f, lease, "x"), WEIR_OK);
  struct weir_item n = want(WEIR_ITEM_NOTICE);
  cr_assert_eq(n.state, 3);
  cr_assert_eq(n.line, 7);
  cr_assert_str_eq(n.server, "alpha");
  cr_assert_eq(n.server_len, 5);
  cr_assert_str_eq(n.procedure, "dbo.p");
  cr_assert_eq(n.procedure_len, 5);
  fixture_close(&f);
}

/* Its caller was built before notices told more than their line. */
Test(exec, writes_no_more_than_an_old_item, .timeout = 10) {
  struct weir_item item = {.struct_size = offsetof(struct weir_item, state),
                           .state = 77,
                           .server_len = 78};
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease, "notice 1 2 x"), WEIR_OK);
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_OK);
  cr_assert_eq(item.type, WEIR_ITEM_NOTICE);
  cr_assert_eq(item.line, 1);
  cr_assert_eq(item.state, 77);
  cr_assert_eq(item.server_len, 78);
  item.struct_size--;
  cr_assert_eq(weir_next(lease, &item, &f.err), WEIR_E_ARG);
  fixture_close(&f);
}

/* ------------------------------------------------------------- parameters */

static struct weir_param int_param(int64_t i) {
  return (struct weir_param){
      .struct_size = sizeof(struct weir_param), .type = WEIR_T_INT, .i = i};
}

static int exec_with(const char *sql,
                     const struct weir_param *params,
                     uint32_t n,
                     uint32_t flags) {
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .flags = flags,
                                .params = params,
                                .n_params = n};
  return weir_exec(lease, sql, strlen(sql), &opts, &f.err);
}

Test(exec, passes_parameters_of_every_type, .timeout = 10) {
  open_real("");
  struct weir_param p[6];
  for (size_t i = 0; i < 6; i++) {
    p[i] = int_param(0);
  }
  p[0].i = -5;
  p[1].type = WEIR_T_TEXT;
  p[1].p = "abc";
  p[1].n = 3;
  p[2].type = WEIR_T_NULL;
  p[3].type = WEIR_T_FLOAT;
  p[3].f = 1.5;
  p[4].type = WEIR_T_BOOL;
  p[4].i = 1;
  p[5].type = WEIR_T_BYTES; /* empty, and not NULL */
  cr_assert_eq(exec_with("q", p, 6, 0), WEIR_OK, "%s", f.err.message);
  memset(p, 0xEE, sizeof p); /* they have been copied */
  (void)want(WEIR_ITEM_META);
  struct weir_item rows = want(WEIR_ITEM_ROWS);
  cr_assert_eq(rows.n_columns, 7);
  int64_t i;
  double d;
  memcpy(&i, rows.cells[1].p, sizeof i);
  memcpy(&d, rows.cells[4].p, sizeof d);
  cr_assert_eq(i, -5);
  cr_assert_eq(rows.cells[2].n, 3);
  cr_assert_arr_eq(rows.cells[2].p, "abc", 3);
  cr_assert_eq(rows.cells[3].n, UINT64_MAX);
  cr_assert_eq(d, 1.5);
  cr_assert_eq(*(const uint8_t *)rows.cells[5].p, 1);
  cr_assert_eq(rows.cells[6].n, 0);
  cr_assert_not_null(rows.cells[6].p);
  cr_assert_eq(weir_rows_free(rows.rows), WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  fixture_close(&f);
}

Test(exec, passes_names_and_types_of_parameters, .timeout = 10) {
  open_real("");
  struct weir_param p = int_param(1);
  p.name = "@a";
  p.name_len = 2;
  p.native_type = "decimal(10,2)";
  p.native_type_len = 13;
  cr_assert_eq(exec_with("params", &p, 1, 0), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  struct weir_item rows = want(WEIR_ITEM_ROWS);
  cr_assert_arr_eq(rows.cells[0].p, "@a", 2);
  cr_assert_eq(rows.cells[2].n, 13);
  cr_assert_arr_eq(rows.cells[2].p, "decimal(10,2)", 13);
  (void)weir_rows_free(rows.rows);
  fixture_close(&f);
}

Test(exec, gives_the_output_values_as_one_item, .timeout = 10) {
  open_real("");
  struct weir_param p[2] = {int_param(1), int_param(7)};
  p[0].name = "@in";
  p[0].name_len = 3;
  p[1].name = "@out";
  p[1].name_len = 4;
  p[1].flags = WEIR_PARAM_OUT;
  cr_assert_eq(exec_with("count 3", p, 2, 0), WEIR_OK);
  cr_assert_eq(want(WEIR_ITEM_COUNT).row_count, 3);
  struct weir_item out = want(WEIR_ITEM_OUTPUT);
  cr_assert_eq(out.n_columns, 1);
  cr_assert_eq(out.n_rows, 1);
  cr_assert_eq(out.columns_stride, sizeof(struct weir_column));
  cr_assert_str_eq(out.columns[0].name, "@out");
  cr_assert_eq(out.columns[0].type, WEIR_T_INT);
  int64_t i;
  memcpy(&i, out.cells[0].p, sizeof i);
  cr_assert_eq(i, 7);
  cr_assert_eq(weir_rows_free(out.rows), WEIR_OK);
  (void)want(WEIR_ITEM_DONE);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(exec, refuses_parameters_that_its_driver_does_not_take, .timeout = 10) {
  struct weir_param p = int_param(1);
  fixture_open(&f);
  fixture_take_caps(&f, WEIR_DRV_CAP_PARAMS);
  pool = fixture_pool(&f, "Max Pool Size=1");
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(exec_with("x", &p, 1, 0), WEIR_E_UNSUPPORTED);
  cr_assert_not_null(strstr(f.err.message, "driver mock takes no parameters"));
  cr_assert_eq(exec_with("rows 1", NULL, 0, 0), WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  fixture_close(&f);
}

Test(exec, prepares_where_the_driver_can, .timeout = 10) {
  open_real("");
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(exec_with("count 1", NULL, 0, WEIR_EXEC_PREPARED), WEIR_OK);
    cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  }
  cr_assert_eq(fixture_run(&f, lease, "count 1"), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).prepared, 1);
  cr_assert_eq(fixture_counts(&f).reused, 2);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_EXEC], 4);
  fixture_close(&f);
}

Test(exec, runs_a_statement_plainly_where_it_cannot, .timeout = 10) {
  fixture_open(&f);
  fixture_take_stmt(&f);
  pool = fixture_pool(&f, "Max Pool Size=1");
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(exec_with("count 1", NULL, 0, WEIR_EXEC_PREPARED), WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).prepared, 0);
  fixture_close(&f);
}

/* ----------------------------------------------------------------- errors */

Test(exec, reports_what_the_server_said, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease, "fail 2627 duplicate key"), WEIR_E_FAIL);
  cr_assert_eq(f.err.native, 2627);
  cr_assert_eq(f.err.native_severity, 16);
  cr_assert_eq(f.err.native_state, 0);
  cr_assert_eq(f.err.scope, WEIR_DRV_SCOPE_STATEMENT);
  cr_assert_eq(f.err.phase, WEIR_PHASE_EXEC);
  cr_assert_str_eq(f.err.message, "duplicate key");
  /* The connection is as good as before. */
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(exec, reports_state_and_line_of_an_error, .timeout = 10) {
  open_real("Mock Script Text=\"exec: fail statement syntax native 102 "
            "severity 15 state 4 line 12 'near'\"");
  cr_assert_eq(fixture_exec(&f, lease, "x"), WEIR_E_FAIL);
  cr_assert_eq(f.err.native_state, 4);
  cr_assert_eq(f.err.line, 12);
  fixture_close(&f);
}

Test(exec, leaves_notices_to_be_read_after_it_failed, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease,
                            "notice 1 1 one; notice 2 1 two; "
                            "fail 50000 third"),
               WEIR_E_FAIL);
  cr_assert_str_eq(f.err.message, "third");
  cr_assert_str_eq(want(WEIR_ITEM_NOTICE).message, "one");
  cr_assert_str_eq(want(WEIR_ITEM_NOTICE).message, "two");
  cr_assert_eq(next_code(), WEIR_E_ARG);
  /* Left unread they are nobody else's. */
  cr_assert_eq(fixture_exec(&f, lease, "notice 3 1 old; fail 1 x"),
               WEIR_E_FAIL);
  cr_assert_eq(fixture_exec(&f, lease, "notice 4 1 new"), WEIR_OK);
  cr_assert_str_eq(want(WEIR_ITEM_NOTICE).message, "new");
  (void)want(WEIR_ITEM_DONE);
  fixture_close(&f);
}

Test(exec,
     tells_notices_before_the_failure_that_came_with_them,
     .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease,
                            "rows 1; notice 1 1 one; "
                            "notice 2 1 two; fail 50000 third"),
               WEIR_OK);
  (void)want(WEIR_ITEM_META);
  (void)weir_rows_free(want(WEIR_ITEM_ROWS).rows);
  (void)want(WEIR_ITEM_COUNT);
  cr_assert_str_eq(want(WEIR_ITEM_NOTICE).message, "one");
  cr_assert_str_eq(want(WEIR_ITEM_NOTICE).message, "two");
  /* Not told yet, so not over yet. */
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_E_BUSY);
  cr_assert_eq(next_code(), WEIR_E_FAIL);
  cr_assert_eq(f.err.native, 50000);
  cr_assert_str_eq(f.err.message, "third");
  cr_assert_eq(next_code(), WEIR_E_ARG);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(exec, refuses_another_statement_while_a_result_is_unread, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_E_BUSY);
  cr_assert_not_null(strstr(f.err.message, "WEIR_ITEM_DONE"));
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

/* Scenario 79: a dead connection answers with a status for as long as its
 * caller holds it. */
Test(exec, answers_on_a_dead_connection, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease, "kill"), WEIR_E_FAIL);
  cr_assert_eq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_assert_eq(f.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 1);
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_E_FAIL);
  cr_assert_not_null(strstr(f.err.message, "broken"));
  cr_assert_eq(next_code(), WEIR_E_ARG);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

/* -------------------------------------------------- time-outs and cancel */

Test(exec, cancels_at_its_time_out_and_keeps_the_connection, .timeout = 10) {
  open_virtual("Command Timeout=3");
  struct runner r;
  int64_t session = fixture_number(&f, lease, "session", 0);
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 3 * (uint64_t)FIXTURE_S - 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 1);
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  cr_assert_eq(r.ended, VIRTUAL_CLOCK_START + 3 * (uint64_t)FIXTURE_S);
  cr_assert_eq(fixture_counts(&f).cancelled, 1);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), session);
  fixture_close(&f);
}

/* Scenario 25: neither the statement nor its cancellation is ever answered. */
Test(exec, closes_a_connection_that_does_not_acknowledge, .timeout = 10) {
  open_virtual("Command Timeout=3;Mock Script Text=\"cancel: hang\"");
  struct runner r;
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 3 * (uint64_t)FIXTURE_S);
  /* The cancellation hangs now, for two seconds of grace. */
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  AWAIT_COUNT(&f, calls[MOCK_CANCEL], 1);
  fixture_sync(&f); /* its grace has begun */
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 2 * (uint64_t)FIXTURE_S);
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  cr_assert_eq(r.err.flags & WEIR_DRV_EF_MAYBE_EXECUTED, 1);
  cr_assert_geq(r.err.scope, WEIR_DRV_SCOPE_CONN);
  cr_assert_eq(fixture_counts(&f).sessions_live, 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* The cancellation comes too late, and the result goes on to its end.  How slowly
 * it is read is its user's affair. */
Test(exec, lets_a_result_that_won_be_read_slowly, .timeout = 10) {
  open_virtual("Mock Script Text=\"cancel: rows 3x1\"");
  struct weir_exec_opts opts = {.struct_size = sizeof opts, .batch_rows = 1};
  cr_assert_eq(weir_exec(lease, "rows 1", 6, &opts, &f.err), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  for (int i = 0; i < 3; i++) {
    fixture_advance(&f, 60 * (uint64_t)FIXTURE_S);
    (void)weir_rows_free(want(WEIR_ITEM_ROWS).rows);
  }
  (void)want(WEIR_ITEM_COUNT);
  fixture_advance(&f, 60 * (uint64_t)FIXTURE_S);
  (void)want(WEIR_ITEM_DONE);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

/* The same where it is the time-out that came too late. */
Test(exec,
     lets_a_result_that_outran_its_time_out_be_read_slowly,
     .timeout = 10) {
  open_virtual("Command Timeout=3;Mock Script Text=\"cancel: rows 1x1\"");
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_OK);
  fixture_advance(&f, 3 * (uint64_t)FIXTURE_S);
  (void)want(WEIR_ITEM_META);
  (void)want(WEIR_ITEM_META);
  fixture_advance(&f, 60 * (uint64_t)FIXTURE_S);
  (void)weir_rows_free(want(WEIR_ITEM_ROWS).rows);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  fixture_close(&f);
}

/* What the server is waited for adds up: pauses do not grant it more. */
Test(exec, gives_up_a_server_that_drips_after_a_cancellation, .timeout = 10) {
  open_virtual("Mock Script Text=\"cancel: count 1, delay 1500ms, count 2, "
               "delay 1500ms, count 3\"");
  pthread_t reader;
  int rc = WEIR_OK;
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  (void)want(WEIR_ITEM_COUNT);
  fixture_advance(&f, 60 * (uint64_t)FIXTURE_S);
  cr_assert_eq(pthread_create(&reader, NULL, drain, &rc), 0);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 1500 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 500 * (uint64_t)FIXTURE_MS);
  (void)pthread_join(reader, NULL);
  cr_assert_eq(rc, WEIR_E_CANCELLED);
  cr_assert_geq(f.err.scope, WEIR_DRV_SCOPE_CONN);
  fixture_close(&f);
}

Test(exec, ends_when_another_thread_cancels, .timeout = 10) {
  open_real("");
  struct runner r;
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  cr_assert_eq(runner_join(&r), WEIR_E_CANCELLED);
  cr_assert_eq(r.err.kind, WEIR_DRV_K_CANCELLED);
  /* Scenario 26: nothing of it is left for the next statement. */
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

/* A result that flows without a wait can be cancelled all the same. */
Test(exec, ends_a_flowing_result_that_was_cancelled, .timeout = 10) {
  open_real("");
  struct weir_exec_opts opts = {.struct_size = sizeof opts, .batch_rows = 1};
  cr_assert_eq(weir_exec(lease, "rows 1000000", 12, &opts, &f.err), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  (void)weir_rows_free(want(WEIR_ITEM_ROWS).rows);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_E_CANCELLED);
  cr_assert_lt(fixture_counts(&f).rows, 10);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  fixture_close(&f);
}

Test(exec, ends_a_flowing_result_at_its_time_out, .timeout = 10) {
  open_virtual("");
  struct weir_exec_opts opts = {
      .struct_size = sizeof opts, .batch_rows = 1, .timeout_ns = FIXTURE_S};
  cr_assert_eq(weir_exec(lease, "rows 1000000", 12, &opts, &f.err), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  fixture_advance(&f, (uint64_t)FIXTURE_S);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_E_TIMEOUT);
  cr_assert_lt(fixture_counts(&f).rows, 10);
  fixture_close(&f);
}

static void *run_ten_seconds(void *arg) {
  struct runner *r = arg;
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .timeout_ns = 10 * FIXTURE_S};
  struct fixture own = {.err = {.struct_size = sizeof own.err}};
  r->rc = weir_exec(r->lease, r->sql, strlen(r->sql), &opts, &own.err);
  r->rc = r->rc == WEIR_OK ? fixture_drain(&own, r->lease) : r->rc;
  r->ended = weir__clock_now();
  return NULL;
}

/* The first request has a second and is cancelled at 0.5 s; the next begins at
 * 0.6 s, has ten and takes two. */
Test(exec, scenario_172_is_not_ended_by_the_timer_of_another, .timeout = 10) {
  open_virtual("Command Timeout=1");
  struct runner r;
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 500 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  cr_assert_eq(runner_join(&r), WEIR_E_CANCELLED);
  fixture_advance(&f, 100 * (uint64_t)FIXTURE_MS);
  r.sql = "sleep 2000ms; rows 1";
  cr_assert_eq(pthread_create(&r.thread, NULL, run_ten_seconds, &r), 0);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 1999 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 1);
  fixture_advance(&f, (uint64_t)FIXTURE_MS);
  cr_assert_eq(runner_join(&r), WEIR_OK);
  cr_assert_eq(r.ended, VIRTUAL_CLOCK_START + 2600 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 1);
  fixture_close(&f);
}

Test(exec, is_not_hit_by_a_cancellation_of_the_request_before, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  cr_assert_eq(fixture_run(&f, lease, "sleep 2ms"), WEIR_OK);
  fixture_close(&f);
}

/* A cancellation that comes when the call has begun, and before anything is
 * sent, is not lost. */
Test(exec, is_stopped_by_a_cancellation_at_its_very_start, .timeout = 10) {
  open_real("");
  struct runner r;
  gates_install();
  gate_hold("lease.begun");
  runner_start(&r, &f, lease, "hang");
  cr_assert_eq(gate_wait_reached("lease.begun", 1), 0);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  gates_restore();
  cr_assert_eq(runner_join(&r), WEIR_E_CANCELLED);
  cr_assert_eq(fixture_run(&f, lease, "sleep 1ms"), WEIR_OK);
  fixture_close(&f);
}

/* Nor is one that comes between two calls on a result; one that comes while
 * nothing runs is. */
Test(exec, is_stopped_between_two_calls, .timeout = 10) {
  open_real("");
  char buf[8];
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  cr_assert_eq(weir_lease_info(lease, WEIR_INFO_SESSION_ID, buf, 8, NULL),
               WEIR_OK);
  cr_assert_eq(fixture_exec(&f, lease, "rows 1; sleep 10ms; rows 1"), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  cr_assert_eq(fixture_exec(&f, lease, "x"), WEIR_E_BUSY);
  cr_assert_eq(weir_cancel(lease), WEIR_OK);
  cr_assert_eq(next_code(), WEIR_E_CANCELLED);
  cr_assert_eq(fixture_run(&f, lease, "sleep 1ms"), WEIR_OK);
  fixture_close(&f);
}

/* Scenario 176: the canceller is late, and the request it meant is over. */
Test(exec, is_not_hit_by_a_late_cancellation, .timeout = 10) {
  open_real("");
  pthread_t late;
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_OK);
  gates_install();
  gate_hold("lease.cancel");
  cr_assert_eq(pthread_create(&late, NULL, cancel_late, NULL), 0);
  cr_assert_eq(gate_wait_reached("lease.cancel", 1), 0);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(fixture_exec(&f, lease, "rows 1; sleep 1ms"), WEIR_OK);
  gates_restore();
  (void)pthread_join(late, NULL);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  fixture_close(&f);
}

/* The same when the lease is over, too, and the next user is at work: with a
 * cancellation of its own connection, as libpq's, that is how another's query was
 * hit. */
Test(exec, scenario_176_spares_the_next_user, .timeout = 10) {
  open_real("");
  pthread_t late;
  cr_assert_eq(fixture_exec(&f, lease, "rows 1"), WEIR_OK);
  gates_install();
  gate_hold("lease.cancel");
  cr_assert_eq(pthread_create(&late, NULL, cancel_late, NULL), 0);
  cr_assert_eq(gate_wait_reached("lease.cancel", 1), 0);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  weir_h other = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_exec(&f, other, "rows 1; sleep 1ms"), WEIR_OK);
  gates_restore();
  (void)pthread_join(late, NULL);
  cr_assert_eq(fixture_drain(&f, other), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 0);
  fixture_close(&f);
}

Test(exec, waits_for_ever_when_told_to, .timeout = 10) {
  open_virtual("Command Timeout=3");
  struct weir_exec_opts opts = {.struct_size = sizeof opts,
                                .timeout_ns = WEIR_TIMEOUT_NEVER};
  struct runner r;
  (void)opts;
  runner_start(&r, &f, lease, "sleep 2500ms");
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 2500 * (uint64_t)FIXTURE_MS);
  cr_assert_eq(runner_join(&r), WEIR_OK);
  cr_assert_eq(weir_exec(lease, "rows 1", 6, &opts, &f.err), WEIR_OK);
  fixture_advance(&f, 1000 * 3600 * (uint64_t)FIXTURE_S);
  cr_assert_eq(fixture_drain(&f, lease), WEIR_OK);
  fixture_close(&f);
}

/* ------------------------------------------------------------ what outlives */

Test(exec, gives_rows_that_outlive_everything, .timeout = 10) {
  open_real("");
  cr_assert_eq(fixture_exec(&f, lease, "rows 3"), WEIR_OK);
  (void)want(WEIR_ITEM_META);
  struct weir_item rows = want(WEIR_ITEM_ROWS);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(weir_pool_close(pool), WEIR_OK);
  fixture_close(&f);
  int64_t value;
  memcpy(&value, rows.cells[2].p, sizeof value);
  cr_assert_eq(rows.n_rows, 3);
  cr_assert_eq(rows.cells[2].n, sizeof value);
  cr_assert_eq(weir_rows_free(rows.rows), WEIR_OK);
}

/* ------------------------------------------------------- between two users */

Test(exec, leaves_nothing_unread_to_the_next_user, .timeout = 10) {
  static const char *const left[] = {"notice 1 1 secret", "set x", "begin",
                                     "notice 1 1 a; fail 1 b"};
  for (size_t i = 0; i < sizeof left / sizeof left[0]; i++) {
    open_real("");
    (void)fixture_exec(&f, lease, left[i]);
    cr_assert_eq(weir_release(lease), WEIR_OK);
    lease = fixture_acquire(&f, pool);
    cr_assert_eq(next_code(), WEIR_E_ARG, "after %s", left[i]);
    cr_assert_eq(fixture_exec(&f, lease, "count 1"), WEIR_OK, "after %s",
                 left[i]);
    (void)want(WEIR_ITEM_COUNT);
    (void)want(WEIR_ITEM_DONE);
    fixture_close(&f);
  }
}

Test(exec, resets_a_dirty_session_with_the_next_request, .timeout = 10) {
  open_real("");
  int64_t session = fixture_number(&f, lease, "session", 0);
  cr_assert_eq(fixture_run(&f, lease, "set secret"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).resets, 0);
  cr_assert_eq(fixture_stats(pool).idle, 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_number(&f, lease, "show", 3), 1);
  cr_assert_eq(fixture_counts(&f).resets, 1);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), session);
  cr_assert_eq(fixture_number(&f, lease, "show", 0), INT64_MIN);
  fixture_close(&f);
}

Test(exec, resets_an_open_transaction_before_anyone_gets_it, .timeout = 10) {
  open_real("");
  int64_t session = fixture_number(&f, lease, "session", 0);
  cr_assert_eq(fixture_run(&f, lease, "begin"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, idle, 1);
  cr_assert_eq(fixture_counts(&f).resets, 1);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_number(&f, lease, "show", 2), WEIR_DRV_TXN_NONE);
  cr_assert_eq(fixture_number(&f, lease, "session", 0), session);
  fixture_close(&f);
}

/* A release never waits (P7), whatever the reset does; the slot is RESERVED
 * meanwhile and goes to who waits. */
Test(exec, resets_on_the_reactor_and_hands_over_then, .timeout = 10) {
  open_real("Connection Reset=verified;Mock Script Text=\"reset: hang\"");
  struct acquirer w;
  cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(fixture_stats(pool).reserved, 1);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).resets, 1);
  fixture_close(&f);
}

Test(exec, closes_a_session_whose_reset_failed, .timeout = 10) {
  open_real("Connection Reset=verified;"
            "Mock Script Text=\"reset: fail statement other 'no'\"");
  struct acquirer w;
  cr_assert_eq(fixture_run(&f, lease, "set x"), WEIR_OK);
  acquirer_start(&w, pool, WEIR_TIMEOUT_NEVER);
  AWAIT_STAT(pool, waiters, 1);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  cr_assert_eq(acquirer_join(&w), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CONNECT], 2);
  fixture_close(&f);
}

Test(exec, does_not_reset_when_told_not_to, .timeout = 10) {
  open_real("Connection Reset=off");
  cr_assert_eq(fixture_run(&f, lease, "set mine"), WEIR_OK);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  lease = fixture_acquire(&f, pool);
  cr_assert_eq(fixture_number(&f, lease, "show", 3), 0);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_RESET], 0);
  fixture_close(&f);
}

/* Scenario 49: a clear cuts off nobody. */
Test(exec, runs_on_when_its_pool_is_cleared, .timeout = 10) {
  open_real("");
  struct runner r;
  runner_start(&r, &f, lease, "hang");
  AWAIT_COUNT(&f, hung, 1);
  cr_assert_eq(weir_pool_clear(pool), WEIR_OK);
  cr_assert_eq(f.mock->release_hung(f.drv, 0), 1);
  cr_assert_eq(runner_join(&r), WEIR_OK, "%s", r.err.message);
  cr_assert_eq(fixture_run(&f, lease, "rows 1"), WEIR_OK);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  AWAIT_STAT(pool, empty, 1);
  fixture_close(&f);
}

/* An offloaded call must be back before its connection is closed. */
Test(exec, waits_for_an_offloaded_call_before_it_closes, .timeout = 10) {
  open_virtual("Command Timeout=3;Mock Script Text=\"exec 2: offload hang\"");
  struct runner r;
  int64_t session = fixture_number(&f, lease, "session", 0);
  runner_start(&r, &f, lease, "x");
  fixture_await_offload(&f, 1);
  cr_assert_eq(virtual_clock_wait_parked(1), 0);
  fixture_advance(&f, 3 * (uint64_t)FIXTURE_S);
  cr_assert_eq(runner_join(&r), WEIR_E_TIMEOUT);
  cr_assert_eq(fixture_counts(&f).calls[MOCK_CANCEL], 0);
  cr_assert_eq(weir_release(lease), WEIR_OK);
  fixture_sync(&f);
  cr_assert_eq(fixture_counts(&f).conns_live, 1);
  cr_assert_eq(fixture_stats(pool).closing, 1);
  cr_assert_eq(f.mock->kill_session(f.drv, (uint64_t)session), 1);
  AWAIT_STAT(pool, empty, 1);
  cr_assert_eq(fixture_counts(&f).conns_live, 0);
  fixture_close(&f);
}
