/* SPDX-License-Identifier: MIT */
/* Scripts: every action, which operations a rule is for, and mistakes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "fake_host.h"

#define MS UINT64_C(1000000)

/* A host with this script, in which '~' stands for the end of a rule. */
static struct fake_host *scripted(const char *script) {
  char options[1024];
  (void)snprintf(options, sizeof options, "Mock Script Text=%s", script);
  return fake_open(options);
}

static const struct {
  const char *rule;
  weir_drv_status status;
  const char *gives;
} execs[] = {
    {"exec: succeed", WEIR_DRV_DONE, ""},
    {"exec: count 5", WEIR_DRV_DONE, "#5|"},
    {"exec: rows 2x2", WEIR_DRV_DONE, "c1,c2|0,1|2,3|#2|"},
    {"exec: rows 2 x 2 1 'it''s'", WEIR_DRV_DONE, "c1,c2|1,it's|1,it's|#2|"},
    {"exec: rows 2x2 1 'a' null 'b'", WEIR_DRV_DONE, "c1,c2|1,a|null,b|#2|"},
    {"exec: rows 1x5 -7 2.5 true x'4142' ''", WEIR_DRV_DONE,
     "c1,c2,c3,c4,c5|-7,2.5,true,AB,|#1|"},
    {"exec: rows 0x1 'a'", WEIR_DRV_DONE, "c1|#0|"},
    {"exec: rows 1x1 9, notice 1 2 'n', count 3, succeed", WEIR_DRV_DONE,
     "c1|9|#1|!1:2:n|#3|"},
    {"exec: notice 1 2 'before'", WEIR_DRV_DONE, "!1:2:before|text|plain|#1|"},
    {"exec: delay 1ms, again 3, offload, resolve 'db' 1433", WEIR_DRV_DONE,
     "text|plain|#1|"},
    {"exec: rows 2x1, die", WEIR_DRV_FAIL, "c1|0|1|#2|"},
    {"exec: succeed, fail conn network", WEIR_DRV_DONE, ""},
    {"# nothing but a comment", WEIR_DRV_DONE, "text|plain|#1|"},
    {" ~~ exec: count 1 ~", WEIR_DRV_DONE, "#1|"},
    {"EXEC EVERY: COUNT 1", WEIR_DRV_DONE, "#1|"},
};

Test(mock_script, does_what_a_rule_for_exec_says, .timeout = 5) {
  for (size_t i = 0; i < sizeof execs / sizeof execs[0]; i++) {
    struct fake_host *h = scripted(execs[i].rule);
    cr_assert_not_null(h->cfg, "%s: %s", execs[i].rule, h->message);
    weir_drv_conn *c = fake_connected(h);
    struct fake_run run = fake_exec(h, c, "plain");
    cr_expect_eq(run.status, execs[i].status, "%s", execs[i].rule);
    cr_expect_str_eq(run.text, execs[i].gives, "%s gave %s", execs[i].rule,
                     run.text);
    h->driver->conn_destroy(c);
    fake_close(h);
  }
}

Test(mock_script, fails_with_everything_that_is_said, .timeout = 5) {
  struct fake_host *h = scripted(
      "exec: fail txn deadlock retry other txn doomed native 1205 severity 13 "
      "sqlstate 40001 after 2s maybe 'chosen'");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_exec(h, c, "x").status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_TXN);
  cr_assert_eq(h->err.kind, WEIR_DRV_K_DEADLOCK);
  cr_assert_eq(h->err.retry, WEIR_DRV_RETRY_OTHER);
  cr_assert_eq(h->err.txn, WEIR_DRV_TXN_DOOMED);
  cr_assert_eq(h->err.native, 1205);
  cr_assert_eq(h->err.native_severity, 13);
  cr_assert_eq(h->err.retry_after_ms, 2000);
  cr_assert_eq(h->err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
  cr_assert_str_eq(h->err.sqlstate, "40001");
  cr_assert_str_eq(h->message, "chosen");
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, dooms_the_open_transaction, .timeout = 5) {
  struct fake_host *h = scripted("exec 2: fail txn deadlock");
  weir_drv_conn *c = fake_connected(h);
  (void)fake_exec(h, c, "begin");
  (void)fake_exec(h, c, "x");
  cr_assert_eq(h->wait.txn, WEIR_DRV_TXN_DOOMED);
  cr_assert_eq(fake_exec(h, c, "rows 1").status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_TXN);
  cr_assert_eq(fake_exec(h, c, "rollback").status, WEIR_DRV_DONE);
  cr_assert_eq(h->wait.txn, WEIR_DRV_TXN_NONE);
  h->driver->conn_destroy(c);
  fake_close(h);
}

