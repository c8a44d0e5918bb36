/* SPDX-License-Identifier: MIT */
/* The mock without a script: life, statements, session state, key. */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "fake_host.h"

#define MS UINT64_C(1000000)

Test(mock, connects_executes_and_logs_out, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_conn(h);
  cr_assert_eq(fake_connect(h, c).status, WEIR_DRV_DONE);
  cr_assert_eq(h->wait.usable, 1);
  cr_assert_eq(h->wait.txn, WEIR_DRV_TXN_NONE);
  cr_assert_eq(h->wait.dirty, 0);
  cr_assert_eq(h->driver->health(c), WEIR_DRV_ALIVE_YES);
  cr_assert_eq(fake_ping(h, c).status, WEIR_DRV_DONE);
  cr_assert_eq(fake_logout(h, c).status, WEIR_DRV_DONE);
  cr_assert_eq(h->wait.usable, 0);
  cr_assert_eq(fake_counts(h).sessions_live, 0);
  h->driver->conn_destroy(c);
  fake_close(h);
}

static const struct {
  const char *sql;
  const char *gives;
} statements[] = {
    {"rows 3", "c1|0|1|2|#3|"},
    {"rows 2 3", "c1,c2,c3|0,1,2|3,4,5|#2|"},
    {"rows 0", "c1|#0|"},
    {"ROWS 1", "c1|0|#1|"},
    {"SELECT 1", "text|SELECT 1|#1|"},
    {"  SELECT 'a;b' ; ", "text|SELECT 'a;b'|#1|"},
    {"count 7", "#7|"},
    {"count 1; rows 1; count 2", "#1|c1|0|#1|#2|"},
    {"notice 5701 10 hello there", "!5701:10:hello there|"},
    {"session", "session|1|#1|"},
    {"show", "state,isolation,txn,resets|null,0,0,0|#1|"},
    {"set a b; show", "state,isolation,txn,resets|a b,0,0,0|#1|"},
    {"begin; show; commit", "state,isolation,txn,resets|null,0,1,0|#1|"},
    {"", ""},
    {" ;; ", ""},
};

Test(mock, understands_its_statements, .timeout = 5) {
  for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
    struct fake_host *h = fake_open("");
    weir_drv_conn *c = fake_connected(h);
    struct fake_run run = fake_exec(h, c, statements[i].sql);
    cr_expect_eq(run.status, WEIR_DRV_DONE, "%s", statements[i].sql);
    cr_expect_str_eq(run.text, statements[i].gives, "%s gave %s",
                     statements[i].sql, run.text);
    h->driver->conn_destroy(c);
    fake_close(h);
  }
}

static const struct {
  const char *sql;
  const char *says;
} mistakes[] = {
    {"rows", "mock statement, byte 5: expected a number of rows"},
    {"rows x", "mock statement, byte 6: expected a number of rows"},
    {"rows 99999999999", "mock statement, byte 6: expected a number of rows"},
    {"rows 1 0", "mock statement, byte 8: expected at least one column"},
    {"rows 1 1025", "mock statement, byte 8: expected a number of columns"},
    {"rows 1 1 1",
     "mock statement, byte 10: expected the end of the statement"},
    {"count 1; sleep soon",
     "mock statement, byte 16: expected a duration such as 5ms"},
    {"set", "mock statement, byte 4: expected a text of 1 to 256 bytes"},
    {"fail", "mock statement, byte 5: expected the number of the error"},
    {"begin work", "mock statement, byte 7: expected the end of the statement"},
    {"a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a;a",
     "mock statement, byte 33: expected no more than 16 statements"},
};

