/* SPDX-License-Identifier: MIT */
/* fake_host.c - see fake_host.h. */
#include "fake_host.h"

#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_cell {
  const uint8_t *p; /* NULL: SQL NULL */
  size_t n;
};

struct fake_block {
  struct fake_block *next;
  uint8_t *p;
};

struct fake_tls {
  struct fake *f;
  struct fake_bytes out;
  struct fake_bytes in; /* fed and not yet taken */
  size_t in_at;
  bool said; /* our hello is out */
  bool done;
};

struct fake_stream {
  struct fake *f;
  bool refused;
  size_t number; /* counted from 1 as they are opened */
};

static bool is_dead(const weir_drv_stream *stream) {
  const struct fake_stream *s = (const struct fake_stream *)stream;
  return s->number <= s->f->dead;
}

void fake_add(struct fake_bytes *b, const void *p, size_t n) {
  if (b->cap - b->n < n + 1) {
    b->cap = (b->cap + n + 1) * 2;
    b->p = realloc(b->p, b->cap);
    assert(b->p != NULL);
  }
  if (n > 0) {
    memcpy(b->p + b->n, p, n);
  }
  b->n += n;
  b->p[b->n] = 0;
}

void fake_copy(char *to, size_t cap, const char *p, size_t n) {
  n = n < cap ? n : cap - 1;
  if (n > 0) {
    memcpy(to, p, n);
  }
  to[n] = '\0';
}

static void clear(struct fake_bytes *b) {
  free(b->p);
  memset(b, 0, sizeof *b);
}

static void add_text(struct fake_bytes *b, const char *text) {
  fake_add(b, text, strlen(text));
}

/* A limit for one call: fixed, drawn, or none. */
static size_t limit(struct fake *f, size_t fixed, size_t n) {
  if (f->seed != 0) {
    f->seed = f->seed * 1103515245u + 12345u;
    fixed = (f->seed >> 16) % 97 + 1;
  }
  return fixed != 0 && fixed < n ? fixed : n;
}

/* ------------------------------------------------------------------- memory */

static void *alloc(void *ctx, uint64_t size, uint32_t flags) {
  struct fake *f = ctx;
  f->secrets += (flags & WEIR_DRV_V_SECRET) != 0;
  if (f->fail_alloc > 0) {
    f->fail_alloc--;
    if (f->fail_alloc == 0) {
      return NULL;
    }
  }
  void *p = calloc(1, size == 0 ? 1 : (size_t)size);
  f->live += p != NULL;
  f->most_alloc = size > f->most_alloc ? (size_t)size : f->most_alloc;
  return p;
}

static void release(void *ctx, void *p) {
  struct fake *f = ctx;
  if (p != NULL) {
    f->live--;
  }
  free(p);
}

static void wipe(void *ctx, void *p, uint64_t n) {
  (void)ctx;
  memset(p, 0, (size_t)n);
}

static weir_drv_status fill_random(void *ctx, void *p, uint64_t n) {
  (void)ctx;
  memset(p, 7, (size_t)n);
  return WEIR_DRV_DONE;
}

static weir_drv_time now(void *ctx) {
  const struct fake *f = ctx;
  return f->time + 1;
}

static int32_t log_on(void *ctx, int32_t level) {
  (void)ctx;
  (void)level;
  return 0;
}

static void log_text(void *ctx,
                     weir_drv_hconn *hc,
                     int32_t level,
                     const struct weir_drv_text *text) {
  (void)ctx;
  (void)hc;
  (void)level;
  (void)text;
}

static void diag(void *ctx, weir_drv_hconn *hc, const struct weir_drv_diag *d) {
  struct fake *f = ctx;
  char head[64];
  (void)hc;
  (void)snprintf(head, sizeof head, "%d/%u: ", d->native, d->severity);
  add_text(&f->diags, head);
  fake_add(&f->diags, d->message.p, (size_t)d->message.n);
  add_text(&f->diags, "\n");
}

/* --------------------------------------------------------------------- rows */

static weir_drv_batch *batch(void *ctx, weir_drv_hconn *hc) {
  (void)hc;
  return ctx;
}

static void *batch_space(weir_drv_batch *b, uint64_t n) {
  struct fake *f = (struct fake *)b;
  struct fake_block *block = calloc(1, sizeof *block);
  assert(block != NULL);
  block->p = malloc(n == 0 ? 1 : (size_t)n);
  assert(block->p != NULL);
  block->next = f->blocks;
  f->blocks = block;
  return block->p;
}

static void *batch_grow(weir_drv_batch *b,
                        void *p,
                        uint64_t n,
                        uint64_t bigger) {
  struct fake *f = (struct fake *)b;
  assert(f->blocks != NULL && f->blocks->p == p && bigger >= n);
  f->blocks->p = realloc(f->blocks->p, (size_t)bigger);
  assert(f->blocks->p != NULL);
  return f->blocks->p;
}

