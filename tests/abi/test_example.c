/* SPDX-License-Identifier: MIT */
/* The example of abi/README.md, loaded as a real driver and run against a
 * network that moves one byte at a time and says "not now" every other time. */
#include <stdlib.h>

#include <criterion/criterion.h>

#include "fixture.h"

/* A server in memory. */
static struct {
  char sent[8192]; /* what the driver wrote */
  size_t n_sent;
  const char *answer; /* what it will read */
  size_t n_answer;
  unsigned calls;  /* odd ones would block */
  int ended;       /* after the answer: closed in order */
  int open;        /* streams there are */
  char cell[8192]; /* the last cell */
  uint64_t n_cell;
  unsigned cells;
} net;

static struct fixture f;
static const struct weir_driver *t;
static weir_drv_drv *drv;
static weir_drv_cfg *cfg;
static weir_drv_conn *conn;
static struct weir_drv_wait wait;
static struct weir_drv_error err;
static char message[256];

/* The engine's objects are never looked into here. */
static char some_stream;
static char some_batch;

static int blocked(void) {
  return net.calls++ % 2 == 0;
}

static weir_drv_status stream_open(void *ctx,
                                   weir_drv_hconn *hc,
                                   const struct weir_drv_addr *to,
                                   uint32_t flags,
                                   weir_drv_stream **out,
                                   struct weir_drv_error *e) {
  (void)ctx;
  (void)hc;
  (void)flags;
  (void)e;
  cr_expect_eq(to->len, 16);
  net.open++;
  *out = (weir_drv_stream *)(void *)&some_stream;
  return WEIR_DRV_DONE;
}

static weir_drv_status stream_connected(weir_drv_stream *s,
                                        struct weir_drv_error *e) {
  (void)s;
  (void)e;
  return blocked() ? WEIR_DRV_E_AGAIN : WEIR_DRV_DONE;
}

static int64_t stream_read(weir_drv_stream *s, void *p, uint64_t cap) {
  (void)s;
  (void)cap;
  if (blocked()) {
    return WEIR_DRV_E_AGAIN;
  }
  if (net.n_answer == 0) {
    return net.ended ? WEIR_DRV_E_CLOSED : WEIR_DRV_E_AGAIN;
  }
  memcpy(p, net.answer++, 1);
  net.n_answer--;
  return 1;
}

static int64_t stream_peek(weir_drv_stream *s, void *p, uint64_t cap) {
  (void)s;
  (void)p;
  (void)cap;
  return net.n_answer != 0 ? 1
         : net.ended       ? WEIR_DRV_E_CLOSED
                           : WEIR_DRV_E_AGAIN;
}

static int64_t stream_write(weir_drv_stream *s, const void *p, uint64_t n) {
  (void)s;
  (void)n;
  if (blocked()) {
    return WEIR_DRV_E_AGAIN;
  }
  memcpy(net.sent + net.n_sent++, p, 1);
  return 1;
}

static void stream_close(weir_drv_stream *s) {
  (void)s;
  net.open--;
}

static weir_drv_batch *batch(void *ctx, weir_drv_hconn *hc) {
  (void)ctx;
  (void)hc;
  return (weir_drv_batch *)(void *)&some_batch;
}

static void *batch_space(weir_drv_batch *b, uint64_t n) {
  (void)b;
  cr_assert_leq(n, sizeof net.cell);
  return net.cell;
}

static weir_drv_status batch_cell(weir_drv_batch *b,
                                  const void *p,
                                  uint64_t n) {
  (void)b;
  cr_assert_eq(p, net.cell);
  net.n_cell = n;
  net.cells++;
  return WEIR_DRV_DONE;
}

static void fresh(void) {
  memset(&wait, 0, sizeof wait);
  wait.struct_size = sizeof wait;
  wait.timer = WEIR_DRV_NEVER;
  wait.row_count = WEIR_DRV_NO_COUNT;
  memset(&err, 0, sizeof err);
  err.struct_size = sizeof err;
  err.message = message;
  err.message_cap = sizeof message - 1;
  memset(message, 0, sizeof message);
}

static struct weir_drv_option option(const char *name, const char *value) {
  return (struct weir_drv_option){
      {name, strlen(name)},
      {.type = WEIR_DRV_T_TEXT, .p = value, .n = strlen(value)}};
}

static void set_up(void) {
  const struct weir__driver *d = NULL;
  memset(&net, 0, sizeof net);
  fixture_init(&f);
  f.host.stream_open = stream_open;
  f.host.stream_connected = stream_connected;
  f.host.stream_read = stream_read;
  f.host.stream_peek = stream_peek;
  f.host.stream_write = stream_write;
  f.host.stream_close = stream_close;
  f.host.batch = batch;
  f.host.batch_space = batch_space;
  f.host.batch_cell = batch_cell;
  fixture_open(&f);
  fixture_copy(&f, WEIR_EXAMPLE_DRIVER, "line.so");
  cr_assert_eq(fixture_load(&f, "line", &d), WEIR_OK, "%s", f.err.message);
  t = &d->table;
  drv = d->instance;
  const struct weir_drv_option server = option("Server", "DB.Example");
  fresh();
  cr_assert_eq(t->config_create(drv, &server, 1, &cfg, &err), WEIR_DRV_DONE);
  cr_assert_eq(t->conn_create(drv, cfg, NULL, &conn, &err), WEIR_DRV_DONE);
}