Test(mock, names_the_place_of_a_bad_statement, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    cr_expect_eq(fake_exec(h, c, mistakes[i].sql).status, WEIR_DRV_FAIL);
    cr_expect_eq(h->err.scope, WEIR_DRV_SCOPE_STATEMENT);
    cr_expect_eq(h->err.kind, WEIR_DRV_K_SYNTAX);
    cr_expect_str_eq(h->message, mistakes[i].says, "%s", h->message);
    cr_expect_eq(h->wait.usable, 1);
  }
  cr_assert_eq(fake_exec(h, c, "rows 1").status, WEIR_DRV_DONE);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, fails_a_statement_with_its_number, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  struct fake_run run = fake_exec(h, c, "count 1; fail 1205 chosen as victim");
  cr_assert_eq(run.status, WEIR_DRV_FAIL);
  cr_assert_str_eq(run.text, "#1|");
  cr_assert_eq(h->err.native, 1205);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_STATEMENT);
  cr_assert_str_eq(h->message, "chosen as victim");
  cr_assert_eq(h->wait.usable, 1);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, loses_the_connection_on_kill, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_exec(h, c, "begin; kill").status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_CONN);
  cr_assert_eq(h->err.kind, WEIR_DRV_K_NETWORK);
  cr_assert_eq(h->err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
  cr_assert_eq(h->wait.usable, 0);
  cr_assert_eq(fake_counts(h).died, 1);
  cr_assert_eq(fake_counts(h).sessions_live, 0);
  cr_assert_eq(fake_exec(h, c, "rows 1").status, WEIR_DRV_E_INVALID);
  cr_assert_eq(fake_counts(h).misuses, 1);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, echoes_parameters_with_their_types, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  struct weir_drv_param params[6];
  memset(params, 0, sizeof params);
  params[0].value = (struct weir_drv_value){.type = WEIR_DRV_T_INT, .i = -5};
  params[1].value =
      (struct weir_drv_value){.type = WEIR_DRV_T_TEXT, .p = "abc", .n = 3};
  params[2].value = (struct weir_drv_value){.type = WEIR_DRV_T_NULL};
  params[3].value = (struct weir_drv_value){.type = WEIR_DRV_T_FLOAT, .f = 1.5};
  params[4].value = (struct weir_drv_value){.type = WEIR_DRV_T_BOOL, .i = 1};
  params[5].value =
      (struct weir_drv_value){.type = WEIR_DRV_T_TEXT, .p = "", .n = 0};
  struct weir_drv_exec_args a = {.struct_size = (uint32_t)sizeof a,
                                 .sql = {.p = "q", .n = 1},
                                 .params = params,
                                 .n_params = 6,
                                 .params_stride = (uint32_t)sizeof params[0]};
  struct fake_run run = fake_exec_args(h, c, &a);
  cr_assert_str_eq(run.text,
                   "text,p1,p2,p3,p4,p5,p6|q,-5,abc,null,1.5,true,|#1|", "%s",
                   run.text);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, refuses_more_parameters_than_it_can_hold, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  struct weir_drv_param param = {.struct_size = (uint32_t)sizeof param};
  struct weir_drv_exec_args a = {.struct_size = (uint32_t)sizeof a,
                                 .params = &param,
                                 .n_params = 256,
                                 .params_stride = (uint32_t)sizeof param};
  cr_assert_eq(fake_exec_args(h, c, &a).status, WEIR_DRV_E_INVALID);
  cr_assert_eq(fake_counts(h).running, 0);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, gives_back_the_output_parameters_after_the_results, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  struct weir_drv_param params[3];
  memset(params, 0, sizeof params);
  params[0].value = (struct weir_drv_value){.type = WEIR_DRV_T_INT, .i = 1};
  params[1].value = (struct weir_drv_value){.type = WEIR_DRV_T_INT, .i = 7};
  params[1].flags = params[2].flags = WEIR_DRV_PARAM_OUT;
  params[1].name = (struct weir_drv_text){.p = "@a", .n = 2};
  params[2].type_hint = (struct weir_drv_text){.p = "int", .n = 3};
  struct weir_drv_exec_args a = {
      .struct_size = (uint32_t)sizeof a,
      .sql = {.p = "count 3; out 2 new; params", .n = 26},
      .params = params,
      .n_params = 3,
      .params_stride = (uint32_t)sizeof params[0]};
  struct fake_run run = fake_exec_args(h, c, &a);
  cr_assert_str_eq(run.text,
                   "#3|name,type,hint,out|null,2,null,0|@a,2,null,1|"
                   "null,0,int,1|#3|=@a,o2|7,new|",
                   "%s", run.text);
  a.sql = (struct weir_drv_text){.p = "out 3", .n = 5};
  cr_assert_eq(fake_exec_args(h, c, &a).status, WEIR_DRV_FAIL);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, prepares_a_statement_once_between_two_resets, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  const struct weir_drv_stmt_api *stmt =
      h->driver->extension(h->drv, WEIR_DRV_STMT_NAME, 1);
  struct weir_drv_exec_args a = {.struct_size = (uint32_t)sizeof a,
                                 .sql = {.p = "count 1", .n = 7}};
  struct weir_drv_stmt_stats stats = {.struct_size = (uint32_t)sizeof stats};
  for (int i = 0; i < 4; i++) {
    if (i == 2) {
      (void)fake_reset(h, c, WEIR_DRV_RESET_LAZY);
    }
    fake_fresh(h);
    cr_assert_eq(stmt->exec(c, &a, &h->wait, &h->err), WEIR_DRV_COUNT);
    cr_assert_eq(fake_go_on(h, c).status, WEIR_DRV_DONE);
  }
  cr_assert_eq(stmt->stats(c, &stats), WEIR_DRV_DONE);
  cr_assert_eq(stats.cached, 1);
  cr_assert_eq(stats.prepared, 2);
  cr_assert_eq(stats.reused, 2);
  cr_assert_null(h->driver->extension(h->drv, WEIR_DRV_STMT_NAME, 2));
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, keeps_batches_below_the_bounds_it_is_given, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  struct weir_drv_exec_args a = {.struct_size = (uint32_t)sizeof a,
                                 .sql = {.p = "rows 10", .n = 7},
                                 .batch_rows = 3};
  cr_assert_eq(fake_exec_args(h, c, &a).batches, 4);
  a.batch_rows = 0;
  a.batch_bytes = 16;
  cr_assert_eq(fake_exec_args(h, c, &a).batches, 5);
  a.batch_bytes = 1;
  cr_assert_eq(fake_exec_args(h, c, &a).batches, 10);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, gives_counts_only_when_rows_are_not_wanted, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  struct weir_drv_exec_args a = {.struct_size = (uint32_t)sizeof a,
                                 .flags = WEIR_DRV_XF_NO_ROWS,
                                 .sql = {.p = "rows 10", .n = 7}};
  cr_assert_str_eq(fake_exec_args(h, c, &a).text, "#10|");
  h->driver->conn_destroy(c);
  fake_close(h);
}