static weir_drv_status batch_cell(weir_drv_batch *b,
                                  const void *p,
                                  uint64_t n) {
  struct fake *f = (struct fake *)b;
  struct fake_cell cell = {p, p == NULL ? 0 : (size_t)n};
  assert(p != NULL || n == UINT64_MAX);
  fake_add(&f->cells, &cell, sizeof cell);
  f->n_cells++;
  return WEIR_DRV_DONE;
}

static void drop_batch(struct fake *f) {
  while (f->blocks != NULL) {
    struct fake_block *next = f->blocks->next;
    free(f->blocks->p);
    free(f->blocks);
    f->blocks = next;
  }
  f->cells.n = 0;
  f->n_cells = 0;
}

static void show_hex(struct fake_bytes *log, const uint8_t *p, size_t n) {
  char two[3];
  for (size_t i = 0; i < n; i++) {
    (void)snprintf(two, sizeof two, "%02x", p[i]);
    add_text(log, two);
  }
}

static void show_cell(struct fake_bytes *log,
                      int32_t type,
                      const struct fake_cell *cell) {
  char text[64];
  int64_t i = 0;
  double d = 0;
  if (cell->p == NULL) {
    add_text(log, "NULL");
    return;
  }
  switch (type) {
  case WEIR_DRV_T_INT:
    assert(cell->n == 8);
    memcpy(&i, cell->p, 8);
    (void)snprintf(text, sizeof text, "%lld", (long long)i);
    add_text(log, text);
    break;
  case WEIR_DRV_T_BOOL:
    assert(cell->n == 1 && cell->p[0] <= 1);
    add_text(log, cell->p[0] ? "true" : "false");
    break;
  case WEIR_DRV_T_FLOAT:
    assert(cell->n == 8);
    memcpy(&d, cell->p, 8);
    (void)snprintf(text, sizeof text, "%.17g", d);
    add_text(log, text);
    break;
  case WEIR_DRV_T_BYTES:
  case WEIR_DRV_T_UUID:
    add_text(log, "0x");
    show_hex(log, cell->p, cell->n);
    break;
  default:
    fake_add(log, cell->p, cell->n);
    break;
  }
}

static void show_rows(struct fake *f) {
  assert(f->n_columns > 0 && f->n_cells % f->n_columns == 0);
  for (size_t i = 0; i < f->n_cells; i++) {
    struct fake_cell cell;
    size_t column = i % f->n_columns;
    memcpy(&cell, f->cells.p + i * sizeof cell, sizeof cell);
    add_text(&f->log, column == 0 ? "ROW " : "|");
    show_cell(&f->log, f->types[column], &cell);
    if (column + 1 == f->n_columns) {
      add_text(&f->log, "\n");
      f->rows++;
    }
  }
  drop_batch(f);
}

static void show_columns(struct fake *f, const char *what) {
  const struct weir_drv_column *c = NULL;
  uint32_t n = 0;
  uint32_t stride = 0;
  assert(f->driver->columns(f->conn, &c, &n, &stride) == WEIR_DRV_DONE);
  assert(stride == sizeof *c && n <= 4096);
  f->n_columns = n;
  add_text(&f->log, what);
  for (uint32_t i = 0; i < n; i++) {
    f->types[i] = c[i].type;
    add_text(&f->log, " ");
    fake_add(&f->log, c[i].name.p, (size_t)c[i].name.n);
    add_text(&f->log, ":");
    fake_add(&f->log, c[i].native_type.p, (size_t)c[i].native_type.n);
  }
  add_text(&f->log, "\n");
}

/* ------------------------------------------------------------------ streams */

static weir_drv_status stream_open(void *ctx,
                                   weir_drv_hconn *hc,
                                   const struct weir_drv_addr *to,
                                   uint32_t flags,
                                   weir_drv_stream **out,
                                   struct weir_drv_error *err) {
  struct fake *f = ctx;
  (void)hc;
  (void)to;
  (void)flags;
  (void)err;
  struct fake_stream *s = calloc(1, sizeof *s);
  assert(s != NULL);
  s->f = f;
  s->refused = f->opened < f->refuse;
  s->number = ++f->opened;
  f->streams++;
  *out = (weir_drv_stream *)s;
  return WEIR_DRV_WAIT;
}

