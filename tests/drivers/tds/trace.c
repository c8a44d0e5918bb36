/* SPDX-License-Identifier: MIT */
/* trace.c - loading and decoding; see trace.h. */
#include "trace.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir_driver.h"

#include "fake_host.h"
#include "tds_packet.h"
#include "tds_prelogin.h"
#include "tds_token.h"

#define LOGIN7   0x10
#define PRELOGIN 0x12

/* ------------------------------------------------------------------ loading */

static int fail(struct trace *t, const char *what) {
  (void)snprintf(t->why, sizeof t->why, "%s", what);
  return -1;
}

static void add_message(struct trace *t, struct fake_bytes *body, bool pre) {
  t->messages = realloc(t->messages, (t->n_messages + 1) * sizeof *t->messages);
  assert(t->messages != NULL);
  t->messages[t->n_messages++] = (struct trace_message){body->p, body->n, pre};
  memset(body, 0, sizeof *body);
}

/* Bytes of the server.  Returns 0, or -1. */
static int add_bytes(struct trace *t,
                     struct tds_packet_reader *r,
                     struct fake_bytes *body,
                     const uint8_t *p,
                     size_t n,
                     bool *prelogin) {
  struct tds_span in = {p, n};
  struct tds_span part = {NULL, 0};
  int rc = 0;
  while ((rc = tds_packet_next(r, &in, &part)) > 0 && rc != TDS_MORE) {
    if (rc == TDS_PACKET_DATA) {
      fake_add(body, part.p, part.n);
      continue;
    }
    fake_add(body, "", 0);
    bool table = *prelogin && body->n > 0 && body->p[0] == 0;
    add_message(t, body, table);
    *prelogin = false;
  }
  return rc < 0 ? fail(t, r->why) : 0;
}

static void look_at_client(struct trace *t, const uint8_t *p, size_t n) {
  if (n >= 16 && p[0] == LOGIN7) {
    t->old_layout = tds_u32(p + 12) < TDS_V72;
  }
}

/* One packet of the server, in pieces.  Returns 0, or -1. */
static int add_packet(struct trace *t,
                      struct tds_packet_reader *r,
                      struct fake_bytes *body,
                      const struct tds_span *packet,
                      size_t piece,
                      bool *prelogin) {
  int rc = 0;
  for (size_t at = 0; at < packet->n && rc == 0;) {
    size_t left = packet->n - at;
    size_t k = piece == 0 || piece > left ? left : piece;
    rc = add_bytes(t, r, body, packet->p + at, k, prelogin);
    at += k;
  }
  return rc;
}

static int join(struct trace *t, size_t piece) {
  struct tds_packet_reader r;
  struct fake_bytes body = {0};
  bool prelogin = false;
  size_t i = 0;
  json_t *m = NULL;
  int rc = 0;
  memset(&r, 0, sizeof r);
  json_array_foreach(json_object_get(t->root, "messages"), i, m) {
    size_t n = 0;
    const char *hex = json_string_value(json_object_get(m, "hex"));
    bool client =
        strcmp(json_string_value(json_object_get(m, "dir")), "c2s") == 0;
    uint8_t *p = fake_unhex(hex, &n);
    if (client) {
      prelogin = n > 0 && p[0] == PRELOGIN;
      look_at_client(t, p, n);
    } else if (rc == 0) {
      struct tds_span packet = {p, n};
      rc = add_packet(t, &r, &body, &packet, piece, &prelogin);
    }
    free(p);
  }
  if (rc == 0 && (!tds_packet_idle(&r) || body.n > 0)) {
    rc = fail(t, "the last message of the server is cut");
  }
  free(body.p);
  return rc;
}

