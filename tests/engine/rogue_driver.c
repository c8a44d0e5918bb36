/* SPDX-License-Identifier: MIT */
/* A driver that breaks its contract in the way that its option Rogue names.
 * "stream PORT" breaks nothing: it is a session that holds a byte stream to that
 * port of 127.0.0.1 and says nothing on it. */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "weir_driver.h"

WEIR_DRV_DRIVER_NOTE(0);

#define TEXT(s) \
  { .p = (s), .n = sizeof(s) - 1 }

struct weir_drv_drv {
  const struct weir_drv_host *host;
};

struct weir_drv_cfg {
  char way[32];
};

struct weir_drv_conn {
  weir_drv_drv *drv;
  const weir_drv_cfg *cfg;
  weir_drv_hconn *hconn;
  unsigned steps;
  char own[8]; /* a cell's bytes where they must not be */
  weir_drv_stream *stream;
  struct weir_drv_req_resolve resolve;
  struct weir_drv_req_cred cred;
};

static bool is(const weir_drv_conn *c, const char *way) {
  return strcmp(c->cfg->way, way) == 0;
}

static weir_drv_status open_driver(const struct weir_drv_host *host,
                                   const struct weir_drv_open_args *a,
                                   weir_drv_drv **out,
                                   struct weir_drv_error *err) {
  (void)a;
  (void)err;
  weir_drv_drv *d = host->alloc(host->ctx, sizeof *d, 0);
  if (d == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  d->host = host;
  *out = d;
  return WEIR_DRV_DONE;
}

static void close_driver(weir_drv_drv *d) {
  const struct weir_drv_host *host = d->host;
  host->release(host->ctx, d);
}

static const struct weir_drv_option_info infos[] = {
    {.struct_size = (uint32_t)sizeof infos[0],
     .type = WEIR_DRV_T_TEXT,
     .flags = WEIR_DRV_OPT_KEY,
     .name = TEXT("Rogue"),
     .help = TEXT("How to break the contract")}};

static weir_drv_status list_options(weir_drv_drv *d,
                                    const struct weir_drv_option_info **arr,
                                    uint32_t *n,
                                    uint32_t *stride) {
  (void)d;
  *arr = infos;
  *n = 1;
  *stride = sizeof infos[0];
  return WEIR_DRV_DONE;
}

static weir_drv_status make_config(weir_drv_drv *d,
                                   const struct weir_drv_option *o,
                                   uint32_t n,
                                   weir_drv_cfg **out,
                                   struct weir_drv_error *err) {
  (void)err;
  weir_drv_cfg *c = d->host->alloc(d->host->ctx, sizeof *c, 0);
  if (c == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  if (n == 1 && o[0].value.n < sizeof c->way) {
    memcpy(c->way, o[0].value.p, o[0].value.n);
  }
  if (strcmp(c->way, "config silent") == 0) {
    d->host->release(d->host->ctx, c);
    return WEIR_DRV_FAIL;
  }
  *out = c;
  return WEIR_DRV_DONE;
}

static void drop_config(weir_drv_drv *d, weir_drv_cfg *c) {
  d->host->release(d->host->ctx, c);
}

static weir_drv_status tell_key(weir_drv_drv *d,
                                const weir_drv_cfg *c,
                                int32_t which,
                                const struct weir_drv_key_sink *sink) {
  (void)d;
  (void)which;
  struct weir_drv_text name = TEXT("rogue");
  struct weir_drv_bytes value = {.p = (const uint8_t *)c->way,
                                 .n = strlen(c->way)};
  return sink->part(sink->ctx, 0, &name, &value);
}

static weir_drv_status make_conn(weir_drv_drv *d,
                                 const weir_drv_cfg *cfg,
                                 weir_drv_hconn *hc,
                                 weir_drv_conn **out,
                                 struct weir_drv_error *err) {
  (void)err;
  if (strcmp(cfg->way, "create silent") == 0) {
    return WEIR_DRV_FAIL;
  }
  weir_drv_conn *c = d->host->alloc(d->host->ctx, sizeof *c, 0);
  if (c == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  c->drv = d;
  c->cfg = cfg;
  c->hconn = hc;
  if (is(c, "create waits")) {
    d->host->release(d->host->ctx, c);
    return WEIR_DRV_WAIT;
  }
  *out = c;
  return WEIR_DRV_DONE;
}

static void drop_conn(weir_drv_conn *c) {
  const struct weir_drv_host *host = c->drv->host;
  host->release(host->ctx, c);
}

static void stop_conn(weir_drv_conn *c, int32_t how) {
  if (how != WEIR_DRV_ABORT_FORGET && c->stream != NULL) {
    c->drv->host->stream_close(c->stream);
    c->stream = NULL;
  }
}

static weir_drv_status get(weir_drv_conn *c,
                           int32_t prop,
                           struct weir_drv_value *out) {
  (void)prop;
  if (is(c, "get odd")) {
    out->type = 77;
    return WEIR_DRV_DONE;
  }
  return WEIR_DRV_E_UNSUPPORTED;
}

static int32_t health(weir_drv_conn *c) {
  return is(c, "health odd") ? 42 : WEIR_DRV_ALIVE_YES;
}

static weir_drv_status done(struct weir_drv_wait *wait) {
  wait->usable = 1;
  return WEIR_DRV_DONE;
}

/* Breaches that any operation can have.  0: none of these. */
static weir_drv_status common(weir_drv_conn *c, struct weir_drv_wait *wait) {
  c->steps++;
  if (strstr(c->cfg->way, "unknown status") != NULL) {
    return 99;
  }
  if (strstr(c->cfg->way, "waits for nothing") != NULL) {
    return WEIR_DRV_WAIT;
  }
  if (strstr(c->cfg->way, "wants too much") != NULL) {
    wait->n_want = WEIR_DRV_WANT_MAX + 1;
    return WEIR_DRV_WAIT;
  }
  if (strstr(c->cfg->way, "unknown request") != NULL) {
    wait->request = 99;
    return WEIR_DRV_WAIT;
  }
  if (strstr(c->cfg->way, "fails silently") != NULL) {
    return WEIR_DRV_FAIL;
  }
  if (strstr(c->cfg->way, "two requests") != NULL) {
    c->resolve = (struct weir_drv_req_resolve){.struct_size = sizeof c->resolve,
                                               .port = 1,
                                               .host = TEXT("slow.invalid")};
    c->cred = (struct weir_drv_req_cred){.struct_size = sizeof c->cred,
                                         .kind = WEIR_DRV_CRED_PASSWORD,
                                         .option = TEXT("Rogue")};
    bool first = c->steps == 1;
    wait->request = first ? WEIR_DRV_REQ_RESOLVE : WEIR_DRV_REQ_CREDENTIAL;
    wait->request_arg = first ? (const void *)&c->resolve : &c->cred;
    wait->flags = WEIR_DRV_WAIT_AGAIN;
    return WEIR_DRV_WAIT;
  }
  return 0;
}

static bool of(const weir_drv_conn *c, const char *operation) {
  return strncmp(c->cfg->way, operation, strlen(operation)) == 0;
}

static weir_drv_status open_stream(weir_drv_conn *c,
                                   struct weir_drv_wait *wait,
                                   struct weir_drv_error *err) {
  const struct weir_drv_host *host = c->drv->host;
  long port = strtol(c->cfg->way + strlen("stream "), NULL, 10);
  struct sockaddr_in to = {.sin_family = AF_INET,
                           .sin_port = htons((uint16_t)port)};
  struct weir_drv_addr addr = {.len = sizeof to, .family = AF_INET};
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  memcpy(addr.bytes, &to, sizeof to);
  weir_drv_status rc =
      host->stream_open(host->ctx, c->hconn, &addr, 0, &c->stream, err);
  if (rc != WEIR_DRV_DONE) {
    return rc;
  }
  wait->n_want = 1;
  wait->want[0] =
      (struct weir_drv_want){.stream = c->stream, .events = WEIR_DRV_EV_WRITE};
  return WEIR_DRV_WAIT;
}

static weir_drv_status stream_is_open(weir_drv_conn *c,
                                      struct weir_drv_wait *wait,
                                      struct weir_drv_error *err) {
  weir_drv_status rc = c->drv->host->stream_connected(c->stream, err);
  if (rc == WEIR_DRV_E_AGAIN) {
    wait->n_want = 1;
    wait->want[0] = (struct weir_drv_want){.stream = c->stream,
                                           .events = WEIR_DRV_EV_WRITE};
    return WEIR_DRV_WAIT;
  }
  return rc == WEIR_DRV_DONE ? done(wait) : rc;
}

static weir_drv_status run_connect(weir_drv_conn *c,
                                   const struct weir_drv_connect_args *a,
                                   struct weir_drv_wait *wait,
                                   struct weir_drv_error *err) {
  (void)a;
  c->steps = 0;
  if (is(c, "connect tells outputs")) {
    return WEIR_DRV_OUT;
  }
  if (of(c, "stream ")) {
    return open_stream(c, wait, err);
  }
  if (is(c, "connect tells columns")) {
    return WEIR_DRV_META;
  }
  if (is(c, "connect tells rows")) {
    return WEIR_DRV_ROWS;
  }
  if (is(c, "connect not usable")) {
    return WEIR_DRV_DONE;
  }
  weir_drv_status rc = of(c, "connect") ? common(c, wait) : 0;
  return rc != 0 ? rc : done(wait);
}

static weir_drv_status run_reset(weir_drv_conn *c,
                                 const struct weir_drv_reset_args *a,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  (void)a;
  (void)err;
  c->steps = 0;
  weir_drv_status rc = of(c, "reset") ? common(c, wait) : 0;
  return rc != 0 ? rc : done(wait);
}

static weir_drv_status put_rows(weir_drv_conn *c, unsigned cells) {
  const struct weir_drv_host *host = c->drv->host;
  weir_drv_batch *b = host->batch(host->ctx, c->hconn);
  for (unsigned i = 0; b != NULL && i < cells; i++) {
    (void)host->batch_cell(b, NULL, UINT64_MAX);
  }
  return WEIR_DRV_ROWS;
}

/* One row whose second cell is of the connection's memory, not the batch's; what
 * follows is what a driver could make of the refusal. */
static weir_drv_status put_stray(weir_drv_conn *c,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  const struct weir_drv_host *host = c->drv->host;
  weir_drv_batch *b = host->batch(host->ctx, c->hconn);
  if (b == NULL) {
    return WEIR_DRV_E_NOMEM;
  }
  (void)host->batch_cell(b, NULL, UINT64_MAX);
  (void)host->batch_cell(b, c->own, sizeof c->own);
  if (is(c, "exec stray cell and fails")) {
    err->scope = WEIR_DRV_SCOPE_STATEMENT;
    err->message_len = 4;
    memcpy(err->message, "oops", 4);
    return WEIR_DRV_FAIL;
  }
  if (is(c, "exec stray cell and waits")) {
    wait->flags = WEIR_DRV_WAIT_AGAIN;
    return WEIR_DRV_WAIT;
  }
  return is(c, "exec stray cell and ends") ? done(wait) : WEIR_DRV_ROWS;
}

static weir_drv_status run_exec(weir_drv_conn *c,
                                const struct weir_drv_exec_args *a,
                                struct weir_drv_wait *wait,
                                struct weir_drv_error *err) {
  (void)a;
  (void)err;
  c->steps = 0;
  if (of(c, "exec out")) {
    return WEIR_DRV_OUT;
  }
  if (of(c, "exec stray cell") || is(c, "exec half a row") ||
      is(c, "exec no columns") || is(c, "exec no batch") ||
      is(c, "exec odd columns")) {
    return WEIR_DRV_META;
  }
  if (is(c, "exec rows at once")) {
    return put_rows(c, 1);
  }
  weir_drv_status rc = of(c, "exec") ? common(c, wait) : 0;
  return rc != 0 ? rc : done(wait);
}

static weir_drv_status step(weir_drv_conn *c,
                            const struct weir_drv_wake *wake,
                            struct weir_drv_wait *wait,
                            struct weir_drv_error *err) {
  (void)wake;
  if (of(c, "stream ")) {
    return stream_is_open(c, wait, err);
  }
  if (of(c, "exec stray cell")) {
    return put_stray(c, wait, err);
  }
  if (of(c, "exec out")) {
    return is(c, "exec out no row")     ? done(wait)
           : is(c, "exec out count")    ? WEIR_DRV_COUNT
           : is(c, "exec out out")      ? WEIR_DRV_OUT
           : is(c, "exec out two rows") ? put_rows(c, 4)
                                        : put_rows(c, 1);
  }
  if (is(c, "exec half a row")) {
    return put_rows(c, 3);
  }
  if (is(c, "exec no batch")) {
    return WEIR_DRV_ROWS;
  }
  weir_drv_status rc = common(c, wait);
  return rc != 0 ? rc : done(wait);
}

static weir_drv_status tell_columns(weir_drv_conn *c,
                                    const struct weir_drv_column **arr,
                                    uint32_t *n,
                                    uint32_t *stride) {
  static const struct weir_drv_column two[2] = {
      {.struct_size = sizeof two[0], .type = WEIR_DRV_T_INT},
      {.struct_size = sizeof two[0], .type = WEIR_DRV_T_INT}};
  if (is(c, "exec no columns") || is(c, "exec out no columns")) {
    return WEIR_DRV_E_INVALID;
  }
  *arr = is(c, "exec odd columns") ? NULL : two;
  *n = 2;
  *stride = sizeof two[0];
  return WEIR_DRV_DONE;
}

static const struct weir_driver table = {
    .struct_size = (uint32_t)sizeof(struct weir_driver),
    .magic = WEIR_DRV_MAGIC,
    .abi_hash = WEIR_DRV_ABI_HASH,
    .abi_minor = WEIR_DRV_ABI_MINOR,
    .thread_model = WEIR_DRV_THREAD_PER_CONN,
    .caps = WEIR_DRV_CAP_RESET_LAZY | WEIR_DRV_CAP_RESET_EAGER,
    .name = "rogue",
    .version = "1.0",
    .open = open_driver,
    .close = close_driver,
    .options = list_options,
    .config_create = make_config,
    .config_destroy = drop_config,
    .config_key = tell_key,
    .conn_create = make_conn,
    .conn_destroy = drop_conn,
    .abort_conn = stop_conn,
    .get = get,
    .health = health,
    .connect = run_connect,
    .reset = run_reset,
    .exec = run_exec,
    .step = step,
    .columns = tell_columns,
};

const struct weir_driver *weir_driver_entry_v0(uint32_t host_abi_minor) {
  (void)host_abi_minor;
  return &table;
}
