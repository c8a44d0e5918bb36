/* SPDX-License-Identifier: MIT */
/* line_driver.c - a complete driver for a server that answers each line it gets
 * with one line.  abi/README.md walks through it. */
#include <string.h>

#include "weir_driver.h"

#define LINE_MAX_BYTES 4096u /* of a line, with its '\n' */

struct weir_drv_drv {
  const struct weir_drv_host *host;
};

struct weir_drv_cfg {
  uint32_t port;
  uint32_t server_len;
  char server[256]; /* lower case */
};

/* Where an operation stands.  After READY comes the next exec(). */
enum state {
  NEW,
  RESOLVING,
  CONNECTING,
  READY,
  SENDING,
  READING,
  ROW,
  COUNTED
};

struct weir_drv_conn {
  const struct weir_drv_host *host;
  const struct weir_drv_cfg *cfg;
  weir_drv_hconn *hc;
  weir_drv_stream *stream;
  struct weir_drv_req_resolve resolve; /* lives as long as the request */
  enum state state;
  uint32_t at;  /* bytes sent of line, or received into it */
  uint32_t len; /* bytes of line to be sent */
  char line[LINE_MAX_BYTES];
};

/* What each call about an operation brings. */
struct call {
  const struct weir_drv_wake *wake; /* NULL in the call that starts it */
  struct weir_drv_wait *wait;
  struct weir_drv_error *err;
};

/* Words for phases, by state. */
static const char *const phases[] = {"new",  "resolve", "connect", "idle",
                                     "exec", "exec",    "exec",    "exec"};

static weir_drv_status fail(struct weir_drv_error *err,
                            int32_t scope,
                            int32_t kind,
                            const char *message) {
  err->scope = scope;
  err->kind = kind;
  err->message_len = (uint32_t)strlen(message);
  if (err->message_cap != 0) {
    const uint32_t n = err->message_len < err->message_cap ? err->message_len
                                                           : err->message_cap;
    memcpy(err->message, message, n);
  }
  return WEIR_DRV_FAIL;
}

static weir_drv_status no_memory(struct weir_drv_error *err) {
  (void)fail(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_RESOURCE, "no memory");
  return WEIR_DRV_E_NOMEM;
}

static weir_drv_status lost(struct weir_drv_error *err) {
  return fail(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_NETWORK,
              "the connection to the server is lost");
}

/* Says what to wait for and goes to sleep. */
static weir_drv_status wait_for(const weir_drv_conn *c,
                                uint32_t events,
                                struct weir_drv_wait *wait) {
  wait->want[0].stream = c->stream;
  wait->want[0].events = events;
  wait->n_want = 1;
  return WEIR_DRV_WAIT;
}

/* ------------------------------------------------------ driver and options */

static weir_drv_status line_open(const struct weir_drv_host *host,
                                 const struct weir_drv_open_args *a,
                                 weir_drv_drv **out,
                                 struct weir_drv_error *err) {
  (void)a;
  weir_drv_drv *d = host->alloc(host->ctx, sizeof *d, 0);
  if (d == NULL) {
    return no_memory(err);
  }
  d->host = host;
  *out = d;
  return WEIR_DRV_DONE;
}

static void line_close(weir_drv_drv *d) {
  d->host->release(d->host->ctx, d);
}

#define TEXT(s) \
  { (s), sizeof(s) - 1 }

static const struct weir_drv_option_info options[] = {
    {.struct_size = sizeof options[0],
     .type = WEIR_DRV_T_TEXT,
     .flags = WEIR_DRV_OPT_KEY | WEIR_DRV_OPT_REQUIRED,
     .name = TEXT("Server"),
     .aliases = TEXT("Host,Data Source"),
     .help = TEXT("Host name or address of the server.")},
    {.struct_size = sizeof options[0],
     .type = WEIR_DRV_T_UINT,
     .flags = WEIR_DRV_OPT_KEY,
     .name = TEXT("Port"),
     .fallback = TEXT("7007"),
     .help = TEXT("TCP port of the server.")}};

static weir_drv_status line_options(weir_drv_drv *d,
                                    const struct weir_drv_option_info **arr,
                                    uint32_t *n,
                                    uint32_t *stride) {
  (void)d;
  *arr = options;
  *n = sizeof options / sizeof options[0];
  *stride = sizeof options[0];
  return WEIR_DRV_DONE;
}

static int is_named(const struct weir_drv_option *o, const char *name) {
  return o->name.n == strlen(name) && memcmp(o->name.p, name, o->name.n) == 0;
}