/* Which of ten executions the rule was for, as a row of 1 and 0. */
static const struct {
  const char *rule;
  const char *hits;
} ordinals[] = {
    {"exec 3: count 1", "0010000000"},
    {"exec 2-4: count 1", "0111000000"},
    {"exec 8-: count 1", "0000000111"},
    {"exec: count 1", "1111111111"},
    {"exec every: count 1", "1111111111"},
    {"exec every 3: count 1", "0010010010"},
    {"exec on 1: count 1", "1010101010"},
    {"exec 2 on 2: count 1", "0001000000"},
    {"exec every 2 on 1: count 1", "0010001000"},
    {"exec 1-2: succeed ~ exec 1-5: count 1", "0011100000"},
};

Test(mock_script, picks_operations_by_number_and_connection, .timeout = 5) {
  for (size_t i = 0; i < sizeof ordinals / sizeof ordinals[0]; i++) {
    struct fake_host *h = scripted(ordinals[i].rule);
    cr_assert_not_null(h->cfg, "%s: %s", ordinals[i].rule, h->message);
    weir_drv_conn *c[2] = {fake_connected(h), fake_connected(h)};
    char hits[11] = "";
    for (size_t k = 0; k < 10; k++) {
      struct fake_run run = fake_exec(h, c[k % 2], "count 2");
      hits[k] = strcmp(run.text, "#1|") == 0 ? '1' : '0';
    }
    cr_expect_str_eq(hits, ordinals[i].hits, "%s hit %s", ordinals[i].rule,
                     hits);
    h->driver->conn_destroy(c[0]);
    h->driver->conn_destroy(c[1]);
    fake_close(h);
  }
}

Test(mock_script, fails_the_second_connect_only, .timeout = 5) {
  struct fake_host *h =
      scripted("connect 2: delay 3ms, fail endpoint network 'refused'");
  weir_drv_conn *first = fake_connected(h);
  weir_drv_conn *second = fake_conn(h);
  struct fake_run run = fake_connect(h, second);
  cr_assert_eq(run.status, WEIR_DRV_FAIL);
  cr_assert_eq(run.waited_ns, 3 * MS);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_ENDPOINT);
  cr_assert_eq(h->wait.usable, 0);
  cr_assert_eq(fake_counts(h).sessions_live, 1);
  cr_assert_eq(fake_counts(h).sessions_max, 2);
  weir_drv_conn *third = fake_connected(h);
  h->driver->conn_destroy(first);
  h->driver->conn_destroy(second);
  h->driver->conn_destroy(third);
  fake_close(h);
}