static weir_drv_status stream_connected(weir_drv_stream *stream,
                                        struct weir_drv_error *err) {
  struct fake_stream *s = (struct fake_stream *)stream;
  if (is_dead(stream)) {
    return WEIR_DRV_E_AGAIN;
  }
  if (!s->refused) {
    return WEIR_DRV_DONE;
  }
  err->scope = WEIR_DRV_SCOPE_ENDPOINT;
  err->kind = WEIR_DRV_K_NETWORK;
  (void)snprintf(err->message, err->message_cap, "connection refused");
  err->message_len = (uint32_t)strlen(err->message);
  return WEIR_DRV_FAIL;
}

/* Length of the message unit that starts at p: a packet, plain or encrypted,
 * or a bare hello.  0: more bytes are needed.  *out_ends: it ends a message. */
static size_t unit(const uint8_t *p, size_t n, bool *out_ends) {
  if (p[0] == FAKE_HELLO[0]) {
    *out_ends = true;
    return n < strlen(FAKE_HELLO) ? 0 : strlen(FAKE_HELLO);
  }
  if (n < 8) {
    return 0;
  }
  static const uint8_t types[] = {0x01, 0x03, 0x06, 0x08, 0x0E, 0x10, 0x12};
  bool plain = memchr(types, p[0], sizeof types) != NULL;
  uint8_t key = plain ? 0 : FAKE_KEY;
  size_t length = (size_t)((p[2] ^ key) << 8 | (p[3] ^ key));
  *out_ends = ((p[1] ^ key) & 1) != 0;
  assert(length >= 8);
  return n < length ? 0 : length;
}

static void count_messages(struct fake *f) {
  while (f->parsed < f->sent.n) {
    bool ends = false;
    size_t n = unit(f->sent.p + f->parsed, f->sent.n - f->parsed, &ends);
    if (n == 0) {
      break;
    }
    f->parsed += n;
    f->messages += ends;
  }
}

static int64_t stream_write(weir_drv_stream *s, const void *p, uint64_t n) {
  struct fake *f = ((struct fake_stream *)s)->f;
  size_t k = limit(f, f->write_most, (size_t)n);
  if (f->stall_at != 0 && f->sent.n + k > f->stall_at) {
    k = f->stall_at > f->sent.n ? f->stall_at - f->sent.n : 0;
  }
  if (k == 0) {
    return WEIR_DRV_E_AGAIN;
  }
  fake_add(&f->sent, p, k);
  count_messages(f);
  return (int64_t)k;
}

/* Bytes that could be read now. */
static size_t readable(struct fake *f) {
  while (f->answer + 1 < f->n_answers && f->answer + 1 < f->messages &&
         f->read_at == f->answers[f->answer].n) {
    f->answer++;
    f->read_at = 0;
  }
  if (f->answer >= f->n_answers || f->answer >= f->messages) {
    return 0;
  }
  return f->answers[f->answer].n - f->read_at;
}

/* The server has closed: nothing is left to be read, ever. */
static bool over(struct fake *f) {
  return f->hang_up && readable(f) == 0 &&
         (f->n_answers == 0 || (f->answer + 1 >= f->n_answers &&
                                (f->answer + 1 < f->messages ||
                                 f->read_at == f->answers[f->answer].n)));
}

static int64_t take(struct fake *f, void *p, uint64_t cap, bool keep) {
  size_t n = readable(f);
  if (n == 0) {
    return over(f) ? WEIR_DRV_E_CLOSED : WEIR_DRV_E_AGAIN;
  }
  n = limit(f, f->read_most, n < cap ? n : (size_t)cap);
  memcpy(p, f->answers[f->answer].p + f->read_at, n);
  f->read_at += keep ? 0 : n;
  return (int64_t)n;
}

static int64_t stream_read(weir_drv_stream *s, void *p, uint64_t cap) {
  return take(((struct fake_stream *)s)->f, p, cap, false);
}

static int64_t stream_peek(weir_drv_stream *s, void *p, uint64_t cap) {
  return take(((struct fake_stream *)s)->f, p, cap, true);
}

static void stream_close(weir_drv_stream *s) {
  struct fake_stream *stream = (struct fake_stream *)s;
  stream->f->streams--;
  free(stream);
}

static void fd_forget(void *ctx, weir_drv_hconn *hc, weir_drv_fd fd) {
  (void)ctx;
  (void)hc;
  (void)fd;
}

/* ---------------------------------------------------------------------- tls */

static weir_drv_status tls_open(void *ctx,
                                weir_drv_hconn *hc,
                                const struct weir_drv_tls_args *a,
                                weir_drv_tls **out,
                                struct weir_drv_error *err) {
  struct fake *f = ctx;
  (void)hc;
  (void)err;
  struct fake_tls *t = calloc(1, sizeof *t);
  assert(t != NULL);
  t->f = f;
  f->tls_flags = a->flags;
  fake_copy(f->tls_alpn, sizeof f->tls_alpn, a->alpn.p, (size_t)a->alpn.n);
  fake_copy(f->tls_name, sizeof f->tls_name, a->server_name.p,
            (size_t)a->server_name.n);
  *out = (weir_drv_tls *)t;
  return WEIR_DRV_DONE;
}