static void tear_down(void) {
  t->conn_destroy(conn);
  t->config_destroy(drv, cfg);
  fixture_fini(&f);
  cr_expect_eq(net.open, 0);
  cr_expect_eq(f.live, 0);
}

TestSuite(abi_example, .init = set_up, .fini = tear_down, .timeout = 10);

static weir_drv_status step(uint32_t why) {
  const struct weir_drv_wake wake = {.struct_size = sizeof wake, .why = why};
  fresh();
  return t->step(conn, &wake, &wait, &err);
}

/* Wakes the driver until it says something else than "wait", as the engine does
 * for one stream. */
static weir_drv_status drive(weir_drv_status status) {
  for (unsigned i = 0; status == WEIR_DRV_WAIT && i < 100000; i++) {
    cr_assert_eq(wait.n_want, 1);
    status = step(WEIR_DRV_WHY_IO);
  }
  return status;
}

static void connect_it(void) {
  static const struct weir_drv_addr addr = {.len = 16, .family = 2};
  const struct weir_drv_connect_args args = {.struct_size = sizeof args};
  const struct weir_drv_rep_resolve reply = {sizeof reply, 1, &addr};
  const struct weir_drv_wake wake = {
      .struct_size = sizeof wake, .why = WEIR_DRV_WHY_REPLY, .reply = &reply};
  fresh();
  cr_assert_eq(t->connect(conn, &args, &wait, &err), WEIR_DRV_WAIT);
  cr_assert_eq(wait.request, WEIR_DRV_REQ_RESOLVE);
  const struct weir_drv_req_resolve *req = wait.request_arg;
  cr_expect_eq(req->port, 7007);
  cr_expect_eq(memcmp(req->host.p, "db.example", 10), 0);
  cr_expect_eq(step(WEIR_DRV_WHY_TIMER), WEIR_DRV_WAIT); /* a stray wake-up */
  fresh();
  cr_assert_eq(drive(t->step(conn, &wake, &wait, &err)), WEIR_DRV_DONE);
  cr_expect_eq(wait.usable, 1);
}

static weir_drv_status exec(const char *sql) {
  const struct weir_drv_exec_args args = {.struct_size = sizeof args,
                                          .sql = {sql, strlen(sql)}};
  fresh();
  return drive(t->exec(conn, &args, &wait, &err));
}

Test(abi_example, describes_its_options) {
  const struct weir_drv_option_info *info = NULL;
  uint32_t n = 0;
  uint32_t stride = 0;
  cr_assert_eq(t->options(drv, &info, &n, &stride), WEIR_DRV_DONE);
  cr_expect_eq(n, 2);
  cr_expect_eq(stride, sizeof *info);
  cr_expect_eq(memcmp(info[0].name.p, "Server", info[0].name.n), 0);
}

Test(abi_example, refuses_a_bad_option_by_name) {
  struct weir_drv_option o[2] = {option("Server", "a"), option("Port", "")};
  weir_drv_cfg *other = NULL;
  o[1].value.u = 70000;
  fresh();
  cr_expect_eq(t->config_create(drv, o, 2, &other, &err), WEIR_DRV_FAIL);
  cr_expect_str_eq(message, "Port is not 1 to 65535");
  fresh();
  cr_expect_eq(t->config_create(drv, o, 0, &other, &err), WEIR_DRV_FAIL);
  cr_expect_str_eq(message, "Server is missing");
}

static char key_text[64];

static weir_drv_status part(void *ctx,
                            uint32_t flags,
                            const struct weir_drv_text *name,
                            const struct weir_drv_bytes *value) {
  (void)ctx;
  (void)flags;
  (void)name;
  (void)strncat(key_text, (const char *)value->p, (size_t)value->n);
  return WEIR_DRV_DONE;
}

Test(abi_example, gives_a_key_in_lower_case_and_digits) {
  const struct weir_drv_key_sink sink = {sizeof sink, 0, NULL, part};
  cr_expect_eq(t->config_key(drv, cfg, WEIR_DRV_KEY_POOL, &sink),
               WEIR_DRV_DONE);
  cr_expect_str_eq(key_text, "db.example7007");
  cr_expect_eq(t->config_key(drv, cfg, 99, &sink), WEIR_DRV_E_UNSUPPORTED);
}