/* --------------------------------------------------- state left in a session */

Test(mock, reports_what_a_statement_leaves_behind, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "set x");
  cr_assert_eq(h->wait.dirty, WEIR_DRV_DIRTY_SETTINGS);
  (void)fake_exec(h, c, "begin");
  cr_assert_eq(h->wait.dirty, WEIR_DRV_DIRTY_SETTINGS | WEIR_DRV_DIRTY_TXN);
  cr_assert_eq(h->wait.txn, WEIR_DRV_TXN_OPEN);
  (void)fake_exec(h, c, "rollback");
  cr_assert_eq(h->wait.txn, WEIR_DRV_TXN_NONE);
  cr_assert_eq(h->wait.dirty, WEIR_DRV_DIRTY_SETTINGS);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, clears_state_at_once_on_an_eager_reset, .timeout = 5) {
  struct fake_host *h = fake_open("Mock Reset Delay=2ms");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "set x; begin");
  struct fake_run run = fake_reset(h, c, WEIR_DRV_RESET_EAGER);
  cr_assert_eq(run.status, WEIR_DRV_DONE);
  cr_assert_eq(run.waited_ns, 2 * MS);
  cr_assert_eq(h->wait.dirty, 0);
  run = fake_exec(h, c, "show");
  cr_assert_str_eq(run.text, "state,isolation,txn,resets|null,0,0,1|#1|");
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, clears_state_before_the_next_request_on_a_lazy_reset, .timeout = 5) {
  struct fake_host *h = fake_open("Mock Reset Delay=2ms;Mock Exec Delay=1ms");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "set x; begin");
  struct fake_run run = fake_reset(h, c, WEIR_DRV_RESET_LAZY);
  cr_assert_eq(run.status, WEIR_DRV_DONE);
  cr_assert_eq(run.steps, 0);
  cr_assert_eq(h->wait.dirty, 0);
  cr_assert_eq(h->wait.txn, WEIR_DRV_TXN_NONE);
  cr_assert_eq(fake_counts(h).resets, 0);
  run = fake_exec(h, c, "show");
  cr_assert_eq(run.waited_ns, 3 * MS);
  cr_assert_str_eq(run.text, "state,isolation,txn,resets|null,0,0,1|#1|");
  cr_assert_eq(fake_counts(h).resets, 1);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, keeps_the_transaction_when_a_reset_says_so, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "set x; begin");
  (void)fake_reset(h, c, WEIR_DRV_RESET_KEEP_TXN);
  cr_assert_eq(h->wait.txn, WEIR_DRV_TXN_OPEN);
  cr_assert_eq(h->wait.dirty, WEIR_DRV_DIRTY_TXN);
  struct fake_run run = fake_exec(h, c, "show");
  cr_assert_str_eq(run.text, "state,isolation,txn,resets|null,0,1,1|#1|");
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, says_that_a_lazy_reset_leaves_the_isolation, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_BEGIN).status, WEIR_DRV_DONE);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_SAVE).status, WEIR_DRV_DONE);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_COMMIT).status, WEIR_DRV_DONE);
  (void)fake_reset(h, c, WEIR_DRV_RESET_LAZY);
  cr_assert_eq(h->wait.dirty, WEIR_DRV_DIRTY_SETTINGS);
  struct fake_run run = fake_exec(h, c, "show");
  cr_assert_str_eq(run.text, "state,isolation,txn,resets|null,4,0,1|#1|");
  (void)fake_reset(h, c, WEIR_DRV_RESET_EAGER);
  cr_assert_eq(h->wait.dirty, 0);
  run = fake_exec(h, c, "show");
  cr_assert_str_eq(run.text, "state,isolation,txn,resets|null,0,0,2|#1|");
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, counts_the_verbs_of_transactions, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_txn(h, c, WEIR_DRV_TX_BEGIN);
  (void)fake_txn(h, c, WEIR_DRV_TX_SAVE);
  (void)fake_txn(h, c, WEIR_DRV_TX_ROLLBACK_TO);
  (void)fake_txn(h, c, WEIR_DRV_TX_COMMIT);
  (void)fake_exec(h, c, "begin; rollback");
  struct mock_counts n = fake_counts(h);
  cr_assert_eq(n.begins, 2);
  cr_assert_eq(n.saves, 2);
  cr_assert_eq(n.commits, 1);
  cr_assert_eq(n.rollbacks, 1);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, refuses_transactions_out_of_order, .timeout = 5) {
  struct fake_host *h = fake_open("");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_COMMIT).status, WEIR_DRV_FAIL);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_ROLLBACK).status, WEIR_DRV_FAIL);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_BEGIN).status, WEIR_DRV_DONE);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_BEGIN).status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_STATEMENT);
  cr_assert_eq(h->err.txn, WEIR_DRV_TXN_OPEN);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_PREPARE).status,
               WEIR_DRV_E_UNSUPPORTED);
  h->driver->conn_destroy(c);
  fake_close(h);
}