static weir_drv_status tls_handshake(weir_drv_tls *tls,
                                     struct weir_drv_error *err) {
  struct fake_tls *t = (struct fake_tls *)tls;
  if (t->f->bad_tls) {
    err->scope = WEIR_DRV_SCOPE_CONFIG;
    err->kind = WEIR_DRV_K_TLS;
    (void)snprintf(err->message, err->message_cap,
                   "TLS: self-signed certificate");
    err->message_len = (uint32_t)strlen(err->message);
    return WEIR_DRV_FAIL;
  }
  if (!t->said) {
    add_text(&t->out, FAKE_HELLO);
    t->said = true;
  }
  if (t->in.n - t->in_at < strlen(FAKE_ANSWER)) {
    return WEIR_DRV_WAIT;
  }
  if (memcmp(t->in.p + t->in_at, FAKE_ANSWER, strlen(FAKE_ANSWER)) != 0) {
    err->kind = WEIR_DRV_K_TLS;
    return WEIR_DRV_FAIL;
  }
  t->in_at += strlen(FAKE_ANSWER);
  t->done = true;
  return WEIR_DRV_DONE;
}

static int64_t tls_feed(weir_drv_tls *tls, const void *p, uint64_t n) {
  struct fake_tls *t = (struct fake_tls *)tls;
  fake_add(&t->in, p, (size_t)n);
  return (int64_t)n;
}

static int64_t tls_drain(weir_drv_tls *tls, void *p, uint64_t cap) {
  struct fake_tls *t = (struct fake_tls *)tls;
  size_t n = t->out.n < cap ? t->out.n : (size_t)cap;
  if (n > 0) {
    memcpy(p, t->out.p, n);
    memmove(t->out.p, t->out.p + n, t->out.n - n);
    t->out.n -= n;
  }
  return (int64_t)n;
}

static int64_t tls_read(weir_drv_tls *tls, void *p, uint64_t cap) {
  struct fake_tls *t = (struct fake_tls *)tls;
  size_t n = t->in.n - t->in_at;
  uint8_t *to = p;
  n = n < cap ? n : (size_t)cap;
  n = t->f->tls_most == 0 || n < t->f->tls_most ? n : t->f->tls_most;
  for (size_t i = 0; i < n; i++) {
    to[i] = t->in.p[t->in_at + i] ^ FAKE_KEY;
  }
  t->in_at += n;
  return n == 0 ? WEIR_DRV_E_AGAIN : (int64_t)n;
}

/* Takes at most 1000 bytes between two drains, as a full TLS buffer would. */
static int64_t tls_write(weir_drv_tls *tls, const void *p, uint64_t n) {
  struct fake_tls *t = (struct fake_tls *)tls;
  const uint8_t *from = p;
  size_t k = n < 1000 ? (size_t)n : 1000;
  if (t->out.n >= 1000) {
    return WEIR_DRV_E_AGAIN;
  }
  for (size_t i = 0; i < k; i++) {
    uint8_t c = from[i] ^ FAKE_KEY;
    fake_add(&t->out, &c, 1);
  }
  return (int64_t)k;
}

static int32_t tls_pending(weir_drv_tls *tls) {
  struct fake_tls *t = (struct fake_tls *)tls;
  return t->in.n > t->in_at;
}

static int64_t tls_info(weir_drv_tls *tls, char *p, uint64_t cap) {
  (void)tls;
  return snprintf(p, (size_t)cap, "FakeTLS XOR");
}

static void tls_close(weir_drv_tls *tls) {
  struct fake_tls *t = (struct fake_tls *)tls;
  clear(&t->in);
  clear(&t->out);
  free(t);
}

static const struct weir_drv_tls_api tls_api = {
    .struct_size = sizeof tls_api,
    .version = 1,
    .open = tls_open,
    .handshake = tls_handshake,
    .feed = tls_feed,
    .drain = tls_drain,
    .read = tls_read,
    .write = tls_write,
    .pending = tls_pending,
    .info = tls_info,
    .close = tls_close,
};

static const void *service(void *ctx, const char *name, uint32_t version) {
  const struct fake *f = ctx;
  (void)version;
  return strcmp(name, "weir.tls") == 0 && !f->no_tls ? &tls_api : NULL;
}

/* ----------------------------------------------------------------- scripting */

static uint8_t digit(char c) {
  static const char digits[] = "0123456789abcdef";
  const char *at = strchr(digits, c | 0x20);
  assert(c != '\0' && at != NULL);
  return (uint8_t)(at - digits);
}

