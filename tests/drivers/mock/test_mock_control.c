/* SPDX-License-Identifier: MIT */
/* Control from outside, counts, and what the mock asserts of the engine. */
#include <poll.h>
#include <signal.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"

static bool readable(const struct fake_host *h) {
  struct pollfd p = {.fd = (int)h->wait.want[0].fd, .events = POLLIN};
  return h->wait.n_want == 1 && poll(&p, 1, 0) == 1;
}

Test(mock_control, releases_what_hangs_through_a_descriptor, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_exec(h, c, "hang; rows 1").status, WEIR_DRV_WAIT);
  cr_assert_eq(h->wait.n_want, 1);
  cr_assert_not(readable(h));
  cr_assert_eq(fake_counts(h).hung, 1);
  cr_assert_eq(h->mock->release_hung(h->drv, 1), 1);
  cr_assert(readable(h));
  struct fake_run run = fake_go_on(h, c);
  cr_assert_eq(run.status, WEIR_DRV_DONE);
  cr_assert_str_eq(run.text, "c1|0|#1|");
  cr_assert_eq(fake_counts(h).hung, 0);
  h->driver->conn_destroy(c);
  cr_assert_eq(atomic_load(&h->forgotten), 1);
  fake_close(h);
}

Test(mock_control, stays_hung_on_a_spurious_step, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "hang");
  cr_assert_eq(fake_go_on(h, c).status, WEIR_DRV_WAIT);
  cr_assert_eq(h->wait.n_want, 1);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_control, hangs_twice_without_a_wake_up_left_over, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "hang");
  (void)h->mock->release_hung(h->drv, 0);
  (void)fake_cancel(h, c);
  cr_assert_eq(fake_exec(h, c, "hang").status, WEIR_DRV_WAIT);
  cr_assert_not(readable(h));
  cr_assert_eq(fake_go_on(h, c).status, WEIR_DRV_WAIT);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_control, releases_the_longest_hung_first, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *a = fake_connected(h);
  weir_drv_conn *b = fake_connected(h);
  (void)fake_exec(h, b, "hang");
  (void)fake_exec(h, a, "hang");
  cr_assert_eq(h->mock->release_hung(h->drv, 1), 1);
  cr_assert_eq(fake_go_on(h, a).status, WEIR_DRV_WAIT);
  cr_assert_eq(fake_go_on(h, b).status, WEIR_DRV_DONE);
  cr_assert_eq(h->mock->release_hung(h->drv, 5), 1);
  cr_assert_eq(fake_go_on(h, a).status, WEIR_DRV_DONE);
  cr_assert_eq(h->mock->release_hung(h->drv, 0), 0);
  h->driver->conn_destroy(a);
  h->driver->conn_destroy(b);
  fake_close(h);
}

Test(mock_control,
     kills_an_idle_session_so_that_the_watch_sees_it,
     .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *a = fake_connected(h);
  weir_drv_conn *b = fake_connected(h);
  fake_fresh(h);
  cr_assert_eq(h->driver->idle(b, &h->wait), WEIR_DRV_WAIT);
  cr_assert_not(readable(h));
  cr_assert_eq(h->mock->kill_idle(h->drv, 3), 0);
  cr_assert_eq(h->mock->kill_idle(h->drv, 2), 1);
  cr_assert(readable(h));
  cr_assert_eq(h->driver->health(b), WEIR_DRV_ALIVE_NO);
  cr_assert_eq(h->driver->health(a), WEIR_DRV_ALIVE_YES);
  cr_assert_eq(fake_counts(h).sessions_live, 1);
  cr_assert_eq(fake_exec(h, b, "rows 1").status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_CONN);
  h->driver->conn_destroy(a);
  h->driver->conn_destroy(b);
  fake_close(h);
}

Test(mock_control, kills_a_hanging_session, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "hang");
  cr_assert_eq(h->mock->kill_idle(h->drv, 1), 0);
  cr_assert_eq(h->mock->kill_session(h->drv, 1), 1);
  cr_assert_eq(h->mock->kill_session(h->drv, 1), 0);
  cr_assert(readable(h));
  cr_assert_eq(fake_go_on(h, c).status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_CONN);
  cr_assert_eq(fake_counts(h).died, 1);
  cr_assert_eq(fake_counts(h).hung, 0);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_control, offers_no_watch_when_told_not_to, .timeout = 5) {
  struct fake_host *h = fake_open("Mock Idle Watch=false");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(h->driver->idle(c, &h->wait), WEIR_DRV_E_UNSUPPORTED);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_control, counts_calls_and_high_water_marks, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *a = fake_connected(h);
  weir_drv_conn *b = fake_connected(h);
  (void)fake_exec(h, a, "rows 3");
  (void)fake_exec(h, b, "hang");
  h->driver->abort_conn(b, WEIR_DRV_ABORT_CLOSE);
  h->driver->conn_destroy(b);
  struct mock_counts n = fake_counts(h);
  cr_assert_eq(n.calls[MOCK_CONN_CREATE], 2);
  cr_assert_eq(n.calls[MOCK_CONNECT], 2);
  cr_assert_eq(n.calls[MOCK_EXEC], 2);
  cr_assert_eq(n.calls[MOCK_ABORT], 1);
  cr_assert_eq(n.calls[MOCK_CONN_DESTROY], 1);
  cr_assert_eq(n.conns_live, 1);
  cr_assert_eq(n.conns_max, 2);
  cr_assert_eq(n.sessions_live, 1);
  cr_assert_eq(n.sessions_max, 2);
  cr_assert_eq(n.connects_running, 0);
  cr_assert_eq(n.connects_max, 1);
  cr_assert_eq(n.running, 0);
  cr_assert_eq(n.hung, 0);
  cr_assert_eq(n.rows, 3);
  h->driver->conn_destroy(a);
  fake_close(h);
}