/* -------------------------------------------------------------- configuration */

Test(mock, asks_for_the_password_only_when_one_was_given, .timeout = 5) {
  struct fake_host *h = fake_open("User ID=sa;Password=");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_counts(h).credentials, 1);
  h->driver->conn_destroy(c);
  fake_close(h);
  h = fake_open("User ID=sa");
  c = fake_connected(h);
  cr_assert_eq(fake_counts(h).credentials, 0);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, fails_for_good_when_no_password_comes, .timeout = 5) {
  struct fake_host *h = fake_open("Password=");
  weir_drv_conn *c = fake_conn(h);
  h->password = NULL;
  cr_assert_eq(fake_connect(h, c).status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_CONFIG);
  cr_assert_eq(h->err.kind, WEIR_DRV_K_AUTH);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, waits_for_its_delays_on_the_clock_of_the_host, .timeout = 5) {
  struct fake_host *h =
      fake_open("Mock Connect Delay=5ms;Mock Exec Delay=1.5 s");
  weir_drv_conn *c = fake_conn(h);
  cr_assert_eq(fake_connect(h, c).waited_ns, 5 * MS);
  cr_assert_eq(fake_exec(h, c, "sleep 250us; rows 1").waited_ns,
               1500 * MS + 250000);
  h->driver->conn_destroy(c);
  fake_close(h);
}

static const struct {
  const char *options;
  const char *says;
} refused[] = {
    {"Mock Exec Delay=soon",
     "Mock Exec Delay: expected a duration such as 5ms or 1.5 s"},
    {"Mock Exec Delay=-1",
     "Mock Exec Delay: expected a duration such as 5ms or 1.5 s"},
    {"Mock Exec Delay=9999999999999 h",
     "Mock Exec Delay: expected a duration such as 5ms or 1.5 s"},
    {"Mock Strict=perhaps", "Mock Strict: expected true or false"},
    {"Mock Sorcery=1", "unknown option 'Mock Sorcery'"},
    {"Mock Script=/nowhere/at all",
     "Mock Script: cannot read /nowhere/at all: No such file or directory"},
    {"Mock Script=/dev", "Mock Script: cannot read /dev: not a regular file"},
    {"Mock Script=/x;Mock Script Text=ping: die",
     "Mock Script and Mock Script Text: give one, not both"},
};