uint8_t *fake_unhex(const char *hex, size_t *out_n) {
  size_t n = 0;
  uint8_t *p = malloc(strlen(hex) / 2 + 1);
  assert(p != NULL);
  while (*hex != '\0') {
    if (*hex == ' ' || *hex == '\n') {
      hex++;
      continue;
    }
    p[n++] = (uint8_t)(digit(hex[0]) << 4 | digit(hex[1]));
    hex += 2;
  }
  *out_n = n;
  return p;
}

void fake_raw(struct fake *f, const void *p, size_t n) {
  assert(f->n_answers < FAKE_ANSWERS);
  fake_add(&f->answers[f->n_answers++], p, n);
}

void fake_hex(struct fake *f, const char *hex) {
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  fake_raw(f, p, n);
  free(p);
}

void fake_reply(struct fake *f, const void *body, size_t n) {
  struct fake_bytes b = {0};
  uint8_t head[8] = {4, 1, (uint8_t)((n + 8) >> 8), (uint8_t)(n + 8), 0, 51};
  fake_add(&b, head, sizeof head);
  fake_add(&b, body, n);
  fake_raw(f, b.p, b.n);
  clear(&b);
}

void fake_reply_hex(struct fake *f, const char *hex) {
  size_t n = 0;
  uint8_t *p = fake_unhex(hex, &n);
  fake_reply(f, p, n);
  free(p);
}

void fake_encrypt(struct fake *f, size_t index) {
  for (size_t i = index; i < f->n_answers; i++) {
    for (size_t k = 0; k < f->answers[i].n; k++) {
      f->answers[i].p[k] ^= FAKE_KEY;
    }
  }
}

static const char prelogin_reply[] =
    "00 000b 0006 01 0011 0001 ff 10000fa00000 02";

static const char login_reply[] =
    /* ENVCHANGE 1: master */
    "e3 1b00 01 06 6d00 6100 7300 7400 6500 7200"
    "         06 6d00 6100 7300 7400 6500 7200"
    /* ENVCHANGE 4: 4096 */
    "e3 1300 04 04 3400 3000 3900 3600 04 3400 3000 3900 3600"
    /* LOGINACK 7.4, program "SQL", 16.0.4085 */
    "ad 1000 01 74000004 03 5300 5100 4c00 10 00 0ff5"
    /* DONE */
    "fd 0000 0000 0000000000000000";

const uint8_t *fake_login_body(size_t *out_n) {
  static uint8_t *body;
  static size_t n;
  if (body == NULL) {
    body = fake_unhex(login_reply, &n);
  }
  *out_n = n;
  return body;
}

void fake_login(struct fake *f) {
  size_t n = 0;
  const uint8_t *body = fake_login_body(&n);
  fake_reply_hex(f, prelogin_reply);
  fake_reply(f, body, n);
}

/* ---------------------------------------------------------------- life, runs */

static void fresh(struct fake *f) {
  memset(&f->wait, 0, sizeof f->wait);
  f->wait.struct_size = sizeof f->wait;
  f->wait.timer = WEIR_DRV_NEVER;
  f->wait.row_count = WEIR_DRV_NO_COUNT;
  memset(&f->err, 0, sizeof f->err);
  f->err.struct_size = sizeof f->err;
  f->err.message = f->message;
  f->err.message_cap = sizeof f->message;
  f->message[0] = '\0';
}

static void fill_table(struct fake *f) {
  f->host = (struct weir_drv_host){
      .struct_size = sizeof f->host,
      .ctx = f,
      .now = now,
      .unix_ms = now,
      .alloc = alloc,
      .release = release,
      .wipe = wipe,
      .random = fill_random,
      .log_on = log_on,
      .log = log_text,
      .diag = diag,
      .batch = batch,
      .batch_space = batch_space,
      .batch_grow = batch_grow,
      .batch_cell = batch_cell,
      .stream_open = stream_open,
      .stream_connected = stream_connected,
      .stream_read = stream_read,
      .stream_write = stream_write,
      .stream_peek = stream_peek,
      .stream_close = stream_close,
      .fd_forget = fd_forget,
      .service = service,
  };
}

/* "a=b;c=d" as options; a Password comes the way the engine passes secrets. */
static uint32_t split(char *text, struct weir_drv_option *o, uint32_t most) {
  uint32_t n = 0;
  char *save = NULL;
  for (char *p = strtok_r(text, ";", &save); p != NULL && n < most;
       p = strtok_r(NULL, ";", &save)) {
    char *equals = strchr(p, '=');
    assert(equals != NULL);
    *equals = '\0';
    o[n].name.p = p;
    o[n].name.n = strlen(p);
    o[n].value.type = WEIR_DRV_T_TEXT;
    o[n].value.p = equals + 1;
    o[n].value.n = strlen(equals + 1);
    if (strcmp(p, "Password") == 0 || strcmp(p, "Access Token") == 0) {
      memset(&o[n].value, 0, sizeof o[n].value);
      o[n].value.flags = WEIR_DRV_V_SECRET;
    }
    n++;
  }
  return n;
}