Test(abi_example, connects_asks_and_gives_the_answer_as_a_row) {
  const struct weir_drv_column *column = NULL;
  uint32_t n = 0;
  uint32_t stride = 0;
  connect_it();
  net.answer = "hello\n";
  net.n_answer = 6;
  cr_assert_eq(exec("say hello"), WEIR_DRV_META);
  cr_assert_eq(t->columns(conn, &column, &n, &stride), WEIR_DRV_DONE);
  cr_expect_eq(n, 1);
  cr_expect_eq(column->type, WEIR_DRV_T_TEXT);
  cr_assert_eq(drive(step(WEIR_DRV_WHY_RESUME)), WEIR_DRV_ROWS);
  cr_expect_eq(net.n_cell, 5);
  cr_expect_eq(memcmp(net.cell, "hello", 5), 0);
  cr_expect_eq(net.cells, 1);
  cr_expect_eq(step(WEIR_DRV_WHY_RESUME), WEIR_DRV_COUNT);
  cr_expect_eq(wait.row_count, 1);
  cr_expect_eq(step(WEIR_DRV_WHY_RESUME), WEIR_DRV_DONE);
  cr_expect_eq(wait.usable, 1);
  cr_expect_eq(memcmp(net.sent, "say hello\n", 10), 0);
}

Test(abi_example, refuses_two_lines_and_stays_usable) {
  connect_it();
  cr_expect_eq(exec("a\nb"), WEIR_DRV_FAIL);
  cr_expect_eq(err.scope, WEIR_DRV_SCOPE_STATEMENT);
  cr_expect_eq(wait.usable, 1);
  cr_expect_eq(net.n_sent, 0);
}

Test(abi_example, says_that_a_lost_request_may_have_been_executed) {
  connect_it();
  net.ended = 1;
  cr_assert_eq(exec("x"), WEIR_DRV_META);
  cr_expect_eq(drive(step(WEIR_DRV_WHY_RESUME)), WEIR_DRV_FAIL);
  cr_expect_eq(err.scope, WEIR_DRV_SCOPE_CONN);
  cr_expect_eq(err.flags, WEIR_DRV_EF_MAYBE_EXECUTED);
  cr_expect_eq(wait.usable, 0);
}

Test(abi_example, refuses_a_line_that_does_not_end) {
  static char endless[5000];
  memset(endless, 'x', sizeof endless);
  connect_it();
  net.answer = endless;
  net.n_answer = sizeof endless;
  cr_assert_eq(exec("x"), WEIR_DRV_META);
  cr_expect_eq(drive(step(WEIR_DRV_WHY_RESUME)), WEIR_DRV_FAIL);
  cr_expect_eq(err.kind, WEIR_DRV_K_PROTOCOL);
}

Test(abi_example, can_be_aborted_at_any_point) {
  connect_it();
  t->abort_conn(conn, WEIR_DRV_ABORT_CLOSE);
  cr_expect_eq(net.open, 0);
  cr_expect_eq(t->health(conn), WEIR_DRV_ALIVE_NO);
}

Test(abi_example, looks_at_the_idle_stream) {
  connect_it();
  cr_expect_eq(t->health(conn), WEIR_DRV_ALIVE_YES);
  net.n_answer = 1;
  cr_expect_eq(t->health(conn), WEIR_DRV_ALIVE_PENDING);
  net.n_answer = 0;
  net.ended = 1;
  cr_expect_eq(t->health(conn), WEIR_DRV_ALIVE_NO);
}

Test(abi_example, tells_what_it_is_doing) {
  struct weir_drv_value v;
  cr_assert_eq(t->get(conn, WEIR_DRV_P_PHASE, &v), WEIR_DRV_DONE);
  cr_expect_eq(memcmp(v.p, "new", 3), 0);
  connect_it();
  cr_assert_eq(t->get(conn, WEIR_DRV_P_PHASE, &v), WEIR_DRV_DONE);
  cr_expect_eq(memcmp(v.p, "idle", 4), 0);
  cr_expect_eq(t->get(conn, 12345, &v), WEIR_DRV_E_UNSUPPORTED);
}

Test(abi_example, answers_step_without_an_operation) {
  cr_expect_eq(step(WEIR_DRV_WHY_IO), WEIR_DRV_E_INVALID);
}

Test(abi_example, reports_a_name_that_does_not_resolve) {
  const struct weir_drv_connect_args args = {.struct_size = sizeof args};
  const struct weir_drv_wake wake = {.struct_size = sizeof wake,
                                     .why = WEIR_DRV_WHY_REPLY,
                                     .reply_status = WEIR_DRV_FAIL};
  fresh();
  cr_assert_eq(t->connect(conn, &args, &wait, &err), WEIR_DRV_WAIT);
  cr_expect_eq(t->step(conn, &wake, &wait, &err), WEIR_DRV_FAIL);
  cr_expect_eq(err.kind, WEIR_DRV_K_NAME);
}