int trace_load(struct trace *t, const char *path, size_t piece) {
  json_error_t error;
  memset(t, 0, sizeof *t);
  t->root = json_load_file(path, JSON_ALLOW_NUL, &error);
  if (t->root == NULL) {
    /* Some recorded values do not fit 64 bits. */
    t->root =
        json_load_file(path, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
  }
  if (t->root == NULL) {
    return fail(t, error.text);
  }
  t->id = json_string_value(json_object_get(t->root, "id"));
  t->client = json_string_value(json_object_get(t->root, "client"));
  return join(t, piece);
}

void trace_free(struct trace *t) {
  for (size_t i = 0; i < t->n_messages; i++) {
    free(t->messages[i].p);
  }
  free(t->messages);
  json_decref(t->root);
}

bool trace_same(const struct trace *a, const struct trace *b) {
  if (a->n_messages != b->n_messages) {
    return false;
  }
  for (size_t i = 0; i < a->n_messages; i++) {
    const struct trace_message *m = &a->messages[i];
    const struct trace_message *n = &b->messages[i];
    if (m->prelogin != n->prelogin || m->n != n->n ||
        (m->n > 0 && memcmp(m->p, n->p, m->n) != 0)) {
      return false;
    }
  }
  return true;
}

/* ----------------------------------------------------------------- decoding */

struct run {
  struct tds_mem mem;
  struct tds_sink sink;
  struct tds_decoder d;
  uint8_t *block;
  json_t *out;
  json_t *row;
  json_t *value; /* of a RETURNVALUE, as a row of one cell */
};

static void *alloc(void *ctx, uint64_t size, uint32_t flags) {
  (void)ctx;
  (void)flags;
  return calloc(1, size == 0 ? 1 : (size_t)size);
}

static void release(void *ctx, void *p) {
  (void)ctx;
  free(p);
}

static void *space(void *ctx, size_t n) {
  struct run *r = ctx;
  free(r->block);
  r->block = malloc(n == 0 ? 1 : n);
  return r->block;
}

static void *grow(void *ctx, void *block, size_t n, size_t bigger) {
  struct run *r = ctx;
  assert(block == r->block && bigger >= n);
  r->block = realloc(r->block, bigger);
  return r->block;
}

static json_t *hex_text(const uint8_t *p, size_t n) {
  char *text = malloc(2 * n + 1);
  assert(text != NULL);
  for (size_t i = 0; i < n; i++) {
    (void)sprintf(text + 2 * i, "%02x", p[i]);
  }
  json_t *s = json_stringn(text, 2 * n);
  free(text);
  return s;
}

static json_t *cell_text(int32_t type, const uint8_t *p, size_t n) {
  char text[64];
  int64_t i = 0;
  double d = 0;
  switch (type) {
  case WEIR_DRV_T_INT:
    memcpy(&i, p, sizeof i);
    (void)snprintf(text, sizeof text, "%lld", (long long)i);
    return json_string(text);
  case WEIR_DRV_T_BOOL:
    return json_string(p[0] ? "1" : "0");
  case WEIR_DRV_T_FLOAT:
    memcpy(&d, p, sizeof d);
    (void)snprintf(text, sizeof text, "%.17g", d);
    return json_string(text);
  case WEIR_DRV_T_BYTES:
  case WEIR_DRV_T_UUID:
    return hex_text(p, n);
  default:
    return json_stringn((const char *)p, n);
  }
}

static int cell(void *ctx, const void *p, size_t n) {
  struct run *r = ctx;
  const struct tds_column *column =
      r->d.returning ? &r->d.value : &r->d.columns[r->d.column];
  json_t **row = r->d.returning ? &r->value : &r->row;
  int32_t type = column->type.rule->cell;
  json_t *c = json_object();
  if (*row == NULL) {
    *row = json_array();
  }
  bool variant = column->type.shape == TDS_SHAPE_VARIANT;
  json_object_set_new(c, "type", json_integer(type));
  json_object_set_new(c, "variant", json_boolean(variant));
  json_t *text = p == NULL ? json_null() : cell_text(type, p, n);
  assert(text != NULL);
  json_object_set_new(c, "text", text);
  json_array_append_new(*row, c);
  return 0;
}

static void add(struct run *r, const char *array, json_t *value) {
  assert(value != NULL);
  json_array_append_new(json_object_get(r->out, array), value);
}

static json_t *column_names(const struct tds_decoder *d) {
  json_t *a = json_array();
  for (uint32_t i = 0; i < d->n_columns; i++) {
    const struct tds_column *c = &d->columns[i];
    json_array_append_new(
        a, json_stringn((const char *)d->names.p + c->name_at, c->name_n));
  }
  return a;
}

static void on_event(struct run *r, int ev) {
  const struct tds_decoder *d = &r->d;
  const struct tds_message *m = &d->message;
  switch (ev) {
  case TDS_EV_COLUMNS:
    add(r, "columns", column_names(d));
    break;
  case TDS_EV_ROW:
    add(r, "rows", r->row);
    r->row = NULL;
    break;
  case TDS_EV_VALUE:
    add(r, "values",
        json_pack("{s:s%,s:o}", "name", (const char *)d->text.p,
                  d->value_name_n, "cells", r->value));
    r->value = NULL;
    break;
  case TDS_EV_ERROR:
  case TDS_EV_INFO:
    add(r, "messages",
        json_pack("{s:i,s:i,s:i,s:i,s:s%}", "number", (int)m->number, "class",
                  (int)m->severity, "state", (int)m->state, "line",
                  (int)m->line, "message", m->text, m->text_n));
    break;
  case TDS_EV_DONE:
    if ((d->done.status & TDS_DONE_COUNT) != 0) {
      add(r, "counts", json_integer((json_int_t)d->done.rows));
    }
    break;
  default:
    break;
  }
}

static int feed(struct run *r,
                const struct trace_message *m,
                size_t piece,
                uint32_t seed) {
  int rc = TDS_MORE;
  tds_token_begin(&r->d, &r->sink);
  r->d.value_sink = &r->sink;
  for (size_t at = 0; at < m->n && rc == TDS_MORE;) {
    size_t n = piece == 0 ? m->n : piece;
    if (seed != 0) {
      seed = seed * 1103515245u + 12345u;
      n = (seed >> 16) % 61 + 1;
    }
    n = n < m->n - at ? n : m->n - at;
    struct tds_span in = {m->p + at, n};
    while ((rc = tds_token_next(&r->d, &in)) > TDS_MORE) {
      on_event(r, rc);
    }
    at += n;
  }
  return rc == TDS_MORE ? tds_token_end(&r->d) : rc;
}

static int decode_one(struct trace *t,
                      struct run *r,
                      const struct trace_message *m,
                      size_t piece,
                      uint32_t seed) {
  struct tds_prelogin reply;
  const char *why = "";
  int rc = m->prelogin ? tds_prelogin_read(m->p, m->n, &reply, &why)
                       : feed(r, m, piece, seed);
  if (rc < 0) {
    (void)snprintf(t->why, sizeof t->why, "%s", m->prelogin ? why : r->d.why);
  }
  add(r, "sizes", json_integer((json_int_t)m->n));
  return rc;
}

int trace_decode(struct trace *t, size_t piece, uint32_t seed, json_t **out) {
  struct run r;
  int rc = 0;
  memset(&r, 0, sizeof r);
  r.mem.alloc = alloc;
  r.mem.release = release;
  r.sink = (struct tds_sink){&r, space, grow, cell};
  r.out = json_pack("{s:[],s:[],s:[],s:[],s:[],s:[]}", "rows", "columns",
                    "messages", "counts", "sizes", "values");
  tds_token_init(&r.d, &r.mem);
  r.d.old_layout = t->old_layout;
  for (size_t i = 0; i < t->n_messages && rc >= 0; i++) {
    rc = decode_one(t, &r, &t->messages[i], piece, seed);
  }
  tds_token_fini(&r.d);
  free(r.block);
  json_decref(r.row);
  json_decref(r.value);
  if (rc < 0) {
    json_decref(r.out);
    return rc;
  }
  *out = r.out;
  return 0;
}