weir_drv_status fake_configure(struct fake *f, const char *options) {
  struct weir_drv_option o[32];
  char *text = strdup(options);
  memset(o, 0, sizeof o);
  assert(text != NULL);
  if (f->driver == NULL) {
    memset(f, 0, sizeof *f);
    fill_table(f);
    fresh(f);
    f->addresses = 1;
    f->driver = weir_driver_entry_v0(0);
    assert(f->driver->open(&f->host, NULL, &f->drv, &f->err) == WEIR_DRV_DONE);
  }
  fresh(f);
  uint32_t n = split(text, o, 32);
  weir_drv_status rc = f->driver->config_create(f->drv, o, n, &f->cfg, &f->err);
  free(text);
  return rc;
}

void fake_open(struct fake *f, const char *options) {
  f->driver = NULL;
  weir_drv_status rc = fake_configure(f, options);
  assert(rc == WEIR_DRV_DONE);
  rc = f->driver->conn_create(f->drv, f->cfg, NULL, &f->conn, &f->err);
  assert(rc == WEIR_DRV_DONE);
  (void)rc;
}

size_t fake_close(struct fake *f) {
  if (f->conn != NULL) {
    f->driver->conn_destroy(f->conn);
  }
  if (f->cfg != NULL) {
    f->driver->config_destroy(f->drv, f->cfg);
  }
  if (f->drv != NULL) {
    f->driver->close(f->drv);
  }
  drop_batch(f);
  for (size_t i = 0; i < FAKE_ANSWERS; i++) {
    clear(&f->answers[i]);
  }
  clear(&f->sent);
  clear(&f->log);
  clear(&f->diags);
  clear(&f->cells);
  return f->live + f->streams;
}

static weir_drv_status step(struct fake *f,
                            uint32_t why,
                            weir_drv_status reply_status,
                            const void *reply,
                            const struct weir_drv_error *reply_error) {
  struct weir_drv_wake wake;
  struct weir_drv_want want[WEIR_DRV_WANT_MAX];
  memset(&wake, 0, sizeof wake);
  memcpy(want, f->wait.want, sizeof want);
  wake.struct_size = sizeof wake;
  wake.why = why;
  wake.n_want = f->wait.n_want;
  wake.want = want;
  wake.reply_status = reply_status;
  wake.reply = reply;
  wake.reply_error = reply_error;
  fresh(f);
  f->steps++;
  return f->driver->step(f->conn, &wake, &f->wait, &f->err);
}

static weir_drv_status answer_resolve(struct fake *f) {
  struct weir_drv_addr addr[FAKE_ADDRESSES];
  struct weir_drv_rep_resolve r = {.struct_size = sizeof r};
  struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(1433)};
  struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(1433)};
  in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  in6.sin6_addr = in6addr_loopback;
  memset(addr, 0, sizeof addr);
  assert(f->addresses <= FAKE_ADDRESSES);
  for (size_t i = 0; i < FAKE_ADDRESSES; i++) {
    addr[i].len = sizeof in;
    addr[i].family = AF_INET;
    memcpy(addr[i].bytes, &in, sizeof in);
    if (f->ipv6 && i % 2 == 0) {
      addr[i].len = sizeof in6;
      addr[i].family = AF_INET6;
      memcpy(addr[i].bytes, &in6, sizeof in6);
    }
  }
  r.n = (uint32_t)f->addresses;
  r.addr = addr;
  return f->no_name ? step(f, WEIR_DRV_WHY_REPLY, WEIR_DRV_FAIL, NULL, NULL)
                    : step(f, WEIR_DRV_WHY_REPLY, WEIR_DRV_DONE, &r, NULL);
}

/* "option|resource|authority|principal|bytes of nonce" */
static void note_request(struct fake *f, const struct weir_drv_req_cred *q) {
  const struct weir_drv_text texts[] = {q->option, q->resource, q->authority,
                                        q->principal};
  size_t at = 0;
  for (size_t i = 0; i < 4; i++) {
    assert(at + texts[i].n + 16 < sizeof f->asked_for);
    fake_copy(f->asked_for + at, sizeof f->asked_for - at, texts[i].p,
              (size_t)texts[i].n);
    at += (size_t)texts[i].n;
    f->asked_for[at++] = '|';
  }
  (void)snprintf(f->asked_for + at, sizeof f->asked_for - at, "%u",
                 (unsigned)q->nonce.n);
}

