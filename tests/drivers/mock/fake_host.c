/* SPDX-License-Identifier: MIT */
#include "fake_host.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers_dir.h"

#define BATCH_MAX 65536u

/* One at a time is enough: rows go into the text as soon as they are whole. */
struct weir_drv_batch {
  struct fake_host *host;
  uint8_t bytes[BATCH_MAX];
  uint64_t used;
  struct {
    const uint8_t *p;
    uint64_t n;
  } cells[8192];
  uint32_t n_cells;
};

struct weir_drv_hconn {
  struct fake_host *host;
};

static struct weir_drv_batch batch;
static struct weir_drv_hconn hconn;
static struct fake_run *running; /* notices go there */

_Noreturn static void broken(const char *what) {
  (void)fprintf(stderr, "fake host: %s\n", what);
  abort();
}

static void say(struct fake_run *run, const char *p, uint64_t n) {
  size_t have = strlen(run->text);
  if (n == 0 || have + n >= sizeof run->text) {
    return; /* a test that looks at so much text is told by the missing end */
  }
  memcpy(run->text + have, p, n);
  run->text[have + n] = '\0';
}

static void say_text(struct fake_run *run, const char *text) {
  say(run, text, strlen(text));
}

/* ------------------------------------------------------------ host functions */

static struct fake_host *of(void *ctx) {
  return ctx;
}

static weir_drv_time host_now(void *ctx) {
  return of(ctx)->now;
}

static uint64_t host_unix_ms(void *ctx) {
  return host_now(ctx) / 1000000u;
}

static void *host_alloc(void *ctx, uint64_t size, uint32_t flags) {
  struct fake_host *h = of(ctx);
  (void)flags;
  if (h->fail_alloc != 0 && --h->fail_alloc == 0) {
    return NULL;
  }
  (void)atomic_fetch_add_explicit(&h->blocks, 1, memory_order_relaxed);
  return calloc(1, size);
}

static void host_release(void *ctx, void *p) {
  (void)atomic_fetch_sub_explicit(&of(ctx)->blocks, 1, memory_order_relaxed);
  free(p);
}

static void host_diag(void *ctx,
                      weir_drv_hconn *hc,
                      const struct weir_drv_diag *d) {
  char text[64];
  (void)ctx;
  (void)hc;
  (void)snprintf(text, sizeof text, "!%d:%u:", (int)d->native, d->severity);
  say_text(running, text);
  say(running, d->message.p, d->message.n);
  say_text(running, "|");
}

static weir_drv_batch *host_batch(void *ctx, weir_drv_hconn *hc) {
  (void)hc;
  batch.host = of(ctx);
  batch.used = 0;
  batch.n_cells = 0;
  return &batch;
}

static void *host_space(weir_drv_batch *b, uint64_t n) {
  if (n > BATCH_MAX - b->used) {
    return NULL;
  }
  void *p = b->bytes + b->used;
  b->used += n;
  return p;
}

static weir_drv_status host_cell(weir_drv_batch *b, const void *p, uint64_t n) {
  if (b->n_cells == sizeof b->cells / sizeof b->cells[0]) {
    return WEIR_DRV_E_NOMEM;
  }
  b->cells[b->n_cells].p = p;
  b->cells[b->n_cells].n = n;
  b->n_cells++;
  return WEIR_DRV_DONE;
}

static void host_forget(void *ctx, weir_drv_hconn *hc, weir_drv_fd fd) {
  (void)hc;
  (void)fd;
  (void)atomic_fetch_add_explicit(&of(ctx)->forgotten, 1, memory_order_relaxed);
}

static struct fake_host *asked; /* locks_held has no argument */

static int32_t locks_held(void) {
  return asked->locks;
}

static const struct weir_test_api test_api = {
    .struct_size = (uint32_t)sizeof(struct weir_test_api),
    .version = 1,
    .locks_held = locks_held};

static const void *host_service(void *ctx, const char *name, uint32_t version) {
  (void)ctx;
  return strcmp(name, MOCK_TEST_SERVICE) == 0 && version == 1 ? &test_api
                                                              : NULL;
}

/* ------------------------------------------------------------ open and close */