/* Takes one option; NULL, or what is wrong with it. */
static const char *take(weir_drv_cfg *cfg, const struct weir_drv_option *o) {
  if (is_named(o, "Port")) {
    cfg->port = (uint32_t)o->value.u;
    return o->value.u == 0 || o->value.u > 65535 ? "Port is not 1 to 65535"
                                                 : NULL;
  }
  if (!is_named(o, "Server") || o->value.n == 0 ||
      o->value.n > sizeof cfg->server) {
    return "Server is empty or longer than 256 bytes";
  }
  const char *p = o->value.p;
  for (uint32_t i = 0; i < o->value.n; i++) {
    cfg->server[i] =
        (char)(p[i] >= 'A' && p[i] <= 'Z' ? p[i] + ('a' - 'A') : p[i]);
  }
  cfg->server_len = (uint32_t)o->value.n;
  return NULL;
}

static weir_drv_status line_config_create(weir_drv_drv *d,
                                          const struct weir_drv_option *o,
                                          uint32_t n,
                                          weir_drv_cfg **out,
                                          struct weir_drv_error *err) {
  weir_drv_cfg *cfg = d->host->alloc(d->host->ctx, sizeof *cfg, 0);
  if (cfg == NULL) {
    return no_memory(err);
  }
  cfg->port = 7007;
  const char *wrong = NULL;
  for (uint32_t i = 0; i < n && wrong == NULL; i++) {
    wrong = take(cfg, &o[i]);
  }
  if (wrong == NULL && cfg->server_len == 0) {
    wrong = "Server is missing";
  }
  if (wrong != NULL) {
    d->host->release(d->host->ctx, cfg);
    return fail(err, WEIR_DRV_SCOPE_CONFIG, WEIR_DRV_K_CONFIG, wrong);
  }
  *out = cfg;
  return WEIR_DRV_DONE;
}

/* The decimal digits of a port at the end of text. */
static struct weir_drv_bytes port_text(uint32_t port, uint8_t text[5]) {
  uint64_t n = 0;
  do {
    n++;
    text[5 - n] = (uint8_t)('0' + port % 10);
    port /= 10;
  } while (port != 0);
  return (struct weir_drv_bytes){text + 5 - n, n};
}

static void line_config_destroy(weir_drv_drv *d, weir_drv_cfg *c) {
  d->host->release(d->host->ctx, c);
}

/* All three kinds of key are the same here: there are no secrets and nothing
 * but the endpoint.  One of them is shown to people, so all values are text. */
static weir_drv_status line_config_key(weir_drv_drv *d,
                                       const weir_drv_cfg *c,
                                       int32_t which,
                                       const struct weir_drv_key_sink *sink) {
  const struct weir_drv_text server = TEXT("server");
  const struct weir_drv_text port = TEXT("port");
  uint8_t digits[5];
  const struct weir_drv_bytes name = {(const uint8_t *)c->server,
                                      c->server_len};
  const struct weir_drv_bytes number = port_text(c->port, digits);
  (void)d;
  if (which < WEIR_DRV_KEY_POOL || which > WEIR_DRV_KEY_DISPLAY) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  const weir_drv_status rc = sink->part(sink->ctx, 0, &server, &name);
  return rc == WEIR_DRV_DONE ? sink->part(sink->ctx, 0, &port, &number) : rc;
}

/* -------------------------------------------------------------- connection */

static weir_drv_status line_conn_create(weir_drv_drv *d,
                                        const weir_drv_cfg *cfg,
                                        weir_drv_hconn *hc,
                                        weir_drv_conn **out,
                                        struct weir_drv_error *err) {
  weir_drv_conn *c = d->host->alloc(d->host->ctx, sizeof *c, 0);
  if (c == NULL) {
    return no_memory(err);
  }
  c->host = d->host;
  c->cfg = cfg;
  c->hc = hc;
  *out = c;
  return WEIR_DRV_DONE;
}

/* In a forked child the stream is the parent's: nothing of ours to close. */
static void line_abort_conn(weir_drv_conn *c, int32_t how) {
  if (how == WEIR_DRV_ABORT_CLOSE && c->stream != NULL) {
    c->host->stream_close(c->stream);
    c->stream = NULL;
  }
}

static void line_conn_destroy(weir_drv_conn *c) {
  const struct weir_drv_host *host = c->host;
  line_abort_conn(c, WEIR_DRV_ABORT_CLOSE);
  host->release(host->ctx, c);
}