static weir_drv_status answer_credential(struct fake *f) {
  static const char secret[] = "s3cr\xC3\xA9t";
  struct weir_drv_rep_cred r = {.struct_size = sizeof r};
  const struct weir_drv_req_cred *q = f->wait.request_arg;
  bool bearer = q->kind == WEIR_DRV_CRED_BEARER;
  r.kind = q->kind;
  r.secret.p = (const uint8_t *)(bearer ? f->token : secret);
  r.secret.n = bearer ? f->token_n : sizeof secret - 1;
  r.expires_unix_s = f->expires;
  f->asked_password = true;
  f->asked_kind = q->kind;
  note_request(f, q);
  return f->no_password ? step(f, WEIR_DRV_WHY_REPLY, WEIR_DRV_FAIL, NULL, NULL)
                        : step(f, WEIR_DRV_WHY_REPLY, WEIR_DRV_DONE, &r, NULL);
}

/* Whether what the driver waits for has happened. */
static bool ready(struct fake *f) {
  uint32_t events = 0;
  for (uint32_t i = 0; i < f->wait.n_want; i++) {
    bool dead = is_dead(f->wait.want[i].stream);
    events |= dead ? 0 : f->wait.want[i].events;
  }
  bool writable = f->stall_at == 0 || f->sent.n < f->stall_at;
  return ((events & WEIR_DRV_EV_WRITE) != 0 && writable) ||
         ((events & WEIR_DRV_EV_READ) != 0 && (readable(f) > 0 || over(f)));
}

/* One wake-up.  Returns the step's status, or WEIR_DRV_WAIT with *out_stuck. */
static weir_drv_status wake_up(struct fake *f, bool *out_stuck) {
  int32_t request = f->wait.request;
  if (f->stray && (f->wait.flags & WEIR_DRV_WAIT_AGAIN) == 0) {
    struct weir_drv_wait kept = f->wait;
    weir_drv_status rc = step(f, WEIR_DRV_WHY_IO, 0, NULL, NULL);
    if (rc != WEIR_DRV_WAIT) {
      return rc;
    }
    if (request != 0) {
      assert(f->wait.request == 0);
      f->wait = kept;
    } else if (f->wait.request != 0) {
      return rc;
    }
  }
  if (request == WEIR_DRV_REQ_RESOLVE) {
    return answer_resolve(f);
  }
  if (request == WEIR_DRV_REQ_CREDENTIAL) {
    return answer_credential(f);
  }
  if ((f->wait.flags & WEIR_DRV_WAIT_AGAIN) != 0) {
    return step(f, WEIR_DRV_WHY_RESUME, 0, NULL, NULL);
  }
  if (!ready(f) && f->wait.timer != WEIR_DRV_NEVER) {
    f->time = f->wait.timer;
    return step(f, WEIR_DRV_WHY_TIMER, 0, NULL, NULL);
  }
  if (!ready(f)) {
    *out_stuck = true;
    return WEIR_DRV_WAIT;
  }
  return step(f, WEIR_DRV_WHY_IO, 0, NULL, NULL);
}

static weir_drv_status until_said(struct fake *f, weir_drv_status rc) {
  bool stuck = false;
  while (rc == WEIR_DRV_WAIT && !stuck) {
    if (f->stop_after > 0 && --f->stop_after == 0) {
      break;
    }
    rc = wake_up(f, &stuck);
  }
  return rc;
}

/* Writes a result to the log. */
static void show(struct fake *f, weir_drv_status rc) {
  char text[64];
  switch (rc) {
  case WEIR_DRV_META:
    show_columns(f, "META");
    break;
  case WEIR_DRV_OUT:
    show_columns(f, "OUT");
    break;
  case WEIR_DRV_ROWS:
    show_rows(f);
    break;
  case WEIR_DRV_COUNT:
    (void)snprintf(text, sizeof text, "COUNT %llu\n",
                   (unsigned long long)f->wait.row_count);
    add_text(&f->log, text);
    break;
  case WEIR_DRV_DONE:
    add_text(&f->log, "DONE\n");
    break;
  case WEIR_DRV_FAIL:
    (void)snprintf(text, sizeof text, "FAIL %d/%d %d: ", f->err.scope,
                   f->err.kind, f->err.native);
    add_text(&f->log, text);
    add_text(&f->log, f->message);
    add_text(&f->log, "\n");
    break;
  default:
    break;
  }
}

weir_drv_status fake_next(struct fake *f) {
  weir_drv_status rc = step(f, WEIR_DRV_WHY_RESUME, 0, NULL, NULL);
  rc = until_said(f, rc);
  show(f, rc);
  return rc;
}