static const struct weir_driver *load(void) {
  char path[4096];
  void *lib = dlopen(driver_path("mock", path, sizeof path), RTLD_NOW);
  weir_driver_entry_fn entry;
  void *symbol = lib == NULL ? NULL : dlsym(lib, WEIR_DRV_ENTRY_SYMBOL);
  if (symbol == NULL) {
    broken(dlerror()); /* NOLINT(concurrency-mt-unsafe): one thread yet */
  }
  memcpy(&entry, &symbol, sizeof entry);
  return entry(WEIR_DRV_ABI_MINOR);
}

/* Splits "Name=value;..." in place. */
static uint32_t split(char *text, struct weir_drv_option *out, uint32_t cap) {
  uint32_t n = 0;
  char *save = NULL;
  for (char *part = strtok_r(text, ";", &save); part != NULL && n < cap;
       part = strtok_r(NULL, ";", &save)) {
    char *value = strchr(part, '=');
    if (value == NULL) {
      broken("an option without '='");
    }
    *value++ = '\0';
    for (char *p = value; *p != '\0'; p++) {
      *p = *p == '~' ? ';' : *p;
    }
    memset(&out[n], 0, sizeof out[n]);
    out[n].name = (struct weir_drv_text){.p = part, .n = strlen(part)};
    bool secret = strcmp(part, "Password") == 0;
    out[n].value.type = secret ? WEIR_DRV_T_NULL : WEIR_DRV_T_TEXT;
    out[n].value.flags = secret ? WEIR_DRV_V_SECRET : 0;
    out[n].value.p = secret ? NULL : value;
    out[n].value.n = secret ? 0 : strlen(value);
    n++;
  }
  return n;
}

void fake_fresh(struct fake_host *h) {
  memset(&h->err, 0, sizeof h->err);
  memset(&h->wait, 0, sizeof h->wait);
  h->err.struct_size = (uint32_t)sizeof h->err;
  h->err.message = h->message;
  h->err.message_cap = (uint32_t)sizeof h->message;
  h->message[0] = '\0';
  h->wait.struct_size = (uint32_t)sizeof h->wait;
  h->wait.timer = WEIR_DRV_NEVER;
  h->wait.row_count = WEIR_DRV_NO_COUNT;
}

static void fill_table(struct fake_host *h) {
  h->table = (struct weir_drv_host){.struct_size = (uint32_t)sizeof h->table,
                                    .ctx = h,
                                    .now = host_now,
                                    .unix_ms = host_unix_ms,
                                    .alloc = host_alloc,
                                    .release = host_release,
                                    .diag = host_diag,
                                    .batch = host_batch,
                                    .batch_space = host_space,
                                    .batch_cell = host_cell,
                                    .fd_forget = host_forget,
                                    .service = host_service};
}

struct fake_host *fake_open(const char *options) {
  struct fake_host *h = calloc(1, sizeof *h);
  char *text = strdup(options);
  struct weir_drv_option list[16];
  if (h == NULL || text == NULL) {
    broken("no memory");
  }
  asked = h;
  h->now = 1000;
  h->password = "secret";
  h->resolves = true;
  fill_table(h);
  fake_fresh(h);
  struct weir_drv_open_args args = {.struct_size = (uint32_t)sizeof args};
  h->driver = load();
  if (h->driver->open(&h->table, &args, &h->drv, &h->err) != WEIR_DRV_DONE) {
    broken("open failed");
  }
  h->mock = h->driver->extension(h->drv, MOCK_CONTROL_NAME, 1);
  uint32_t n = split(text, list, 16);
  weir_drv_status rc =
      h->driver->config_create(h->drv, list, n, &h->cfg, &h->err);
  if ((rc == WEIR_DRV_DONE) != (h->cfg != NULL)) {
    broken("config_create wrote its output although it failed");
  }
  free(text);
  return h;
}

void fake_close(struct fake_host *h) {
  if (h->cfg != NULL) {
    h->driver->config_destroy(h->drv, h->cfg);
  }
  h->driver->close(h->drv);
  if (atomic_load_explicit(&h->blocks, memory_order_relaxed) != 0) {
    broken("the driver kept memory");
  }
  free(h);
}

weir_drv_conn *fake_conn(struct fake_host *h) {
  weir_drv_conn *c = NULL;
  hconn.host = h;
  fake_fresh(h);
  if (h->driver->conn_create(h->drv, h->cfg, &hconn, &c, &h->err) !=
      WEIR_DRV_DONE) {
    return NULL;
  }
  return c;
}

weir_drv_conn *fake_connected(struct fake_host *h) {
  weir_drv_conn *c = fake_conn(h);
  if (c == NULL || fake_connect(h, c).status != WEIR_DRV_DONE) {
    broken("no connection");
  }
  return c;
}