Test(mock_script, accepts_one_password, .timeout = 5) {
  struct fake_host *h = fake_open(
      "User ID=sa;Password=;Mock Script Text=connect: password 'right'");
  weir_drv_conn *c = fake_conn(h);
  h->password = "wrong";
  cr_assert_eq(fake_connect(h, c).status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_CONFIG);
  cr_assert_eq(h->err.kind, WEIR_DRV_K_AUTH);
  cr_assert_eq(h->err.retry, WEIR_DRV_RETRY_CRED);
  cr_assert_null(strstr(h->message, "right"));
  h->driver->conn_destroy(c);
  h->password = "right";
  c = fake_connected(h);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, dies_at_the_nth_step, .timeout = 5) {
  struct fake_host *h = scripted("step 2: die 'gone' ~ exec: again 5");
  weir_drv_conn *c = fake_connected(h);
  struct fake_run run = fake_exec(h, c, "x");
  cr_assert_eq(run.status, WEIR_DRV_FAIL);
  cr_assert_eq(run.steps, 2);
  cr_assert_str_eq(h->message, "gone");
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_CONN);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, leaves_the_outcome_of_a_dead_commit_unknown, .timeout = 5) {
  struct fake_host *h = scripted("txn 2: die");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_BEGIN).status, WEIR_DRV_DONE);
  cr_assert_eq(fake_txn(h, c, WEIR_DRV_TX_COMMIT).status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.txn, WEIR_DRV_TXN_UNKNOWN);
  cr_assert_eq(h->err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, fails_a_lazy_reset_on_the_next_request, .timeout = 5) {
  struct fake_host *h = scripted("reset: die");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_reset(h, c, WEIR_DRV_RESET_LAZY).status, WEIR_DRV_DONE);
  cr_assert_eq(fake_exec(h, c, "rows 1").status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.scope, WEIR_DRV_SCOPE_CONN);
  cr_assert_eq(h->err.flags, 0); /* nothing was executed */
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, reports_any_state, .timeout = 5) {
  struct fake_host *h = scripted(
      "exec: report txn unknown dirty temp+locks usable 0 expires 99, succeed");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_exec(h, c, "x").status, WEIR_DRV_DONE);
  cr_assert_eq(h->wait.txn, WEIR_DRV_TXN_UNKNOWN);
  cr_assert_eq(h->wait.dirty,
               WEIR_DRV_DIRTY_TEMP | WEIR_DRV_DIRTY_LOCKS | WEIR_DRV_DIRTY_TXN);
  cr_assert_eq(h->wait.usable, 0);
  cr_assert_eq(h->wait.auth_expires_unix, 99);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, answers_health_as_told, .timeout = 5) {
  struct fake_host *h = scripted("health 1: alive ~ health 2: dead ~ "
                                 "health 3: pending");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(h->driver->health(c), WEIR_DRV_ALIVE_YES);
  cr_assert_eq(h->driver->health(c), WEIR_DRV_ALIVE_NO);
  cr_assert_eq(h->driver->health(c), WEIR_DRV_ALIVE_PENDING);
  cr_assert_eq(h->driver->health(c), WEIR_DRV_ALIVE_YES);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, makes_each_request_of_the_engine, .timeout = 5) {
  struct fake_host *h = scripted("ping: resolve 'db' 1, offload, offload");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_ping(h, c).status, WEIR_DRV_DONE);
  cr_assert_eq(fake_counts(h).resolves, 1);
  cr_assert_eq(fake_counts(h).offloads, 2);
  h->resolves = false;
  cr_assert_eq(fake_ping(h, c).status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.kind, WEIR_DRV_K_NAME);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, cancels_as_told, .timeout = 5) {
  struct fake_host *h = scripted("cancel 1: delay 1ms ~ cancel 2: succeed ~ "
                                 "cancel 3: fail conn protocol ~ exec: hang");
  weir_drv_conn *c = fake_connected(h);
  cr_assert_eq(fake_exec(h, c, "x").status, WEIR_DRV_WAIT);
  struct fake_run run = fake_cancel(h, c);
  cr_assert_eq(run.status, WEIR_DRV_FAIL);
  cr_assert_eq(run.waited_ns, MS);
  cr_assert_eq(h->err.kind, WEIR_DRV_K_CANCELLED);
  cr_assert_eq(h->wait.usable, 1);
  (void)fake_exec(h, c, "x");
  cr_assert_eq(fake_cancel(h, c).status, WEIR_DRV_DONE);
  (void)fake_exec(h, c, "x");
  cr_assert_eq(fake_cancel(h, c).status, WEIR_DRV_FAIL);
  cr_assert_eq(h->err.kind, WEIR_DRV_K_PROTOCOL);
  cr_assert_eq(fake_counts(h).cancelled, 1);
  cr_assert_eq(fake_counts(h).hung, 0);
  h->driver->conn_destroy(c);
  fake_close(h);
}

Test(mock_script, comes_from_a_file_too, .timeout = 5) {
  char path[] = "/tmp/mock_script_XXXXXX";
  char options[64];
  static const char script[] = "# from a file\nexec 1: count 1\nexec 2: die\n";
  int fd = mkstemp(path);
  cr_assert_eq(write(fd, script, sizeof script - 1), sizeof script - 1);
  (void)close(fd);
  (void)snprintf(options, sizeof options, "Mock Script=%s", path);
  struct fake_host *h = fake_open(options);
  (void)unlink(path);
  weir_drv_conn *c = fake_connected(h);
  cr_assert_str_eq(fake_exec(h, c, "x").text, "#1|");
  cr_assert_eq(fake_exec(h, c, "x").status, WEIR_DRV_FAIL);
  h->driver->conn_destroy(c);
  fake_close(h);
}

/* ----------------------------------------------------------------- mistakes */

