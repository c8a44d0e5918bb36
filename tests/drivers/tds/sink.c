/* SPDX-License-Identifier: MIT */
/* sink.c - see sink.h. */
#include "sink.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weir_driver.h"

static void asked(struct sink *s, size_t n) {
  s->largest = n > s->largest ? n : s->largest;
}

static void *alloc(void *ctx, uint64_t size, uint32_t flags) {
  struct sink *s = ctx;
  (void)flags;
  asked(s, (size_t)size);
  s->live++;
  return calloc(1, size == 0 ? 1 : (size_t)size);
}

static void release(void *ctx, void *p) {
  struct sink *s = ctx;
  s->live--;
  free(p);
}

__attribute__((format(printf, 2, 3))) static void text(struct sink *s,
                                                       const char *format,
                                                       ...) {
  char line[64];
  va_list args;
  va_start(args, format);
  /* The analyzer of clang 14 does not see what va_start did.
   * NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized) */
  int n = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  fake_add(&s->log, line, (size_t)n);
}

static void *space(void *ctx, size_t n) {
  struct sink *s = ctx;
  if (s->fail_space > 0 && --s->fail_space == 0) {
    return NULL;
  }
  asked(s, n);
  s->calls++;
  free(s->block);
  s->block = malloc(n == 0 ? 1 : n);
  return s->block;
}

static void *grow(void *ctx, void *block, size_t n, size_t bigger) {
  struct sink *s = ctx;
  assert(block == s->block && bigger >= n);
  asked(s, bigger);
  s->calls++;
  s->block = realloc(s->block, bigger);
  return s->block;
}

static void show(struct sink *s, int32_t type, const uint8_t *p, size_t n) {
  int64_t i = 0;
  double d = 0;
  char line[40];
  switch (type) {
  case WEIR_DRV_T_INT:
    assert(n == 8);
    memcpy(&i, p, 8);
    text(s, "%" PRId64, i);
    break;
  case WEIR_DRV_T_BOOL:
    assert(n == 1);
    text(s, "%u", p[0]);
    break;
  case WEIR_DRV_T_FLOAT:
    assert(n == 8);
    memcpy(&d, p, 8);
    n = (size_t)snprintf(line, sizeof line, "%.17g", d);
    fake_add(&s->log, line, n);
    break;
  case WEIR_DRV_T_BYTES:
  case WEIR_DRV_T_UUID:
    fake_add(&s->log, "0x", 2);
    for (size_t k = 0; k < n; k++) {
      text(s, "%02x", p[k]);
    }
    break;
  default:
    fake_add(&s->log, p, n);
    break;
  }
}

static int cell(void *ctx, const void *p, size_t n) {
  struct sink *s = ctx;
  const struct tds_decoder *d = s->decoder;
  const struct tds_column *c =
      d->returning ? &d->value : &d->columns[d->column];
  if (d->returning) {
    text(s, "CELL %u ", d->column);
    fake_add(&s->log, d->text.p, d->value_name_n);
    fake_add(&s->log, " ", 1);
  } else {
    fake_add(&s->log, d->column == 0 ? "ROW " : "|", d->column == 0 ? 4 : 1);
  }
  if (p == NULL) {
    fake_add(&s->log, "NULL", 4);
  } else {
    show(s, c->type.rule->cell, p, n);
  }
  if (d->returning) {
    fake_add(&s->log, "\n", 1);
  }
  return 0;
}

void sink_init(struct sink *s, struct tds_decoder *d) {
  memset(s, 0, sizeof *s);
  s->table.ctx = s;
  s->table.space = space;
  s->table.grow = grow;
  s->table.cell = cell;
  s->mem.ctx = s;
  s->mem.alloc = alloc;
  s->mem.release = release;
  s->decoder = d;
  tds_token_init(d, &s->mem);
  tds_token_begin(d, &s->table);
}

void sink_values(struct sink *s, struct tds_decoder *d) {
  d->value_sink = &s->table;
}

void sink_fini(struct sink *s, struct tds_decoder *d) {
  tds_token_fini(d);
  assert(s->live == 0);
  free(s->block);
  free(s->log.p);
}

static void columns(struct sink *s, const struct tds_decoder *d) {
  fake_add(&s->log, "META", 4);
  for (uint32_t i = 0; i < d->n_columns; i++) {
    const struct tds_column *c = &d->columns[i];
    fake_add(&s->log, " ", 1);
    fake_add(&s->log, d->names.p + c->name_at, c->name_n);
    fake_add(&s->log, ":", 1);
    fake_add(&s->log, c->type.rule->name, strlen(c->type.rule->name));
  }
  fake_add(&s->log, "\n", 1);
}

static void message(struct sink *s, const struct tds_decoder *d, int ev) {
  const struct tds_message *m = &d->message;
  text(s, "%s %d", ev == TDS_EV_ERROR ? "ERROR" : "INFO", m->number);
  text(s, " class %u state %u line %u: ", m->severity, m->state, m->line);
  fake_add(&s->log, m->text, m->text_n);
  fake_add(&s->log, " @", 2);
  fake_add(&s->log, m->server, m->server_n);
  fake_add(&s->log, " ", 1);
  fake_add(&s->log, m->procedure, m->procedure_n);
  fake_add(&s->log, "\n", 1);
}

static void event(struct sink *s, const struct tds_decoder *d, int ev) {
  switch (ev) {
  case TDS_EV_COLUMNS:
    columns(s, d);
    break;
  case TDS_EV_ROW:
    fake_add(&s->log, "\n", 1);
    break;
  case TDS_EV_ERROR:
  case TDS_EV_INFO:
    message(s, d, ev);
    break;
  case TDS_EV_ENV:
    text(s, "ENV %u ", d->env.type);
    fake_add(&s->log, d->env.text, d->env.text_n);
    fake_add(&s->log, "\n", 1);
    break;
  case TDS_EV_DONE:
    text(s, "DONE %02x status %x rows %" PRIu64 "\n", d->done.token,
         d->done.status, d->done.rows);
    break;
  case TDS_EV_LOGIN:
    text(s, "LOGIN %08x\n", d->ack.version);
    break;
  case TDS_EV_FEATURE:
    text(s, "FEATURE %u bytes %zu\n", d->feature.id, d->feature.data.n);
    break;
  case TDS_EV_STATUS:
    text(s, "STATUS %d\n", d->return_status);
    break;
  case TDS_EV_VALUE:
    fake_add(&s->log, "VALUE\n", 6);
    break;
  default:
    text(s, "OTHER %02x\n", d->token);
    break;
  }
}

int sink_feed(struct sink *s,
              struct tds_decoder *d,
              const uint8_t *p,
              size_t n,
              size_t piece,
              uint32_t seed) {
  int rc = TDS_MORE;
  for (size_t at = 0; at < n && rc == TDS_MORE;) {
    size_t k = piece == 0 ? n : piece;
    if (seed != 0) {
      seed = seed * 1103515245u + 12345u;
      k = (seed >> 16) % 23 + 1;
    }
    k = k < n - at ? k : n - at;
    /* A copy of exact size: reads past its end are found. */
    uint8_t *copy = malloc(k);
    assert(copy != NULL);
    memcpy(copy, p + at, k);
    struct tds_span in = {copy, k};
    while ((rc = tds_token_next(d, &in)) > TDS_MORE) {
      event(s, d, rc);
    }
    assert(rc < 0 || in.n == 0);
    free(copy);
    at += k;
  }
  return rc;
}