/* ------------------------------------------------------------------- driving */

static uint64_t u64_of(const uint8_t *p) {
  uint64_t v = 0;
  for (uint32_t i = 0; i < 8; i++) {
    v |= (uint64_t)p[i] << (8 * i);
  }
  return v;
}

static void say_cell(struct fake_run *run,
                     int32_t type,
                     const uint8_t *p,
                     uint64_t n) {
  char text[64] = "null";
  double number;
  uint64_t bits = n == 8 && p != NULL ? u64_of(p) : 0;
  if (n == UINT64_MAX || p == NULL) {
    say_text(run, text);
  } else if (type == WEIR_DRV_T_INT) {
    (void)snprintf(text, sizeof text, "%lld", (long long)bits);
    say_text(run, text);
  } else if (type == WEIR_DRV_T_FLOAT) {
    memcpy(&number, &bits, sizeof number);
    (void)snprintf(text, sizeof text, "%g", number);
    say_text(run, text);
  } else if (type == WEIR_DRV_T_BOOL) {
    say_text(run, p[0] != 0 ? "true" : "false");
  } else {
    say(run, (const char *)p, n);
  }
}

static int32_t types[64];
static uint32_t n_types;

static void take_columns(struct fake_host *h,
                         weir_drv_conn *c,
                         struct fake_run *run) {
  const struct weir_drv_column *col;
  uint32_t stride;
  if (h->driver->columns(c, &col, &n_types, &stride) != WEIR_DRV_DONE ||
      n_types > 64) {
    broken("no columns after WEIR_DRV_META");
  }
  for (uint32_t i = 0; i < n_types; i++) {
    say_text(run, i == 0 ? "" : ",");
    say(run, col->name.p, col->name.n);
    types[i] = col->type;
    col = (const void *)((const char *)col + stride);
  }
  say_text(run, "|");
}

static void take_rows(struct fake_run *run) {
  if (batch.n_cells == 0 || batch.n_cells % n_types != 0) {
    broken("a batch without whole rows");
  }
  for (uint32_t i = 0; i < batch.n_cells; i++) {
    say_cell(run, types[i % n_types], batch.cells[i].p, batch.cells[i].n);
    say_text(run, i % n_types == n_types - 1 ? "|" : ",");
  }
  run->batches++;
}

/* Answers what the driver asks for. */
static void answer(struct fake_host *h, struct weir_drv_wake *wake) {
  static struct weir_drv_addr addr;
  static struct weir_drv_rep_resolve resolved = {
      .struct_size = (uint32_t)sizeof resolved, .n = 1, .addr = &addr};
  static struct weir_drv_rep_cred cred;
  wake->why = WEIR_DRV_WHY_REPLY;
  wake->reply_status = WEIR_DRV_FAIL;
  if (h->wait.request == WEIR_DRV_REQ_CREDENTIAL && h->password != NULL) {
    cred =
        (struct weir_drv_rep_cred){.struct_size = (uint32_t)sizeof cred,
                                   .kind = WEIR_DRV_CRED_PASSWORD,
                                   .secret = {.p = (const uint8_t *)h->password,
                                              .n = strlen(h->password)}};
    wake->reply = &cred;
    wake->reply_status = WEIR_DRV_DONE;
  } else if (h->wait.request == WEIR_DRV_REQ_RESOLVE && h->resolves) {
    wake->reply = &resolved;
    wake->reply_status = WEIR_DRV_DONE;
  } else if (h->wait.request == WEIR_DRV_REQ_OFFLOAD) {
    const struct weir_drv_req_offload *work = h->wait.request_arg;
    work->fn(work->arg);
    wake->reply_status = WEIR_DRV_DONE;
  }
}

/* Decides how to wake the driver.  False: only a descriptor could. */
static bool find_reason(struct fake_host *h,
                        weir_drv_status status,
                        struct fake_run *run,
                        struct weir_drv_wake *wake) {
  if (status != WEIR_DRV_WAIT || (h->wait.flags & WEIR_DRV_WAIT_AGAIN) != 0) {
    wake->why = WEIR_DRV_WHY_RESUME;
  } else if (h->wait.request != WEIR_DRV_REQ_NONE) {
    answer(h, wake);
  } else if (h->wait.timer != WEIR_DRV_NEVER) {
    run->waited_ns += h->wait.timer - h->now;
    h->now = h->wait.timer;
    wake->why = WEIR_DRV_WHY_TIMER;
  } else {
    return false;
  }
  wake->now = h->now;
  return true;
}