static const struct {
  const char *script;
  const char *says;
} mistakes[] = {
    {"exce: die", "line 1, column 1: expected connect, exec, reset, ping, txn, "
                  "logout, step, health or cancel, found 'exce'"},
    {"exec 0: die", "line 1, column 6: expected which ones: a number, a range "
                    "or every, found '0'"},
    {"exec 5-3: die", "line 1, column 6: expected which ones: a number, a "
                      "range or every, found '5-3'"},
    {"exec every 0: die", "line 1, column 13: expected more than 0, found ':'"},
    {"exec on x: die",
     "line 1, column 9: expected the number of a connection, found 'x'"},
    {"exec", "line 1, column 5: expected ':' and then what happens, found the "
             "end"},
    {"ping: die\n\n  exec 1 die", "line 3, column 10: expected ':' and then "
                                  "what happens, found 'die'"},
    {"exec:", "line 1, column 6: expected an action that this kind of rule can "
              "have, found the end"},
    {"exec: die,", "line 1, column 11: expected an action that this kind of "
                   "rule can have, found the end"},
    {"exec: die die",
     "line 1, column 11: expected ',' or the end of the rule, found 'die'"},
    {"exec: delay", "line 1, column 12: expected a duration such as 5ms, found "
                    "the end"},
    {"exec: delay 5 fortnights",
     "line 1, column 15: expected ',' or the end of the rule, found "
     "'fortnights'"},
    {"exec: fail badly",
     "line 1, column 12: expected a scope: none, statement, "
     "txn, conn, endpoint, config or driver, found "
     "'badly'"},
    {"exec: fail conn", "line 1, column 16: expected a kind of error such as "
                        "network or auth, found the end"},
    {"exec: fail conn tls sqlstate 123",
     "line 1, column 30: expected an SQLSTATE of five characters, found '123'"},
    {"exec: rows 3", "line 1, column 13: expected rows x columns, such as 3x2, "
                     "found the end"},
    {"exec: rows 3x0", "line 1, column 15: expected at least one column, found "
                       "the end"},
    {"exec: rows 3x2 1 2 3",
     "line 1, column 21: expected no values, those of one row, or those of "
     "every row, found the end"},
    {"exec: rows 2x1 1 'a'", "line 1, column 21: expected values of one type "
                             "in each column, found the end"},
    {"exec: rows 1x1 maybe", "line 1, column 16: expected a value: a number, "
                             "'text', x'bytes', true, false or null, found "
                             "'maybe'"},
    {"exec: rows 1x1 'open",
     "line 1, column 16: expected ',' or the end of the rule, found a string "
     "without its closing quote"},
    {"exec: rows 1x1 x'0'",
     "line 1, column 16: expected ',' or the end of the rule, found bytes that "
     "are not pairs of hexadecimal digits"},
    {"connect: rows 1x1", "line 1, column 10: expected an action that this "
                          "kind of rule can have, found 'rows'"},
    {"step: delay 1", "line 1, column 7: expected fail or die, found 'delay'"},
    {"health: die",
     "line 1, column 9: expected alive, dead or pending, found 'die'"},
    {"exec: report dirty x+y",
     "line 1, column 20: expected none or some of txn, settings, temp, cursor, "
     "locks, results, unknown joined by +, found 'x+y'"},
    {"exec: report", "line 1, column 13: expected txn, dirty, usable or "
                     "expires, found the end"},
    {"exec: resolve 'a' 70000",
     "line 1, column 19: expected a port, found '70000'"},
    {"exec: again 1000001",
     "line 1, column 13: expected how often, found '1000001'"},
    {"exec: count 1 @", "line 1, column 15: expected ',' or the end of the "
                        "rule, found a character that means nothing here"},
};

Test(mock_script, names_the_place_of_a_mistake, .timeout = 5) {
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
    struct fake_host *h = scripted(mistakes[i].script);
    cr_expect_null(h->cfg, "%s", mistakes[i].script);
    cr_expect_eq(strncmp(h->message, "mock script, ", 13), 0);
    cr_expect_str_eq(h->message + 13, mistakes[i].says, "%s", h->message);
    fake_close(h);
  }
}

/* A script of n copies of text. */
static struct fake_host *repeated(const char *head,
                                  const char *text,
                                  size_t n) {
  size_t len = strlen(text);
  char *options = calloc(1, 32 + strlen(head) + n * len);
  cr_assert_not_null(options);
  (void)strcpy(options, "Mock Script Text=");
  (void)strcat(options, head);
  char *end = options + strlen(options);
  for (size_t i = 0; i < n; i++) {
    memcpy(end + i * len, text, len);
  }
  struct fake_host *h = fake_open(options);
  free(options);
  return h;
}

static const struct {
  const char *head;
  const char *text;
  size_t fits;
  const char *says;
} caps[] = {
    {"exec: again 1", ",again 1", 31, "expected no more than 32 actions"},
    {"", "ping: die\n", 256, "expected no more than 256 rules"},
    {"", "########", 8192, "65536 bytes"},
};

Test(mock_script, is_capped_in_every_way, .timeout = 10) {
  for (size_t i = 0; i < sizeof caps / sizeof caps[0]; i++) {
    struct fake_host *h = repeated(caps[i].head, caps[i].text, caps[i].fits);
    cr_expect_not_null(h->cfg, "%s", h->message);
    fake_close(h);
    h = repeated(caps[i].head, caps[i].text, caps[i].fits + 1);
    cr_expect_null(h->cfg, "%s", caps[i].says);
    cr_expect_not_null(strstr(h->message, caps[i].says), "%s", h->message);
    fake_close(h);
  }
}