Test(mock_control, fills_no_more_of_the_counts_than_there_is, .timeout = 5) {
  struct fake_host *h = fake_open("");
  struct mock_counts n;
  memset(&n, 0xAB, sizeof n);
  n.struct_size = 16;
  h->mock->counts(h->drv, &n);
  cr_assert_eq(n.struct_size, 16);
  cr_assert_eq(n.calls[MOCK_CONFIG_CREATE], 1);
  cr_assert_eq(n.conns_live, UINT64_C(0xABABABABABABABAB));
  fake_close(h);
}

Test(mock_control,
     counts_connections_that_outlive_their_configuration,
     .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  h->driver->config_destroy(h->drv, h->cfg);
  h->cfg = NULL;
  cr_assert_eq(fake_counts(h).leaked, 1);
  h->driver->conn_destroy(c);
  fake_close(h);
}

/* An overlapping call, made from inside another one: the host's batch() is
 * called by the driver while exec or step runs. */
static weir_drv_conn *busy;
static weir_drv_status answered;
static weir_drv_batch *(*real_batch)(void *ctx, weir_drv_hconn *hc);

static weir_drv_batch *overlap(void *ctx, weir_drv_hconn *hc) {
  struct fake_host *h = ctx;
  struct weir_drv_value v;
  answered = h->driver->get(busy, WEIR_DRV_P_SESSION_ID, &v);
  return real_batch(ctx, hc);
}

static struct fake_run run_with_overlap(struct fake_host *h) {
  real_batch = h->table.batch;
  h->table.batch = overlap;
  return fake_exec(h, busy, "rows 1");
}

Test(mock_control, counts_calls_that_overlap_on_one_connection, .timeout = 5) {
  struct fake_host *h = fake_open("");
  busy = fake_connected(h);
  cr_assert_eq(run_with_overlap(h).status, WEIR_DRV_DONE);
  cr_assert_eq(answered, WEIR_DRV_E_INVALID);
  cr_assert_eq(fake_counts(h).overlaps, 1);
  h->driver->conn_destroy(busy);
  fake_close(h);
}

Test(mock_control,
     aborts_on_an_overlap_when_it_is_strict,
     .timeout = 5,
     .signal = SIGABRT) {
  struct fake_host *h = fake_open("Mock Strict=true");
  busy = fake_connected(h);
  (void)run_with_overlap(h);
}

Test(mock_control,
     aborts_when_a_lock_of_the_engine_is_held,
     .timeout = 5,
     .signal = SIGABRT) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  h->locks = 1;
  (void)fake_exec(h, c, "rows 1");
}

Test(mock_control, counts_calls_that_are_not_legal_now, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_conn(h);
  cr_assert_eq(fake_exec(h, c, "rows 1").status, WEIR_DRV_E_INVALID);
  cr_assert_eq(fake_go_on(h, c).status, WEIR_DRV_E_INVALID);
  (void)fake_connect(h, c);
  cr_assert_eq(fake_connect(h, c).status, WEIR_DRV_E_INVALID);
  (void)fake_exec(h, c, "hang");
  cr_assert_eq(fake_ping(h, c).status, WEIR_DRV_E_INVALID);
  cr_assert_eq(fake_cancel(h, c).status, WEIR_DRV_FAIL);
  cr_assert_eq(fake_cancel(h, c).status, WEIR_DRV_E_INVALID);
  h->driver->abort_conn(c, WEIR_DRV_ABORT_CLOSE);
  cr_assert_eq(h->driver->health(c), WEIR_DRV_ALIVE_NO);
  cr_assert_eq(fake_counts(h).misuses, 6);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_control, forgets_without_telling_the_host, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "hang");
  h->driver->abort_conn(c, WEIR_DRV_ABORT_FORGET);
  cr_assert_eq(atomic_load(&h->forgotten), 0);
  cr_assert_eq(fake_counts(h).forgets, 1);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_control, is_one_of_two_extensions, .timeout = 5) {
  struct fake_host *h = fake_open("");
  cr_assert_null(h->driver->extension(h->drv, "weir.bulk", 0));
  cr_assert_null(h->driver->extension(h->drv, "weir.stmt", 2));
  cr_assert_null(h->driver->extension(h->drv, MOCK_CONTROL_NAME, 2));
  cr_assert_eq(h->mock->version, 1);
  fake_close(h);
}