Test(mock, names_the_option_that_is_wrong, .timeout = 5) {
  for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
    struct fake_host *h = fake_open(refused[i].options);
    cr_expect_null(h->cfg);
    cr_expect_eq(h->err.scope, WEIR_DRV_SCOPE_CONFIG);
    cr_expect_str_eq(h->message, refused[i].says, "%s", h->message);
    fake_close(h);
  }
}

struct key {
  char text[512];
};

static void append(struct key *key, const char *p, uint64_t n) {
  size_t have = strlen(key->text);
  cr_assert_lt(have + n, sizeof key->text);
  memcpy(key->text + have, p, n);
}

static weir_drv_status add_part(void *ctx,
                                uint32_t flags,
                                const struct weir_drv_text *name,
                                const struct weir_drv_bytes *value) {
  struct key *key = ctx;
  (void)flags;
  append(key, name->p, name->n);
  append(key, "=", 1);
  append(key, (const char *)value->p, value->n);
  append(key, ";", 1);
  return WEIR_DRV_DONE;
}

static struct key key_of(struct fake_host *h, int32_t which) {
  struct key key = {.text = ""};
  struct weir_drv_key_sink sink = {
      .struct_size = (uint32_t)sizeof sink, .ctx = &key, .part = add_part};
  cr_assert_eq(h->driver->config_key(h->drv, h->cfg, which, &sink),
               WEIR_DRV_DONE);
  return key;
}

Test(mock, puts_into_the_key_what_shapes_a_connection, .timeout = 5) {
  struct fake_host *h = fake_open(
      "Mock Server=a;Database=d;User ID=u;Password=;Mock Connect Delay=5ms;"
      "Mock Script Text=ping: die");
  cr_assert_str_eq(key_of(h, WEIR_DRV_KEY_ENDPOINT).text, "mock server=a;");
  cr_assert_str_eq(key_of(h, WEIR_DRV_KEY_DISPLAY).text,
                   "mock server=a;database=d;user id=u;");
  cr_assert_str_eq(key_of(h, WEIR_DRV_KEY_POOL).text,
                   "mock server=a;database=d;user id=u;"
                   "mock script text=ping: die;mock connect delay=5000000;");
  fake_close(h);
}

Test(mock, leaves_defaults_out_of_the_key, .timeout = 5) {
  struct fake_host *h =
      fake_open("Mock Exec Delay=0;Mock Idle Watch=yes;Database=");
  cr_assert_str_eq(key_of(h, WEIR_DRV_KEY_POOL).text, "mock server=mock;");
  fake_close(h);
}

Test(mock, tells_properties_of_a_session, .timeout = 5) {
  struct fake_host *h = fake_open("Mock Server=a;Database=d");
  weir_drv_conn *c = fake_connected(h);
  struct weir_drv_value v;
  cr_assert_eq(h->driver->get(c, WEIR_DRV_P_SESSION_ID, &v), WEIR_DRV_DONE);
  cr_assert_eq(v.i, 1);
  cr_assert_eq(h->driver->get(c, WEIR_DRV_P_DATABASE, &v), WEIR_DRV_DONE);
  cr_assert_str_eq(v.p, "d");
  cr_assert_eq(h->driver->get(c, 99, &v), WEIR_DRV_E_UNSUPPORTED);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock, survives_every_failed_allocation, .timeout = 20) {
  bool failed = true;
  for (uint64_t n = 1; failed && n < 100; n++) {
    struct fake_host *h = fake_open("Mock Script Text=connect: delay 1ms");
    h->fail_alloc = n;
    weir_drv_conn *c = fake_conn(h);
    if (c != NULL && fake_connect(h, c).status == WEIR_DRV_DONE) {
      struct weir_drv_param param = {.struct_size = (uint32_t)sizeof param,
                                     .flags = WEIR_DRV_PARAM_OUT};
      struct weir_drv_exec_args a = {.struct_size = (uint32_t)sizeof a,
                                     .sql = {.p = "rows 2 2; show", .n = 14},
                                     .params = &param,
                                     .n_params = 1,
                                     .params_stride = (uint32_t)sizeof param};
      (void)fake_exec_args(h, c, &a);
    }
    failed = h->fail_alloc == 0;
    h->driver->conn_destroy(c);
    fake_close(h);
  }
  cr_assert_not(failed);
}