static weir_drv_status line_get(weir_drv_conn *c,
                                int32_t prop,
                                struct weir_drv_value *out) {
  if (prop != WEIR_DRV_P_PHASE) {
    return WEIR_DRV_E_UNSUPPORTED;
  }
  *out = (struct weir_drv_value){.type = WEIR_DRV_T_TEXT,
                                 .p = phases[c->state],
                                 .n = strlen(phases[c->state])};
  return WEIR_DRV_DONE;
}

static int32_t line_health(weir_drv_conn *c) {
  char byte;
  const int64_t n = c->stream == NULL
                        ? WEIR_DRV_FAIL
                        : c->host->stream_peek(c->stream, &byte, sizeof byte);
  return n > 0                   ? WEIR_DRV_ALIVE_PENDING
         : n == WEIR_DRV_E_AGAIN ? WEIR_DRV_ALIVE_YES
                                 : WEIR_DRV_ALIVE_NO;
}

/* -------------------------------------------- the state machine, in order */

static weir_drv_status line_connect(weir_drv_conn *c,
                                    const struct weir_drv_connect_args *a,
                                    struct weir_drv_wait *wait,
                                    struct weir_drv_error *err) {
  (void)a;
  (void)err;
  c->resolve.struct_size = sizeof c->resolve;
  c->resolve.port = c->cfg->port;
  c->resolve.host.p = c->cfg->server;
  c->resolve.host.n = c->cfg->server_len;
  wait->request = WEIR_DRV_REQ_RESOLVE;
  wait->request_arg = &c->resolve;
  c->state = RESOLVING;
  return WEIR_DRV_WAIT;
}

static weir_drv_status resolved(weir_drv_conn *c, struct call *k) {
  const struct weir_drv_rep_resolve *reply = k->wake->reply;
  if ((k->wake->why & WEIR_DRV_WHY_REPLY) == 0) {
    return WEIR_DRV_WAIT; /* the request stays open */
  }
  if (k->wake->reply_status != WEIR_DRV_DONE || reply->n == 0) {
    return fail(k->err, WEIR_DRV_SCOPE_ENDPOINT, WEIR_DRV_K_NAME,
                "the server's name cannot be resolved");
  }
  const weir_drv_status rc = c->host->stream_open(
      c->host->ctx, c->hc, &reply->addr[0], 0, &c->stream, k->err);
  if (rc != WEIR_DRV_DONE) {
    return rc; /* the host has filled *err */
  }
  c->state = CONNECTING;
  return wait_for(c, WEIR_DRV_EV_WRITE, k->wait);
}

static weir_drv_status connected(weir_drv_conn *c, struct call *k) {
  const weir_drv_status rc = c->host->stream_connected(c->stream, k->err);
  if (rc == WEIR_DRV_E_AGAIN) {
    return wait_for(c, WEIR_DRV_EV_WRITE, k->wait);
  }
  if (rc == WEIR_DRV_DONE) {
    c->state = READY;
    k->wait->usable = 1;
  }
  return rc;
}

static weir_drv_status send_line(weir_drv_conn *c, struct call *k) {
  while (c->at < c->len) {
    const int64_t n =
        c->host->stream_write(c->stream, c->line + c->at, c->len - c->at);
    if (n == WEIR_DRV_E_AGAIN) {
      return wait_for(c, WEIR_DRV_EV_WRITE, k->wait);
    }
    if (n < 0) {
      k->err->flags = c->at == 0 ? 0 : WEIR_DRV_EF_MAYBE_EXECUTED;
      return lost(k->err);
    }
    c->at += (uint32_t)n;
  }
  c->state = READING;
  c->at = 0;
  return WEIR_DRV_META;
}

/* n: bytes of the answer, without its '\n'. */
static weir_drv_status give_row(weir_drv_conn *c, uint64_t n, struct call *k) {
  weir_drv_batch *b = c->host->batch(c->host->ctx, c->hc);
  void *cell = b == NULL ? NULL : c->host->batch_space(b, n + 1);
  if (cell == NULL) {
    return no_memory(k->err);
  }
  memcpy(cell, c->line, n);
  c->state = ROW;
  return c->host->batch_cell(b, cell, n) == WEIR_DRV_DONE ? WEIR_DRV_ROWS
                                                          : no_memory(k->err);
}