static bool is_result(weir_drv_status rc) {
  return rc == WEIR_DRV_META || rc == WEIR_DRV_ROWS || rc == WEIR_DRV_COUNT ||
         rc == WEIR_DRV_OUT;
}

static weir_drv_status run(struct fake *f, weir_drv_status rc) {
  rc = until_said(f, rc);
  show(f, rc);
  while (is_result(rc)) {
    rc = fake_next(f);
  }
  if (rc < 0) {
    drop_batch(f);
  }
  return rc;
}

weir_drv_status fake_connect(struct fake *f) {
  struct weir_drv_connect_args a = {.struct_size = sizeof a,
                                    .deadline = f->deadline};
  fresh(f);
  return run(f, f->driver->connect(f->conn, &a, &f->wait, &f->err));
}

weir_drv_status fake_start(struct fake *f, const char *sql) {
  struct weir_drv_exec_args a = {.struct_size = sizeof a};
  a.sql.p = sql;
  a.sql.n = strlen(sql);
  a.batch_rows = f->batch_rows;
  a.batch_bytes = f->batch_bytes;
  a.flags = f->exec_flags;
  a.params = f->params;
  a.n_params = f->n_params;
  a.params_stride = sizeof *f->params;
  const struct weir_drv_stmt_api *api =
      f->driver->extension(f->drv, WEIR_DRV_STMT_NAME, 1);
  fresh(f);
  weir_drv_status rc = f->prepare
                           ? api->exec(f->conn, &a, &f->wait, &f->err)
                           : f->driver->exec(f->conn, &a, &f->wait, &f->err);
  rc = until_said(f, rc);
  show(f, rc);
  return rc;
}

weir_drv_status fake_exec(struct fake *f, const char *sql) {
  weir_drv_status rc = fake_start(f, sql);
  while (is_result(rc)) {
    rc = fake_next(f);
  }
  if (rc < 0) {
    drop_batch(f);
  }
  return rc;
}

weir_drv_status fake_ping(struct fake *f) {
  fresh(f);
  return run(f, f->driver->ping(f->conn, &f->wait, &f->err));
}

weir_drv_status fake_reset(struct fake *f, int32_t mode) {
  struct weir_drv_reset_args a = {.struct_size = sizeof a, .mode = mode};
  a.cfg = f->cfg;
  fresh(f);
  return run(f, f->driver->reset(f->conn, &a, &f->wait, &f->err));
}

weir_drv_status fake_txn(struct fake *f,
                         int32_t verb,
                         int32_t isolation,
                         const char *name) {
  struct weir_drv_txn_args a = {.struct_size = sizeof a};
  a.verb = verb;
  a.isolation = isolation;
  a.name.p = name;
  a.name.n = name == NULL ? 0 : strlen(name);
  fresh(f);
  return run(f, f->driver->txn(f->conn, &a, &f->wait, &f->err));
}

void fake_forget_sent(struct fake *f) {
  f->sent.n = 0;
  f->parsed = 0;
}

void fake_session(struct fake *f) {
  fake_open(f, "Server=db.test;User ID=sa;Password=;Encrypt=optional");
  fake_login(f);
  weir_drv_status rc = fake_connect(f);
  assert(rc == WEIR_DRV_DONE);
  (void)rc;
  f->log.n = 0;
  fake_forget_sent(f);
}

void fake_split(struct fake *f, const char *hex, size_t n, const char *more) {
  size_t all = 0;
  uint8_t *p = fake_unhex(hex, &all);
  uint8_t head[8] = {4, 1, (uint8_t)((all + 8) >> 8), (uint8_t)(all + 8)};
  struct fake_bytes b = {0};
  n = n < all ? n : all;
  fake_add(&b, head, sizeof head);
  fake_add(&b, p, all);
  fake_raw(f, b.p, 8 + n);
  fake_raw(f, b.p + 8 + n, all - n);
  clear(&b);
  free(p);
  p = fake_unhex(more, &all);
  if (all > 0) {
    head[2] = (uint8_t)((all + 8) >> 8);
    head[3] = (uint8_t)(all + 8);
    fake_add(&f->answers[f->n_answers - 1], head, sizeof head);
    fake_add(&f->answers[f->n_answers - 1], p, all);
  }
  free(p);
}

weir_drv_status fake_cancel(struct fake *f) {
  f->stop_after = 0;
  fresh(f);
  return run(f, f->driver->cancel(f->conn, &f->wait, &f->err));
}

const char *fake_log(struct fake *f) {
  return f->log.p == NULL ? "" : (const char *)f->log.p;
}

const char *fake_diags(struct fake *f) {
  return f->diags.p == NULL ? "" : (const char *)f->diags.p;
}