static struct fake_run drive(struct fake_host *h,
                             weir_drv_conn *c,
                             struct fake_run *run,
                             weir_drv_status status) {
  char text[32];
  for (;;) {
    struct weir_drv_wake wake = {.struct_size = (uint32_t)sizeof wake};
    run->status = status;
    if (status == WEIR_DRV_META || status == WEIR_DRV_OUT) {
      say_text(run, status == WEIR_DRV_OUT ? "=" : "");
      take_columns(h, c, run);
    } else if (status == WEIR_DRV_ROWS) {
      take_rows(run);
    } else if (status == WEIR_DRV_COUNT) {
      (void)snprintf(text, sizeof text, "#%llu|",
                     (unsigned long long)h->wait.row_count);
      say_text(run, text);
    } else if (status != WEIR_DRV_WAIT) {
      return *run;
    }
    if (!find_reason(h, status, run, &wake)) {
      return *run;
    }
    fake_fresh(h);
    run->steps++;
    status = h->driver->step(c, &wake, &h->wait, &h->err);
  }
}

static struct fake_run *start(struct fake_host *h) {
  static struct fake_run run;
  memset(&run, 0, sizeof run);
  running = &run;
  fake_fresh(h);
  return &run;
}

struct fake_run fake_connect(struct fake_host *h, weir_drv_conn *c) {
  struct weir_drv_connect_args a = {.struct_size = (uint32_t)sizeof a};
  struct fake_run *run = start(h);
  return drive(h, c, run, h->driver->connect(c, &a, &h->wait, &h->err));
}

struct fake_run fake_exec_args(struct fake_host *h,
                               weir_drv_conn *c,
                               const struct weir_drv_exec_args *a) {
  struct fake_run *run = start(h);
  return drive(h, c, run, h->driver->exec(c, a, &h->wait, &h->err));
}

struct fake_run fake_exec(struct fake_host *h,
                          weir_drv_conn *c,
                          const char *sql) {
  struct weir_drv_exec_args a = {.struct_size = (uint32_t)sizeof a,
                                 .sql = {.p = sql, .n = strlen(sql)}};
  return fake_exec_args(h, c, &a);
}

struct fake_run fake_ping(struct fake_host *h, weir_drv_conn *c) {
  struct fake_run *run = start(h);
  return drive(h, c, run, h->driver->ping(c, &h->wait, &h->err));
}

struct fake_run fake_reset(struct fake_host *h,
                           weir_drv_conn *c,
                           int32_t mode) {
  struct weir_drv_reset_args a = {
      .struct_size = (uint32_t)sizeof a, .mode = mode, .cfg = h->cfg};
  struct fake_run *run = start(h);
  return drive(h, c, run, h->driver->reset(c, &a, &h->wait, &h->err));
}

struct fake_run fake_txn(struct fake_host *h, weir_drv_conn *c, int32_t verb) {
  struct weir_drv_txn_args a = {.struct_size = (uint32_t)sizeof a,
                                .verb = verb,
                                .isolation = WEIR_DRV_ISO_SERIALIZABLE};
  struct fake_run *run = start(h);
  return drive(h, c, run, h->driver->txn(c, &a, &h->wait, &h->err));
}

struct fake_run fake_logout(struct fake_host *h, weir_drv_conn *c) {
  struct fake_run *run = start(h);
  return drive(h, c, run, h->driver->logout(c, &h->wait, &h->err));
}

struct fake_run fake_cancel(struct fake_host *h, weir_drv_conn *c) {
  struct fake_run *run = start(h);
  return drive(h, c, run, h->driver->cancel(c, &h->wait, &h->err));
}

struct fake_run fake_go_on(struct fake_host *h, weir_drv_conn *c) {
  struct weir_drv_wake wake = {.struct_size = (uint32_t)sizeof wake,
                               .why = WEIR_DRV_WHY_IO,
                               .now = h->now};
  struct fake_run *run = start(h);
  return drive(h, c, run, h->driver->step(c, &wake, &h->wait, &h->err));
}

struct mock_counts fake_counts(struct fake_host *h) {
  struct mock_counts counts = {.struct_size = (uint32_t)sizeof counts};
  h->mock->counts(h->drv, &counts);
  return counts;
}