static weir_drv_status read_line(weir_drv_conn *c, struct call *k) {
  const char *end = NULL;
  while (end == NULL) {
    if (c->at == sizeof c->line) {
      return fail(k->err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_PROTOCOL,
                  "the server sent a line of more than 4096 bytes");
    }
    const int64_t n = c->host->stream_read(c->stream, c->line + c->at,
                                           sizeof c->line - c->at);
    if (n == WEIR_DRV_E_AGAIN) {
      return wait_for(c, WEIR_DRV_EV_READ, k->wait);
    }
    if (n < 0) {
      k->err->flags = WEIR_DRV_EF_MAYBE_EXECUTED;
      return lost(k->err);
    }
    end = memchr(c->line + c->at, '\n', (size_t)n);
    c->at += (uint32_t)n;
  }
  if (end + 1 != c->line + c->at) {
    return fail(k->err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_PROTOCOL,
                "the server sent more than one line");
  }
  return give_row(c, c->at - 1, k);
}

static weir_drv_status count_row(weir_drv_conn *c, struct call *k) {
  c->state = COUNTED;
  k->wait->row_count = 1;
  return WEIR_DRV_COUNT;
}

static weir_drv_status finish(weir_drv_conn *c, struct call *k) {
  c->state = READY;
  k->wait->usable = 1;
  return WEIR_DRV_DONE;
}

static weir_drv_status line_exec(weir_drv_conn *c,
                                 const struct weir_drv_exec_args *a,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  if (a->sql.n == 0 || a->sql.n >= sizeof c->line || a->n_params != 0 ||
      memchr(a->sql.p, '\n', a->sql.n) != NULL) {
    wait->usable = 1; /* nothing was sent */
    return fail(err, WEIR_DRV_SCOPE_STATEMENT, WEIR_DRV_K_SYNTAX,
                "a statement is one line of 1 to 4095 bytes");
  }
  memcpy(c->line, a->sql.p, a->sql.n);
  c->line[a->sql.n] = '\n';
  c->len = (uint32_t)a->sql.n + 1;
  c->at = 0;
  c->state = SENDING;
  struct call call = {NULL, wait, err};
  return send_line(c, &call);
}

static weir_drv_status line_step(weir_drv_conn *c,
                                 const struct weir_drv_wake *wake,
                                 struct weir_drv_wait *wait,
                                 struct weir_drv_error *err) {
  static weir_drv_status (*const steps[])(weir_drv_conn *, struct call *) = {
      [RESOLVING] = resolved, [CONNECTING] = connected, [SENDING] = send_line,
      [READING] = read_line,  [ROW] = count_row,        [COUNTED] = finish};
  if (steps[c->state] == NULL) {
    (void)fail(err, WEIR_DRV_SCOPE_CONN, WEIR_DRV_K_INTERNAL,
               "step() without an operation");
    return WEIR_DRV_E_INVALID;
  }
  struct call call = {wake, wait, err};
  return steps[c->state](c, &call);
}

static weir_drv_status line_columns(weir_drv_conn *c,
                                    const struct weir_drv_column **arr,
                                    uint32_t *n,
                                    uint32_t *stride) {
  static const struct weir_drv_column column = {.struct_size = sizeof column,
                                                .type = WEIR_DRV_T_TEXT,
                                                .name = TEXT("answer"),
                                                .max_bytes =
                                                    LINE_MAX_BYTES - 1};
  (void)c;
  *arr = &column;
  *n = 1;
  *stride = sizeof column;
  return WEIR_DRV_DONE;
}

/* --------------------------------------------------------------- the table */

WEIR_DRV_DRIVER_NOTE(0);

static const struct weir_driver table = {.struct_size = sizeof table,
                                         .magic = WEIR_DRV_MAGIC,
                                         .abi_hash = WEIR_DRV_ABI_HASH,
                                         .abi_minor = WEIR_DRV_ABI_MINOR,
                                         .thread_model =
                                             WEIR_DRV_THREAD_PER_CONN,
                                         .name = "line",
                                         .version = "1.0",
                                         .open = line_open,
                                         .close = line_close,
                                         .options = line_options,
                                         .config_create = line_config_create,
                                         .config_destroy = line_config_destroy,
                                         .config_key = line_config_key,
                                         .conn_create = line_conn_create,
                                         .conn_destroy = line_conn_destroy,
                                         .abort_conn = line_abort_conn,
                                         .get = line_get,
                                         .health = line_health,
                                         .connect = line_connect,
                                         .exec = line_exec,
                                         .step = line_step,
                                         .columns = line_columns};

const struct weir_driver *weir_driver_entry_v0(uint32_t host_abi_minor) {
  (void)host_abi_minor;
  return &table;
}
